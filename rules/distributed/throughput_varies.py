from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean, pstdev

from ...probes.model.job_frames import JobFrame
from ...probes.model.probe_readings import StepReading
from ..finding import Evidence, Subject, Verdict, compared
from ..price_reasons import NOT_KNOWN_HOW_MUCH
from ..rule import JobRule, Scene, Threshold
from ._pace import own_seconds, pace_of

_WINDOW_SECONDS = 120.0
_LEAST_STEPS = 10


class ThroughputVaries(JobRule):
    """Throughput varies.

    Meaning:
        The number of samples (tokens, where they are told) a second differs from step to step by more
        than it does in a steady job. What a step saves, compiles or evaluates is left out.
    Impact:
        Nothing by itself: it is a sign that something else decides the pace. Its causes have prices.
    Diagnosis:
        See the chart of step times on the job screen. Every so many steps: logging or an empty queue.
        Random: input, garbage collection, network, other processes. With the length: uneven batches.
    Mitigation:
        Mend what the findings beside it name. Where batches differ in cost by design, there is nothing to
        mend; tokens a second then say more than samples.
    """

    id = "RUN443"
    name = "throughput varies"
    short = "uneven pace"
    severity = "info"
    unpriced = NOT_KNOWN_HOW_MUCH
    thresholds = {"spread_ratio": Threshold(0.03, "ratio", "ours: standard deviation over mean")}
    look_seconds = 10.0
    next_step = "See on the job screen whether it varies at random or every so many steps."

    def judge_job(self, job: JobFrame, subject: Subject, scene: Scene) -> Verdict:
        pace = pace_of(job, subject, scene, _WINDOW_SECONDS)
        if isinstance(pace, Verdict):
            return pace
        rates = _rates(pace.first)
        half = len(rates) // 2
        if half < _LEAST_STEPS:
            return Verdict(subject=subject, holds=False)
        # A change of pace is in one half alone.
        spread = min(_spread(rates[:half]), _spread(rates[half:]))
        if spread <= self.limit["spread_ratio"]:
            return Verdict(subject=subject, holds=False)
        return Verdict(
            subject=subject,
            holds=True,
            evidence=(
                compared(
                    "throughput_spread_ratio",
                    spread,
                    self.limit["spread_ratio"],
                    "ratio",
                    label="spread of throughput",
                ),
                Evidence(signal="steps_seen", value=float(len(rates)), unit="count"),
            ),
        )


def _rates(steps: Sequence[StepReading]) -> list[float]:
    """Tokens a second of each step; samples where none tells tokens."""
    tokens = any(step.tokens is not None for step in steps)
    counts = [(step.tokens if tokens else step.samples, own_seconds(step)) for step in steps]
    return [count / seconds for count, seconds in counts if count is not None and seconds > 0]


def _spread(rates: Sequence[float]) -> float:
    middle = fmean(rates)
    return pstdev(rates) / middle if middle > 0 else 0.0
