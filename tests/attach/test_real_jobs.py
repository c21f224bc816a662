"""Jobs that nobody prepared, each with one fault: it is named, with its rank, within ten seconds."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from real_jobs import diagnose, found, job
from torch_python import needs_torch

pytestmark = [needs_torch, pytest.mark.slow]

FAULTS = {
    "sleeping_data_set": "RUN406",
    "blocked_read": "HST125",
    "endless_loop": "RUN406",
    "dead_loader": "HST115",
    "mismatch": "RUN404",
    "checkpoint": "RUN419",
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_of_rank_1(fault: str, tmp_path: Path) -> None:
    with job(fault, tmp_path) as running:
        code, report = diagnose(running.launcher)
        expected = FAULTS[fault]
        assert found(report) == {expected: 1}
        assert code == (0 if expected == "RUN419" else 1)
        assert [running.state(rank) for rank in (0, 1)] != ["T", "T"]


def test_a_healthy_job_is_told_so(tmp_path: Path) -> None:
    with job("none", tmp_path) as running:
        code, report = diagnose(running.launcher)
    assert (code, found(report)) == (0, {})
    assert [rank["rank"] for rank in report["job"]["ranks"]] == [0, 1]


def test_a_job_that_compiles_is_no_stall(tmp_path: Path) -> None:
    with job("compile", tmp_path) as running:
        code, report = diagnose(running.launcher)
    assert (code, found(report)) == (0, {})
    # The first compilation imports the compiler.
    assert {rank["phase"] for rank in report["job"]["ranks"]} <= {"compile", "startup"}


def test_a_stopped_rank(tmp_path: Path) -> None:
    with job("none", tmp_path) as running:
        os.kill(running.ranks[1], signal.SIGSTOP)
        code, report = diagnose(running.launcher)
    assert (code, found(report)) == (1, {"RUN423": 1})


def test_a_killed_rank(tmp_path: Path) -> None:
    with job("none", tmp_path) as running:
        victim = running.ranks[1]
        threading.Timer(8.0, os.kill, (victim, signal.SIGKILL)).start()
        code, report = diagnose(running.launcher, seconds=15.0)
    assert (code, found(report)) == (1, {"RUN424": 1})


def test_the_odd_one_of_four(tmp_path: Path) -> None:
    with job("mismatch", tmp_path, ranks=4, FAULTY_RANK="2") as running:
        _, report = diagnose(running.ranks[0])
    assert found(report) == {"RUN404": 2}
    assert report["groups"][0]["ranks"] == [2]
    assert report["groups"][-1]["ranks"] == [0, 1, 3]


def test_stacks_as_text(tmp_path: Path) -> None:
    with job("sleeping_data_set", tmp_path) as running:
        command = [sys.executable, "-m", "gputop", "stacks", str(running.ranks[0])]
        began = time.monotonic()
        ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 0, ended.stderr
    assert "rank 1: data, loads data in the main process at Pictures.__getitem__" in ended.stdout
    assert "rank 0: backward" in ended.stdout
    assert time.monotonic() - began < 60
