"""GPUs by the device files that ranks have open, where the driver's lists do not name the ranks."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from gputop.probes.jobs.grouping import group_jobs
from gputop.probes.model.gpu_readings import GpuProcessReading, GpuReading
from gputop.probes.sources.processes.gpu_files import open_gpus
from gputop.probes.sources.processes.source import ProcessSource
from gputop.probes.sources.watchlist import Watchlist

from fixtures.proc_tree import ProcTree

ELSEWHERE = 4_194_303
"""A pid that the driver gives, and that nobody has here."""
COMPUTES = ("/dev/nvidiactl", "/dev/nvidia-uvm", "socket:[77]")


@pytest.fixture
def tree(tmp_path: Path) -> ProcTree:
    return ProcTree(tmp_path)


def files(tree: ProcTree, pid: int, *targets: str) -> None:
    for number, target in enumerate(targets):
        tree.link(f"proc/{pid}/fd/{number}", target)


def opened(tree: ProcTree, pid: int) -> tuple[int, ...] | None:
    return open_gpus(str(tree.root / "proc" / str(pid) / "fd"))


def test_only_who_computes_counts(tree: ProcTree) -> None:
    files(tree, 80, *COMPUTES, "/dev/nvidia3", "/dev/nvidia10", "/dev/nvidia3")
    files(tree, 81, "/dev/nvidiactl", "/dev/nvidia0", "/dev/nvidia1")
    files(tree, 82, *COMPUTES, "/dev/nvidia-modeset", "/dev/nvidia-caps/nvidia-cap1")
    assert opened(tree, 80) == (3, 10)
    assert opened(tree, 81) == ()  # asks NVML
    assert opened(tree, 82) == ()
    assert opened(tree, 83) is None


def gpu(index: int, minor: int, *pids: int) -> GpuReading:
    return GpuReading(
        monotonic_seconds=1.0,
        index=index,
        uuid=f"GPU-{index}",
        minor_number=minor,
        processes=tuple(GpuProcessReading(pid=pid) for pid in pids),
    )


def test_ranks_of_a_container_whose_pids_the_driver_gives_otherwise(tree: ProcTree) -> None:
    """Its list has pids of the host, which are nobody's here, or somebody else's."""
    tree.process(70, name="torchrun", command=["torchrun", "train.py"], children=[80, 81, 82])
    for number in range(3):
        names = {"RANK": str(number), "LOCAL_RANK": str(number), "WORLD_SIZE": "3"}
        tree.process(80 + number, parent=70, environment=names)
    files(tree, 80, *COMPUTES, "/dev/nvidia6")
    files(tree, 81, *COMPUTES, "/dev/nvidia5")
    files(tree, 82, "/dev/null")
    watchlist = Watchlist()
    watchlist.set_gpu(0, [4001])
    watchlist.set_gpu(1, [4002])
    watchlist.attach(70)
    readings = ProcessSource(watchlist, tree.root).read()
    (job,) = group_jobs(readings, [gpu(0, 5, 4001), gpu(1, 6, 4002)]).jobs
    assert [rank.gpu_index for rank in job.ranks] == [1, 0, None]
    assert [rank.gpu_assigned_by for rank in job.ranks] == ["open files", "open files", None]
    assert job.ranks[2].missing["gpu_index"].endswith("none open")


@pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("unshare") is None, reason="needs root and unshare"
)
def test_a_real_rank_with_devices_of_its_own() -> None:
    """As in a container: its /dev is another one, and its pid too."""
    devices = "/dev/nvidiactl /dev/nvidia-uvm /dev/nvidia0 /dev/nvidia1"
    code = (
        "import os, time; files = [os.open(path, os.O_RDONLY) for path in "
        "('/dev/nvidiactl', '/dev/nvidia-uvm', '/dev/nvidia0', '/dev/nvidia1')]; "
        "os.write(1, b'ready\\n'); time.sleep(60)"
    )
    script = f'mount -t tmpfs none /dev && touch {devices} && exec "{sys.executable}" -c "{code}"'
    names = {"RANK": "1", "LOCAL_RANK": "1", "WORLD_SIZE": "2", "CUDA_VISIBLE_DEVICES": "1,0"}
    process = subprocess.Popen(
        ["unshare", "--mount", "--pid", "--fork", "sh", "-c", script],
        env={**os.environ, **names},
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    watchlist = Watchlist()
    watchlist.set_gpu(0, [ELSEWHERE])
    watchlist.attach(process.pid)
    source = ProcessSource(watchlist)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        (job,) = group_jobs(source.read(), [gpu(0, 0, ELSEWHERE), gpu(1, 1)]).jobs
    finally:
        source.close()
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
    (rank,) = job.ranks
    assert (rank.rank, rank.gpu_index, rank.gpu_assigned_by) == (1, 0, "environment")


def test_files_of_listed_ranks_are_not_looked_at(tree: ProcTree) -> None:
    tree.process(80, environment={"RANK": "0", "WORLD_SIZE": "1"})
    files(tree, 80, *COMPUTES, "/dev/nvidia0")
    watchlist = Watchlist()
    watchlist.set_gpu(0, [80])
    (reading,) = ProcessSource(watchlist, tree.root).read()
    assert reading.gpu_minors is None
    assert "gpu_minors" not in reading.missing


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_files_of_another_user_are_denied_with_a_reason() -> None:
    process = subprocess.Popen(["sleep", "60"])
    pid = str(process.pid)
    script = (
        "import sys; from gputop.probes.sources.processes.gpu_files import GpuFiles; "
        "from gputop.probes.model.sample import ProcessReading; pid = int(sys.argv[1]); "
        "reading = ProcessReading(monotonic_seconds=1.0, pid=pid, start_time_seconds=1.0); "
        "(found,) = GpuFiles().added([reading], {pid: 1.0}, []); "
        "print(found.gpu_minors, found.missing['gpu_minors'])"
    )
    try:
        found = subprocess.run(
            ["setpriv", "--reuid=65534", "--clear-groups", sys.executable, "-c", script, pid],
            capture_output=True,
            text=True,
            check=False,
        )
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert found.stdout.startswith("None its open files are shown to"), found.stderr
