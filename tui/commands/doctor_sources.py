"""How the sources fare, reported of the GPUs by what they give: an answer that refuses all is no answer."""

from __future__ import annotations

import msgspec

from ...probes.collector.registry import LINES
from ...probes.model.gpu_readings import gpu_source_number
from ...probes.model.missing_reasons import NO_PERMISSION
from ...probes.model.sample import Sample, SourceStatus
from ..drawing.missing import why_refused

_LATE = "not loaded yet: ask again when this machine has less to do"
_LIFTED = (
    "no permission for any value: this user needs access to the GPU's device file (/dev/nvidia*; a "
    "container must be given it), or run gputop as root"
)


def statuses(sample: Sample) -> tuple[SourceStatus, ...]:
    """All sources of the registry, with those of GPUs that refuse every value reported as what they are."""
    refused = {gpu.index: why for gpu in sample.gpus if (why := why_refused(gpu))}
    reported = [_reported(source, refused) for source in sample.sources]
    return (
        *reported,
        *(SourceStatus(name=name, status="stale", reason=_LATE) for name in _late(sample)),
    )


def settled(sample: Sample) -> bool:
    """Every source has been loaded and has answered. Most are loaded after the first sample only."""
    return not _late(sample) and all(each.status != "stale" for each in sample.sources)


def _late(sample: Sample) -> list[str]:
    loaded = {each.name for each in sample.sources}
    return [line.name for line in LINES if line.name not in loaded]


def _reported(source: SourceStatus, refused: dict[int, str]) -> SourceStatus:
    number = gpu_source_number(source.name)
    if source.status != "ok" or number is None or number not in refused:
        return source
    why = refused[number]
    if why == NO_PERMISSION:
        return msgspec.structs.replace(source, status="denied", reason=_LIFTED)
    return msgspec.structs.replace(source, status="failed", reason=why)
