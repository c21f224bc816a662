"""Starts the job of a case, waits until it is as the case says, and ends all of it."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from .case import Case

JOBS = Path(__file__).parent / "jobs"
STARTING_SECONDS = 150.0
LOG_END = 1500
POLL_SECONDS = 0.05


class JobFailed(Exception):
    """It did not come to where it should. The text is the end of its output."""


@dataclass(frozen=True)
class Setting:
    """How a case is run."""

    python: str
    """The Python that has torch."""
    probe: bool = False
    before: tuple[str, ...] = ()
    """What is put before each command, as ``setpriv`` for another user."""


def gputop(*words: str) -> list[str]:
    """The command, of the environment that this runs in."""
    return [sys.executable, "-P", "-m", "gputop", *words]


@contextlib.contextmanager
def started(case: Case, setting: Setting) -> Iterator[int]:
    """The pid to ask about, once the fault is in, or shortly before."""
    with contextlib.ExitStack() as stack:
        if case.beside:
            stack.enter_context(_running(case, case.beside, setting, "ready"))
        sign = "soon" if case.announced else "ready"
        yield stack.enter_context(_running(case, case.job, setting, sign))


@contextlib.contextmanager
def _running(case: Case, job: str, setting: Setting, sign: str) -> Iterator[int]:
    with tempfile.TemporaryDirectory(prefix="truth-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        folder.chmod(0o777)
        with (folder / "log").open("w") as log:
            process = subprocess.Popen(
                _command(case, job, folder, setting),
                cwd=folder,
                env=_environment(folder),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        try:
            _await_sign(process, folder, sign)
            yield process.pid
        finally:
            _end(process, folder)


def _command(case: Case, job: str, folder: Path, setting: Setting) -> list[str]:
    script = [str(JOBS / "job.py"), job, str(folder)]
    words = [setting.python, *script]
    if case.launcher == "mpirun":
        words = [setting.python, str(JOBS / "ranks.py"), str(case.ranks), *words]
    elif case.launcher == "torchrun":
        options = ["--standalone", f"--nproc-per-node={case.ranks}", *case.launcher_options]
        words = [setting.python, "-m", "torch.distributed.run", *options, *script]
    if setting.probe:
        words = [*gputop("run", "--"), *words]
    return [*setting.before, *words]


def _environment(folder: Path) -> dict[str, str]:
    hidden = ("PYTHONPATH", "RANK", "WORLD_SIZE", "LOCAL_RANK", "XDG_RUNTIME_DIR")
    kept = {key: value for key, value in os.environ.items() if key not in hidden}
    return {**kept, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": "", "HOME": str(folder)}


def _await_sign(process: subprocess.Popen[bytes], folder: Path, sign: str) -> None:
    deadline = time.monotonic() + STARTING_SECONDS
    while not list(folder.glob(f"{sign}-*")):
        if process.poll() is not None or time.monotonic() > deadline:
            raise JobFailed((folder / "log").read_text(errors="replace")[-LOG_END:])
        time.sleep(POLL_SECONDS)


def _end(process: subprocess.Popen[bytes], folder: Path) -> None:
    """Each rank may be a session of its own, and some processes are nobody's children."""
    with contextlib.suppress(OSError):
        for word in (folder / "outside").read_text().split():
            _kill(int(word))
    # What is stopped first can start nobody else.
    below = _below(process.pid)
    for pid in [process.pid, *below]:
        _kill(pid)
    process.wait()


def _kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def _below(pid: int) -> list[int]:
    found: list[int] = []
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text().split():
                found += [int(child), *_below(int(child))]
    return found
