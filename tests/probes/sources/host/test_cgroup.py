"""Control groups: limits, counters, and the names of containers."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gputop.probes.model.host_readings import CgroupReading
from gputop.probes.sources.host import cgroup_files as files
from gputop.probes.sources.host.cgroup import CgroupSource
from gputop.probes.sources.procfs import cgroup_paths as paths
from gputop.probes.sources.protocol import SourceAbsent
from gputop.probes.sources.watchlist import Watchlist

from fixtures.proc_tree import ProcTree

ID = "0123456789abcdef" * 4
V2_MOUNT = "30 23 0:26 {root} /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw\n"
V1_MOUNT = "3{n} 23 0:3{n} {root} /sys/fs/cgroup/{name} rw - cgroup cgroup rw,{name}\n"
STAT = "usage_usec 9\nnr_periods {periods}\nnr_throttled {count}\nthrottled_usec {microseconds}\n"
NO_LIMIT = "9223372036854771712\n"


@pytest.fixture
def tree(tmp_path: Path) -> ProcTree:
    return ProcTree(tmp_path)


def read(tree: ProcTree, *pids: int) -> tuple[CgroupReading, ...]:
    watchlist = Watchlist()
    watchlist.set_gpu(0, pids)
    return CgroupSource(watchlist, tree.root).read()


def group(tree: ProcTree, path: str, **contents: str) -> None:
    """One group of version 2; in names, two underscores stand for a dot."""
    for name, content in {"cgroup__type": "domain\n", **contents}.items():
        tree.write(f"sys/fs/cgroup{path}/{name.replace('__', '.')}", content)


def test_version_2(tree: ProcTree) -> None:
    tree.process(80, cgroup="0::/job/step\n")
    tree.process(81, cgroup="0::/job/step\n")
    tree.write("proc/self/mountinfo", V2_MOUNT.format(root="/"))
    group(
        tree,
        "/job/step",
        cpu__max="150000 100000\n",
        cpu__stat=STAT.format(periods=100, count=7, microseconds=2_500_000),
        memory__max="4096\n",
        memory__current="1024\n",
        memory__stat="anon 5\ninactive_file 512\n",
        memory__events="low 0\noom 3\noom_kill 2\n",
    )
    (found,) = read(tree, 80, 81)
    assert (found.path, found.version, found.cpu_quota_cores) == ("/job/step", 2, 1.5)
    assert (found.cpu_periods, found.cpu_throttled_periods, found.cpu_throttled_seconds) == (
        100,
        7,
        2.5,
    )
    assert (found.memory_used_bytes, found.memory_limit_bytes, found.oom_kills) == (1024, 4096, 2)
    assert found.memory_inactive_file_bytes == 512
    assert found.missing == {}


def test_the_tightest_limit_of_all_levels_counts_and_is_read_where_it_is_set(
    tree: ProcTree,
) -> None:
    tree.process(80, cgroup="0::/pod/box\n")
    tree.write("proc/self/mountinfo", V2_MOUNT.format(root="/"))
    quiet = STAT.format(periods=0, count=0, microseconds=0)
    group(
        tree,
        "/pod",
        cpu__max="50000 100000\n",
        cpu__stat=STAT.format(periods=10, count=9, microseconds=1_000_000),
        memory__max="2000\n",
        memory__current="1900\n",
    )
    group(
        tree,
        "/pod/box",
        cpu__max="max 100000\n",
        cpu__stat=quiet,
        memory__max="8000\n",
        memory__current="100\n",
        memory__events="oom_kill 1\n",
    )
    (found,) = read(tree, 80)
    assert (found.cpu_quota_cores, found.cpu_throttled_periods) == (0.5, 9)
    assert (found.memory_limit_bytes, found.memory_used_bytes, found.oom_kills) == (2000, 1900, 1)


def test_no_limit_has_no_reason(tree: ProcTree) -> None:
    tree.process(80, cgroup="0::/job\n")
    tree.write("proc/self/mountinfo", V2_MOUNT.format(root="/"))
    group(tree, "/job", cpu__max="max 100000\n", memory__max="max\n", memory__current="5\n")
    (found,) = read(tree, 80)
    assert found.cpu_quota_cores is found.memory_limit_bytes is None
    assert not {"cpu_quota_cores", "memory_limit_bytes"} & set(found.missing)
    assert "quota" in found.missing["cpu_periods"]


def test_a_controller_that_is_off_is_a_reason(tree: ProcTree) -> None:
    tree.process(80, cgroup="0::/job\n")
    tree.write("proc/self/mountinfo", V2_MOUNT.format(root="/"))
    group(tree, "/job", cpu__stat="usage_usec 9\n")
    (found,) = read(tree, 80)
    for name in ("cpu_quota_cores", "cpu_periods", "cpu_throttled_seconds"):
        assert found.missing[name] == "the cpu controller is not enabled for this group"
    for name in ("memory_limit_bytes", "memory_used_bytes", "oom_kills"):
        assert found.missing[name] == "the memory controller is not enabled for this group"


def test_the_root_of_all_groups_is_not_limited(tree: ProcTree) -> None:
    tree.process(80, cgroup="0::/\n")
    tree.write("proc/self/mountinfo", V2_MOUNT.format(root="/"))
    tree.write("sys/fs/cgroup/cpu.stat", "usage_usec 9\n")
    (found,) = read(tree, 80)
    assert not {"cpu_quota_cores", "memory_limit_bytes"} & set(found.missing)
    assert "cpu_periods" in found.missing


def test_version_1(tree: ProcTree) -> None:
    tree.process(80, cgroup=f"5:cpu,cpuacct:/docker/{ID}\n4:memory:/docker/{ID}\n0::/\n")
    mounts = V1_MOUNT.format(n=1, root="/", name="cpu,cpuacct")
    tree.write("proc/self/mountinfo", mounts + V1_MOUNT.format(n=2, root="/", name="memory"))
    cpu, memory = f"sys/fs/cgroup/cpu,cpuacct/docker/{ID}", f"sys/fs/cgroup/memory/docker/{ID}"
    tree.write(f"{cpu}/cpu.cfs_quota_us", "200000\n")
    tree.write(f"{cpu}/cpu.cfs_period_us", "100000\n")
    tree.write(f"{cpu}/cpu.stat", "nr_periods 8\nnr_throttled 4\nthrottled_time 3000000000\n")
    tree.write(f"{memory}/memory.limit_in_bytes", NO_LIMIT)
    tree.write(f"{memory}/memory.usage_in_bytes", "77\n")
    tree.write(f"{memory}/memory.stat", "inactive_file 1\ntotal_inactive_file 6\n")
    tree.write(f"{memory}/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n")
    (found,) = read(tree, 80)
    assert (found.path, found.version, found.cpu_quota_cores) == (f"/docker/{ID}", 1, 2.0)
    assert (found.cpu_periods, found.cpu_throttled_periods, found.cpu_throttled_seconds) == (
        8,
        4,
        3.0,
    )
    assert (found.memory_used_bytes, found.memory_inactive_file_bytes, found.oom_kills) == (
        77,
        6,
        1,
    )
    assert found.memory_limit_bytes is None
    assert found.missing == {}


def test_hybrid_with_the_memory_controller_in_version_2(tree: ProcTree) -> None:
    tree.process(80, cgroup="5:cpu:/job\n0::/job\n")
    mounts = V1_MOUNT.format(n=1, root="/", name="cpu")
    mounts += V2_MOUNT.format(root="/").replace("/sys/fs/cgroup", "/sys/fs/cgroup/unified")
    tree.write("proc/self/mountinfo", mounts)
    tree.write("sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "-1\n")
    tree.write("sys/fs/cgroup/cpu/job/cpu.cfs_period_us", "100000\n")
    tree.write("sys/fs/cgroup/unified/job/memory.max", "50\n")
    (found,) = read(tree, 80)
    assert (found.cpu_quota_cores, found.memory_limit_bytes, found.version) == (None, 50, 1)
    assert "cpu_quota_cores" not in found.missing


@pytest.mark.parametrize(
    ("path", "root"), [("/", "/"), (f"/docker/{ID}", f"/docker/{ID}"), ("/", "/../..")]
)
def test_inside_a_container_the_mount_shows_its_own_group(
    tree: ProcTree, path: str, root: str
) -> None:
    tree.process(80, cgroup=f"0::{path}\n")
    tree.write("proc/self/mountinfo", V2_MOUNT.format(root=root))
    group(tree, "", cpu__max="300000 100000\n", memory__max="9\n")
    (found,) = read(tree, 80)
    assert (found.cpu_quota_cores, found.memory_limit_bytes) == (3.0, 9)


@pytest.mark.parametrize("path", ["/../other", "/elsewhere", "/job (deleted)"])
def test_a_group_outside_of_what_is_visible(tree: ProcTree, path: str) -> None:
    tree.process(80, cgroup=f"0::{path}\n")
    tree.write("proc/self/mountinfo", V2_MOUNT.format(root="/docker/x"))
    group(tree, "", cpu__max="300000 100000\n")
    (found,) = read(tree, 80)
    assert found.cpu_quota_cores is None
    assert "outside" in found.missing["cpu_quota_cores"]


def test_process_gone_and_none_mounted(tree: ProcTree) -> None:
    tree.write("proc/self/mountinfo", V2_MOUNT.format(root="/"))
    assert read(tree, 80) == ()
    tree.write("proc/self/mountinfo", "")
    with pytest.raises(SourceAbsent):
        read(tree, 80)


def test_own_group() -> None:
    watchlist = Watchlist()
    watchlist.attach(os.getpid())
    source = CgroupSource(watchlist)
    (found,) = source.read()
    memberships = paths.parse_memberships(Path("/proc/self/cgroup").read_bytes())
    assert found.path == paths.single_path(memberships)
    assert found.memory_used_bytes is not None or "memory_used_bytes" in found.missing
    source.close()


@pytest.mark.parametrize(
    ("path", "found"),
    [
        (f"/docker/{ID}", ID),
        (f"/system.slice/docker-{ID}.scope", ID),
        (f"/system.slice/docker-{ID}.scope/init", ID),
        (
            f"/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-{ID}.scope/container",
            ID,
        ),
        (f"/machine.slice/libpod-{ID}.scope", ID),
        (f"/machine.slice/libpod-conmon-{ID}.scope", None),
        (f"/kubepods/burstable/pod1234-5678/{ID}", ID),
        (f"/kubepods.slice/kubepods-pod1.slice/cri-containerd-{ID}.scope", ID),
        (f"/kubepods.slice/kubepods-besteffort.slice/crio-{ID}.scope", ID),
        (f"/system.slice/containerd.service/kubepods-pod1.slice:cri-containerd:{ID}", ID),
        (f"/ecs/task/{ID[:32]}-1234567890", f"{ID[:32]}-1234567890"),
        (f"/docker/{ID}/docker/{ID[::-1]}", ID[::-1]),
        ("/slurm/uid_1000/job_7/step_0", None),
        ("/user.slice/user-1000.slice/session-3.scope", None),
        ("/", None),
    ],
)
def test_container_id(path: str, found: str | None) -> None:
    assert paths.container_id({"memory": "/", "": path}) == found


def test_single_path_prefers_one_that_says_something() -> None:
    assert paths.single_path({"memory": "/", "cpu": "/job", "": "/"}) == "/job"
    assert paths.single_path({"memory": "/", "": "/"}) == "/"
    assert paths.single_path({}) is None


@given(st.binary(max_size=200))
def test_no_bytes_make_a_parser_raise(data: bytes) -> None:
    for line in (data, b"0::/" + data, b"4:cpu,memory:/" + data):
        memberships = paths.parse_memberships(line)
        paths.container_id(memberships)
        mounts = paths.parse_mounts(b"1 1 0:1 /" + data + b" /sys rw - cgroup2 none rw\n" + data)
        mounts.folder_of(memberships, paths.UNIFIED)
        paths.single_path(memberships)
    files.parse_cpu_max(data)
    files.parse_memory_limit(data)
