"""Real processes of this machine."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest

from gputop.probes.jobs.grouping import group_jobs
from gputop.probes.model.process_readings import ProcessReading
from gputop.probes.sources.processes.source import ProcessSource
from gputop.probes.sources.watchlist import Watchlist

FORKS = """
import os, sys, time
for _ in range(int(sys.argv[1])):
    if os.fork() == 0:
        break
time.sleep(60)
"""
SPAWNS_RANKS = """
import os, subprocess, sys, time
for rank in "01":
    names = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": "2", "MASTER_PORT": "1"}
    subprocess.Popen([sys.executable, sys.argv[1], "2"], env={**os.environ, **names})
time.sleep(60)
"""


@contextmanager
def running(*command: str, **options: object) -> Iterator[int]:
    """A process in a session of its own, which ends with all its children."""
    process = subprocess.Popen(command, start_new_session=True, **options)  # type: ignore[call-overload]
    pid: int = process.pid
    try:
        yield pid
    finally:
        if process.poll() is None:
            os.killpg(pid, signal.SIGKILL)
            process.wait()


def source(*pids: int) -> ProcessSource:
    watchlist = Watchlist()
    for pid in pids:
        watchlist.attach(pid)
    return ProcessSource(watchlist)


def until(
    read: ProcessSource, wanted: Callable[[dict[int, ProcessReading]], bool]
) -> dict[int, ProcessReading]:
    """Read on until it is as wanted."""
    for _ in range(200):
        found = {reading.pid: reading for reading in read.read()}
        if wanted(found):
            return found
        time.sleep(0.05)
    raise AssertionError(found)


def test_two_ranks_with_workers_make_a_job(tmp_path: object) -> None:
    script = f"{tmp_path}/train.py"
    with open(script, "w") as file:  # noqa: PTH123
        file.write(FORKS)
    with running(sys.executable, "-c", SPAWNS_RANKS, script) as launcher:
        read = source(launcher)
        found = until(
            read, lambda seen: sum(process.environment_inherited for process in seen.values()) == 4
        )
        (job,) = [job for job in group_jobs(tuple(found.values()), ()).jobs if job.ranks]
        assert (job.name, job.world_size, job.launcher_pid) == ("train.py", 2, launcher)
        assert [rank.rank for rank in job.ranks] == [0, 1]
        assert [len(rank.workers) for rank in job.ranks] == [2, 2]
        rank = found[job.ranks[0].pid]
        assert rank.environment["RANK"] == "0"
        assert rank.cpu_seconds is not None
        assert rank.voluntary_switches is not None


def test_stopped_then_zombie_then_gone() -> None:
    with running("sleep", "60") as pid:
        read = source(pid)
        until(read, lambda seen: seen[pid].name == "sleep" and seen[pid].command is not None)
        os.kill(pid, signal.SIGSTOP)
        until(read, lambda seen: seen[pid].state == "T")
        os.kill(pid, signal.SIGKILL)
        zombie = until(read, lambda seen: seen[pid].state == "Z")
        assert zombie[pid].command == ("sleep", "60")
        os.waitpid(pid, 0)
        assert pid not in {reading.pid for reading in read.read()}


def test_one_that_ends_while_it_is_read_is_dropped() -> None:
    read = source(*range(2, 40))
    for _ in range(30):
        with running("true") as pid:
            watchlist = Watchlist()
            watchlist.attach(pid)
            ProcessSource(watchlist).read()
    read.read()
    read.close()


def test_a_program_that_took_the_place_of_another_is_seen(tmp_path: Path) -> None:
    go = tmp_path / "go"
    os.mkfifo(go)
    with running("sh", "-c", f"read line <{go}; exec sleep 60") as pid:
        read = source(pid)
        # Not at once: between the old program and the new one a process has no command.
        until(read, lambda seen: pid in seen and (seen[pid].command or ("",))[0] == "sh")
        go.write_text("now\n")
        until(read, lambda seen: seen[pid].command == ("sleep", "60"))


def test_any_name() -> None:
    code = "open('/proc/self/comm', 'wb').write(b'a) (b\\nR 1 \\xff'); import time; time.sleep(60)"
    with running(sys.executable, "-c", code) as pid:
        until(source(pid), lambda seen: seen[pid].name == "a) (b\nR 1 \ufffd")


def test_own_process_and_its_tree() -> None:
    (own,) = [reading for reading in source(os.getpid()).read() if reading.pid == os.getpid()]
    assert own.allowed_cpus == len(os.sched_getaffinity(0))
    assert own.parent_pid == os.getppid()
    assert own.rss_bytes is not None
    assert own.rss_bytes > 1 << 20


needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")


def as_nobody(pid: int | None) -> dict[str, object]:
    """The reading of a process, or else of the reader itself, made by a user with no rights."""
    readable, written = os.pipe()
    child = os.fork()
    if child == 0:
        os.setgroups([])
        os.setresgid(65534, 65534, 65534)
        os.setresuid(65534, 65534, 65534)
        wanted = pid if pid is not None else os.getpid()
        reading = next(found for found in source(wanted).read() if found.pid == wanted)
        os.write(written, msgspec.json.encode(reading))
        os._exit(0)
    os.close(written)
    os.waitpid(child, 0)
    with os.fdopen(readable, "rb") as answer:
        return msgspec.json.decode(answer.read(), type=dict[str, object])


@needs_root
def test_a_process_of_another_user() -> None:
    with running("sleep", "60", env={"RANK": "0"}) as pid:
        until(source(pid), lambda seen: seen[pid].command == ("sleep", "60"))
        reading = as_nobody(pid)
    why = "belongs to user root: run gputop as that user or root"
    missing = reading["missing"]
    assert isinstance(missing, dict)
    assert missing["environment"] == missing["read_bytes"] == missing["wait_channel"] == why
    assert reading["command"] == ["sleep", "60"]
    assert "cpu_seconds" in reading
    assert "environment" not in reading


@needs_root
def test_a_process_that_does_not_let_itself_be_inspected() -> None:
    missing = as_nobody(None)["missing"]  # the kernel makes a process so that changed its user
    assert isinstance(missing, dict)
    assert missing["environment"] == "it does not let itself be inspected: run gputop as root"


@needs_root
def test_the_name_of_another_user() -> None:
    with running("sleep", "60", user=65534, extra_groups=[]) as pid:
        found = until(source(pid), lambda seen: pid in seen and seen[pid].name == "sleep")
        assert found[pid].user in ("nobody", "65534")


LEAVES_ZOMBIES = """
import os, sys, time
for how in sys.argv[1:]:
    if os.fork() == 0:
        if how.startswith("-"):
            os.kill(os.getpid(), int(how[1:]))
        os._exit(int(how))
print("ready", flush=True)
time.sleep(60)
"""


def test_children_that_nobody_has_asked_for_are_there_with_how_they_ended() -> None:
    with running(sys.executable, "-c", LEAVES_ZOMBIES, "-9", "0", "3") as pid:
        read = source(pid)
        found = until(
            read,
            lambda seen: (
                [each.state for each in seen.values() if each.parent_pid == pid] == ["Z"] * 3
            ),
        )
        children = [each for each in found.values() if each.parent_pid == pid]
        ends = {(each.exit_signal, each.exit_code) for each in children}
        assert ends == {(9, None), (None, 0), (None, 3)}
        assert (found[pid].exit_signal, found[pid].exit_code) == (None, None)
        (job,) = [job for job in group_jobs(tuple(found.values()), ()).jobs if job.ranks]
        assert set(job.ranks[0].workers) == {each.pid for each in children}
