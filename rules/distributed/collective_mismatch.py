from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from ...probes.model.job_frames import JobFrame, RankFrame
from ..finding import Evidence, Subject, Verdict
from ..rule import Rule, Scene
from ._behind import Behind, behind, evidence_of, odd_one
from ._everybody_waits import Deadlock, deadlock
from ._standstill import (
    ERROR_SECONDS,
    HOLD_SECONDS,
    SHORTEST_SECONDS,
    rank_subject,
    waiting_evidence,
)

MOST_NAMED = 4
"""Ranks whose counts are reported."""


class CollectiveMismatch(Rule):
    """Collective mismatch.

    Meaning:
        All ranks wait for each other, but one has left out a collective that the others call, or calls
        them in another order. Stacks tell it by the different places in which they wait; the probes or
        NCCL's RAS by the counts of collectives launched. No rank has run or woken up for seconds. It
        becomes an error after a minute.
    Impact:
        These calls never meet. The job stands still until the time limit of its process group.
    Diagnosis:
        Compare the places: a collective inside an if that depends on rank or data, a loop with a
        different count of batches per rank, an exception that one rank swallowed. Counts name the
        rank surely. Without them, of two ranks the one further down in the same function is named,
        which is a guess.
    Mitigation:
        Let all ranks make the same calls: move the collective out of the branch, give all ranks the
        same count of batches (drop_last, DistributedSampler, join).
    """

    id = "RUN404"
    name = "collective mismatch"
    short = "mismatch"
    severity = "warning"
    severities = ("warning", "error")
    hold_seconds = HOLD_SECONDS
    clear_seconds = 3.0
    thresholds = {"error_seconds": ERROR_SECONDS}
    explains = ("RUN405",)
    next_step = (
        "Compare the places where the ranks wait: gputop stacks PID shows them side by side."
    )

    def judge(self, scene: Scene) -> Iterable[Verdict]:
        for job in scene.frame.running:
            found = deadlock(job, scene)
            if found is None or found.seconds < SHORTEST_SECONDS:
                continue
            fewer = behind(job, scene.frame)
            if found.differ or fewer:
                yield self._verdict(job, found, fewer, scene)

    def _verdict(
        self, job: JobFrame, found: Deadlock, fewer: tuple[Behind, ...], scene: Scene
    ) -> Verdict:
        counted = odd_one(fewer)
        odd = counted or (found.odd_one() if found.differ and not fewer else None)
        pid = odd.pid if odd else found.looks[0].rank.pid
        return Verdict(
            subject=self._subject(job, found, odd, fewer),
            holds=True,
            severity="error" if found.seconds >= self.limit["error_seconds"] else "warning",
            confidence=1.0 if counted else 0.9 if odd and len(found.looks) > 2 else 0.6,
            evidence=self._evidence(found, fewer),
            next_step=self.next_step.replace("PID", str(pid)),
            since_monotonic_seconds=scene.frame.monotonic_seconds - found.seconds,
        )

    def _subject(
        self, job: JobFrame, found: Deadlock, odd: RankFrame | None, fewer: tuple[Behind, ...]
    ) -> Subject:
        if odd is None and fewer:
            return Subject(kind="job", id=job.id, job=job.id)  # on another node, or more than one
        return rank_subject(job, odd or found.looks[0].rank)

    def _evidence(self, found: Deadlock, fewer: tuple[Behind, ...]) -> tuple[Evidence, ...]:
        evidence = [*islice(evidence_of(fewer), MOST_NAMED)]
        if found.places:
            where = "waiting in different places" if found.differ else "place"
            evidence.append(Evidence(signal=where, value=found.words(), origin="sampled"))
        return (*evidence, waiting_evidence(found.seconds, found.looks))
