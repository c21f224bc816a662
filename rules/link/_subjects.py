"""The subjects that stand for the links of a GPU."""

from __future__ import annotations

from functools import lru_cache

from ...probes.model.gpu_frames import GpuFrame
from ..finding import Subject


def pcie_subject(gpu: GpuFrame) -> Subject:
    """Its PCIe link."""
    return _link(gpu.index, gpu.rank, gpu.job_id, "pcie")


def nvlink_subject(gpu: GpuFrame) -> Subject:
    """Its NVLinks."""
    return _link(gpu.index, gpu.rank, gpu.job_id, "nvlink")


@lru_cache(maxsize=512)
def _link(gpu: int, rank: int | None, job: str | None, link: str) -> Subject:
    # Asked for by each rule about links in every frame.
    return Subject(kind="link", id=f"gpu{gpu} {link}", rank=rank, gpu=gpu, job=job)
