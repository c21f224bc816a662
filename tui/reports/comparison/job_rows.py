"""A job on both sides: its steps, and what its time went to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ....rules.account.entries import COMPUTE, UNEXPLAINED, title_of
from .rows import Row, row
from .side import JobSide

LITTLE = 0.01
"""Less unexplained time than that hides nothing."""
LEAST_STEPS = 10
"""Of fewer steps a median is chance."""


def compared_job(subject: str, a: JobSide, b: JobSide, tolerance: float) -> Iterator[Row]:
    """All numbers of a job.

    Args:
        subject: what it is called.
        a: the job on the one side.
        b: and on the other.
        tolerance: a change that is not larger is none.
    """
    few = _why_no_steps(a, b)
    # Where steps were too short to tell of each, their mean is what is known of all of them.
    whole = not (a.steps_left_out or b.steps_left_out)
    yield row(
        subject,
        "step_p50_duration_seconds",
        "step, median",
        "seconds",
        a.step_p50_duration_seconds,
        b.step_p50_duration_seconds,
        tolerance=tolerance,
        better="less" if whole else "",
        reason=few or ("" if whole else "steps were too short to be told one by one"),
    )
    yield row(
        subject,
        "step_mean_duration_seconds",
        "step, mean",
        "seconds",
        a.step_mean_duration_seconds,
        b.step_mean_duration_seconds,
        tolerance=tolerance,
        better="" if whole else "less",
        reason=few,
    )
    yield row(
        subject,
        "step_p99_duration_seconds",
        "step, 99th percentile",
        "seconds",
        a.step_p99_duration_seconds,
        b.step_p99_duration_seconds,
        tolerance=tolerance,
        reason=few,
    )
    for signal, label in (
        ("samples_per_second", "samples a second, each rank"),
        ("tokens_per_second", "tokens a second, each rank"),
    ):
        values: tuple[float | None, float | None] = (getattr(a, signal), getattr(b, signal))
        if any(value is not None for value in values):
            yield row(subject, signal, label, "per_second", *values, tolerance=tolerance)
    yield from compared_ledger(subject, a.ledger_ratios, b.ledger_ratios, tolerance)


def compared_ledger(
    subject: str, a: Mapping[str, float], b: Mapping[str, float], tolerance: float
) -> Iterator[Row]:
    """The share of each entry; that of computing is judged, if what is unexplained cannot turn it round."""
    if not a and not b:
        return
    for name in dict.fromkeys((COMPUTE, *a, *b)):
        computing = name == COMPUTE
        yield row(
            subject,
            f"ledger_{name}_ratio",
            title_of(name),
            "ratio",
            a.get(name, 0.0) if a else None,
            b.get(name, 0.0) if b else None,
            tolerance=tolerance,
            better="more" if computing else "",
            reason=_why_not_known(a, b, tolerance) if computing else "",
        )


def _why_no_steps(a: JobSide, b: JobSide) -> str:
    for letter, job in (("A", a), ("B", b)):
        if not job.steps:
            return f"{letter}: {job.no_steps_because}"
    for letter, job in (("A", a), ("B", b)):
        if job.steps < LEAST_STEPS * max(1, job.rank_count):
            each = job.steps / max(1, job.rank_count)
            return f"{letter}: too few steps ({each:.3g} of each rank)"
    return ""


def _why_not_known(a: Mapping[str, float], b: Mapping[str, float], tolerance: float) -> str:
    """Unexplained time may have been computing: where that would change the answer, there is none."""
    if not a or not b or max(a.get(UNEXPLAINED, 0.0), b.get(UNEXPLAINED, 0.0)) < LITTLE:
        return ""
    change = b.get(COMPUTE, 0.0) - a.get(COMPUTE, 0.0)
    least, most = change - a.get(UNEXPLAINED, 0.0), change + b.get(UNEXPLAINED, 0.0)
    alike = (least < -tolerance) == (most < -tolerance)
    return "" if alike else "too much of the time is unexplained"
