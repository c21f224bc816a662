"""Counters and rates to the byte, direction by direction, and what they cost in calls."""

from __future__ import annotations

from pathlib import Path

import pytest

from gputop.probes.derive.nvlink import derive_nvlinks, errors_since_start
from gputop.probes.model.gpu_readings import GpuReading

from nvml.simulated import SimulatedNvml
from support.nvml_watch import Watch

MOST_CALLS_PER_SECOND = 150


def growth(first: GpuReading, second: GpuReading, field: str) -> int:
    """How much a counter grew between two readings."""
    before, after = getattr(first, field), getattr(second, field)
    assert before is not None
    assert after is not None
    return int(after - before)


def test_counters_grow_by_exactly_what_was_carried(tmp_path: Path) -> None:
    node = SimulatedNvml(
        "h100x8",
        {
            "clock": "frozen 100.0",
            "gpu.0.pcie.rx": "3G",
            "gpu.0.pcie.tx": "1G",
            "gpu.0.nvlink.*.rx": "1024000",
            "gpu.0.nvlink.*.tx": "2048000",
            "gpu.0.power": 500,
        },
        directory=tmp_path,
    )
    with Watch(node.env()) as watch:
        first = watch.tick().gpu(0)
        node.freeze(102.5)
        second = watch.tick().gpu(0)
    assert growth(first, second, "pcie_rx_bytes") == 7_500_000_000
    assert growth(first, second, "pcie_tx_bytes") == 2_500_000_000
    assert growth(first, second, "nvlink_rx_bytes") == 18 * 2_560_000
    assert growth(first, second, "nvlink_tx_bytes") == 18 * 5_120_000
    assert growth(first, second, "energy_joules") == 1250
    assert second.nvlink_monotonic_seconds is not None
    assert first.nvlink_monotonic_seconds is not None
    # Apart by the driver's clock, whatever ours says.
    stamps = second.nvlink_monotonic_seconds - first.nvlink_monotonic_seconds
    assert stamps == pytest.approx(2.5, abs=1e-3)


def test_gpm_is_the_mean_since_the_previous_reading(tmp_path: Path) -> None:
    node = SimulatedNvml(
        "h100x8",
        {
            "clock": "frozen 100.0",
            "gpu.0.gpm.sm": "ramp(from=0, to=100, begin=100, seconds=10)",
            "gpu.0.gpm.occupancy": 40,
            "gpu.0.gpm.tensor": 30,
            "gpu.0.gpm.dram": 20,
        },
        directory=tmp_path,
    )
    with Watch(node.env()) as watch:
        first = watch.tick().gpu(0)
        node.freeze(102.0)
        second = watch.tick().gpu(0)
        node.freeze(106.0)
        third = watch.tick().gpu(0)
    assert first.sm_active_ratio is None
    assert first.missing["sm_active_ratio"] == "needs two readings"
    assert second.sm_active_ratio == pytest.approx(0.10)
    # From 102 to 106, and not from the first sample on.
    assert third.sm_active_ratio == pytest.approx(0.40)
    assert third.sm_occupancy_ratio == pytest.approx(0.4)
    assert third.tensor_active_ratio == pytest.approx(0.3)
    assert third.dram_active_ratio == pytest.approx(0.2)


def test_gpm_samples_are_a_tenth_of_a_second_apart(tmp_path: Path) -> None:
    node = SimulatedNvml("h100x8", directory=tmp_path)
    with Watch(node.env()) as watch:
        watch.ticks(2)
        before = node.calls()["nvmlGpmSampleGet", 0]
        again = watch.tick(advance=0.0).gpu(0)
        assert node.calls()["nvmlGpmSampleGet", 0] == before
        assert again.sm_active_ratio is not None


def test_pcie_rates_come_from_gpm_without_counters(tmp_path: Path) -> None:
    node = SimulatedNvml(
        "h100x8",
        {
            "clock": "frozen 100.0",
            "gpu.0.field.197.error": 3,
            "gpu.0.field.198.error": 3,
            "gpu.0.pcie.rx": "300MiB",
            "gpu.0.pcie.tx": "100MiB",
        },
        directory=tmp_path,
    )
    with Watch(node.env()) as watch:
        watch.tick()
        node.freeze(101.0)
        tick = watch.tick()
    gpu = tick.gpu(0)
    assert gpu.pcie_rx_bytes is None
    assert gpu.missing["pcie_rx_bytes"] == "not supported by this GPU"
    assert gpu.pcie_rx_bytes_per_second == pytest.approx(300 * 1024**2)
    assert gpu.pcie_tx_bytes_per_second == pytest.approx(100 * 1024**2)
    assert "nvml pcie" not in tick.outcomes


