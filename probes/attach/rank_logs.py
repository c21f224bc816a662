"""The last lines of what a process writes to, where that is a regular file; of all else, who reads it.

Nothing is taken from a pipe, socket or terminal: what is read there is lost to whoever it was meant for.
"""

from __future__ import annotations

import contextlib
import os
import stat
import threading
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import NamedTuple

from ..sources.procfs.redaction import mask_text
from ..sources.procfs.target import start_time_of
from ..sources.procfs.text import same_start
from ..sources.waits.holder import Holders
from ..sources.waits.open_ends import OpenEnds
from ..sources.waits.sockets import far_end

LINES = 200
MOST_BYTES = 1 << 20
MOST_LINE_CHARS = 4000
PATIENCE_SECONDS = 5.0
"""A file on a server that is gone answers never."""
_STREAMS = {"stdout": 1, "stderr": 2}
_MOST_READERS = 4
_KEY_BEGINS, _KEY_ENDS = "PRIVATE KEY-----", "-----END"

_Look = tuple[tuple[int, int] | None, tuple[str, ...], str]
"""The identity of what is open, its last lines, and why there are none."""


class Log(NamedTuple):
    """What a stream of a process leads to."""

    stream: str
    """``stdout`` or ``stderr``."""
    lines: tuple[str, ...]
    """The last ones, masked; empty where there are none to be had."""
    why_not: str = ""
    """One clause, where nothing was taken."""


class LogReader:
    """Reads the streams of one process after the other.

    Args:
        root: of the file system with ``proc`` in it.
    """

    def __init__(self, root: Path = Path("/")) -> None:
        self._proc = f"{str(root).rstrip('/')}/proc"
        self._root = root
        self._ends = OpenEnds(root)
        self._holders = Holders(root)

    def logs(self, pid: int, start_time_seconds: float) -> list[Log]:
        """Both streams of exactly that process; the second is left out where it is the same file."""
        found: list[Log] = []
        before: tuple[int, int] | None = None
        for stream, number in _STREAMS.items():
            answer = _within(partial(self._look, pid, number), PATIENCE_SECONDS)
            if answer is None:
                found.append(Log(stream, (), "the file system that it is on does not answer"))
                continue
            identity, lines, why_not = answer
            began = start_time_of(pid, self._root)
            if began is None or not same_start(began, start_time_seconds):
                return [Log(stream, (), "the process has exited")]
            if identity is None or identity != before:
                found.append(Log(stream, lines, why_not))
            before = identity
        return found

    def _look(self, pid: int, number: int) -> _Look:
        link = f"{self._proc}/{pid}/fd/{number}"
        try:
            # Opened for nothing but its identity: that blocks on no pipe, and wakes up no device.
            handle = os.open(link, os.O_PATH | os.O_CLOEXEC)
        except FileNotFoundError:
            there = os.path.exists(f"{self._proc}/{pid}/fd")  # noqa: PTH110
            return None, (), "it is closed" if there else "the process has exited"
        except OSError as error:
            return None, (), error.strerror or str(error)
        try:
            about = os.fstat(handle)
            identity = (about.st_dev, about.st_ino)
            if not stat.S_ISREG(about.st_mode):
                return identity, (), self._other(pid, link, about)
            try:
                flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
                file = os.open(f"/proc/self/fd/{handle}", flags)
            except OSError as error:
                return identity, (), f"it may not be read: {error.strerror}"
            with os.fdopen(file, "rb") as opened:
                lines = last_lines(opened.fileno(), about.st_size)
            return identity, lines, "" if lines else "the file is empty"
        except OSError as error:
            return None, (), f"it cannot be read: {error.strerror}"
        finally:
            os.close(handle)

    def _other(self, pid: int, link: str, about: os.stat_result) -> str:
        """What is open there, and who has the other end."""
        with contextlib.suppress(OSError):
            name = os.readlink(link)  # noqa: PTH115
            if stat.S_ISFIFO(about.st_mode):
                return f"a pipe, {self._readers(name, about, pid)}"
            if stat.S_ISSOCK(about.st_mode):
                return self._socket(pid, about.st_ino)
            if stat.S_ISCHR(about.st_mode):
                what = "a terminal" if name.startswith(("/dev/pts/", "/dev/tty")) else "a device"
                return f"{what} ({name})"
        return "no regular file"

    def _readers(self, name: str, about: os.stat_result, pid: int) -> str:
        found = self._ends.find({name}, [pid])
        pids = {end.pid for end in found.found if end.mode != os.O_WRONLY} - {os.getpid()}
        if not pids:
            return "whose reader is not seen" if not found.all_seen else "which nobody reads"
        return f"read by {self._called(pids)}"

    def _socket(self, pid: int, inode: int) -> str:
        far = far_end(f"{self._proc}/{pid}", inode)
        if far is None:
            return "a socket"
        if not far.inode:
            return f"a socket to {far.name}" if far.name else f"a {far.kind}"
        found = self._ends.find({f"socket:[{far.inode}]"}, [pid])
        pids = {end.pid for end in found.found}
        return (
            f"a {far.kind}, whose other end {self._called(pids)} has" if pids else f"a {far.kind}"
        )

    def _called(self, pids: set[int]) -> str:
        names: list[str] = []
        for pid in sorted(pids)[:_MOST_READERS]:
            holder = self._holders.look(pid, "reads")
            names.append(f"process {pid} ({holder.name})" if holder else f"process {pid}")
        more = len(pids) - len(names)
        return " and ".join(names) + (f" and {more} more" if more > 0 else "")


def last_lines(descriptor: int, size: int) -> tuple[str, ...]:
    """The last `LINES` lines of a file, masked, as a terminal would show them."""
    start = max(0, size - MOST_BYTES)
    data = os.pread(descriptor, MOST_BYTES, start)
    whole = data.decode("utf-8", "replace")
    lines = whole.split("\n")
    if start:
        lines = lines[1:]  # it was cut in the middle: what is left of a word may be half a secret
    if lines and not lines[-1]:
        lines.pop()
    # Twice as many are masked: a key over several lines may have begun before.
    masked = _masked([_shown(line) for line in lines[-2 * LINES :]])
    return tuple(line[:MOST_LINE_CHARS] for line in masked[-LINES:])


def _masked(lines: Iterable[str]) -> list[str]:
    """Line by line, for each is a text of its own; a private key is one over many."""
    found: list[str] = []
    key: list[str] = []
    for line in lines:
        if key or _KEY_BEGINS in line:
            key.append(line)
            if _KEY_ENDS not in line:
                continue
            line, key = "\n".join(key), []
        found += mask_text(line).split("\n")
    return found + (mask_text("\n".join(key)).split("\n") if key else [])


def _shown(line: str) -> str:
    """A progress bar writes over itself: what it said last."""
    return next((part for part in reversed(line.split("\r")) if part), "")


def _within(look: Callable[[], _Look], seconds: float) -> _Look | None:
    """What a look brings; ``None`` where it does not come back in time."""
    found: list[_Look] = []
    thread = threading.Thread(target=lambda: found.append(look()), daemon=True)
    thread.start()
    thread.join(seconds)
    return found[0] if found else None
