"""A comparison for people: what differs first, every number that changed, and what that amounts to."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence

from ...drawing import format
from ...drawing.glyphs import DASH
from ...drawing.lines import plain_text
from .comparison import Comparison, change_text
from .findings import FoundRow
from .folding import folded
from .rows import Row
from .side import Side

_LABEL, _VALUE = 32, 14
_ALWAYS = ("step_", "ledger_compute", "samples_", "tokens_")
_SMALL_RATIO = 0.0005


def as_text(found: Comparison) -> str:
    """All lines."""
    lines = [_side_line("A", found.a_side), _side_line("B", found.b_side)]
    for letter, side in (("A", found.a_side), ("B", found.b_side)):
        lines += [f"   {letter}: {sentence}" for sentence in side.unreadable]
    for each in found.differences:
        lines.append(f"differs: {each.whose}: {each.what}: {each.a_text} → {each.b_text}")
    lines += ["", f"{'':{_LABEL}}{'A':>{_VALUE}}{'B':>{_VALUE}}  change"]
    lines += _tables(folded(found.rows, found.tolerance_ratio))
    same = sum(row.verdict == "same" for row in found.rows if not row.signal.startswith(_ALWAYS))
    lines += [f"the same in both: {format.counted(same, 'more number')}"] if same else []
    lines += _finding_lines(found.findings)
    lines += ["", *_ending(found)]
    return plain_text(lines)


def _side_line(letter: str, side: Side) -> str:
    times = [
        time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(moment))
        for moment in (side.first_timestamp_seconds, side.last_timestamp_seconds)
    ]
    zone = time.strftime("%Z", time.localtime(side.last_timestamp_seconds))
    span = f"{times[0]} to {times[1]} {zone}"
    return (
        f"{letter}  {side.source}  {side.node}, {span}, {format.counted(side.samples, 'sample')}"
        f" of {format.duration(side.seen_duration_seconds)}"
    )


def _tables(rows: Sequence[Row]) -> Iterator[str]:
    """By whose they are; what did not change is left out, unless the comparison is about it."""
    for subject in dict.fromkeys(row.whose for row in rows):
        shown = [row for row in rows if row.whose == subject and _is_shown(row)]
        if shown:
            yield subject
            yield from map(_row_line, shown)


def _is_shown(row: Row) -> bool:
    if row.signal.startswith(_ALWAYS):
        return True
    if row.verdict == "unknown":  # of what neither side has, nothing is to be said
        return row.judged and not (row.a_value is None and row.b_value is None)
    return row.verdict != "same"


def _row_line(row: Row) -> str:
    values = "".join(f"{_value(value, row.unit):>{_VALUE}}" for value in (row.a_value, row.b_value))
    told = change_text(row)
    if row.verdict == "unknown":
        told = f"unknown: {row.reason}"
    elif row.judged and row.verdict != "same":
        told = f"{told}  {row.verdict}"
    return f"  {row.label:{_LABEL - 2}}{values}  {told}".rstrip()


def _value(value: float | None, unit: str) -> str:
    if value is None:
        return DASH
    if unit == "seconds":
        return format.precise(value)
    if unit == "per_second":
        return format.compact(value).strip()
    if unit == "ratio" and 0 < value < _SMALL_RATIO:
        return "0.0 %"
    return format.quantity(value, unit)


def _finding_lines(findings: Sequence[FoundRow]) -> Iterator[str]:
    if not findings:
        yield "findings: none in either"
        return
    yield "findings, by the share of the time in which they counted"
    for found in findings:
        values = "".join(
            f"{_share(ratio):>{_VALUE}}" for ratio in (found.a_active_ratio, found.b_active_ratio)
        )
        name = f"{found.id} {found.name}"
        told = {"same": "", "unknown": f"unknown: {found.reason}"}.get(found.verdict, found.verdict)
        who = _some(found.subjects)
        yield f"  {name:{_LABEL - 2}}{values}  {', '.join(filter(None, (told, found.severity, who)))}"


def _share(ratio: float | None) -> str:
    if ratio is None:
        return "not looked at"
    return DASH if ratio == 0 else format.quantity(ratio, "ratio")


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def _ending(found: Comparison) -> Iterable[str]:
    limit = f"{found.tolerance_ratio * 100:g} %"
    for sentence in found.not_compared:
        yield f"not compared: {sentence}"
    if found.regressions:
        many = format.counted(len(found.regressions), "regression")
        yield f"{many} beyond {limit}:"
        yield from (f"  {sentence}" for sentence in found.regressions)
    elif not found.not_compared:
        yield f"no regression beyond {limit}"
