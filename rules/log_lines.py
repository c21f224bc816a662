"""What rules about the kernel's log share: which lines are old, and how one is told."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence

from ..probes.model.frame import Frame
from ..probes.model.kernel_log import KERNEL_LOG, KernelLogFrame
from .finding import Evidence, Severity, Subject, Verdict
from .rule import Rule, Scene, Threshold

KERNEL_LOG_LINE = "kernel_log"
BEFORE = "before this watch"
FRESH = Threshold(3600.0, "seconds", "ours; what is older is information")
TOLD = Threshold(86400.0, "seconds", "ours; after a day only the kernel log shows it")
_MOST_SHOWN = 3


class LogRule(Rule):
    """A rule that reads the log: it has not looked where that may not be read."""

    def judge(self, scene: Scene) -> Iterable[Verdict]:
        source = scene.frame.source(KERNEL_LOG)
        if source is not None and source.status != "ok":
            why = source.reason or source.status
            subject = Subject(kind="node", id=scene.frame.node)
            yield Verdict(subject=subject, holds=None, unavailable=why)
        yield from self.judge_log(scene.frame)

    @abstractmethod
    def judge_log(self, frame: Frame) -> Iterable[Verdict]:
        """The verdicts on what the log tells."""


def age_of(event: KernelLogFrame, frame: Frame) -> float | None:
    """Seconds since the newest of it; ``None``: the log has no times."""
    return None if event.time_seconds is None else max(0.0, frame.time_seconds - event.time_seconds)


def is_told(event: KernelLogFrame, frame: Frame, most_seconds: float) -> bool:
    """It is new enough to be told at all."""
    age = age_of(event, frame)
    return age is None or age < most_seconds


def is_old(
    event: KernelLogFrame, frame: Frame, fresh_seconds: float, job: str | None = None
) -> bool:
    """It is from long ago, or from before the job that it would concern."""
    age = age_of(event, frame)
    if age is None:
        return event.before_start
    return age >= fresh_seconds or is_before_job(event.time_seconds, frame, job)


def is_before_job(time_seconds: float | None, frame: Frame, job_id: str | None) -> bool:
    """It was before that job was started."""
    job = next((job for job in frame.jobs if job.id == job_id), None)
    if job is None or job.start_time_seconds is None or time_seconds is None:
        return False
    up = frame.monotonic_seconds + frame.suspended_seconds
    return time_seconds < frame.time_seconds - up + job.start_time_seconds - 1.0


def since(event: KernelLogFrame, frame: Frame) -> float | None:
    """When it was first said, on the node's monotonic clock."""
    first = event.first_time_seconds
    return None if first is None else first - (frame.time_seconds - frame.monotonic_seconds)


def worst_of(severities: Iterable[Severity]) -> Severity:
    """The worst of some."""
    found = set(severities)
    return "error" if "error" in found else "warning" if "warning" in found else "info"


def line_evidence(events: Sequence[KernelLogFrame], frame: Frame) -> Iterator[Evidence]:
    """The newest lines, how often, and that they are older than this watch."""
    newest = sorted(events, key=lambda event: event.time_seconds or 0.0, reverse=True)
    for event in newest[:_MOST_SHOWN]:
        yield Evidence(signal=KERNEL_LOG_LINE, value=event.text)
    count = sum(event.count for event in events)
    if count > 1:
        yield Evidence(signal="kernel_log_lines", value=float(count), unit="count")
    if all(event.before_start for event in events):
        yield Evidence(signal="since", value=before_words(newest[0], frame))


def before_words(event: KernelLogFrame, frame: Frame) -> str:
    """``before this watch``, with what the times cannot tell."""
    if event.earlier_seconds:
        return f"{BEFORE}; the node has slept {event.earlier_seconds:.0f} s, so it may be older"
    return BEFORE if event.time_seconds is not None else f"{BEFORE}; the log has no times"
