"""The stacks of all groups as one tree: what they have in common, and where they part."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from ...probes.derive.stack_groups import StackGroup
from ...probes.model.rank_readings import StackFrameReading
from ...probes.model.stack_places import is_own, place_of
from ..drawing.explanations import Term
from ..drawing.glyphs import BRANCH, DOT, ELLIPSIS, FOLD, TRUNK
from ..drawing.lines import Line, LineBuilder, plain
from ..drawing.rank_words import who

TERMS = (
    Term(
        "Where they part",
        "All stacks as one tree, outermost function first; behind a branch, the ranks that took it.",
    ),
    Term("Common to all", "All ranks are in the same stack, outermost function first."),
)


class Branch(msgspec.Struct):
    """A run of frames without a fork, outermost first; then the ways from there on."""

    frames: list[StackFrameReading]
    groups: list[StackGroup]
    """All that pass through here."""
    ways: list[Branch]


def tree_of(groups: Sequence[StackGroup]) -> Branch:
    """The tree of these groups; those without a stack have no part in it."""
    return _grow([group for group in groups if group.stack], 0)


def tree_lines(groups: Sequence[StackGroup], width: int, rows: int) -> list[Line]:
    """At most ``rows`` lines. Where they are too many, the runs between the forks are cut."""
    tree = tree_of(groups)
    longest = max((len(group.stack) for group in groups), default=0)
    lines: list[Line] = []
    for most in range(longest, 0, -1):
        lines = list(_drawn(tree, "", width, most, root=True))
        if len(lines) <= rows:
            break
    return lines[:rows]


def _grow(groups: list[StackGroup], depth: int) -> Branch:
    """The branch that begins with the frame at that depth, which all of them have."""
    frames: list[StackFrameReading] = []
    while True:
        ways: dict[StackFrameReading | None, list[StackGroup]] = {}
        for group in groups:
            inner = len(group.stack) - 1 - depth
            ways.setdefault(group.stack[inner] if inner >= 0 else None, []).append(group)
        if len(ways) != 1 or None in ways:
            inside = [members for frame, members in ways.items() if frame is not None]
            return Branch(frames, groups, [_grow(members, depth) for members in inside])
        frames.extend(frame for frame in ways if frame is not None)
        depth += 1


def _drawn(branch: Branch, before: str, width: int, most: int, *, root: bool) -> Iterator[Line]:
    """The lines of a branch; at the root its inner end is kept, elsewhere its outer one."""
    frames, hidden = branch.frames, max(0, len(branch.frames) - most)
    kept = frames[hidden:] if root else frames[: len(frames) - hidden]
    more = f"{ELLIPSIS} {hidden} more"
    inside = before if root else before[:-2] + _below(before[-2:])
    if root and hidden:
        yield LineBuilder(width).gap().add(more, "dim").line()
    for at, frame in enumerate(kept):
        line = LineBuilder(width).gap().add(before if at == 0 else inside, "rule")
        line.add(plain(place_of(frame)), "strong" if is_own(frame) else "text")
        if at == 0 and not root:
            line.gap(2).add(_names(branch.groups), "key")
        yield line.line()
    if not root and hidden:
        yield LineBuilder(width).gap().add(inside, "rule").add(more, "dim").line()
    for at, way in enumerate(branch.ways):
        last = at == len(branch.ways) - 1
        mark = f"{FOLD if last else BRANCH} "
        yield from _drawn(way, inside + mark, width, most, root=False)


def _below(mark: str) -> str:
    return "  " if mark.startswith(FOLD) else f"{TRUNK} "


def _names(groups: Sequence[StackGroup]) -> str:
    ranks = [rank for group in groups for rank in group.ranks]
    return f"{DOT} {who(ranks, [pid for group in groups for pid in group.pids])}"
