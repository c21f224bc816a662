"""`gputop stacks` with the pid of a worker: the ranks, and where that worker is."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

JOB = """
import os, signal, time

def load_for_ever():
    while True: time.sleep(0.05)

def wait_for_the_loader():
    while True: time.sleep(0.05)

worker = os.fork()
if worker == 0:
    load_for_ever()
print(worker, flush=True)
wait_for_the_loader()
"""


@pytest.fixture
def job() -> Iterator[tuple[int, int]]:
    """Pids of a rank and of its worker."""
    rank = subprocess.Popen(
        [sys.executable, "-c", JOB], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    assert rank.stdout is not None
    try:
        yield rank.pid, int(rank.stdout.readline())
    finally:
        os.killpg(rank.pid, signal.SIGKILL)
        rank.communicate()


def stacks(pid: int, *words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-P", "-m", "gputop", "stacks", str(pid), *words],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_of_a_worker_its_own_stack_is_reported_beside_those_of_the_ranks(
    job: tuple[int, int],
) -> None:
    rank, worker = job
    shown = stacks(worker)
    of_ranks, colon, of_worker = shown.partition(f"\nworker {worker} of rank 0:\n")
    assert colon
    assert "wait_for_the_loader" in of_ranks
    assert f"pid {rank}" in of_ranks
    assert "load_for_ever" in of_worker.splitlines()[0]
    as_json = json.loads(stacks(worker, "--format", "json"))["worker"]
    assert (as_json["pid"], as_json["rank"], as_json["reason"]) == (worker, 0, "")
    assert as_json["stack"][0]["name"] == "load_for_ever"


def test_of_a_rank_no_worker_is_reported(job: tuple[int, int]) -> None:
    rank, _ = job
    assert "worker" not in stacks(rank)
    assert json.loads(stacks(rank, "--format", "json"))["worker"] is None
