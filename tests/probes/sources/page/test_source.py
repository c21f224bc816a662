"""The source of state pages, over real processes with the real probe in them, and over made trees."""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from statistics import quantiles

import pytest

from gputop.probes.model.probe_readings import ProbeReading
from gputop.probes.sources.page import directories as page_directories
from gputop.probes.sources.page import process_page as page_watch
from gputop.probes.sources.page.source import ProbeSource
from gputop.probes.sources.watchlist import Watchlist

from support.probe_job import job
from support.terminal import wait_until

UID = os.getuid()


TRAINS = """
gputop.step(samples=32)
with gputop.phase('backward'):
    say('in')
    time.sleep(60)
"""


root_only = pytest.mark.skipif(UID != 0, reason="makes namespaces: needs root")


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """No page of this machine's other jobs is seen, and what is done now and then is done at once."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", "")
    monkeypatch.setattr(page_watch, "_CHECK_SECONDS", 0.0)
    monkeypatch.setattr(page_directories, "_LIST_SECONDS", 0.0)


@contextmanager
def source(
    *gpu: int, attached: int | None = None
) -> Iterator[Callable[[int], ProbeReading | None]]:
    """Reads, and gives the reading of one pid."""
    watchlist = Watchlist()
    watchlist.set_gpu(0, gpu)
    if attached is not None:
        watchlist.attach(attached)
    with closing(ProbeSource(watchlist)) as made:
        yield lambda pid: next((each for each in made.read() if each.pid == pid), None)


def test_a_process_on_a_gpu_is_read_wherever_its_page_lies() -> None:
    with job(TRAINS) as running, source(running.pid) as read:
        assert running.line() == "in"
        reading = read(running.pid)
        assert reading is not None
        assert (reading.phase, reading.step, reading.samples) == ("backward", 1, 32.0)
        assert reading.ended_monotonic_seconds is None
        assert 0 <= time.monotonic() - (reading.phase_monotonic_seconds or 0) < 5
        ticks = int(running.pages()[0].stem.split("-")[1])
        assert reading.start_time_seconds == ticks / os.sysconf("SC_CLK_TCK")


def test_a_process_in_the_users_directory_is_read_though_nobody_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with job(TRAINS) as running, source() as read:
        assert running.line() == "in"
        assert read(running.pid) is None
    with job(TRAINS) as running:
        assert running.line() == "in"
        monkeypatch.setenv("XDG_RUNTIME_DIR", str(running.runtime))
        with source() as read:
            reading = read(running.pid)
            assert reading is not None
            assert reading.phase == "backward"


def test_a_process_below_the_one_asked_for_is_read() -> None:
    before = ("sh", "-c", '"$@"; true', "sh")
    with job(TRAINS, before=before) as running, source(attached=running.pid) as read:
        assert running.line() == "in"
        child = int(running.pages()[0].stem.split("-")[0])
        assert child != running.pid
        reading = read(child)
        os.kill(child, signal.SIGKILL)
        assert reading is not None
        assert reading.phase == "backward"


@pytest.mark.parametrize("stop", [signal.SIGSTOP, None])
def test_a_frozen_process_is_read_as_any_other(stop: signal.Signals | None) -> None:
    held = "import ctypes\nwith gputop.phase('optimizer'):\n  say('in')\n"
    held += "  ctypes.PyDLL(None).sleep(20)"
    with job(held) as running, source(running.pid) as read:
        assert running.line() == "in"
        if stop:
            os.kill(running.pid, stop)
        time.sleep(1.0)
        reading = read(running.pid)
        assert reading is not None
        assert reading.phase == "optimizer"
        age = time.monotonic() - (reading.phase_monotonic_seconds or 0)
        assert 0.9 < age < 15
        assert reading.phase_seconds["optimizer"] == pytest.approx(age, abs=0.5)


def test_a_process_that_is_killed_leaves_its_last_moment() -> None:
    with job(TRAINS) as running, source(running.pid) as read:
        assert running.line() == "in"
        assert read(running.pid) is not None
        os.kill(running.pid, signal.SIGKILL)
        killed = time.monotonic()
        wait_until(lambda: _ended(read(running.pid)), 10, "its end is seen")
        for reading in [read(running.pid) for _ in range(3)]:
            assert reading is not None
            assert (reading.phase, reading.step) == ("backward", 1)
            assert reading.ended_monotonic_seconds == pytest.approx(killed, abs=5)
        running.process.wait()  # it was a zombie until now
        reading = read(running.pid)
        assert reading is not None
        assert not reading.steps
        assert not reading.segments
        assert len(running.pages()) == 1  # evidence


def _ended(reading: ProbeReading | None) -> bool:
    return reading is not None and reading.ended_monotonic_seconds is not None


def test_a_process_that_ends_well_is_not_reported_dead() -> None:
    with job("say('in')\ntime.sleep(1)") as running, source(running.pid) as read:
        assert running.line() == "in"
        assert read(running.pid) is not None
        assert running.end() == 0
        assert read(running.pid) is None


def test_a_process_that_an_exception_ended_says_so() -> None:
    code = "say('in')\ntime.sleep(1)\nwith gputop.phase('forward'): 1 / 0"
    with job(code) as running, source(running.pid) as read:
        assert running.line() == "in"
        assert read(running.pid) is not None
        assert running.end() == 1
        reading = read(running.pid)
        assert reading is not None
        assert _ended(reading)
        assert reading.error == "the job ended with ZeroDivisionError"
        assert reading.phase is not None


def test_a_log_out_that_empties_the_directory_changes_nothing() -> None:
    with job(TRAINS) as running, source(running.pid) as read:
        assert running.line() == "in"
        (page,) = running.pages()
        shutil.rmtree(page.parent)
        for _ in range(3):
            reading = read(running.pid)
            assert reading is not None
            assert reading.phase == "backward"
        os.kill(running.pid, signal.SIGKILL)
        running.process.wait()
        assert _ended(read(running.pid))


def test_a_process_that_runs_another_program_has_that_programs_page_or_none() -> None:
    code = "say('in')\ntime.sleep(0.5)\nos.execv('/bin/sh', ['sh', '-c', 'echo out; sleep 60'])"
    with job(code) as running, source(running.pid) as read:
        assert running.line() == "in"
        assert read(running.pid) is not None
        assert running.line() == "out"
        assert read(running.pid) is None
    again = "if os.environ.get('AGAIN'):\n  depth = gputop.active().track().enter(4)\n  say('in')\n"
    again += "  time.sleep(60)\nsay('out')\ntime.sleep(0.5)\nos.environ['AGAIN'] = '1'\n"
    again += "os.execv(sys.executable, sys.orig_argv)"
    with job(again) as running, source(running.pid) as read:
        assert running.line() == "out"
        assert read(running.pid) is not None
        assert running.line() == "in"
        reading = read(running.pid)
        assert reading is not None
        assert reading.phase == "forward"


def test_the_dead_of_before_are_found_in_the_users_directory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with job(TRAINS) as running:
        assert running.line() == "in"
        time.sleep(1.5)
        os.kill(running.pid, signal.SIGKILL)
        killed = time.monotonic()
        running.process.wait()
        monkeypatch.setenv("XDG_RUNTIME_DIR", str(running.runtime))
        with source() as read:
            reading = read(running.pid)
            assert reading is not None
            assert (reading.phase, reading.step) == ("backward", 1)
            # The gauges are stored each second, and this was the last that it was heard of.
            assert reading.ended_monotonic_seconds is not None
            assert -2.5 < reading.ended_monotonic_seconds - killed < 0.1
            assert reading.segments
        assert len(running.pages()) == 1


@root_only
def test_a_process_in_another_pid_namespace_is_read_under_its_pid_here() -> None:
    before = ("unshare", "--pid", "--fork", "--mount-proc", "--kill-child")
    with job(TRAINS, before=before) as running, source(attached=running.pid) as read:
        assert running.line() == "in"
        (page,) = running.pages()
        assert page.stem.split("-")[0] == "1"
        (child,) = _children(running.pid)
        reading = read(child)
        assert reading is not None
        assert reading.phase == "backward"


@root_only
def test_a_living_process_of_another_pid_namespace_is_not_taken_for_dead(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its page lies in a directory that both see, under a pid that nobody has here, or another."""
    before = ("unshare", "--pid", "--fork", "--mount-proc", "--kill-child")
    with job(TRAINS, before=before) as running:
        assert running.line() == "in"
        monkeypatch.setenv("XDG_RUNTIME_DIR", str(running.runtime))
        with source() as read:
            assert read(1) is None
            (child,) = _children(running.pid)
            os.kill(child, signal.SIGKILL)
            running.process.wait()
            assert _ended(read(1))


