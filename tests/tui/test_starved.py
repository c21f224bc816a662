"""On a node that is overloaded this monitor says so, or is right: it blames no driver and no job."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from nvml.simulated import SimulatedNvml
from support.ready_process import SLEEPS, python
from support.starving import crowded_core, on_core

GPUTOP = [sys.executable, "-P", "-m", "gputop"]
SENTENCE = "this monitor gets no CPU"
FALSE = (
    "hangs",
    "driver not answering",
    "does not answer",
    "has not answered",
    "leads to no training job",
    r"process \d+ has exited",
)


@pytest.fixture
def node() -> Iterator[SimulatedNvml]:
    with SimulatedNvml("h100x8") as simulated:
        yield simulated


def starved(
    node: SimulatedNvml, *words: str, spinners: int = 8
) -> subprocess.CompletedProcess[str]:
    """What gputop says on a core that it shares with so many who spin."""
    with crowded_core(spinners) as core:
        return subprocess.run(
            on_core(core, *GPUTOP, *words),
            env=node.env(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=150,
            check=False,
        )


def assert_true(done: subprocess.CompletedProcess[str]) -> None:
    assert_blames_nobody(done.stdout + done.stderr)


def assert_blames_nobody(said: str) -> None:
    assert "Traceback" not in said
    assert [false for false in FALSE if re.search(false, said)] == []


def test_one_frame_has_all_gpus_or_says_why_not(node: SimulatedNvml) -> None:
    done = starved(node, "--once", "--format", "json")
    assert_true(done)
    if done.returncode == 2:
        assert SENTENCE in done.stderr
        return
    frame = json.loads(done.stdout)
    rows = len(frame["gpus"])
    late = [source for source in frame["sources"] if source["name"].startswith("nvml gpu")]
    assert rows == 8 or any(SENTENCE in source["reason"] for source in late)


def test_a_demo_comes_however_late(node: SimulatedNvml) -> None:
    done = starved(node, "demo", "--once")
    assert_true(done)
    assert done.returncode == 0 or SENTENCE in done.stderr


def test_a_process_that_is_there_has_not_ended(node: SimulatedNvml) -> None:
    with python(SLEEPS) as pid:
        done = starved(node, "--once", str(pid))
    assert_true(done)
    assert done.returncode == 0 or SENTENCE in done.stderr


def test_a_collector_that_gets_no_core_at_all_is_not_said_to_hang(node: SimulatedNvml) -> None:
    """Idle priority beside the crowd, from the moment that it is there."""
    with crowded_core(4) as core:
        process = subprocess.Popen(
            on_core(core, *GPUTOP, "--once", "--timeout", "12"),
            env=node.env(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        child = collector_of(process)
        for thread in Path(f"/proc/{child.pid}/task").iterdir():
            os.sched_setscheduler(int(thread.name), os.SCHED_IDLE, os.sched_param(0))
        out, err = process.communicate(timeout=120)
    assert_blames_nobody(out + err)
    assert process.returncode == 0 or SENTENCE in err


def collector_of(process: subprocess.Popen[str]) -> psutil.Process:
    end = time.monotonic() + 60
    while time.monotonic() < end:
        with suppress(psutil.Error):
            for child in psutil.Process(process.pid).children():
                return child
        time.sleep(0.02)
    raise AssertionError("no collector came")


def test_a_driver_that_hangs_is_still_said_to_beside_the_crowd(node: SimulatedNvml) -> None:
    node.delay("nvmlInit_v2", "system", 300)
    done = starved(node, "--once", spinners=3)
    assert done.returncode == 2
    assert "the NVIDIA driver has not answered for" in done.stderr


def test_a_limit_of_ones_own_holds(node: SimulatedNvml) -> None:
    node.delay("nvmlInit_v2", "system", 300)
    began = time.monotonic()
    done = subprocess.run(
        [*GPUTOP, "--once", "--timeout", "2"],
        env=node.env(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2
    assert time.monotonic() - began < 15
    assert "no sample came within 2 s" in done.stderr or "has not answered" in done.stderr
