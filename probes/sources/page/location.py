"""Where the state page of a process lies, and how it is opened without being fooled.

A page belongs to the user of the job, and a monitor may run as root: a link, a pipe or a device in its
place would make it read, or wait for, something else. So whatever is found is first held by a descriptor
that reads nothing (``O_PATH``), then checked, and only then opened for reading.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import NamedTuple

from ...inprocess import layout
from ..procfs.files import read_file
from ..procfs.text import Status, parse_stat, parse_status

PAGE_NAME = re.compile(r"([0-9]{1,10})-([0-9]{1,19})\.page")
"""The pid in the job's own namespace, and its start time in clock ticks since boot."""
_DELETED = " (deleted)"
_MOST_DESCRIPTORS = 8192
_MOST_BYTES = 1 << 24
_ENVIRONMENT_BYTES = 1 << 18
_RUNTIME = b"XDG_RUNTIME_DIR="
_ON_THE_WAY = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class PageRefused(Exception):
    """There is a page, but it is not read. The text is one sentence for people."""


class Owner(NamedTuple):
    """The process that a page is of."""

    pid: int
    """As this monitor sees it."""
    inner_pid: int
    """As the process sees itself."""
    start_ticks: int
    user_id: int

    @property
    def page_name(self) -> str:
        """Of the file."""
        return f"{self.inner_pid}-{self.start_ticks}.page"

    @classmethod
    def made(cls, pid: int, start_ticks: int, status: Status) -> Owner | None:
        """Out of what ``/proc`` says of a process; ``None`` where it does not say whose it is."""
        if status.user_id is None:
            return None
        inner_pid = status.namespace_pids[-1] if status.namespace_pids else pid
        return cls(pid, inner_pid, start_ticks, status.user_id)


def owner_of(root: str, pid: int) -> tuple[Owner, bool] | None:
    """A process as the owner of a page, and whether it is in uninterruptible sleep; ``None``: it is gone.

    Args:
        root: of the file system with ``proc`` in it.
        pid: of the process.
    """
    try:
        stat_line = parse_stat(read_file(f"{root}/proc/{pid}/stat"))
        status = parse_status(read_file(f"{root}/proc/{pid}/status"))
    except OSError:
        return None
    owner = Owner.made(pid, stat_line.start_ticks, status) if stat_line else None
    return (owner, stat_line.state == "D") if owner and stat_line else None


def open_page(root: str, owner: Owner, *, asleep: bool = False, again: bool = False) -> int | None:
    """A descriptor of the page of a process; ``None``: it has none, or none that this user may see.

    Args:
        root: of the file system with ``proc`` in it.
        owner: the process.
        asleep: it is in uninterruptible sleep, and reading its environment could hang.
        again: everywhere has been looked before. One that was made since is among the process's
            descriptors, so where these may be seen no more is done, which costs far less.

    Raises:
        PageRefused: what is there is not to be trusted.
    """
    refused: PageRefused | None = None
    try:
        found = _among_descriptors(root, owner)
    except PermissionError:
        again = False
    except PageRefused as refusal:
        refused = refusal
    else:
        if found is not None or again:
            return found
    found = _in_directories(root, owner, asleep)
    if found is None and refused is not None:
        raise refused
    return found


