"""Dumps of real processes, and of ones that cannot be dumped."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from gputop.probes.model.rank_readings import DUMPS
from gputop.probes.sources.procfs.target import start_time_of
from gputop.probes.sources.stack_requests import StackRequests
from gputop.probes.sources.stacks.lower_priority import NICENESS
from gputop.probes.sources.stacks.py_spy import find_py_spy, run_py_spy
from gputop.probes.sources.stacks.reader import StackReader
from gputop.probes.sources.stacks.source import EVERY_SECONDS, StackSource

from support.ready_process import python
from support.terminal import wait_until

BUSY = """
import threading, time
def wait_for_ever(): time.sleep(60)
def spin():
    print("ready", flush=True)
    while True: pass
threading.Thread(target=wait_for_ever, name="sleeper", daemon=True).start()
spin()
"""
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, for a namespace")


def py_spy() -> str:
    binary = find_py_spy()
    assert binary is not None, "py-spy is a dependency"
    return binary


def reader(pid: int) -> StackReader:
    return StackReader(pid, start_time_of(pid) or 0.0, py_spy())


def eventually(take: StackReader, wanted: Callable[[], bool]) -> None:
    for _ in range(10):
        take.take()
        if wanted():
            return
    raise AssertionError(take.reading)


def test_the_stack_of_a_busy_loop() -> None:
    with python(BUSY) as pid:
        stacks = reader(pid)
        eventually(stacks, lambda: len(stacks.reading.main_stacks) == DUMPS)
        reading = stacks.reading
        assert reading.main_stacks[-1][0].name == "spin"
        assert reading.refusal == ""
        assert reading.state_after in ("R", "S")
        named = {thread.name: thread for thread in reading.threads}
        assert named["sleeper"].frames[0].name == "wait_for_ever"
        assert (named["MainThread"].active, named["sleeper"].active) == (True, False)


def test_a_stopped_process_answers_and_stays_stopped() -> None:
    with python(BUSY) as pid:
        os.kill(pid, signal.SIGSTOP)
        stopped = psutil.STATUS_STOPPED
        wait_until(
            lambda: psutil.Process(pid).status() == stopped, 60, "it has got a core to stop on"
        )
        stacks = reader(pid)
        eventually(stacks, lambda: bool(stacks.reading.main_stacks))
        assert stacks.reading.state_after == "T"


@as_root
@pytest.mark.parametrize(
    "namespace",
    [
        ("unshare", "--pid", "--fork", "--kill-child", "--mount-proc"),
        ("unshare", "--mount"),
        ("unshare", "--user", "--map-root-user", "--pid", "--fork", "--kill-child"),
    ],
    ids=["pid", "mount", "user"],
)
def test_targets_in_other_namespaces(namespace: tuple[str, ...]) -> None:
    with python(BUSY, *namespace) as pid:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        stacks = reader(int(children[0]) if children else pid)
        eventually(stacks, lambda: bool(stacks.reading.main_stacks))
        named = {thread.name: thread for thread in stacks.reading.threads}
        assert named["MainThread"].frames[0].name == "spin"
        assert (named["MainThread"].active, named["sleeper"].active) == (True, False)


def test_no_python_is_one_sentence() -> None:
    sleeper = subprocess.Popen(["sleep", "60"])
    time.sleep(0.1)
    reading = reader(sleeper.pid).take()
    sleeper.kill()
    sleeper.wait()
    assert reading.refusal == f"process {sleeper.pid} (sleep) does not run Python"
    assert (reading.taken, reading.inconsistent_dumps, reading.threads) == (1, 0, ())


def test_py_spy_is_not_started_for_what_is_no_python() -> None:
    nowhere = "/nonexistent/py-spy"
    sleeper = subprocess.Popen(["sleep", "60"])
    time.sleep(0.1)
    with python(BUSY) as pid:
        refused = [
            StackReader(each, start_time_of(each) or 0.0, nowhere).take().refusal
            for each in (sleeper.pid, pid)
        ]
    sleeper.kill()
    sleeper.wait()
    assert refused[0] == f"process {sleeper.pid} (sleep) does not run Python"
    assert refused[1].startswith("py-spy does not start")


def test_one_that_ends_meanwhile() -> None:
    with python(BUSY) as pid:
        stacks = reader(pid)
        eventually(stacks, lambda: bool(stacks.reading.main_stacks))
    reading = stacks.take()
    assert "no process" in reading.refusal
    assert reading.main_stacks == ()


def test_the_stack_of_a_later_process_of_that_pid_is_not_taken_for_it() -> None:
    with python(BUSY) as pid:
        earlier = StackReader(pid, (start_time_of(pid) or 0.0) - 5.0, py_spy())
        reading = earlier.take()
    assert reading.refusal == f"there is no process {pid} any more"
    assert (reading.main_stacks, reading.threads) == ((), ())


def test_a_failed_dump_is_inconsistent_and_the_third_in_a_row_is_reported(tmp_path: Path) -> None:
    script = tmp_path / "py-spy"
    script.write_text(
        "#!/bin/sh\necho 'Error: Failed to suspend\n\nStack backtrace:\n 0: x' >&2\nexit 1"
    )
    script.chmod(0o755)
    with python(BUSY) as pid:
        stacks = StackReader(pid, start_time_of(pid) or 0.0, str(script))
        first, second, third = stacks.take(), stacks.take(), stacks.take()
    assert (first.refusal, second.refusal) == ("", "")
    assert (second.taken, second.inconsistent_dumps) == (2, 2)
    assert third.refusal == "py-spy failed: Error: Failed to suspend"


def test_one_that_hangs_is_ended(tmp_path: Path) -> None:
    script = tmp_path / "py-spy"
    script.write_text("#!/bin/sh\nexec sleep 60")
    script.chmod(0o755)
    began = time.monotonic()
    assert run_py_spy(str(script), seconds=0.3).code is None
    assert time.monotonic() - began < 5


def test_a_long_output_is_read_to_its_end(tmp_path: Path) -> None:
    script = tmp_path / "py-spy"
    script.write_text("#!/bin/sh\nhead -c 9000000 /dev/zero; echo done >&2")
    script.chmod(0o755)
    output = run_py_spy(str(script), seconds=30)
    assert (output.code, output.errors) == (0, "done")
    assert len(output.out) < 9_000_000


@pytest.mark.parametrize(("gives_way", "niceness"), [(True, NICENESS), (False, 0)])
def test_it_gives_way_to_the_job_unless_that_waits_for_it(
    gives_way: bool, niceness: int, tmp_path: Path
) -> None:
    script = tmp_path / "py-spy"
    script.write_text("#!/bin/sh\nsleep 0.3; exec cut -d' ' -f19 /proc/self/stat")
    script.chmod(0o755)
    output = run_py_spy(str(script), gives_way=gives_way)
    assert int(output.out) - os.getpriority(os.PRIO_PROCESS, 0) == niceness


def test_nothing_is_dumped_unless_asked_for() -> None:
    requests = StackRequests()
    source = StackSource(requests)
    assert source.read() == ()
    with python(BUSY) as pid:
        assert source.read() == ()
        requests.want([pid], 60)
        (first,) = source.read()
        (again,) = source.read()
        assert (first.taken, again.taken) == (1, 1)  # not twice in EVERY_SECONDS
        time.sleep(EVERY_SECONDS)
        (later,) = source.read()
        assert later.taken == 2


def test_without_the_binary_the_remedy_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(Exception, match="pip install"):
        StackSource(StackRequests()).read()


def test_no_child_is_left_behind() -> None:
    with python(BUSY) as pid:
        reader(pid).take()
        children = Path(f"/proc/self/task/{threading.get_native_id()}/children").read_text().split()
        assert children == [str(pid)]


def test_a_request_can_be_taken_back() -> None:
    requests = StackRequests()
    with python(BUSY) as pid:
        source = StackSource(requests)
        requests.want([pid, 1], 60.0)
        source.read()
        requests.want([pid], 0.0)
        assert requests.wanted(time.monotonic()) == [1]
