"""A pid on the command line: not there, ended, somebody else's, in a container."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psutil
import pytest

from gputop.probes.attach.eligibility import caution, refusal

from fixtures.proc_tree import ProcTree
from nvml.simulated import SimulatedNvml
from support.command_runs import GPUTOP, run
from support.terminal import Pty, wait_until


def complaint(done: subprocess.CompletedProcess[str]) -> str:
    """The one line on standard error."""
    assert done.stdout == ""
    assert done.stderr.startswith("gputop: ")
    assert done.stderr.count("\n") == 1, done.stderr
    return done.stderr


@pytest.fixture
def node() -> Iterator[SimulatedNvml]:
    with SimulatedNvml("h100x8") as simulated:
        yield simulated


@pytest.mark.parametrize("words", [["4194304"], ["--once", "4194304"], ["attach", "4194304"]])
def test_a_pid_that_is_not_there(words: list[str]) -> None:
    done = run(*words)  # above the kernel's largest pid
    assert "no process 4194304" in complaint(done)
    assert done.returncode == 2


def test_a_thread_of_the_kernel_has_no_job() -> None:
    if not Path("/proc/2/comm").exists():
        pytest.skip("the kernel's threads are not to be seen in here")
    done = run("2")
    assert "process 2 (kthreadd) is a thread of the kernel" in complaint(done)
    assert done.returncode == 2


def test_a_process_that_has_ended_but_is_not_waited_for() -> None:
    with subprocess.Popen(["true"]) as ended:
        os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)
        done = run(str(ended.pid))
    assert f"process {ended.pid} (true) has exited" in complaint(done)
    assert done.returncode == 2


def test_a_process_that_ends_while_it_is_looked_at(node: SimulatedNvml) -> None:
    with (
        subprocess.Popen(["sleep", "60"]) as looked_at,
        subprocess.Popen(
            [*GPUTOP, str(looked_at.pid)],
            env=node.env(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as program,
    ):
        started = psutil.Process(program.pid)
        wait_until(lambda: bool(started.children()), 20, "it has begun to look")
        looked_at.kill()
        looked_at.wait()
        out, errors = program.communicate(timeout=30)
    assert (out, errors) == ("", f"gputop: process {looked_at.pid} has exited\n")
    assert program.returncode == 2


def test_the_screen_says_when_the_process_has_ended(node: SimulatedNvml) -> None:
    with (
        subprocess.Popen(["sleep", "60"]) as watched,
        closing(Pty([*GPUTOP, str(watched.pid)], columns=120, lines=40, env=node.env())) as program,
    ):
        program.wait_for("sleep 60", 20)
        watched.kill()
        watched.wait()
        program.wait_for(f"process {watched.pid} has exited", 10)
        program.wait_for(f" pid {watched.pid} has exited ", 10)  # in the first line, for good
        program.type("q")
        assert program.process.wait(10) == 0


def test_a_process_of_somebody_else_is_watched_with_a_word_of_caution(tmp_path: Path) -> None:
    tree = ProcTree(tmp_path)
    tree.process(7, uid=0)
    tree.process(8, uid=1000)
    assert "process 7 belongs to root: " in caution(7, tmp_path, viewer=1000)
    assert caution(8, tmp_path, viewer=1000) == caution(8, tmp_path, viewer=0) == ""
    assert refusal(7, tmp_path) == ""


def test_a_number_from_inside_a_container_leads_to_the_pid_here(tmp_path: Path) -> None:
    tree = ProcTree(tmp_path)
    tree.process(80, pids=(80, 7))
    tree.process(81, pids=(81, 8))
    said = "there is no process 7 here; in a container one has that number: gputop 80"
    assert refusal(7, tmp_path) == said
    assert refusal(9, tmp_path) == "there is no process 9"


def test_a_pid_without_a_driver_runs_on_the_other_sources() -> None:
    with SimulatedNvml("h100x8", {"fault.nvmlInit_v2.system": "DRIVER_NOT_LOADED"}) as node:
        done = run(str(os.getpid()), "--once", "--format", "json", env=node.env())
    assert done.returncode == 0
    frame = json.loads(done.stdout)
    assert os.getpid() in [process["pid"] for process in frame["processes"]]
    nvml = next(source for source in frame["sources"] if source["name"] == "nvml")
    assert nvml["status"] != "ok"
    assert nvml["reason"]
