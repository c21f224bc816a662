"""The source of probes over a tree under a root prefix: pids that come back, the dead, rubbish."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

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

UID = os.getuid()


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """No page of this machine's other jobs is seen, and what is done now and then is done at once."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", "")
    monkeypatch.setattr(page_watch, "_CHECK_SECONDS", 0.0)
    monkeypatch.setattr(page_directories, "_LIST_SECONDS", 0.0)


def _ended(reading: ProbeReading | None) -> bool:
    return reading is not None and reading.ended_monotonic_seconds is not None


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
