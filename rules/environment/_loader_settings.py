"""Settings of the DataLoader against what its job does."""

from __future__ import annotations

from collections.abc import Iterator

from ...probes.model.job_frames import JobFrame
from ..input.copies_to_device_slow import CopiesToDeviceSlow
from ..job_time import Share, share_of
from ..rank_rule import probed_ranks
from ..rule import Scene
from ._settings_audit import Line

_WINDOW_SECONDS = 60.0
_COPIES_RATIO = 0.02
"""Share of the step in copies from which it matters how they are made (ours)."""


def _slow_ratio() -> float:
    """From there on slow copies are a finding of their own, which tells of that setting."""
    return CopiesToDeviceSlow().limit["copy_ratio"]


def loader_lines(job: JobFrame, scene: Scene) -> Iterator[Line]:
    """What is told of it, where a probe reads them."""
    loaders = [
        probe.loader
        for rank, probe in probed_ranks(job, scene.frame)
        if probe.loader is not None and rank.gpu_index is not None
    ]
    if not loaders:
        return
    if all(loader.pin_memory is False for loader in loaders):
        copies = share_of("h2d", job, scene, _WINDOW_SECONDS)
        if isinstance(copies, Share) and _COPIES_RATIO <= copies.ratio < _slow_ratio():
            yield "pin_memory=False", "batches are copied to the GPU through a buffer of the driver"
    if any(loader.num_workers and loader.prefetch_factor == 1 for loader in loaders):
        yield "prefetch_factor=1", "a worker makes its next batch only when the last one is taken"
