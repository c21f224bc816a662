"""What counts the steps goes off in a job that trains on: nothing is counted, and nobody stands still."""

from __future__ import annotations

import json
import subprocess
import sys
import time

import pytest

from gputop.probes.derive.frame import derive
from gputop.probes.model.frame import Frame
from gputop.probes.model.job_frames import RankFrame
from gputop.probes.model.missing_reasons import NOT_COUNTED
from gputop.probes.model.probe_readings import ProbeReading
from gputop.probes.model.process_readings import ProcessReading
from gputop.probes.model.sample import Sample
from gputop.rules.progress import is_overdue, not_counted, overdue_seconds, stuck_ranks

from support.probe_job import Job, job, reading_of
from support.terminal import wait_until
from support.torch_python import TORCH_PYTHON, needs_torch

pytestmark = needs_torch

TRAINS = """
import torch
torch.set_num_threads(1)
model = torch.nn.Linear(8, 8)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
batches = torch.utils.data.DataLoader(torch.randn(1 << 14, 8), batch_size=4)
hook = gputop.active().instruments[{name!r}]
def train(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for batch in batches:
            model(batch).sum().backward()
            optimizer.step()
            optimizer.zero_grad()
            time.sleep(0.02)
            if time.monotonic() > end: break
train(2)
hook.stop("off: for a test")
say("off")
train(6)
hook.start()
say("on")
train(60)
"""


def process(moment: float, pid: int, start: float) -> ProcessReading:
    return ProcessReading(
        pid=pid,
        start_time_seconds=start,
        monotonic_seconds=moment,
        parent_pid=1,
        environment={"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "1"},
        command=("python", "train.py"),
    )


def frames_of(readings: list[ProbeReading]) -> list[Frame]:
    frames: list[Frame] = []
    for number, probe in enumerate(readings):
        sample = Sample(
            time_seconds=0,
            monotonic_seconds=probe.monotonic_seconds,
            sequence=number,
            node="n",
            processes=(
                process(probe.monotonic_seconds, probe.pid, start=probe.start_time_seconds),
            ),
            probes=(probe,),
        )
        frames.append(derive(frames[-1] if frames else None, sample))
    return frames


def rank_of(frame: Frame) -> RankFrame:
    (made,) = frame.jobs
    (rank,) = made.ranks
    return rank


def training(name: str) -> str:
    return TRAINS.format(name=name)


def counted_on(running: Job) -> bool:
    before = reading_of(running.pid).step or 0
    time.sleep(0.5)
    after = reading_of(running.pid)
    return (after.step or 0) > before and after.steps_off is None


def test_a_job_whose_step_hook_is_off_is_not_called_stalled() -> None:
    with job(training("optimizer"), python=TORCH_PYTHON) as running:
        assert running.line() == "off"
        before = reading_of(running.pid)
        assert (before.step or 0) > 10
        time.sleep(4)
        after = reading_of(running.pid)
        assert after.step == before.step
        assert after.steps_off == "optimizer: off: for a test"
        assert after.phase in ("data", "forward", "backward", "other"), "the others tell on"
        first, last = frames_of([before, after])[0], frames_of([before, after])[1]
        rank = rank_of(last)
        why = "not counted: optimizer: off: for a test"
        assert (rank.step, rank.step_age_seconds, rank.step_seconds) == (None, None, None)
        assert rank.missing["step_age_seconds"] == rank.missing["step"] == why
        assert not_counted(rank) == why
        assert not is_overdue(rank)
        assert overdue_seconds(last.jobs[0]) is None
        assert stuck_ranks(last, lambda _rank: 0.02) == []
        assert rank_of(first).missing["step"].startswith(NOT_COUNTED)

        assert running.line() == "on"
        wait_until(lambda: counted_on(running), 10, "steps are counted again")
        again = reading_of(running.pid)
        assert all(step.seconds < 2 for step in again.steps), "none is as long as the time between"
        rank = rank_of(frames_of([after, again])[-1])
        assert not_counted(rank) is None
        assert rank.step == again.step
        assert rank.step_age_seconds is not None
        assert "step_age_seconds" not in rank.missing


@pytest.mark.parametrize("name", ["forward", "backward", "loader"])
def test_what_does_not_count_them_alone_may_go_and_come(name: str) -> None:
    with job(training(name), python=TORCH_PYTHON) as running:
        assert running.line() == "off"
        wait_until(lambda: counted_on(running), 5, "the others count on")
        phase = {"loader": "data"}.get(name, name)
        assert running.line() == "on"
        wait_until(lambda: counted_on(running), 5, "and go on")
        began = reading_of(running.pid).phase_seconds.get(phase, 0.0)
        wait_until(
            lambda: reading_of(running.pid).phase_seconds.get(phase, 0.0) > began,
            10,
            "its phase is told again",
        )
        assert reading_of(running.pid).instruments[name] == "on"


def test_the_command_line_says_not_counted() -> None:
    with job(training("optimizer"), python=TORCH_PYTHON, RANK="0", WORLD_SIZE="1") as running:
        assert running.line() == "off"
        command = [sys.executable, "-m", "gputop", "diagnose", str(running.pid), "--for", "3s"]
        words = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert "Steps of r0 are not counted: optimizer: off: for a test" in words.stdout
        assert "stall" not in words.stdout
    with job(training("optimizer"), python=TORCH_PYTHON, RANK="0", WORLD_SIZE="1") as running:
        assert running.line() == "off"
        done = subprocess.run(
            [*command[:4], str(running.pid), *command[5:], "--format", "json"],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        (rank,) = json.loads(done.stdout)["job"]["ranks"]
        assert rank["step"] is None
        assert rank["missing"]["step"] == "not counted: optimizer: off: for a test"
