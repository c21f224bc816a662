"""PCIe rates where the driver has neither byte counters nor GPM: the last resort.

nvmlDeviceGetPcieThroughput measures for 20 ms and blocks as long, so it runs on a thread of its own,
all GPUs at first and then one a reading in turn, and its rates are of those 20 ms only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ..protocol import SourceError, SourceUnsupported
from .call import Answer, Calls, Fields, GpuLost
from .session import Gate, Session
from .units import scaled

_FUNCTION = "nvmlDeviceGetPcieThroughput"
_TX, _RX = 0, 1
_BYTES_PER_KIB = 1024.0
_HUNG_SECONDS = 3.0
_SPARE_SECONDS = 5.0
_FIRST_SECONDS = 0.5
"""For GPUs that were never measured, one after another, instead of one a reading."""


class _Rates(NamedTuple):
    rx: Answer[float]
    tx: Answer[float]
    taken_at: float


class PcieRates:
    """Where the GPUs that need it meet the thread that measures. Plain stores only."""

    def __init__(self) -> None:
        self.wanted: dict[int, None] = {}
        """Indices of the GPUs, in order of asking."""
        self.rates: dict[int, _Rates] = {}
        self.pause = 1.0
        """Seconds between two measurements, as they happen."""

    def put(self, index: int, fields: Fields, now: float) -> None:
        """Note the latest rates of this GPU, and that it wants some."""
        self.wanted.setdefault(index)
        rates = self.rates.get(index)
        oldest = now - (len(self.wanted) + 1) * self.pause - _SPARE_SECONDS
        if rates is None or rates.taken_at < oldest:
            fields.absent("not measured yet", *RATE_FIELDS)
            return
        fields.put("pcie_rx_bytes_per_second", rates.rx)
        fields.put("pcie_tx_bytes_per_second", rates.tx)


RATE_FIELDS = ("pcie_rx_bytes_per_second", "pcie_tx_bytes_per_second")


class NvmlPcie:
    """Measures one of the GPUs in `PcieRates.wanted` at each reading. Yields no readings itself."""

    name = "nvml pcie"

    def __init__(self, gate: Gate, rates: PcieRates, clock: Callable[[], float]) -> None:
        self._gate = gate
        self._rates = rates
        self._clock = clock
        self._session: Session | None = None
        self._calls: dict[int, Calls] = {}
        self._tried: set[int] = set()
        self._turn = 0
        self._read_at: float | None = None

    def read(self) -> tuple[()]:
        """Measure the next GPU.

        Raises:
            SourceError: there is no driver.
            SourceUnsupported: no GPU can be measured.
        """
        now = self._clock()
        if self._read_at is not None:
            self._rates.pause = max(1.0, now - self._read_at)
        self._read_at = now
        with self._gate.enter(self.name) as session:
            if session is not self._session:
                self._session, self._calls = session, {}
            index = self._next()
            if index is not None:
                self._measure(session, index)
            while self._is_one_new() and self._clock() - now < _FIRST_SECONDS:
                index = self._next()
                if index is not None:
                    self._measure(session, index)
        return ()

    def close(self) -> None:
        """Nothing is held."""

    def _next(self) -> int | None:
        wanted = list(self._rates.wanted)
        if not wanted:
            return None
        for _ in wanted:
            index = wanted[self._turn % len(wanted)]
            self._turn += 1
            since = self._gate.inside.get(f"nvml gpu {index}")
            # A GPU that hangs in its own thread would hang in this one too, and all others with it.
            if since is None or self._clock() - since < _HUNG_SECONDS:
                return index
        raise SourceError("no GPU answers")

    def _is_one_new(self) -> bool:
        """Nothing was measured of a GPU yet: who looks once wants all of them."""
        return not self._rates.wanted.keys() <= self._tried

    def _measure(self, session: Session, index: int) -> None:
        self._tried.add(index)
        try:
            calls = self._calls.get(index)
            if calls is None:
                calls = Calls(session.nvml, None, self._clock)
                handle = calls.run("handle", lambda: session.nvml.nvmlDeviceGetHandleByIndex(index))
                if handle.value is None:
                    return
                calls.handle = handle.value
                self._calls[index] = calls
            rule = scaled(_BYTES_PER_KIB)
            rx, tx = calls.ask(_FUNCTION, _RX).then(rule), calls.ask(_FUNCTION, _TX).then(rule)
        except GpuLost:
            self._calls.pop(index, None)
            self._rates.rates.pop(index, None)
            return
        self._rates.rates[index] = _Rates(rx, tx, self._clock())
        known = self._rates.rates.values()
        if len(known) == len(self._rates.wanted) and all(
            rates.rx.value is None and rates.tx.value is None for rates in known
        ):
            raise SourceUnsupported(rx.reason)
