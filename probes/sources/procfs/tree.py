"""Who started whom: found by listing all processes now and then, cheaply."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from pathlib import Path

from .files import read_file
from .text import parse_stat

_SCAN_SECONDS = 10.0
_WHOLE_SCAN_EVERY = 6
_MAX_LOAD = 0.002
"""Share of one core that scanning may take; on nodes with very many processes it gets rarer."""
_STAT_BYTES = 1024


class ProcessTree:
    """The children of each process, as of the last scan.

    A scan lists the pids and looks at those that it has not seen; each sixth looks at all anew, for
    a pid may have come back, and an orphan gets another parent.
    """

    def __init__(self, root: Path) -> None:
        self._folder = f"{str(root).rstrip('/')}/proc"
        self._parents: dict[int, int] = {}
        self._children: dict[int, list[int]] = {}
        self._scans = 0
        self._due = 0.0

    def children(self, pid: int) -> list[int]:
        """Those known of."""
        return self._children.get(pid, [])

    def hurry(self) -> None:
        """Scan at the next `refresh`."""
        self._due = 0.0

    def refresh(self) -> None:
        """Scan, if it is time.

        Raises:
            OSError: when there is no such folder.
        """
        began = time.monotonic()
        if began < self._due:
            return
        pids = [int(name) for name in os.listdir(self._folder) if name.isdigit()]  # noqa: PTH208 - no Path per pid
        self._look_at(pids, anew=self._scans % _WHOLE_SCAN_EVERY == 0)
        self._scans += 1
        took = time.monotonic() - began
        self._due = began + max(_SCAN_SECONDS, took / _MAX_LOAD)

    def _look_at(self, pids: Iterable[int], *, anew: bool) -> None:
        before = {} if anew else self._parents
        self._parents = {}
        self._children = {}
        for pid in pids:
            parent = before[pid] if pid in before else self._parent_of(pid)
            if parent is not None:
                self._parents[pid] = parent
                self._children.setdefault(parent, []).append(pid)

    def _parent_of(self, pid: int) -> int | None:
        try:
            stat = parse_stat(read_file(f"{self._folder}/{pid}/stat", _STAT_BYTES))
        except OSError:
            return None
        return stat.parent_pid if stat else None


def parent_pid(pid: int, root: Path = Path("/")) -> int | None:
    """The process's parent; ``None`` where there is no such process, or it has none."""
    try:
        stat = parse_stat(read_file(root / f"proc/{pid}/stat"))
    except OSError:
        return None
    return stat.parent_pid or None if stat else None


def is_leaf(pid: int, root: Path = Path("/")) -> bool:
    """Whether no process has it as its parent; also where it is gone."""
    tasks = root / f"proc/{pid}/task"
    try:
        return not any(read_file(task / "children").strip() for task in tasks.iterdir())
    except FileNotFoundError:
        return not tasks.exists()  # a kernel may lack that file
    except OSError:
        return True
