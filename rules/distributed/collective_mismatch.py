from __future__ import annotations

from collections.abc import Iterable

from ..finding import Evidence, Verdict
from ..rule import Rule, Scene
from .everybody_waits import Deadlock, deadlock
from .standstill import ERROR_SECONDS, HOLD_SECONDS, SHORTEST_SECONDS, rank_subject


class CollectiveMismatch(Rule):
    """Collective mismatch.

    Meaning:
        All ranks wait for each other, but in different places of the program: one has left out a
        collective that the others call, or calls them in another order. It is told from stacks, and
        from no rank having run or woken up for seconds. It becomes an error after a minute.
    Impact:
        These calls never meet. The job stands still until the time limit of its process group.
    Diagnosis:
        Compare the places: a collective inside an if that depends on rank or data, a loop with a
        different count of batches per rank, an exception that one rank swallowed. Of two ranks the
        one further down in the same function is named, which is a guess.
    Mitigation:
        Let all ranks make the same calls: move the collective out of the branch, give all ranks the
        same count of batches (drop_last, DistributedSampler, join).
    """

    id = "RUN404"
    name = "collective mismatch"
    severity = "warning"
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
            if found is None or not found.differ or found.seconds < SHORTEST_SECONDS:
                continue
            odd = found.odd_one()
            yield Verdict(
                subject=rank_subject(job, odd or found.looks[0].rank),
                holds=True,
                severity="error" if found.seconds >= self.limit["error_seconds"] else "warning",
                confidence=0.9 if odd is not None and len(found.looks) > 2 else 0.6,
                evidence=self._evidence(found),
                since_monotonic_seconds=scene.frame.monotonic_seconds - found.seconds,
            )

    def _evidence(self, found: Deadlock) -> tuple[Evidence, ...]:
        return (
            Evidence(signal="waiting in different places", value=found.words(), origin="sampled"),
            Evidence(signal="waiting_seconds", value=found.seconds, unit="seconds"),
        )
