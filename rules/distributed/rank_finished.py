from __future__ import annotations

from collections.abc import Iterable, Iterator

from ...probes.model.rank_activity import ExitedRank
from ..finding import Evidence, Subject, Verdict
from ..rule import Scene
from ..waits.build import JobWaits, all_waits
from ..waits.charge import Charge
from ..waits.missing import ended_ranks
from ..waits.motion import SHORTEST_SECONDS
from ..waits.ranks import KEPT_WAITING, names_of
from ._charge import ChargeRule, waiting_evidence


class RankFinished(ChargeRule):
    """Rank finished before the others.

    Meaning:
        A rank has come to the end of its program, well, while the others wait for it in a collective. It
        has ended, or it sits in the exit of its interpreter and waits there for a thread or a child.
    Impact:
        The others wait for calls that it will never make, until the time limit of the process group.
    Diagnosis:
        Compare how many batches each rank has: uneven inputs end one loop before the others. Threads that
        are no daemons keep the interpreter: gputop stacks PID shows them.
    Mitigation:
        Give all ranks the same count of batches (drop_last, DistributedSampler, join), and end threads
        before the program ends.
    """

    id = "RUN426"
    name = "rank finished before the others"
    short = "has finished"
    label = "finished"
    next_step = "Compare the count of batches per rank: this one has finished, the others have not."

    def judge(self, scene: Scene) -> Iterable[Verdict]:
        yield from super().judge(scene)
        for waits in all_waits(scene).values():
            if waits.waited_seconds >= SHORTEST_SECONDS:
                for exited in _ended_well(waits, scene):
                    yield self._ended(exited, waits, scene)

    def more_evidence(self, charge: Charge, scene: Scene) -> Iterable[Evidence]:
        yield Evidence(signal="has_finished", value="it sits in the exit of its interpreter")

    def step_for(self, charge: Charge, scene: Scene) -> str | None:
        return (
            "It has finished, and a thread or child keeps its interpreter: "
            f"gputop stacks {charge.rank.pid} shows which."
        )

    def _ended(self, exited: ExitedRank, waits: JobWaits, scene: Scene) -> Verdict:
        # The others have waited since it ended, at the longest.
        age = scene.frame.monotonic_seconds - exited.monotonic_seconds
        late = min(age, waits.waited_seconds) >= self.limit["error_seconds"]
        return Verdict(
            subject=Subject(
                kind="rank",
                id=f"{exited.job_id} {exited.pid}@{exited.start_time_seconds:.2f}",
                rank=exited.rank,
                gpu=exited.gpu_index,
                job=exited.job_id,
            ),
            holds=True,
            severity="error" if late else "warning",
            evidence=(
                Evidence(signal="has_finished", value="it has exited with code 0"),
                Evidence(signal=KEPT_WAITING, value=names_of(each.rank for each in waits.waiting)),
                waiting_evidence(waits.waited_seconds, waits.waiting),
            ),
            since_monotonic_seconds=exited.monotonic_seconds,
        )


def _ended_well(waits: JobWaits, scene: Scene) -> Iterator[ExitedRank]:
    """All of them, unless one failed: then that is the cause."""
    ended = list(ended_ranks(waits.job, scene.frame))
    if all(each.code == 0 and each.signal is None for each in ended):
        yield from ended
