"""What a frame says of a rank as seen from outside: how it fares, and how one has ended."""

from __future__ import annotations

import msgspec

from .wait_kinds import WaitKind


class ActivityFrame(msgspec.Struct, frozen=True, kw_only=True):
    """The main thread of a rank since the previous frame. Counters need no right to be read."""

    state: str
    """The kernel's letter."""
    wait: WaitKind | None = None
    wait_channel: str | None = None
    cpu_cores: float | None = None
    switches_per_second: float | None = None
    """Voluntary: each is one wait."""
    autograd_cores: float | None = None
    """Of PyTorch's threads that run the backward on GPUs; ``None``: it has none."""
    still_since_seconds: float | None = None
    """Moment since which it has neither run nor woken up; ``None``: it moves."""
    still_looks: int = 0
    """How many looks have found it so since."""
    busy_since_seconds: float | None = None
    """Moment since which it has run without ever waiting for anything."""
    polls_since_seconds: float | None = None
    """Moment since which it has done nothing but sleep for short times: it looks again and again for
    something that does not come."""
    asks_since_seconds: float | None = None
    """Moment since which it has done nothing but ask for a lock many times a second, as Python does for
    its interpreter."""
    awake_since_seconds: float | None = None
    """Moment since which each look met it running or ready to run, and it has waited for nothing: also
    where others take its core."""
    waiting_looks_ratio: float | None = None
    """Share of the last looks that met it asleep in a lock or at a socket, as whoever waits for others does."""
    looks: int = 0
    """How many of these there were."""
    moved_seconds: float = 0.0
    """For how long it has been seen to do anything else than to stand still."""


class ExitedRank(msgspec.Struct, frozen=True, kw_only=True):
    """A rank that has ended under our eyes."""

    rank: int | None
    pid: int
    start_time_seconds: float
    job_id: str
    job_name: str
    monotonic_seconds: float
    signal: int | None = None
    code: int | None = None
    killed_by: str = ""
    gpu_index: int | None = None
    cgroup: str | None = None
    """In which it was."""
