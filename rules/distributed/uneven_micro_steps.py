from __future__ import annotations

from collections import Counter

from ...probes.model.job_frames import JobFrame
from ..finding import Evidence, Subject, Verdict, compared
from ..rank_rule import NONE_PROBED, not_known, probed_ranks
from ..rule import JobRule, Scene, Threshold
from ..waits.ranks import names_of

_STEPS = 50
_LEAST_STEPS = 10


class UnevenMicroSteps(JobRule):
    """Ranks accumulate unevenly.

    Meaning:
        In the same steps some ranks run more backward passes than others: they accumulate gradients over
        more micro-batches. The last batch of an epoch may; that is not counted.
    Impact:
        The ranks with fewer wait in each step, and the mean of the gradients weighs the samples of some
        ranks more.
    Diagnosis:
        Compare gradient_accumulation_steps and the length of the DataLoader of each rank.
    Mitigation:
        The same number of micro-batches on all ranks: a DistributedSampler with drop_last=True, or
        join() of DistributedDataParallel for uneven inputs.
    """

    id = "RUN438"
    name = "ranks accumulate unevenly"
    short = "uneven steps"
    severity = "warning"
    costs = ("wait",)
    thresholds = {
        "uneven_ratio": Threshold(0.5, "ratio", "ours: of the steps; a last batch is none")
    }
    hold_seconds = 10.0
    look_seconds = 5.0
    explains = ("RUN407",)
    next_step = (
        "Give all ranks the same number of micro-batches: drop_last=True, the same accumulation."
    )

    def judge_job(self, job: JobFrame, subject: Subject, scene: Scene) -> Verdict:
        probed = probed_ranks(job, scene.frame)
        if not probed:
            return not_known(subject, NONE_PROBED)
        if len(probed) < 2:
            return Verdict(subject=subject, holds=False)
        counts: dict[int, dict[int, int]] = {}
        for rank, _ in probed:
            past = scene.frame.rank_history(rank.pid, rank.start_time_seconds)
            for step in past.steps[-_STEPS:] if past else ():
                counts.setdefault(step.number, {})[rank.pid] = step.micro_steps
        whole = [each for each in counts.values() if len(each) == len(probed)]
        if len(whole) < _LEAST_STEPS:
            return Verdict(subject=subject, holds=False)
        uneven = [each for each in whole if len(set(each.values())) > 1]
        ratio = len(uneven) / len(whole)
        if ratio < self.limit["uneven_ratio"]:
            return Verdict(subject=subject, holds=False)
        last = uneven[-1]
        usual = Counter(last.values()).most_common(1)[0][0]
        odd = [
            f"{names_of([rank])}: {last[rank.pid]}" for rank, _ in probed if last[rank.pid] != usual
        ]
        return Verdict(
            subject=subject,
            holds=True,
            evidence=(
                compared("uneven_steps_ratio", ratio, self.limit["uneven_ratio"], "ratio"),
                Evidence(signal="micro_steps", value=float(usual), unit="count"),
                Evidence(signal="others_have", value=", ".join(odd[:4])),
            ),
        )
