"""NFS mounts of ranks, from trees: whose they are, who may see them, and how seldom they are read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gputop.probes.model.mount_readings import MountReading
from gputop.probes.sources.processes.mounts import MountSource
from gputop.probes.sources.protocol import SourceDenied
from gputop.probes.sources.watchlist import Watchlist

from fixtures.proc_tree import ProcTree

NFS = """device /dev/sda1 mounted on / with fstype ext4
device filer:/export mounted on /data with fstype nfs4 statvers=1.1
	bytes:	0 0 0 0 4096 0 0 0
	        READ: 10 12 0 0 0 50 150 210 0
device filer:/home mounted on /home with fstype nfs4 statvers=1.1
	        READ: 1 1 0 0 0 0 1 1 0
"""
DISK = "device /dev/sda1 mounted on / with fstype ext4\n"
STARTED = 5000 / os.sysconf("SC_CLK_TCK")


def tree(root: Path, pids: dict[int, str], children: dict[int, int] | None = None) -> ProcTree:
    """Ranks with the text of their mounts, all in one mount namespace unless the text differs."""
    made = ProcTree(root)
    texts = list(dict.fromkeys(pids.values()))
    for pid, text in pids.items():
        child = (children or {}).get(pid)
        made.process(pid, children=(child,) if child else ())
        made.write(f"proc/{pid}/mountstats", text)
        made.link(f"proc/{pid}/ns/mnt", f"mnt:[{texts.index(text)}]")
        made.link(f"proc/{pid}/fd/3", "/home/me/train.py")
        if child:
            made.process(child, parent=pid)
            made.link(f"proc/{child}/fd/7", "/data/train/00017.tar")
            made.link(f"proc/{child}/fd/8", "socket:[77]")
    return made


def source(root: Path, *pids: int) -> MountSource:
    watchlist = Watchlist()
    watchlist.set_ranks(dict.fromkeys(pids, STARTED))
    return MountSource(watchlist, root)


def by_point(readings: tuple[MountReading, ...]) -> dict[str, MountReading]:
    return {each.mount_point: each for each in readings}


def test_mounts_are_told_once_with_the_ranks_that_use_them(tmp_path: Path) -> None:
    tree(tmp_path, {100: NFS, 200: NFS}, {200: 201})
    found = by_point(source(tmp_path, 100, 200).read())
    data, home = found["/data"], found["/home"]
    assert (data.pid, data.users, data.device) == (100, (200,), "filer:/export")
    assert (data.operations, data.transmissions, data.read_bytes) == (10, 12, 4096)
    assert (data.queue_seconds, data.round_trip_seconds) == (0.05, 0.15)
    assert home.users == (100, 200) and len(found) == 2


def test_each_namespace_has_mounts_of_its_own(tmp_path: Path) -> None:
    tree(tmp_path, {100: NFS, 200: NFS.replace("filer", "other"), 300: DISK})
    found = source(tmp_path, 100, 200, 300).read()
    assert {(each.pid, each.device) for each in found} == {
        *((100, f"filer:/{name}") for name in ("export", "home")),
        *((200, f"other:/{name}") for name in ("export", "home")),
    }


def test_a_file_that_was_open_once_is_remembered(tmp_path: Path) -> None:
    tree(tmp_path, {100: NFS}, {100: 101})
    mounts = source(tmp_path, 100)
    assert by_point(mounts.read())["/data"].users == (100,)
    (tmp_path / "proc/101/fd/7").unlink()
    assert by_point(mounts.read())["/data"].users == (100,)
    assert by_point(source(tmp_path, 100).read())["/data"].users == ()


def test_where_there_is_none_it_is_not_read_again_soon(tmp_path: Path) -> None:
    made = tree(tmp_path, {100: DISK})
    mounts = source(tmp_path, 100)
    assert mounts.read() == ()
    made.write("proc/100/mountstats", NFS)
    assert mounts.read() == ()
    assert len(source(tmp_path, 100).read()) == 2


def test_of_a_rank_that_is_another_by_now_nothing_is_told(tmp_path: Path) -> None:
    made = tree(tmp_path, {100: NFS})
    made.process(100, start=9000)
    assert source(tmp_path, 100, 101).read() == ()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_whose_mounts_may_not_be_read(tmp_path: Path) -> None:
    tree(tmp_path, {100: NFS})
    (tmp_path / "proc/100/mountstats").chmod(0)
    with pytest.raises(SourceDenied, match="job's user"):
        source(tmp_path, 100).read()


def test_open_files_that_are_not_shown_leave_the_users_unknown(tmp_path: Path) -> None:
    tree(tmp_path, {100: NFS})
    for link in (tmp_path / "proc/100/fd").iterdir():
        link.unlink()
    (tmp_path / "proc/100/fd").rmdir()
    data = by_point(source(tmp_path, 100).read())["/data"]
    assert data.users is None and "job's user" in data.missing["users"]


def test_a_real_process() -> None:
    watchlist = Watchlist()
    watchlist.set_ranks({os.getpid(): 0.0})  # of another start: it is not told of, but read
    assert MountSource(watchlist).read() == ()
