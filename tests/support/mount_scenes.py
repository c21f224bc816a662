"""NFS mounts of a job, read every ten seconds, and how their requests fare."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gputop.probes.model.mount_readings import MountReading

from support.rules_scenes import Changes, Script
from support.scene_readings import BEGAN, GPUS, rank_pid


def mount(
    second: float,
    *,
    await_seconds: float,
    per_second: float = 40.0,
    queue_ratio: float = 0.1,
    again_ratio: float = 0.0,
    **fields: Any,
) -> MountReading:
    """``/data``, with so many requests a second since long ago."""
    read = second // 10 * 10
    operations = round(per_second * (BEGAN + read))
    whole = operations * await_seconds
    given: dict[str, Any] = {
        "monotonic_seconds": BEGAN + read,
        "pid": rank_pid(0),
        "start_time_seconds": 5001.0,
        "mount_point": "/data",
        "device": "filer:/export",
        "file_system": "nfs4",
        "users": tuple(rank_pid(index) for index in range(GPUS)),
        "operations": operations,
        "transmissions": round(operations / (1.0 - again_ratio)),
        "timeouts": 0,
        "queue_seconds": queue_ratio * whole,
        "round_trip_seconds": (1.0 - queue_ratio) * whole,
        "read_bytes": 4096 * operations,
    }
    return MountReading(**{**given, **fields})


def reads_from_nfs(script: Script, **fares: Any) -> Script:
    """The same job with its data on ``/data``."""

    def with_mount(second: float) -> Changes:
        return replace(script(second), mounts=[mount(second, **fares)])

    return with_mount
