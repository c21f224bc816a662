"""What a thread that stands still waits for, and who holds the other end: read only on request."""

from typing import Literal

import msgspec

from .reading import Reading

ThingKind = Literal[
    "pipe", "fifo", "socket", "unix socket", "file lock", "mutex", "epoll", "terminal", "file"
]
HolderPart = Literal["writes", "reads", "both", "holds", "peer", "owns"]
"""What the holder has of it: an end of the pipe, the lock, the far end of the socket, the mutex."""


HAS_OPEN = "has open"
"""Of a file that somebody else has locked: whether it waits for that, others must tell."""


class HolderReading(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A process that has the other end of it, or holds it."""

    pid: int
    """Here."""
    start_time_seconds: float
    part: HolderPart
    name: str = ""
    command: str = ""
    """The beginning of its command line."""
    state: str = ""
    """The kernel's letter."""
    wait_channel: str | None = None
    still_seconds: float | None = None
    """For how long its threads have neither run nor woken up while it was looked at; 0: it runs."""
    tid: int | None = None
    """The thread that owns a mutex, where that is known."""
    waits_back: bool = False
    """That thread waits for what the waiting one owns."""


class ThingReading(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One thing that a thread waits for."""

    kind: ThingKind
    name: str
    """``/data/x.lock``, ``pipe:[77]``, ``10.0.0.3:2049``: the far end of a socket."""
    call: str = ""
    """In words: ``reads``, ``locks``, ``receives from``, ``polls``…"""
    holders: tuple[HolderReading, ...] = ()
    """Without the waiting process itself."""
    own: bool = False
    """The waiting process has such an end itself."""
    all_seen: bool = False
    """Whoever could hold it was looked at: without holders nobody does. Else some were not seen."""


class WaitReading(Reading, frozen=True, kw_only=True, omit_defaults=True):
    """The wait of a process's main thread, which had not woken up from before to after the look."""

    pid: int
    start_time_seconds: float
    switches: int
    """Voluntary ones of the main thread, before and after."""
    things: tuple[ThingReading, ...] = ()
    """Of several, as in a poll, any will do."""
    any_of: bool = False
