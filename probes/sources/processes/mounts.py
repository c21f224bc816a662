"""Network file systems on which ranks have files open, and how long requests to them take.

Nothing here touches the mounts, which may hang: the kernel's counters and the names of open files come
from its own memory. Read every ten seconds, once for all ranks that share their mounts; where there is no
NFS at all, once a minute.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

import msgspec

from ...model.mount_readings import MountReading
from ...model.reading import Missing
from ..context import Context
from ..procfs.files import read_file
from ..procfs.mountstats import Mount, Requests, mount_of, parse_mountstats
from ..procfs.redaction import mask_text
from ..procfs.text import parse_pids, parse_stat, same_start
from ..protocol import SourceDenied
from ..watchlist import Watchlist

_MOST_RANKS = 64
_MOST_CHILDREN = 32
_MOST_LINKS = 512
"""Names of open files that are looked at of one rank and its children."""
_MOST_MOUNTS = 16
_BYTES = 1 << 20
_USED_SECONDS = 300.0
"""Files are opened and closed again: whoever had one open that long ago uses the mount still."""
_WITHOUT_SECONDS = 60.0
_DENIED = "the kernel shows it to the job's user and to root alone"


class _Namespace(msgspec.Struct):
    """Ranks that see the same mounts."""

    ranks: dict[int, float]
    mounts: list[tuple[Mount, Requests | None]]

    @property
    def of_network(self) -> list[tuple[Mount, Requests]]:
        found = [(mount, counted) for mount, counted in self.mounts if counted is not None]
        return found[-_MOST_MOUNTS:]


class MountSource:
    """One reading per NFS mount and mount namespace.

    Args:
        watchlist: says which processes are ranks.
        root: of the file system with ``proc`` in it.
    """

    name = "mounts"
    rest_seconds = 10.0

    def __init__(self, watchlist: Watchlist, root: Path = Path("/")) -> None:
        self._watchlist = watchlist
        self._proc = f"{str(root).rstrip('/')}/proc"
        self._used: dict[tuple[str, int, float], float] = {}
        """Mount point and rank → when it last had a file there open."""
        self._nothing: dict[str, float] = {}
        """Namespace → when it was found to have no NFS."""

    def read(self) -> tuple[MountReading, ...]:
        """Of all ranks, less those that have just ended.

        Raises:
            SourceDenied: where this user may see the mounts of none of them.
        """
        now = time.monotonic()
        readings: list[MountReading] = []
        for namespace in self._namespaces(now):
            readings += self._readings(namespace, now)
        self._used = {key: at for key, at in self._used.items() if now - at <= _USED_SECONDS}
        return tuple(readings)

    def close(self) -> None:
        """It holds nothing."""

    def _namespaces(self, now: float) -> Iterable[_Namespace]:
        found: dict[str, _Namespace] = {}
        denied = False
        self._nothing = {
            name: at for name, at in self._nothing.items() if now - at < _WITHOUT_SECONDS
        }
        for pid, started in islice(self._watchlist.ranks().items(), _MOST_RANKS):
            try:
                name = self._name(pid)
                if name in self._nothing:
                    continue
                if name not in found:
                    data = read_file(f"{self._proc}/{pid}/mountstats", _BYTES)
                    mounts = parse_mountstats(data.decode("utf-8", "replace"))
                    found[name] = _Namespace({}, mounts)
                if self._lives(pid, started):
                    found[name].ranks[pid] = started
            except PermissionError:
                denied = True
            except OSError:
                continue  # it has ended
        for name, namespace in found.items():
            if not namespace.of_network:
                self._nothing[name] = now
        if denied and not found and not self._nothing:
            raise SourceDenied(_DENIED)
        return [each for each in found.values() if each.of_network and each.ranks]

    def _name(self, pid: int) -> str:
        """Of its mount namespace; where that is not told, it may have one of its own."""
        try:
            return os.readlink(f"{self._proc}/{pid}/ns/mnt")  # noqa: PTH115
        except OSError:
            return f"of {pid}"

    def _lives(self, pid: int, started: float) -> bool:
        stat = parse_stat(read_file(f"{self._proc}/{pid}/stat"))
        return stat is not None and same_start(stat.start_time_seconds, started)

    def _readings(self, namespace: _Namespace, now: float) -> Iterator[MountReading]:
        missing: Missing = {}
        if not self._note_users(namespace, now):
            missing["users"] = _DENIED
        pid, started = next(iter(namespace.ranks.items()))
        for mount, counted in namespace.of_network:
            users = [
                rank
                for rank, began in namespace.ranks.items()
                if (mount.point, rank, began) in self._used
            ]
            yield MountReading(
                monotonic_seconds=time.monotonic(),
                missing=missing,
                pid=pid,
                start_time_seconds=started,
                mount_point=mask_text(mount.point),
                device=mask_text(mount.device),
                file_system=mount.file_system,
                users=None if missing else tuple(users),
                operations=counted.operations,
                transmissions=counted.transmissions,
                timeouts=counted.timeouts,
                queue_seconds=counted.queue_seconds,
                round_trip_seconds=counted.round_trip_seconds,
                read_bytes=counted.read_bytes,
            )

    def _note_users(self, namespace: _Namespace, now: float) -> bool:
        """Whose ranks and their children have files open there; false where nothing shows that."""
        mounts = [mount for mount, _ in namespace.mounts]
        below = tuple(f"{mount.point.rstrip('/')}/" for mount, _ in namespace.of_network)
        seen = False
        for rank, started in namespace.ranks.items():
            left = _MOST_LINKS
            for pid in (rank, *self._children(rank)):
                paths = self._open_paths(pid, left)
                if paths is None:
                    continue
                seen, left = True, left - len(paths)
                for path in {each for each in paths if each.startswith(below)}:
                    mount = mount_of(path, mounts)
                    if mount is not None and mount.is_nfs:
                        self._used[mount.point, rank, started] = now
        return seen

    def _children(self, pid: int) -> tuple[int, ...]:
        try:
            return parse_pids(read_file(f"{self._proc}/{pid}/task/{pid}/children"))[:_MOST_CHILDREN]
        except OSError:
            return ()

    def _open_paths(self, pid: int, most: int) -> list[str] | None:
        """Of files and whatever else; ``None`` where they are not shown."""
        folder = f"{self._proc}/{pid}/fd"
        found: list[str] = []
        try:
            with os.scandir(folder) as names:
                for each in islice(names, most):
                    try:
                        target = os.readlink(os.fsencode(each.path))  # noqa: PTH115
                    except FileNotFoundError:
                        continue  # closed meanwhile
                    found.append(target.decode("utf-8", "replace"))
        except OSError:
            return None
        return found


def make(context: Context) -> MountSource:
    """For the registry."""
    return MountSource(context.watchlist)
