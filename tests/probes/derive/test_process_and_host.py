"""Processes, control groups, the host and probes, from reading to frame."""

from __future__ import annotations

from typing import Any

import pytest

from gputop.probes.model.gpu_readings import GpuProcessReading
from gputop.probes.model.host_readings import (
    CgroupReading,
    DiskReading,
    HostReading,
    PressureReading,
)
from gputop.probes.model.probe_readings import ProbeReading
from gputop.probes.model.process_readings import ProcessReading
from gputop.probes.model.sample import Sample

from support.frame_samples import fold, gpu, sample


def process(moment: float, **fields: Any) -> ProcessReading:
    return ProcessReading(
        pid=fields.pop("pid", 100),
        start_time_seconds=fields.pop("start", 5.0),
        monotonic_seconds=moment,
        **fields,
    )


def test_cpu_of_a_process_is_in_cores() -> None:
    frame = fold(
        sample(10, processes=(process(10, cpu_seconds=1.0),)),
        sample(12, processes=(process(12, cpu_seconds=4.0),)),
    )
    assert frame.processes[0].cpu_cores == 1.5


def test_a_pid_that_came_back_is_another_process() -> None:
    frame = fold(
        sample(10, processes=(process(10, cpu_seconds=1.0),)),
        sample(12, processes=(process(12, start=11.0, cpu_seconds=4.0),)),
    )
    assert frame.processes[0].cpu_cores is None


def test_a_process_on_two_gpus_is_counted_on_both() -> None:
    on = tuple(
        gpu(
            10,
            index=index,
            uuid=str(index),
            processes=(GpuProcessReading(pid=100, memory_bytes=3, sm_ratio=0.5 * index),),
        )
        for index in (0, 1)
    )
    row = fold(sample(10, gpus=on, processes=(process(10),))).processes[0]
    assert (row.gpus, row.gpu_memory_bytes, row.sm_ratio) == ((0, 1), 6, 0.25)


def test_hidden_memory_is_unknown_not_zero() -> None:
    why = {"processes.sm_ratio": "no permission"}
    on = gpu(10, processes=(GpuProcessReading(pid=100),), missing=why)
    row = fold(sample(10, gpus=(on,), processes=(process(10),))).processes[0]
    assert (row.gpu_memory_bytes, row.sm_ratio) == (None, None)
    assert row.missing["gpu_memory_bytes"] == "not reported by the driver"
    assert row.missing["sm_ratio"] == "no permission"


def test_a_process_on_no_gpu_says_so() -> None:
    row = fold(sample(10, processes=(process(10),))).processes[0]
    assert (row.gpu_memory_bytes, row.sm_ratio) == (None, None)
    assert row.missing["sm_ratio"] == "the driver lists it on no GPU"
    assert row.missing["gpu_memory_bytes"] == "the driver lists it on no GPU"


def host(moment: float, **fields: Any) -> HostReading:
    return HostReading(monotonic_seconds=moment, **fields)


def pressure(moment: float, waited: float | None) -> PressureReading:
    missing = {} if waited is not None else {"pressure_cpu_some_seconds": "version 1"}
    return PressureReading(
        path="/job",
        monotonic_seconds=moment,
        pressure_cpu_some_seconds=waited,
        missing=missing,
    )


@pytest.mark.parametrize(
    ("before", "now", "ratio", "reason"),
    [
        (1.0, 1.5, 0.25, None),
        (1.0, 1.0, 0.0, None),
        (1.0, 3.1, 1.0, None),
        (3.0, 1.0, None, "its counter was reset"),
        (None, 1.0, None, "needs a second reading"),
        (1.0, None, None, "version 1"),
    ],
)
def test_pressure_in_a_control_group(
    before: float | None, now: float | None, ratio: float | None, reason: str | None
) -> None:
    readings = [pressure(10, before), pressure(12, now)]
    frame = fold(*(sample(reading.monotonic_seconds, pressures=(reading,)) for reading in readings))
    found = frame.pressure("/job")
    assert found is not None and frame.pressure("/other") is None
    assert found.pressure_cpu_ratio == ratio
    assert found.missing.get("pressure_cpu_ratio") == reason


def test_pressure_that_is_sent_again_keeps_its_share() -> None:
    second = pressure(12, 1.5)
    frame = fold(
        sample(10, pressures=(pressure(10, 1.0),)),
        sample(12, pressures=(second,)),
        sample(13, pressures=(second,)),
    )
    assert [each.pressure_cpu_ratio for each in frame.pressures] == [0.25]


