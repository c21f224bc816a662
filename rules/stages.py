"""Which ranks of a job do the same work, and so can be compared: those of one pipeline stage."""

from __future__ import annotations

import re

from ..probes.model.frame import Frame
from ..probes.model.job_frames import JobFrame, RankFrame

_PIPELINE = r"(?i:(?:^|[^a-z])(?:pp|pipe|pipeline)(?:[^a-z]|$))"
"""In the name of a process group: ``mesh_pp`` of torch, ``PIPELINE_MODEL_PARALLEL_GROUP`` of Megatron."""
_POINT_TO_POINT = frozenset({"send", "recv", "batch_isend_irecv"})
"""Stages hand their activations on by these, and replicas of one model do not."""


def alike(job: JobFrame, frame: Frame) -> tuple[tuple[RankFrame, ...], ...]:
    """The living ranks, in groups whose members do the same work: all, or those of each stage.

    The first and the last stage do more or less than the others by design. Nobody can be compared where
    ranks hand something on to each other and no group tells who is which stage.
    """
    stages = _by_stage(job, frame)
    if None in stages and (len(stages) > 1 or _hand_on(job, frame)):
        return ()
    return tuple(tuple(ranks) for ranks in stages.values())


def stages_of(job: JobFrame, frame: Frame) -> tuple[tuple[RankFrame, ...], ...]:
    """The living ranks of each pipeline stage that this node has; empty where it is no pipeline, or
    nothing tells who is which stage."""
    stages = _by_stage(job, frame)
    return () if None in stages else tuple(tuple(ranks) for ranks in stages.values())


def _by_stage(job: JobFrame, frame: Frame) -> dict[int | None, list[RankFrame]]:
    stages: dict[int | None, list[RankFrame]] = {}
    for rank in job.living:
        stages.setdefault(_stage(rank, frame), []).append(rank)
    return stages


def _stage(rank: RankFrame, frame: Frame) -> int | None:
    probe = frame.probe(rank.pid, rank.start_time_seconds)
    for each in probe.collectives if probe else ():
        if rank.rank in each.ranks and len(each.ranks) > 1 and re.search(_PIPELINE, each.group):
            return each.ranks.index(rank.rank)
    return None


def _hand_on(job: JobFrame, frame: Frame) -> bool:
    probes = [frame.probe(rank.pid, rank.start_time_seconds) for rank in job.living]
    return any(
        each.operation in _POINT_TO_POINT
        for probe in probes
        for each in (probe.collectives if probe else ())
    )
