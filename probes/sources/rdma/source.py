"""Ports of RDMA devices: InfiniBand, RoCE, and what clouds have in their place.

Everything is under ``/sys/class/infiniband`` (Documentation/ABI/stable/sysfs-class-infiniband), and
read through kept descriptors: opening 160 of these files costs five times as much as reading them.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

from ...model.link_readings import PortReading
from ..context import Context
from ..procfs.files import Descriptors
from ..protocol import SourceAbsent, SourceDenied
from .port import Port

CLASS_FOLDER = "sys/class/infiniband"
_RESCAN_SECONDS = 30.0
"""Within a device ports do not come and go, but a driver may be slow to show them all."""
_GOLDEN_RATIO = 0.6180339887
"""Multiples of it spread any number of ports evenly."""
_ABSENT_SECONDS = 10.0
_ABSENT = "no RDMA device: nothing in /sys/class/infiniband"


class InfinibandSource:
    """Reads all ports.

    Args:
        root: of the file system with ``sys`` in it.
        clock: monotonic seconds.
    """

    name = "infiniband"

    def __init__(self, root: Path = Path("/"), clock: Callable[[], float] = time.monotonic) -> None:
        self._folder = root / CLASS_FOLDER
        self._clock = clock
        self._descriptors = Descriptors()
        self._devices: frozenset[str] = frozenset()
        self._ports: dict[tuple[str, int], Port] = {}
        self._rescan_at = 0.0
        self._seen = False
        """There were devices once: that there are none now is a reading, and no error."""

    @property
    def rest_seconds(self) -> float:
        """Most machines have no RDMA device, and never will."""
        return 0.0 if self._seen else _ABSENT_SECONDS

    def read(self) -> tuple[PortReading, ...]:
        """Every port that is there.

        Raises:
            SourceAbsent: there is no RDMA device.
            SourceDenied: this user may not look.
        """
        self._look(self._clock())
        readings: list[PortReading] = []
        for key, port in list(self._ports.items()):
            try:
                readings.append(port.read())
            except OSError:  # it went away while it was read
                self._drop(key)
                self._rescan_at = 0.0
        return tuple(readings)

    def close(self) -> None:
        """Give all descriptors back."""
        for key in list(self._ports):
            self._drop(key)

    def _look(self, now: float) -> None:
        """Find the ports, where the devices are not the same as before, or it is time."""
        try:
            devices = frozenset(os.listdir(self._folder))  # noqa: PTH208 - Path.iterdir costs twice as much
        except FileNotFoundError:
            devices = frozenset[str]()
        except OSError as error:
            raise SourceDenied(f"{self._folder}: {error.strerror}") from error
        if not devices and not self._seen:
            raise SourceAbsent(_ABSENT)
        self._seen = True
        if devices == self._devices and now < self._rescan_at:
            return
        self._devices, self._rescan_at = devices, now + _RESCAN_SECONDS
        found = {(device, port) for device in devices for port in _ports_of(self._folder / device)}
        for gone in self._ports.keys() - found:
            self._drop(gone)
        for key in sorted(found - self._ports.keys()):
            share = len(self._ports) * _GOLDEN_RATIO % 1
            self._ports[key] = Port(self._folder, *key, self._descriptors, self._clock, share)
        self._ports = dict(sorted(self._ports.items()))

    def _drop(self, key: tuple[str, int]) -> None:
        self._ports.pop(key).close()


def _ports_of(device: Path) -> list[int]:
    try:
        names = [entry.name for entry in (device / "ports").iterdir()]
    except OSError:
        return []
    return [int(name) for name in names if name.isdecimal() and name.isascii() and len(name) < 4]


def make(_context: Context) -> InfinibandSource:
    """For the registry."""
    return InfinibandSource()
