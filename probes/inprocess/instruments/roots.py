"""Find the modules that the loop calls: the outermost ones around what an optimizer trains.

There is no list of them, and a hook on all modules would cost more than all the rest of the probe. So,
once for each optimizer, its first step looks at what the functions that led to it hold.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import FrameType

_MOST_VALUES = 20_000
"""Looked at in all: a few milliseconds."""
_MOST_ITEMS = 64
_MOST_FRAMES = 200
_DEPTH = 2
"""Attributes of attributes: ``self.trainer.model``."""
_FAST_LOCALS = 0x1
_SKIPPED = ("torch.", "importlib.", "runpy")


def find_roots(module_type: type, parameters: set[int], frame: FrameType) -> list[Any]:
    """Modules that hold any of the parameters, without those inside another of them.

    Args:
        module_type: `torch.nn.Module`.
        parameters: identities of those that an optimizer trains; where no module has any of them, all
            that have parameters are meant.
        frame: where to begin; those that led to it follow.
    """
    found: dict[int, Any] = {}
    for value in _values(frame, module_type):
        found[id(value)] = value
    modules = list(found.values())
    trained = [each for each in modules if any(id(p) in parameters for p in each.parameters())]
    # ZeRO trains copies of its own, and in inference nothing is trained.
    return _outermost(trained or [each for each in modules if _has_parameters(each)])


def children(module: Any) -> list[Any]:
    """Those inside that a loop may call instead of the whole."""
    return [each for each in module.children() if _has_parameters(each)]


def _has_parameters(module: Any) -> bool:
    return next(module.parameters(), None) is not None


def _outermost(modules: list[Any]) -> list[Any]:
    inside: set[int] = set()
    for each in modules:
        inside.update(id(inner) for inner in each.modules() if inner is not each)
    return [each for each in modules if id(each) not in inside]


def _values(frame: FrameType, wanted: type) -> Iterator[Any]:
    seen: set[int] = set()
    at: FrameType | None = frame
    for _ in range(_MOST_FRAMES):
        if at is None or len(seen) > _MOST_VALUES:
            return
        for value in _variables(at):
            yield from _within(value, wanted, seen, _DEPTH)
        at = at.f_back


def _variables(frame: FrameType) -> list[Any]:
    values: list[Any] = []
    if not str(frame.f_globals.get("__name__", "")).startswith(_SKIPPED):
        values += list(frame.f_globals.values())
    if frame.f_code.co_flags & _FAST_LOCALS:
        held = frame.f_locals
        values += list(held.values())
        if sys.version_info < (3, 13):
            # A copy that the frame keeps: it would hold the tensors of this step until the end.
            held.clear()
    return values


def _within(value: Any, wanted: type, seen: set[int], depth: int) -> Iterator[Any]:
    if id(value) in seen or len(seen) > _MOST_VALUES:
        return
    seen.add(id(value))
    kind: Any = type(value)  # pyright: ignore[reportUnknownVariableType]
    if issubclass(kind, wanted):  # what `isinstance` says of a weak proxy is true of another object
        yield value
    if kind in (list, tuple):
        inside = list(value[:_MOST_ITEMS])
    elif kind is dict:
        inside = list(value.values())[:_MOST_ITEMS]
    elif depth and not issubclass(kind, (type, wanted)) and kind.__module__ != "builtins":
        inside = list(_attributes(value).values())
        depth -= 1
    else:
        return
    for each in inside:
        yield from _within(each, wanted, seen, depth)


def _attributes(value: Any) -> dict[str, Any]:
    try:
        found: Any = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return {}
    return found if found.__class__ is dict else {}
