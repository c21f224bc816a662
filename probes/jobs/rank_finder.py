"""Which of the processes that are read are ranks: found anew only when processes come or go."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..model.gpu_readings import GpuProcessReading, GpuReading
from ..model.process_readings import ProcessReading
from .roles import Roles


class RankFinder:
    """Finds ranks as `jobs` does, for sources that look closer at them."""

    def __init__(self) -> None:
        self._made_of: object = None
        self._ranks: dict[int, float] = {}

    def find(
        self, processes: Sequence[ProcessReading], by_gpu: Mapping[int, frozenset[int]]
    ) -> dict[int, float]:
        """Pid → start time in seconds since boot."""
        made_of = (
            [
                (
                    process.pid,
                    process.start_time_seconds,
                    process.command,
                    process.attached,
                    process.in_process_group,
                    process.titled,
                )
                for process in processes
            ],
            by_gpu,
        )
        if made_of != self._made_of:
            self._made_of = made_of
            roles = Roles(processes, [_gpu(index, pids) for index, pids in by_gpu.items()])
            self._ranks = {pid: roles.by_pid[pid].start_time_seconds for pid in roles.ranks}
        return self._ranks


def _gpu(index: int, pids: frozenset[int]) -> GpuReading:
    on = tuple(GpuProcessReading(pid=pid) for pid in sorted(pids))
    return GpuReading(monotonic_seconds=0.0, index=index, processes=on)
