"""``gputop diagnose``: watch for a while without a screen, then say what is wrong, and why."""

from __future__ import annotations

from argparse import Namespace

import msgspec

from ..probes.feeds import FeedError
from ..probes.frame import Frame, JobFrame
from ..probes.stack_groups import StackGroup, merge
from ..rules.finding import Evidence, Finding, Judgement
from .asked_job import job_of, until
from .exits import COULD_NOT_LOOK, FINDINGS, OK, complain
from .output import say, say_json
from .rank_lines import group_lines, means_line, rank_lines
from .watch import Watch

WISH_SECONDS = 8.0
"""At the beginning, stacks are taken whatever the rules say: the command asks what each rank does."""


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What is printed as JSON."""

    schema_version: int
    time_seconds: float
    node: str
    job: JobFrame | None
    groups: tuple[StackGroup, ...]
    findings: tuple[Finding, ...]


def diagnose(watch: Watch, options: Namespace) -> int:
    """Watch, print, and return the exit code."""
    pid: int | None = options.pid[0] if options.pid else None
    last: Judgement | None = None
    job: JobFrame | None = None
    try:
        for last in until(watch, options.seconds):
            found = job_of(last.frame, pid) if pid else None
            if found is not None:
                if job is None:
                    watch.take_stacks([rank.pid for rank in found.ranks], WISH_SECONDS)
                job = found
    except FeedError as error:
        return complain(str(error), COULD_NOT_LOOK)
    finally:
        watch.close()
        if watch.stuck:
            complain(watch.stuck)
    if last is None or (pid and job is None):
        return complain(why_no_job(pid), COULD_NOT_LOOK)
    shown = _findings(last, job)
    if options.format == "json":
        say_json(as_json(last.frame, job, shown))
    else:
        say(as_text(last.frame, job, shown))
    counts = any(each.state == "active" and each.severity != "info" for each in shown)
    return FINDINGS if counts else OK


def why_no_job(pid: int | None) -> str:
    """One sentence on why there was nothing to look at."""
    if pid is None:
        return "nothing came to look at"
    return f"process {pid} leads to no training job: neither it nor its children are Python ranks"


def as_json(frame: Frame, job: JobFrame | None, findings: tuple[Finding, ...]) -> bytes:
    """One object; the names are the public ones."""
    report = Report(
        schema_version=frame.schema_version,
        time_seconds=frame.time_seconds,
        node=frame.node,
        job=job,
        groups=merge(job, frame) if job else (),
        findings=findings,
    )
    return msgspec.json.encode(report) + b"\n"


def as_text(frame: Frame, job: JobFrame | None, findings: tuple[Finding, ...]) -> str:
    """For people."""
    lines: list[str] = []
    if job is not None:
        size = "" if job.world_size is None else f" of {job.world_size}"
        lines.append(f"{job.name}: {len(job.ranks)} ranks here{size}; {means_line(job, frame)}")
    for finding in findings:
        lines += _finding_lines(finding)
    if not any(each.severity != "info" for each in findings):
        lines.append("Nothing is wrong, as far as could be seen.")
    if job is not None:
        lines += ["", *group_lines(job, frame, stacks=False), "", *rank_lines(job)]
    return "\n".join(lines)


def _findings(judgement: Judgement, job: JobFrame | None) -> tuple[Finding, ...]:
    """Those of the job, and of nobody in particular; pending ones too."""
    return tuple(
        finding
        for finding in judgement.findings
        if finding.state != "cleared" and (job is None or finding.subject.job in (None, job.id))
    )


def _finding_lines(finding: Finding) -> list[str]:
    seen = f" (pending, seen {finding.seen_seconds:.0f} s)" if finding.state == "pending" else ""
    subject = finding.subject
    who = f"rank {subject.rank}" if subject.rank is not None else f"{subject.kind} {subject.id}"
    return [
        f"{finding.severity.upper()} {finding.id} {finding.name}: {who}{seen}",
        *(f"    {_evidence(each)}" for each in finding.evidence),
        f"    next: {finding.next_step}",
    ]


def _evidence(evidence: Evidence) -> str:
    value = evidence.value
    words = f"{value:.3g}" if isinstance(value, float) else str(value)
    return f"{evidence.signal}: {words} {evidence.unit}".rstrip()
