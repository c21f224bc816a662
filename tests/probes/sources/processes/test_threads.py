"""Threads and ends of real processes, and the ranks that a pid leads to."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gputop.probes.model.rank_readings import ExitReading, ThreadsReading
from gputop.probes.sources.processes.source import ProcessSource
from gputop.probes.sources.processes.threads import ThreadSource
from gputop.probes.sources.procfs.target import start_time_of
from gputop.probes.sources.watchlist import Watchlist

NAMED = """
import ctypes, threading, time
def named():
    ctypes.CDLL(None).prctl(15, b"pt_autograd_0", 0, 0, 0)
    while True: sum(range(1000))
threading.Thread(target=named, daemon=True).start()
threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
time.sleep(0.2)
print("ready", flush=True)
time.sleep(60)
"""
SINGLE = """
import os, sys, time
if os.fork() == 0: time.sleep(60)
print("ready", flush=True)
time.sleep(60)
"""
WATCHING = """
import sys
from gputop.probes.sources.watchlist import Watchlist
from gputop.probes.model.rank_readings import ExitReading
from gputop.probes.sources.procfs.target import start_time_of
from gputop.probes.sources.processes.threads import ThreadSource
watchlist, pid = Watchlist(), int(sys.argv[1])
watchlist.set_ranks({pid: start_time_of(pid)})
source = ThreadSource(watchlist)
while True:
    ends = [each for each in source.read() if isinstance(each, ExitReading)]
    print([(each.signal, each.code) for each in ends], flush=True)
    watchlist.set_ranks({})  # what has ended is no rank
    if not sys.stdin.readline(): break
"""
UNPRIVILEGED = ("setpriv", "--bounding-set=-all", "--inh-caps=-all")
"""Then root, too, is not shown how the zombie of another user ended."""


@contextmanager
def python(code: str, *before: str) -> Iterator[int]:
    process = subprocess.Popen(
        [*before, sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == "ready\n"
        yield process.pid
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def source_of(pid: int) -> ThreadSource:
    watchlist = Watchlist()
    watchlist.set_ranks({pid: start_time_of(pid) or 0.0})
    return ThreadSource(watchlist)


def threads_of(source: ThreadSource) -> ThreadsReading:
    (reading,) = [each for each in source.read() if isinstance(each, ThreadsReading)]
    return reading


def ends_of(source: ThreadSource) -> list[ExitReading]:
    return [each for each in source.read() if isinstance(each, ExitReading)]


def test_the_main_thread_and_those_with_a_name() -> None:
    with python(NAMED) as pid:
        source = source_of(pid)
        first = threads_of(source)
        time.sleep(0.5)
        second = threads_of(source)
    assert first.count == 3
    assert [thread.name for thread in first.others] == ["pt_autograd_0"]
    assert second.others[0].cpu_seconds > first.others[0].cpu_seconds
    main = second.main
    assert (main.tid, main.state) == (pid, "S")
    assert main.wait_channel is not None
    assert main.voluntary_switches is not None


@pytest.mark.parametrize(
    ("sent", "code", "expected"),
    [(signal.SIGKILL, "time.sleep(60)", (9, None)), (None, "sys.exit(3)", (None, 3))],
)
def test_how_it_ended(sent: int | None, code: str, expected: tuple[int | None, int | None]) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", f"import sys, time; input(); {code}"], stdin=-1
    )
    assert process.stdin is not None
    source = source_of(process.pid)
    assert ends_of(source) == []
    process.stdin.write(b"\n")
    process.stdin.close()
    if sent is not None:
        process.send_signal(sent)
    process.wait()
    (ended,) = ends_of(source)
    assert ended.pid == process.pid
    if "signal" in ended.missing:
        pytest.skip("this kernel is older than 6.15")
    assert (ended.signal, ended.code) == expected
    assert ends_of(source) == [ended]  # reported again, for who comes later
    source.close()


def ended_unreaped(process: subprocess.Popen[bytes]) -> None:
    """Kill it and wait until it has ended, but do not ask how: its parent is slow, or is stopped."""
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)


def test_how_it_ended_is_reported_before_its_parent_has_asked() -> None:
    with subprocess.Popen(["sleep", "60"]) as process:
        source = source_of(process.pid)
        assert ends_of(source) == []
        ended_unreaped(process)
        (ended,) = ends_of(source)
        assert (ended.signal, ended.code) == (9, None)
        source.close()


@pytest.mark.skipif(os.geteuid() != 0, reason="a process of others has to be one of another user")
def test_of_a_process_of_others_it_is_reported_once_its_parent_has_asked() -> None:
    with subprocess.Popen(["sleep", "60"], user=65534) as process:
        command = [*UNPRIVILEGED, sys.executable, "-c", WATCHING, str(process.pid)]
        with subprocess.Popen(command, stdin=-1, stdout=-1, text=True, bufsize=1) as watching:
            assert watching.stdin is not None and watching.stdout is not None
            reported = [watching.stdout.readline()]
            ended_unreaped(process)
            watching.stdin.write("look\n")
            reported.append(watching.stdout.readline())
            process.wait()
            watching.stdin.write("look\n")
            reported.append(watching.stdout.readline())
    if "None, None" in reported[2]:
        pytest.skip("this kernel is older than 6.15")
    assert reported == ["[]\n", "[]\n", "[(9, None)]\n"]


def ranks_from(pid: int) -> dict[int, float]:
    watchlist = Watchlist()
    watchlist.attach(pid)
    processes = ProcessSource(watchlist)
    processes.read()
    processes.read()
    processes.close()
    return watchlist.ranks()


def test_a_job_of_one_from_any_of_its_pids() -> None:
    with python(SINGLE) as pid:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        assert list(ranks_from(pid)) == [pid]
        assert list(ranks_from(int(children[0]))) == [pid]


def test_a_job_from_the_shell_around_it() -> None:
    with python(SINGLE, "sh", "-c", 'trap : 0; "$0" "$@"') as shell:
        (pid,) = map(int, Path(f"/proc/{shell}/task/{shell}/children").read_text().split())
        assert list(ranks_from(shell)) == [pid]
