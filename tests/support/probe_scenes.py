"""Samples of jobs with probes in them, as small as a test needs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gputop.probes.derive.frame import derive
from gputop.probes.model.frame import Frame
from gputop.probes.model.gpu_readings import GpuProcessReading, GpuReading
from gputop.probes.model.job_frames import RankFrame
from gputop.probes.model.probe_readings import ProbeReading, SegmentReading, StepReading
from gputop.probes.model.process_readings import ProcessReading
from gputop.probes.model.sample import Sample

STARTED = 5.0
"""Start time of every process."""


def step(number: int, end: float, seconds: float = 1.0, **fields: Any) -> StepReading:
    """A finished step."""
    phases = fields.pop("phases", {"forward": 0.25 * seconds, "backward": 0.75 * seconds})
    return StepReading(
        number=number, monotonic_seconds=end, seconds=seconds, phases=phases, **fields
    )


def segments(*begun: tuple[str, float, int]) -> tuple[SegmentReading, ...]:
    """Phase, moment and step of each."""
    return tuple(SegmentReading(*each) for each in begun)


def probe(moment: float, pid: int = 100, **fields: Any) -> ProbeReading:
    """A page read at that moment."""
    return ProbeReading(
        pid=pid,
        start_time_seconds=STARTED,
        monotonic_seconds=moment,
        **{"phase": "forward", "phase_monotonic_seconds": moment, **fields},
    )


def process(moment: float, pid: int = 100, **fields: Any) -> ProcessReading:
    """A rank of two by its environment, if not reported otherwise."""
    environment = {
        "RANK": str(pid - 100),
        "LOCAL_RANK": str(pid - 100),
        "WORLD_SIZE": "2",
        "MASTER_ADDR": "node17",
        "MASTER_PORT": "29500",
    }
    return ProcessReading(
        pid=pid,
        start_time_seconds=STARTED,
        monotonic_seconds=moment,
        parent_pid=50,
        **{"environment": environment, "command": ("python", "train.py"), **fields},
    )


def sample(
    moment: float,
    probes: Sequence[ProbeReading],
    processes: Sequence[ProcessReading] | None = None,
    **fields: Any,
) -> Sample:
    """A moment of the node; one process for each probe, if not reported otherwise."""
    if processes is None:
        processes = [process(moment, each.pid) for each in probes]
    return Sample(
        time_seconds=1.8e9 + moment,
        monotonic_seconds=moment,
        sequence=int(moment * 1000),
        node="node17",
        probes=tuple(probes),
        processes=tuple(processes),
        **fields,
    )


def gpu(moment: float, index: int = 0, *pids: int) -> GpuReading:
    """A GPU with these processes on it."""
    return GpuReading(
        index=index,
        uuid=f"GPU-{index}",
        monotonic_seconds=moment,
        processes=tuple(GpuProcessReading(pid=pid, memory_bytes=1 << 30) for pid in pids),
    )


def fold(*samples: Sample) -> Frame:
    """The frame after all of them."""
    frame: Frame | None = None
    for each in samples:
        frame = derive(frame, each)
    assert frame is not None
    return frame


def rank_of(frame: Frame, number: int = 0) -> RankFrame:
    """The rank of that number, of whatever job."""
    (found,) = [rank for job in frame.jobs for rank in job.ranks if rank.rank == number]
    return found
