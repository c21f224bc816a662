from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from ...probes.model.frame import ProbeFrame
from ...probes.model.job_frames import JobFrame, RankFrame
from ...probes.model.probe_readings import StepReading
from ..finding import Evidence, Subject, Verdict, compared
from ..rank_rule import NONE_PROBED, not_known, probed_ranks
from ..rule import JobRule, Scene, Threshold
from ..waits.ranks import names_of

_NEXT = range(3, 40)
"""Steps that are usual ones; the second one may still compile."""
_LEAST_STEPS = 10


class SlowFirstStep(JobRule):
    """Slow first step.

    Meaning:
        The first step took many times as long as those after it: kernels are compiled and tuned, NCCL
        sets up its connections, the loader's workers start and its queue is empty. It is told once.
    Impact:
        It is paid at each start, and by a job that is restarted often again and again.
    Diagnosis:
        The evidence names the phase that it went to. Compile: torch.compile. Forward or backward: CUDA
        modules, cuDNN's benchmark, autotuning. Comm: NCCL. Data: the workers' start, a shuffle buffer.
        Startup: what else is done from the first batch on. Imports and the like are before it.
    Mitigation:
        Keep the caches of compilers on a file system that lasts (TORCHINDUCTOR_CACHE_DIR,
        TRITON_CACHE_DIR), CUDA_MODULE_LOADING=LAZY, fewer shapes to tune, a smaller shuffle buffer.
    """

    id = "RUN445"
    name = "slow first step"
    short = "first step"
    severity = "info"
    unpriced = "it is paid once at each start"
    thresholds = {
        "times_median": Threshold(3.0, "count", "gpuprof: 3 times; 10 times is much"),
        "extra_seconds": Threshold(5.0, "seconds", "ours: else nobody waits for it"),
        "told_seconds": Threshold(300.0, "seconds", "ours: then it is no news any more"),
    }
    hold_seconds = 0.0
    look_seconds = 10.0
    next_step = "Nothing now; keep the compilers' caches over restarts where they are frequent."

    def judge_job(self, job: JobFrame, subject: Subject, scene: Scene) -> Verdict:
        probed = probed_ranks(job, scene.frame)
        if not probed:
            return not_known(subject, NONE_PROBED)
        firsts = [first for rank, probe in probed if (first := self._first(rank, probe, scene))]
        worst = max(firsts, key=lambda first: first[1].seconds, default=None)
        if worst is None:
            return Verdict(subject=subject, holds=False)
        rank, step, usual = worst
        seconds = step.seconds
        phase = max(step.phases, key=lambda name: step.phases[name], default=None)
        return Verdict(
            subject=subject,
            holds=True,
            evidence=(
                compared(
                    "times_median",
                    seconds / usual,
                    self.limit["times_median"],
                    "count",
                    label="times the median",
                ),
                Evidence(signal="first_step_seconds", value=seconds, unit="seconds"),
                Evidence(signal="usual_step_seconds", value=usual, unit="seconds"),
                Evidence(signal="longest_in", label="most of it in", value=phase),
                Evidence(signal="slowest_rank", label="on", value=names_of([rank])),
            ),
        )

    def _first(
        self, rank: RankFrame, probe: ProbeFrame, scene: Scene
    ) -> tuple[RankFrame, StepReading, float] | None:
        """Its first step and what the next ones take, where that was slow and not long ago."""
        past = scene.frame.rank_history(rank.pid, rank.start_time_seconds)
        steps = past.steps if past else ()
        if not steps or steps[0].number != 1:
            return None
        usual = _usual(steps)
        old = (
            scene.frame.monotonic_seconds - steps[0].monotonic_seconds > self.limit["told_seconds"]
        )
        if usual is None or old:
            return None
        seconds = steps[0].seconds
        slow = seconds >= self.limit["times_median"] * usual
        return (
            (rank, steps[0], usual)
            if slow and seconds - usual >= self.limit["extra_seconds"]
            else None
        )


def _usual(steps: Sequence[StepReading]) -> float | None:
    known = [step.seconds for step in steps if step.number in _NEXT]
    return median(known) if len(known) >= _LEAST_STEPS else None
