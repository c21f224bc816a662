"""The table, and the figures over all of it."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from .outcome import Outcome
from .statistics import Share


def verdict(outcome: Outcome, known: str) -> str:
    """One word: what fails today and is known to is told as that."""
    if outcome.broken:
        return "BROKEN"
    if outcome.failure:
        return "known" if known else "FAILS"
    return "MENDED" if known else "right"


def unexpected(outcome: Outcome, known: str) -> bool:
    """Whether it is otherwise than we say: worse, or better."""
    return verdict(outcome, known) not in ("right", "known")


def row(outcome: Outcome, known: str) -> str:
    """One case, with everything that gputop said of it where that was not right."""
    kind = "faulty" if outcome.case.faulty else "healthy"
    why = outcome.broken or outcome.failure
    lines = [
        f"{verdict(outcome, known):7} {kind:7} {outcome.case.name}" + (f": {why}" if why else "")
    ]
    if known:
        lines.append(f"          known: {known}")
    if not why and outcome.first is not None:
        lines.append(f"          on top: {outcome.first}")
    if why:
        said = outcome.answer.findings
        lines += [f"          said: {finding}" for finding in said] or ["          said: nothing"]
    return "\n".join(lines)


def figures(outcomes: Sequence[Outcome]) -> str:
    """Recall, precision and the others, of all cases that ran."""
    ran = [each for each in outcomes if not each.broken]
    faulty = [each for each in ran if each.case.faulty]
    healthy = [each for each in ran if not each.case.faulty]
    found = [each for each in faulty if each.flagged]
    flagged = [each for each in ran if each.flagged]
    alarms = sum(len(each.answer.alarms) for each in healthy)
    hours = sum(each.watched_seconds for each in healthy) / 3600
    times = [each.told_seconds for each in found if each.told_seconds is not None]
    return "\n".join(
        [
            f"recall          {Share(len(found), len(faulty))}",
            f"precision       {Share(len(found), len(flagged))}",
            f"right rank      {_share(found, 'right_rank')}",
            f"right cause     {_share(found, 'right_cause')}",
            f"told in time    {_share(found, 'in_time')}",
            f"told within     {median(times):.0f} s (median)" if times else "told within     –",
            f"false alarms    {alarms} in {hours:.2f} h"
            + (f" = {alarms / hours:.1f} an hour" if hours else ""),
            f"all right       {Share(sum(not each.failure for each in ran), len(ran))}",
        ]
    )


def _share(outcomes: Sequence[Outcome], what: str) -> Share:
    return Share(sum(bool(getattr(each, what)) for each in outcomes), len(outcomes))
