"""A load beside what is measured: busy loops, so many a core."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator

_LOOP = "while True: pass"


@contextlib.contextmanager
def loaded(loops_per_core: int) -> Iterator[None]:
    """So long as this goes on."""
    count = loops_per_core * len(os.sched_getaffinity(0))
    loops = [subprocess.Popen([sys.executable, "-S", "-E", "-c", _LOOP]) for _ in range(count)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
        for loop in loops:
            loop.wait()