def open_in(directory: int | None, name: str, user_id: int) -> int:
    """A descriptor for reading of a regular file of bounded size that its owner alone can write.

    Args:
        directory: descriptor; without one, ``name`` is the magic link of an open file.
        name: of the file.
        user_id: of the owner.

    Raises:
        OSError: there is no such file, or this user may not read it.
        PageRefused: it is something else.
    """
    no_link = os.O_NOFOLLOW if directory is not None else 0
    handle = os.open(name, os.O_PATH | os.O_CLOEXEC | no_link, dir_fd=directory)
    try:
        found = os.fstat(handle)
        if stat.S_ISLNK(found.st_mode):
            raise PageRefused("its state page is a link")
        if not stat.S_ISREG(found.st_mode):
            raise PageRefused("its state page is not a regular file")
        if found.st_uid != user_id:
            raise PageRefused("its state page belongs to another user")
        if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise PageRefused("its state page can be written by others")
        if found.st_size > _MOST_BYTES:
            raise PageRefused(f"its state page has {found.st_size} bytes, far too many")
        return os.open(f"/proc/self/fd/{handle}", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    finally:
        os.close(handle)


def check_header(header: bytes, owner: Owner) -> bool:
    """Whether the page is there: its header is stored last.

    Raises:
        PageRefused: it is of another version, or of another process.
    """
    if not any(header):
        return False
    if len(header) < layout.HEADER.size:
        raise PageRefused("its state page is cut short")
    magic, version, size, pid, ticks, _, _ = layout.HEADER.unpack_from(header)
    if magic != layout.MAGIC:
        raise PageRefused("its state page is no page of gputop's")
    if version != layout.VERSION:
        raise PageRefused(
            f"its state page is of layout {version} and this gputop reads {layout.VERSION}: "
            "install the same version in the job and here"
        )
    if size != layout.PAGE_SIZE:
        raise PageRefused("its state page has another size than its layout")
    if (pid, ticks) != (owner.inner_pid, owner.start_ticks):
        raise PageRefused("its state page was made by another process")
    return True


def descend(anchor: int, path: str) -> int:
    """A descriptor of a directory below another one, reached without following any link.

    Raises:
        OSError: a part of the way is missing, no directory, or a link.
    """
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if ".." in parts:
        raise NotADirectoryError(path)
    here = os.dup(anchor)
    for part in parts:
        try:
            below = os.open(part, _ON_THE_WAY, dir_fd=here)
        finally:
            os.close(here)
        here = below
    return here


@contextlib.contextmanager
def trusted_directory(anchor: int, path: str, user_id: int) -> Generator[int]:
    """As `descend`, for the length of a block, and only one that its owner alone can change.

    Raises:
        OSError: a part of the way is missing, no directory, or a link; or it is another user's.
    """
    directory = descend(anchor, path)
    try:
        found = os.fstat(directory)
        if found.st_uid != user_id or found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise PermissionError(f"{path} is not its user's alone")
        yield directory
    finally:
        os.close(directory)


@contextlib.contextmanager
def beside_page(root: str, owner: Owner, path: str) -> Generator[int]:
    """A descriptor, for the length of a block, of a directory that `folders_of` has named.

    Raises:
        OSError: it is not there, or is not its user's alone.
    """
    anchor = _root_of(root, owner.pid)
    try:
        with trusted_directory(anchor, path, owner.user_id) as directory:
            yield directory
    finally:
        os.close(anchor)


def folders_of(root: str, owner: Owner, *, asleep: bool = False) -> list[str]:
    """Where the page of a process may lie, as the process sees it: where it has one open comes first."""
    folders: list[str] = []
    with contextlib.suppress(PermissionError):
        folders += [target.rpartition("/")[0] for _, target in _open_pages(root, owner)]
    return list(dict.fromkeys([*folders, *_directories(root, owner, asleep)]))


def _open_pages(root: str, owner: Owner) -> Iterator[tuple[str, str]]:
    """Links among its descriptors that are named as its page is, and what they point to.

    Raises:
        PermissionError: they may not be seen.
    """
    folder = f"{root}/proc/{owner.pid}/fd"
    try:
        names = os.listdir(folder)[:_MOST_DESCRIPTORS]  # noqa: PTH208 - no Path per descriptor
    except PermissionError:
        raise
    except OSError:
        return
    ending = f"/{owner.page_name}"
    for name in names:
        link = f"{folder}/{name}"
        with contextlib.suppress(OSError):
            target = os.readlink(link).removesuffix(_DELETED)  # noqa: PTH115
            if target.endswith(ending):
                yield link, target


def _among_descriptors(root: str, owner: Owner) -> int | None:
    """The probe keeps its page open, so it is found here also after a log-out removed the file.

    Raises:
        PermissionError: they may not be seen.
    """
    for link, _ in _open_pages(root, owner):
        with contextlib.suppress(OSError):
            return open_in(None, link, owner.user_id)
    return None


def _in_directories(root: str, owner: Owner, asleep: bool) -> int | None:
    anchor = _root_of(root, owner.pid)
    try:
        for path in _directories(root, owner, asleep):
            with (
                contextlib.suppress(OSError),
                trusted_directory(anchor, path, owner.user_id) as directory,
            ):
                return open_in(directory, owner.page_name, owner.user_id)
    finally:
        os.close(anchor)
    return None


def _root_of(root: str, pid: int) -> int:
    """The process's own root, that of its container; this one's where that may not be seen."""
    try:
        return os.open(f"{root}/proc/{pid}/root", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return os.open(root or "/", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)


def _directories(root: str, owner: Owner, asleep: bool) -> list[str]:
    """Where the probe makes its page, in its order."""
    folder = f"{root}/proc/{owner.pid}"
    paths: list[str] = []
    if not asleep:
        paths += _runtime_directory(folder)
    for user_id in dict.fromkeys((_inner_user_id(folder, owner.user_id), owner.user_id)):
        paths += f"/run/user/{user_id}/gputop", f"/dev/shm/gputop-{user_id}"
    return paths


def _runtime_directory(folder: str) -> list[str]:
    try:
        environment = read_file(f"{folder}/environ", _ENVIRONMENT_BYTES)
    except OSError:
        return []
    for entry in environment.split(b"\0"):
        if entry.startswith(_RUNTIME + b"/"):
            return [f"{os.fsdecode(entry[len(_RUNTIME) :]).rstrip('/')}/gputop"]
    return []


def _inner_user_id(folder: str, user_id: int) -> int:
    """What the process takes its own user to be: another one in a container without root."""
    try:
        ranges = Path(folder, "uid_map").read_text()
    except OSError:
        return user_id
    for line in ranges.splitlines():
        numbers = [int(word) for word in line.split() if word.isdecimal()]
        if len(numbers) == 3 and 0 <= user_id - numbers[1] < numbers[2]:
            return numbers[0] + user_id - numbers[1]
    return user_id
