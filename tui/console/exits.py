"""Exit codes, and the one way to say on standard error what is wrong."""

from __future__ import annotations

import contextlib
import os
import sys

OK = 0
FINDINGS = 1
COULD_NOT_LOOK = 2
WRONG_USAGE = 64
INTERRUPTED = 130
BY_SIGNAL = 128
"""Plus the number of the signal that ended us, as shells have it."""
# Of `run`, when the job cannot be started; as shells have them.
CANNOT_RUN = 126
NOT_FOUND = 127


def complain(sentence: str, code: int = OK) -> int:
    """Say one sentence on standard error, if it can be written to; returns ``code``."""
    from ..drawing.lines import plain  # whoever has nothing to complain of starts without it

    try:
        print(f"gputop: {plain(sentence)}", file=sys.stderr, flush=True)
    except OSError:
        silence(2)
    return code


def silence(descriptor: int) -> None:
    """Let a standard stream that fails go nowhere, so that its rest does not fail again at exit."""
    with contextlib.suppress(OSError):
        nowhere = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        os.dup2(nowhere, descriptor)
        os.close(nowhere)
