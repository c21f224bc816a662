"""Processes on GPUs: which, how much memory, what share of the time, and what of it is garbage."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gputop.probes.sources.nvml.processes import Processes, Sample

from nvml.simulated import SimulatedNvml
from support.nvml_watch import Watch

GIB = 1024**3


@contextmanager
def watching(node: SimulatedNvml) -> Iterator[Watch]:
    with Watch(node.env()) as watch:
        yield watch


@pytest.fixture
def node(tmp_path: Path) -> SimulatedNvml:
    return SimulatedNvml("h100x8", {"gpu.*.process.1": "none"}, directory=tmp_path)


@pytest.mark.parametrize("old_driver", [False, True], ids=["v3", "v2"])
def test_every_kind_of_process_is_listed_once(tmp_path: Path, old_driver: bool) -> None:
    node = SimulatedNvml(
        "h100x8", {"gpu.*.process.1": "none"}, directory=tmp_path, old_driver=old_driver
    )
    node.process(0, 1, 101, memory="8GiB", type="compute", sm=40)
    node.process(0, 2, 102, memory="1GiB", type="graphics", sm=5)
    node.process(0, 3, 103, memory="2GiB", type="mps", sm=7)
    node.process(0, 4, 104, memory="3GiB", type="compute,graphics", sm=9)
    node.process(1, 1, 101, memory="4GiB", type="compute", sm=11)
    with watching(node) as watch:
        tick = watch.tick()
    found = {process.pid: process for process in tick.gpu(0).processes or ()}
    assert {pid: (each.kind, each.memory_bytes, each.sm_ratio) for pid, each in found.items()} == {
        101: ("compute", 8 * GIB, 0.40),
        102: ("graphics", 1 * GIB, 0.05),
        103: ("mps", 2 * GIB, 0.07),
        104: ("compute", 3 * GIB, 0.09),
    }
    # The same pid on another GPU is its own entry.
    (other,) = tick.gpu(1).processes or ()
    assert (other.pid, other.memory_bytes, other.sm_ratio) == (101, 4 * GIB, 0.11)
    assert tick.gpu(2).processes == ()
    assert tick.pids == (101, 102, 103, 104)


def test_many_processes_are_all_listed(node: SimulatedNvml) -> None:
    node.set({f"gpu.0.process.{n}": f"pid={1000 + n} memory=1MiB sm=1" for n in range(90)})
    with watching(node) as watch:
        processes = watch.tick().gpu(0).processes or ()
    assert [process.pid for process in processes] == list(range(1000, 1090))
    assert {process.sm_ratio for process in processes} == {0.01}


def test_processes_that_leave_are_gone_at_the_next_reading(node: SimulatedNvml) -> None:
    node.process(0, 1, 101, memory="8GiB", sm=40)
    with watching(node) as watch:
        assert watch.tick().pids == (101,)
        node.set({"gpu.0.process.1": "none"})
        tick = watch.tick()
        assert tick.gpu(0).processes == ()
        assert tick.pids == ()


def test_hidden_processes_are_none_with_the_reason(node: SimulatedNvml) -> None:
    node.process(0, 1, 101, memory="8GiB", sm=40)
    node.fault("nvmlDeviceGetComputeRunningProcesses", "*", "NO_PERMISSION")
    with watching(node) as watch:
        gpu = watch.tick().gpu(0)
    assert gpu.processes is None
    assert gpu.missing["processes"] == "no permission"
    assert gpu.memory_used_bytes is not None


def test_hidden_memory_and_shares_are_none(node: SimulatedNvml) -> None:
    node.process(0, 1, 101, memory="unavailable", sm=40)
    node.process(0, 2, 102, memory="500GiB", sm=40)
    node.fault("nvmlDeviceGetProcessUtilization", 0, "NO_PERMISSION")
    with watching(node) as watch:
        gpu = watch.tick().gpu(0)
    assert [(each.memory_bytes, each.sm_ratio) for each in gpu.processes or ()] == [
        (None, None),
        (None, None),
    ]
    assert gpu.missing["processes.sm_ratio"] == "no permission"


def test_an_impossible_pid_makes_the_list_unreliable(node: SimulatedNvml) -> None:
    node.process(0, 1, 101, memory="8GiB", sm=40)
    node.process(0, 2, 2**31, memory="8GiB", sm=40)
    with watching(node) as watch:
        tick = watch.tick()
    assert tick.gpu(0).processes is None
    assert tick.gpu(0).missing["processes"] == "process list unreliable with this driver"
    assert tick.pids == ()


def test_a_share_above_all_is_no_share(node: SimulatedNvml) -> None:
    node.process(0, 1, 101, memory="8GiB", sm=40000)
    node.process(0, 2, 102, memory="8GiB", sm=40)
    with watching(node) as watch:
        processes = watch.tick().gpu(0).processes or ()
    assert [process.sm_ratio for process in processes] == [None, 0.40]


def test_a_share_stands_between_the_drivers_samples_and_then_goes(node: SimulatedNvml) -> None:
    node.process(0, 1, 101, memory="8GiB", sm=40)
    # A stopped clock of the driver means that no newer sample ever comes.
    node.freeze(100.0)
    with watching(node) as watch:

        def share() -> float | None:
            (process,) = watch.tick().gpu(0).processes or ()
            return process.sm_ratio

        assert [share() for _ in range(5)] == [0.4, 0.4, None, None, None]
        node.freeze(110.0)
        assert share() == 0.4


SAMPLES = st.builds(
    Sample,
    pid=st.integers(0, 5),
    percent=st.one_of(st.integers(0, 100), st.integers(0, 2**32 - 1)),
    stamp=st.one_of(st.integers(0, 2 * 10**7), st.integers(0, 2**64 - 1)),
)


@given(batches=st.lists(st.lists(SAMPLES, max_size=8), max_size=5))
def test_whatever_the_buffer_holds_shares_are_of_listed_processes_and_at_most_one(
    batches: list[list[Sample]],
) -> None:
    pids = {1, 2, 3}
    processes = Processes(lambda: 0.0)
    newest: dict[int, int] = {}
    for now, batch in enumerate(batches):
        processes.take(batch, float(now), pids)
        for pid, share in processes.shares.items():
            assert pid in pids
            assert 0 <= share.ratio <= 1
            assert share.stamp >= newest.get(pid, 0)
            newest[pid] = share.stamp
