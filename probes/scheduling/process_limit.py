"""No further process or thread may be started: whose limit that is, in words, where the system only says no."""

from __future__ import annotations

EXIT_CODE = 75
"""Of a collector that ends for it: ``EX_TEMPFAIL`` of sysexits.h."""
SENTENCE = (
    "no further process or thread may be started here: a limit is reached "
    "(ulimit -u of this user, or pids.max of a control group)"
)


def is_process_limit(error: BaseException) -> bool:
    """Whether that is what fork, spawn or the start of a thread has met."""
    if isinstance(error, RuntimeError):
        return str(error).startswith("can't start new thread")
    return isinstance(error, BlockingIOError)


def failure_sentence(error: OSError) -> str:
    """Why a process cannot be started."""
    return SENTENCE if is_process_limit(error) else error.strerror or str(error)
