"""Why values are missing, in words."""

from __future__ import annotations

from ...probes.model.frame import Frame
from ...probes.model.gpu_frames import GpuFrame
from ...probes.model.link_frames import LinkFrame
from ...probes.model.signals import signals_of
from . import format
from .finding_words import words_of
from .lines import plain
from .target import Target

HELP_WITHOUT_DRIVER = "`gputop demo` shows a simulated node"

_IN_THE_ROW = tuple(signal.name for signal in signals_of("gpu") if signal.in_row)


def why_no_gpus(frame: Frame) -> str:
    """Why there are no GPUs to show, in words; empty where there are, or nothing is known of them."""
    source = frame.source("nvml")
    if frame.gpus or source is None:
        return ""
    if source.status == "ok":
        mute = len(mute_gpus(frame))
        return (
            f"the NVIDIA driver does not answer about any of its GPUs ({mute})"
            if mute
            else "the NVIDIA driver lists no GPU"
        )
    if source.status == "stale":
        if source.busy_seconds:
            return f"the NVIDIA driver has not answered for {format.duration(source.busy_seconds)}"
        return source.reason or "the NVIDIA driver has not answered"
    return source.reason or f"NVML is {source.status}"


def mute_gpus(frame: Frame) -> dict[int, str]:
    """GPUs that have no row, since they never answered: their number and why not."""
    rows = {gpu.index for gpu in frame.gpus}
    found: dict[int, str] = {}
    for source in frame.sources:
        number = source.name.removeprefix("nvml gpu ")
        if source.status != "ok" and number.isdecimal() and int(number) not in rows:
            found[int(number)] = source.reason or source.status
    return found


def why_missing(frame: Frame, target: Target) -> str:
    """One sentence on the dashes in the row of what is selected; empty where there are none."""
    if target.kind == "gpu":
        gpu = frame.gpu(int(target.id))
        return _of_gpu(gpu) if gpu else ""
    if target.kind == "link":
        link = next((link for link in frame.links if link.id == target.id), None)
        return _of_link(link) if link else ""
    return ""


def _of_link(link: LinkFrame) -> str:
    parts = [f"{words_of(field)}: {reason}" for field, reason in link.missing.items()]
    return plain(f"{link.id}: {'; '.join(parts)}") if parts else ""


def _of_gpu(gpu: GpuFrame) -> str:
    """One sentence on the dashes in a GPU's row; empty where there are none."""
    if gpu.status != "ok":
        return f"GPU {gpu.index}: {gpu.status_reason or gpu.status}"
    reasons: dict[str, list[str]] = {}
    for field in _IN_THE_ROW:
        if getattr(gpu, field) is None:
            reason = gpu.missing.get(field, "not read yet")
            reasons.setdefault(reason, []).append(words_of(field))
    parts = [f"{', '.join(fields)} {reason}" for reason, fields in reasons.items()]
    return f"GPU {gpu.index}: {'; '.join(parts)}" if parts else ""