def test_pcie_rates_are_measured_at_once_and_then_in_turn_as_a_last_resort(tmp_path: Path) -> None:
    node = SimulatedNvml(
        "a100-pcie", {"gpu.*.pcie.rx": "300MiB", "gpu.*.pcie.tx": "100MiB"}, directory=tmp_path
    )
    with Watch(node.env()) as watch:
        assert "nvml pcie" not in watch.tick().outcomes
        first = watch.ticks(2)
        before = node.calls()
        tick = watch.ticks(6)
        after = node.calls()
    assert None not in [gpu.pcie_rx_bytes_per_second for gpu in first.gpus], (
        "who looks once sees all"
    )
    assert tick.outcomes["nvml pcie"].status == "ok"
    for gpu in tick.gpus:
        assert gpu.pcie_rx_bytes_per_second == pytest.approx(300 * 1024**2, rel=1e-3)
        assert gpu.pcie_tx_bytes_per_second == pytest.approx(100 * 1024**2, rel=1e-3)
    # One GPU a tick, both directions.
    throughput = [
        after[key] - before.get(key, 0) for key in after if key[0] == "nvmlDeviceGetPcieThroughput"
    ]
    assert sum(throughput) == 12
    assert max(throughput) == 4


def test_pcie_that_cannot_be_measured_at_all_says_why(tmp_path: Path) -> None:
    node = SimulatedNvml("gb10", directory=tmp_path)
    with Watch(node.env()) as watch:
        tick = watch.ticks(3)
        assert tick.outcomes["nvml pcie"].status == "unsupported"
        assert tick.gpu(0).missing["pcie_rx_bytes_per_second"] == "not supported by this GPU"
        before = node.calls()
        watch.ticks(3)
        # Not supported is not asked for again.
        assert (
            node.calls()["nvmlDeviceGetPcieThroughput", 0]
            == (before["nvmlDeviceGetPcieThroughput", 0])
        )


def test_nvlink_counts_of_each_link_add_up_where_there_is_no_total(tmp_path: Path) -> None:
    # As on NVLink 5: nothing under the ids of old, bytes per link under new ones.
    lines = {f"gpu.0.field.{id_}.error": 3 for id_ in (138, 139)}
    node = SimulatedNvml(
        "h100x8",
        {
            **lines,
            "clock": "frozen 100.0",
            "gpu.0.nvlink.*.rx.bytes": "3k",
            "gpu.0.nvlink.*.tx.bytes": "5k",
            "gpu.0.nvlink.4.state": 0,
        },
        directory=tmp_path,
    )
    with Watch(node.env()) as watch:
        first = watch.ticks(2).gpu(0)
        node.freeze(110.0)
        second = watch.tick().gpu(0)
    assert second.nvlinks
    assert [link.link for link in second.nvlinks if not link.active] == [4]
    assert growth(first, second, "nvlink_rx_bytes") == 17 * 30_000
    assert growth(first, second, "nvlink_tx_bytes") == 17 * 50_000


def test_nvlink_rates_come_from_gpm_without_counters(tmp_path: Path) -> None:
    lines = {f"gpu.0.field.{id_}.error": 3 for id_ in (138, 139, 202, 204)}
    rates = {"gpu.0.nvlink.*.rx": "10MiB", "gpu.0.nvlink.*.tx": "20MiB"}
    node = SimulatedNvml("h100x8", {**lines, **rates, "clock": "frozen 100.0"}, directory=tmp_path)
    with Watch(node.env()) as watch:
        watch.ticks(2)
        node.freeze(103.0)
        gpu = watch.tick().gpu(0)
    assert gpu.nvlink_rx_bytes is None
    assert gpu.nvlink_rx_bytes_per_second == pytest.approx(18 * 10 * 1024**2)
    assert gpu.nvlink_tx_bytes_per_second == pytest.approx(18 * 20 * 1024**2)


def test_link_errors_are_read_from_the_link(tmp_path: Path) -> None:
    node = SimulatedNvml(
        "h100x8",
        {
            "gpu.0.nvlink.7.error.replay": 3,
            "gpu.0.nvlink.7.error.recovery": 2,
            "gpu.0.nvlink.7.error.crc_flit": 11,
        },
        directory=tmp_path,
    )
    with Watch(node.env()) as watch:
        links = watch.tick().gpu(0).nvlinks
    assert links
    errors = [(link.crc_errors, link.replay_errors, link.recovery_errors) for link in links]
    assert errors[7] == (11, 3, 2)
    assert set(errors[:7] + errors[8:]) == {(0, 0, 0)}


