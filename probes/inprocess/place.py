"""Where the page lies: a directory of our own on a tmpfs, checked before it is trusted."""

from __future__ import annotations

import fcntl
import os
import stat
import time

BESIDE = (".sock", ".torch.sock")
"""Endings of what lies beside a page: the control socket, torch's worker server."""
_KEPT_SECONDS = 24 * 3600.0
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


def remove_old(directory: int) -> None:
    """Remove pages that have been dead for a day. Those of the living are locked by their owners."""
    before = time.time() - _KEPT_SECONDS
    for name in os.listdir(directory):
        if not _is_page(name):
            continue
        try:
            if os.stat(name, dir_fd=directory, follow_symlinks=False).st_mtime < before:
                _remove_if_dead(directory, name)
        except OSError:
            continue


def _is_page(name: str) -> bool:
    pid, _, ticks = name[: -len(".page")].partition("-")  # to load `re` would take longer than all
    return name.endswith(".page") and pid.isdecimal() and ticks.isdecimal()


def _remove_if_dead(directory: int, name: str) -> None:
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    page = os.open(name, flags, dir_fd=directory)
    try:
        fcntl.flock(page, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.unlink(name, dir_fd=directory)
        for ending in BESIDE:
            try:
                os.unlink(name[: -len(".page")] + ending, dir_fd=directory)
            except FileNotFoundError:
                pass
    finally:
        os.close(page)
