"""One GPU: its handle, its groups of values, and what is said of it while it is lost."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from typing import Any

from ...model.driver_errors import OF_THE_DEVICE
from ...model.gpu_readings import GpuReading
from ...model.missing_reasons import LOST, NOT_OFFERED, NOT_SUPPORTED
from ..watchlist import Watchlist
from .call import Answer, Calls, Fields, GpuLost
from .fabric import read_fabric
from .fans import read_fans
from .fast_values import read_fast
from .gpm import NVLINK_RATES, PCIE_RATES, RATIOS, Gpm
from .health import read_health
from .mig import Migs
from .nvlinks import Links
from .pcie import PcieRates
from .processes import Processes
from .session import Gate, Session
from .slow_values import (
    Slow,
    read_identity,
    read_limits,
    read_modes,
    read_pace,
    read_pcie_link,
    read_pcie_max,
)

_LOST_RETRY_SECONDS = 5.0
_NOT_FOUND = "driver says: Not Found"
_HEADLINE = (
    "utilization_ratio",
    "memory_used_bytes",
    "power_watts",
    "temperature_celsius",
    "sm_clock_hertz",
    "pcie_generation",
    "pcie_replays",
    "nvlinks",
    "processes",
)
"""The fields that carry the reason while nothing of a GPU can be read."""

_GOLDEN_RATIO = 0.6180339887


class _Device:
    """Everything that is good for one handle only."""

    def __init__(self, calls: Calls, index: int, clock: Callable[[], float]) -> None:
        self.calls = calls
        self.gpm = Gpm(calls, clock)
        self.links = Links()
        self.processes = Processes(clock)
        self.migs = Migs(clock)
        self.identity = Slow(read_identity, math.inf, 0)
        # Multiples of the golden ratio spread any number of groups and GPUs evenly.
        share = index * _GOLDEN_RATIO
        self.limits = Slow(read_limits, 10, share)
        self.modes = Slow(read_modes, 10, share + _GOLDEN_RATIO)
        self.link_states = Slow(self.links.read, 10, share + 4 * _GOLDEN_RATIO)
        self.link_watch = Slow(self._watch_links, 2, share + 7 * _GOLDEN_RATIO)
        self.rest = (
            Slow(read_pcie_link, 4, share + 2 * _GOLDEN_RATIO),
            Slow(read_pace, 4, share + 7 * _GOLDEN_RATIO),
            Slow(read_health, 8, share + 3 * _GOLDEN_RATIO),
            Slow(read_pcie_max, 30, share + 5 * _GOLDEN_RATIO),
            Slow(read_fabric, 30, share + 6 * _GOLDEN_RATIO),
            Slow(self._read_fans, 4, share + 8 * _GOLDEN_RATIO),
        )
        self.mig_memory = Slow(self.migs.read, 2, share)
        self.mig_mode: bool | None = None

    def fault(self) -> dict[str, Any]:
        """The code of the calls that fail as on a GPU in a bad state, and which they are; empty
        where none does."""
        groups = (self.identity, self.limits, self.modes, self.link_states, *self.rest)
        bad = dict(self.calls.bad_state)
        for group in groups:
            bad |= group.bad_state
        if not bad:
            return {}
        codes = Counter(bad.values())
        # What is said of the device weighs more than what most calls say.
        code = max(codes, key=lambda each: (each in OF_THE_DEVICE, codes[each]))
        failed = sorted(call for call, each in bad.items() if each == code)
        return {"fault_code": code, "failed_calls": tuple(failed)}

    def _read_fans(self, calls: Calls, fields: Fields) -> None:
        known = self.identity.fields
        read_fans(calls, fields, known.values.get("fan_count"), known.missing.get("fan_count", ""))

    def _watch_links(self, calls: Calls, _: Fields) -> None:
        """Reading all about all links is costly, so it waits its turn, unless one went up or down."""
        if self.links.changed(calls):
            self.link_states.hurry()


class NvmlGpu:
    """A source for the GPU at NVML's ``index``. Its number and row stay, whatever becomes of it."""

    def __init__(
        self,
        index: int,
        gate: Gate,
        watchlist: Watchlist,
        pcie: PcieRates,
        clock: Callable[[], float],
    ) -> None:
        self.index = index
        self._gate = gate
        self._watchlist = watchlist
        self._pcie = pcie
        self._clock = clock
        self._session: Session | None = None
        self._device: _Device | None = None
        self._identity: dict[str, Any] = {}
        self._lost = False
        self._lost_code: int | None = None
        self._retry_at = 0.0

    @property
    def name(self) -> str:
        """``nvml gpu 3``."""
        return f"nvml gpu {self.index}"

    def read(self) -> tuple[GpuReading]:
        """This GPU now; while it is lost or in a bad state, what is known of its identity.

        Raises:
            SourceError: the driver is gone.
        """
        with self._gate.enter(self.name) as session:
            now = self._clock()
            if session is not self._session:
                self._session, self._device = session, None
                self._retry_at = now
            if self._lost and now < self._retry_at:
                return (self._without_values(now, LOST, self._lost_code),)
            try:
                reading = self._read(session, now)
            except GpuLost as error:
                return (self._lose(session, now, error.code),)
            self._lost = False
            return (reading,)

    def close(self) -> None:
        """Give back the samples, unless a call in another thread still holds them."""
        device, self._device = self._device, None
        alive = self._session is not None and self._session is self._gate.session
        if device is not None and alive and self.name not in self._gate.inside:
            device.gpm.close()

    def _lose(self, session: Session, now: float, code: int | None) -> GpuReading:
        self._lost, self._lost_code = True, code
        self._retry_at = now + _LOST_RETRY_SECONDS
        if self._device is not None:
            self._device.gpm.close()
        self._device = None
        self._watchlist.set_gpu(self.index, ())
        session.answered = True
        session.silent.pop(self.index, None)
        return self._without_values(now, LOST, code)

    def _read(self, session: Session, now: float) -> GpuReading:
        device = self._device
        if device is None:
            opening = Calls(session.nvml, None, self._clock)
            opened = self._open(opening)
            if opened.value is None:
                return self._silent(session, now, opening, opened.reason)
            device = self._device = opened.value
        calls = device.calls
        calls.begin()
        device.identity.refresh(calls, now)
        device.limits.refresh(calls, now)
        device.modes.refresh(calls, now)
        self._follow_mig(device)
        if not calls.answered and calls.failure:
            return self._silent(session, now, calls, calls.failure)
        fields = self._values(device, now)
        if not calls.answered and calls.failure:
            return self._silent(session, now, calls, calls.failure)
        session.answered = True
        session.silent.pop(self.index, None)
        self._identity = device.identity.fields.values
        return GpuReading(
            index=self.index,
            monotonic_seconds=now,
            missing=fields.missing,
            **device.fault(),
            **fields.values,
        )

    def _values(self, device: _Device, now: float) -> Fields:
        calls, mig = device.calls, bool(device.mig_mode)
        limits = device.limits.fields.values
        # First, because it says which of the fast fields to ask for.
        device.link_watch.refresh(calls, now)
        device.link_states.refresh(calls, now)
        fields = Fields()
        values = read_fast(
            calls,
            fields,
            mig=mig,
            power_limit=limits.get("power_limit_watts"),
            more=device.links.wanted(calls),
        )
        also = (*device.rest, device.mig_memory) if mig else device.rest
        for group in also:
            group.refresh(calls, now)
        for group in (device.identity, device.limits, device.modes, device.link_states, *also):
            fields.values |= group.fields.values
            fields.missing |= group.fields.missing
        device.links.put_totals(values, fields)
        self._activity(device, fields, now)
        total = fields.values.get("memory_total_bytes")
        device.processes.read(calls, fields, mig=mig, total=total)
        processes = fields.values.get("processes")
        if processes is not None:
            self._watchlist.set_gpu(self.index, {process.pid for process in processes})
        return fields

    def _activity(self, device: _Device, fields: Fields, now: float) -> None:
        device.gpm.read()
        device.gpm.put(fields, RATIOS)
        if "nvlink_rx_bytes" not in fields.values and device.links.any:
            device.gpm.put(fields, NVLINK_RATES)
        if "pcie_rx_bytes" in fields.values and "pcie_tx_bytes" in fields.values:
            return
        answers = [device.gpm.answers[name] for name in PCIE_RATES]
        if all(answer.reason in (NOT_SUPPORTED, NOT_OFFERED) for answer in answers):
            self._pcie.put(self.index, fields, now)
        else:
            device.gpm.put(fields, PCIE_RATES)

    def _follow_mig(self, device: _Device) -> None:
        mode = device.modes.fields.values.get("mig_mode")
        if device.mig_mode is not None and mode != device.mig_mode:
            # What this GPU supports is another set now.
            device.calls.forget()
        device.mig_mode = mode

    def _open(self, calls: Calls) -> Answer[_Device]:
        nvml = calls.nvml
        uuid = self._identity.get("uuid")
        handle: Answer[Any] = Answer(None, NOT_OFFERED)
        if uuid:
            # After a reload the numbers may have moved up; the row stays with the chip.
            handle = calls.run("by uuid", lambda: nvml.nvmlDeviceGetHandleByUUID(uuid))
            if handle.reason == _NOT_FOUND:
                raise GpuLost
        if handle.value is None:
            handle = calls.run("by index", lambda: nvml.nvmlDeviceGetHandleByIndex(self.index))
        if handle.value is None:
            return Answer(None, handle.reason)
        calls.handle = handle.value
        return Answer(_Device(calls, self.index, self._clock))

    def _silent(self, session: Session, now: float, calls: Calls, reason: str) -> GpuReading:
        """The driver is there but tells nothing of this GPU: a row with the reason, and with the
        code where that means a bad state."""
        if calls.failure_code is not None:
            session.silent[self.index] = reason
        return self._without_values(now, reason, calls.failure_code)

    def _without_values(self, now: float, reason: str, code: int | None) -> GpuReading:
        return GpuReading(
            index=self.index,
            monotonic_seconds=now,
            lost=self._lost,
            fault_code=code or 0,
            missing=dict.fromkeys(_HEADLINE, reason),
            **self._identity,
        )
