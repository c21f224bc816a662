"""GPM, the activity counters of Hopper and later: the rate between this sample and the previous one."""

from __future__ import annotations

import struct
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from ...model.driver_errors import driver_says
from ...model.missing_reasons import NO_VALUE
from .call import Answer, Calls, Fields
from .units import ratio, scaled

# The driver refreshes its samples that often; two of the same refresh have no rate between them.
_SHORTEST_SECONDS = 0.1
_BYTES_PER_MIB = 1048576.0
# nvmlGpmMetric_t: number, return code, value, three texts. Unpacked, since the binding's structures
# run Python for each access to a member.
_METRIC = struct.Struct("IIdPPP")

RATIOS: dict[str, int] = {
    "sm_active_ratio": 2,
    "sm_occupancy_ratio": 3,
    "tensor_active_ratio": 5,
    "dram_active_ratio": 10,
}
PCIE_RATES: dict[str, int] = {"pcie_rx_bytes_per_second": 21, "pcie_tx_bytes_per_second": 20}
NVLINK_RATES: dict[str, int] = {"nvlink_rx_bytes_per_second": 60, "nvlink_tx_bytes_per_second": 61}
METRICS: dict[str, int] = RATIOS | PCIE_RATES | NVLINK_RATES
"""Field name → number of the metric."""


class Gpm:
    """The sample buffers of one device. Used from one thread."""

    def __init__(self, calls: Calls, clock: Callable[[], float]) -> None:
        self._calls = calls
        self._clock = clock
        self._older: Any = None
        self._newer: Any = None
        self._request: Any = None
        self._taken_at: float | None = None
        self.answers: dict[str, Answer[float]] = dict.fromkeys(METRICS, Answer(None, NO_VALUE))
        """The latest rates by field name."""

    def read(self) -> None:
        """Take a sample and work out `answers`; within 0.1 s of the last one they stay."""
        now = self._clock()
        if self._taken_at is not None and now - self._taken_at < _SHORTEST_SECONDS:
            return
        # Whether the chip has GPM is what this call says; the query made for it errs on some drivers.
        sample = self._calls.run("nvmlGpmSampleGet", self._sample)
        if sample.value is None:
            self._taken_at = None
            self._all(sample.reason)
            return
        self._older, self._newer = self._newer, self._older
        first = self._taken_at is None
        self._taken_at = self._clock()
        if first:
            self._all("needs two readings")
            return
        metrics = self._calls.run("nvmlGpmMetricsGet", self._metrics)
        if metrics.value is None:
            self._all(metrics.reason)
        else:
            self.answers = metrics.value

    def put(self, fields: Fields, names: dict[str, int]) -> None:
        """Note the latest answers under these names."""
        for name in names:
            fields.put(name, self.answers[name])

    def close(self) -> None:
        """Free the samples."""
        nvml = self._calls.nvml
        for sample in (self._older, self._newer):
            if sample is not None:
                # Memory of this process only; whatever it says, there is nothing more to free.
                with suppress(nvml.NVMLError):
                    nvml.nvmlGpmSampleFree(sample)
        self._older = self._newer = self._taken_at = None

    def _all(self, reason: str) -> None:
        self.answers = dict.fromkeys(METRICS, Answer(None, reason))

    def _sample(self) -> bool:
        nvml = self._calls.nvml
        if self._older is None:
            self._older = nvml.nvmlGpmSampleAlloc()
        if self._newer is None:
            self._newer = nvml.nvmlGpmSampleAlloc()
        # Into the older buffer: the newer one holds what the next rate is measured from.
        nvml.nvmlGpmSampleGet(self._calls.handle, self._older)
        return True

    def _metrics(self) -> dict[str, Answer[float]]:
        nvml = self._calls.nvml
        request = self._request
        if request is None:
            request = self._request = nvml.c_nvmlGpmMetricsGet_t()
            request.version = nvml.NVML_GPM_METRICS_GET_VERSION
            request.numMetrics = len(METRICS)
            for position, metric in enumerate(METRICS.values()):
                request.metrics[position].metricId = metric
        request.sample1, request.sample2 = self._older, self._newer
        nvml.nvmlGpmMetricsGet(request)
        start = int(nvml.c_nvmlGpmMetricsGet_t.metrics.offset)
        answered = memoryview(request).cast("B")[start : start + len(METRICS) * _METRIC.size]
        return {
            name: _answer(name, code, value)
            for name, (_, code, value, *_) in zip(
                METRICS, _METRIC.iter_unpack(answered), strict=True
            )
        }


def _answer(name: str, code: int, value: float) -> Answer[float]:
    if code != 0:
        return Answer(None, driver_says(code))
    return ratio(value) if name in RATIOS else scaled(_BYTES_PER_MIB)(value)
