"""Video encoders and decoders, as nvidia-smi dmon shows them."""

from __future__ import annotations

from typing import Any

import pytest

from gputop.probes.model.gpu_readings import GpuReading
from gputop.probes.model.missing_reasons import NO_VALUE, NOT_SUPPORTED

from nvml.simulated import SimulatedNvml
from support.nvml_watch import Watch


def gpu(keys: dict[str, Any]) -> GpuReading:
    with SimulatedNvml("l4", keys) as node, Watch(node.env()) as watch:
        return watch.ticks(8).gpu(0)


def test_shares_of_the_time() -> None:
    found = gpu({"gpu.*.utilization.decoder": 93, "gpu.*.utilization.encoder": 7})
    assert (found.decoder_ratio, found.encoder_ratio) == (0.93, 0.07)


@pytest.mark.parametrize(
    ("value", "reason"), [("unsupported", NOT_SUPPORTED), (4_000_000_000, NO_VALUE)]
)
def test_what_is_no_share_is_missing(value: int | str, reason: str) -> None:
    found = gpu({"gpu.*.utilization.decoder": value})
    assert found.decoder_ratio is None and reason in found.missing["decoder_ratio"]
    assert found.encoder_ratio == 0.0
