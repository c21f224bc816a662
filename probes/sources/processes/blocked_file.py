"""The file that a process stands still at, and the mount it lies on: reported by the system call it is in.

Nothing here touches the file or its mount, which may hang for ever. Of a call that names its file by a
text in the process's memory, that is read only while the process can be interrupted.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Literal, NamedTuple

from ...model.rank_readings import BlockedFile
from ..procfs.files import read_file
from ..procfs.redaction import mask_text
from ..procfs.text import unescape

_MOUNTS_BYTES = 1 << 18
_PATH_BYTES = 1024
_SYSCALL = re.compile(rb"(\d{1,4}) 0x([0-9a-f]+) 0x([0-9a-f]+) ")
_By = Literal["descriptor", "path", "path at"]
"""Where a call has its file: a descriptor, or a path, as its first argument, or as its second."""


class _Call(NamedTuple):
    name: str
    by: _By


_CALLS: dict[str, tuple[_Call, dict[str, int]]] = {
    "read": (_Call("reads", "descriptor"), {"x86_64": 0, "aarch64": 63}),
    "write": (_Call("writes", "descriptor"), {"x86_64": 1, "aarch64": 64}),
    "open": (_Call("opens", "path"), {"x86_64": 2}),
    "close": (_Call("closes", "descriptor"), {"x86_64": 3, "aarch64": 57}),
    "stat": (_Call("looks at", "path"), {"x86_64": 4}),
    "fstat": (_Call("looks at", "descriptor"), {"x86_64": 5, "aarch64": 80}),
    "pread64": (_Call("reads", "descriptor"), {"x86_64": 17, "aarch64": 67}),
    "pwrite64": (_Call("writes", "descriptor"), {"x86_64": 18, "aarch64": 68}),
    "readv": (_Call("reads", "descriptor"), {"x86_64": 19, "aarch64": 65}),
    "recvfrom": (_Call("receives from", "descriptor"), {"x86_64": 45, "aarch64": 207}),
    "recvmsg": (_Call("receives from", "descriptor"), {"x86_64": 47, "aarch64": 212}),
    "fcntl": (_Call("locks", "descriptor"), {"x86_64": 72, "aarch64": 25}),
    "flock": (_Call("locks", "descriptor"), {"x86_64": 73, "aarch64": 32}),
    "fsync": (_Call("syncs", "descriptor"), {"x86_64": 74, "aarch64": 82}),
    "fdatasync": (_Call("syncs", "descriptor"), {"x86_64": 75, "aarch64": 83}),
    "getdents64": (_Call("lists", "descriptor"), {"x86_64": 217, "aarch64": 61}),
    "openat": (_Call("opens", "path at"), {"x86_64": 257, "aarch64": 56}),
    "newfstatat": (_Call("looks at", "path at"), {"x86_64": 262, "aarch64": 79}),
    "statx": (_Call("looks at", "path at"), {"x86_64": 332, "aarch64": 291}),
}
_BY_NUMBER = {
    numbers[machine]: call
    for call, numbers in _CALLS.values()
    for machine in [os.uname().machine]
    if machine in numbers
}


def blocked_file(folder: str, *, interruptible: bool) -> BlockedFile | None:
    """The file at which the main thread of a process is; ``None`` where nothing tells.

    Args:
        folder: of the process in ``/proc``.
        interruptible: its memory may be read without hanging.
    """
    try:
        found = _SYSCALL.match(read_file(f"{folder}/syscall"))
        call = _BY_NUMBER.get(int(found[1])) if found else None
        if found is None or call is None:
            return None
        first, second = int(found[2], 16), int(found[3], 16)
        if call.by == "descriptor":
            path = os.readlink(f"{folder}/fd/{first}".encode()).decode("utf-8", "replace")  # noqa: PTH115
        elif interruptible:
            path = _text_at(f"{folder}/mem", first if call.by == "path" else second)
        else:
            return None
        mounts = read_file(f"{folder}/mountinfo", _MOUNTS_BYTES)
    except OSError:
        return None
    mount = {name: mask_text(value) for name, value in _mount_of(path, mounts).items()}
    return BlockedFile(call=call.name, path=mask_text(path[:_PATH_BYTES]), **mount)


def _text_at(memory: str, address: int) -> str:
    with Path(memory).open("rb", buffering=0) as file:
        file.seek(address)
        # A page at a time: the next one may not be there.
        data = file.read(min(_PATH_BYTES, 4096 - address % 4096)) or b""
    return data.partition(b"\0")[0].decode("utf-8", "replace")


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
