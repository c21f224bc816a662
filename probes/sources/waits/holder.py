"""Who holds what somebody waits for, and whether it moves: told apart from look to look."""

from __future__ import annotations

import time
from pathlib import Path

from ...model.wait_readings import HolderPart, HolderReading
from ..procfs.files import read_file
from ..procfs.redaction import mask_command
from ..procfs.text import Stat, parse_command, parse_stat, parse_switches, parse_wait_channel

_COMMAND_CHARS = 80
_COMMAND_BYTES = 4096
_MOST_KEPT = 512
_Counts = tuple[int | None, int | None, int | None]


class Holders:
    """Looks at holders, and remembers how far the counters of each had come."""

    def __init__(self, root: Path = Path("/")) -> None:
        self._root = root
        self._before: dict[tuple[int, int], tuple[_Counts, float]] = {}
        """Process and thread → its counters, and since when they are so."""

    def look(self, pid: int, part: HolderPart, tid: int | None = None) -> HolderReading | None:
        """``None`` where there is no such process any more.

        Args:
            pid: of the holder.
            part: what it has.
            tid: its thread, where that alone holds it.
        """
        process = self._root / "proc" / str(pid)
        folder = process if tid is None else process / "task" / str(tid)
        try:
            stat = parse_stat(read_file(folder / "stat"))
            started = stat if tid is None else parse_stat(read_file(process / "stat"))
            switches = parse_switches(read_file(folder / "status"))
        except OSError:
            return None
        if stat is None or started is None:
            return None
        return HolderReading(
            pid=pid,
            start_time_seconds=started.start_time_seconds,
            part=part,
            name=stat.name,
            command=_command(process, started),
            state=stat.state,
            wait_channel=_channel(folder),
            still_seconds=self._still(pid, tid or pid, (stat.cpu_ticks, *switches)),
            tid=tid,
        )

    def _still(self, pid: int, tid: int, counts: _Counts) -> float | None:
        now = time.monotonic()
        known = self._before.get((pid, tid))
        if len(self._before) >= _MOST_KEPT:
            self._before.clear()
        if known is None or known[0] != counts:
            self._before[pid, tid] = (counts, now)
            return None if known is None else 0.0
        return now - known[1]


def _command(folder: Path, stat: Stat) -> str:
    if stat.state == "D":
        return ""  # its memory may be locked for as long as that lasts
    try:
        words = parse_command(read_file(folder / "cmdline", _COMMAND_BYTES))
    except OSError:
        return ""
    return " ".join(" ".join(mask_command(words)).split())[:_COMMAND_CHARS]


def _channel(folder: Path) -> str | None:
    try:
        return parse_wait_channel(read_file(folder / "wchan"))
    except OSError:
        return None
