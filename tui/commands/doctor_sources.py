"""How the sources fare, reported of the GPUs by what they give: an answer that refuses all is no answer."""

from __future__ import annotations

import msgspec

from ...probes.model.gpu_readings import GpuReading
from ...probes.model.missing_reasons import NO_PERMISSION
from ...probes.model.sample import Sample, SourceStatus
from ...probes.model.signals import signals_of

_GPU = "nvml gpu "
_MOVING = tuple(signal.name for signal in signals_of("gpu") if signal.moving)
"""Every GPU of any age has some of these."""
_LIFTED = (
    "no permission for any value: this user needs access to the GPU's device file (/dev/nvidia*; a "
    "container must be given it), or run gputop as root"
)


def statuses(sample: Sample) -> tuple[SourceStatus, ...]:
    """The sample's sources, with those of GPUs that refuse every value reported as what they are."""
    refused = {gpu.index: why for gpu in sample.gpus if (why := _why_refused(gpu))}
    return tuple(_reported(source, refused) for source in sample.sources)


def gpu_number(source: str) -> int | None:
    """The number of the GPU that a source of that name reads; ``None`` for other sources."""
    number = source.removeprefix(_GPU)
    return int(number) if source.startswith(_GPU) and number.isdecimal() else None


def _reported(source: SourceStatus, refused: dict[int, str]) -> SourceStatus:
    number = gpu_number(source.name)
    if source.status != "ok" or number is None or number not in refused:
        return source
    why = refused[number]
    if why == NO_PERMISSION:
        return msgspec.structs.replace(source, status="denied", reason=_LIFTED)
    return msgspec.structs.replace(source, status="failed", reason=why)


def _why_refused(gpu: GpuReading) -> str:
    """What the driver says instead of every value; empty where it gives any."""
    if any(getattr(gpu, field) is not None for field in _MOVING):
        return ""
    return next((why for field in _MOVING if (why := gpu.missing.get(field))), "")
