"""Counters are the exact integrals of their rates, over changes of the state too."""

import math
from collections.abc import Callable

import pytest

from nvml.client import Client
from nvml.simulated import SimulatedNvml

Connect = Callable[[SimulatedNvml], Client]
TX_BYTES = "p.nvmlDeviceGetFieldValues(gpu(0), [197])[0].value.ullVal"


def constant_area(begin: float, end: float) -> float:
    """The integral of 2.5e9."""
    return 2.5e9 * (end - begin)


def sine_area(begin: float, end: float) -> float:
    """The integral of 4e9 + 3e9 sin(2 pi (t / 7 + 0.2))."""
    swing = [math.cos(2 * math.pi * (t / 7 + 0.2)) for t in (begin, end)]
    return 4e9 * (end - begin) + 3e9 * 7 / (2 * math.pi) * (swing[0] - swing[1])


def square_area(begin: float, end: float) -> float:
    """The integral of a wave of period 4 that is 9e9 for its first second, then 1e9."""

    def since_zero(t: float) -> float:
        whole, part = divmod(t, 4)
        return whole * 12e9 + (part * 9e9 if part < 1 else 9e9 + (part - 1) * 1e9)

    return since_zero(end) - since_zero(begin)


def ramp_area(begin: float, end: float) -> float:
    """The integral of a rise from 1e9 to 5e9 between 100 and 110, by its three pieces."""

    def since_hundred(t: float) -> float:
        inside = min(max(t - 100, 0), 10)
        return min(t - 100, 0) * 1e9 + inside * 1e9 + inside**2 * 0.2e9 + max(t - 110, 0) * 5e9

    return since_hundred(end) - since_hundred(begin)


@pytest.mark.parametrize(
    ("rate", "area"),
    [
        ("2.5G", constant_area),
        ("sine(mean=4G, amplitude=3G, period=7, phase=0.2)", sine_area),
        ("square(low=1G, high=9G, period=4, duty=0.25)", square_area),
        ("ramp(from=1G, to=5G, begin=100, seconds=10)", ramp_area),
    ],
)
def test_counter_is_the_integral_of_its_rate(
    simulated_nvml: SimulatedNvml,
    connect: Connect,
    rate: str,
    area: Callable[[float, float], float],
) -> None:
    simulated_nvml.freeze(90.0)
    simulated_nvml.set({"gpu.0.pcie.tx": rate})
    client = connect(simulated_nvml)
    begin = client.ask(TX_BYTES)
    for end in (90.7, 103.25, 118.0):
        simulated_nvml.freeze(end)
        assert client.ask(TX_BYTES) - begin == pytest.approx(area(90.0, end), rel=1e-6)


def test_new_rate_counts_from_the_change_on(
    simulated_nvml: SimulatedNvml, connect: Connect
) -> None:
    simulated_nvml.freeze(10.0)
    simulated_nvml.set({"gpu.0.pcie.tx": "1G", "gpu.1.pcie.tx": "2G"})
    client = connect(simulated_nvml)
    assert client.ask(TX_BYTES) == 10_000_000_000
    simulated_nvml.set({"gpu.0.pcie.tx": "5G"})
    assert client.ask(TX_BYTES) == 10_000_000_000, "the change itself counts nothing"
    simulated_nvml.freeze(13.0)
    assert client.ask(TX_BYTES) == 25_000_000_000
    other = "p.nvmlDeviceGetFieldValues(gpu(1), [197])[0].value.ullVal"
    assert client.ask(other) == 26_000_000_000, "read for the first time, and not too late"


def test_one_link_overridden_keeps_its_count(
    simulated_nvml: SimulatedNvml, connect: Connect
) -> None:
    simulated_nvml.freeze(100.0)
    simulated_nvml.set({"gpu.0.nvlink.*.tx": "1MiB"})
    client = connect(simulated_nvml)
    per_link = "[v.value.ullVal for v in p.nvmlDeviceGetFieldValues(gpu(0), [(138, 4), (138, 5)])]"
    assert client.ask(per_link) == [100 * 1024, 100 * 1024]
    simulated_nvml.set({"gpu.0.nvlink.5.tx": 0})
    simulated_nvml.freeze(110.0)
    assert client.ask(per_link) == [110 * 1024, 100 * 1024]


def test_offset_lets_a_counter_go_backwards(
    simulated_nvml: SimulatedNvml, connect: Connect
) -> None:
    simulated_nvml.freeze(10.0)
    simulated_nvml.set({"gpu.0.pcie.tx": "1G"})
    client = connect(simulated_nvml)
    before = client.ask(TX_BYTES)
    simulated_nvml.set({"gpu.0.pcie.tx.offset": "-4G"})
    assert client.ask(TX_BYTES) == before - 4_000_000_000


