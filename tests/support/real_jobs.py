"""Training jobs of real torch, started as anybody would start them, and what gputop says of them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from support.torch_python import TORCH_PYTHON

TRAIN = Path(__file__).parents[1] / "attach/train.py"
STARTING_SECONDS = 120.0
SETTLING_SECONDS = 3.0


@dataclass
class RealJob:
    """A running job: its launcher and its ranks."""

    launcher: int
    ranks: list[int]

    def lives(self, rank: int) -> bool:
        """Whether its process is still there."""
        return Path(f"/proc/{self.ranks[rank]}").exists()

    def state(self, rank: int) -> str:
        stat = Path(f"/proc/{self.ranks[rank]}/stat").read_text()
        return stat[stat.rindex(")") + 2]


@contextmanager
def job(
    fault: str, folder: Path, *, ranks: int = 2, before: Sequence[str] = (), **environment: str
) -> Iterator[RealJob]:
    """A job under torchrun that has come to the step at which its fault shows."""
    os.mkfifo(folder / "fifo")
    folder.chmod(0o777)
    torchrun = [
        TORCH_PYTHON,
        "-m",
        "torch.distributed.run",
        f"--nproc-per-node={ranks}",
        "--standalone",
    ]
    log = (folder / "log").open("w")
    process = subprocess.Popen(
        [*before, *torchrun, TRAIN, fault, folder],
        env={**os.environ, "OMP_NUM_THREADS": "1", **environment},
        stdout=log,
        stderr=log,
        start_new_session=True,
    )
    try:
        deadline = time.monotonic() + STARTING_SECONDS
        while not (folder / "running").exists():
            assert process.poll() is None, (folder / "log").read_text()[-2000:]
            assert time.monotonic() < deadline, (folder / "log").read_text()[-2000:]
            time.sleep(0.2)
        time.sleep(SETTLING_SECONDS)
        yield RealJob(process.pid, _ranks(process.pid))
    finally:
        log.close()
        _end(process)


def diagnose(pid: int, *before: str, seconds: float = 10.0) -> tuple[int, dict[str, Any]]:
    """Exit code and report of ``gputop diagnose``."""
    command = [sys.executable, "-m", "gputop", "diagnose", str(pid)]
    ended = subprocess.run(
        [*before, *command, "--for", f"{seconds:g}", "--format", "json"],
        capture_output=True,
        text=True,
        timeout=seconds + 60,
        check=False,
    )
    assert ended.returncode in (0, 1), ended.stderr
    return ended.returncode, json.loads(ended.stdout)


def found(report: dict[str, Any]) -> dict[str, int | None]:
    """Active findings about progress: rule id → rank."""
    return {
        finding["id"]: finding["subject"].get("rank")
        for finding in report["findings"]
        if finding["state"] == "active" and finding["id"].startswith(("RUN4", "HST115", "HST125"))
    }


def _ranks(launcher: int) -> list[int]:
    children = Path(f"/proc/{launcher}/task/{launcher}/children").read_text().split()
    numbered: dict[int, int] = {}
    for pid in children:
        pairs = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        rank = next((pair[5:] for pair in pairs if pair.startswith(b"RANK=")), None)
        if rank is not None:
            numbered[int(rank)] = int(pid)
    if not numbered and children:
        return _ranks(int(children[0]))
    return [numbered[rank] for rank in sorted(numbered)]


def _end(process: subprocess.Popen[bytes]) -> None:
    # Each rank is a session of its own, and so is the launcher.
    for pid in [*_below(process.pid), process.pid]:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
    process.wait()


def _below(pid: int) -> list[int]:
    try:
        return [each.pid for each in reversed(psutil.Process(pid).children(recursive=True))]
    except psutil.NoSuchProcess:
        return []
