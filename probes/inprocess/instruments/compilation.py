"""The compiler's work: torch.compile as it traces and generates code, for the first time or again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..layout import CODES
from .patching import Patching

if TYPE_CHECKING:
    from ..interface import ProbeLike
    from ..track import Track

_COMPILE = CODES["compile"]


class Compilation(Patching):
    """Called by dynamo before and after."""

    name = "compile"

    def __init__(self, probe: ProbeLike) -> None:
        super().__init__(probe)
        self._handler: Any = None
        self._open: tuple[Track, int] | None = None
        self._again = 0

    def install(self) -> None:
        self.later("torch._dynamo.callback", self._register)
        self.probe.ask(self._gauge)

    def remove(self) -> None:
        super().remove()
        if self._handler is not None:
            self._handler.remove_start_callback(self._begins)
            self._handler.remove_end_callback(self._ends)
            self._handler = None

    def _register(self, module: Any) -> None:
        if self._handler is not None:
            return
        handler = module.callback_handler
        handler.register_start_callback(self._begins)
        handler.register_end_callback(self._ends)
        self._handler = handler

    def _gauge(self) -> dict[str, object]:
        return {"recompiles": self._again}

    def _begins(self, *reported: Any) -> None:
        # Before torch 2.7 nothing is reported. The name of a compilation is frame/time: 3/0 is the first.
        try:
            self.calls += 1
            name = str(getattr(reported[0], "compile_id", "")) if reported else ""
            trigger = (
                getattr(getattr(reported[0], "callback_trigger", None), "name", "")
                if reported
                else ""
            )
            attempt = name.rpartition("/")[2].partition("_")[0]
            self._again += trigger == "DYNAMO" and attempt.isdecimal() and attempt != "0"
            track = self.probe.known_track()
            if track is not None:
                self._open = track, track.enter(_COMPILE)
        except Exception as error:
            self.fail(error)

    def _ends(self, *_reported: Any) -> None:
        try:
            opened, self._open = self._open, None
            if opened is not None and opened[0] is self.probe.known_track():
                opened[0].leave(opened[1])
        except Exception as error:
            self.fail(error)
