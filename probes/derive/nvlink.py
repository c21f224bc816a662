"""Single NVLinks: rates by the driver's own clock, and what each has suffered since we came."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..model.gpu_frames import NvlinkFrame
from ..model.gpu_readings import NvlinkReading
from .counters import since
from .extend import extend
from .rates import rate

_ERRORS = ("crc_errors", "replay_errors", "recovery_errors")


def derive_nvlinks(
    readings: Sequence[NvlinkReading] | None, previous: Sequence[NvlinkFrame] | None
) -> tuple[NvlinkFrame, ...] | None:
    """The links of one GPU.

    Args:
        readings: as read now; they are sent many times between two readings of them.
        previous: the links of the frame before.
    """
    if readings is None:
        return None
    if previous and len(previous) == len(readings) and all(map(_sent_again, readings, previous)):
        return tuple(previous)
    before = {link.link: link for link in previous or ()}
    return tuple([_derive(reading, before.get(reading.link)) for reading in readings])


def errors_since_start(links: Sequence[NvlinkFrame] | None) -> int | None:
    """Over all links; ``None`` where no link tells of any kind."""
    reported = [
        link
        for link in links or ()
        if link.crc_errors is not None
        or link.replay_errors is not None
        or link.recovery_errors is not None
    ]
    if not reported:
        return None
    return sum(
        link.crc_errors_since_start
        + link.replay_errors_since_start
        + link.recovery_errors_since_start
        for link in reported
    )


def _sent_again(reading: NvlinkReading, previous: NvlinkFrame) -> bool:
    return (
        reading.stamp_seconds is not None
        and reading.stamp_seconds == previous.stamp_seconds
        and reading.active == previous.active
        and reading.link == previous.link
    )


def _derive(reading: NvlinkReading, previous: NvlinkFrame | None) -> NvlinkFrame:
    # Without the driver's time there are no rates: the reading itself may be many samples old.
    passed = 0.0
    if previous is not None and reading.stamp_seconds and previous.stamp_seconds:
        passed = reading.stamp_seconds - previous.stamp_seconds
        if _sent_again(reading, previous):
            return previous
    rates = {
        f"{name}_per_second": rate(
            getattr(reading, name), getattr(previous, name) if previous else None, passed
        )
        for name in ("rx_bytes", "tx_bytes", "crc_errors")
    }
    return extend(
        NvlinkFrame,
        reading,
        **rates,
        **_since_start(reading, previous),
        was_active=bool(reading.active) or (previous is not None and previous.was_active),
    )


def _since_start(reading: NvlinkReading, previous: NvlinkFrame | None) -> dict[str, Any]:
    counts: dict[str, Any] = {}
    for name in _ERRORS:
        field = f"{name}_since_start"
        so_far = getattr(previous, field) if previous else 0
        now = getattr(reading, name)
        before = getattr(previous, name) if previous else None
        if now is None:
            # What it stood at is kept, so that errors in between are not lost.
            counts[name] = before
        counts[field] = (
            so_far if now is None or before is None else since(now, before, so_far, 64).amount
        )
    return counts
