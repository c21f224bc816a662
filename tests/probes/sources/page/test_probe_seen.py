"""From the probe in a job, through the collector, to the frame that is drawn and printed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from gputop.probes.derive.frame import derive
from gputop.probes.model.frame import Frame, ProbeFrame
from gputop.probes.model.sample import Sample
from gputop.probes.wire.codec import Splitter, decode

from nvml.simulated import SimulatedNvml
from support.probe_job import job

GPUTOP = str(Path(sys.executable).with_name("gputop"))
TRAINS = """
for _ in range(812):
    gputop.step(samples=32)
with gputop.phase("backward"):
    say("in")
    time.sleep(120)
"""
STEPS_ON = """
say("in")
while True:
    with gputop.phase("data"):
        time.sleep(0.005)
    gputop.step()
"""
ASKS_OFTEN = """
import sys
from gputop.probes.attach.control_client import ask
pid = int(sys.argv[1])
reported = [ask(pid, {"command": name}) for _ in range(20) for name in ("status", "stacks")]
assert all(each["pid"] == pid for each in reported[::2]) and all(each["text"] for each in reported[1::2])
print(len(reported), "answers")
"""


@pytest.fixture
def node() -> Iterator[SimulatedNvml]:
    with SimulatedNvml("h100x8") as simulated:
        yield simulated


def test_json_of_one_frame_has_the_probe(node: SimulatedNvml) -> None:
    with job(TRAINS, RANK="0", WORLD_SIZE="1") as running:
        assert running.line() == "in"
        node.process(3, 1, running.pid, memory="30GiB", sm=40)
        printed = subprocess.run(
            [GPUTOP, "--once", "--format", "json"],
            env=node.env(),
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
    frame: dict[str, Any] = json.loads(printed.stdout)
    (probe,) = [each for each in frame["probes"] if each["pid"] == running.pid]
    assert (probe["phase"], probe["step"], probe["rank"]) == ("backward", 812, 0)
    assert [each["status"] for each in frame["sources"] if each["name"] == "inprocess"] == ["ok"]
    ranks = [rank for each in frame["jobs"] for rank in each["ranks"]]
    assert [rank["phase"] for rank in ranks if rank["pid"] == running.pid] == ["backward"]


def test_a_rank_that_is_killed_died_in_its_phase_and_step() -> None:
    with job(TRAINS) as running:
        assert running.line() == "in"
        with collecting(running.pid) as frames:
            alive = until(frames, running.pid, ended=False)
            os.kill(running.pid, signal.SIGKILL)
            killed = time.monotonic()
            dead = until(frames, running.pid, ended=True)
    assert (alive.phase, alive.step) == ("backward", 812)
    assert (dead.phase, dead.step) == ("backward", 812)
    assert dead.ended_monotonic_seconds == pytest.approx(killed, abs=2)
    assert dead.phase_monotonic_seconds == alive.phase_monotonic_seconds


def test_two_monitors_and_their_clients_see_the_same_and_leave_the_job_alone() -> None:
    with job(STEPS_ON) as running, collecting(running.pid) as one, collecting(running.pid) as other:
        assert running.line() == "in"
        asking = [
            subprocess.Popen(
                [sys.executable, "-c", ASKS_OFTEN, str(running.pid)], stdout=subprocess.PIPE
            )
            for _ in range(2)
        ]
        first = [until(frames, running.pid, ended=False) for frames in (one, other)]
        answers = [client.communicate(timeout=60)[0] for client in asking]
        assert answers == [b"40 answers\n"] * 2
        later = [newest(frames, running.pid, 5) for frames in (one, other)]
        for before, after in zip(first, later, strict=True):
            assert before.step is not None and after.step is not None
            assert after.step > before.step
            assert after.error is None
        (page,) = running.pages()
        os.kill(running.pid, signal.SIGKILL)
        dead = [until(frames, running.pid, ended=True) for frames in (one, other)]
        assert dead[0].step == dead[1].step
        assert {each.phase for each in dead} <= {"data", "other"}
        assert page.exists(), "neither of them has removed it"


def newest(frames: Iterator[Frame], pid: int, count: int) -> ProbeFrame:
    """The probe of a living process, so many frames later."""
    found = until(frames, pid, ended=False)
    for _ in range(count):
        found = until(frames, pid, ended=False)
    return found


@contextmanager
def collecting(pid: int) -> Iterator[Iterator[Frame]]:
    """The frames of a collector that watches a process."""
    command = [GPUTOP, "collect", "--interval=0.2", "--without=nvml", f"--pid={pid}"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as collector:
        try:
            yield frames_of(collector)
        finally:
            collector.kill()


def frames_of(collector: subprocess.Popen[bytes]) -> Iterator[Frame]:
    assert collector.stdout is not None
    splitter = Splitter()
    frame: Frame | None = None
    while data := os.read(collector.stdout.fileno(), 1 << 18):
        for message in map(decode, splitter.feed(data)):
            if isinstance(message, Sample):
                frame = derive(frame, message)
                yield frame


def until(frames: Iterator[Frame], pid: int, *, ended: bool) -> ProbeFrame:
    """The probe of a process in the first frame in which it lives, or has died."""
    for _, frame in zip(range(100), frames, strict=False):
        for probe in frame.probes:
            if probe.pid == pid and (probe.ended_monotonic_seconds is not None) == ended:
                return probe
    raise AssertionError(f"not within 100 frames: ended is {ended}")
