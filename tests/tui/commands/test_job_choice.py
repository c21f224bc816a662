"""`gputop attach` and `gputop stacks` without a pid, over real jobs."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest

from gputop.tui.drawing.glyphs import SELECTED

from support.terminal import Tmux

GPUTOP = [sys.executable, "-P", "-m", "gputop"]
TRAIN = "import os, time; os.write(1, b'ready\\n'); time.sleep(600)"


alone = pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("unshare") is None, reason="needs root and unshare"
)


@contextmanager
def job(folder: Path, script: str, rank: int = 0) -> Iterator[int]:
    """One rank of a job that nobody launched."""
    (folder / script).write_text(TRAIN)
    own = {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": "2"}
    process = subprocess.Popen(
        [sys.executable, script],
        cwd=folder,
        env={**os.environ, **own},
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield process.pid
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


class Shell(NamedTuple):
    """A shell in which somebody has started two jobs of one script."""

    pid: int
    jobs: list[int]
    script: str


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    script = f"sweep-{os.getpid()}.py"
    (tmp_path / script).write_text(TRAIN)
    start = f"RANK=0 LOCAL_RANK=0 WORLD_SIZE=1 {sys.executable} {script} & echo $!; "
    process = subprocess.Popen(
        ["sh", "-c", f"{start * 2} wait"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        assert process.stdout is not None
        lines = [process.stdout.readline().strip() for _ in range(4)]
        jobs = sorted(int(line) for line in lines if line != "ready")
        yield Shell(process.pid, jobs, script)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*GPUTOP, *words], capture_output=True, text=True, timeout=60, check=False
    )


@pytest.mark.parametrize("command", ["attach", "stacks"])
def test_a_pipe_gets_the_list_with_what_to_type(command: str, tmp_path: Path) -> None:
    with ExitStack() as both:
        pids = [both.enter_context(job(tmp_path, f"{name}.py")) for name in ("pretrain", "tune")]
        done = run(command)
        listed = run(command, "--format", "json")
    assert done.returncode == listed.returncode == 2
    lines = done.stdout.splitlines()
    for pid, name in zip(pids, ("pretrain.py", "tune.py"), strict=True):
        line = next(line for line in lines if line.startswith(f"gputop {command} {pid} "))
        assert name in line and str(tmp_path) in line
    assert "say which one" in done.stderr
    jobs = msgspec.json.decode(listed.stdout)["jobs"]
    assert {rank["pid"] for each in jobs for rank in each["ranks"]} >= set(pids)


@pytest.mark.parametrize(
    "words",
    [("attach",), ("attach", "--once"), ("stacks",), ("diagnose",), ()],
    ids=lambda words: " ".join(words) or "short",
)
def test_a_process_above_several_jobs_is_asked_about(words: tuple[str, ...], shell: Shell) -> None:
    done = run(*words, str(shell.pid))
    assert done.returncode == 2, done.stdout
    first, second = shell.jobs
    assert (
        f"2 jobs run below process {shell.pid}: say which one (pid {first}, {second})"
        in done.stderr
    )
    command = next(iter(words), "attach")
    lines = done.stdout.splitlines()
    assert [line.split()[:3] for line in lines] == [
        ["gputop", command, str(pid)] for pid in shell.jobs
    ]


def test_one_job_below_a_process_is_taken(shell: Shell) -> None:
    os.kill(shell.jobs[0], signal.SIGKILL)
    done = run("attach", str(shell.pid), "--format", "json")
    assert done.returncode == 0, done.stderr
    ranks = [rank for job in msgspec.json.decode(done.stdout)["jobs"] for rank in job["ranks"]]
    assert shell.jobs[1] in {rank["pid"] for rank in ranks}


@pytest.mark.parametrize("command", ["attach", "stacks"])
def test_a_name_that_several_have_is_asked_about(command: str, shell: Shell) -> None:
    done = run(command, "--name", shell.script)
    assert done.returncode == 2, done.stdout
    first, second = shell.jobs
    fit = f"2 jobs fit {shell.script!r}: say which one (pid {first}, {second})"
    assert fit in done.stderr
    assert len(done.stdout.splitlines()) == 2


def test_on_a_terminal_those_that_have_the_name_are_offered(shell: Shell, tmp_path: Path) -> None:
    with ExitStack() as both:
        other = both.enter_context(job(tmp_path, "tune.py"))
        terminal = both.enter_context(screen_of("attach", "--name", shell.script))
        offered = terminal.wait_for("2 jobs", 30)
        assert str(other) not in offered.split()
        pick(terminal, shell.jobs[1])
        terminal.wait_for(f"live pid {shell.jobs[1]}", 30)


def run_alone(script: str) -> subprocess.CompletedProcess[str]:
    """A shell's script where no other process of this machine is seen."""
    return subprocess.run(
        ["unshare", "--pid", "--fork", "--mount-proc", "sh", "-c", script],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@alone
def test_the_only_job_is_taken(tmp_path: Path) -> None:
    (tmp_path / "pretrain.py").write_text("import time; time.sleep(600)")
    python = f"cd {tmp_path}; RANK=0 LOCAL_RANK=0 WORLD_SIZE=2 {sys.executable} pretrain.py & "
    done = run_alone(f"{python} sleep 1; {' '.join(GPUTOP)} attach --format json")
    assert done.returncode == 0, done.stderr
    frame = msgspec.json.decode(done.stdout)
    ranks = [rank for job in frame["jobs"] for rank in job["ranks"]]
    # Those whose probe's page outlived them are reported for a day.
    (rank,) = [rank for rank in ranks if rank["exited_age_seconds"] is None]
    assert f"the only job here: pretrain.py, pid {rank['pid']}" in done.stderr


@alone
def test_without_a_job_it_says_what_else_to_do() -> None:
    done = run_alone(f"{' '.join(GPUTOP)} attach")
    assert done.returncode == 2
    assert "gputop attach PID watches any process" in done.stderr
    assert done.stdout == ""


def screen_of(*words: str) -> AbstractContextManager[Tmux]:
    """gputop on a terminal."""
    env = {**os.environ, "LANG": "C.UTF-8"}
    return closing(Tmux([*GPUTOP, *words], columns=132, lines=40, env=env))


def pick(terminal: Tmux, pid: int) -> None:
    """Choose the job of this process among those that are listed."""
    terminal.wait_for("Jobs of this node", 30)
    # Other jobs may run on this machine too, so it is sought.
    for _ in range(20):
        lines = [line.split() for line in terminal.screen().splitlines()]
        if [SELECTED, str(pid)] in [words[:2] for words in lines]:
            break
        terminal.type("j")
        time.sleep(0.5)
    terminal.type("Enter")


def test_on_a_terminal_one_is_chosen(tmp_path: Path) -> None:
    with ExitStack() as both:
        both.enter_context(job(tmp_path, "pretrain.py"))
        second = both.enter_context(job(tmp_path, "tune.py"))
        terminal = both.enter_context(screen_of("attach"))
        pick(terminal, second)
        terminal.wait_for(f"live pid {second}", 30)
        terminal.type("2")
        screen = terminal.wait_for("tune.py", 30)
        assert "pretrain.py" not in screen
        terminal.type("q")
        terminal.wait_for("exit code 0")


def test_another_one_takes_the_place_of_the_first(tmp_path: Path) -> None:
    with ExitStack() as both:
        first = both.enter_context(job(tmp_path, "pretrain.py"))
        second = both.enter_context(job(tmp_path, "tune.py"))
        terminal = both.enter_context(screen_of("attach", str(first)))
        terminal.wait_for(f"live pid {first}", 30)
        terminal.type("2")
        terminal.wait_for("pretrain.py", 30)
        terminal.type("a")
        pick(terminal, second)
        terminal.wait_for(f"live pid {second}", 30)
        for key in ("Escape", "2", "5"):
            terminal.type(key)
            time.sleep(2.0)  # a sample of before must not count as one of after
            screen = terminal.wait_for("tune.py", 30)
            assert "pretrain.py" not in screen, screen
            assert "+1 job" not in screen, screen
