"""The file that a process stands still at, and the mount it lies on: reported by the system call it is in.

Nothing here touches the file or its mount, which may hang for ever. Of a call that names its file by a
text in the process's memory, that is read only while the process can be interrupted.
"""

from __future__ import annotations

import os

from ...model.rank_readings import BlockedFile
from ..procfs.files import read_file
from ..procfs.redaction import mask_text
from ..procfs.system_calls import PATH_BYTES, call_of, numbers_of, path_at
from ..procfs.text import unescape

_MOUNTS_BYTES = 1 << 18
_KNOWN = numbers_of(
    (
        *("read", "write", "pread64", "pwrite64", "readv", "recvfrom", "recvmsg", "open", "openat"),
        *("close", "stat", "fstat", "newfstatat", "statx", "getdents64"),
        *("fcntl", "flock", "fsync", "fdatasync"),
    )
)


def blocked_file(folder: str, *, interruptible: bool) -> BlockedFile | None:
    """The file at which the main thread of a process is; ``None`` where nothing tells.

    Args:
        folder: of the process in ``/proc``.
        interruptible: its memory may be read without hanging.
    """
    try:
        found = call_of(folder, _KNOWN)
        if found is None:
            return None
        call, (first, second, *_) = found
        if call.given == "descriptor":
            path = os.readlink(f"{folder}/fd/{first}".encode()).decode("utf-8", "replace")  # noqa: PTH115
        elif interruptible:
            path = path_at(folder, first if call.given == "path" else second)
        else:
            return None
        mounts = read_file(f"{folder}/mountinfo", _MOUNTS_BYTES)
    except OSError:
        return None
    mount = {name: mask_text(value) for name, value in _mount_of(path, mounts).items()}
    return BlockedFile(call=call.verb, path=mask_text(path[:PATH_BYTES]), **mount)


def _mount_of(path: str, mountinfo: bytes) -> dict[str, str]:
    best: dict[str, str] = {}
    if not path.startswith("/"):
        return best
    for line in mountinfo.decode("utf-8", "replace").split("\n"):
        before, dash, after = line.partition(" - ")
        mount, system = before.split(" "), after.split(" ")
        if not dash or len(mount) < 5 or len(system) < 2:
            continue
        point = unescape(mount[4])
        inside = path == point or path.startswith(f"{point.rstrip('/')}/")
        # Of two at the same place, the later one covers the other.
        if inside and len(point) >= len(best.get("mount_point", "")):
            kind, device = system[0], unescape(system[1])
            best = {"mount_point": point, "file_system": kind, "device": device}
    return best
