"""Ranks with what they may have only so much of, read every ten seconds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gputop.probes.model.process_readings import LimitsReading

from support.rules_scenes import Changes, Script
from support.scene_readings import BEGAN, GPUS, rank_pid

MIB = 1 << 20
Values = dict[str, Any]
ROOMY: Values = {
    "open_files": 300,
    "open_files_limit": 1024,
    "shm_total_bytes": 64 * MIB,
    "shm_free_bytes": 60 * MIB,
}


def limits(rank: int, second: float, **values: Any) -> LimitsReading:
    """As read every ten seconds."""
    return LimitsReading(
        monotonic_seconds=BEGAN + second // 10 * 10,
        pid=rank_pid(rank),
        start_time_seconds=5001.0,
        **values,
    )


def of_rank_2(values: Callable[[float], Values]) -> Script:
    """All others have room."""

    def script(second: float) -> Changes:
        there = [
            limits(rank, second, **{**ROOMY, **(values(second) if rank == 2 else {})})
            for rank in range(GPUS)
        ]
        return Changes(limits=there)

    return script


def still(**values: Any) -> Script:
    return of_rank_2(lambda _second: values)
