from __future__ import annotations

from ...probes.model.job_frames import JobFrame
from ..finding import Evidence, Subject, Verdict
from ..rule import JobRule, Scene
from ._behind import behind
from ._everybody_waits import Deadlock, deadlock
from ._standstill import ERROR_SECONDS, HOLD_SECONDS, SHORTEST_SECONDS, waiting_evidence


class AllRanksWait(JobRule):
    """All ranks wait.

    Meaning:
        No rank on this node has run or woken up for seconds, or their GPUs only spin, and all of them
        are where ranks wait for others. Stacks show them in the same place, or could not be had. It
        becomes an error after a minute, where stacks witness it.
    Impact:
        The job stands still until the time limit of its process group ends it.
    Diagnosis:
        With ranks on other nodes, the one at fault is likely there: look at them in the same way. If
        all ranks are here, suspect the network, or a call order that the stacks would show.
    Mitigation:
        Find the rank that has made fewer collectives (NCCL's RAS or the flight recorder count them).
    """

    id = "RUN405"
    name = "all ranks wait"
    severity = "warning"
    severities = ("warning", "error")
    hold_seconds = HOLD_SECONDS
    clear_seconds = 3.0
    thresholds = {"error_seconds": ERROR_SECONDS}
    next_step = "Look at the job's ranks on other nodes; if all are here, at the network."

    def judge_job(self, job: JobFrame, subject: Subject, scene: Scene) -> Verdict:
        found = deadlock(job, scene)
        if found is None or found.seconds < SHORTEST_SECONDS:
            return Verdict(subject=subject, holds=False)
        if found.differ or behind(job, scene.frame):  # then it is known who keeps whom waiting
            return Verdict(subject=subject, holds=False)
        seen = bool(found.places)
        late = found.seconds >= self.limit["error_seconds"]
        return Verdict(
            subject=subject,
            holds=True,
            severity="error" if seen and late else "warning",
            confidence=0.8 if seen else 0.5,
            evidence=self._evidence(found, job),
            since_monotonic_seconds=scene.frame.monotonic_seconds - found.seconds,
        )

    def _evidence(self, found: Deadlock, job: JobFrame) -> tuple[Evidence, ...]:
        evidence = [
            waiting_evidence(found.seconds, found.looks),
            Evidence(signal="ranks here", value=float(len(found.looks))),
            Evidence(signal="world_size", value=job.world_size),
        ]
        if found.places:
            evidence.append(Evidence(signal="place", value=found.words(), origin="sampled"))
        return tuple(each for each in evidence if each.value is not None)
