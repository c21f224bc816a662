"""What a job was started with does not leave by any way out, whoever asks and in whatever form."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.ready_process import SLEEPS, ready

SECRET = "Zq9xKw3vTn7Lm2pR8sYd"
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJnIn0.Zq9xKw3vTn7Lm2pR8sYd"
LINE = [
    "--db",
    f"postgres://me:{SECRET}@db/runs",
    "--jwt",
    JWT,
    "--hub-token",
    SECRET,
    "--lr",
    "7e-5",
]


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """A rank whose command line, environment and folder hold credentials."""
    folder = tmp_path_factory.mktemp("job") / f"hf_{SECRET}"
    folder.mkdir()
    (folder / "train.py").write_text(SLEEPS)
    environment = {
        "SLURM_JWT": JWT,
        "NCCL_CONF_TOKEN": SECRET,
        "CUDA_CACHE_PATH": f"/c?sig={SECRET}",
    }
    words = [f"{name}={value}" for name, value in (environment | {"RANK": "0"}).items()]
    with ready(["env", *words, sys.executable, "train.py", *LINE], folder) as pid:
        yield pid


def gputop(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-P", "-m", "gputop", *words],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize(
    "words",
    [
        ("attach", "--once", "--format", "json"),
        ("attach", "--once"),
        ("diagnose", "--for", "2", "--format", "json"),
        ("diagnose", "--for", "2"),
        ("stacks", "--format", "json"),
        ("stacks",),
        ("doctor", "--format", "json"),
    ],
    ids=" ".join,
)
def test_no_way_out_tells_them(job: int, words: tuple[str, ...]) -> None:
    done = gputop(words[0], str(job), *words[1:])
    assert "Traceback" not in done.stderr
    assert words[0] == "doctor" or str(job) in done.stdout
    assert SECRET not in done.stdout + done.stderr
    assert JWT not in done.stdout + done.stderr


def test_what_is_harmless_beside_them_is_told(job: int) -> None:
    done = gputop("attach", str(job), "--once", "--format", "json")
    processes = json.loads(done.stdout)["processes"]
    (command,) = (each["command"] for each in processes if each["pid"] == job)
    assert command[1] == "train.py"
    assert command[-2:] == ["--lr", "7e-5"]
    assert command[3] == "postgres://***:***@db/runs"
    assert Path(f"/proc/{job}/cmdline").read_bytes().count(os.fsencode(SECRET)) == 3
