"""One run of py-spy as a child: never waited for too long, never cut off while it writes."""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

from .lower_priority import lower_priority

TIMEOUT_SECONDS = 4.0
_MOST_BYTES = 1 << 23
_PIECE_BYTES = 1 << 16
_LAST_SECONDS = 1.0


class Output(NamedTuple):
    """What a run printed. ``code`` is ``None`` where it had to be killed."""

    code: int | None
    out: bytes
    errors: str


def find_py_spy() -> str | None:
    """Path of its binary: beside this interpreter, where pip puts it, or else on the PATH."""
    beside = Path(sys.executable).with_name("py-spy")
    return str(beside) if os.access(beside, os.X_OK) else shutil.which("py-spy")


def run_py_spy(
    binary: str, *arguments: str, seconds: float = TIMEOUT_SECONDS, gives_way: bool = True
) -> Output:
    """Run it to its end, or for so many seconds.

    Its output is read to the end whatever its size: it prints a backtrace when its reader goes away.

    Args:
        binary: path of py-spy.
        arguments: for it.
        seconds: after which it is killed.
        gives_way: to all other programs; not where the target stands still meanwhile.

    Raises:
        OSError: when it cannot be started.
    """
    process = subprocess.Popen(
        [binary, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    if gives_way:
        lower_priority(process.pid)
    deadline = time.monotonic() + seconds
    assert process.stdout is not None and process.stderr is not None
    texts = {process.stdout.fileno(): bytearray(), process.stderr.fileno(): bytearray()}
    out, errors = texts.values()
    with process.stdout, process.stderr:
        ended = _read_all(texts, deadline)
        if not ended:
            with contextlib.suppress(ProcessLookupError):  # all of it: it may have started others
                os.killpg(process.pid, signal.SIGKILL)
    with contextlib.suppress(subprocess.TimeoutExpired):  # a child in state D outlives even that
        process.wait(
            _LAST_SECONDS if not ended else max(_LAST_SECONDS, deadline - time.monotonic())
        )
    code = process.returncode if ended else None
    return Output(code, bytes(out), errors.decode("utf-8", "replace").strip())


def _read_all(texts: dict[int, bytearray], deadline: float) -> bool:
    """Whether all of them came to their end in time."""
    poll = select.poll()
    for descriptor in texts:
        poll.register(descriptor, select.POLLIN)
    left = len(texts)
    while left:
        seconds = deadline - time.monotonic()
        if seconds <= 0:
            return False
        for descriptor, _ in poll.poll(seconds * 1000):
            piece = os.read(descriptor, _PIECE_BYTES)
            if not piece:
                poll.unregister(descriptor)
                left -= 1
            elif len(texts[descriptor]) < _MOST_BYTES:
                texts[descriptor] += piece
    return True
