"""Each scenario shows in the raw readings what it promises, and the rest of the node stays normal."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from statistics import fmean

import pytest
from msgspec.structs import replace

from gputop.probes.model.gpu_readings import GpuReading
from gputop.probes.model.host_readings import HostReading
from gputop.probes.model.sample import Sample
from gputop.probes.simulator import SCENARIOS, SimulatedNode

GIB = 1024**3
BEFORE, AFTER = -118.0, 0.0


def samples(scenario: str, first: int = 0, last: int = 60) -> list[Sample]:
    node = SimulatedNode(scenario, start_time_seconds=1.79e9)
    return [node.sample_at(float(elapsed)) for elapsed in range(first, last)]


def at(scenario: str, elapsed: float) -> Sample:
    return SimulatedNode(scenario, start_time_seconds=1.79e9).sample_at(elapsed)


def mean(stories: Iterable[Sample], index: int, field: str) -> float:
    return fmean(getattr(sample.gpus[index], field) for sample in stories)


def highest(stories: Iterable[Sample], index: int, field: str) -> float:
    return max(float(getattr(sample.gpus[index], field)) for sample in stories)


def step_seconds(sample: Sample) -> float:
    seconds = sample.probes[0].step_seconds
    assert seconds is not None
    return seconds


def share(before: Sample, after: Sample, rank: int, phase: str) -> float:
    """Share of the time between two samples that a rank spent in a phase."""
    grown = after.probes[rank].phase_seconds[phase] - before.probes[rank].phase_seconds.get(
        phase, 0.0
    )
    return grown / (after.monotonic_seconds - before.monotonic_seconds)


def host_rate(before: Sample, after: Sample, field: str) -> float:
    old, new = before.host, after.host
    assert isinstance(old, HostReading) and isinstance(new, HostReading)
    seconds = new.monotonic_seconds - old.monotonic_seconds
    return float(getattr(new, field) - getattr(old, field)) / seconds


FAULTS = {name for name, scenario in SCENARIOS.items() if scenario.finds}
"""The others are well from the start, and another story from the start."""


@pytest.mark.parametrize("scenario", sorted(FAULTS - {"power-cap"}))
def test_before_the_onset_nothing_is_to_be_seen(scenario: str) -> None:
    sample, healthy = at(scenario, -119.0), at("healthy", -119.0)
    # Some are about a job that has ranks on other nodes too, from the start.
    assert [replace(probe, world_size=8) for probe in sample.probes] == list(healthy.probes)
    assert [gpu.sm_active_ratio for gpu in sample.gpus] == [
        gpu.sm_active_ratio for gpu in healthy.gpus
    ]
    assert sample.sources == healthy.sources


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_scenario_describes_itself(name: str) -> None:
    scenario = SCENARIOS[name]
    assert scenario.name == name
    assert scenario.summary.endswith(".") and len(scenario.summary) < 100
    if name in FAULTS:
        assert -115 <= scenario.onset_seconds <= -45


def test_input_bound() -> None:
    story = samples("input-bound")
    for rank in range(8):
        assert 0.33 < share(story[0], story[-1], rank, "data") < 0.42
        assert mean(story, rank, "utilization_ratio") < 0.7
    swing = [sample.gpus[0].utilization_ratio for sample in story]
    assert min(swing) == 0.0 and max(swing) == 1.0  # type: ignore[type-var]
    workers = [p for s in story for p in s.processes if p.name == "pt_data_worker"]
    assert fmean(worker.state == "D" for worker in workers) > 0.55
    assert {w.wait_channel for w in workers if w.state == "D"} == {"rpc_wait_bit_killable"}
    assert host_rate(story[0], story[-1], "pressure_io_some_seconds") > 0.5


def test_gpu_lost() -> None:
    assert not at("gpu-lost", -65.0).gpus[3].lost
    story = samples("gpu-lost")
    lost = story[0].gpus[3]
    assert lost.lost and lost.uuid and lost.utilization_ratio is None
    assert story[0].xids[0].code == 79 and story[0].xids[0].gpu_index == 3
    assert len({probe.step for sample in story for probe in sample.probes}) == 1
    for index in {*range(8)} - {3}:
        assert mean(story, index, "utilization_ratio") == 1.0
        assert mean(story, index, "sm_active_ratio") < 0.05
        assert mean(story, index, "power_watts") == pytest.approx(140, abs=2)
        assert story[-1].probes[index].phase == "comm"
    (stuck,) = [p for p in story[-1].processes if p.pid == story[-1].probes[3].pid]
    assert stuck.state == "D" and story[-1].probes[3].phase == "backward"


def test_driver_wedged() -> None:
    story = samples("driver-wedged")
    assert all(sample.gpus[7] == story[0].gpus[7] for sample in story)
    (status,) = [s for s in story[0].sources if s.name == "nvml gpu 7"]
    assert status.status == "stale" and status.busy_seconds == 45.0
    assert status.reason == "no answer for 45 s"
    assert story[0].monotonic_seconds - story[0].gpus[7].monotonic_seconds == 45.0
    assert {s.status for s in story[0].sources if s is not status} == {"ok"}
    assert mean(story, 0, "sm_active_ratio") > 0.7
    assert (story[-1].probes[7].step or 0) > (story[0].probes[7].step or 0) + 20


def test_thermal_throttle() -> None:
    story = samples("thermal-throttle")
    for sample in story:
        hot = sample.gpus[6]
        assert 85 <= (hot.temperature_celsius or 0) <= 87
        assert hot.throttle_reasons == ("sw thermal slowdown",)
        assert hot.sm_clock_hertz == 1410e6
    assert highest(story, 6, "power_watts") < highest(story, 5, "power_watts") - 80
    assert share(story[0], story[-1], 0, "comm") > share(story[0], story[-1], 6, "comm") + 0.1
    assert step_seconds(story[-1]) > step_seconds(at("thermal-throttle", BEFORE)) * 1.15
    early = samples("thermal-throttle", -119, -92)
    degrees = [gpu.temperature_celsius or 0 for gpu in (sample.gpus[6] for sample in early)]
    assert degrees == sorted(degrees) and degrees[-1] > degrees[0] + 8


def test_without_work() -> None:
    story = samples("utilization-without-work")
    for index in range(8):
        assert mean(story, index, "utilization_ratio") > 0.95
        assert mean(story, index, "sm_active_ratio") < 0.12
        assert mean(story, index, "power_watts") / 700 < 0.25


def test_straggler() -> None:
    story = samples("straggler")
    assert share(story[0], story[-1], 3, "data") > 0.4
    for rank in {*range(8)} - {3}:
        assert share(story[0], story[-1], rank, "data") < 0.02
        assert share(story[0], story[-1], rank, "comm") > 0.4


def test_memory_full() -> None:
    for gpu in at("memory-full", AFTER).gpus:
        assert (gpu.memory_used_bytes or 0) / (gpu.memory_total_bytes or 1) > 0.985
        assert (gpu.memory_used_bytes or 0) < (gpu.memory_total_bytes or 0)


def test_ecc() -> None:
    before, after = at("ecc", BEFORE).gpus[2], at("ecc", AFTER).gpus[2]
    assert (before.ecc_uncorrected, before.remap_pending) == (0, False)
    assert (after.ecc_uncorrected, after.remap_pending) == (1, True)
    assert [xid.code for xid in at("ecc", AFTER).xids] == [48, 63]


def test_cpu_throttled() -> None:
    before, after = at("cpu-throttled", AFTER), at("cpu-throttled", 60.0)
    old, new = before.cgroups[0], after.cgroups[0]
    periods = (new.cpu_periods or 0) - (old.cpu_periods or 0)
    throttled = (new.cpu_throttled_periods or 0) - (old.cpu_throttled_periods or 0)
    assert periods == 600 and throttled / periods == pytest.approx(0.4)
    used = sum((p.cpu_seconds or 0) for p in after.processes) - sum(
        (p.cpu_seconds or 0) for p in before.processes
    )
    assert used / 60 <= (new.cpu_quota_cores or 0)
    assert all(process.container_id for process in after.processes)


def test_swap() -> None:
    before, after = at("swap", AFTER), at("swap", 60.0)
    assert host_rate(before, after, "swap_in_bytes") > 60e6
    assert host_rate(before, after, "pressure_memory_some_seconds") > 0.3
    assert after.host and (after.host.memory_available_bytes or 0) < 3 * GIB


def test_other_tenant() -> None:
    sample = at("other-tenant", AFTER)
    (guest,) = [process for process in sample.processes if process.user != "mara"]
    assert guest.pid in [on.pid for on in sample.gpus[5].processes or ()]
    assert guest.user == "kai" and guest.cgroup in [group.path for group in sample.cgroups]


def test_power_cap() -> None:
    story = samples("power-cap")
    capped = [sample.gpus[4] for sample in story]
    assert max(gpu.power_watts or 0 for gpu in capped) <= (capped[0].power_limit_watts or 0) == 400
    assert fmean("sw power cap" in (gpu.throttle_reasons or ()) for gpu in capped) > 0.9
    assert mean(story, 4, "sm_clock_hertz") < 0.85 * mean(story, 3, "sm_clock_hertz")


def test_clock_stuck() -> None:
    story = samples("clock-stuck")
    assert {sample.gpus[1].sm_clock_hertz for sample in story} == {1200e6}
    assert {sample.gpus[1].throttle_reasons for sample in story} == {()}
    assert mean(story, 1, "utilization_ratio") > 0.9


def test_pcie_trained_down() -> None:
    story = samples("pcie-trained-down")
    slow = story[-1].gpus[4]
    assert (slow.pcie_generation, slow.pcie_generation_max, slow.pcie_width) == (1, 5, 16)
    received = [sample.gpus[4].pcie_rx_bytes or 0 for sample in story]
    assert max(b - a for a, b in pairwise(received)) < 4e9
    assert share(story[0], story[-1], 4, "h2d") > 10 * share(story[0], story[-1], 5, "h2d") * 0.8


def test_orphan_memory() -> None:
    sample = at("orphan-memory", AFTER)
    assert sample.gpus[1].memory_used_bytes == 40 * GIB
    assert not sample.processes and not sample.probes
    assert all(_is_idle(gpu) for gpu in sample.gpus)
    assert at("orphan-memory", -80.0).processes


def _is_idle(gpu: GpuReading) -> bool:
    return gpu.processes == () and gpu.throttle_reasons == ("gpu idle",)
