"""Each simulated machine, read through the real binding: what it gives, and why it does not."""

from __future__ import annotations

from functools import cache

import pytest

from gputop.probes.model.gpu_readings import GpuReading
from gputop.probes.model.missing_reasons import NO_FANS

from nvml.simulated import SimulatedNvml
from support.nvml_watch import Tick, Watch

GIB = 1024**3
PROFILES = ("h100x8", "a100-pcie", "l4", "gb10", "h100-mig", "two-islands")

# Of these one is enough: a rate is given only where there is no counter, the time goes with it.
ALTERNATIVES = {
    "pcie_rx_bytes_per_second": "pcie_rx_bytes",
    "pcie_tx_bytes_per_second": "pcie_tx_bytes",
    "nvlink_rx_bytes_per_second": "nvlink_rx_bytes",
    "nvlink_tx_bytes_per_second": "nvlink_tx_bytes",
    "nvlink_monotonic_seconds": "nvlink_rx_bytes",
}


def settled(profile: str, *, old_driver: bool = False) -> Tick:
    """The third tick on that machine, when everything that can be there is there."""
    return _settled(profile, old_driver)


@cache
def _settled(profile: str, old_driver: bool) -> Tick:
    with (
        SimulatedNvml(profile, old_driver=old_driver) as node,
        Watch(node.env()) as watch,
    ):
        return watch.ticks(3)


def unexplained(gpu: GpuReading) -> set[str]:
    """Fields that are None for no reason."""
    empty = {name for name in GpuReading.__struct_fields__ if getattr(gpu, name) is None}
    return {
        name
        for name in empty - gpu.missing.keys()
        if ALTERNATIVES.get(name) is None
        or (getattr(gpu, ALTERNATIVES[name]) is None and ALTERNATIVES[name] not in gpu.missing)
    }


@pytest.mark.parametrize("old_driver", [False, True], ids=["new", "old"])
@pytest.mark.parametrize("profile", PROFILES)
def test_every_missing_value_has_a_reason(profile: str, old_driver: bool) -> None:
    tick = settled(profile, old_driver=old_driver)
    assert tick.gpus
    for gpu in tick.gpus:
        assert unexplained(gpu) == set()
        contradicted = {
            name for name in gpu.missing if "." not in name and getattr(gpu, name) is not None
        }
        assert contradicted == set()


def test_h100_gives_everything() -> None:
    tick = settled("h100x8")
    driver = tick.outcomes["nvml"].driver
    assert driver is not None
    assert (driver.driver_version, driver.nvml_version, driver.cuda_version, driver.gpu_count) == (
        "580.65.06",
        "13.580.65.06",
        "13.0",
        8,
    )
    assert [gpu.index for gpu in tick.gpus] == list(range(8))
    gpu = tick.gpu(5)
    # Such a card retires no pages, it remaps rows; and the case cools it.
    fans = {"fan_speed_ratio", "fan_rotations_per_second"}
    assert gpu.missing.keys() == {"retired_pages", "retired_pages_pending", *fans}
    assert (gpu.fan_count, {gpu.missing[each] for each in fans}) == (0, {NO_FANS})
    assert gpu.uuid == "GPU-05b7a1c2-5d3e-4f60-8a91-b2c3d4e5f605"
    assert (gpu.name, gpu.serial, gpu.minor_number) == ("NVIDIA H100 80GB HBM3", "1650423015001", 5)
    assert (gpu.pci_bus_id, gpu.numa_node) == ("00000000:C3:00.0", 1)
    assert (gpu.architecture, gpu.compute_capability) == ("Hopper", "9.0")
    assert gpu.memory_used_bytes == 70 * GIB
    assert gpu.memory_total_bytes == 81559 * 1024**2
    assert gpu.memory_reserved_bytes == 551 * 1024**2
    assert (gpu.bar1_used_bytes, gpu.bar1_total_bytes) == (4 * 1024**2, 128 * GIB)
    assert gpu.power_watts == pytest.approx(620, abs=51)
    assert (gpu.power_limit_watts, gpu.power_limit_default_watts) == (700, 700)
    assert gpu.temperature_celsius == pytest.approx(61, abs=4)
    assert (gpu.temperature_slowdown_celsius, gpu.temperature_shutdown_celsius) == (89, 92)
    assert gpu.memory_temperature_celsius == pytest.approx(72, abs=4)
    assert gpu.memory_temperature_max_celsius == 95
    assert (gpu.sm_clock_hertz, gpu.sm_clock_max_hertz) == (1.98e9, 1.98e9)
    assert gpu.sm_clock_application_hertz == 1.98e9
    assert (gpu.memory_clock_hertz, gpu.memory_clock_max_hertz) == (2.619e9, 2.619e9)
    assert (gpu.throttle_reasons, gpu.performance_state) == ((), 0)
    assert (gpu.pcie_generation, gpu.pcie_width, gpu.pcie_replays) == (5, 16, 0)
    assert (gpu.pcie_generation_max, gpu.pcie_width_max, gpu.pcie_generation_device_max) == (
        5,
        16,
        5,
    )
    assert (gpu.ecc_enabled, gpu.ecc_uncorrected, gpu.ecc_corrected) == (True, 0, 0)
    assert (gpu.remap_pending, gpu.remap_failed, gpu.recovery_action) == (False, False, "none")
    assert (gpu.persistence_mode, gpu.compute_mode, gpu.mig_mode) == (True, "default", False)


