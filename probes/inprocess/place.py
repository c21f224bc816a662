"""Where the page lies: a directory of our own on a tmpfs, checked before it is trusted."""

from __future__ import annotations

import fcntl
import os
import stat
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

BESIDE = (".sock", ".torch.sock")
"""Endings of what lies beside a page: the control socket, torch's worker server."""
_KEPT_SECONDS = 24 * 3600.0
_YOUNG_SECONDS = 10.0
_MOST_PAGES = 64
_MOST_BYTES = 32 << 20
_SHARE = 8
"""Pages of the dead take no larger part of the file system than one such: a container has 64 MiB."""
_AT_ONCE = 64
_MEMORY = ("tmpfs", "ramfs")
_MOUNTINFO_BYTES = 1 << 20


class NoPlace(Exception):
    """There is nowhere to put a page. The text says why, place by place."""


def candidates(environment: dict[str, str], uid: int) -> list[str]:
    """Directories to try, best first."""
    found: list[str] = []
    runtime = environment.get("XDG_RUNTIME_DIR", "")
    if runtime.startswith("/"):
        found.append(runtime.rstrip("/") + "/gputop")
    found.append(f"/run/user/{uid}/gputop")
    found.append(f"/dev/shm/gputop-{uid}")
    return list(dict.fromkeys(found))


def open_directory(path: str, uid: int) -> int:
    """A descriptor of that directory, made if it is not there, and found to be ours alone.

    Raises:
        OSError: it cannot be made or opened.
        NoPlace: it is not on a tmpfs, or somebody else could put something into it.
    """
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        pass  # ours from an earlier probe, or somebody's who took the name: that is checked now
    directory = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        status = os.fstat(directory)
        if status.st_uid != uid:
            raise NoPlace(f"{path} belongs to another user")
        if stat.S_IMODE(status.st_mode) & 0o077:
            raise NoPlace(f"{path} is open to others")
        kind = _file_system(status.st_dev)
        if kind not in _MEMORY:
            raise NoPlace(f"{path} is not in memory ({kind or 'unknown file system'})")
    except BaseException:
        os.close(directory)
        raise
    return directory


def _file_system(device: int) -> str | None:
    wanted = f"{os.major(device)}:{os.minor(device)}"
    with open("/proc/self/mountinfo", encoding="utf-8", errors="replace") as file:
        for line in file.read(_MOUNTINFO_BYTES).splitlines():
            mount, _, kind = line.partition(" - ")
            if mount.split(" ", 3)[2:3] == [wanted]:
                return kind.split(" ", 1)[0]
    return None


def remove_dead(directory: int) -> Iterator[int]:
    """Remove pages of the dead that are older than a day, or too many, or too large together.

    The newest stay. Those of the living are locked by their owners, in whatever PID namespace these are;
    what cannot be reported is left alone.

    Yields:
        After each few that were removed, how many: a start is not to be held up by thousands.
    """
    now = time.time()
    number, size, removed = 0, 0, 0
    most = _most_bytes(directory)
    for touched, bytes_, name in sorted(_pages(directory), reverse=True):
        if now - touched < _YOUNG_SECONDS:
            continue  # it may not be locked yet
        number += 1
        size += bytes_
        spare = now - touched > _KEPT_SECONDS or number > _MOST_PAGES or size > most
        gone = _take_dead(directory, name, remove=spare)
        if spare or not gone:  # removed, or of the living, who do not count
            number -= 1
            size -= bytes_
        if spare and gone:
            removed += 1
            if removed % _AT_ONCE == 0:
                yield removed
    yield removed


def _most_bytes(directory: int) -> int:
    found = os.fstatvfs(directory)
    return min(_MOST_BYTES, found.f_blocks * found.f_frsize // _SHARE)


def _pages(directory: int) -> Iterator[tuple[float, int, str]]:
    """When it was touched last, the memory that it takes, and its name."""
    with os.scandir(directory) as entries:
        for entry in entries:
            if _is_page(entry.name):
                try:
                    status = entry.stat(follow_symlinks=False)
                except OSError:
                    continue  # somebody else has removed it
                yield status.st_mtime, status.st_blocks * 512, entry.name


def _is_page(name: str) -> bool:
    pid, _, ticks = name[: -len(".page")].partition("-")  # to load `re` would take longer than all
    return name.endswith(".page") and pid.isdecimal() and ticks.isdecimal()


def _take_dead(directory: int, name: str, *, remove: bool) -> bool:
    """Whether it is a page of a dead process, and none that anybody else is removing."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        page = os.open(name, flags, dir_fd=directory)
    except OSError:
        return False
    try:
        fcntl.flock(page, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if _lives(name):
            return False
        if remove:
            os.unlink(name, dir_fd=directory)
    except OSError:
        return False
    finally:
        os.close(page)
    for ending in BESIDE if remove else ():
        try:
            os.unlink(name[: -len(".page")] + ending, dir_fd=directory)
        except OSError:
            pass
    return True


def _lives(name: str) -> bool:
    """Whether its process runs here, though it has closed all its files and so lost its lock."""
    pid, _, ticks = name[: -len(".page")].partition("-")
    try:
        return started(pid) == int(ticks)
    except OSError:
        return False


def started(pid: str) -> int:
    """When a process started, in clock ticks since boot, as the kernel names it."""
    with open(f"/proc/{pid}/stat", "rb") as file:
        return int(file.read(4096).rpartition(b")")[2].split()[19])
