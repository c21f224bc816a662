"""Recording a few steps with torch.profiler, on demand and never otherwise.

It must be started and stopped in the thread that trains, so both are done at the ends of steps; a
profiler that is stopped in another thread has crashed jobs. The file is written in a thread of its own:
that can take longer than many steps.
"""

from __future__ import annotations

import contextlib
import sys
import threading
from importlib import import_module
from typing import TYPE_CHECKING, Any

from .errors import CommandError
from .output_file import give_up, reserve

if TYPE_CHECKING:
    from . import layout
    from .interface import ProbeLike

MAX_STEPS = 100
_lock = threading.Lock()
_current: _Recording | None = None


class _Recording:
    """One recording: waits for the end of a step, records so many, writes them down."""

    def __init__(self, probe: ProbeLike, steps: int, path: str) -> None:
        self._probe = probe
        self._steps = steps
        self._path = path
        self._profiler: Any = None
        self.recorded = 0
        self.state = "waiting"
        self.reason = ""
        self.cancelled = False
        threading.Thread(target=self._prepare, name="gputop-profile", daemon=True).start()

    def busy(self) -> bool:
        return self.state in ("waiting", "recording", "writing")

    def _prepare(self) -> None:
        """The first profiler of a process imports for seconds: not in the training thread."""
        with contextlib.suppress(Exception):  # starting it will say what is wrong, or do without
            import_module("torch._dynamo")
        if self.state == "waiting":
            self._probe.at_step_end.append(self.step_ended)

    def step_ended(self, _step: layout.Step) -> None:
        """In the training thread."""
        try:
            if self.state == "waiting":
                self._start()
            else:
                self.recorded += 1
            if self.cancelled or self.recorded >= self._steps:
                self._stop()
        except Exception as error:
            self.fail(f"{type(error).__name__}: {error}"[:300])

    def _start(self) -> None:
        torch = sys.modules["torch"]
        if torch.autograd._profiler_enabled():
            raise RuntimeError("the job runs a profiler of its own")
        kinds = [torch.profiler.ProfilerActivity.CPU]
        if torch.cuda.is_initialized():
            kinds.append(torch.profiler.ProfilerActivity.CUDA)
        profiler = torch.profiler.profile(activities=kinds)
        profiler.start()
        self._profiler = profiler
        self.state = "recording"

    def _stop(self) -> None:
        self._leave_steps()
        profiler, self._profiler = self._profiler, None
        profiler.stop()
        if self.cancelled:
            self.fail("cancelled")
            return
        self.state = "writing"
        threading.Thread(
            target=self._write, args=(profiler,), name="gputop-profile", daemon=True
        ).start()

    def _write(self, profiler: Any) -> None:
        try:
            profiler.export_chrome_trace(self._path)
            self.state = "done"
        except Exception as error:
            self.fail(f"{type(error).__name__}: {error}"[:300])

    def fail(self, reason: str) -> None:
        self._leave_steps()
        give_up(self._path)
        self.reason = reason
        self.state = "failed"

    def _leave_steps(self) -> None:
        if self.step_ended in self._probe.at_step_end:
            self._probe.at_step_end.remove(self.step_ended)

    def reported(self) -> dict[str, object]:
        return {
            "state": self.state,
            "reason": self.reason,
            "recorded": self.recorded,
            "steps": self._steps,
            "path": self._path,
        }


def profile(probe: ProbeLike, request: dict[str, Any]) -> dict[str, object]:
    """Begin to record so many steps, from the end of the one in progress.

    Raises:
        CommandError: one is being recorded, or the request or the file is not right.
    """
    global _current
    steps = request.get("steps")
    if not isinstance(steps, int) or not 1 <= steps <= MAX_STEPS:
        raise CommandError(f"from 1 to {MAX_STEPS} steps can be recorded")
    torch = sys.modules.get("torch")
    if torch is None or not hasattr(torch, "profiler"):
        raise CommandError("torch.profiler is not in this process")
    with _lock:
        if _current is not None and _current.busy():
            raise CommandError("another recording is not done yet")
        _current = _Recording(probe, steps, reserve(request.get("path")))
        return _current.reported()


def status(_probe: ProbeLike, _request: dict[str, Any]) -> dict[str, object]:
    """How far the newest recording is."""
    return _current.reported() if _current is not None else {"state": "none"}


def cancel(_probe: ProbeLike, _request: dict[str, Any]) -> dict[str, object]:
    """Let it be: at once if it waits for a step's end, at the next one if it records."""
    recording = _current
    if recording is not None:
        recording.cancelled = True
        if recording.state == "waiting":
            recording.fail("cancelled")
    return status(_probe, _request)
