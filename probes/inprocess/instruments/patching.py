"""Instruments that put a function of ours in the place of one of torch's."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any

from ..after_import import after_import
from ..instrument import ON, Instrument

if TYPE_CHECKING:
    from ..interface import ProbeLike
    from ..track import Track

Function = Callable[..., Any]


def attributes(owner: Any) -> dict[str, Any]:
    """What an object has itself, not by its class."""
    found: dict[str, Any] = owner.__dict__
    return found


class Patching(Instrument):
    """The base of those. What it has replaced is put back when it is taken out; whoever took hold of
    our function before that has one that passes everything through."""

    def __init__(self, probe: ProbeLike) -> None:
        super().__init__(probe)
        self._removed = False
        self._replaced: list[tuple[Any, str, Any, Any]] = []
        self.torch: Any = sys.modules.get("torch")
        self.is_compiling: Callable[[], bool] = (
            self.torch.compiler.is_compiling if self.torch else _never
        )

    def remove(self) -> None:
        self._removed = True
        kept: list[tuple[Any, str, Any, Any]] = []
        while self._replaced:
            owner, name, original, ours = self._replaced.pop()
            if attributes(owner).get(name) is ours:
                setattr(owner, name, original)
            else:  # somebody has put something around it: it serves again if this is put in again
                kept.append((owner, name, original, ours))
        self._replaced = kept

    def start(self) -> None:
        self._removed = False
        super().start()

    def replace(self, owner: Any, name: str, make: Callable[[Function], Function]) -> None:
        """Put what ``make`` makes of it in the place of a function of a module or a class."""
        original: Function = attributes(owner)[name]
        self.put(owner, name, original, make(original))

    def put(self, owner: Any, name: str, original: Function, ours: Function) -> None:
        """The same with a function that is made already."""
        if any(each[0] is owner and each[1] == name for each in self._replaced):
            return
        setattr(owner, name, ours)
        self._replaced.append((owner, name, original, ours))

    def later(self, name: str, function: Callable[[Any], None]) -> None:
        """Call it with the module of that name as soon as the job has imported it."""

        def imported() -> None:
            if not self._removed:
                try:
                    function(sys.modules[name])
                except Exception as error:
                    self.fail(error)

        after_import(name, imported)

    def within(
        self,
        original: Function,
        begin: Callable[[tuple[Any, ...], dict[str, Any]], Any],
        end: Callable[[Any, Any], None],
    ) -> Function:
        """That function, with something of ours before and after it, whatever comes of it.

        Args:
            original: is called in any case, and what it raises passes through.
            begin: gets its arguments; returns ``None`` where nothing is to be ended.
            end: gets what ``begin`` has returned, and the function; ``None`` where that has raised.
        """
        is_compiling = self.is_compiling

        @wraps(original)
        def ours(*args: Any, **kwargs: Any) -> Any:
            # First, so that dynamo sees nothing of the rest: it would break the job's graph.
            if is_compiling() or self.state != ON:
                return original(*args, **kwargs)
            timing = self.timing
            began = timing.now() if timing else 0
            try:
                opened = begin(args, kwargs)
            except Exception as error:
                self.fail(error)
                opened = None
            if opened is None:
                return original(*args, **kwargs)
            before = timing.now() - began if timing else 0
            result = None
            try:
                result = original(*args, **kwargs)
                return result
            finally:
                began = timing.now() if timing else 0
                try:
                    end(opened, result)
                except Exception as error:
                    self.fail(error)
                if timing:
                    timing.add(before, timing.now() - began)

        return ours

    def phase(self, original: Function, code: int) -> Function:
        """That function as a phase of whatever thread calls it."""
        probe = self.probe

        def begin(_args: tuple[Any, ...], _kwargs: dict[str, Any]) -> tuple[Track, int]:
            self.calls += 1
            track = probe.track()
            return track, track.enter(code)

        return self.within(original, begin, self.close)

    def close(self, opened: tuple[Track, int], _result: Any = None) -> None:
        """Close the phase of a track that is open from that depth on."""
        track, depth = opened
        track.leave(depth)


def _never() -> bool:
    return False
