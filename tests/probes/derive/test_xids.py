"""Xids of events and of the log: each once, on its GPU."""

from __future__ import annotations

import msgspec

from gputop.probes.derive.xids import derive_xids
from gputop.probes.model.gpu_readings import GpuReading, XidReading

GPUS = tuple(
    GpuReading(
        index=index,
        monotonic_seconds=1.0,
        uuid=f"GPU-{index}",
        pci_bus_id=f"00000000:{0x3B + index:02X}:00.0",
    )
    for index in range(3)
)
EVENT = XidReading(time_seconds=100.0, code=79, gpu_index=1, gpu_uuid="GPU-1")
LINE = XidReading(time_seconds=98.0, code=79, pci_bus_id="0000:3c:00.0", origin="kernel log")


def with_(**more: object) -> XidReading:
    return msgspec.structs.replace(LINE, **more)


def test_a_line_finds_its_gpu() -> None:
    (found,) = derive_xids([LINE], GPUS)
    assert (found.gpu_index, found.gpu_uuid, found.code) == (1, "GPU-1", 79)


def test_one_that_an_event_tells_too_is_told_once() -> None:
    assert derive_xids([EVENT, LINE], GPUS) == (EVENT,)


def test_others_are_kept() -> None:
    for line in (with_(code=48), with_(time_seconds=50.0), with_(pci_bus_id="0000:3d:00.0")):
        assert len(derive_xids([EVENT, line], GPUS)) == 2


def test_of_a_gpu_that_is_not_there_nobody_is_blamed() -> None:
    (found,) = derive_xids([with_(pci_bus_id="0000:99:00.0")], GPUS)
    assert found.gpu_index is None
