"""The catalogue as a table, and one rule's runbook as a page."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping

from ...rules.catalogue import RULES
from ...rules.rule import Threshold
from ...rules.runbook import Runbook, severity_words
from ..drawing.format import duration, quantity


def page_lines(page: Runbook, width: int, changed: Mapping[str, float]) -> Iterator[str]:
    """A runbook as lines of at most ``width`` characters, with the thresholds that were changed."""
    yield f"{page.id}  {page.name}  ({page.severity_words})"
    for title, text in page.sections.items():
        yield ""
        yield title
        yield from textwrap.wrap(text, width, initial_indent="  ", subsequent_indent="  ")
    yield ""
    yield "Now"
    yield from textwrap.wrap(page.next_step, width, initial_indent="  ", subsequent_indent="  ")
    yield ""
    yield "Judged by"
    for line in _judged_by(page, changed):
        yield from textwrap.wrap(line, width, initial_indent="  ", subsequent_indent="    ")


def _judged_by(page: Runbook, changed: Mapping[str, float]) -> Iterator[str]:
    for name, threshold in page.thresholds.items():
        yield f"{name} = {_reported(threshold, changed.get(name))}"
    if page.needs:
        yield f"needs {', '.join(page.needs)}; does not run without them"
    if page.needs_any:
        yield f"needs one of {', '.join(page.needs_any)}"
    yield (
        f"counts after {duration(page.hold_seconds)}, "
        f"cleared after {duration(page.clear_seconds)} without it"
    )
    if page.explains:
        yield f"explains {', '.join(page.explains)}"
    if page.explained_by:
        yield f"may be explained by {', '.join(page.explained_by)}"


def _reported(threshold: Threshold, changed: float | None) -> str:
    usual = _shown(threshold.value, threshold.unit)
    if changed is None:
        return f"{usual}  (source: {threshold.source})"
    return f"{_shown(changed, threshold.unit)}  (source: your settings; else {usual})"


def _shown(value: float, unit: str) -> str:
    people = quantity(value, unit).strip()
    raw = f"{value:g}"
    return raw if people == raw else f"{raw} ({people})"


def table_lines() -> Iterator[str]:
    """A line a rule."""
    width = max(len(rule.name) for rule in RULES)
    for rule in RULES:
        yield f"{rule.id:6}  {severity_words(rule):16} {rule.name:{width}}  {rule.next_step}"
    yield ""
    yield "gputop rules ID shows one with its thresholds, their sources and what to do."
