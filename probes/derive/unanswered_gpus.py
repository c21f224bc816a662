"""Rows of GPUs about which the driver has not answered even once: their number, and for how long not."""

from __future__ import annotations

from collections.abc import Iterator

from ..model.gpu_frames import GpuFrame, stale_after_seconds
from ..model.gpu_readings import gpu_source_number
from ..model.sample import Sample, SourceStatus


def unanswered_gpus(sample: Sample) -> Iterator[GpuFrame]:
    """A row for each GPU whose source is there, is late or has failed, and has never been read."""
    read = {gpu.index for gpu in sample.gpus}
    for source in sample.sources:
        index = gpu_source_number(source.name)
        if index is None or index in read or source.monotonic_seconds is not None:
            continue
        if _is_late(source, sample.interval_seconds):
            yield _row(index, source, sample)


def _is_late(source: SourceStatus, interval_seconds: float) -> bool:
    """One that has just been asked for the first time is not."""
    if source.status in ("failed", "denied"):
        return True
    return (source.busy_seconds or 0.0) > stale_after_seconds(interval_seconds)


def _row(index: int, source: SourceStatus, sample: Sample) -> GpuFrame:
    age = source.busy_seconds or 0.0
    reason = source.reason or "the driver does not answer for this GPU"
    return GpuFrame(
        index=index,
        monotonic_seconds=sample.monotonic_seconds - age,
        status="stale",
        status_reason=reason,
        age_seconds=age,
        ever_read=False,
        missing=dict.fromkeys(_VALUES, reason),
    )


_VALUES = tuple(
    name
    for name, default in zip(
        reversed(GpuFrame.__struct_fields__), reversed(GpuFrame.__struct_defaults__), strict=False
    )
    if default is None
)
"""The fields that may be missing."""
