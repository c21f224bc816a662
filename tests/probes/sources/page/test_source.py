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

from gputop.probes.inprocess import layout
from gputop.probes.model.probe_readings import ProbeReading
from gputop.probes.sources.page import directories as page_directories
from gputop.probes.sources.page import process_page as page_watch
from gputop.probes.sources.page.location import open_in
from gputop.probes.sources.page.source import ProbeSource
from gputop.probes.sources.watchlist import Watchlist

from fixtures.pages import TICKS, MadePage, trained_page
from fixtures.proc_tree import ProcTree
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


class Tree:
    """A made root, and a source over it."""

    def __init__(self, root: Path) -> None:
        self.proc = ProcTree(root)
        self.folder = root / f"dev/shm/gputop-{UID}"
        self.watchlist = Watchlist()
        self.source = ProbeSource(self.watchlist, root)
        self.pages: list[MadePage] = []

    def page(self, pid: int, ticks: int = TICKS, *, held: bool = True) -> MadePage:
        page = trained_page(time.monotonic_ns(), pid=pid, ticks=ticks)
        page.save(self.folder, held=held)
        self.pages.append(page)
        return page

    def read(self) -> list[tuple[int, float, bool]]:
        """Pid, start and whether it is dead."""
        return [(each.pid, each.start_time_seconds, _ended(each)) for each in self.source.read()]


@pytest.fixture
def tree(tmp_path: Path) -> Iterator[Tree]:
    made = Tree(tmp_path)
    yield made
    made.source.close()
    for page in made.pages:
        page.let_go()


def test_a_pid_that_came_back_is_another_process(tree: Tree) -> None:
    tree.proc.process(80, start=TICKS, uid=UID)
    old = tree.page(80)
    assert tree.read() == [(80, 50.0, False)]
    old.let_go()
    tree.proc.process(80, start=6000, uid=UID)
    assert tree.read() == [(80, 50.0, True)]
    tree.page(80, 6000)
    assert tree.read() == [(80, 50.0, True), (80, 60.0, False)]


def test_a_page_is_found_soon_after_it_was_made(tree: Tree) -> None:
    tree.proc.process(80, start=TICKS, uid=UID)
    tree.watchlist.set_gpu(0, [80])
    assert tree.read() == []
    tree.page(80)
    assert tree.read() == [(80, 50.0, False)]


def test_a_page_is_found_at_once_when_its_directory_changes(
    tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Though the process is not due to be looked at again."""
    monkeypatch.setattr(page_watch, "_CHECK_SECONDS", 1000.0)
    tree.proc.process(80, start=TICKS, uid=UID)
    tree.watchlist.set_gpu(0, [80])
    assert tree.read() == []
    tree.page(80)
    assert tree.read() == [(80, 50.0, False)]


def test_a_page_that_is_refused_says_why(tree: Tree) -> None:
    tree.proc.process(80, start=TICKS, uid=UID)
    page = MadePage(version=layout.VERSION + 1)
    page.save(tree.folder)
    tree.pages.append(page)
    (reading,) = tree.source.read()
    assert reading.phase is None
    assert "install the same version" in reading.missing["phase"]


def test_a_page_that_is_cut_short_while_it_is_watched_says_so_and_may_come_back(tree: Tree) -> None:
    tree.proc.process(80, start=TICKS, uid=UID)
    page = tree.page(80)
    assert tree.read() == [(80, 50.0, False)]
    os.ftruncate(page.descriptor, 100)
    (reading,) = tree.source.read()
    assert "cut short" in reading.missing["phase"]
    page.put(0, bytes(page.data))
    (reading,) = tree.source.read()
    assert reading.phase == "backward"


def test_a_page_that_nobody_holds_is_not_the_living_processs(tree: Tree) -> None:
    tree.proc.process(80, start=TICKS, uid=UID)
    tree.page(80, held=False)
    assert tree.read() == []


def test_the_dead_are_reported_for_a_day(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tree.page(80, held=False)
    os.utime(page.descriptor, (1, 1))
    assert tree.read() == [(80, 50.0, True)]
    monkeypatch.setattr(page_directories, "_TOLD_SECONDS", 0.1)
    assert tree.read() == []
    assert tree.read() == []
    assert (tree.folder / page.name).exists()


def test_of_very_many_dead_the_newest_are_reported(tree: Tree) -> None:
    for pid in range(100, 180):
        page = trained_page(time.monotonic_ns() - (180 - pid) * 10**7, pid=pid)
        path = page.save(tree.folder, held=False)
        page.let_go()
        os.utime(path, (pid, pid))
    assert [pid for pid, _, _ in tree.read()] == list(range(164, 180))
    assert len(tree.read()) == 16


def test_the_living_are_seen_among_thousands_of_dead(tree: Tree) -> None:
    tree.folder.mkdir(mode=0o700, parents=True)
    for pid in range(100_000, 106_000):
        (tree.folder / f"{pid}-5.page").touch()
    tree.proc.process(80, start=TICKS, uid=UID)
    path = tree.page(80).save(tree.folder)
    os.utime(path, (1, 1))  # stopped long ago
    assert tree.read() == [(80, 50.0, False)]


def test_a_page_of_the_dead_is_opened_once(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    for pid in range(100, 140):
        path = tree.page(pid, held=False).save(tree.folder, held=False)
        os.utime(path, (pid, pid))
    opened: list[str] = []
    really = open_in

    def counting(directory: int | None, name: str, user_id: int) -> int:
        opened.append(name)
        return really(directory, name, user_id)

    monkeypatch.setattr(page_directories, "open_in", counting)
    for _ in range(4):
        assert len(tree.read()) == 16
    assert len(opened) == 16
    assert len(set(opened)) == 16


def test_another_page_under_a_known_name_is_looked_at(tree: Tree) -> None:
    path = tree.page(80, held=False).save(tree.folder, held=False)
    path.write_bytes(b"rubbish")
    assert tree.read() == []
    path.rename(path.with_suffix(".kept"))  # so that its inode is not given to the next one
    tree.page(80, held=False)
    assert tree.read() == [(80, 50.0, True)]


def test_rubbish_in_the_directory_is_passed_over(tree: Tree) -> None:
    tree.folder.mkdir(mode=0o700, parents=True)
    (tree.folder / "80-5000.sock").write_bytes(b"")
    (tree.folder / "81-5000.page").write_bytes(os.urandom(4096))
    (tree.folder / "82-5000.page").symlink_to("/etc/passwd")
    os.mkfifo(tree.folder / "83-5000.page", 0o600)
    (tree.folder / "99999999999999999999-1.page").write_bytes(b"")
    assert tree.read() == []


def test_no_descriptor_is_lost_over_many_lives(tree: Tree) -> None:
    def opened() -> int:
        return len(os.listdir("/proc/self/fd"))  # noqa: PTH208

    before = opened()
    for turn in range(30):
        tree.proc.process(80, start=TICKS + turn, uid=UID)
        page = tree.page(80, TICKS + turn)
        tree.read()
        page.let_go()
        tree.proc.end(80)
        tree.read()
    tree.source.close()
    assert opened() <= before


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
