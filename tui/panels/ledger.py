"""Where the last minute went, rank by rank: a bar of the phases' shares, and the same in words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from ...rules.account.entries import ENTRIES
from ...rules.account.minute import origin, shares
from ...rules.finding import Account
from ..drawing import bars
from ..drawing.finding_words import runs_text
from ..drawing.glyphs import BLOCK, SHADES
from ..drawing.lines import Line, LineBuilder, left, plain, right
from ..drawing.phase_roles import PHASE_ROLES
from ..drawing.target import Block
from ..session.view import View

ALIKE = 0.05
"""Ranks whose shares differ by less are drawn as one where there is little room."""
LETTERS = {kind.name: kind.letter or SHADES[0] for kind in ENTRIES.values()}
"""Where there are no colors to tell them apart."""
_FIRST = ("compute", "data", "h2d", "comm", "wait", "stalled")
_LAST = ("other", "unexplained")
_WORTH_SAYING = 0.005
_LARGE = 0.1
_LEAST_BAR = 8
_PERCENT = len("  xxxx %")
_LEGEND = len("d ")
_LABELED = re.compile(r"(?P<label>(?:.* )?)r(?P<rank>\d+)", re.ASCII)
_MANY = 3
_ORIGIN = 12
"""Cells for how the shares are known."""


class Row(NamedTuple):
    """The time of one rank, or of several that are alike."""

    names: list[str]
    shares: dict[str, float]
    origin: str


def rows_of(accounts: Iterable[Account]) -> list[Row]:
    """What is drawn of them, before those that are alike are drawn as one."""
    return [Row([_name(each)], _shares(each), origin(each)) for each in accounts]


def ledger_block(view: View, found: Sequence[Account], width: int, rows: int) -> Block:
    """A line for each account; those alike together where ``rows`` would not do."""
    single = rows_of(found)
    reported = (single if len(single) <= rows else _alike(single))[:rows]
    who = min(14, max((len(_joined(row.names)) for row in reported), default=0))
    room = width - who - 5
    names = _names(reported)
    least = _bar_width(room)
    words = [names] * len(reported)
    if _cells_of(names, shaded=view.shaded) > room - least:
        least = max(_LEAST_BAR, room // 3)
        words = [_largest(row, names, room - least, shaded=view.shaded) for row in reported]
    taken = max((_cells_of(each, shaded=view.shaded) for each in words), default=0)
    bar = min(max(least, room - taken - _ORIGIN), 100, room)
    form = _Form(names, who, bar, width, view.shaded)
    return Block.of([_line(row, each, form) for row, each in zip(reported, words, strict=True)])


class _Form(NamedTuple):
    """What the lines of a block have in common."""

    names: Sequence[str]
    """Parts of a bar, in their order."""
    who: int
    """Cells for the ranks."""
    bar: int
    width: int
    shaded: bool


def _largest(row: Row, names: Sequence[str], room: int, *, shaded: bool) -> list[str]:
    """What is said of a rank in words where there is no room for all: its own greatest shares."""
    # The small ones are all alike here: taken by their size, they would change places each second.
    sizes = {name: row.shares.get(name, 0.0) for name in names}
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


def _shares(account: Account) -> dict[str, float]:
    found: dict[str, float] = {}
    for name, share in shares(account).items():
        name = plain(name)
        found[name] = found.get(name, 0.0) + share
    return found


def _alike(found: Sequence[Row]) -> list[Row]:
    groups: list[Row] = []
    for row in found:
        group = next((group for group in groups if _same(group.shares, row.shares)), None)
        if group is None:
            groups.append(Row(list(row.names), row.shares, row.origin))
        else:
            group.names.extend(row.names)
    return sorted(groups, key=lambda group: len(group.names))


def _same(first: Mapping[str, float], second: Mapping[str, float]) -> bool:
    return all(
        abs(first.get(name, 0.0) - second.get(name, 0.0)) < ALIKE for name in {*first, *second}
    )


def _names(reported: Sequence[Row]) -> list[str]:
    """What is worth a column of words, in an order that does not change with the values."""
    worth = {
        name for row in reported for name, share in row.shares.items() if share >= _WORTH_SAYING
    }
    ordered = [name for name in _FIRST if name in worth]
    ordered += sorted(worth - {*_FIRST, *_LAST})
    return ordered + [name for name in _LAST if name in worth]


def _line(row: Row, words: Sequence[str], form: _Form) -> Line:
    line = LineBuilder(form.width).gap()
    line.add(left(_joined(row.names), form.who), "strong").gap(2)
    drawn = _draw_bar(line, row, form)
    for name in words:
        share = row.shares.get(name, 0.0)
        legend = f"{letter_of(name)} " if form.shaded else ""
        said = f"{legend}{name} {right(f'{share * 100:.0f}', 3)} %"
        line.gap(2).add(said, _role(name) if share >= _LARGE else "dim")
    if form.shaded:
        _add_legend(line, [name for name in drawn if name not in words])
    if row.origin and line.room > len(row.origin) + 2:
        line.gap(line.room - len(row.origin) - 1).add(row.origin, "dim")
    return line.line()


def _draw_bar(line: LineBuilder, row: Row, form: _Form) -> list[str]:
    """What has a part in the bar."""
    cells = bars.shares([row.shares.get(name, 0.0) for name in form.names], form.bar)
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
    kind = ENTRIES.get(name)
    return kind.role if kind else PHASE_ROLES.get(name, "other")


def _name(account: Account) -> str:
    rank, label = account.subject.rank, account.subject.job_label
    name = f"pid {account.pid}" if rank is None else f"r{rank}"
    return f"{plain(label)} {name}" if label else name


def _joined(names: Sequence[str]) -> str:
    """``r0-2,4-7``, ``train r0-7``; of several jobs how many there are."""
    found = [_LABELED.fullmatch(name) for name in names]
    labels = {each["label"] for each in found if each}
    if None in found or len(labels) > 1:
        return ",".join(names) if len(names) < _MANY else f"{len(names)} ranks"
    return f"{labels.pop()}r{runs_text([int(each['rank']) for each in found if each])}"