def _children(pid: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@pytest.mark.parametrize("pause", ["pass", "time.sleep(0.0005)"])
def test_what_is_read_while_the_job_runs_always_adds_up(pause: str) -> None:
    code = f"""
track = gputop.active().track()
def phase(code):
    depth = track.enter(code)
    {pause}
    return depth
say('in')
while True:
    track.leave(phase(2))
    outer = phase(4); track.leave(phase(6)); track.leave(outer)
"""
    with job(code) as running, source(running.pid) as read:
        assert running.line() == "in"
        last = read(running.pid)
        backwards = 0
        offsets: list[float] = []
        for _ in range(300):
            reading = read(running.pid)
            assert last and reading
            offsets.append(sum(reading.phase_seconds.values()) - reading.monotonic_seconds)
            moments = [each.monotonic_seconds for each in reading.segments]
            assert moments == sorted(moments)
            backwards += any(
                reading.phase_seconds[phase] < seconds - 0.001
                for phase, seconds in last.phase_seconds.items()
            )
            last = reading
    # All but those at which one of the two was taken off its core in between.
    spread = quantiles(offsets, n=10)
    assert spread[-1] - spread[0] < 0.005
    # A writer without a pause is often caught between two stores, and the time from then on goes to
    # the phase that it is about to leave, until it stores again.
    assert backwards <= (300 if pause == "pass" else 6)
