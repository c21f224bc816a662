"""Whether anybody is on a GPU, as far as its own values tell: the list of processes is not always whole."""

from __future__ import annotations

from ..probes.model.gpu_frames import GpuFrame

EMPTY_BYTES = 1 << 30
"""The driver itself keeps less than that."""
IDLE_RATIO = 0.05
"""Utilization up to here is somebody who looks."""
IDLE_POWER_RATIO = 0.3
"""Of the limit; a GPU that does nothing draws less, whatever its counters say."""


def is_empty(gpu: GpuFrame) -> bool | None:
    """Nothing but the driver is in its memory; ``None`` where that is not known."""
    return None if gpu.memory_used_bytes is None else gpu.memory_used_bytes < EMPTY_BYTES


def is_idle(gpu: GpuFrame) -> bool | None:
    """It does nothing, taken at its word; ``None`` where that is not known."""
    if gpu.utilization_ratio is None:
        return None
    return gpu.utilization_ratio <= IDLE_RATIO


def is_free(gpu: GpuFrame) -> bool:
    """Idle and empty, and nobody is listed on it: all three are known."""
    return (
        gpu.processes == ()
        and gpu.job_id is None
        and is_empty(gpu) is True
        and (is_idle(gpu) is True or is_latched(gpu))
    )


def is_latched(gpu: GpuFrame) -> bool:
    """Its utilization says busy, while nobody is there, nothing is held and it draws what idle ones do."""
    power = (
        gpu.power_watts / gpu.power_limit_watts
        if gpu.power_watts is not None and gpu.power_limit_watts
        else None
    )
    return (
        gpu.processes == ()
        and gpu.job_id is None
        and is_empty(gpu) is True
        and (gpu.utilization_ratio or 0.0) > IDLE_RATIO
        and power is not None
        and power < IDLE_POWER_RATIO
        and (gpu.sm_active_ratio or 0.0) <= IDLE_RATIO
    )


def why_owner_unseen(gpu: GpuFrame) -> str:
    """Why a GPU on which the driver lists nobody is not free; empty where it is, or somebody is listed."""
    if gpu.processes != () or gpu.job_id is not None or is_free(gpu) or gpu.status != "ok":
        return ""
    used, busy = gpu.memory_used_bytes, gpu.utilization_ratio
    held = f"{used / 2**30:.1f} GiB are in use" if used is not None and not is_empty(gpu) else ""
    runs = f"it is {busy:.0%} busy" if busy is not None and not is_idle(gpu) else ""
    unknown = "its memory in use and utilization are not both known"
    what = " and ".join(filter(None, (held, runs))) or unknown
    return f"{what}, and the driver lists no process here: it may be in another container"
