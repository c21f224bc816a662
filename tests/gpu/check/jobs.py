"""Starts the jobs of ``gpu_jobs.py``, with and without the probe, and ends them."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from .setting import TORCH_SCRIPTS, Setting, end_tree, gputop

STARTING_SECONDS = 40.0
LIVES_SECONDS = 90.0
"""A job ends by itself after that, whatever becomes of who started it."""
_END = 800


class JobFailed(Exception):
    """It did not come to its first steps. The text is the end of its output."""


class Job:
    """One job. It loads torch at once, and touches the GPU when it is let."""

    def __init__(self, name: str, setting: Setting, *, probe: bool) -> None:
        self.title = f"{name}, {'with' if probe else 'without'} the probe"
        stem = f"{name}-{'probe' if probe else 'bare'}-{os.getpid()}"
        self._log = setting.folder / f"{stem}.log"
        self._ready, self._gate = (setting.folder / f"{stem}.{end}" for end in ("ready", "gate"))
        for file in (self._ready, self._gate):
            file.unlink(missing_ok=True)
        script = [setting.python, str(TORCH_SCRIPTS / "gpu_jobs.py"), name]
        words = [
            *(gputop("run", "--") if probe else ()),
            *(*script, "--seconds", f"{LIVES_SECONDS:g}", "--device", setting.device),
            *("--ready", str(self._ready), "--gate", str(self._gate)),
        ]
        with self._log.open("w") as log:
            self._process = subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=setting.folder,
                env={**os.environ, "OMP_NUM_THREADS": "1"},
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.end()

    @property
    def pid(self) -> int:
        """Of the job itself: what puts the probe in becomes the job."""
        return self._process.pid

    def begin(self, seconds: float) -> None:
        """Let it on the GPU, and wait for its first steps.

        Raises:
            JobFailed: they do not come.
        """
        self._gate.touch()
        deadline = time.monotonic() + min(seconds, STARTING_SECONDS)
        while not self._ready.exists():
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise JobFailed(f"{self.title}: no steps: {self.output()}")
            time.sleep(0.05)

    def output(self) -> str:
        """The end of what it printed."""
        return self._log.read_text(errors="replace")[-_END:].strip() or "no output"

    @property
    def lives(self) -> bool:
        return self._process.poll() is None

    def end(self) -> None:
        """Kill it and all that it started."""
        end_tree(self._process)
        for file in (self._ready, self._gate):
            file.unlink(missing_ok=True)


def file_of(setting: Setting, name: str) -> Path:
    """A new one in the check's folder: what a job writes is never written over another."""
    path = setting.folder / name
    path.unlink(missing_ok=True)
    return path
