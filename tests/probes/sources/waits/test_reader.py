"""Waits of real processes: what they wait for, and who holds it."""

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

from gputop.probes.model.wait_readings import ThingReading, WaitReading
from gputop.probes.sources.procfs.target import start_time_of
from gputop.probes.sources.waits.open_ends import OpenEnds
from gputop.probes.sources.waits.reader import WaitReader


def reading_of(pid: int) -> WaitReading:
    started = start_time_of(pid)
    assert started is not None
    reader = WaitReader(pid, started)
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        found = reader.read()
        if found is not None and found.things:
            return found
        time.sleep(0.05)
    pytest.fail("it never came to wait for anything")
    raise AssertionError


def thing_of(pid: int) -> ThingReading:
    (found,) = reading_of(pid).things
    return found


@contextmanager
def waiting(code: str, *words: object) -> Iterator[tuple[int, list[str]]]:
    """A process that runs this and prints one line first; its pid and the words of the line."""
    command = [sys.executable, "-c", code, *map(str, words)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)
    assert process.stdout is not None
    try:
        yield process.pid, process.stdout.readline().split()
    finally:
        os.killpg(process.pid, signal.SIGKILL)  # its children too
        process.communicate()


PIPE_OF_CHILD = """
import os, sys, time
reader, writer = os.pipe()
child = os.fork()
if child == 0:
    os.close(reader)
    time.sleep(1000)
os.close(writer)
print(child, flush=True)
os.read(reader, 1)
"""
OWN_PIPE = """
import os
reader, writer = os.pipe()
print("ready", flush=True)
os.read(reader, 1)
"""
FULL_PIPE = """
import os, time
reader, writer = os.pipe()
child = os.fork()
if child == 0:
    os.close(writer)
    time.sleep(1000)
os.close(reader)
print(child, flush=True)
os.write(writer, bytes(1 << 20))
"""
FIFO = """
import os, sys
os.mkfifo(sys.argv[1])
print("ready", flush=True)
os.open(sys.argv[1], os.O_RDONLY)
"""
LOCKS = """
import fcntl, os, sys
file = open(sys.argv[1], "a")
pid = os.fork()
take = getattr(fcntl, sys.argv[2])
if pid == 0:
    file = open(sys.argv[1], "a")
    take(file, fcntl.LOCK_EX)
    print(os.getpid(), os.getppid(), flush=True)
    import time; time.sleep(1000)
import time; time.sleep(0.5)
take(file, fcntl.LOCK_EX)
"""
TCP = """
import os, socket, time
server = socket.create_server(("127.0.0.1", 0))
port = server.getsockname()[1]
child = os.fork()
if child == 0:
    peer, _ = server.accept()
    time.sleep(1000)
server.close()
peer = socket.create_connection(("127.0.0.1", port))
print(child, port, flush=True)
peer.recv(1)
"""
UNIX = """
import os, socket, time
ours, theirs = socket.socketpair()
child = os.fork()
if child == 0:
    ours.close()
    time.sleep(1000)
theirs.close()
print(child, flush=True)
ours.recv(1)
"""


def test_the_writer_of_a_pipe_is_named() -> None:
    with waiting(PIPE_OF_CHILD) as (pid, (child,)):
        thing = thing_of(pid)
    assert thing.kind == "pipe"
    assert thing.call == "reads"
    assert [each.pid for each in thing.holders] == [int(child)]
    assert thing.holders[0].part == "writes"
    assert not thing.own


def test_a_pipe_that_only_the_reader_itself_can_write_has_no_other_holder() -> None:
    with waiting(OWN_PIPE) as (pid, _):
        thing = thing_of(pid)
    assert thing.own
    assert thing.holders == ()


def test_the_reader_of_a_full_pipe_is_named() -> None:
    with waiting(FULL_PIPE) as (pid, (child,)):
        thing = thing_of(pid)
    assert thing.call == "writes"
    assert [(each.pid, each.part) for each in thing.holders] == [(int(child), "reads")]


def test_a_fifo_that_nobody_else_opens_has_its_name_and_nobody(tmp_path: Path) -> None:
    with waiting(FIFO, tmp_path / "fifo") as (pid, _):
        thing = thing_of(pid)
    assert (thing.kind, thing.name) == ("fifo", str(tmp_path / "fifo"))
    assert thing.holders == ()


@pytest.mark.parametrize("how", ["flock", "lockf"])
def test_the_holder_of_a_file_lock_is_named(tmp_path: Path, how: str) -> None:
    with waiting(LOCKS, tmp_path / "x.lock", how) as (pid, (holder, waiter)):
        assert int(waiter) == pid
        thing = thing_of(pid)
    assert (thing.kind, thing.name) == ("file lock", str(tmp_path / "x.lock"))
    assert [(each.pid, each.part) for each in thing.holders] == [(int(holder), "holds")]


def test_the_far_end_of_a_connection_within_the_node_is_named() -> None:
    with waiting(TCP) as (pid, (child, port)):
        thing = thing_of(pid)
    assert (thing.kind, thing.name) == ("socket", f"127.0.0.1:{port}")
    assert [each.pid for each in thing.holders] == [int(child)]


