"""What is shown where no screen fits: the worst that was found, and the size that is needed."""

from __future__ import annotations

from collections.abc import Sequence

from ..drawing.finding_words import subjects_text
from ..drawing.glyphs import TO
from ..drawing.lines import Line, LineBuilder, blank
from ..drawing.severity_marks import severity_mark
from ..session.view import MIN_HEIGHT, MIN_WIDTH, View
from .finding_lines import Cause, cause_counts, causes

_NEEDED = f"{MIN_WIDTH}x{MIN_HEIGHT + 1}"
_IN_WORDS = (
    f"too small: {MIN_WIDTH} columns and {MIN_HEIGHT + 1} lines are needed",
    f"too small: needs {_NEEDED}",
    f"needs {_NEEDED}",
)
"""Whichever fits; with the line of the keys."""


def too_small(view: View, width: int, height: int) -> list[Line]:
    """As many lines as there are; the size in words on the last, where that is not the first too."""
    found = causes(view.judgement.active)
    alone = height < 2
    lines = [_counts(view, found, width, alone)]
    if not alone:
        for cause in found[: height - 2]:
            mark, role = severity_mark(cause.first.severity)
            line = LineBuilder(width).add(f"{mark} ", role).add(cause.first.name)
            lines.append(line.gap().add(subjects_text(cause.findings), "strong").line())
        said = next((words for words in _IN_WORDS if len(words) <= width), f"{TO} {_NEEDED}")
        lines += [blank(width)] * (height - 1 - len(lines))
        lines.append(LineBuilder(width).add(said, "dim").line())
    return lines


def _counts(view: View, found: Sequence[Cause], width: int, alone: bool) -> Line:
    line = LineBuilder(width)
    for severity, count in cause_counts(found).items():
        mark, role = severity_mark(severity)
        if count or severity != "info":
            line.add(f"{mark}{count} ", role if count else "dim")
    line.add(f"{len(view.frame.gpus)} GPU ")
    return (line.add(f"{TO} {_NEEDED}", "dim") if alone else line).line()
