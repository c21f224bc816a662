"""What test_grouping.py and test_grouping_of_any.py share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gputop.probes.model.gpu_readings import GpuProcessReading, GpuReading
from gputop.probes.model.process_readings import ProcessReading

SCRIPT = ("python", "-u", "train.py")


def process(
    pid: int,
    parent: int = 1,
    command: Sequence[str] | str = SCRIPT,
    environment: Mapping[str, str] | None = None,
    **more: Any,
) -> ProcessReading:
    """A process that started in the order of pids."""
    words = tuple(command.split()) if isinstance(command, str) else tuple(command)
    more = {"start_time_seconds": float(pid), "user": "alice", **more}
    return ProcessReading(
        monotonic_seconds=1.0,
        pid=pid,
        parent_pid=parent,
        command=words,
        environment=dict(environment or {}),
        **more,
    )


def gpus(*pids: Sequence[int]) -> list[GpuReading]:
    """One GPU for each list of pids."""
    return [
        GpuReading(
            monotonic_seconds=1.0,
            index=index,
            uuid=f"GPU-{index}",
            processes=tuple(GpuProcessReading(pid=pid, memory_bytes=1 << 30) for pid in on),
        )
        for index, on in enumerate(pids)
    ]
