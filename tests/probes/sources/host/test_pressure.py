"""Pressure per control group: whose it is, and why it is missing where it cannot be had."""

from __future__ import annotations

from pathlib import Path

import pytest

from gputop.probes.model.host_readings import PressureReading
from gputop.probes.sources.host.pressure import PressureSource
from gputop.probes.sources.protocol import SourceAbsent
from gputop.probes.sources.watchlist import Watchlist

from fixtures.proc_tree import ProcTree

V2 = "30 23 0:26 {root} /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw\n"
HYBRID = (
    "31 23 0:31 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
    "30 23 0:26 / /sys/fs/cgroup/unified rw,nosuid - cgroup2 cgroup2 rw\n"
)
V1 = HYBRID.splitlines(keepends=True)[0]
SOME = "some avg10=1.00 avg60=0.00 avg300=0.00 total={some}\n"
FULL = "full avg10=0.00 avg60=0.00 avg300=0.00 total={full}\n"
VALUES = {
    "pressure_cpu_some_seconds",
    "pressure_memory_some_seconds",
    "pressure_io_some_seconds",
    "pressure_io_full_seconds",
}


@pytest.fixture
def tree(tmp_path: Path) -> ProcTree:
    return ProcTree(tmp_path)


def source(tree: ProcTree, *pids: int) -> PressureSource:
    watchlist = Watchlist()
    watchlist.set_gpu(0, pids)
    return PressureSource(watchlist, tree.root)


def read(tree: ProcTree, *pids: int) -> tuple[PressureReading, ...]:
    return source(tree, *pids).read()


def group(tree: ProcTree, path: str, cpu: int = 0, memory: int = 0, io: int = 0) -> None:
    """Microseconds in which some task waited; for I/O all of them did a third of that time."""
    tree.write(f"{path}/cpu.pressure", SOME.format(some=cpu) + FULL.format(full=0))
    tree.write(f"{path}/memory.pressure", SOME.format(some=memory) + FULL.format(full=0))
    tree.write(f"{path}/io.pressure", SOME.format(some=io) + FULL.format(full=io // 3))


def reasons(reading: PressureReading) -> set[str]:
    assert reading.missing.keys() == VALUES
    assert all(getattr(reading, name) is None for name in VALUES)
    return set(reading.missing.values())


def test_version_2(tree: ProcTree) -> None:
    tree.process(80, cgroup="0::/job/step\n")
    tree.process(81, cgroup="0::/job/step\n")
    tree.process(90, cgroup="0::/other\n")
    tree.write("proc/self/mountinfo", V2.format(root="/"))
    group(tree, "sys/fs/cgroup/job/step", cpu=2_500_000, memory=1_000_000, io=3_000_000)
    group(tree, "sys/fs/cgroup/other")
    found, other = read(tree, 80, 81, 90)
    assert (found.path, found.missing) == ("/job/step", {})
    assert (found.pressure_cpu_some_seconds, found.pressure_memory_some_seconds) == (2.5, 1.0)
    assert (found.pressure_io_some_seconds, found.pressure_io_full_seconds) == (3.0, 1.0)
    assert (other.path, other.pressure_cpu_some_seconds, other.missing) == ("/other", 0.0, {})


def test_in_a_container_the_group_is_found_below_its_mount(tree: ProcTree) -> None:
    tree.process(80, cgroup="0::/pod/box/inner\n")
    tree.write("proc/self/mountinfo", V2.format(root="/pod/box"))
    group(tree, "sys/fs/cgroup/inner", cpu=1_000_000)
    (found,) = read(tree, 80)
    assert (found.path, found.pressure_cpu_some_seconds) == ("/pod/box/inner", 1.0)


def test_outside_of_the_container_it_is_not_visible(tree: ProcTree) -> None:
    tree.process(80, cgroup="0::/elsewhere\n")
    tree.write("proc/self/mountinfo", V2.format(root="/pod/box"))
    (found,) = read(tree, 80)
    assert "outside of this container" in reasons(found).pop()


@pytest.mark.parametrize(
    ("mounts", "memberships"),
    [(V1, "4:memory:/job\n"), (HYBRID, "4:memory:/job\n0::/\n"), (HYBRID, "4:memory:/job\n")],
    ids=["version 1", "all in the root of version 2", "not in version 2"],
)
def test_version_1_has_none_and_says_so(tree: ProcTree, mounts: str, memberships: str) -> None:
    """The root of version 2 stands for the whole node: its pressure would be that of others too."""
    tree.process(80, cgroup=memberships)
    tree.write("proc/self/mountinfo", mounts)
    group(tree, "sys/fs/cgroup/unified", cpu=9_000_000)
    (found,) = read(tree, 80)
    assert found.path == "/job"
    assert reasons(found) == {"control groups of version 1 do not count it"}


def test_a_mixed_setup_with_the_job_in_both(tree: ProcTree) -> None:
    tree.process(80, cgroup="4:memory:/job\n0::/job\n")
    tree.write("proc/self/mountinfo", HYBRID)
    group(tree, "sys/fs/cgroup/unified/job", cpu=4_000_000)
    assert read(tree, 80)[0].pressure_cpu_some_seconds == 4.0


def test_a_kernel_that_does_not_count_it(tree: ProcTree) -> None:
    tree.process(80, cgroup="0::/job\n")
    tree.write("proc/self/mountinfo", V2.format(root="/"))
    tree.write("sys/fs/cgroup/job/cpu.stat", "usage_usec 9\n")
    (found,) = read(tree, 80)
    assert "psi=1" in reasons(found).pop()


def test_one_file_that_means_nothing_leaves_the_others(tree: ProcTree) -> None:
    tree.process(80, cgroup="0::/job\n")
    tree.write("proc/self/mountinfo", V2.format(root="/"))
    group(tree, "sys/fs/cgroup/job", memory=5_000_000)
    tree.write("sys/fs/cgroup/job/cpu.pressure", "some total=lots\n")
    (found,) = read(tree, 80)
    assert (found.pressure_cpu_some_seconds, found.pressure_memory_some_seconds) == (None, 5.0)
    assert found.missing.keys() == {"pressure_cpu_some_seconds"}


def test_it_follows_the_watchlist_and_gives_its_files_back(tree: ProcTree) -> None:
    tree.process(80, cgroup="0::/a\n")
    tree.process(81, cgroup="0::/b\n")
    tree.write("proc/self/mountinfo", V2.format(root="/"))
    group(tree, "sys/fs/cgroup/a", cpu=1_000_000)
    group(tree, "sys/fs/cgroup/b", cpu=2_000_000)
    watchlist = Watchlist()
    watchlist.attach(80)
    made = PressureSource(watchlist, tree.root)
    assert [each.path for each in made.read()] == ["/a"]
    watchlist.attach(81)
    assert [each.path for each in made.read()] == ["/a", "/b"]
    group(tree, "sys/fs/cgroup/a", cpu=7_000_000)
    assert made.read()[0].pressure_cpu_some_seconds == 7.0
    watchlist.detach(80)
    watchlist.detach(81)
    assert made.read() == ()
    made.close()


def test_no_control_groups(tree: ProcTree) -> None:
    tree.write("proc/self/mountinfo", "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n")
    with pytest.raises(SourceAbsent, match="no control groups are mounted"):
        read(tree, 80)
