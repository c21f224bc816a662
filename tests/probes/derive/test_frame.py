"""Rates, staleness and joins: samples in, frames out."""

from __future__ import annotations

from functools import reduce

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gputop.probes.derive.frame import derive
from gputop.probes.derive.gpu import PCIE_LANE_BYTES_PER_SECOND
from gputop.probes.derive.rates import rate
from gputop.probes.model.frame import Frame
from gputop.probes.model.gpu_readings import NvlinkReading
from gputop.probes.model.sample import Sample, SourceStatus
from gputop.probes.simulator import SimulatedNode

from support.frame_samples import fold, gpu, sample


def test_a_rate_is_growth_over_the_time_between_the_readings() -> None:
    frame = fold(
        sample(10, gpus=(gpu(9.5, pcie_rx_bytes=1_000, pcie_tx_bytes=50),)),
        sample(12, gpus=(gpu(11.5, pcie_rx_bytes=5_000, pcie_tx_bytes=60),)),
    )
    assert frame.gpus[0].pcie_rx_bytes_per_second == 2_000
    assert frame.gpus[0].pcie_tx_bytes_per_second == 5


def test_the_first_frame_says_that_rates_need_a_second_reading() -> None:
    frame = fold(sample(10, gpus=(gpu(10, pcie_rx_bytes=1_000),)))
    assert frame.gpus[0].pcie_rx_bytes_per_second is None
    assert frame.gpus[0].missing["pcie_rx_bytes_per_second"] == "needs a second reading"


def test_a_counter_that_is_missing_hands_its_reason_to_the_rate() -> None:
    without = gpu(10, missing={"pcie_rx_bytes": "not supported by this GPU"})
    frame = fold(sample(10, gpus=(without,)), sample(11, gpus=(without,)))
    assert frame.gpus[0].missing["pcie_rx_bytes_per_second"] == "not supported by this GPU"


def test_a_counter_that_went_backwards_gives_no_rate_once_and_then_goes_on() -> None:
    samples = [
        sample(moment, gpus=(gpu(moment, pcie_rx_bytes=count),))
        for moment, count in ((10, 9_000), (11, 100), (12, 350))
    ]
    after_reset = fold(*samples[:2]).gpus[0]
    assert after_reset.pcie_rx_bytes_per_second is None
    assert after_reset.missing["pcie_rx_bytes_per_second"] == "its counter was reset"
    assert fold(*samples).gpus[0].pcie_rx_bytes_per_second == 250


def test_a_rate_that_the_driver_gives_is_kept() -> None:
    frame = fold(sample(10, gpus=(gpu(10, pcie_rx_bytes_per_second=7.0),)))
    assert frame.gpus[0].pcie_rx_bytes_per_second == 7.0


@pytest.mark.parametrize("driver_gives", [False, True])
def test_a_rate_that_no_link_can_have_is_none(driver_gives: bool) -> None:
    link = {"pcie_generation": 1, "pcie_width": 16, "pcie_generation_max": 5, "pcie_width_max": 16}
    if driver_gives:
        first, second = {}, {"pcie_rx_bytes_per_second": 1e15, "pcie_tx_bytes_per_second": 60e9}
    else:
        first = {"pcie_rx_bytes": 0, "pcie_tx_bytes": 0}
        second = {"pcie_rx_bytes": 10**15, "pcie_tx_bytes": 60 * 10**9}
    frame = fold(
        sample(1.0, gpus=(gpu(1.0, **link, **first),)),
        sample(2.0, gpus=(gpu(2.0, **link, **second),)),
    )
    row = frame.gpus[0]
    assert row.pcie_rx_bytes_per_second is None
    assert "more than the link can carry" in row.missing["pcie_rx_bytes_per_second"]
    assert row.pcie_tx_bytes_per_second == 60e9  # the state of the link is read late


def test_a_lost_gpus_age_is_that_of_its_last_values() -> None:
    lost = [sample(float(at), gpus=(gpu(float(at), lost=True),)) for at in (2, 3, 10)]
    assert fold(sample(1.0, gpus=(gpu(1.0, power_watts=1.0),)), *lost).gpus[0].age_seconds == 9.0
    assert fold(lost[0]).gpus[0].age_seconds == 0.0


def test_nvlink_rates_use_the_drivers_own_clock() -> None:
    frame = fold(
        sample(10, gpus=(gpu(10, nvlink_rx_bytes=0, nvlink_monotonic_seconds=500.0),)),
        sample(11, gpus=(gpu(11.5, nvlink_rx_bytes=900, nvlink_monotonic_seconds=500.9),)),
    )
    assert frame.gpus[0].nvlink_rx_bytes_per_second == pytest.approx(1_000)


def test_a_reading_sent_again_keeps_its_rates_and_grows_old() -> None:
    late = gpu(11, pcie_rx_bytes=300)
    frame = fold(
        sample(10, gpus=(gpu(10, pcie_rx_bytes=100),)),
        *(sample(moment, gpus=(late,)) for moment in (11, 12, 13, 14)),
    )
    assert frame.gpus[0].pcie_rx_bytes_per_second == 200
    assert frame.gpus[0].age_seconds == 3
    assert frame.gpus[0].status == "stale"


@pytest.mark.parametrize(("age", "status"), [(0.0, "ok"), (1.0, "ok"), (2.0, "ok"), (2.1, "stale")])
def test_one_missed_turn_is_not_stale_two_are(age: float, status: str) -> None:
    assert fold(sample(10, gpus=(gpu(10 - age),))).gpus[0].status == status


