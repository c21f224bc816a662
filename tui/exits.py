"""Exit codes, and the one way to say on standard error what is wrong."""

from __future__ import annotations

import sys

OK = 0
COULD_NOT_LOOK = 2
WRONG_USAGE = 64
INTERRUPTED = 130


def complain(sentence: str, code: int = OK) -> int:
    """Say one sentence on standard error; returns ``code``."""
    print(f"gputop: {sentence}", file=sys.stderr)
    return code
