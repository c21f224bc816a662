"""Jobs whose ranks tell of each step what they spend it in: with a straggler or without."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from gputop.probes.model.probe_readings import ProbeReading, StepReading
from gputop.probes.model.rank_readings import StackReading, ThreadReading, ThreadsReading

from support.rules_scenes import Changes, Script
from support.scene_readings import BEGAN, GPUS, probe, rank_pid
from support.stall_scenes import BACKWARD

STEP_SECONDS = 2.0
VICTIM = 3
Phases = Mapping[str, float]
"""Share of a step per phase."""

EVEN: Phases = {"data": 0.05, "forward": 0.3, "backward": 0.6, "comm": 0.05}
LATE: Phases = {"data": 0.4, "forward": 0.2, "backward": 0.39, "comm": 0.01}
WAITS: Phases = {"data": 0.02, "forward": 0.2, "backward": 0.39, "comm": 0.39}
HIDDEN: Phases = {"data": 0.02, "forward": 0.2, "backward": 0.78}
LATE_HIDDEN: Phases = {"data": 0.4, "forward": 0.2, "backward": 0.4}


def training(phases: Callable[[int, int], Phases], *, ranks: int = GPUS) -> Script:
    """Ranks with probes; ``phases`` tells what each does in which step."""

    def script(second: float) -> Changes:
        last = int(second / STEP_SECONDS) + 20

        def page(rank: int) -> ProbeReading:
            steps = tuple(
                StepReading(
                    number=number,
                    monotonic_seconds=BEGAN + (number - 20) * STEP_SECONDS,
                    seconds=STEP_SECONDS,
                    phases={
                        name: share * STEP_SECONDS for name, share in phases(rank, number).items()
                    },
                )
                for number in range(last - 19, last + 1)
            )
            return msgspec.structs.replace(
                probe(rank, second, "forward", 0.1),
                rank=rank,
                step=last,
                step_seconds=STEP_SECONDS,
                step_monotonic_seconds=steps[-1].monotonic_seconds,
                steps=steps,
            )

        return Changes(probes=[page(rank) for rank in range(ranks)], without=range(ranks, GPUS))

    return script


def only_victim(late: Phases, others: Phases) -> Callable[[int, int], Phases]:
    return lambda rank, _: late if rank == VICTIM else others


def sampled(
    phases: Callable[[int, int], Phases], *, count: int = 120, mixed: int = 6, pairwise: int = 0
) -> Script:
    """Ranks without probes, of which stacks were sampled; each is met waiting as its share of waiting says.

    Args:
        phases: what each does, as in `training`; the number is always 0.
        count: of samples of each rank.
        mixed: of six runs, in how many each was met in more than one phase.
        pairwise: of the samples, how many were in a send or receive.
    """

    def script(second: float) -> Changes:
        def met(rank: int) -> ThreadsReading:
            share = phases(rank, 0).get("backward", 0.0)
            waits = (int(second) * share) % 1 + share >= 1
            main = ThreadReading(
                tid=rank_pid(rank),
                name="python",
                state="S" if waits else "R",
                wait_channel="futex_do_wait" if waits else None,
                cpu_seconds=0.6 * second,
                voluntary_switches=int(500 * second),
            )
            return ThreadsReading(
                monotonic_seconds=BEGAN + second,
                pid=rank_pid(rank),
                start_time_seconds=5001.0,
                main=main,
            )

        readings = [
            StackReading(
                monotonic_seconds=BEGAN + second,
                pid=rank_pid(rank),
                start_time_seconds=5001.0,
                main_stacks=(BACKWARD,),
                taken=3,
                phase_samples={
                    name: round(share * count) for name, share in phases(rank, 0).items()
                },
                phase_runs=6,
                mixed_runs=mixed,
                pairwise_samples=pairwise,
            )
            for rank in range(GPUS)
        ]
        return Changes(stacks=readings, threads=list(map(met, range(GPUS))))

    return script
