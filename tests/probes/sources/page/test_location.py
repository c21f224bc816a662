"""A page is found wherever the probe may have made it, and nothing else is taken for one."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gputop.probes.inprocess import layout
from gputop.probes.sources.page.location import PageRefused
from gputop.probes.sources.page.reader import PageReader, find_page

from fixtures.pages import TICKS, MadePage, trained_page
from fixtures.proc_tree import ProcTree

UID = os.getuid()
PID = 80


class Node:
    """A made root with one process in it, and its page."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.tree = ProcTree(root)
        self.tree.process(PID, start=TICKS, uid=UID)
        self.page = trained_page(time.monotonic_ns())
        self.folder = root / f"dev/shm/gputop-{UID}"

    def find(self) -> PageReader | None:
        return find_page(str(self.root), self.page.owner)

    def found(self) -> bool:
        reader = self.find()
        if reader is not None:
            reader.close()
        return reader is not None


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Node]:
    made = Node(tmp_path)
    yield made
    made.page.let_go()


def test_without_a_page_there_is_none(node: Node) -> None:
    assert not node.found()


@pytest.mark.parametrize("folder", [f"run/user/{UID}/gputop", f"dev/shm/gputop-{UID}"])
def test_it_is_found_in_each_directory(node: Node, folder: str) -> None:
    node.page.save(node.root / folder)
    assert node.found()


def test_it_is_found_where_the_environment_of_the_job_says(node: Node) -> None:
    node.tree.process(
        PID, start=TICKS, uid=UID, environment={"XDG_RUNTIME_DIR": "/somewhere/else/"}
    )
    node.page.save(node.root / "somewhere/else/gputop")
    assert node.found()


def test_an_environment_cannot_lead_out_of_the_jobs_root(node: Node) -> None:
    node.tree.process(PID, start=TICKS, uid=UID, environment={"XDG_RUNTIME_DIR": "/../outside"})
    node.page.save(node.root.parent / "outside/gputop")
    assert not node.found()


def test_the_environment_of_a_process_that_sleeps_hard_is_not_read(node: Node) -> None:
    os.mkfifo(node.root / "proc/80/fifo")  # reading it would hang
    (node.root / "proc/80/environ").unlink()
    (node.root / "proc/80/environ").symlink_to("fifo")
    node.page.save(node.folder)
    reader = find_page(str(node.root), node.page.owner, asleep=True)
    assert reader is not None
    reader.close()


def test_in_a_container_it_lies_below_the_containers_root_under_its_inner_pid(node: Node) -> None:
    inside = node.root / "containers/1"
    inside.mkdir(parents=True)
    (node.root / "proc/900").mkdir()
    (node.root / "proc/900/root").symlink_to(inside)
    (node.root / "proc/900/uid_map").write_text(f"         0 {UID}          1\n")
    node.page.save(inside / "dev/shm/gputop-0")
    reader = find_page(str(node.root), node.page.owner._replace(pid=900))
    assert reader is not None
    assert reader.read(time.monotonic_ns()).pid == 900
    reader.close()


@pytest.mark.parametrize("way", ["dev/shm", f"dev/shm/gputop-{UID}"])
def test_no_link_is_followed_on_the_way(node: Node, way: str) -> None:
    node.page.save(node.folder)
    (node.root / way).rename(node.root / "real")
    (node.root / way).symlink_to(node.root / "real")
    assert not node.found()


def test_a_directory_that_others_can_change_is_not_looked_into(node: Node) -> None:
    node.page.save(node.folder)
    node.folder.chmod(0o777)
    assert not node.found()


Spoil = Callable[[Path], None]


def to_link(path: Path) -> None:
    path.rename(path.with_suffix(".real"))
    path.symlink_to(path.with_suffix(".real"))


def to_fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path, 0o600)


def to_directory(path: Path) -> None:
    path.unlink()
    path.mkdir(mode=0o700)


def cut(path: Path) -> None:
    os.truncate(path, layout.PAGE_SIZE - 1)


def cut_short(path: Path) -> None:
    os.truncate(path, 20)


def blow_up(path: Path) -> None:
    os.truncate(path, 1 << 30)


def overwrite(path: Path) -> None:
    with path.open("r+b") as file:
        file.write(b"#!/bin/sh\n")


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (to_link, "is a link"),
        (to_fifo, "not a regular file"),
        (to_directory, "not a regular file"),
        (lambda path: path.chmod(0o602), "can be written by others"),
        (lambda path: path.chmod(0o620), "can be written by others"),
        (cut, "another size"),
        (cut_short, "cut short"),
        (blow_up, "far too many"),
        (overwrite, "no page of gputop's"),
    ],
)
def test_what_is_not_to_be_trusted_is_refused_in_one_line(
    node: Node, spoil: Spoil, why: str
) -> None:
    spoil(node.page.save(node.folder))
    began = time.monotonic()
    with pytest.raises(PageRefused, match=why) as refused:
        node.find()
    assert "\n" not in str(refused.value)
    assert time.monotonic() - began < 5  # nothing was waited for


@pytest.mark.skipif(UID != 0, reason="only root can make a device or another user's file")
def test_devices_and_foreign_files_are_refused(node: Node) -> None:
    path = node.page.save(node.folder)
    os.chown(path, 12345, 12345)
    with pytest.raises(PageRefused, match="belongs to another user"):
        node.find()
    path.unlink()
    os.mknod(path, 0o600 | 0o020000, os.makedev(1, 5))  # /dev/zero
    with pytest.raises(PageRefused, match="not a regular file"):
        node.find()


@pytest.mark.skipif(UID != 0, reason="only root can give a directory away")
def test_a_directory_of_another_user_is_not_looked_into(node: Node) -> None:
    node.page.save(node.folder)
    os.chown(node.folder, 12345, 12345)
    assert not node.found()


@pytest.mark.parametrize("version", [0, layout.VERSION - 1, layout.VERSION + 1, 2**32 - 1])
def test_another_version_is_named(node: Node, version: int) -> None:
    page = MadePage(version=version)
    page.save(node.folder)
    reported = rf"layout {version} and this gputop reads {layout.VERSION}: install"
    with pytest.raises(PageRefused, match=reported):
        node.find()
    page.let_go()


@pytest.mark.parametrize(("pid", "ticks"), [(PID + 1, TICKS), (PID, TICKS + 1)])
def test_the_page_of_another_process_under_this_ones_name_is_refused(
    node: Node, pid: int, ticks: int
) -> None:
    page = MadePage(pid, ticks)
    path = page.save(node.folder)
    path.rename(path.with_name(node.page.name))
    with pytest.raises(PageRefused, match="another process"):
        node.find()
    page.let_go()


def test_a_page_that_is_just_being_made_is_not_there_yet(node: Node) -> None:
    path = node.page.save(node.folder)
    os.pwrite(node.page.descriptor, bytes(layout.HEADER.size), 0)
    assert not node.found()
    os.truncate(path, 0)
    assert not node.found()
