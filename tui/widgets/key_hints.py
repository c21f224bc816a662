"""The keys for the last line: whole ones only, the most useful first, and where the others are listed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..drawing.lines import Span, spans_width
from .keys import HELP_KEY, QUIT_KEY

Hint = tuple[str, str]
"""A key, and what it does."""
_REST = "more"
"""What the help is called where not all keys are on the line."""
_BETWEEN = 2
_ALWAYS = (HELP_KEY, QUIT_KEY)


class _Group(NamedTuple):
    """Keys that belong together."""

    hints: tuple[Hint, ...]

    @property
    def spans(self) -> list[Span]:
        spans: list[Span] = []
        for at, (key, does) in enumerate(self.hints):
            spans += [(" ", "text")] * (at > 0)
            spans += [(key, "key"), (f" {does}", "dim")]
        return spans


def hint_spans(hints: Sequence[Hint], room: int) -> list[Span]:
    """What of it fits in so many cells."""
    groups = _grouped(hints)
    whole = _joined(groups)
    if spans_width(whole) <= room:
        return whole
    groups = [_Group(((HELP_KEY, _REST),)) if _is(group, HELP_KEY) else group for group in groups]
    return _joined(_fitting(groups, room))


def _grouped(hints: Sequence[Hint]) -> list[_Group]:
    """The screens are one group, all others are their own."""
    groups: list[_Group] = []
    for hint in hints:
        if hint[0].isdecimal() and groups and groups[-1].hints[0][0].isdecimal():
            groups[-1] = _Group((*groups[-1].hints, hint))
        else:
            groups.append(_Group((hint,)))
    return groups


def _fitting(groups: Sequence[_Group], room: int) -> list[_Group]:
    """What must be there always, then each that still has room, in their order."""
    kept = {at: group for at, group in enumerate(groups) if any(_is(group, key) for key in _ALWAYS)}
    for at, group in enumerate(groups):
        for form in (group, _folded(group)):
            tried = {**kept, at: form}
            if spans_width(_joined(_in_order(tried))) <= room:
                kept = tried
                break
    return _in_order(kept)


def _folded(group: _Group) -> _Group:
    """``1-6 screens``."""
    if len(group.hints) == 1:
        return group
    return _Group(((f"{group.hints[0][0]}-{group.hints[-1][0]}", "screens"),))


def _is(group: _Group, key: str) -> bool:
    return group.hints[0][0] == key


def _in_order(kept: dict[int, _Group]) -> list[_Group]:
    return [kept[at] for at in sorted(kept)]


def _joined(groups: Sequence[_Group]) -> list[Span]:
    spans: list[Span] = []
    for at, group in enumerate(groups):
        spans += [(" " * _BETWEEN, "text")] * (at > 0)
        spans += group.spans
    return spans
