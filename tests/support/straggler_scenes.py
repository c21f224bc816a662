"""Jobs whose ranks tell of each step what they spend it in: with a straggler or without."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from gputop.probes.model.probe_readings import ProbeReading, StepReading

from support.rules_scenes import BEGAN, GPUS, Changes, Script, probe

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
