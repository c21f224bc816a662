"""``gputop diagnose``: watch for a while without a screen, then say what is wrong, and why."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator

import msgspec

from ...probes.derive.stack_groups import StackGroup, merge
from ...probes.feeds.protocol import FeedError
from ...probes.jobs.ownership import job_of
from ...probes.model.frame import Frame
from ...probes.model.job_frames import JobFrame
from ...probes.model.rank_activity import ExitedRank
from ...rules.finding import Finding, Judgement, NotEvaluated
from ..console.exits import COULD_NOT_LOOK, FINDINGS, OK, complain
from ..console.output import say, say_json
from ..drawing.missing import (
    HELP_WITHOUT_DRIVER,
    all_refused,
    silent_gpus,
    unreadable_gpus,
    why_processes_unread,
)
from ..reports.diagnosis_text import as_text, unseen_gpus
from ..reports.markdown import diagnosis_markdown
from ..reports.rank_lines import without_ended
from ..reports.worker_stack import WorkerStack
from ..session.asked_process import AskedProcess, until
from ..session.watch import Watch

LAST_LOOKS = 3
"""Frames that are waited for once the process has ended."""
WISH_SECONDS = 8.0
"""At the beginning, stacks are taken whatever the rules say: the command asks what each rank does."""


class SilentGpu(msgspec.Struct, frozen=True, kw_only=True):
    """A GPU of which nothing is known now."""

    index: int
    reason: str


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What is printed as JSON."""

    time_seconds: float
    node: str
    job: JobFrame | None
    """With those ranks alone that are not known to have ended."""
    exited_ranks: tuple[ExitedRank, ...]
    """The others: how each ended, and when."""
    groups: tuple[StackGroup, ...]
    findings: tuple[Finding, ...]
    rules_not_evaluated: tuple[NotEvaluated, ...]
    """Rules that could not look: that they found nothing means nothing."""
    why_no_gpus: str
    """Why no GPU was looked at; empty where some were."""
    silent_gpus: tuple[SilentGpu, ...]
    """Single GPUs that do not answer: no rule could look at them."""
    worker: WorkerStack | None = None
    """Where the process is whose stack was asked for, if it is a worker of a rank."""


def diagnose(watch: Watch, options: Namespace) -> int:
    """Watch, print, and return the exit code."""
    asked = AskedProcess(options.pid[0]) if options.pid else None
    last: Judgement | None = None
    job: JobFrame | None = None
    looks_left = LAST_LOOKS
    try:
        for judgement in _judgements(watch, options):
            found = None
            if asked is not None:
                asked.follow(judgement.frame)
                found = job_of(judgement.frame, asked.pid)
                if asked.ended and found is None:
                    looks_left -= 1  # how its ranks ended may be known a moment later only
                    if last is None or looks_left == 0:
                        break
            if found is not None:
                if job is None:
                    watch.take_stacks([rank.pid for rank in found.ranks], WISH_SECONDS)
                job = found
            last = judgement
    except FeedError as error:
        return complain(str(error), COULD_NOT_LOOK)
    finally:
        watch.close()
        for line in filter(None, (watch.stuck, watch.cut_short)):
            complain(line)
    ended = has_ended(asked) if asked is not None and asked.ended else ""
    if last is None or (asked is not None and job is None):
        return complain(ended or why_no_job(asked, last.frame if last else None), COULD_NOT_LOOK)
    return _tell(last, job, ended, options)


def _judgements(watch: Watch, options: Namespace) -> Iterator[Judgement]:
    """Of a recording all that its feed brings; of a demonstration its past, and more if that is asked for."""
    if options.source:
        return watch.judgements()
    if options.scenario is not None:
        return _demonstrated(watch, options.seconds if options.seconds_given else 0.0)
    return until(watch, options.seconds, options.timeout)


def _demonstrated(watch: Watch, seconds: float) -> Iterator[Judgement]:
    began = 0.0
    for number, judgement in enumerate(watch.judgements()):
        yield judgement
        now = judgement.frame.monotonic_seconds
        began = now if number <= watch.past_samples else began
        if number >= watch.past_samples and now - began >= seconds:
            return


def _tell(judgement: Judgement, job: JobFrame | None, ended: str, options: Namespace) -> int:
    """Print what was seen, and say what stood against seeing more; returns the exit code."""
    shown = _findings(judgement, job)
    weighty = [finding for finding in shown if finding.severity != "info"]
    unseen = unseen_gpus(judgement.frame) if job is None else ""
    if weighty or not unseen or judgement.frame.gpus:
        if options.format == "json":
            say_json(as_json(judgement, job, shown))
        elif options.format == "markdown":
            say(diagnosis_markdown(judgement, job, shown, ended=ended).rstrip("\n"))
        else:
            say(as_text(judgement, job, shown, ended=ended))
    if any(finding.state == "active" for finding in weighty):
        return complain(ended, FINDINGS) if ended else FINDINGS
    if ended:
        return complain(ended, COULD_NOT_LOOK)
    if unseen:
        return complain(f"{unseen}; {HELP_WITHOUT_DRIVER}", COULD_NOT_LOOK)
    if unreadable_gpus(judgement.frame):
        return FINDINGS  # it may not have lasted for long enough, but nobody may call it well
    refused = all_refused(judgement.frame) if job is None else ""
    return complain(refused, COULD_NOT_LOOK) if refused else OK


def has_ended(asked: AskedProcess) -> str:
    """One sentence on a process that is not there any more."""
    return f"process {asked.pid} has exited"


def why_no_job(asked: AskedProcess | None, frame: Frame | None) -> str:
    """One sentence on why there was nothing to look at.

    Args:
        asked: the process that was asked about, if one was.
        frame: the last that was seen.
    """
    if asked is None or frame is None:
        return "nothing came to look at"
    if not asked.looks and (why := why_processes_unread(frame)):
        return f"process {asked.pid} was not looked at: {why}"
    return f"process {asked.pid} leads to no training job: neither it nor its children are Python ranks"


def as_json(
    judgement: Judgement,
    job: JobFrame | None,
    findings: tuple[Finding, ...],
    worker: WorkerStack | None = None,
) -> bytes:
    """One object under the public names."""
    from ..reports.json_output import Clock, Output

    frame = judgement.frame
    alive = without_ended(job, frame) if job else None
    report = Report(
        time_seconds=frame.time_seconds,
        node=frame.node,
        job=alive,
        exited_ranks=tuple(gone for gone in frame.exited_ranks if job and gone.job_id == job.id),
        groups=merge(alive, frame) if alive else (),
        findings=findings,
        rules_not_evaluated=judgement.not_evaluated,
        why_no_gpus=unseen_gpus(frame),
        worker=worker,
        silent_gpus=tuple(
            SilentGpu(index=index, reason=reason) for index, reason in silent_gpus(frame).items()
        ),
    )
    output = Output(Clock.of(frame), judgement.accounts)
    return output.encode_record(report, ledger=output.ledger_of("node", frame.node))


def _findings(judgement: Judgement, job: JobFrame | None) -> tuple[Finding, ...]:
    """Those of the job, and of nobody in particular; pending ones too."""
    return tuple(
        finding
        for finding in judgement.findings
        if finding.state != "cleared" and (job is None or finding.subject.job in (None, job.id))
    )
