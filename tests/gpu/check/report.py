"""The report: one Markdown file, with what failed first."""

from __future__ import annotations

import platform
import time
from collections.abc import Iterable, Sequence

import gputop

from .parts import Outcome


def markdown(outcomes: Sequence[Outcome], seconds: float) -> str:
    """All of it."""
    return "\n\n".join([*_summary(outcomes, seconds), *_details(outcomes)]) + "\n"


def _summary(outcomes: Sequence[Outcome], seconds: float) -> Iterable[str]:
    yield "# gputop beside a real GPU"
    when = time.strftime("%Y-%m-%d %H:%M:%S %Z")
    yield (
        f"gputop {gputop.__version__}, Python {platform.python_version()}, {platform.machine()}, "
        f"Linux {platform.release()}; {when}; {seconds:.0f} s."
    )
    rows = [
        f"| {each.part.title} | {each.word} | {each.seconds:.1f} s | {len(each.failures)} |"
        for each in outcomes
    ]
    yield "\n".join(["| part | came out | took | failures |", "| --- | --- | --- | --- |", *rows])
    wrong = [f"- {each.part.title}: {text}" for each in outcomes for text in each.failures]
    untried = [f"- {each.part.title}: {text}" for each in outcomes for text in each.skips]
    yield "## What failed, and why"
    yield "\n".join(wrong) or "Nothing."
    if untried:
        yield "## What was not tried"
        yield "\n".join(untried)


def _details(outcomes: Sequence[Outcome]) -> Iterable[str]:
    for each in outcomes:
        yield f"## {each.part.title}"
        for said in each.said:
            if said.kind == "text":
                yield said.text
            elif said.kind == "failure":
                yield f"**Failed:** {said.text}"
            elif said.kind == "skipped":
                yield f"**Not tried:** {said.text}"


def one_line(outcome: Outcome) -> str:
    """For the terminal, when a part has ended."""
    reasons = "; ".join([*outcome.failures, *outcome.skips])
    line = f"{outcome.part.title}: {outcome.word} ({outcome.seconds:.1f} s)"
    return f"{line}: {reasons[:300]}" if reasons else line