def test_h100_links_lead_to_switches() -> None:
    links = settled("h100x8").gpu(0).nvlinks
    assert links is not None
    assert [link.link for link in links] == list(range(18))
    assert {(link.active, link.version, link.remote) for link in links} == {(True, 4, "switch")}
    assert {link.speed_bytes_per_second for link in links} == {26.562e9}
    assert {link.remote_pci_bus_id for link in links} == {f"00000000:F{n}:00.0" for n in range(4)}


def test_islands_links_lead_to_their_gpus() -> None:
    tick = settled("two-islands")
    buses = {gpu.pci_bus_id: gpu.index for gpu in tick.gpus}
    for gpu in tick.gpus:
        assert gpu.nvlinks
        peers = {buses[link.remote_pci_bus_id or ""] for link in gpu.nvlinks}
        assert peers == set(range(4 * (gpu.index // 4), 4 * (gpu.index // 4) + 4)) - {gpu.index}
        assert {link.remote for link in gpu.nvlinks} == {"gpu"}


def test_card_without_links_says_so_with_an_empty_tuple() -> None:
    gpu = settled("a100-pcie").gpu(0)
    assert gpu.nvlinks == ()
    assert gpu.missing["nvlink_rx_bytes"] == "has no NVLink"
    assert gpu.missing["tensor_active_ratio"] == "not supported by this GPU"


def test_unified_memory_is_missing_not_zero() -> None:
    gpu = settled("gb10").gpu(0)
    assert (gpu.memory_used_bytes, gpu.memory_total_bytes) == (None, None)
    assert gpu.missing["memory_used_bytes"] == "not supported by this GPU"
    assert gpu.utilization_ratio is not None
    assert gpu.processes
    assert gpu.processes[0].memory_bytes == 24 * GIB


def test_old_driver_gives_what_it_has() -> None:
    gpu = settled("h100x8", old_driver=True).gpu(0)
    assert gpu.memory_used_bytes == 70 * GIB + 551 * 1024**2
    assert gpu.missing["memory_reserved_bytes"] == "counted as used by this driver"
    assert gpu.missing["sm_active_ratio"] == "not offered by this driver"
    assert gpu.power_watts is not None
    assert gpu.power_limit_watts == 700
    assert gpu.throttle_reasons == ()
    assert [process.pid for process in gpu.processes or ()] == [4100]
    assert gpu.nvlinks
    assert gpu.nvlinks[0].speed_bytes_per_second == 26.562e9
    assert gpu.nvlinks[0].version == 4


def test_mig_has_instances_and_no_utilization() -> None:
    tick = settled("h100-mig")
    gpu = tick.gpu(0)
    assert gpu.mig_mode is True
    assert (gpu.utilization_ratio, gpu.missing["utilization_ratio"]) == (
        None,
        "not available under MIG",
    )
    assert gpu.missing["processes.sm_ratio"] == "not available under MIG"
    assert [(mig.gpu_instance, mig.multiprocessors) for mig in gpu.migs] == [
        (1, 60),
        (3, 32),
        (9, 16),
    ]
    assert len({mig.uuid for mig in gpu.migs}) == 3
    assert gpu.migs[0].memory_used_bytes == 30 * GIB
    assert [
        (process.pid, process.gpu_instance, process.sm_ratio) for process in gpu.processes or ()
    ] == [
        (4100, 1, None),
        (4110, 3, None),
    ]
    assert tick.gpu(1).migs == ()
    assert tick.gpu(1).utilization_ratio is not None


def test_thresholds_come_from_margins_where_there_are_no_absolute_ones() -> None:
    with (
        SimulatedNvml(
            "h100x8",
            {
                "gpu.0.temperature.threshold.slowdown": "unsupported",
                "gpu.0.temperature.threshold.shutdown": "unsupported",
                "gpu.0.temperature.gpu": 60,
                "gpu.0.temperature.margin": 27,
            },
        ) as node,
        Watch(node.env()) as watch,
    ):
        gpu = watch.tick().gpu(0)
    # 27 below the top of full speed; slowdown 2 beyond that, shutdown 5.
    assert (gpu.temperature_slowdown_celsius, gpu.temperature_shutdown_celsius) == (89, 92)
