"""Ways to change what is read of one thing in a sample, from the onset of a fault on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from ..model.gpu_readings import GpuReading, XidReading
from ..model.host_readings import CgroupReading, HostReading, PressureReading
from ..model.kernel_log import KernelLogReading
from ..model.process_readings import ProcessReading
from ..model.sample import Sample, SourceStatus
from .gpus import gpu_uuid
from .scenario import Overlay, Scene

Fields = dict[str, Any]
"""Names of the reading's fields and their new values."""

_replace = msgspec.structs.replace


def on_gpus(
    change: Callable[[GpuReading, Scene], Fields], *indices: int, lead_seconds: float = 0.0
) -> Overlay:
    """Change these GPUs, ``lead_seconds`` before the onset already."""

    def overlay(sample: Sample, scene: Scene) -> Sample:
        if scene.since < -lead_seconds:
            return sample
        return _replace(
            sample,
            gpus=tuple(
                [
                    _replace(gpu, **change(gpu, scene)) if gpu.index in indices else gpu
                    for gpu in sample.gpus
                ]
            ),
        )

    return overlay


def on_processes(
    change: Callable[[ProcessReading, Scene], Fields], chosen: Callable[[ProcessReading], bool]
) -> Overlay:
    """Change the processes that are chosen."""

    def overlay(sample: Sample, scene: Scene) -> Sample:
        if scene.since < 0:
            return sample
        return _replace(
            sample,
            processes=tuple(
                [
                    _replace(process, **change(process, scene)) if chosen(process) else process
                    for process in sample.processes
                ]
            ),
        )

    return overlay


def on_host(change: Callable[[HostReading, Scene], Fields]) -> Overlay:
    """Change the host."""

    def overlay(sample: Sample, scene: Scene) -> Sample:
        if scene.since < 0 or sample.host is None:
            return sample
        return _replace(sample, host=_replace(sample.host, **change(sample.host, scene)))

    return overlay


def on_cgroups(change: Callable[[CgroupReading, Scene], Fields]) -> Overlay:
    """Change the control groups."""

    def overlay(sample: Sample, scene: Scene) -> Sample:
        if scene.since < 0:
            return sample
        groups = tuple([_replace(group, **change(group, scene)) for group in sample.cgroups])
        return _replace(sample, cgroups=groups)

    return overlay


def on_source(name: str, change: Callable[[SourceStatus, Scene], Fields]) -> Overlay:
    """Change how a source fares."""

    def overlay(sample: Sample, scene: Scene) -> Sample:
        if scene.since < 0:
            return sample
        return _replace(
            sample,
            sources=tuple(
                [
                    _replace(source, **change(source, scene)) if source.name == name else source
                    for source in sample.sources
                ]
            ),
        )

    return overlay


def with_xid(code: int, gpu_index: int, *, later_seconds: float = 0.0) -> Overlay:
    """The driver reports an error of a GPU, so long after the onset."""

    def overlay(sample: Sample, scene: Scene) -> Sample:
        if scene.since < later_seconds:
            return sample
        xid = XidReading(
            time_seconds=scene.zero_time_seconds + scene.onset_seconds + later_seconds,
            code=code,
            gpu_index=gpu_index,
            gpu_uuid=gpu_uuid(gpu_index),
        )
        return _replace(sample, xids=(*sample.xids, xid))

    return overlay


def in_kernel_log(event: KernelLogReading, *, earlier_seconds: float) -> Overlay:
    """The kernel's log, first read at the onset, has this of so long before."""

    def overlay(sample: Sample, scene: Scene) -> Sample:
        if scene.since < 0:
            return sample
        said = scene.zero_time_seconds + scene.onset_seconds - earlier_seconds
        old = _replace(event, time_seconds=said, first_time_seconds=said, before_start=True)
        return _replace(sample, kernel_log=(*sample.kernel_log, old))

    return overlay


def pressed(**shares: float) -> Overlay:
    """More pressure on the host, and in the job's control group, whose it is.

    Field of `HostReading` → share of the time it is added for.
    """

    def grown(reading: HostReading | PressureReading, scene: Scene) -> Fields:
        return {
            field: getattr(reading, field) + scene.grown(share)
            for field, share in shares.items()
            if hasattr(reading, field)
        }

    on_node = on_host(grown)

    def overlay(sample: Sample, scene: Scene) -> Sample:
        if scene.since < 0:
            return sample
        groups = tuple([_replace(group, **grown(group, scene)) for group in sample.pressures])
        return on_node(_replace(sample, pressures=groups), scene)

    return overlay
