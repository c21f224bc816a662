"""What test_frame.py and test_process_and_host.py share."""

from __future__ import annotations

from typing import Any

from gputop.probes.derive.frame import derive
from gputop.probes.model.frame import Frame
from gputop.probes.model.gpu_readings import GpuReading
from gputop.probes.model.sample import Sample

UNIX = 1_800_000_000.0


def sample(moment: float, **parts: Any) -> Sample:
    return Sample(
        time_seconds=UNIX + moment,
        monotonic_seconds=moment,
        sequence=int(moment),
        node="node17",
        boot_id=parts.pop("boot_id", "a"),
        **parts,
    )


def fold(*samples: Sample) -> Frame:
    frame: Frame | None = None
    for each in samples:
        frame = derive(frame, each)
    assert frame is not None
    return frame


def gpu(moment: float, **fields: Any) -> GpuReading:
    return GpuReading(
        index=fields.pop("index", 0),
        monotonic_seconds=moment,
        uuid=fields.pop("uuid", "u"),
        **fields,
    )