def test_energy_is_the_integral_of_power(simulated_nvml: SimulatedNvml, connect: Connect) -> None:
    simulated_nvml.freeze(0.0)
    simulated_nvml.set({"gpu.0.power": "sine(mean=500, amplitude=100, period=8)"})
    client = connect(simulated_nvml)
    simulated_nvml.freeze(4.0)
    joules = 500 * 4 + 100 * 8 / math.pi  # half a period, the upper half
    energy = client.ask("p.nvmlDeviceGetTotalEnergyConsumption(gpu(0))")
    assert energy == pytest.approx(joules * 1000, rel=1e-6)


def test_counts_of_events_grow_by_their_rate(
    simulated_nvml: SimulatedNvml, connect: Connect
) -> None:
    simulated_nvml.freeze(100.0)
    simulated_nvml.set({"gpu.0.pcie.replay": 7, "gpu.0.nvlink.3.error.crc_flit": 5})
    client = connect(simulated_nvml)
    replays = "p.nvmlDeviceGetPcieReplayCounter(gpu(0))"
    assert client.ask(replays) == 7
    simulated_nvml.set({"gpu.0.pcie.replay.rate": 2})
    simulated_nvml.freeze(110.0)
    assert client.ask(replays) == 27
    crc = "p.nvmlDeviceGetNvLinkErrorCounter(gpu(0), {}, p.NVML_NVLINK_ERROR_DL_CRC_FLIT)"
    assert [client.ask(crc.format(link)) for link in (2, 3)] == [0, 5]
    total = "p.nvmlDeviceGetFieldValues(gpu(0), [38, 35])"
    assert [each["value"] for each in client.ask(total)] == [5, 5]


def test_time_of_a_policy_counts_in_nanoseconds(
    simulated_nvml: SimulatedNvml, connect: Connect
) -> None:
    simulated_nvml.freeze(100.0)
    simulated_nvml.set({"gpu.0.violation.thermal": 0.25})
    client = connect(simulated_nvml)
    status = client.ask("p.nvmlDeviceGetViolationStatus(gpu(0), p.NVML_PERF_POLICY_THERMAL)")
    assert status == {"referenceTime": 100_000_000, "violationTime": 25_000_000_000}


GPM = """
def sample(device):
    return p.nvmlGpmSampleGet(device, p.nvmlGpmSampleAlloc())

def means(first, second, ids):
    request = p.c_nvmlGpmMetricsGet_t()
    request.version = p.NVML_GPM_METRICS_GET_VERSION
    request.numMetrics = len(ids)
    request.sample1, request.sample2 = first, second
    for slot, metric in enumerate(ids):
        request.metrics[slot].metricId = metric
    p.nvmlGpmMetricsGet(request)
    return [(m.nvmlReturn, m.value) for m in request.metrics[:len(ids)]]

first = sample(gpu(0))
result = None
"""


def test_gpm_is_the_exact_mean_between_two_samples(
    simulated_nvml: SimulatedNvml, connect: Connect
) -> None:
    simulated_nvml.freeze(90.0)
    simulated_nvml.set(
        {
            "gpu.0.gpm.sm": "square(low=0, high=80, period=4, duty=0.5)",
            "gpu.0.pcie.tx": "3MiB",
            "gpu.0.pcie.rx": "5MiB",
            "gpu.0.nvlink.*.tx": "2MiB",
            "gpu.0.nvlink.*.rx": "1MiB",
        }
    )
    client = connect(simulated_nvml)
    client.ask(GPM)
    now = client.ask("means(first, first, [2])")
    assert now == [[0, 0.0]], "two samples of one instant give the present value"
    simulated_nvml.freeze(97.0)  # 90..92 low, 92..94 high, 94..96 low, 96..97 high
    means = client.ask("means(first, sample(gpu(0)), [2, 20, 21, 60, 61, 62, 63, 11, 31])")
    values = [value for code, value in means if code == 0]
    assert values == pytest.approx([3 / 7 * 80, 3, 5, 18, 36, 1, 2, 0])
    assert means[-1][0] == 3, "a metric without a line is not supported"


def test_gpm_is_absent_before_hopper(connect: Connect) -> None:
    with SimulatedNvml("a100-pcie") as node:
        client = connect(node)
        assert client.ask("p.nvmlGpmQueryDeviceSupport(gpu(0)).isSupportedDevice") == 0
        code = "sample = p.nvmlGpmSampleAlloc()\ntry:\n    p.nvmlGpmSampleGet(gpu(0), sample)\n"
        code += "except p.NVMLError_NotSupported:\n    result = 'not supported'"
        assert client.ask(code) == "not supported"
