"""The node without its GPUs, and the control groups: rates and shares."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

from ..model.frame import Frame
from ..model.host_frames import CgroupFrame, DiskFrame, HostFrame, NetworkFrame, PressureFrame
from ..model.host_readings import (
    CgroupReading,
    DiskReading,
    HostReading,
    NetworkReading,
    PressureReading,
)
from ..model.sample import Sample
from .counters import since
from .extend import extend
from .rates import counter_rates, rate, share

_PRESSURES = {
    "pressure_cpu_ratio": "pressure_cpu_some_seconds",
    "pressure_memory_ratio": "pressure_memory_some_seconds",
    "pressure_io_ratio": "pressure_io_some_seconds",
    "pressure_io_full_ratio": "pressure_io_full_seconds",
}
_RATES = {
    "swap_in_bytes_per_second": "swap_in_bytes",
    "swap_out_bytes_per_second": "swap_out_bytes",
    "tcp_segments_per_second": "tcp_sent_segments",
    "tcp_retransmissions_per_second": "tcp_retransmitted_segments",
    **_PRESSURES,
}
_CPU_SHARES = {"cpu_ratio": "cpu_busy_seconds", "cpu_iowait_ratio": "cpu_iowait_seconds"}

_Named = TypeVar("_Named", DiskFrame, NetworkFrame)


def derive_host(previous: Frame | None, current: Sample) -> HostFrame | None:
    """The host of the sample; ``None`` where it was not read."""
    reading = current.host
    if reading is None:
        return None
    before = previous.host if previous else None
    age = max(0.0, current.monotonic_seconds - reading.monotonic_seconds)
    if before is not None and before.monotonic_seconds == reading.monotonic_seconds:
        return extend(HostFrame, before, age_seconds=age)
    missing = dict(reading.missing)
    rates = counter_rates(reading, before, _RATES, missing)
    _hold_to_one(rates)
    seconds = reading.monotonic_seconds - before.monotonic_seconds if before else 0.0
    disks = _disks(reading.disks, before, seconds)
    networks = _networks(reading.networks, before, seconds)
    return extend(
        HostFrame,
        reading,
        **rates,
        **{name: _cpu_share(reading, before, field) for name, field in _CPU_SHARES.items()},
        tcp_retransmission_ratio=_retransmission_ratio(reading, before),
        disks=disks,
        networks=networks,
        read_bytes_per_second=_total(disk.read_bytes_per_second for disk in disks or ()),
        write_bytes_per_second=_total(disk.write_bytes_per_second for disk in disks or ()),
        rx_bytes_per_second=_total(network.rx_bytes_per_second for network in networks or ()),
        tx_bytes_per_second=_total(network.tx_bytes_per_second for network in networks or ()),
        age_seconds=age,
        missing=missing,
    )


def derive_pressures(previous: Frame | None, current: Sample) -> tuple[PressureFrame, ...]:
    """The pressures in control groups of the sample."""
    before = {pressure.path: pressure for pressure in (previous.pressures if previous else ())}
    return tuple(
        _derive_pressure(reading, before.get(reading.path)) for reading in current.pressures
    )


def _derive_pressure(reading: PressureReading, previous: PressureFrame | None) -> PressureFrame:
    missing = dict(reading.missing)
    shares = counter_rates(reading, previous, _PRESSURES, missing)
    _hold_to_one(shares)
    return extend(PressureFrame, reading, **shares, missing=missing)


def _hold_to_one(rates: dict[str, Any]) -> None:
    """Counter and clock are not read at the very same moment."""
    for name in _PRESSURES:
        if rates[name] is not None:
            rates[name] = min(1.0, rates[name])


def derive_cgroups(previous: Frame | None, current: Sample) -> tuple[CgroupFrame, ...]:
    """The control groups of the sample."""
    before = {group.path: group for group in (previous.cgroups if previous else ())}
    pids: dict[str, list[int]] = {}
    for process in current.processes:
        if process.cgroup is not None:
            pids.setdefault(process.cgroup, []).append(process.pid)
    return tuple(
        _derive_cgroup(reading, before.get(reading.path), tuple(pids.get(reading.path, ())))
        for reading in current.cgroups
    )


def _derive_cgroup(
    reading: CgroupReading, previous: CgroupFrame | None, pids: tuple[int, ...]
) -> CgroupFrame:
    if previous is not None and previous.monotonic_seconds == reading.monotonic_seconds:
        return extend(CgroupFrame, previous, pids=pids)
    return extend(
        CgroupFrame,
        reading,
        throttled_ratio=_throttled(reading, previous),
        oom_kills_since_start=_oom_kills(reading, previous),
        pids=pids,
    )


def _throttled(reading: CgroupReading, previous: CgroupFrame | None) -> float | None:
    if previous is None or reading.cpu_periods is None or previous.cpu_periods is None:
        return None
    periods = reading.cpu_periods - previous.cpu_periods
    if periods == 0:
        return 0.0  # no period in which it wanted to run: nothing was held back
    return share(reading.cpu_throttled_periods, previous.cpu_throttled_periods, periods)


def _oom_kills(reading: CgroupReading, previous: CgroupFrame | None) -> int | None:
    if reading.oom_kills is None:
        return None
    if previous is None or previous.oom_kills is None:
        return 0
    return (previous.oom_kills_since_start or 0) + max(0, reading.oom_kills - previous.oom_kills)


def _cpu_share(reading: HostReading, previous: HostFrame | None, field: str) -> float | None:
    if previous is None or reading.cpu_total_seconds is None or previous.cpu_total_seconds is None:
        return None
    whole = reading.cpu_total_seconds - previous.cpu_total_seconds
    return share(getattr(reading, field), getattr(previous, field), whole)


def _disks(
    readings: Sequence[DiskReading] | None, previous: HostFrame | None, seconds: float
) -> tuple[DiskFrame, ...] | None:
    if readings is None:
        return None
    before = _by_name(previous.disks if previous else None)
    return tuple(_disk(reading, before.get(reading.name), seconds) for reading in readings)


def _disk(reading: DiskReading, before: DiskFrame | None, seconds: float) -> DiskFrame:
    return extend(
        DiskFrame,
        reading,
        read_bytes_per_second=rate(
            reading.read_bytes, before.read_bytes if before else None, seconds
        ),
        write_bytes_per_second=rate(
            reading.write_bytes, before.write_bytes if before else None, seconds
        ),
        busy_ratio=share(reading.busy_seconds, before.busy_seconds if before else None, seconds),
        await_seconds=_await(reading, before),
        queue_length=rate(reading.queue_seconds, before.queue_seconds if before else None, seconds),
    )


def _await(reading: DiskReading, before: DiskFrame | None) -> float | None:
    answered = rate(reading.requests, before.requests if before else None, 1.0)
    took = rate(reading.request_seconds, before.request_seconds if before else None, 1.0)
    return took / answered if answered and took is not None else None


def _networks(
    readings: Sequence[NetworkReading] | None, previous: HostFrame | None, seconds: float
) -> tuple[NetworkFrame, ...] | None:
    if readings is None:
        return None
    before = _by_name(previous.networks if previous else None)
    return tuple(_network(reading, before.get(reading.name), seconds) for reading in readings)


def _retransmission_ratio(reading: HostReading, previous: HostFrame | None) -> float | None:
    if previous is None or reading.tcp_sent_segments is None:
        return None
    sent = rate(reading.tcp_sent_segments, previous.tcp_sent_segments, 1.0)
    again = rate(reading.tcp_retransmitted_segments, previous.tcp_retransmitted_segments, 1.0)
    if sent is None or again is None:
        return None
    return again / (sent + again) if again else 0.0


def _network(reading: NetworkReading, before: NetworkFrame | None, seconds: float) -> NetworkFrame:
    now = reading.rx_dropped + reading.tx_dropped
    dropped = before.rx_dropped + before.tx_dropped if before else None
    since_start = (
        since(now, dropped, before.dropped_since_start, 64).amount
        if before and dropped is not None
        else 0
    )
    return extend(
        NetworkFrame,
        reading,
        rx_bytes_per_second=rate(reading.rx_bytes, before.rx_bytes if before else None, seconds),
        tx_bytes_per_second=rate(reading.tx_bytes, before.tx_bytes if before else None, seconds),
        dropped_per_second=rate(now, dropped, seconds),
        dropped_since_start=since_start,
    )


def _by_name(items: Iterable[_Named] | None) -> dict[str, _Named]:
    return {item.name: item for item in items or ()}


def _total(values: Iterable[float | None]) -> float | None:
    present = [value for value in values if value is not None]
    return sum(present) if present else None
