"""The stacks screen as a picture: groups of ranks, the tree of their stacks, and one rank's stack beside it."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ...probes.derive.stack_groups import StackGroup, merge
from ...probes.model.job_frames import JobFrame, RankFrame
from ..drawing import format
from ..drawing.glyphs import DOT, MORE_BELOW, TRUNK
from ..drawing.lines import Line, LineBuilder, blank, heading, plain
from ..drawing.rank_words import who
from ..drawing.target import Block, Target, rank_target
from ..session.job_order import no_job_words
from ..session.view import View
from .rank_stack import ASKED, rank_stack_lines, why_no_stack
from .stack_groups import group_lines
from .stack_tree import tree_lines
from .top_line import top_line

BESIDE_FROM = 110
"""Columns from which tree and stack lie side by side."""
_LEAST_BELOW = 6
_SHARE_OF_GROUPS = 4
_MOST_REASONS = 3


class StackLook(NamedTuple):
    """How the reader looks at it."""

    first: int = 0
    """Line of the rank's stack at the top."""
    tree: bool = False
    """The tree instead of the stack, where there is room for one of them."""


def groups_of(view: View, job: JobFrame) -> list[StackGroup]:
    """Those that the filter lets through, outliers first."""
    return [group for group in merge(job, view.frame) if view.lets(*_texts(group))]


def ranks_of(view: View, job: JobFrame) -> list[RankFrame]:
    """The ranks in the order of the groups."""
    ranks = {rank.pid: rank for rank in job.ranks}
    return [ranks[pid] for group in groups_of(view, job) for pid in group.pids]


def chosen_rank(view: View, ranks: Sequence[RankFrame]) -> RankFrame | None:
    """The selected one; else the first, an outlier where there are any."""
    chosen = (rank for rank in ranks if rank_target(rank) == view.selected)
    return next(chosen, next(iter(ranks), None))


def draw_stacks(
    view: View, job: JobFrame | None, look: StackLook, width: int, height: int
) -> Block:
    """Exactly ``height`` lines of exactly ``width`` cells."""
    head = [top_line(view, width)]
    if job is None:
        said = LineBuilder(width).gap(2).add(no_job_words(view), "dim").line()
        head += [heading("Stacks", width), said]
        return Block.of([*head, *[blank(width)] * (height - len(head))])
    groups = groups_of(view, job)
    rank = chosen_rank(view, ranks_of(view, job))
    head += [heading("Stacks", width, _title(view, job, groups)), *_how(view, job, width, height)]
    block = Block.of(head[: max(2, height - 2)])
    block = block + _groups(view, job, groups, rank, width, height - len(block.lines))
    rest = height - len(block.lines)
    if rank is not None and rest > 0:
        block = block + Block.of(_below(view, groups, rank, look, width, rest))
    rest = height - len(block.lines)
    return block + Block.of([blank(width)] * rest)


