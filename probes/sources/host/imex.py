"""IMEX, where it is set up: its list of nodes, its daemon, and the channels that jobs use.

A node without NVLink to others has no list, and then nothing else is looked at.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

from ...model.link_readings import ImexReading
from ...model.reading import Missing
from ..context import Context
from ..procfs.files import read_file
from ..procfs.visibility import sees_all_processes
from ..protocol import SourceAbsent, SourceDenied

_LIST = "etc/nvidia-imex/nodes_config.cfg"
_CHANNELS = "dev/nvidia-caps-imex-channels"
_DAEMON = b"nvidia-imex"
_MOST_BYTES = 1 << 20
_HIDDEN = "the processes of others are not shown here"
_STATE_FIELD = 0
_ZOMBIE = b"Z"


class ImexSource:
    """Reads it.

    Args:
        root: of the file system with ``etc``, ``dev`` and ``proc`` in it.
    """

    name = "imex"
    rest_seconds = 20.0
    """It lists all processes once; who is told of a daemon that is gone can wait for that long."""

    def __init__(self, root: Path = Path("/")) -> None:
        self._root = root
        self._proc = str(root / "proc")
        self._pid: int | None = None
        """Of the daemon, when it was seen last."""

    def read(self) -> tuple[ImexReading]:
        """One reading.

        Raises:
            SourceAbsent: where it is not set up.
            SourceDenied: where the list may not be read.
        """
        try:
            listed = read_file(self._root / _LIST, _MOST_BYTES)
        except PermissionError:
            raise SourceDenied(f"/{_LIST} may not be read") from None
        except OSError:
            raise SourceAbsent("IMEX is not set up on this node") from None
        missing: Missing = {}
        runs = self._runs()
        if runs is None:
            missing["daemon_runs"] = _HIDDEN
        return (
            ImexReading(
                monotonic_seconds=time.monotonic(),
                domain_nodes=_nodes(listed),
                daemon_runs=runs,
                channels=self._channels(),
                missing=missing,
            ),
        )

    def close(self) -> None:
        """It holds nothing."""

    def _runs(self) -> bool | None:
        if self._pid is not None and self._is_daemon(self._pid):
            return True
        pids = [int(name) for name in os.listdir(self._proc) if name.isdigit()]  # noqa: PTH208 - no Path per pid
        self._pid = next((pid for pid in pids if self._is_daemon(pid)), None)
        if self._pid is not None:
            return True
        return False if sees_all_processes(self._proc) else None

    def _is_daemon(self, pid: int) -> bool:
        try:
            if read_file(f"{self._proc}/{pid}/comm", 64).strip() != _DAEMON:
                return False
            stat = read_file(f"{self._proc}/{pid}/stat", 512)
        except OSError:
            return False
        return stat.rpartition(b")")[2].split()[_STATE_FIELD : _STATE_FIELD + 1] != [_ZOMBIE]

    def _channels(self) -> int:
        try:
            return sum(name.startswith("channel") for name in os.listdir(self._root / _CHANNELS))  # noqa: PTH208
        except OSError:
            return 0


def _nodes(listed: bytes) -> int:
    """Addresses in it, one a line."""
    lines = (line.partition(b"#")[0].strip() for line in listed.splitlines())
    return len({line for line in lines if line})


def make(context: Context) -> ImexSource:
    """For the registry."""
    return ImexSource()
