"""Clocks of GPUs that do the same work, which alone can be compared."""

from __future__ import annotations

from ...probes.model.frame import Frame
from ...probes.model.gpu_frames import GpuFrame
from ..rule import median_of, peers_of

_LIKE_LOAD_RATIO = 0.6
_BUSY_RATIO = 0.5


def peer_clock(gpu: GpuFrame, frame: Frame) -> float | None:
    """Median SM clock of the peers that work as hard; ``None`` with fewer than two of them.

    A GPU that idles or spins in a collective runs at its highest clock: beside it every GPU that
    computes would look slow. So only peers that draw about as much power or more are counted.
    """
    return median_of(peer.sm_clock_hertz for peer in peers_of(gpu, frame) if _as_loaded(peer, gpu))


def clock_loss(gpu: GpuFrame, reference: float | None) -> float | None:
    """By how much the SM clock is below ``reference``, as a ratio of it; below 0: it is above."""
    if gpu.sm_clock_hertz is None or not reference:
        return None
    return 1.0 - gpu.sm_clock_hertz / reference


def _as_loaded(peer: GpuFrame, gpu: GpuFrame) -> bool:
    if peer.power_watts is not None and gpu.power_watts is not None:
        return peer.power_watts >= _LIKE_LOAD_RATIO * gpu.power_watts
    return peer.utilization_ratio is not None and peer.utilization_ratio >= _BUSY_RATIO
