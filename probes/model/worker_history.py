"""What a frame remembers of the loader workers of each rank: bounded, and never printed."""

from __future__ import annotations

import msgspec

from .reading import Key


class Gone(msgspec.Struct, frozen=True, array_like=True):
    """A worker that is not there any more."""

    monotonic_seconds: float
    """When that was first seen."""
    group: float
    """As in `WorkerHistory.living`."""


class Came(msgspec.Struct, frozen=True, array_like=True):
    """A worker that was not there before."""

    monotonic_seconds: float
    """When it was first seen."""
    key: Key


class WorkerHistory(msgspec.Struct, frozen=True, kw_only=True):
    """The workers of one rank. Moments are those at which something was seen, of the last ten minutes."""

    pid: int
    start_time_seconds: float
    living: dict[Key, float] = {}
    """Each with its group: when the first of those that were started together was. One that took the place
    of another has that one's."""
    gone: tuple[Gone, ...] = ()
    """Lately, and nobody has taken their place yet."""
    came: tuple[Came, ...] = ()
    """Workers that came lately, and of which it is not clear yet whose place they took."""
    replaced: tuple[float, ...] = ()
    """One of several was replaced while the others went on, so it was no end of an epoch."""
    killed: tuple[float, ...] = ()
    """One was seen to have ended by a signal or with an error."""
    last_end: str = ""
    """How, of the last of these."""
    failures: int | None = None
    """Counter of its probe, as of the last reading."""
    failed: tuple[float, ...] = ()
    """The loop met a dead worker at a draw, as its probe counts."""