def _groups(
    view: View,
    job: JobFrame,
    groups: Sequence[StackGroup],
    rank: RankFrame | None,
    width: int,
    room: int,
) -> Block:
    if rank is None:
        return Block.of([LineBuilder(width).gap(2).add("no rank to show", "dim").line()])
    rows = max(1, min(len(groups), max(room // _SHARE_OF_GROUPS, min(4, room - _LEAST_BELOW))))
    chosen = next(group for group in groups if rank.pid in group.pids)
    lines, shown = group_lines(groups, chosen, width, rows)
    ranks = {each.pid: each for each in job.ranks}
    targets: list[Target | None] = [rank_target(ranks[group.pids[0]]) for group in shown]
    return Block(lines, targets)


def _below(
    view: View,
    groups: Sequence[StackGroup],
    rank: RankFrame,
    look: StackLook,
    width: int,
    room: int,
) -> list[Line]:
    if width < BESIDE_FROM:
        if look.tree:
            return _tree(groups, width, room)
        return _stack(view, rank, look.first, width, room)
    each = (width - 3) // 2
    tree = _tree(groups, each, room)
    stack = _stack(view, rank, look.first, width - each - 3, room)
    tree += [blank(each)] * (room - len(tree))
    stack += [blank(width - each - 3)] * (room - len(stack))
    return [
        LineBuilder(width).extend(one).gap().add(TRUNK, "rule").gap().extend(other).line()
        for one, other in zip(tree, stack, strict=True)
    ]


def _tree(groups: Sequence[StackGroup], width: int, room: int) -> list[Line]:
    lines = tree_lines(groups, width, room - 1)
    if not lines:
        lines = [LineBuilder(width).gap().add("no stacks to put together", "dim").line()]
    title = "Where they part" if len(groups) > 1 else "Common to all"
    return [heading(title, width, "outermost first"), *lines][:room]


def _stack(view: View, rank: RankFrame, first: int, width: int, room: int) -> list[Line]:
    name = who([rank.rank], [rank.pid])
    notes = [f"pid {rank.pid}"] if rank.rank is not None else []
    reading = view.frame.stacks_of(rank)
    if reading is not None and reading.main_stacks:
        age = view.frame.monotonic_seconds - reading.monotonic_seconds
        notes += [f"{format.duration(age)} old", "innermost first"]
    title = heading(name[:1].upper() + name[1:], width, f" {DOT} ".join(notes))
    lines = rank_stack_lines(view.frame, rank, width)
    first = max(0, min(first, len(lines) - (room - 1)))
    shown = lines[first : first + room - 1]
    hidden = len(lines) - first - len(shown)
    if hidden > 0 and len(shown) > 1:
        more = f"{MORE_BELOW} {hidden + 1} more"
        shown[-1] = LineBuilder(width).gap().add(more, "dim").line()
    return [title, *shown][:room]


def _title(view: View, job: JobFrame, groups: Sequence[StackGroup]) -> str:
    parts = [plain(job.name) or "job", format.counted(len(job.ranks), "rank")]
    if groups:
        parts.append(format.counted(len(groups), "group"))
    if view.filter:
        parts.append(f"matching {view.filter!r}")
    return f" {DOT} ".join(parts)


def _how(view: View, job: JobFrame, width: int, height: int) -> Iterator[Line]:
    """How the stacks were taken; then the reasons why some were not."""
    taken = LineBuilder(width).gap()
    for part in _taken(view, job):
        if len(part) > taken.room:
            break
        taken.add(part, "dim")
    yield taken.line()
    reasons: dict[str, list[RankFrame]] = {}
    for rank in job.ranks:
        reading = view.frame.stacks_of(rank)
        if reading is None or not reading.main_stacks:
            reasons.setdefault(why_no_stack(view.frame, rank), []).append(rank)
    for reason, ranks in list(reasons.items())[: _MOST_REASONS if height >= 20 else 1]:
        names = who([rank.rank for rank in ranks], [rank.pid for rank in ranks])
        wrapped = textwrap.wrap(plain(f"{names}: {reason}"), width - 3)
        role = "dim" if reason == ASKED else "warm"
        yield from (LineBuilder(width).gap().add(text, role).line() for text in wrapped)


def _taken(view: View, job: JobFrame) -> Iterator[str]:
    readings = [found for rank in job.ranks if (found := view.frame.stacks_of(rank))]
    taken = sum(reading.taken for reading in readings)
    yield "py-spy, nonblocking"
    if not taken:
        yield f" {DOT} no sample yet"
        return
    dumps = [len(reading.main_stacks) for reading in readings]
    few = f"{min(dumps)}" if min(dumps) == max(dumps) else f"{min(dumps)}-{max(dumps)}"
    ages = [view.frame.monotonic_seconds - reading.monotonic_seconds for reading in readings]
    yield f" {DOT} {few} {'sample' if few == '1' else 'samples'}"
    yield f" {DOT} {format.duration(max(ages))} old"
    inconsistent = sum(reading.inconsistent_dumps for reading in readings)
    yield f" {DOT} {inconsistent} of {taken} inconsistent"
    took = [reading.duration_seconds for reading in readings if reading.duration_seconds]
    if took:
        yield f" {DOT} {format.duration(max(took))} a dump"
    yield f" {DOT} the job is not stopped for it"


def _texts(group: StackGroup) -> tuple[object, ...]:
    frames = (text for frame in group.stack for text in (frame.name, frame.file))
    return (who(group.ranks, group.pids), *group.pids, group.phase, group.doing, *frames)
