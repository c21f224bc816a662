from __future__ import annotations

from ...probes.model.job_frames import JobFrame
from ..finding import Evidence, Subject, Verdict
from ..rule import JobRule, Scene
from ..waits.build import JobWaits, waits_of
from ..waits.motion import SHORTEST_SECONDS
from ..waits.ranks import names_of
from ._charge import ERROR_SECONDS, HOLD_SECONDS, waiting_evidence


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
    about_waiting = True
    next_step = "Look at the job's ranks on other nodes; if all are here, at the network."

    def judge_job(self, job: JobFrame, subject: Subject, scene: Scene) -> Verdict:
        waits = waits_of(job, scene)
        cause = next((each for each in waits.causes if each.end == "all arrived"), None)
        if cause is None or len(job.ranks) < 2 or cause.seconds < SHORTEST_SECONDS:
            return Verdict(subject=subject, holds=False)
        seen = bool(waits.meetings.places)
        late = cause.seconds >= self.limit["error_seconds"]
        return Verdict(
            subject=subject,
            holds=True,
            lost_ratio=1.0,
            severity="error" if seen and late else "warning",
            confidence=min(cause.strength, 0.8),
            evidence=self._evidence(waits, cause.seconds),
            since_monotonic_seconds=scene.frame.monotonic_seconds - cause.seconds,
        )

    def _evidence(self, waits: JobWaits, seconds: float) -> tuple[Evidence, ...]:
        places = waits.meetings.places
        words = "; ".join(f"{names_of(there)}: {at}" for at, there in places.items())
        evidence = (
            waiting_evidence(seconds, waits.waiting),
            Evidence(
                signal="local_ranks",
                label="ranks here",
                value=float(len(waits.waiting)),
                unit="count",
            ),
            Evidence(signal="world_size", value=waits.job.world_size, unit="count"),
            Evidence(signal="place", value=words or None, origin="sampled"),
        )
        return tuple(each for each in evidence if each.value is not None)
