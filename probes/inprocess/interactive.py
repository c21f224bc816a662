"""A notebook or a prompt: when it waits for whoever types, the job is idle and no step is due."""

from __future__ import annotations

import sys
import threading

from .instrument import Instrument

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .interface import ProbeLike

_PROMPT = "_pyrepl"
"""The package that reads what is typed, from Python 3.13 on; before that, it is no Python function."""


def use_if_interactive(probe: ProbeLike) -> None:
    """Watch for it in a process that has a prompt."""
    shell = _shell_of_ipython()
    if shell is not None:
        probe.use(Cells(probe, shell))
    elif hasattr(sys, "ps1") or sys.flags.interactive:
        probe.use(Prompt(probe))


def _shell_of_ipython() -> Any:
    module = sys.modules.get("IPython")
    get: Any = getattr(module, "get_ipython", None)
    return get() if get is not None else None


class Cells(Instrument):
    """Called by IPython, which Jupyter's kernels are made of, before and after each cell."""

    name = "cells"

    def __init__(self, probe: ProbeLike, shell: Any) -> None:
        super().__init__(probe)
        self._events = shell.events

    def install(self) -> None:
        self._events.register("pre_run_cell", self._begins)
        self._events.register("post_run_cell", self._ends)

    def remove(self) -> None:
        self._events.unregister("pre_run_cell", self._begins)
        self._events.unregister("post_run_cell", self._ends)

    def _begins(self, _reported: object = None) -> None:
        try:
            self.calls += 1
            if self.probe.loop_track():
                self.probe.steps.resume()
        except Exception as error:
            self.fail(error)

    def _ends(self, _reported: object = None) -> None:
        try:
            if self.probe.loop_track():
                self.probe.steps.pause()
        except Exception as error:
            self.fail(error)


class Prompt(Instrument):
    """Python's own prompt tells nobody. While it waits, its thread is in no function but the prompt's,
    which the probe's own thread sees when it looks once a second."""

    name = "prompt"

    def install(self) -> None:
        self._main = threading.main_thread().ident
        self._waits = False
        self.probe.gauges.append(self._gauge)

    def remove(self) -> None:
        if self._gauge in self.probe.gauges:
            self.probe.gauges.remove(self._gauge)

    def _gauge(self) -> dict[str, object]:
        frame = sys._current_frames().get(self._main or 0)  # pyright: ignore[reportPrivateUsage]
        waits = frame is None or str(frame.f_globals.get("__name__")).startswith(_PROMPT)
        if waits != self._waits and self.probe.loop_is_main():
            self._waits = waits
            if waits:
                self.probe.steps.pause()
            else:
                self.probe.steps.resume()
        return {}
