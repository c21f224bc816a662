"""Locks that a real process tries again and again, as filelock and portalocker do."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gputop.probes.model.wait_readings import HAS_OPEN, ThingReading
from gputop.probes.sources.procfs.target import start_time_of
from gputop.probes.sources.waits.opened_by import OpenReports
from gputop.probes.sources.waits.reader import WaitReader

HOLDS = """
import fcntl, sys, time
file = open(sys.argv[1], "a")
fcntl.flock(file, fcntl.LOCK_EX)
print("ready", flush=True)
time.sleep(1000)
"""
OPENS_AGAIN = """
import fcntl, os, sys, time
print("ready", flush=True)
while True:
    descriptor = os.open(sys.argv[1], os.O_RDWR)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        break
    except OSError:
        os.close(descriptor)
    time.sleep(0.05)
"""
KEEPS_OPEN = """
import fcntl, sys, time
file = open(sys.argv[1], "a")
print("ready", flush=True)
while True:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        break
    except OSError:
        time.sleep(0.05)
"""
ONLY_SLEEPS = """
import time
print("ready", flush=True)
while True:
    time.sleep(0.05)
"""


@contextmanager
def running(code: str, path: Path) -> Iterator[int]:
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == "ready\n"
        yield process.pid
    finally:
        process.kill()
        process.communicate()


def polled(pid: int, seconds: float) -> ThingReading | None:
    started = start_time_of(pid)
    assert started is not None
    reader = WaitReader(pid, started)
    deadline = time.monotonic() + seconds
    try:
        while time.monotonic() < deadline:
            found = reader.read()
            if found is not None and found.things:
                return found.things[0]
            time.sleep(0.2)
    finally:
        reader.close()
    return None


def may_have_reports() -> bool:
    try:
        OpenReports(()).close()
    except OSError:
        return False
    return True


@pytest.mark.parametrize(("code", "call"), [(OPENS_AGAIN, "tries to lock"), (KEEPS_OPEN, HAS_OPEN)])
def test_the_lock_that_it_tries_is_named_with_its_holder(
    tmp_path: Path, code: str, call: str
) -> None:
    if call != HAS_OPEN and not may_have_reports():
        pytest.skip("the kernel reports to the administrator alone who opens what")
    path = tmp_path / "model.lock"
    with running(HOLDS, path) as holder, running(code, path) as pid:
        thing = polled(pid, 10)
    assert thing is not None
    assert (thing.kind, thing.name, thing.call) == ("file lock", str(path), call)
    assert [each.pid for each in thing.holders] == [holder]


def test_one_that_only_sleeps_tries_no_lock(tmp_path: Path) -> None:
    path = tmp_path / "model.lock"
    with running(HOLDS, path), running(ONLY_SLEEPS, path) as pid:
        assert polled(pid, 2) is None


def test_what_another_process_tries_is_not_told_of_this_one(tmp_path: Path) -> None:
    """Both sleep as long: how often the file is opened would fit both."""
    path = tmp_path / "model.lock"
    with running(HOLDS, path), running(OPENS_AGAIN, path), running(ONLY_SLEEPS, path) as pid:
        assert polled(pid, 2) is None
