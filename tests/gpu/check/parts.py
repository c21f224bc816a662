"""The parts of the check: each a process of its own with its own time limit, so none stops the others."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from . import section
from .section import Said, Section
from .setting import Setting, end_tree


class Part(NamedTuple):
    """One of them."""

    name: str
    """Its module here, whose ``run`` it is."""
    title: str
    limit_seconds: float
    runs_jobs: bool = False


PARTS = (
    Part("smi", "Every value beside nvidia-smi", 25.0),
    Part("calls", "Duration of each NVML call", 25.0),
    Part("screens", "The screens as text", 40.0),
    Part("captures", "A profile and a memory snapshot", 45.0, runs_jobs=True),
    Part("cost", "Cost of the probe", 45.0, runs_jobs=True),
    Part("verdicts", "Verdicts on real jobs", 300.0, runs_jobs=True),
)
"""In this order; the last takes what time is left."""


class Outcome(NamedTuple):
    """What came of a part."""

    part: Part
    said: tuple[Said, ...]
    seconds: float

    @property
    def failures(self) -> list[str]:
        return [each.text for each in self.said if each.kind == "failure"]

    @property
    def skips(self) -> list[str]:
        return [each.text for each in self.said if each.kind == "skipped"]

    @property
    def word(self) -> str:
        """In one word."""
        if self.failures:
            return "FAILED"
        return "skipped" if self.skips else "agrees"


def measure(part: Part, command: list[str], file: Path, limit_seconds: float) -> Outcome:
    """Run one to its end or its limit, and take what it has said."""
    began = time.monotonic()
    file.touch()
    errors = file.with_suffix(".errors")
    with errors.open("w") as stream:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=stream,
            start_new_session=True,
        )
        try:
            process.wait(limit_seconds)
            late = False
        except subprocess.TimeoutExpired:
            late = True
        finally:
            end_tree(process)
            with suppress(ProcessLookupError):  # what it has started and left to nobody
                os.killpg(process.pid, signal.SIGKILL)
    said = section.read(file)
    if late:
        said.append(Said("failure", f"cut off at its limit of {limit_seconds:.0f} s"))
    elif not any(each.kind == "ended" for each in said):
        told = errors.read_text(errors="replace")[-1500:].strip()
        said.append(Said("failure", f"ended with {process.returncode}: {told or 'no word'}"))
    return Outcome(part, tuple(said), time.monotonic() - began)


def run_here(name: str, setting: Setting, file: Path) -> int:
    """In the process of the part itself."""
    with file.open("a", encoding="utf-8") as stream:
        said = Section(stream)
        try:
            run: Callable[[Setting, Section], None] = import_module(f"{__package__}.{name}").run
            run(setting, said)
        except Exception as error:  # noqa: BLE001 - told in the report, and no other part is stopped
            said.failure(f"{type(error).__name__}: {error}")
            said.block(traceback.format_exc(limit=-4))
        said.ended()
    return 0


def command_of(part: Part, setting: Setting, file: Path, limit_seconds: float) -> list[str]:
    """That runs it in a process of its own."""
    package = (__package__ or "").split(".")
    return [
        *(sys.executable, "-m", ".".join(package), "--part", part.name, "--into", str(file)),
        *("--folder", str(setting.folder), "--python", setting.python),
        *("--device", setting.device, "--watch", f"{setting.watch_seconds:g}"),
        *("--limit", f"{limit_seconds:.1f}", "--no-jobs", setting.no_jobs),
    ]
