"""Rates of PCIe, NVLink and Ethernet against exact integrals, over a minute of samples of which some
come late, some not at all, and in which counters begin anew."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gputop.probes.derive.frame import derive
from gputop.probes.model.frame import Frame
from gputop.probes.model.gpu_readings import GpuReading
from gputop.probes.model.host_readings import HostReading, NetworkReading
from gputop.probes.model.sample import Sample

SECONDS = 60.0
MOST_WRONG = 0.01
Read = Callable[[float, int], GpuReading | HostReading]


def carried(second: float) -> float:
    """Bytes by that second, where the rate swings: the exact integral."""
    return 9e9 * second + 4e9 / 0.9 * (1 - math.cos(0.9 * second))


def of_gpu(second: float, since_reset: int) -> GpuReading:
    return GpuReading(
        index=0,
        monotonic_seconds=5000.0 + second,
        pcie_rx_bytes=since_reset,
        nvlink_rx_bytes=since_reset,
        # The driver counts a little before it answers, and says when.
        nvlink_monotonic_seconds=90.0 + second,
        pcie_generation=5,
        pcie_width=16,
    )


def of_host(second: float, since_reset: int) -> HostReading:
    network = NetworkReading(name="eth0", rx_bytes=since_reset, tx_bytes=0)
    return HostReading(monotonic_seconds=5000.0 + second, networks=(network,))


LINKS: dict[str, tuple[Read, Callable[[Frame], float | None]]] = {
    "PCIe": (of_gpu, lambda frame: frame.gpus[0].pcie_rx_bytes_per_second),
    "NVLink": (of_gpu, lambda frame: frame.gpus[0].nvlink_rx_bytes_per_second),
    "Ethernet": (
        of_host,
        lambda frame: (
            frame.host.networks[0].rx_bytes_per_second
            if frame.host and frame.host.networks
            else None
        ),
    ),
}


def sample(second: float, number: int, reading: GpuReading | HostReading) -> Sample:
    return Sample(
        time_seconds=1.8e9 + second,
        monotonic_seconds=5000.0 + second,
        sequence=number,
        node="links",
        gpus=(reading,) if isinstance(reading, GpuReading) else (),
        host=reading if isinstance(reading, HostReading) else None,
    )


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("interval", [1.0, 0.2])
@given(
    resets=st.sets(st.integers(2, 58), max_size=3),
    late=st.sets(st.integers(2, 58), max_size=4),
    jitter=st.floats(0.0, 0.4),
)
@settings(max_examples=15)
@pytest.mark.unmeasured
def test_a_minute(
    interval: float, link: str, resets: set[int], late: set[int], jitter: float
) -> None:
    read, rate_of = LINKS[link]
    frame: Frame | None = None
    at, base, whole, known = 0.0, 0.0, 0.0, 0.0
    last: tuple[float, GpuReading | HostReading] | None = None
    for number in range(round(SECONDS / interval) + 1):
        second = number * interval
        full = round(second) if math.isclose(second, round(second), abs_tol=1e-9) else None
        if last is not None and full in late:
            frame = derive(frame, sample(second, number, last[1]))  # sent again
            continue
        moment = second - jitter * interval if number else second
        again = full in resets
        if again:
            base = carried(moment) - 1e6 / (1 + number)  # anew, and a little since
        reading = read(moment, int(carried(moment) - base))
        frame = derive(frame, sample(second, number, reading))
        rate = rate_of(frame)
        if last is not None and not again:
            true = (carried(moment) - carried(at)) / (moment - at)
            assert rate == pytest.approx(true, rel=MOST_WRONG)
            known += (rate or 0.0) * (moment - at)
            whole += carried(moment) - carried(at)
        elif again:
            assert rate is None, "never a guess across a reset"
        last, at = (moment, reading), moment
    assert known == pytest.approx(whole, rel=1e-6)
