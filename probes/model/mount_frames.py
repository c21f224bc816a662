"""A network file system with what became of the requests to it."""

from __future__ import annotations

from .mount_readings import MountReading


class MountFrame(MountReading, frozen=True, kw_only=True, omit_defaults=False):
    """The same with what became of the requests since the reading before."""

    operations_per_second: float | None = None
    await_seconds: float | None = None
    """Mean of a request, queue and round trip."""
    queue_await_seconds: float | None = None
    """How much of that it was not sent yet."""
    retransmission_ratio: float | None = None
    read_bytes_per_second: float | None = None
    seconds: float | None = None
    """The time that these are means over."""
    age_seconds: float = 0.0
