"""The commands that look at a job without a screen, on real processes."""

from __future__ import annotations

import json
import subprocess
import sys
import uuid
from collections.abc import Iterator

import pytest

from gputop.probes.attach.process_search import pids_named
from gputop.probes.attribution.stack_phase import margin
from gputop.probes.model.frame import Frame
from gputop.probes.model.job_frames import JobFrame, RankFrame
from gputop.probes.model.rank_activity import ActivityFrame
from gputop.tui.reports.rank_lines import group_lines, rank_lines

NAME = f"gputop-test-sleeper-{uuid.uuid4().hex}"
"""Tests of this file may run beside each other, each with a sleeper of its own."""
SLEEPS = "print('ready', flush=True); import time; time.sleep(60)"


def gputop(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "gputop", *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.fixture
def sleeper() -> Iterator[int]:
    process = subprocess.Popen(
        [sys.executable, "-c", SLEEPS, NAME], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    yield process.pid
    process.kill()
    process.communicate()


def test_a_process_that_is_not_there() -> None:
    for command in ("diagnose", "stacks", "doctor"):
        ended = gputop(command, "4194305")
        assert (ended.returncode, ended.stdout) == (2, "")
        assert "there is no process 4194305" in ended.stderr


def test_wrong_usage() -> None:
    assert gputop("stacks", "1", "--name", "train").returncode == 64
    assert gputop("diagnose", "1", "--for", "soon").returncode == 64


def test_one_process_alone_is_a_job(sleeper: int) -> None:
    ended = gputop("stacks", str(sleeper))
    assert ended.returncode == 0, ended.stderr
    assert "<module> (<string>:1)" in ended.stdout
    assert "seen through: stacks" in ended.stdout


def test_a_diagnosis_as_json(sleeper: int) -> None:
    ended = gputop("diagnose", str(sleeper), "--for", "3s", "--format", "json")
    assert ended.returncode == 0, ended.stderr
    report = json.loads(ended.stdout)
    assert [rank["pid"] for rank in report["job"]["ranks"]] == [sleeper]
    assert not [each for each in report["findings"] if each["id"].startswith("RUN4")]


def test_no_python_says_so() -> None:
    other = subprocess.Popen(["sleep", "60"])
    ended = gputop("doctor", str(other.pid), "--format", "json")
    other.kill()
    other.wait()
    access_methods = {each["name"]: each for each in json.loads(ended.stdout)["access_methods"]}
    assert access_methods["stacks"]["reason"] == f"process {other.pid} (sleep) does not run Python"
    assert access_methods["threads and counters"]["open"]
    assert access_methods["probe"]["reason"].startswith("no probe in it")
    assert "stops it for about" in access_methods["exact stacks"]["cost"]


def test_a_job_by_its_name(sleeper: int) -> None:
    pattern = NAME.replace("sleeper", "sleep(er)")
    assert pids_named(pattern) == [sleeper]
    ended = gputop("stacks", "--name", pattern, "--format", "json")
    ranks = json.loads(ended.stdout)["job"]["ranks"]
    assert [rank["pid"] for rank in ranks] == [sleeper], ended.stderr


def test_a_name_that_nothing_has() -> None:
    ended = gputop("attach", "--name", "no such job as th[i]s")
    assert ended.returncode == 2
    assert "no training process fits" in ended.stderr
    assert "gputop attach lists the jobs" in ended.stderr


@pytest.mark.parametrize(
    ("dumps", "share", "reported"),
    [
        (1, 1.0, "1 of 1 stack"),
        (3, 1.0, "3 of 3 stacks"),
        (3, 2 / 3, "2 of 3 stacks"),
        (99, 1 / 3, "33 of 99 stacks"),
        (100, 0.5, "50 % ± 10 % of 100 stacks"),
    ],
)
def test_a_share_is_reported_of_enough_stacks_only(dumps: int, share: float, reported: str) -> None:
    rank = RankFrame(
        rank=0,
        pid=7,
        start_time_seconds=1.0,
        activity=ActivityFrame(state="R"),
        phase_dumps=dumps,
        phase_share=share,
        phase_margin=margin(share, dumps),
    )
    (line,) = rank_lines(JobFrame(id="job", name="train.py", ranks=(rank,)))
    assert line.endswith(f", {reported}")


@pytest.mark.parametrize("state", ["T", "t", "S"])
def test_a_stopped_rank_is_reported_to_be_stopped(state: str) -> None:
    rank = RankFrame(
        rank=0,
        pid=7,
        start_time_seconds=1.0,
        phase="backward",
        doing="runs the backward",
        phase_source="measured",
        activity=ActivityFrame(state=state),
    )
    job = JobFrame(id="job", name="train.py", ranks=(rank,))
    frame = Frame(time_seconds=1.0, monotonic_seconds=1.0, node="n", jobs=(job,))
    (line,), (group,) = rank_lines(job), group_lines(job, frame, stacks=False)
    assert ("STOPPED, state " in line) is (state != "S")
    assert (
        group
        == f"rank 0: {'' if state == 'S' else 'STOPPED in '}backward, runs the backward [probe]"
    )
