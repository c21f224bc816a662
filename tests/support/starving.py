"""A core on which many spin, so that whoever shares it hardly runs."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager


def first_core() -> int:
    """One that this process may use."""
    return min(os.sched_getaffinity(0))


@contextmanager
def crowded_core(spinners: int) -> Iterator[int]:
    """The number of a core on which so many processes spin."""
    core = first_core()
    code = f"import os; os.sched_setaffinity(0, {{{core}}})\nwhile True: pass"
    crowd = [subprocess.Popen([sys.executable, "-S", "-c", code]) for _ in range(spinners)]
    try:
        yield core
    finally:
        for each in crowd:
            each.kill()
        for each in crowd:
            each.wait()


def on_core(core: int, *command: str) -> list[str]:
    """The command that runs another one on that core alone, with all it starts."""
    code = "import os, sys; os.sched_setaffinity(0, {int(sys.argv[1])}); os.execv(sys.argv[2], sys.argv[2:])"
    return [sys.executable, "-S", "-c", code, str(core), *command]
