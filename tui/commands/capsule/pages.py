"""The pages of a capsule: diagnosis, stacks, NCCL RAS, kernel log and what could be read at all."""

from __future__ import annotations

from argparse import Namespace

import msgspec

from ....probes.model.job_frames import JobFrame
from ....probes.recording.redaction import Redactor
from ....rules.finding import Finding, Judgement
from ...reports.diagnosis_text import as_text
from ..diagnose import as_json
from ..doctor import Findings, findings_of
from ..doctor import as_text as doctor_text
from .contents import Contents
from .live_look import LiveLook
from .past import Whole
from .texts import communicators_page, exact_page, kernel_page, rank_name, stacks_page


def add_pages(
    contents: Contents,
    whole: Whole,
    live: LiveLook,
    options: Namespace,
    redactor: Redactor | None,
) -> None:
    """All of them, as far as there is something to say.

    Args:
        contents: takes them.
        whole: what was seen, as it is handed on.
        live: the look at the present.
        options: of the command line.
        redactor: for what is not in the samples; ``None``: nothing is redacted.
    """
    last = whole.judgement
    if last is None:
        return
    shown = whole.with_jobs or last
    jobs = whole.jobs_of(shown.frame)
    # Of one job that was asked for alone; else of all that is here.
    _add_diagnosis(contents, last, jobs[0] if options.pid and jobs else None)
    if jobs:
        contents.add(
            "stacks.txt", "where each rank is in its Python code", stacks_page(shown.frame, jobs)
        )
    _add_exact(contents, live, options, redactor)
    frame = next((each.frame for each in (last, shown) if each.frame.communicators), None)
    if frame is None:
        contents.miss("NCCL RAS", _source_reason(whole, "nccl ras") or "no rank's NCCL answered")
    else:
        contents.add(
            "nccl-ras.txt", "how far each rank of each communicator is", communicators_page(frame)
        )
    kernel = "" if redactor else kernel_page(last.frame)
    if kernel:
        contents.add(
            "kernel-log.txt", "what the kernel log says of GPUs, links, disks and kills", kernel
        )
    elif redactor is None:
        why = (
            _source_reason(whole, "kernel log")
            or "nothing in it is about GPUs, links, disks or kills"
        )
        contents.miss("kernel log", why)
    _add_doctor(contents, whole, options, redactor)


def _add_diagnosis(contents: Contents, last: Judgement, job: JobFrame | None) -> None:
    found = _findings(last, job)
    contents.add(
        "diagnosis.txt", "what is wrong, with the numbers that prove it", as_text(last, job, found)
    )
    contents.add("diagnosis.json", "the same for programs", as_json(last, job, found))


def _findings(last: Judgement, job: JobFrame | None) -> tuple[Finding, ...]:
    return tuple(
        finding
        for finding in last.findings
        if finding.state != "cleared" and (job is None or finding.subject.job in (None, job.id))
    )


def _add_exact(
    contents: Contents, live: LiveLook, options: Namespace, redactor: Redactor | None
) -> None:
    if not options.exact_stacks:
        return
    for rank in live.ranks():
        reading = live.exact.get(rank.pid)
        if reading is None:
            why = live.exact_refused.get(rank.pid, "none came in time")
            contents.miss(
                f"exact stack of {rank_name(rank)}", redactor.sentence(why) if redactor else why
            )
            continue
        page = exact_page(rank, redactor.record(reading) if redactor else reading)
        contents.add(
            f"exact-stacks/{rank_name(rank)}.txt", "with C functions, while it was stopped", page
        )


def _source_reason(whole: Whole, name: str) -> str:
    for source in whole.samples[-1].sources:
        if source.name == name:
            return source.reason
    return ""


def _add_doctor(
    contents: Contents, whole: Whole, options: Namespace, redactor: Redactor | None
) -> None:
    if options.scenario is not None:
        return
    pid = options.pid[0] if options.pid else None
    found = findings_of(pid, whole.samples[-1])
    contents.add(
        "doctor.txt",
        "what could be read here, and what not",
        doctor_text(_redacted(found, redactor)),
    )


def _redacted(found: Findings, redactor: Redactor | None) -> Findings:
    """Its sources are of a sample that has been redacted; the reasons of access methods are not."""
    if redactor is None:
        return found
    methods = tuple(
        msgspec.structs.replace(each, reason=redactor.sentence(each.reason))
        for each in found.access_methods
    )
    return msgspec.structs.replace(found, access_methods=methods)
