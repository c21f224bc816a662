from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from statistics import median

from ...probes.model.job_frames import JobFrame, RankFrame
from ...probes.model.probe_readings import StepReading
from ...probes.model.vocabulary import LONG_PHASES
from ..finding import Evidence, Severity, Subject, Verdict, compared
from ..rule import JobRule, Scene, Threshold
from ..waits.lasting import BETWEEN_STEPS
from ..waits.ranks import WAITING_PHASES, names_of
from ._pace import Pace, is_even, own_seconds, pace_of

_WINDOW_SECONDS = 600.0
_LEAST_STEPS = 30
_LEAST_OUTLIERS = 3
_IN_COLLECTIVES = frozenset({"comm"})
_ONE_IN = 100
"""So many steps have at most one of these where the 99th percentile is no such."""


class OutlierSteps(JobRule):
    """Some steps take much longer.

    Meaning:
        Most steps take the same time, and a few of a hundred take more than twice as long. Means and
        medians hide them. What a step saves, compiles or evaluates is not counted.
    Impact:
        The share that is shown is what these steps take longer than the median, on all GPUs of the job.
    Diagnosis:
        The evidence names the phase that grows in them and the rank that has it. At even distances it is
        what the program does every so many steps (logging, metrics, an empty loader queue); at odd ones
        it comes from outside: garbage collection, storage, retransmissions, another process. What all ranks
        do between two steps at even distances, as where epochs end, is information however much it takes.
    Mitigation:
        Log and gather metrics less often and without waiting for the GPU, more workers and a longer
        prefetch for an empty queue, gc.freeze() after set-up; else mend what the other findings name.
    """

    id = "RUN441"
    name = "some steps take much longer"
    short = "outlier steps"
    severity = "info"
    severities = ("info", "warning")
    thresholds = {
        "times_median": Threshold(2.0, "count", "gpuprof: 99th percentile over median"),
        "info_ratio": Threshold(0.02, "ratio", "ours: of the time"),
        "warning_ratio": Threshold(0.10, "ratio", "ours: of the time"),
    }
    hold_seconds = 20.0
    look_seconds = 10.0
    explains = ("RUN443",)
    next_step = "Look at the phase that grows in these steps, on the rank that is named."

    def judge_job(self, job: JobFrame, subject: Subject, scene: Scene) -> Verdict:
        pace = pace_of(job, subject, scene, _WINDOW_SECONDS)
        if isinstance(pace, Verdict):
            return pace
        steps = pace.first
        # Of short steps some are left out, never the longest of a tick: they count as usual ones.
        count = steps[-1].number - steps[0].number + 1 if steps else 0
        if count < _LEAST_STEPS:
            return Verdict(subject=subject, holds=False)
        durations = [own_seconds(step) for step in steps]
        usual = median(durations)
        slow = [
            step
            for step, seconds in zip(steps, durations, strict=True)
            if seconds > self.limit["times_median"] * usual
        ]
        if _times(slow) < _LEAST_OUTLIERS or len(slow) * _ONE_IN < count or not is_even(durations):
            return Verdict(subject=subject, holds=False)
        whole = steps[-1].monotonic_seconds - steps[0].monotonic_seconds + steps[0].seconds
        lost = sum(own_seconds(step) - usual for step in slow) / whole
        if lost < self.limit["info_ratio"]:
            return Verdict(subject=subject, holds=False)
        rhythm = _rhythm(slow)
        much = lost >= self.limit["warning_ratio"] and not (rhythm and _between_epochs(pace, slow))
        severity: Severity = "warning" if much else "info"
        return Verdict(
            subject=subject,
            holds=True,
            severity=severity,
            evidence=(
                compared(
                    "lost_in_slow_steps_ratio", lost, self.limit[f"{severity}_ratio"], "ratio"
                ),
                Evidence(signal="slow_steps", value=float(len(slow)), unit="count"),
                Evidence(signal="steps_seen", value=float(count), unit="count"),
                Evidence(
                    signal="slow_step_seconds",
                    value=median(own_seconds(step) for step in slow),
                    unit="seconds",
                ),
                Evidence(signal="usual_step_seconds", value=usual, unit="seconds"),
                *rhythm,
                *_grows(pace, slow),
            ),
            lost_ratio=min(1.0, lost),
        )


def _between_epochs(pace: Pace, slow: Sequence[StepReading]) -> bool:
    """All ranks do something of their own between two steps, as where epochs end: the program was written so."""
    numbers = {step.number for step in slow}
    longer = median(own_seconds(step) for step in slow) / 2
    return all(_growth(steps, numbers).get(BETWEEN_STEPS, 0.0) >= longer for _, steps in pace.ranks)


def _times(slow: Sequence[StepReading]) -> int:
    """How often there were some: many in a row are another pace."""
    return bool(slow) + sum(later.number > earlier.number + 1 for earlier, later in pairwise(slow))


def _rhythm(slow: Sequence[StepReading]) -> tuple[Evidence, ...]:
    """That they come every so many steps."""
    gaps = {later.number - earlier.number for earlier, later in pairwise(slow)}
    if len(gaps) != 1 or gaps == {1}:
        return ()
    return (
        Evidence(signal="every_steps", label="one every", value=float(gaps.pop()), unit="count"),
    )


def _grows(pace: Pace, slow: Sequence[StepReading]) -> tuple[Evidence, ...]:
    """The phase in which a rank spends most of what they take longer; waiting only where all do."""
    numbers = {step.number for step in slow}
    found = [
        (seconds, phase, rank)
        for rank, steps in pace.ranks
        for phase, seconds in _growth(steps, numbers).items()
    ]
    most = max(found, key=_seconds, default=None)
    if most is None or most[0] <= 0:
        return ()
    for waiting in (WAITING_PHASES, _IN_COLLECTIVES):
        own = [each for each in found if each[1] not in waiting and each[0] >= most[0] / 2]
        if own:
            most = max(own, key=_seconds)
            break
    seconds, phase, rank = most
    return (
        Evidence(signal="slow_phase", label="longer in", value=phase),
        Evidence(signal="longer_seconds", label="by", value=seconds, unit="seconds"),
        Evidence(signal="slow_rank", label="on", value=names_of([rank])),
    )


def _seconds(grown: tuple[float, str, RankFrame]) -> float:
    return grown[0]


def _growth(steps: Sequence[StepReading], numbers: set[int]) -> Mapping[str, float]:
    """Phase → how much longer the slow steps spend in it than the others."""
    slow = [step for step in steps if step.number in numbers]
    others = [step for step in steps if step.number not in numbers]
    if not slow or not others:
        return {}
    phases = {phase for step in slow for phase in step.phases} - LONG_PHASES
    return {
        phase: median(step.phases.get(phase, 0.0) for step in slow)
        - median(step.phases.get(phase, 0.0) for step in others)
        for phase in phases
    }
