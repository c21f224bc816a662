"""The jobs of a node, found without any pid and without a driver."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil

from gputop.probes.attach.job_scan import jobs_here

from fixtures.proc_tree import ProcTree

RANKS = """
import os, subprocess, sys
for rank in "01":
    names = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": "2", "MASTER_ADDR": "here"}
    names["MASTER_PORT"] = "29577"
    subprocess.Popen([sys.executable, "-c", sys.argv[1]], env={**os.environ, **names})
input()
"""
TRAINS = "import os; os.fork(); os.write(1, b'ready\\n'); import time; time.sleep(60)"


def names(rank: int, size: int = 2) -> dict[str, str]:
    return {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(size)}


def test_launchers_ranks_and_whoever_has_a_gpu_open(tmp_path: Path) -> None:
    tree = ProcTree(tmp_path)
    tree.write("dev/nvidiactl", "")
    tree.process(1, parent=0, name="systemd", command=["/sbin/init"])
    tree.process(50, name="kworker", flags=0x00200000, command=[])
    tree.process(60, name="bash", command=["-bash"], environment=names(0))
    tree.process(70, parent=60, name="torchrun", command=["torchrun", "a.py"], children=[71, 72])
    for rank in range(2):
        tree.process(71 + rank, parent=70, environment=names(rank))
        tree.process(75 + rank, parent=71 + rank, environment=names(rank), name="pt_data_worker")
    tree.process(80, parent=60, start=9000, command=["python", "finetune.py"])
    for number, target in enumerate(("/dev/nvidia-uvm", "/dev/nvidia0")):
        tree.link(f"proc/80/fd/{number}", target)
    tree.process(81, parent=60, start=9100, command=["python", "notebook.py"])
    tree.process(82, parent=60, start=9200, command=["vim"], environment=names(0))
    found = [(job.name, job.launcher_pid, len(job.ranks)) for job in jobs_here(tmp_path)]
    assert found == [("train.py", 70, 2), ("finetune.py", None, 1)]


def test_a_node_without_jobs(tmp_path: Path) -> None:
    ProcTree(tmp_path).process(1, parent=0, name="systemd", command=["/sbin/init"])
    assert jobs_here(tmp_path) == ()


def test_a_real_job_of_two_ranks_with_a_worker_each() -> None:
    launcher = subprocess.Popen(
        [sys.executable, "-c", RANKS, TRAINS],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
        text=True,
    )
    try:
        assert launcher.stdout is not None
        for _ in range(4):
            assert launcher.stdout.readline() == "ready\n"
        began = time.monotonic()
        (job,) = [
            job for job in jobs_here() if psutil.Process(job.ranks[0].pid).ppid() == launcher.pid
        ]
        assert time.monotonic() - began < 5
        assert [rank.rank for rank in job.ranks] == [0, 1]
        assert job.world_size == 2
        assert job.working_directory == str(Path.cwd())
        assert [len(rank.workers) for rank in job.ranks] == [1, 1]
    finally:
        os.killpg(launcher.pid, signal.SIGKILL)
        launcher.communicate()
