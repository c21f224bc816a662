"""The same faults where ptrace is denied: threads, wait channels and counters must do.

Of the ten things that a job can be, nine are told rightly; a mismatch of collectives is seen, but
nobody can be named for it.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from real_jobs import diagnose, found, job
from torch_python import needs_torch

pytestmark = [needs_torch, pytest.mark.slow]

DENIED = (sys.executable, str(Path(__file__).parent.parent / "without_ptrace.py"))
FAULTS: dict[str, dict[str, int | None]] = {
    "none": {},
    "sleeping_data_set": {"RUN406": 1},
    "blocked_read": {"HST125": 1},
    "endless_loop": {"RUN406": 1},
    "dead_loader": {"HST115": 1},
    "checkpoint": {"RUN419": 1},
    "compile": {},
    "mismatch": {"RUN405": None},
}


def check_origins(report: dict[str, Any]) -> None:
    """Nothing claims to come from stacks, and the reason why is told."""
    for rank in report["job"]["ranks"]:
        assert rank["phase_source"] == "inferred"
        assert "seccomp" in rank["missing"]["stack"]


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_of_rank_1(fault: str, tmp_path: Path) -> None:
    with job(fault, tmp_path) as running:
        _, report = diagnose(running.launcher, *DENIED)
    assert found(report) == FAULTS[fault]
    check_origins(report)


def test_a_stopped_rank(tmp_path: Path) -> None:
    with job("none", tmp_path) as running:
        os.kill(running.ranks[1], signal.SIGSTOP)
        _, report = diagnose(running.launcher, *DENIED)
    assert found(report) == {"RUN423": 1}


def test_a_killed_rank(tmp_path: Path) -> None:
    with job("none", tmp_path) as running:
        threading.Timer(8.0, os.kill, (running.ranks[1], signal.SIGKILL)).start()
        _, report = diagnose(running.launcher, *DENIED, seconds=15.0)
    assert found(report) == {"RUN424": 1}