@pytest.mark.parametrize(
    ("profile", "old_driver"), [("h100x8", False), ("h100x8", True), ("h100-mig", False)]
)
def test_calls_stay_within_the_budget_and_even(
    tmp_path: Path, profile: str, old_driver: bool
) -> None:
    node = SimulatedNvml(
        profile,
        {"gpu.*.pcie.throughput_seconds": 0},
        directory=tmp_path,
        old_driver=old_driver,
    )
    with Watch(node.env()) as watch:
        watch.ticks(3)
        totals = []
        for _ in range(30):
            before = sum(node.calls().values())
            watch.tick()
            totals.append(sum(node.calls().values()) - before)
    assert sum(totals) / len(totals) < MOST_CALLS_PER_SECOND
    # The slow groups of all GPUs never meet in one tick.
    assert max(totals) < 1.6 * sum(totals) / len(totals)


def test_what_is_not_supported_is_not_asked_for_again(tmp_path: Path) -> None:
    node = SimulatedNvml("gb10", directory=tmp_path)
    with Watch(node.env()) as watch:
        watch.ticks(3)
        before = node.calls()
        watch.ticks(40)
        after = node.calls()
    assert before["nvmlDeviceGetMemoryInfo_v2", 0] == after["nvmlDeviceGetMemoryInfo_v2", 0] == 1
    assert before["nvmlDeviceGetEnforcedPowerLimit", 0] == 1
    assert after["nvmlDeviceGetEnforcedPowerLimit", 0] == 1


def test_rates_of_single_links_go_by_the_drivers_clock(tmp_path: Path) -> None:
    node = SimulatedNvml(
        "h100x8",
        {
            "clock": "frozen 100.0",
            "gpu.0.nvlink.*.rx": "2MiB",
            "gpu.0.nvlink.*.tx": "1MiB",
            "gpu.0.nvlink.3.tx": "5MiB",
        },
        directory=tmp_path,
    )
    with Watch(node.env()) as watch:
        first = watch.tick().gpu(0)
        # The driver's ten seconds, of which our own clock has seen twelve.
        node.freeze(110.0)
        second = watch.tick(12.0).gpu(0)
    before = derive_nvlinks(first.nvlinks, None)
    links = derive_nvlinks(second.nvlinks, before)
    assert before
    assert links
    assert before[3].tx_bytes_per_second is None
    mib = 1024**2
    assert links[3].tx_bytes_per_second == pytest.approx(5 * mib, rel=1e-3)
    assert links[4].tx_bytes_per_second == pytest.approx(mib, rel=1e-3)
    assert links[4].rx_bytes_per_second == pytest.approx(2 * mib, rel=1e-3)
    assert derive_nvlinks(second.nvlinks, links) == links


def test_nvlink_errors_since_the_start(tmp_path: Path) -> None:
    node = SimulatedNvml("h100x8", {"gpu.0.nvlink.7.error.replay": 3}, directory=tmp_path)
    with Watch(node.env()) as watch:
        before = derive_nvlinks(watch.tick().gpu(0).nvlinks, None)
        node.set({"gpu.0.nvlink.7.error.replay": 8, "gpu.0.nvlink.2.error.crc_flit": 40})
        links = derive_nvlinks(watch.tick(10.0).gpu(0).nvlinks, before)
    assert errors_since_start(before) == 0
    assert errors_since_start(links) == 45
    assert links
    assert (links[7].replay_errors_since_start, links[2].crc_errors_since_start) == (5, 40)


@pytest.mark.parametrize(
    ("lines", "state", "health"),
    [
        ({}, "completed", "healthy"),
        ({"gpu.0.fabric.state": 2}, "in progress", "healthy"),
        ({"gpu.0.fabric.status": 999}, "failed (error 999)", "healthy"),
        ({"gpu.0.fabric.health_summary": 2}, "completed", "unhealthy"),
        ({"gpu.0.fabric.health": 1}, "completed", "degraded bandwidth"),
        ({"gpu.0.fabric.state": 0}, None, None),
    ],
)
def test_the_nvswitch_fabric(
    tmp_path: Path, lines: dict[str, int], state: str | None, health: str | None
) -> None:
    node = SimulatedNvml("h100x8", dict(lines), directory=tmp_path)
    with Watch(node.env()) as watch:
        gpu = watch.tick().gpu(0)
    assert (gpu.fabric_state, gpu.fabric_health) == (state, health)
    if state is None:
        assert gpu.missing["fabric_state"] == "belongs to no NVSwitch fabric"