def test_a_stale_gpu_says_what_its_source_says() -> None:
    status = SourceStatus(name="nvml gpu 0", status="stale", reason="no answer for 9 s")
    frame = fold(sample(20, gpus=(gpu(10),), sources=(status,)))
    assert frame.gpus[0].status_reason == "no answer for 9 s"


def test_a_gpu_that_vanishes_keeps_its_row_and_number_without_values() -> None:
    both = (gpu(10, power_watts=300.0), gpu(10, index=1, uuid="v"))
    frame = fold(sample(10, gpus=both), sample(11, gpus=both[1:]), sample(12, gpus=both[1:]))
    assert [row.index for row in frame.gpus] == [0, 1]
    assert frame.gpus[0].status == "lost"
    assert frame.gpus[0].uuid == "u"
    assert frame.gpus[0].power_watts is None


def test_a_gpu_that_the_driver_calls_lost_is_lost() -> None:
    assert fold(sample(10, gpus=(gpu(10, lost=True),))).gpus[0].status == "lost"


def test_another_card_under_the_same_number_starts_anew() -> None:
    frame = fold(
        sample(10, gpus=(gpu(10, pcie_rx_bytes=100),)),
        sample(11, gpus=(gpu(11, uuid="other", pcie_rx_bytes=500),)),
    )
    assert frame.gpus[0].pcie_rx_bytes_per_second is None


def test_a_reboot_forgets_everything() -> None:
    frame = fold(
        sample(10, gpus=(gpu(10, pcie_rx_bytes=100),)),
        sample(11, boot_id="b", gpus=(gpu(11, pcie_rx_bytes=500),)),
    )
    assert frame.gpus[0].pcie_rx_bytes_per_second is None


def test_the_pcie_limit_takes_the_encoding_off() -> None:
    frame = fold(sample(10, gpus=(gpu(10, pcie_generation=5, pcie_width=16),)))
    assert frame.gpus[0].pcie_limit_bytes_per_second == pytest.approx(63.0e9, rel=0.001)
    assert PCIE_LANE_BYTES_PER_SECOND[1] == 250e6
    assert PCIE_LANE_BYTES_PER_SECOND[3] == pytest.approx(984.6e6, rel=0.001)


def test_the_nvlink_limit_counts_active_links() -> None:
    links = tuple(
        NvlinkReading(link=number, active=number != 2, speed_bytes_per_second=25e9)
        for number in range(4)
    )
    frame = fold(sample(10, gpus=(gpu(10, nvlinks=links),)))
    assert frame.gpus[0].nvlink_limit_bytes_per_second == 75e9
    assert [link.id for link in frame.links] == ["gpu0 pcie", "gpu0 nvlink"]


@pytest.mark.parametrize(
    ("counts", "since"), [((4, 4), 0), ((4, 6), 2), ((4, 6, 1), 3), ((0, None, 2), 2)]
)
def test_ecc_errors_count_from_when_we_came(counts: tuple[int | None, ...], since: int) -> None:
    samples = [
        sample(moment, gpus=(gpu(moment, ecc_uncorrected=count),))
        for moment, count in enumerate(counts, 10)
    ]
    assert fold(*samples).gpus[0].ecc_uncorrected_since_start == since


numbers = st.one_of(st.none(), st.floats(allow_nan=False, allow_infinity=False))


@given(numbers, numbers, st.floats(allow_nan=False, allow_infinity=False))
def test_a_rate_is_never_negative(now: float | None, before: float | None, seconds: float) -> None:
    value = rate(now, before, seconds)
    assert value is None or value >= 0


@given(st.lists(st.tuples(st.floats(0.01, 10), st.integers(0, 10**12)), min_size=1, max_size=30))
def test_rates_times_time_add_up_to_the_counter(steps: list[tuple[float, int]]) -> None:
    moment, count = 10.0, 0
    samples = [sample(moment, gpus=(gpu(moment, pcie_rx_bytes=0),))]
    for seconds, grown in steps:
        moment, count = moment + seconds, count + grown
        samples.append(sample(moment, gpus=(gpu(moment, pcie_rx_bytes=count),)))

    def add(state: tuple[Frame, float], now: Sample) -> tuple[Frame, float]:
        frame = derive(state[0], now)
        value = frame.gpus[0].pcie_rx_bytes_per_second
        assert value is not None
        elapsed = frame.monotonic_seconds - state[0].monotonic_seconds
        return frame, state[1] + value * elapsed

    _, total = reduce(add, samples[1:], (derive(None, samples[0]), 0.0))
    assert total == pytest.approx(count, rel=1e-6)


def test_the_links_of_a_lost_gpu_tell_nothing_and_say_why() -> None:
    node = SimulatedNode("gpu-lost", start_time_seconds=1.79e9)
    frame = None
    for second in range(70):
        frame = derive(frame, node.sample_at(float(second)))
    assert frame is not None
    lost = next(gpu.index for gpu in frame.gpus if gpu.lost)
    for link in frame.links:
        if link.gpu_index == lost:
            assert link.rx_bytes_per_second is link.errors_since_start is None
            assert link.missing["errors_since_start"] == "GPU is lost"
        elif link.kind == "pcie":
            assert link.errors_since_start is not None
