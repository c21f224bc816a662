"""Network file systems: how long a request took since the reading before, and how many were sent again."""

from __future__ import annotations

from typing import Any

from ..model.frame import Frame
from ..model.missing_reasons import NOT_COUNTED
from ..model.mount_frames import MountFrame
from ..model.mount_readings import MountReading
from ..model.sample import Sample
from .extend import extend

_NOTHING = "nothing was read from it meanwhile"
_FIRST = "needs a second reading"
_RESET = "its counter was reset"
_WORKED_OUT = (
    "operations_per_second",
    "await_seconds",
    "queue_await_seconds",
    "retransmission_ratio",
    "read_bytes_per_second",
)


def derive_mounts(previous: Frame | None, current: Sample) -> tuple[MountFrame, ...]:
    """The mounts of the sample."""
    before = {_key(mount): mount for mount in (previous.mounts if previous else ())}
    return tuple(
        _derive(reading, before.get(_key(reading)), current.monotonic_seconds)
        for reading in current.mounts
    )


def _key(mount: MountReading) -> tuple[int, float, str, str]:
    return (mount.pid, mount.start_time_seconds, mount.mount_point, mount.device)


def _derive(reading: MountReading, previous: MountFrame | None, now: float) -> MountFrame:
    age = max(0.0, now - reading.monotonic_seconds)
    if previous is not None and previous.monotonic_seconds == reading.monotonic_seconds:
        return extend(MountFrame, previous, age_seconds=age)
    values = _values(reading, previous)
    missing = dict(reading.missing)
    if isinstance(values, str):
        missing.update(dict.fromkeys(_WORKED_OUT, values))
        values = {}
    else:
        missing.update({name: _NOTHING for name in _WORKED_OUT if values[name] is None})
    return extend(MountFrame, reading, **values, age_seconds=age, missing=missing)


def _values(now: MountReading, before: MountFrame | None) -> dict[str, Any] | str:
    """What is worked out; a text: why nothing can be."""
    if before is None:
        return _FIRST
    seconds = now.monotonic_seconds - before.monotonic_seconds
    grown = [
        _grown(getattr(now, name), getattr(before, name))
        for name in ("operations", "transmissions", "queue_seconds", "round_trip_seconds")
    ]
    known = [each for each in grown if each is not None]
    if len(known) < len(grown) or seconds <= 0:
        return NOT_COUNTED
    if min(known) < 0:
        return _RESET
    operations, transmissions, queue, round_trip = known
    read = _grown(now.read_bytes, before.read_bytes)
    return {
        "seconds": seconds,
        "operations_per_second": operations / seconds,
        "await_seconds": (queue + round_trip) / operations if operations else None,
        "queue_await_seconds": queue / operations if operations else None,
        "retransmission_ratio": (
            max(0.0, transmissions - operations) / transmissions if transmissions else None
        ),
        "read_bytes_per_second": read / seconds if read is not None and read >= 0 else None,
    }


def _grown(now: float | None, before: float | None) -> float | None:
    return None if now is None or before is None else now - before
