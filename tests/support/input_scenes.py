"""A job whose ranks wait for data for a share of each step, and what their loader workers do meanwhile."""

from __future__ import annotations

from typing import Any

import msgspec

from gputop.probes.model.probe_readings import LoaderReading

from support.rules_scenes import Changes, Script
from support.scene_readings import BEGAN, GPUS, probe, worker_pid


def waits_for_data(
    share: float,
    *,
    utilization: float | None = None,
    num_workers: int | None = 1,
    cores: float = 0.3,
    blocked: float = 0.0,
    more: dict[str, Any] | None = None,
    worker: dict[str, Any] | None = None,
    comm: float = 0.0,
    ranks: frozenset[int] = frozenset(range(GPUS)),
) -> Script:
    """Steps of a second, whose first part is waiting.

    Args:
        share: of each step.
        utilization: of the GPUs; else what is left of the step.
        num_workers: as the DataLoader was made; ``None``: the probe does not know.
        cores: that each worker keeps busy.
        blocked: share of the looks at which a worker is in state D.
        more: of the probe's readings.
        worker: of the workers' readings while they are in state D.
        comm: share of each step in collectives.
        ranks: that wait; the others wait for them in collectives.
    """

    def script(second: float) -> Changes:
        changes = Changes(
            every_gpu={"utilization_ratio": 1.0 - share if utilization is None else utilization}
        )
        for rank in range(GPUS):
            changes.probes = [*changes.probes, _probe(rank, second)]
        in_d = (second * 7) % 10 < blocked * 10
        own = (worker or {}) if in_d else {}
        changes.processes = {
            worker_pid(rank): {
                "cpu_seconds": 10.0 + cores * second,
                "state": "D" if in_d else "S",
                **own,
            }
            for rank in range(GPUS)
        }
        return changes

    def _probe(rank: int, second: float) -> Any:
        data, waits = (share, comm) if rank in ranks else (0.0, share + comm)
        seconds = 1000.0 + second
        page = probe(rank, second, "forward", 0.3)
        return msgspec.structs.replace(
            page,
            rank=rank,
            step=int(seconds),
            step_seconds=1.0,
            step_monotonic_seconds=BEGAN + second,
            phase_seconds={
                "data": data * seconds,
                "comm": waits * seconds,
                "forward": (1.0 - data - waits) * seconds,
            },
            loader=None if num_workers is None else LoaderReading(num_workers=num_workers),
            **(more or {}),
        )

    return script
