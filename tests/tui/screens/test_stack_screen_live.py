"""The stacks screen over real Python processes, in a real terminal."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from support.terminal import Tmux, wait_until

GPUTOP = [sys.executable, "-P", "-m", "gputop"]
ENV = {
    **{name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ},
    "LANG": "C.UTF-8",
    "TZ": "UTC",
}
TRAIN = """
import os, sys, threading, time

def fetch_batch():
    print("ready", flush=True)
    time.sleep(600)

def reduce_gradients():
    print("ready", flush=True)
    time.sleep(600)

def train():
    (fetch_batch if os.environ["RANK"] == "2" else reduce_gradients)()

threading.Thread(target=threading.Event().wait, name="heartbeat", daemon=True).start()
train()
"""
PATIENCE_SECONDS = 30.0


LAUNCH = """
import os, subprocess, sys

def start(rank):
    own = {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": "3"}
    return subprocess.Popen([sys.executable, "train.py"], env={**os.environ, **own})

for process in [start(rank) for rank in range(3)]:
    process.wait()
"""


@contextmanager
def job(folder: Path) -> Iterator[int]:
    """The launcher of three ranks, of which one is elsewhere than the others."""
    (folder / "train.py").write_text(TRAIN)
    (folder / "launch.py").write_text(LAUNCH)
    launcher = subprocess.Popen(
        [sys.executable, "launch.py"],
        cwd=folder,
        env={**ENV, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29511"},
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        assert launcher.stdout is not None
        for _ in range(3):
            assert launcher.stdout.readline() == "ready\n"
        yield launcher.pid
    finally:
        os.killpg(launcher.pid, signal.SIGKILL)
        launcher.communicate()


def test_the_odd_rank_is_found_with_its_stack_and_saved(tmp_path: Path) -> None:
    with job(tmp_path) as pid:
        command = ["sh", "-c", f"cd {tmp_path} && exec {' '.join([*GPUTOP, str(pid)])}"]
        with closing(Tmux(command, columns=132, lines=40, env=ENV)) as terminal:
            terminal.wait_for("3 ranks", PATIENCE_SECONDS)
            terminal.type("5")
            terminal.wait_for("2 groups", PATIENCE_SECONDS)
            lines = terminal.wait_for("3 samples", PATIENCE_SECONDS).splitlines()
            odd = next(at for at, line in enumerate(lines) if "fetch_batch (train.py:6)" in line)
            assert "rank 2" in lines[odd]
            assert "2 ranks 0-1" in lines[odd + 1] and "reduce_gradients" in lines[odd + 1]
            assert any("heartbeat" in line and "sleeping" in line for line in lines)
            terminal.type("w")
            wait_until(lambda: _saved(tmp_path) != "", PATIENCE_SECONDS, "a file")
            assert "rank 2: " in _saved(tmp_path)
            terminal.wait_for("host phases: ", PATIENCE_SECONDS)
            terminal.type("b")
            terminal.wait_for("to read its stack whole?", PATIENCE_SECONDS)
            terminal.type("y")
            exact = terminal.wait_for("Exact stack of pid", PATIENCE_SECONDS)
            assert "fetch_batch (train.py:6)" in exact and "is stopped" not in exact
            terminal.type("1")
            wait_until(lambda: "Stacks" not in terminal.screen(), PATIENCE_SECONDS, "the main one")
            terminal.type("q")
            terminal.wait_for("exit code 0")


def _saved(folder: Path) -> str:
    return "".join(path.read_text() for path in folder.glob("gputop-stacks-*.txt"))
