"""The thread that owns the mutex of the C library for which another one waits.

glibc writes the owner's thread number into the mutex, eight bytes after the word on which others wait.
Python's own locks, conditions and semaphores have no owner: of these nothing is said.
"""

from __future__ import annotations

import os

from ..procfs.files import read_file
from ..procfs.text import parse_status
from .system_call import SystemCall, word_at

_COMMAND = 0x7F
_WAIT, _LOCK_PI = 0, 6
_CONTENDED = 2
_PI_OWNER = 0x3FFFFFFF
_MOST_THREADS = 1024


def owner_of(call: SystemCall, process: str, tid: int) -> int | None:
    """The thread here that owns it; ``None`` where that is no such mutex, or nobody of its process.

    Args:
        call: the wait for it.
        process: its folder in ``/proc``.
        tid: of whoever waits.

    Raises:
        OSError: where its memory may not be read.
    """
    address, command, value = call.arguments[0], call.arguments[1] & _COMMAND, call.arguments[2]
    words = word_at(process, address)
    if len(words) < 3:
        return None
    if command == _WAIT and value == _CONTENDED and words[0] == _CONTENDED:
        owner = words[2]
    elif command == _LOCK_PI:
        owner = words[0] & _PI_OWNER
    else:
        return None
    here = _thread_here(process, owner) if owner else None
    return here if here != tid else None


def _thread_here(process: str, own_number: int) -> int | None:
    """The mutex has the number that the thread has in its own PID namespace."""
    nested = len(parse_status(read_file(f"{process}/status")).namespace_pids) > 1
    tids = [int(name) for name in os.listdir(f"{process}/task")[:_MOST_THREADS]]  # noqa: PTH208
    if not nested:
        return own_number if own_number in tids else None
    for tid in tids:
        pids = parse_status(read_file(f"{process}/task/{tid}/status")).namespace_pids
        if pids and pids[-1] == own_number:
            return tid
    return None
