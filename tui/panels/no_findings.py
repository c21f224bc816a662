"""What is said where nothing was found: all clear only if everything could be looked at."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ...probes.scheduling.words import starved_sentence
from ...rules.finding import Judgement, NotEvaluated
from ..drawing import format
from ..drawing.finding_words import not_evaluated_reasons, runs_text
from ..drawing.glyphs import CLEARED, DOT
from ..drawing.lines import Line, LineBuilder, paragraph, plain
from ..drawing.missing import gets_no_cpu, silent_gpus
from ..session.view import Asked, View


def nothing_line(view: View, width: int) -> Line:
    """The tick, or why there is none."""
    line = LineBuilder(width).gap()
    doubts = list(_doubts(view))
    if not doubts:
        return line.add(f"{CLEARED} nothing found", "good").line()
    line.add(_without_certainty(view), "strong")
    for doubt in doubts:
        line.add(f" {DOT} ", "dim").add(doubt, "warm")
    return line.line()


def _without_certainty(view: View) -> str:
    if view.judgement.pending_causes:
        return "nothing is certain"
    # Of a GPU that could not be read nobody knows whether there is something to be found.
    return "not all was looked at" if silent_gpus(view.frame) else "nothing found"


def nothing_lines(view: View, width: int) -> list[Line]:
    """The same in full: each doubt in lines of its own, each rule that cannot look by its id."""
    doubts = list(_doubts(view))
    if not doubts:
        return [nothing_line(view, width)]
    lines = [LineBuilder(width).gap().add(_without_certainty(view), "strong").line()]
    for doubt in doubts:
        lines += paragraph(doubt, width, "warm", first=f"   {DOT} ")
    return lines + not_evaluated_lines(view.judgement, width)


def not_evaluated_lines(judgement: Judgement, width: int) -> list[Line]:
    """Each reason for which rules not evaluated, with their ids."""
    return [
        line
        for reason in not_evaluated_reasons(judgement.not_evaluated)
        for line in paragraph(reason, width, "dim", first=" " * 7)
    ]


def not_evaluated_text(judgement: Judgement) -> str:
    """``9 of 19 rules not evaluated: no permission``; empty where all can."""
    not_evaluated = judgement.not_evaluated
    if not not_evaluated:
        return ""
    reason = Counter(rule.reason for rule in not_evaluated).most_common(1)[0][0]
    others = "" if _one_reason(not_evaluated) else ", and other reasons"
    return f"{len(not_evaluated)} of {judgement.rules} rules not evaluated: {plain(reason)}{others}"


def pending_text(view: View) -> str:
    """How many findings have not lasted yet, and what would make them certain."""
    count = len(view.judgement.pending_causes)
    if not count:
        return ""
    if view.once:
        many = "it" if count == 1 else "them"
        return f"{count} pending: one look cannot confirm {many}, run without --once"
    return f"{count} pending (press 6)"


def in_brief(view: View) -> str:
    """Only how many findings are not certain, and how many rules not evaluated."""
    pending, not_evaluated = len(view.judgement.pending_causes), len(view.judgement.not_evaluated)
    parts = (
        f"{pending} pending" if pending else "",
        f"{format.counted(not_evaluated, 'rule')} not evaluated" if not_evaluated else "",
    )
    return f" {DOT} ".join(filter(None, parts))


def _pages_tell(asked: Asked) -> bool:
    """Whether the probes in its job tell of each rank since when no step has ended."""
    ranks = asked.job.living if asked.job else ()
    return bool(ranks) and all(
        rank.phase_source == "measured" and rank.step_age_seconds is not None for rank in ranks
    )


def _one_reason(not_evaluated: tuple[NotEvaluated, ...]) -> bool:
    return len({rule.reason for rule in not_evaluated}) == 1


def _doubts(view: View) -> Iterator[str]:
    if view.silent_seconds or view.ended is not None:
        yield f"nothing was looked at since {format.clock(view.frame.time_seconds)}"
    pending = pending_text(view)
    if pending:
        yield pending
    if view.frame.starvation is not None:
        yield starved_sentence(view.frame.starvation)
    silent = [index for index in silent_gpus(view.frame) if not gets_no_cpu(view.frame, index)]
    if silent:
        verb = "does" if len(silent) == 1 else "do"
        yield f"GPU {runs_text(silent)} {verb} not answer"
    if not view.frame.gpus:
        yield "no GPU was looked at"
    if view.once and view.asked is not None and not _pages_tell(view.asked):
        yield f"one look cannot see a stall: gputop diagnose {view.asked.pid} watches for one"
    not_evaluated = not_evaluated_text(view.judgement)
    if not_evaluated:
        yield not_evaluated
