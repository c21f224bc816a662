"""A py-spy that is not there, or is no py-spy: what is said instead of stacks, and soon."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gputop.probes.sources.stacks.py_spy import run_py_spy

from support.terminal import wait_until

SPINS = "import time\nwhile True: time.sleep(0.01)"


def environment_without_py_spy(folder: Path) -> Path:
    """The environment of these tests again, with nothing beside its Python; returns that Python."""
    settings = Path(sys.prefix) / "pyvenv.cfg"
    if not settings.exists():
        pytest.skip("these tests do not run in a virtual environment")
    shutil.copy(settings, folder)
    for name in ("lib", "lib64"):
        (folder / name).symlink_to(Path(sys.prefix) / "lib")
    python = folder / "bin/python"
    python.parent.mkdir()
    python.symlink_to(os.path.realpath(sys.executable))
    return python


def stacks(python: Path, *words: str) -> tuple[subprocess.CompletedProcess[str], float]:
    """What ``gputop stacks`` says of a Python program, and how long that takes."""
    target = subprocess.Popen([sys.executable, "-c", SPINS])
    began = time.monotonic()
    try:
        done = subprocess.run(
            [python, "-P", "-m", "gputop", "stacks", str(target.pid), *words],
            env={**os.environ, "PATH": "/nowhere"},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    finally:
        target.kill()
        target.wait()
    assert done.returncode == 2, (done.stdout, done.stderr)
    assert "Traceback" not in done.stdout + done.stderr
    return done, time.monotonic() - began


def test_one_that_is_missing_is_said_at_once_with_what_helps(tmp_path: Path) -> None:
    python = environment_without_py_spy(tmp_path)
    done, seconds = stacks(python)
    assert "no stack: the py-spy binary is missing: pip install" in done.stderr
    assert "rank 0" in done.stdout
    assert seconds < 11  # the patience with dumps that might yet succeed is 12 s
    as_json, _ = stacks(python, "--format", "json")
    (rank,) = json.loads(as_json.stdout)["job"]["ranks"]
    assert rank["missing"]["stack"].startswith("the py-spy binary is missing")


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("/bin/head -c 3000 /dev/urandom", "prints no stacks: is it py-spy?"),
        ("echo '{\"threads\": 5}'", "prints no stacks: is it py-spy?"),
        ("echo '[]'", "py-spy found no stack in it"),
        ("kill -SEGV $$", "py-spy failed: signal 11"),
        ("exit 3", "py-spy failed: exit code 3, and not a word"),
        ("printf '\\033[31m\\000no\\n way' >&2; exit 1", "py-spy failed: [31mno way"),
        ("/bin/sleep 60", "py-spy gave no answer in 4 s"),
    ],
)
def test_one_that_does_not_do_its_work_is_named(script: str, why: str, tmp_path: Path) -> None:
    python = environment_without_py_spy(tmp_path)
    binary = python.with_name("py-spy")
    binary.write_text(f"#!/bin/sh\n{script}\n")
    binary.chmod(0o755)
    done, _ = stacks(python)
    assert f"{why}\n" in done.stderr


def test_one_that_hangs_leaves_none_of_its_own_behind(tmp_path: Path) -> None:
    script = tmp_path / "py-spy"
    script.write_text(f"#!/bin/sh\nsleep 600 &\necho $! > {tmp_path}/pid\nwait\n")
    script.chmod(0o755)
    assert run_py_spy(str(script), seconds=1.0).code is None
    started = Path("/proc") / (tmp_path / "pid").read_text().strip()
    wait_until(lambda: not started.exists(), 5, "what it started has ended too")
