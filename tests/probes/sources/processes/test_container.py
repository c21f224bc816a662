"""Containers, pods and Slurm steps by the paths that runtimes leave."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gputop.probes.jobs.grouping import group_jobs
from gputop.probes.model.process_readings import ProcessReading
from gputop.probes.sources.processes.container import (
    Container,
    container_of_groups,
    container_of_mounts,
)
from gputop.probes.sources.processes.source import ProcessSource
from gputop.probes.sources.procfs.cgroup_paths import parse_memberships
from gputop.probes.sources.watchlist import Watchlist

from fixtures.proc_tree import ProcTree

ID = "0123456789abcdef" * 4
POD = "0a1b2c3d-1111-2222-3333-444455556666"


@pytest.mark.parametrize(
    ("path", "kind", "pod"),
    [
        (f"/system.slice/docker-{ID}.scope", "docker", None),
        (f"/docker/{ID}", "docker", None),
        (f"/user.slice/user-1000.slice/libpod-{ID}.scope/container", "podman", None),
        (
            f"/kubepods.slice/kubepods-burstable-pod{POD.replace('-', '_')}.slice/cri-containerd-{ID}.scope",
            "containerd",
            POD,
        ),
        (
            f"/kubepods.slice/kubepods-pod{POD.replace('-', '_')}.slice/crio-{ID}.scope",
            "CRI-O",
            POD,
        ),
        (f"/kubepods/besteffort/pod{POD}/{ID}", None, POD),
        (f"/system.slice/nerdctl-{ID}.scope", "containerd", None),
    ],
)
def test_control_groups(path: str, kind: str | None, pod: str | None) -> None:
    groups = parse_memberships(f"0::{path}\n".encode())
    assert container_of_groups(groups) == Container(kind, ID, pod)


@pytest.mark.parametrize("path", ["/", "/user.slice/user-1000.slice/session-3.scope", "/docker"])
def test_no_container(path: str) -> None:
    assert container_of_groups(parse_memberships(f"0::{path}\n".encode())) == Container()


APPTAINER = """\
812 611 0:62 / / ro,nosuid,nodev,relatime - overlay overlay rw,lowerdir=/var/lib/apptainer/mnt/session/\
overlay-lowerdir:/var/lib/apptainer/mnt/session/rootfs,upperdir=/u,workdir=/w
"""
SINGULARITY = """\
300 200 7:0 / / ro,nosuid,nodev,relatime - squashfs /dev/loop0 ro
301 300 8:1 /usr/lib/libcuda.so /.singularity.d/libs/libcuda.so ro - ext4 /dev/sda1 rw
"""
DOCKER = f"""\
500 400 0:50 / / rw,relatime - overlay overlay rw,lowerdir=/var/lib/docker/overlay2/l/A,upperdir=/d
501 500 8:1 /var/lib/docker/containers/{ID}/hosts /etc/hosts rw,relatime - ext4 /dev/sda1 rw
"""
KUBERNETES = f"""\
500 400 0:50 / / rw - overlay overlay rw,lowerdir=/var/lib/containerd/io.containerd.snapshotter.v1.x/1/fs
501 500 8:1 /var/lib/kubelet/pods/{POD}/etc-hosts /etc/hosts rw,relatime - ext4 /dev/sda1 rw
502 500 8:1 /v/io.containerd.grpc.v1.cri/sandboxes/{ID}/hostname /etc/hostname rw - ext4 /dev/sda1 rw
"""
HOST = """\
22 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw
90 22 0:50 / /var/lib/docker/overlay2/abc/merged rw - overlay overlay rw,lowerdir=/var/lib/docker/overlay2/l
"""


@pytest.mark.parametrize(
    ("mounts", "found"),
    [
        (APPTAINER, Container("apptainer")),
        (SINGULARITY, Container("apptainer")),
        (DOCKER, Container("docker", ID)),
        (KUBERNETES, Container("containerd", ID, POD)),
        (HOST, Container()),
        ("", Container()),
    ],
)
def test_mounts(mounts: str, found: Container) -> None:
    assert container_of_mounts(mounts.encode()) == found


@given(st.binary(max_size=300))
def test_no_bytes_make_it_raise(data: bytes) -> None:
    container_of_mounts(data)
    container_of_mounts(DOCKER.encode() + data)
    container_of_groups(parse_memberships(b"0::/" + data))


def test_a_pod_within_whose_group_is_only_a_slash(tmp_path: Path) -> None:
    """As seen from inside: the mounts tell what the control group does not."""
    tree = ProcTree(tmp_path)
    tree.process(80, cgroup="0::/\n", environment={"HOSTNAME": "llm-0", "RANK": "0"})
    tree.write("proc/80/mountinfo", KUBERNETES)
    tree.link("proc/80/ns/mnt", "mnt:[4026532000]")
    tree.link("proc/80/cwd", "/workspace")
    reading = only(tree, 80)
    assert (reading.container_kind, reading.container_id, reading.pod_uid) == (
        "containerd",
        ID,
        POD,
    )
    (job,) = group_jobs([reading], []).jobs
    assert (job.pod_uid, job.pod_name, job.working_directory) == (POD, "llm-0", "/workspace")
    assert (job.container_kind, job.user, job.command) == (
        "containerd",
        "alice",
        ("python", "train.py"),
    )
    assert job.start_time_seconds == reading.start_time_seconds


@pytest.mark.parametrize(
    ("group", "job", "step"),
    [
        ("0::/system.slice/slurmstepd.scope/job_731/step_0/user/task_3", "731", "0"),
        ("4:memory:/slurm/uid_1000/job_731/step_batch/task_0", "731", "batch"),
        ("4:memory:/slurm_node7/uid_1000/job_731", "731", None),
        ("0::/user.slice/job_731/step_0", None, None),
    ],
)
def test_slurm_step_by_control_group(
    group: str, job: str | None, step: str | None, tmp_path: Path
) -> None:
    tree = ProcTree(tmp_path)
    tree.process(80, cgroup=f"{group}\n", environment={"RANK": "0", "WORLD_SIZE": "1"})
    (found,) = group_jobs([only(tree, 80)], []).jobs
    assert (found.slurm_job_id, found.slurm_step_id) == (job, step)


def only(tree: ProcTree, pid: int) -> ProcessReading:
    watchlist = Watchlist()
    watchlist.attach(pid)
    (reading,) = ProcessSource(watchlist, tree.root).read()
    return reading


@pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("unshare") is None, reason="needs root and unshare"
)
def test_a_real_process_with_the_mounts_of_a_pod(tmp_path: Path) -> None:
    hosts = tmp_path / f"pods/{POD}/etc-hosts"
    hosts.parent.mkdir(parents=True)
    hosts.write_text("127.0.0.1 localhost\n")
    script = f"mount --bind {hosts} /etc/hosts && cd {tmp_path} && touch ready && exec sleep 60"
    process = subprocess.Popen(["unshare", "-m", "sh", "-c", script], start_new_session=True)
    watchlist = Watchlist()
    watchlist.attach(process.pid)
    source = ProcessSource(watchlist)
    try:
        deadline = time.monotonic() + 20
        while not (tmp_path / "ready").exists():
            assert time.monotonic() < deadline
            time.sleep(0.1)
        reading = next(each for each in source.read() if each.pid == process.pid)
        assert (reading.pod_uid, reading.working_directory) == (POD, str(tmp_path))
    finally:
        source.close()
        process.kill()
        process.wait()