def test_the_peer_of_a_unix_socket_is_named() -> None:
    with waiting(UNIX) as (pid, (child,)):
        thing = thing_of(pid)
    assert thing.kind == "unix socket"
    assert [each.pid for each in thing.holders] == [int(child)]


POLLS = """
import os, select
pairs = [os.pipe() for _ in range(2)]
poll = getattr(select, "{how}")()
for reader, _ in pairs:
    poll.register(reader)
print("ready", flush=True)
poll.poll()
"""


@pytest.mark.parametrize("how", ["poll", "epoll"])
def test_of_a_poll_all_things_are_named_and_any_will_do(how: str) -> None:
    with waiting(POLLS.format(how=how)) as (pid, _):
        found = reading_of(pid)
    assert found.any_of
    assert [each.kind for each in found.things] == ["pipe", "pipe"]


MUTEX = """
import ctypes, os, threading, time
libc = ctypes.CDLL(None)
first, second = (ctypes.create_string_buffer(64) for _ in range(2))
taken = threading.Event()
def other():
    libc.pthread_mutex_lock(second)
    print(threading.get_native_id(), flush=True)
    taken.set()
    {then}
thread = threading.Thread(target=other, daemon=True)
libc.pthread_mutex_lock(first)
thread.start()
taken.wait()
libc.pthread_mutex_lock(second)
"""


@pytest.mark.parametrize(
    ("then", "back"), [("time.sleep(1000)", False), ("libc.pthread_mutex_lock(first)", True)]
)
def test_the_thread_that_owns_a_mutex_is_named_and_whether_it_waits_back(
    then: str, back: bool
) -> None:
    with waiting(MUTEX.format(then=then)) as (pid, (tid,)):
        time.sleep(0.3)
        thing = thing_of(pid)
    assert thing.kind == "mutex"
    assert [(each.tid, each.waits_back) for each in thing.holders] == [(int(tid), back)]


LOCK = """
import threading
lock = threading.Lock()
lock.acquire()
print("ready", flush=True)
lock.acquire()
"""


def test_a_lock_of_python_has_no_owner_and_so_none_is_named() -> None:
    with waiting(LOCK) as (pid, _):
        started = start_time_of(pid)
        assert started is not None
        time.sleep(0.3)
        found = WaitReader(pid, started).read()
    assert found is not None
    assert found.things == ()


def test_one_that_runs_has_no_wait() -> None:
    code = "print('ready', flush=True)\nwhile True: pass"
    with waiting(code) as (pid, _):
        started = start_time_of(pid)
        assert started is not None
        assert WaitReader(pid, started).read() is None


def test_whether_a_holder_moves_is_told_from_look_to_look() -> None:
    with waiting(PIPE_OF_CHILD) as (pid, _):
        started = start_time_of(pid)
        assert started is not None
        time.sleep(0.3)
        reader = WaitReader(pid, started)
        first = reader.read()
        time.sleep(1.0)
        later = reader.read()
    assert first is not None
    assert later is not None
    assert first.things[0].holders[0].still_seconds is None
    assert (later.things[0].holders[0].still_seconds or 0.0) >= 0.9


def read_twice(code: str) -> tuple[WaitReading, WaitReading]:
    with waiting(code) as (pid, _):
        reader = WaitReader(pid, start_time_of(pid) or 0.0)
        found: list[WaitReading] = []
        deadline = time.monotonic() + 10
        while len(found) < 2 and time.monotonic() < deadline:
            time.sleep(0.3)
            found += filter(None, [reader.read()])
    first, second = found
    return first, second


def test_a_sleep_that_goes_on_is_told_anew() -> None:
    first, second = read_twice("import time; print(1, flush=True); time.sleep(1000)")
    assert first.things == second.things == ()
    assert second.switches == first.switches
    assert second.monotonic_seconds >= first.monotonic_seconds + 0.3


def test_another_sleep_is_another_wait() -> None:
    code = "import time; print(1, flush=True)\nwhile True: time.sleep(0.1)"
    first, second = read_twice(code)
    assert second.switches > first.switches


def made_proc(folder: Path, namespace: str, fd: int = 3) -> Path:
    (folder / "proc/self/ns").mkdir(parents=True)
    (folder / "proc/self/ns/pid").symlink_to(namespace)
    (folder / "proc/12/fd").mkdir(parents=True)
    (folder / f"proc/12/fd/{fd}").symlink_to("pipe:[1]")
    (folder / "proc/12/fdinfo").mkdir()
    (folder / f"proc/12/fdinfo/{fd}").write_text("pos:\t0\nflags:\t02000001\nlock:\t1: FLOCK\n")
    return folder


WHOLE_MACHINE = "pid:[4026531836]"


def test_nobody_is_said_only_where_everybody_was_seen(tmp_path: Path) -> None:
    root = made_proc(tmp_path, WHOLE_MACHINE)
    assert OpenEnds(root).find({"pipe:[2]"}) == ((), True)
    found = OpenEnds(root).find({"pipe:[1]"})
    assert found == (((12, "pipe:[1]", os.O_WRONLY, True),), True)


def test_in_a_container_others_may_hold_it_too(tmp_path: Path) -> None:
    assert OpenEnds(made_proc(tmp_path, "pid:[77]")).find({"pipe:[2]"}) == ((), False)
