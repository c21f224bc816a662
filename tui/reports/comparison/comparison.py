"""Two sides compared: every number, every finding, and what of it is a regression."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

import msgspec

from .differences import Difference, JobPair, differences, paired, subject_of
from .findings import FoundRow, compared_findings
from .job_rows import compared_job, compared_ledger
from .node_rows import compared_gpus, compared_links
from .rows import Row
from .side import Side

NODE = "node"


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """All that is said of two sides."""

    tolerance_ratio: float
    a_side: Side
    b_side: Side
    differences: tuple[Difference, ...]
    """What is no number."""
    rows: tuple[Row, ...]
    findings: tuple[FoundRow, ...]
    regressions: tuple[str, ...]
    """A clause each."""
    not_compared: tuple[str, ...]
    """What one side tells and the other does not: so nobody can say that there is no regression."""


def compare(a: Side, b: Side, tolerance: float) -> Comparison:
    """Everything.

    Args:
        a: what was before.
        b: what is now.
        tolerance: as a ratio: a change that is not larger is none.
    """
    pairs = paired(a, b)
    rows = tuple(_rows(a, b, pairs, tolerance))
    findings = compared_findings(a, b, tolerance)
    return Comparison(
        tolerance_ratio=tolerance,
        a_side=a,
        b_side=b,
        differences=differences(a, b, pairs),
        rows=rows,
        findings=findings,
        regressions=tuple(_regressions(rows, findings)),
        not_compared=tuple(_not_compared(rows, pairs)),
    )


def _rows(a: Side, b: Side, pairs: Sequence[JobPair], tolerance: float) -> Iterator[Row]:
    both = [(first, second) for first, second in pairs if first and second]
    for first, second in both:
        yield from compared_job(first.name, first, second, tolerance)
    if not both:
        yield from compared_ledger(NODE, a.ledger_ratios, b.ledger_ratios, tolerance)
    yield from chain(compared_gpus(a, b, tolerance), compared_links(a, b, tolerance))


def _regressions(rows: Sequence[Row], findings: Sequence[FoundRow]) -> Iterator[str]:
    for row in rows:
        if row.judged and row.verdict == "worse":
            yield f"{row.whose}: {row.label} {change_text(row)}"
    for found in findings:
        if found.verdict == "worse":
            new = "new" if not found.a_active_ratio else "for longer"
            yield f"{found.id} {found.name} ({found.severity}), {new}"


def _not_compared(rows: Sequence[Row], pairs: Sequence[JobPair]) -> Iterator[str]:
    for pair in pairs:
        subject = subject_of(pair)
        if pair[0] is None or pair[1] is None:
            if pair[0] is not None:
                yield f"{subject}: it is in A alone"
            continue
        judged = [row for row in rows if row.whose == subject and row.judged]
        unknown = [row for row in judged if row.verdict == "unknown"]
        steps = [row for row in unknown if row.unit == "seconds" and _is_known(row)]
        for row in unknown if len(unknown) == len(judged) else steps:
            yield f"{subject}: {row.label}: {row.reason}"


def _is_known(row: Row) -> bool:
    """Of either side: where neither has a probe, nobody expects step times."""
    return not (row.a_value is None and row.b_value is None)


def change_text(row: Row) -> str:
    """``+14 %``; of shares ``-8 points``."""
    change = row.change_ratio
    if change is None:
        return ""
    if abs(change) < 0.0005:
        return "0"
    if row.unit == "ratio":
        return f"{change * 100:+.1f} points"
    return f"{change * 100:+.0f} %" if abs(change) >= 0.0995 else f"{change * 100:+.1f} %"
