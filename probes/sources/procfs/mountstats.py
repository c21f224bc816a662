"""``/proc/PID/mountstats``: all mounts of a process, and of its NFS mounts what became of the requests."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from .text import unescape

READING = frozenset(
    {"READ", "READ_PLUS", "LOOKUP", "LOOKUPP", "GETATTR", "ACCESS", "READLINK"}
    | {"READDIR", "READDIRPLUS", "OPEN", "OPEN_NOATTR", "OPEN_CONFIRM", "CLOSE"}
)
"""Requests that reading files takes, in the words of NFS 3 and 4."""
_NFS = "nfs"
_FIELDS = 8
_MILLISECONDS = 1000.0


class Mount(msgspec.Struct, frozen=True):
    """One mount, the later ones over the earlier."""

    point: str
    device: str
    file_system: str

    @property
    def is_nfs(self) -> bool:
        return self.file_system == _NFS or self.file_system == f"{_NFS}4"


class Requests(msgspec.Struct):
    """Counters of one NFS mount, over the requests in `READING`."""

    operations: int = 0
    transmissions: int = 0
    timeouts: int = 0
    queue_seconds: float = 0.0
    round_trip_seconds: float = 0.0
    read_bytes: int | None = None


def parse_mountstats(text: str) -> list[tuple[Mount, Requests | None]]:
    """Each mount in order; ``None`` where the kernel counts no requests of it."""
    found: list[tuple[Mount, Requests | None]] = []
    counts = False
    for line in text.split("\n"):
        if not line.startswith((" ", "\t")):
            mount = _mount(line)
            counts = mount is not None and mount.is_nfs
            if mount is not None:
                found.append((mount, None))
            continue
        if counts:
            mount, requests = found[-1]
            found[-1] = (mount, _with_line(requests, line.split()))
    return found


def mount_of(path: str, mounts: Sequence[Mount]) -> Mount | None:
    """On which of them a file lies: of two at the same place, the later one covers the other."""
    best: Mount | None = None
    for mount in mounts:
        inside = path == mount.point or path.startswith(f"{mount.point.rstrip('/')}/")
        if inside and len(mount.point) >= len(best.point if best else ""):
            best = mount
    return best


def _mount(line: str) -> Mount | None:
    """``device fs1:/data mounted on /data with fstype nfs4 statvers=1.1``; blanks in names are escaped."""
    words = line.split(" ")
    if len(words) < 8 or words[0] != "device" or words[2:4] != ["mounted", "on"]:
        return None
    return Mount(unescape(words[4]), unescape(words[1]), words[7])


def _with_line(known: Requests | None, words: list[str]) -> Requests | None:
    if not words:
        return known
    name, numbers = words[0].removesuffix(":"), words[1:]
    if name == "bytes":
        known = known or Requests()
        # Read by programs; then written, read past the cache, written past it, read from the server.
        known.read_bytes = int(numbers[4]) if len(numbers) > 4 and numbers[4].isdecimal() else None
    elif name in READING and len(numbers) >= _FIELDS and all(map(str.isdecimal, numbers[:_FIELDS])):
        operations, transmissions, timeouts, _, _, queue, round_trip, _ = map(
            int, numbers[:_FIELDS]
        )
        known = known or Requests()
        known.operations += operations
        known.transmissions += transmissions
        known.timeouts += timeouts
        known.queue_seconds += queue / _MILLISECONDS
        known.round_trip_seconds += round_trip / _MILLISECONDS
    return known
