"""Locks that a real process tries again and again, as filelock and portalocker do."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gputop.probes.model.wait_readings import ThingReading
from gputop.probes.sources.procfs.target import start_time_of
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


@pytest.mark.parametrize("code", [OPENS_AGAIN, KEEPS_OPEN])
def test_the_lock_that_it_tries_is_named_with_its_holder(tmp_path: Path, code: str) -> None:
    path = tmp_path / "model.lock"
    with running(HOLDS, path) as holder, running(code, path) as pid:
        thing = polled(pid, 10)
    assert thing is not None
    assert (thing.kind, thing.name) == ("file lock", str(path))
    assert [each.pid for each in thing.holders] == [holder]


def test_one_that_only_sleeps_tries_no_lock(tmp_path: Path) -> None:
    path = tmp_path / "model.lock"
    with running(HOLDS, path), running(ONLY_SLEEPS, path) as pid:
        assert polled(pid, 2) is None
