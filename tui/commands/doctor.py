"""``gputop doctor``: every access method, whether it is open here, and the command that would open it."""

from __future__ import annotations

import threading
from argparse import Namespace
from collections.abc import Sequence

import msgspec

from ...probes.attach.capabilities import AccessMethod, access_methods_here, access_methods_of
from ...probes.attach.eligibility import refusal
from ...probes.derive.frame import derive
from ...probes.feeds.collector_feed import CollectorFeed
from ...probes.feeds.protocol import FeedError
from ...probes.jobs.ownership import job_of
from ...probes.model.gpu_readings import gpu_source_number
from ...probes.model.sample import Sample, SourceStatus
from ..console.exits import COULD_NOT_LOOK, OK, complain
from ..console.output import say, say_json
from ..drawing.lines import plain_text
from .doctor_sources import settled, statuses

PATIENCE_SECONDS = 4.0
"""For a source that takes its time to answer."""


class Findings(msgspec.Struct, frozen=True, kw_only=True):
    """What is printed as JSON."""

    pid: int | None
    rank_pid: int | None = None
    """Of the rank that was examined, where the process asked for only leads to it."""
    access_methods: tuple[AccessMethod, ...]
    sources: tuple[SourceStatus, ...]


def examine(options: Namespace) -> int:
    """Try everything, print it; returns the exit code."""
    pid: int | None = options.pid[0] if options.pid else None
    if pid is not None and (why := refusal(pid)):
        return complain(why, COULD_NOT_LOOK)
    try:
        sample = _sample(() if pid is None else (pid,))
    except FeedError as error:
        complain(str(error))
        sample = None
    found = findings_of(pid, sample)
    if options.format == "json":
        say_json(as_json(found, sample))
    else:
        say(as_text(found))
    if pid is not None:
        return OK if any(method.open for method in found.access_methods) else COULD_NOT_LOOK
    if any(
        gpu_source_number(each.name) is not None and each.status == "ok" for each in found.sources
    ):
        return OK
    return complain(_why_no_gpu(found.sources), COULD_NOT_LOOK)


def findings_of(pid: int | None, sample: Sample | None) -> Findings:
    """What is open of a process, or of this machine alone, with how the sources of a sample fared."""
    rank = _rank_of(pid, sample) if pid is not None and sample else None
    examined = pid if rank is None else rank
    methods = access_methods_of(examined) if examined is not None else access_methods_here()
    return Findings(
        pid=pid,
        rank_pid=rank,
        access_methods=tuple(methods),
        sources=statuses(sample) if sample else (),
    )


def as_json(found: Findings, sample: Sample | None) -> bytes:
    """One object under the public names."""
    from ..reports.json_output import Clock, Output

    return Output(Clock.of(sample) if sample else Clock.here()).encode_record(found)


def as_text(found: Findings) -> str:
    """For people: one line each, what is closed with its reason under it."""
    lines = [] if found.pid is None else [f"process {found.pid}"]
    if found.rank_pid is not None:
        lines[0] += f", which leads to a job: its rank in process {found.rank_pid} is examined"
    for method in found.access_methods:
        state = "open" if method.open else "closed"
        lines.append(f"{method.name:22}{state:12}{method.gives} ({method.cost})")
        if method.reason:
            lines.append(f"{'':22}{method.reason}")
    lines += ["", "sources"]
    for source in found.sources:
        lines.append(f"{source.name:22}{source.status:12}{source.reason}".rstrip())
    return plain_text(lines)


def _why_no_gpu(sources: Sequence[SourceStatus]) -> str:
    """One sentence on why nothing about GPUs can be looked at."""
    for source in sources:
        if source.name == "nvml" and source.status != "ok":
            return f"no GPU can be looked at: NVML is {source.status}, {source.reason}"
    closed = [each for each in sources if gpu_source_number(each.name) is not None]
    if closed:
        return (
            f"no GPU can be looked at: {closed[0].name} is {closed[0].status}, {closed[0].reason}"
        )
    return "no GPU can be looked at: the NVIDIA driver lists none"


def _rank_of(pid: int, sample: Sample) -> int | None:
    """A rank of the job that a launcher, shell or worker leads to; ``None`` where it is one itself."""
    job = job_of(derive(None, sample), pid)
    if job is None or any(rank.pid == pid for rank in job.ranks):
        return None
    own = [rank.pid for rank in job.ranks if pid in rank.workers]
    return next(iter([*own, *(rank.pid for rank in job.ranks)]), None)


def _sample(pids: Sequence[int]) -> Sample | None:
    """What a collector on this machine gives once all its sources have answered, or time is up.

    Raises:
        FeedError: when it does not start.
    """
    feed = CollectorFeed(0.5, pids=pids)
    found: Sample | None = None
    deadline = threading.Timer(2 * PATIENCE_SECONDS, feed.close)  # for a collector that is mute
    deadline.start()
    began: float | None = None
    try:
        for message in feed.messages():
            if not isinstance(message, Sample):
                continue
            found = message
            began = message.monotonic_seconds if began is None else began
            if settled(found) or message.monotonic_seconds - began >= PATIENCE_SECONDS:
                break
    finally:
        deadline.cancel()
        feed.close()
    return found