def test_host_shares_and_rates() -> None:
    frame = fold(
        sample(
            10,
            host=host(
                10,
                cpu_busy_seconds=100.0,
                cpu_total_seconds=400.0,
                swap_in_bytes=0,
                pressure_io_some_seconds=1.0,
                disks=(DiskReading(name="nvme0n1", read_bytes=0, write_bytes=0, busy_seconds=0.0),),
            ),
        ),
        sample(
            12,
            host=host(
                12,
                cpu_busy_seconds=102.0,
                cpu_total_seconds=408.0,
                swap_in_bytes=8192,
                pressure_io_some_seconds=1.5,
                disks=(
                    DiskReading(name="nvme0n1", read_bytes=600, write_bytes=2, busy_seconds=1.0),
                ),
            ),
        ),
    )
    assert frame.host is not None
    assert frame.host.cpu_ratio == 0.25
    assert frame.host.swap_in_bytes_per_second == 4096
    assert frame.host.pressure_io_ratio == 0.25
    assert frame.host.read_bytes_per_second == 300
    assert frame.host.rx_bytes_per_second is None
    assert frame.host.disks is not None
    assert frame.host.disks[0].busy_ratio == 0.5


@pytest.mark.parametrize(
    ("first", "last", "told"),
    [
        ((10, 1.0, 5.0), (14, 3.0, 8.0), (0.5, 1.5)),
        ((10, 1.0, 5.0), (10, 1.0, 6.0), (None, 0.5)),
        ((10, 1.0, 5.0), (4, 0.2, 1.0), (None, None)),
        ((None, None, None), (14, 3.0, 8.0), (None, None)),
    ],
    ids=["answered", "in flight", "reset", "not reported"],
)
def test_how_long_requests_to_a_disk_take_and_how_many_are_in_flight(
    first: tuple[Any, ...], last: tuple[Any, ...], told: tuple[Any, ...]
) -> None:
    def at(moment: float, counters: tuple[Any, ...]) -> Sample:
        requests, took, queue = counters
        disk = DiskReading(
            name="sda",
            read_bytes=0,
            write_bytes=0,
            busy_seconds=0.0,
            requests=requests,
            request_seconds=took,
            queue_seconds=queue,
        )
        return sample(moment, host=host(moment, disks=(disk,)))

    frame = fold(at(10, first), at(12, last))
    assert frame.host is not None and frame.host.disks is not None
    (disk,) = frame.host.disks
    assert (disk.await_seconds, disk.queue_length) == told


@pytest.mark.parametrize(
    ("periods", "throttled", "ratio"), [(10, 4, 0.4), (10, 0, 0.0), (0, 0, 0.0), (-5, 0, None)]
)
def test_throttling_is_a_share_of_the_periods(
    periods: int, throttled: int, ratio: float | None
) -> None:
    def group(moment: float, grown: int) -> CgroupReading:
        return CgroupReading(
            path="/job",
            version=2,
            monotonic_seconds=moment,
            cpu_periods=100 + (periods if grown else 0),
            cpu_throttled_periods=7 + (throttled if grown else 0),
        )

    frame = fold(
        sample(10, cgroups=(group(10, 0),), processes=(process(10, cgroup="/job"),)),
        sample(11, cgroups=(group(11, 1),), processes=(process(11, cgroup="/job"),)),
    )
    assert frame.cgroups[0].throttled_ratio == ratio
    assert frame.cgroups[0].pids == (100,)


def test_phases_of_a_probe_and_the_age_of_one_that_is_frozen() -> None:
    def probe(moment: float, forward: float, data: float) -> ProbeReading:
        return ProbeReading(
            pid=100,
            start_time_seconds=5.0,
            monotonic_seconds=moment,
            phase="backward",
            phase_monotonic_seconds=11.0,
            step=7,
            phase_seconds={"forward": forward, "data": data},
        )

    on = (GpuProcessReading(pid=100),)

    def at(moment: float, reading: ProbeReading) -> Sample:
        return sample(
            moment,
            gpus=(gpu(moment, processes=on),),
            processes=(process(moment, environment={"RANK": "0", "WORLD_SIZE": "1"}),),
            probes=(reading,),
        )

    frozen = probe(12, 2.5, 0.5)
    frame = fold(at(10, probe(10, 1.0, 0.0)), at(12, frozen), at(52, frozen))
    rank = frame.jobs[0].ranks[0]
    assert rank.phases == {"forward": 0.75, "data": 0.25}
    assert (rank.phase, rank.phase_age_seconds, rank.step) == ("backward", 41.0, 7)
    assert rank.phase_source == "measured"
    assert frame.gpus[0].rank == 0


def test_a_process_in_a_pid_namespace_is_found_on_its_gpu() -> None:
    """The driver may list the pid that the process has inside its container."""
    on = gpu(10, processes=(GpuProcessReading(pid=7, memory_bytes=5),))
    row = fold(
        sample(10, gpus=(on,), processes=(process(10, pid=100, namespace_pids=(100, 7)),))
    ).processes[0]
    assert (row.gpus, row.gpu_memory_bytes) == ((0,), 5)
