"""A process of its own that says when it has come to the point, and is killed in the end."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

SLEEPS = "print('ready', flush=True); import time; time.sleep(60)"
SPINS = """
def spin():
    print("ready", flush=True)
    while True: pass
spin()
"""


@contextmanager
def ready(command: Sequence[str], folder: Path | None = None) -> Iterator[int]:
    """The pid of a command, once it has printed ``ready``."""
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == "ready\n"
        yield process.pid
    finally:
        process.kill()
        process.communicate()


@contextmanager
def python(code: str, *before: str) -> Iterator[int]:
    """The pid of a Python with that code; ``before`` are commands that become it, as ``setpriv``."""
    with ready([*before, sys.executable, "-c", code]) as pid:
        yield pid
