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

import msgspec
import pytest

from gputop.tui.glyphs import SELECTED

from terminal import Tmux

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
    # Those whose probe's page outlived them are told for a day.
    (rank,) = [rank for rank in ranks if rank["ended_age_seconds"] is None]
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
