"""PCIe and NVLink rates over a minute of real time, against the exact integrals of the simulated driver.

One run is read every 0.2 s; the samples of every whole second make the second chain of frames. One
reading in the middle is left out, as of a source that was late. Run with ``pytest -m bench``.
"""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from gputop.probes.derive.frame import derive
from gputop.probes.model.frame import Frame
from gputop.probes.model.gpu_readings import GpuReading
from gputop.probes.model.sample import Sample

from nvml.simulated import SimulatedNvml
from support.nvml_watch import Watch

SECONDS = 60.0
INTERVAL = 0.2
MOST_WRONG = 0.01
MEANS = {
    "pcie_rx_bytes_per_second": 20e9,
    "pcie_tx_bytes_per_second": 8e9,
    "nvlink_rx_bytes_per_second": 18 * 6e9,
    "nvlink_tx_bytes_per_second": 18 * 9e9,
}

pytestmark = pytest.mark.bench


def wave(mean: str, swing: str) -> str:
    """Its period is so short that a minute holds a mean of it to a fifth of a per cent."""
    return f"sine(mean={mean}, amplitude={swing}, period=1.7)"


@pytest.fixture
def node(tmp_path: Path) -> SimulatedNvml:
    return SimulatedNvml(
        "h100x8",
        {
            "gpu.0.pcie.rx": wave("20G", "9G"),
            "gpu.0.pcie.tx": wave("8G", "3G"),
            "gpu.0.nvlink.*.rx": wave("6G", "2G"),
            "gpu.0.nvlink.*.tx": wave("9G", "4G"),
        },
        directory=tmp_path,
    )


def test_a_minute(node: SimulatedNvml) -> None:
    readings: list[GpuReading] = []
    with Watch(node.env()) as watch:
        watch.ticks(2, advance=0.0)
        began = time.monotonic()
        number = 0
        while (second := number * INTERVAL) <= SECONDS:
            time.sleep(max(0.0, began + second - time.monotonic()))
            if number != 150:  # that one is late
                readings.append(watch.tick(advance=0.0, only="nvml gpu 0").gpu(0))
            number += 1
    for name, step in (("0.2 s", 1), ("1 s", 5)):
        wrong = _errors(readings[::step])
        print(f"\nevery {name}:", {field: f"{100 * error:.3f} %" for field, error in wrong.items()})
        assert max(wrong.values()) < MOST_WRONG


def _errors(readings: list[GpuReading]) -> dict[str, float]:
    carried = dict.fromkeys(MEANS, 0.0)
    frame: Frame | None = None
    for number, reading in enumerate(readings):
        before = frame
        frame = derive(frame, _sample(number, reading))
        if before is None:
            continue
        gpu = frame.gpus[0]
        passed = gpu.monotonic_seconds - before.gpus[0].monotonic_seconds
        for field in MEANS:
            rate = getattr(gpu, field)
            assert rate is not None, gpu.missing
            carried[field] += rate * passed
    whole = readings[-1].monotonic_seconds - readings[0].monotonic_seconds
    return {field: abs(carried[field] / whole / mean - 1.0) for field, mean in MEANS.items()}


def _sample(number: int, reading: GpuReading) -> Sample:
    return Sample(
        time_seconds=1.8e9,
        monotonic_seconds=reading.monotonic_seconds,
        sequence=number,
        node="rates",
        gpus=(reading,),
    )
