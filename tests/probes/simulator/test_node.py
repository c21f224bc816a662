"""The simulated node: pure, exact, complete, cheap."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import pairwise

import pytest

from gputop.probes import simulator
from gputop.probes.model.gpu_readings import GpuReading
from gputop.probes.model.probe_readings import ProbeReading
from gputop.probes.model.process_readings import ProcessReading
from gputop.probes.model.sample import Sample
from gputop.probes.simulator import SCENARIOS, SimulatedNode, UnknownScenario, simulate
from gputop.probes.wire.codec import Splitter, decode, encode

START = 1_790_000_000.0
COUNTERS = {
    "gpus": (
        "energy_joules",
        "pcie_rx_bytes",
        "pcie_tx_bytes",
        "nvlink_rx_bytes",
        "nvlink_tx_bytes",
        "pcie_replays",
        "ecc_uncorrected",
        "ecc_corrected",
    ),
    "processes": (
        "cpu_seconds",
        "run_delay_seconds",
        "read_bytes",
        "write_bytes",
        "voluntary_switches",
        "involuntary_switches",
        "major_faults",
    ),
    "cgroups": ("cpu_periods", "cpu_throttled_periods", "cpu_throttled_seconds", "oom_kills"),
    "probes": (
        "step",
        "samples",
        "tokens",
        "gc_pauses",
        "gc_pause_seconds",
        "phase_monotonic_seconds",
        "step_monotonic_seconds",
    ),
}
HOST_COUNTERS = (
    "cpu_busy_seconds",
    "cpu_iowait_seconds",
    "cpu_total_seconds",
    "swap_in_bytes",
    "swap_out_bytes",
    "pressure_cpu_some_seconds",
    "pressure_memory_some_seconds",
    "pressure_io_some_seconds",
    "pressure_io_full_seconds",
)
DERIVED = frozenset(
    {
        "pcie_rx_bytes_per_second",
        "pcie_tx_bytes_per_second",
        "nvlink_rx_bytes_per_second",
        "nvlink_tx_bytes_per_second",
        "nvlink_monotonic_seconds",
    }
)
"""Fields that may be ``None`` without a reason: the rates are made from the counters."""


def node(scenario: str = "healthy", seed: int = 0) -> SimulatedNode:
    return SimulatedNode(scenario, start_time_seconds=START, seed=seed)


@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.unmeasured
def test_a_moment_is_the_same_whenever_it_is_asked_for(scenario: str) -> None:
    wanted = [-200.0, -120.0, -61.3, -0.4, 0.0, 7.25, 3600.0]
    first = node(scenario)
    once = [first.sample_at(elapsed) for elapsed in wanted]
    other = node(scenario)
    again = [other.sample_at(elapsed) for elapsed in reversed(wanted)]
    assert once == again[::-1]
    assert once == [first.sample_at(elapsed) for elapsed in wanted]


def test_another_seed_gives_other_steps() -> None:
    assert node(seed=1).sample_at(0.0) == node(seed=1).sample_at(0.0)
    assert node(seed=1).sample_at(0.0).gpus != node(seed=2).sample_at(0.0).gpus


@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.unmeasured
def test_counters_only_grow(scenario: str) -> None:
    simulated = node(scenario)
    samples = [simulated.sample_at(-125.0 + 1.27 * number) for number in range(110)]
    for before, after in pairwise(samples):
        _assert_grown(before, after)


def _assert_grown(before: Sample, after: Sample) -> None:
    assert after.sequence > before.sequence
    for part, fields in COUNTERS.items():
        old = {_identity(reading): reading for reading in getattr(before, part)}
        for reading in getattr(after, part):
            if _identity(reading) in old:
                _assert_fields_grown(old[_identity(reading)], reading, fields)
    _assert_fields_grown(before.host, after.host, HOST_COUNTERS)
    for old_probe, probe in same_probes(before, after):
        for phase, seconds in old_probe.phase_seconds.items():
            assert probe.phase_seconds[phase] >= seconds


def _assert_fields_grown(before: object, after: object, fields: tuple[str, ...]) -> None:
    for field in fields:
        old, new = getattr(before, field), getattr(after, field)
        assert old is None or new is None or new >= old, field


def same_probes(before: Sample, after: Sample) -> Iterator[tuple[ProbeReading, ProbeReading]]:
    """Of the processes that were there both times: a restarted rank is another one."""
    old = {(probe.pid, probe.start_time_seconds): probe for probe in before.probes}
    for new in after.probes:
        if (known := old.get((new.pid, new.start_time_seconds))) is not None:
            yield known, new


def _identity(reading: object) -> object:
    return next(
        getattr(reading, field) for field in ("pid", "index", "path") if hasattr(reading, field)
    )


@pytest.mark.parametrize("scenario", ["healthy", "thermal-throttle", "input-bound"])
def test_counters_are_the_integrals_of_what_is_shown(scenario: str) -> None:
    """Power is a mean of the last second, so adding it up second by second gives the energy."""
    simulated = node(scenario)
    samples = [simulated.sample_at(float(elapsed)) for elapsed in range(-120, 41)]
    for index in range(8):
        shown = sum(sample.gpus[index].power_watts or 0.0 for sample in samples[1:])
        counted = _energy(samples[-1], index) - _energy(samples[0], index)
        assert shown == pytest.approx(counted, abs=0.1)


def _energy(sample: Sample, index: int) -> float:
    energy = sample.gpus[index].energy_joules
    assert energy is not None
    return energy


def test_a_rate_is_the_same_at_any_interval() -> None:
    simulated = node()
    ends = [simulated.sample_at(elapsed).gpus[2].nvlink_rx_bytes for elapsed in (0.0, 30.0)]
    whole = (ends[1] or 0) - (ends[0] or 0)
    pieces = [simulated.sample_at(number * 0.1).gpus[2].nvlink_rx_bytes for number in range(301)]
    assert sum((b or 0) - (a or 0) for a, b in pairwise(pieces)) == whole
    assert whole / 30 == pytest.approx(178e9, rel=0.05)


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_phases_add_up_to_the_time_since_the_probe_began(scenario: str) -> None:
    simulated = node(scenario)
    before, after = simulated.sample_at(-119.0), simulated.sample_at(-77.5)
    for old, new in same_probes(before, after):
        grown = sum(new.phase_seconds.values()) - sum(old.phase_seconds.values())
        assert grown == pytest.approx(41.5, abs=1e-5)
        assert new.phase_seconds.keys() >= {new.phase}
        assert new.phase_monotonic_seconds is not None
        assert new.phase_monotonic_seconds <= after.monotonic_seconds


def test_clocks_agree() -> None:
    simulated = node()
    before, after = simulated.sample_at(-120.0), simulated.sample_at(5.5)
    assert after.time_seconds == START + 5.5
    assert after.time_seconds - before.time_seconds == 125.5
    assert after.monotonic_seconds - before.monotonic_seconds == 125.5
    assert all(gpu.monotonic_seconds == after.monotonic_seconds for gpu in after.gpus)
    assert all(process.start_time_seconds < 1_040_400 for process in after.processes)


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_every_sample_passes_the_wire(scenario: str) -> None:
    simulated = node(scenario)
    for elapsed in (-120.0, -30.0, 60.0):
        sample = simulated.sample_at(elapsed)
        (body,) = Splitter().feed(encode(sample))
        assert decode(body) == sample


@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.unmeasured
def test_what_a_gpu_does_not_give_has_its_reason(scenario: str) -> None:
    for elapsed in (-120.0, 20.0):
        for gpu in node(scenario).sample_at(elapsed).gpus:
            if gpu.lost:
                assert gpu.missing["utilization_ratio"] == "GPU is lost"
                continue
            nothing = {
                field for field in GpuReading.__struct_fields__ if getattr(gpu, field) is None
            }
            assert nothing - DERIVED == set(gpu.missing)


def test_the_healthy_node_trains_at_full_speed() -> None:
    simulated = node()
    samples = [simulated.sample_at(float(elapsed)) for elapsed in range(60)]
    for gpu in (gpu for sample in samples for gpu in sample.gpus):
        assert 0.85 <= (gpu.utilization_ratio or 0) <= 1.0
        assert 480 < (gpu.power_watts or 0) < 660
        assert 58 <= (gpu.temperature_celsius or 0) <= 66
        assert 1755e6 <= (gpu.sm_clock_hertz or 0) <= 1980e6
        assert len(gpu.nvlinks or ()) == 18
    for probe in samples[-1].probes:
        assert probe.step_seconds == pytest.approx(2.31, abs=0.08)
    assert {source.status for source in samples[-1].sources} == {"ok"}
    assert {source.name for source in samples[-1].sources} >= {"nvml", "nvml gpu 7", "inprocess"}


def test_the_job_is_a_launcher_eight_ranks_and_four_workers_each() -> None:
    sample = node().sample_at(0.0)
    (launcher,) = [process for process in sample.processes if process.name == "torchrun"]
    ranks = [process for process in sample.processes if process.parent_pid == launcher.pid]
    assert [rank.environment["RANK"] for rank in ranks] == list("01234567")
    assert [_pid_on(gpu) for gpu in sample.gpus] == [rank.pid for rank in ranks]
    assert {probe.pid for probe in sample.probes} == {rank.pid for rank in ranks}
    for rank in ranks:
        assert len(_children(sample, rank)) == 4
    assert {process.user for process in sample.processes} == {"mara"}


def _children(sample: Sample, parent: ProcessReading) -> list[ProcessReading]:
    return [process for process in sample.processes if process.parent_pid == parent.pid]


def _pid_on(gpu: GpuReading) -> int:
    (process,) = gpu.processes or ()
    return process.pid


def test_samples_come_at_the_interval_asked_for() -> None:
    samples = simulate("healthy", start_time_seconds=START, interval_seconds=0.5, past_seconds=2.0)
    times = [next(samples).time_seconds - START for _ in range(6)]
    assert times == [-2.0, -1.5, -1.0, -0.5, 0.0, 0.5]


def test_an_unknown_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(UnknownScenario, match="did you mean gpu-lost"):
        node("gpu_lost")
    with pytest.raises(KeyError, match="there is no scenario 'zzz'; scenarios are healthy, "):
        simulator.scenario("zzz")


@pytest.mark.unmeasured
def test_a_sample_costs_little() -> None:
    simulated = node("driver-wedged")
    simulated.sample_at(0.0)
    began = time.process_time()
    for number in range(200):
        simulated.sample_at(float(number))
    milliseconds = (time.process_time() - began) / 200 * 1e3
    print(f"{milliseconds:.2f} ms a sample; target 1 ms")
    assert milliseconds < 20.0  # also on a busy machine


@pytest.mark.parametrize("moment", [-95.0, -66.0])
@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.unmeasured
def test_segments_and_steps_agree_with_the_counters(scenario: str, moment: float) -> None:
    """Three views of the same rhythm: spans, sums per step, and counters since the probe began."""
    simulated = node(scenario)
    before, after = simulated.sample_at(moment), simulated.sample_at(moment + 13.0)
    for old, new in same_probes(before, after):
        if new.segments[0].monotonic_seconds > old.monotonic_seconds:
            continue  # its steps are so short that the ring does not reach back
        spans: dict[str, float] = {}
        ends = [segment.monotonic_seconds for segment in new.segments[1:]] + [new.monotonic_seconds]
        for segment, end in zip(new.segments, ends, strict=True):
            inside = end - max(segment.monotonic_seconds, old.monotonic_seconds)
            spans[segment.phase] = spans.get(segment.phase, 0.0) + max(0.0, inside)
        for phase, seconds in new.phase_seconds.items():
            grown = seconds - old.phase_seconds.get(phase, 0.0)
            assert spans.get(phase, 0.0) == pytest.approx(grown, abs=1e-4)
        last = new.segments[-1]
        assert (last.phase, last.monotonic_seconds) == (new.phase, new.phase_monotonic_seconds)
        assert new.step is not None and last.step == new.step + 1
        for step in new.steps:
            assert sum(step.phases.values()) == pytest.approx(step.seconds)


def test_a_probe_tells_the_steps_since_the_sample_before() -> None:
    simulated = node()
    for interval in (0.2, 1.0, 10.0):
        before = simulated.sample_at(-interval, interval).probes[0]
        now = simulated.sample_at(0.0, interval).probes[0]
        assert before.step is not None and now.step is not None
        reported = {step.number for step in now.steps}
        assert reported >= set(range(before.step + 1, now.step + 1))


def test_the_gpu_times_of_a_step_come_later_than_the_step() -> None:
    simulated = node()
    seen = [
        step
        for tenths in range(50)
        for step in simulated.sample_at(tenths / 10).probes[0].steps
        if step.number == (simulated.sample_at(4.9).probes[0].step or 0)
    ]
    assert not seen[0].gpu_phases and seen[0].run_ahead_seconds is None
    assert seen[-1].gpu_phases and (seen[-1].run_ahead_seconds or 0.0) > 0.05


def test_a_starved_rank_has_no_batch_ready_and_nothing_ahead() -> None:
    starved, fed = (node(name).sample_at(0.0).probes[1] for name in ("input-bound", "healthy"))
    assert starved.loader is not None and fed.loader is not None
    assert starved.loader.queue_depth == 0
    assert (fed.loader.queue_depth or 0) >= 6
    ahead = [
        step.run_ahead_seconds
        for at in range(-9, 1)
        for step in node("input-bound").sample_at(float(at)).probes[1].steps
        if step.run_ahead_seconds is not None
    ]
    assert ahead and max(ahead) < 0.01


def test_a_rank_that_hangs_has_launched_one_collective_less() -> None:
    probes = node("gpu-lost").sample_at(0.0).probes
    launched = [probe.collectives[0].sequence for probe in probes]
    assert launched[3] == min(launched) == max(launched) - 1
    assert probes[3].phase == "backward"
    assert probes[3].collectives[0].in_flight_monotonic_seconds is None
    for probe in (*probes[:3], *probes[4:]):
        assert probe.collectives[0].in_flight_monotonic_seconds == probe.phase_monotonic_seconds
