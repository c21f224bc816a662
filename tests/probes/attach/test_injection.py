"""Loading the probe into a running process: only where Python itself offers a way."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gputop.probes.attach import injection
from gputop.probes.attach.control_client import ask
from gputop.probes.attach.injection import InjectionError, inject

PYTHON = os.environ.get("GPUTOP_PYTHON314", "")
needs_new_python = pytest.mark.skipif(
    not PYTHON, reason="GPUTOP_PYTHON314 names no Python 3.14 or later"
)
BUSY = "import time\nprint('up', flush=True)\nwhile True: time.sleep(0.02)"
ASLEEP = "import time\nprint('up', flush=True)\ntime.sleep(60)"


@contextmanager
def process(python: str, code: str) -> Iterator[int]:
    with (
        tempfile.TemporaryDirectory(dir="/dev/shm") as runtime,
        subprocess.Popen(
            [python, "-c", code],
            env={**os.environ, "XDG_RUNTIME_DIR": runtime},
            stdout=subprocess.PIPE,
        ) as started,
    ):
        assert started.stdout is not None
        started.stdout.readline()
        try:
            yield started.pid
        finally:
            started.kill()


def requests() -> set[Path]:
    """Scripts that wait to be run."""
    return set(Path(tempfile.gettempdir()).glob("gputop-*.py"))


@needs_new_python
def test_the_probe_gets_into_a_running_process_and_leaves_no_script() -> None:
    before = requests()
    with process(PYTHON, BUSY) as pid:
        inject(pid)
        assert ask(pid, {"command": "status"})["pid"] == pid
        inject(pid)  # the second time it is there already
    assert requests() == before


@needs_new_python
def test_a_main_thread_that_does_not_come_back_is_reported_of(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(injection, "WAIT_SECONDS", 1.0)
    before = requests()
    with process(PYTHON, ASLEEP) as pid, pytest.raises(InjectionError, match="has not come back"):
        inject(pid)
    for script in requests() - before:
        script.unlink()


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="this Python would let it in")
def test_an_older_python_is_refused_in_one_sentence() -> None:
    before = requests()
    with (
        process(sys.executable, BUSY) as pid,
        pytest.raises(InjectionError, match=r"only 3\.14 and later allow that; .*gputop run"),
    ):
        inject(pid)
    assert requests() == before


def test_what_is_no_python_is_refused() -> None:
    with subprocess.Popen(["sleep", "60"]) as sleeping:
        try:
            with pytest.raises(InjectionError, match="not a Python interpreter"):
                inject(sleeping.pid)
        finally:
            sleeping.kill()


def test_a_process_that_is_gone_is_reported_of() -> None:
    with pytest.raises(InjectionError, match="there is no process 4194304"):
        inject(4194304)
