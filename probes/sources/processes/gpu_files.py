"""The GPUs whose device files a rank has open, for ranks that the driver's own lists do not name.

In a container, and where other users' processes are hidden, these lists have pids of another namespace,
or none. Whoever computes also has the driver's memory device open; whoever only asks NVML has not.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from msgspec.structs import replace

from ...model.process_readings import ProcessReading
from ...model.reading import Key, key_of

AGAIN_SECONDS = 5.0
"""A rank may open its GPU at any time after its start…"""
SETTLED_SECONDS = 60.0
"""… and keeps it open from then on."""
_AT_ONCE = 8
_MOST_FILES = 4096
_DEVICE = re.compile(r"/dev/nvidia(\d{1,3})")
_MEMORY_DEVICE = "/dev/nvidia-uvm"
_DENIED = "its open files are shown to the job's user and to root alone"


class GpuFiles:
    """Looks at the open files of ranks, rarely, and not of all at once.

    Args:
        root: of the file system with ``proc`` in it.
    """

    def __init__(self, root: Path = Path("/")) -> None:
        self._folder = f"{str(root).rstrip('/')}/proc"
        self._known: dict[Key, tuple[float, tuple[int, ...] | None]] = {}

    def added(
        self, readings: Sequence[ProcessReading], ranks: Mapping[int, float], listed: Iterable[int]
    ) -> list[ProcessReading]:
        """The readings, with ``gpu_minors`` for the ranks that are on no list of the driver's."""
        hidden = {(pid, start) for pid, start in ranks.items()} - {
            (pid, ranks[pid]) for pid in listed if pid in ranks
        }
        self._look(hidden)
        return [self._with_minors(reading) for reading in readings]

    def _look(self, wanted: set[Key]) -> None:
        now = time.monotonic()
        self._known = {key: known for key, known in self._known.items() if key in wanted}
        due = [key for key in wanted if key not in self._known or self._known[key][0] <= now]
        due.sort(key=lambda key: key in self._known)  # the new ones first
        for key in due[:_AT_ONCE]:
            minors = open_gpus(f"{self._folder}/{key[0]}/fd")
            again = SETTLED_SECONDS if minors else AGAIN_SECONDS
            self._known[key] = (now + again, minors)

    def _with_minors(self, reading: ProcessReading) -> ProcessReading:
        key = key_of(reading)
        if key not in self._known:
            return reading
        minors = self._known[key][1]
        if minors is None:
            return replace(reading, missing={**reading.missing, "gpu_minors": _DENIED})
        return replace(reading, gpu_minors=minors)


def open_gpus(folder: str) -> tuple[int, ...] | None:
    """Minor numbers of the GPUs that are open for computing; ``None`` where files are not shown."""
    try:
        names = os.listdir(folder)[:_MOST_FILES]  # noqa: PTH208 - no Path per descriptor
    except OSError:
        return None
    paths: set[str] = set()
    for name in names:
        try:
            paths.add(os.readlink(f"{folder}/{name}"))  # noqa: PTH115
        except OSError:
            continue  # closed meanwhile
    if _MEMORY_DEVICE not in paths:
        return ()
    return tuple(sorted(int(found[1]) for path in paths if (found := _DEVICE.fullmatch(path))))
