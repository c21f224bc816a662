"""``gputop run --tui``: the job beside the screen, its output in a file.

The job is in a session of its own: keys and signals of this terminal are for the screen. When the
screen is left, the job goes on in the foreground: interrupting gputop then interrupts the job.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from argparse import Namespace
from collections.abc import Mapping, Sequence
from io import BufferedWriter
from pathlib import Path
from types import FrameType

from ..console.cannot_start import cannot_start
from ..console.errors import UsageError
from ..console.exits import COULD_NOT_LOOK, complain

_FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


def run_beside(words: Sequence[str], environment: Mapping[bytes, bytes], options: Namespace) -> int:
    """Start the job, watch it, and wait for it; returns its exit code.

    Raises:
        UsageError: when there is no screen.
    """
    from .live import is_screen, watch

    if not is_screen():
        raise UsageError("run --tui needs a terminal; without it the job runs in the foreground")
    try:
        log = _new_log()
    except OSError as error:
        return complain(f"no file for the job's output: {error.strerror}", COULD_NOT_LOOK)
    try:
        with log:
            job = subprocess.Popen(
                words,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
    except OSError as error:
        Path(log.name).unlink()
        return cannot_start(words[0], environment, error)
    complain(f"the job is process {job.pid}, its output goes to {log.name}")
    options.command, options.pid = "attach", [job.pid]
    options.note = f"output in {Path(log.name).name}"
    watch(options)
    return _wait_for(job, log.name)


def _new_log() -> BufferedWriter:
    """A file of its own, in the current directory."""
    stem = time.strftime("gputop-run-%Y%m%d-%H%M%S")
    return Path(f"{stem}-{os.getpid()}.log").absolute().open("xb")


def _wait_for(job: subprocess.Popen[bytes], log: str) -> int:
    def forward(number: int, _frame: FrameType | None) -> None:
        if job.poll() is None:
            os.killpg(job.pid, number)

    for number in _FORWARDED:
        signal.signal(number, forward)
    if job.poll() is None:
        complain(f"the job (process {job.pid}) goes on, its output in {log}; Ctrl-C interrupts it")
    code = job.wait()
    print(f"gputop: the job ended with {_how(code)}; its output is in {log}", file=sys.stderr)
    return code if code >= 0 else 128 - code


def _how(code: int) -> str:
    return f"exit code {code}" if code >= 0 else f"signal {-code}"
