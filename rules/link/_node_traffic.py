"""What a node exchanges with others: over RDMA, and over its network interfaces."""

from __future__ import annotations

from statistics import median
from typing import NamedTuple

from ...probes.model.job_frames import JobFrame
from ..progress import is_unsettled
from ..rule import Scene
from ..waits.ranks import names_of
from ._ports import ACTIVE


class Traffic(NamedTuple):
    """Bytes a second of both directions over all active RDMA ports."""

    mean: float
    most: float
    """Of the ports' highest moments, added up."""
    covered: float
    """Seconds that are known."""


def rdma_traffic(scene: Scene, seconds: float) -> Traffic | None:
    """Over the last ``seconds``; ``None`` where no port is up, or none counts bytes."""
    mean = most = 0.0
    covered: list[float] = []
    for port in scene.frame.ports:
        if port.state != ACTIVE:
            continue
        for way in ("rx_bytes_per_second", "tx_bytes_per_second"):
            series = scene.history.port(port.device, port.port, way)
            values = series.window(seconds)
            if values:
                mean += sum(values) / len(values)
                most += max(values)
                covered.append(series.covered(seconds))
    return Traffic(mean, most, min(covered)) if covered else None


def step_seconds(job: JobFrame) -> float | None:
    """The typical duration of its steps; ``None`` without a probe."""
    known = [rank.step_seconds for rank in job.ranks if rank.step_seconds]
    return median(known) if known else None


def settled_for(job: JobFrame) -> str:
    """Why nothing needs to be exchanged just now, or an empty string."""
    for rank in job.ranks:
        if is_unsettled(rank):
            return f"{names_of([rank])} is in {rank.phase}"
    return ""
