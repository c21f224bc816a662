"""How the sources fare, reported of the GPUs by what they give: an answer that refuses all is no answer."""

from __future__ import annotations

import msgspec

from ...probes.model.gpu_readings import gpu_source_number
from ...probes.model.missing_reasons import NO_PERMISSION
from ...probes.model.sample import Sample, SourceStatus
from ..drawing.missing import why_refused

_LIFTED = (
    "no permission for any value: this user needs access to the GPU's device file (/dev/nvidia*; a "
    "container must be given it), or run gputop as root"
)


def statuses(sample: Sample) -> tuple[SourceStatus, ...]:
    """The sample's sources, with those of GPUs that refuse every value reported as what they are."""
    refused = {gpu.index: why for gpu in sample.gpus if (why := why_refused(gpu))}
    return tuple(_reported(source, refused) for source in sample.sources)


def _reported(source: SourceStatus, refused: dict[int, str]) -> SourceStatus:
    number = gpu_source_number(source.name)
    if source.status != "ok" or number is None or number not in refused:
        return source
    why = refused[number]
    if why == NO_PERMISSION:
        return msgspec.structs.replace(source, status="denied", reason=_LIFTED)
    return msgspec.structs.replace(source, status="failed", reason=why)
