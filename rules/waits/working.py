"""Who works in and below a rank, whatever its main thread does."""

from __future__ import annotations

from ...probes.model.job_frames import RankFrame
from ...probes.model.process_frames import ProcessFrame
from ..rule import Scene

IDLE_CORES = 0.05
LOADER = "pt_data_worker"
MOVES_BYTES_PER_SECOND = 10_000.0
"""Read or written by the whole process: logs are less."""
HELPING_CORES = 0.25
"""So much the threads beside the main one use, where they work; half of that is how far two readings
of one process may lie apart."""


def goes_on(rank: RankFrame, scene: Scene) -> bool:
    """Its process or one of its children works, whatever its main thread does: loaders fetch ahead, and
    help with nothing else."""
    return any(map(works, (scene.frame.process(rank.pid), *helpers(rank, scene))))


def helpers(rank: RankFrame, scene: Scene) -> list[ProcessFrame]:
    """What lives below it, without those that load its data."""
    children = (scene.frame.process(pid) for pid in rank.workers)
    return [each for each in children if each is not None and each.name != LOADER]


def is_helped(rank: RankFrame, scene: Scene) -> bool:
    """Another thread of it works, or a child, or bytes move: its loop may look whether they are done."""
    process, activity = scene.frame.process(rank.pid), rank.activity
    if bytes_move(process) or any(map(works, helpers(rank, scene))):
        return True
    if process is None or activity is None:
        return False
    return (process.cpu_cores or 0.0) - (activity.cpu_cores or 0.0) >= HELPING_CORES


def works(process: ProcessFrame | None) -> bool:
    """Whether it uses a core, if a little, or moves bytes."""
    if process is None:
        return False
    return bytes_move(process) or (process.cpu_cores or 0.0) >= IDLE_CORES


def bytes_move(process: ProcessFrame | None) -> bool:
    """Whether it reads or writes more than logs."""
    if process is None:
        return False
    moved = (process.read_bytes_per_second or 0.0) + (process.write_bytes_per_second or 0.0)
    return moved >= MOVES_BYTES_PER_SECOND
