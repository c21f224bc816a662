"""Processes on GPUs: whether they may run, run, and have their memory near to their GPU."""

from __future__ import annotations

from collections.abc import Sequence

from ..model.job_frames import JobFrame
from ..model.link_readings import PlacementReading
from ..model.reading import key_of
from ..model.sample import Sample
from ..model.topology_frames import PlacementFrame, TopologyFrame
from .extend import extend

_NO_NODE = "the node of its GPU is not known"


def derive_placements(
    current: Sample, jobs: Sequence[JobFrame], topology: TopologyFrame | None
) -> tuple[PlacementFrame, ...]:
    """The placements of ranks; of other processes nobody asks."""
    ranks = {key_of(rank): (rank, job.id) for job in jobs for rank in job.ranks}
    nodes = {gpu.index: gpu.numa_node for gpu in topology.gpus} if topology else {}
    found: list[PlacementFrame] = []
    for reading in current.placements:
        on = ranks.get(key_of(reading))
        if on is None:
            continue
        rank, job_id = on
        node = nodes.get(rank.gpu_index) if rank.gpu_index is not None else None
        found.append(
            extend(
                PlacementFrame,
                reading,
                rank=rank.rank,
                gpu_index=rank.gpu_index,
                job_id=job_id,
                gpu_node=node,
                may_run_near=_within(node, reading.allowed_nodes),
                runs_near=None
                if node is None or reading.running_node is None
                else reading.running_node == node,
                local_memory_ratio=_local(reading, node),
                age_seconds=max(0.0, current.monotonic_seconds - reading.monotonic_seconds),
                **({"missing": {**reading.missing, "gpu_node": _NO_NODE}} if node is None else {}),
            )
        )
    return tuple(found)


def _within(node: int | None, nodes: tuple[int, ...]) -> bool | None:
    return None if node is None or not nodes else node in nodes


def _local(reading: PlacementReading, node: int | None) -> float | None:
    if node is None or not reading.memory_bytes:
        return None
    whole = sum(reading.memory_bytes.values())
    return reading.memory_bytes.get(node, 0) / whole if whole else None
