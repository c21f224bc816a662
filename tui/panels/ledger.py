"""Where the last minute went, rank by rank: a bar of the phases' shares, and the same in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ...probes.model.job_frames import RankFrame
from ...rules.history import STALLED, History
from ..drawing.bars import shares
from ..drawing.finding_words import runs_text
from ..drawing.glyphs import BLOCK, SHADES
from ..drawing.lines import Line, LineBuilder, left, plain, right
from ..drawing.phase_roles import PHASE_ROLES
from ..drawing.target import Block
from ..session.view import View
from .hidden_waits import BACKWARD, COMM, hidden_wait, late_rank

SECONDS = 60.0
ALIKE = 0.05
"""Ranks whose shares differ by less are drawn as one where there is little room."""
_STALLED = "stalled"
_COMPUTE = ("forward", "backward", "optimizer")
LETTERS = {
    "compute": SHADES[0],
    "data": "d",
    "h2d": "h",
    "comm": "~",
    "stalled": "!",
    "checkpoint": "k",
    "eval": "e",
    "compile": "c",
    "startup": "u",
    "gc": "g",
    "sync": "s",
    "idle": "i",
    "other": ".",
}
"""Where there are no colors to tell them apart."""
_FIRST = ("compute", "data", "h2d", "comm", "stalled")
_WORTH_SAYING = 0.005
_LARGE = 0.1
_LEAST_BAR = 8
_PERCENT = len("  xxxx %")
_LEGEND = len("d ")
_ORIGIN = 12
"""Cells for how the shares are known."""


class Account(NamedTuple):
    """The time of one rank, or of several that are alike."""

    names: list[str]
    shares: dict[str, float]
    origin: str


def accounts(view: View) -> list[Account]:
    """One for each rank that tells its phases."""
    found: list[Account] = []
    for job in view.frame.jobs:
        late = late_rank(job, view.judgement)
        for rank in job.living:
            waited = hidden_wait(rank, late)
            origin = "inferred" if waited else rank.phase_source or ""
            found.append(Account([_name(rank)], _shares(rank, waited, view.history), origin))
    return [account for account in found if account.shares]


def covered_seconds(view: View) -> float:
    """How much of the minute was seen."""
    return max(
        (rank.last_minute_seconds for job in view.frame.jobs for rank in job.living), default=0.0
    )


def ledger_block(view: View, found: Sequence[Account], width: int, rows: int) -> Block:
    """A line for each account; those alike together where ``rows`` would not do."""
    reported = list(found) if len(found) <= rows else _alike(found)
    reported = reported[:rows]
    who = min(14, max((len(_joined(account.names)) for account in reported), default=0))
    room = width - who - 5
    names = _names(reported)
    least = _bar_width(room)
    words = [names] * len(reported)
    if _cells_of(names, shaded=view.shaded) > room - least:
        least = max(_LEAST_BAR, room // 3)
        words = [_largest(account, names, room - least, shaded=view.shaded) for account in reported]
    taken = max((_cells_of(each, shaded=view.shaded) for each in words), default=0)
    bar = min(max(least, room - taken - _ORIGIN), 100, room)
    form = _Form(names, who, bar, width, view.shaded)
    return Block.of(
        [_line(account, each, form) for account, each in zip(reported, words, strict=True)]
    )


class _Form(NamedTuple):
    """What the lines of a block have in common."""

    names: Sequence[str]
    """Parts of a bar, in their order."""
    who: int
    """Cells for the ranks."""
    bar: int
    width: int
    shaded: bool


def _largest(account: Account, names: Sequence[str], room: int, *, shaded: bool) -> list[str]:
    """What is said of a rank in words where there is no room for all: its own greatest shares."""
    # The small ones are all alike here: taken by their size, they would change places each second.
    sizes = {name: account.shares.get(name, 0.0) for name in names}
    by_size = sorted(names, key=lambda name: -sizes[name] if sizes[name] >= _LARGE else 0.0)
    kept: list[str] = []
    for name in by_size:
        if _cells_of([*kept, name], shaded=shaded) > room:
            break
        kept.append(name)
    return [name for name in names if name in kept and sizes[name] >= _WORTH_SAYING]


def _cells_of(names: Sequence[str], *, shaded: bool) -> int:
    return sum(len(name) + _PERCENT + (_LEGEND if shaded else 0) for name in names)


def _bar_width(room: int) -> int:
    return max(_LEAST_BAR, min(60, room // 2))


def _shares(rank: RankFrame, waited: float, history: History) -> dict[str, float]:
    reported = dict(rank.phases_last_minute)
    if not reported:
        return {}
    if waited:
        reported[BACKWARD] -= waited
        reported[COMM] = reported.get(COMM, 0.0) + waited
    stalled = history.rank(rank.pid, STALLED).mean(SECONDS) or 0.0
    if stalled > 0:
        # Lost is lost, whatever it was stuck in: the phase now or, where that is over, the longest one.
        stuck_in = rank.phase or ""
        if reported.get(stuck_in, 0.0) < stalled:
            stuck_in = max(reported, key=lambda phase: reported[phase])
        reported[_STALLED] = min(stalled, reported[stuck_in])
        reported[stuck_in] -= reported[_STALLED]
    found: dict[str, float] = {}
    for phase, share in reported.items():
        name = "compute" if phase in _COMPUTE else plain(phase)
        found[name] = found.get(name, 0.0) + share
    return {name: share for name, share in found.items() if share > 0}


def _alike(found: Sequence[Account]) -> list[Account]:
    groups: list[Account] = []
    for account in found:
        group = next((group for group in groups if _same(group.shares, account.shares)), None)
        if group is None:
            groups.append(Account(list(account.names), account.shares, account.origin))
        else:
            group.names.extend(account.names)
    return sorted(groups, key=lambda group: len(group.names))


def _same(first: Mapping[str, float], second: Mapping[str, float]) -> bool:
    return all(
        abs(first.get(name, 0.0) - second.get(name, 0.0)) < ALIKE for name in {*first, *second}
    )


def _names(reported: Sequence[Account]) -> list[str]:
    """What is worth a column of words, in an order that does not change with the values."""
    worth = {
        name
        for account in reported
        for name, share in account.shares.items()
        if share >= _WORTH_SAYING
    }
    ordered = [name for name in _FIRST if name in worth]
    ordered += sorted(worth - {*_FIRST, "other"})
    return ordered + (["other"] if "other" in worth else [])


def _line(account: Account, words: Sequence[str], form: _Form) -> Line:
    line = LineBuilder(form.width).gap()
    line.add(left(_joined(account.names), form.who), "strong").gap(2)
    drawn = _draw_bar(line, account, form)
    for name in words:
        share = account.shares.get(name, 0.0)
        legend = f"{letter_of(name)} " if form.shaded else ""
        said = f"{legend}{name} {right(f'{share * 100:.0f}', 3)} %"
        line.gap(2).add(said, _role(name) if share >= _LARGE else "dim")
    if form.shaded:
        _add_legend(line, [name for name in drawn if name not in words])
    if account.origin and line.room > len(account.origin) + 2:
        line.gap(line.room - len(account.origin) - 1).add(account.origin, "dim")
    return line.line()


def _draw_bar(line: LineBuilder, account: Account, form: _Form) -> list[str]:
    """What has a part in the bar."""
    cells = shares([account.shares.get(name, 0.0) for name in form.names], form.bar)
    for name, count in zip(form.names, cells, strict=True):
        glyph = letter_of(name) if form.shaded else BLOCK
        line.add(glyph * count, _role(name))
    line.gap(form.bar - sum(cells))
    return [name for name, count in zip(form.names, cells, strict=True) if count]


def _add_legend(line: LineBuilder, names: Sequence[str]) -> None:
    """What the letters of a bar mean that no share explains, as far as there is room."""
    for name in names:
        said = f"{letter_of(name)} {name}"
        if len(said) + 2 <= line.room:
            line.gap(2).add(said, "dim")


def letter_of(name: str) -> str:
    """Of a phase that the user named: its first."""
    return LETTERS.get(name) or name[:1].upper()


def _role(name: str) -> str:
    return "compute" if name == "compute" else PHASE_ROLES.get(name, "other")


def _name(rank: RankFrame) -> str:
    return f"pid {rank.pid}" if rank.rank is None else f"r{rank.rank}"


def _joined(names: Sequence[str]) -> str:
    """``r0-2,4-7``."""
    numbers = [int(name[1:]) for name in names if name[:1] == "r" and name[1:].isdecimal()]
    return f"r{runs_text(numbers)}" if len(numbers) == len(names) else ",".join(names)
