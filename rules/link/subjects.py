"""The subjects that stand for the roads of a GPU."""

from __future__ import annotations

from ...probes.frame import GpuFrame
from ..finding import Subject
from ..rule import gpu_subject


def pcie_subject(gpu: GpuFrame) -> Subject:
    """Its PCIe link."""
    return _road(gpu, "pcie")


def nvlink_subject(gpu: GpuFrame) -> Subject:
    """Its NVLinks."""
    return _road(gpu, "nvlink")


def _road(gpu: GpuFrame, road: str) -> Subject:
    on = gpu_subject(gpu)
    return Subject(
        kind="link", id=f"gpu{gpu.index} {road}", rank=on.rank, gpu=gpu.index, job=on.job
    )
