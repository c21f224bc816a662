"""A diagnosis as text: what was found, and how much of the machine that covers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ...probes.model.frame import Frame
from ...probes.model.job_frames import JobFrame
from ...probes.scheduling.words import starved_sentence
from ...rules.finding import Finding, Judgement, NotEvaluated
from ...rules.progress import not_counted
from ..drawing import format
from ..drawing.finding_words import (
    evidence_text,
    explained_text,
    not_evaluated_reasons,
    price_line,
    subject_text,
    sureness_text,
    with_all_symptoms,
)
from ..drawing.lines import plain_text
from ..drawing.lost_time import lost_line
from ..drawing.missing import silent_gpus, silent_words, why_no_gpus
from ..drawing.rank_words import exact_name
from .rank_lines import ended_lines, group_lines, methods_line, rank_lines, without_ended


def as_text(
    judgement: Judgement, job: JobFrame | None, findings: Sequence[Finding], *, ended: str = ""
) -> str:
    """For people.

    Args:
        judgement: what was seen last.
        job: the one that was asked about, or ``None``.
        findings: those to be reported.
        ended: that the process which was asked about has ended, or empty.
    """
    frame = judgement.frame
    lines: list[str] = []
    alive = None if job is None else without_ended(job, frame)
    if job is not None and alive is not None:
        lines.append(f"{job.name}: {_size(alive)}; {methods_line(job, frame)}")
    for finding, symptoms in with_all_symptoms(findings):
        lines += _finding_lines(finding, symptoms)
    lines += closing_lines(judgement, job, findings, ended=ended)
    if job is not None and alive is not None:
        lines += ["", *group_lines(alive, frame, stacks=False), ""]
        lines += [*rank_lines(alive), *ended_lines(job, frame)]
    return plain_text(lines)


def closing_lines(
    judgement: Judgement, job: JobFrame | None, findings: Sequence[Finding], *, ended: str = ""
) -> list[str]:
    """What the time was lost to, the sentence where nothing counts, and what could not be looked at."""
    frame = judgement.frame
    alive = None if job is None else without_ended(job, frame)
    doubts = [*_doubts(judgement), *_uncounted(frame.running if alive is None else [alive])]
    partial = bool(ended or doubts)
    lost = lost_line(judgement, job)
    return [
        *([f"{lost[0].upper()}{lost[1:]}."] if lost else []),
        *_verdict(findings, partial, unread=bool(silent_gpus(frame))),
        *doubts,
    ]


def _size(job: JobFrame) -> str:
    here = f"{format.counted(len(job.ranks), 'rank')} here"
    return here if job.world_size is None else f"{here} of {job.world_size}"


def _verdict(findings: Sequence[Finding], partial: bool, *, unread: bool) -> Iterator[str]:
    """The sentence where nothing counts; it is no all-clear unless everything could be looked at."""
    if any(each.state == "active" and each.severity != "info" for each in findings):
        return
    pending = [finding for finding in findings if finding.state == "pending"]
    nothing = "Nothing else" if len(findings) > len(pending) else "Nothing"
    if pending:
        yield f"{nothing} is certain, {len(pending)} pending: watch longer with --for."
    elif unread:
        yield "Not everything could be looked at; in what could, nothing stands out."
    elif partial:
        yield f"{nothing} was found, but not everything could be looked at."
    else:
        yield "Nothing is wrong, as far as could be seen."


def _doubts(judgement: Judgement) -> Iterator[str]:
    """What could not be looked at, and why."""
    frame = judgement.frame
    why = unseen_gpus(frame)
    if why:
        yield f"No GPU was looked at: {why}"
    yield from silent_words(frame, silent_gpus(frame))
    if frame.starvation is not None:
        yield f"{starved_sentence(frame.starvation)}: what it shows is late, and not all."
    not_evaluated = judgement.not_evaluated
    if not_evaluated:
        yield f"{len(not_evaluated)} of {judgement.rules} rules were not evaluated:"
        yield from _reasons(not_evaluated)


def _uncounted(jobs: Iterable[JobFrame]) -> Iterator[str]:
    """Ranks of whose steps nothing is known, for what counts them is off."""
    reasons: dict[str, list[str]] = {}
    for rank in (rank for job in jobs for rank in job.living):
        if reason := not_counted(rank):
            reasons.setdefault(reason, []).append(exact_name(rank))
    for reason, names in reasons.items():
        yield f"Steps of {', '.join(names)} are {reason}"


def unseen_gpus(frame: Frame) -> str:
    """Why no GPU was looked at; empty where some were."""
    return why_no_gpus(frame) or ("" if frame.gpus else "NVML was left out")


def _reasons(not_evaluated: Sequence[NotEvaluated]) -> Iterator[str]:
    yield from (f"    {reason}" for reason in not_evaluated_reasons(not_evaluated))


def _finding_lines(finding: Finding, symptoms: Sequence[Finding]) -> Iterator[str]:
    pending = finding.state == "pending"
    seen = f"pending, seen {format.duration(finding.seen_seconds)}" if pending else ""
    doubts = ", ".join(filter(None, (sureness_text(finding), seen)))
    who = subject_text(finding.subject) + (f" ({doubts})" if doubts else "")
    yield f"{finding.severity.upper()} {finding.id} {finding.name}: {who}"
    price = price_line(finding)
    if price:
        yield f"    {price}"
    for each in finding.evidence:
        yield f"    {evidence_text(each)}"
    if symptoms:
        yield f"    explains: {explained_text(symptoms)}"
    yield f"    next: {finding.next_step}"
