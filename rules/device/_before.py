"""That a fault is older than this monitor: it was there when it first looked."""

from __future__ import annotations

from ...probes.model.gpu_frames import GpuFrame
from ..finding import Evidence
from ..log_lines import BEFORE


def before_evidence(gpu: GpuFrame, *signals: str) -> tuple[Evidence, ...]:
    """One line, where one of these faults was there from the start."""
    if any(signal in gpu.faults_at_start for signal in signals):
        return (Evidence(signal="since", value=BEFORE),)
    return ()
