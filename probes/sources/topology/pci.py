"""One PCI device under ``/sys``: where it hangs, what it and its slot can do, and ACS.

The files are those of Documentation/ABI/testing/sysfs-bus-pci; the registers those of ``pci_regs.h``.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from ..procfs.files import read_file
from ..procfs.text import number, text

BUS_ID = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
_HOST_BRIDGE = re.compile(r"pci[0-9a-f]{4,8}:[0-9a-f]{2}")
_GENERATIONS = {2.5: 1, 5.0: 2, 8.0: 3, 16.0: 4, 32.0: 5, 64.0: 6, 128.0: 7}
"""Gigatransfers per second and lane → generation."""
_MOST_LANES = 32
_EXTENDED_CONFIG = 0x100
_CONFIG_BYTES = 4096
_ACS_CAPABILITY = 0x000D
_ACS_CONTROL = 6
_ACS_REQUEST_REDIRECT = 0x04


class LinkLimit(NamedTuple):
    """What one end of a PCIe link can do."""

    generation: int | None
    lanes: int | None


class PciDevice:
    """A device, or a bridge above one.

    Args:
        folder: its folder below ``/sys/devices``.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def bus_id(self) -> str:
        """``0000:18:00.0``."""
        return self.folder.name

    def word(self, name: str) -> bytes:
        """A file of one word; empty where there is none."""
        try:
            return read_file(self.folder / name, 256).strip()
        except OSError:
            return b""

    @property
    def device_class(self) -> int:
        """Class, subclass and interface; 0: not known."""
        return _hexadecimal(self.word("class"))

    @property
    def vendor(self) -> int:
        """0: not known."""
        return _hexadecimal(self.word("vendor"))

    @property
    def numa_node(self) -> int | None:
        """``None`` also where the firmware tells of none, as in most virtual machines."""
        return number(self.word("numa_node"))

    @property
    def cpus(self) -> str | None:
        """CPUs near to it."""
        return text(self.word("local_cpulist")) or None

    @property
    def limit(self) -> LinkLimit:
        """What its own end of the link above it can do."""
        return LinkLimit(
            parse_generation(self.word("max_link_speed")), _lanes(self.word("max_link_width"))
        )

    @property
    def path(self) -> tuple[str, ...]:
        """Host bridge, then each bridge down to the one above it."""
        parts = self.folder.resolve().parts[:-1]
        above: list[str] = []
        for part in reversed(parts):
            if not BUS_ID.fullmatch(part):
                if _HOST_BRIDGE.fullmatch(part):
                    above.append(part)
                break
            above.append(part)
        return tuple(reversed(above))

    def bridges(self) -> list[PciDevice]:
        """Those above it, the nearest first."""
        above: list[PciDevice] = []
        folder = self.folder.resolve().parent
        while BUS_ID.fullmatch(folder.name):
            above.append(PciDevice(folder))
            folder = folder.parent
        return above

    def redirects(self) -> bool | None:
        """Whether it sends what passes between cards below it up to the CPU; ``None``: not readable,
        which takes root."""
        try:
            config = read_file(self.folder / "config", _CONFIG_BYTES)
        except OSError:
            return None
        return None if len(config) <= _EXTENDED_CONFIG else _acs_redirects(config)


def parse_generation(data: bytes) -> int | None:
    """Out of ``32.0 GT/s PCIe``, or ``8 GT/s``; ``Unknown`` is none."""
    try:
        return _GENERATIONS.get(float(data.split()[0]))
    except (ValueError, IndexError):
        return None


def _lanes(data: bytes) -> int | None:
    lanes = number(data)  # 255: not known
    return lanes if lanes and lanes <= _MOST_LANES else None


def _hexadecimal(data: bytes) -> int:
    try:
        return int(data, 16)
    except ValueError:
        return 0


def _acs_redirects(config: bytes) -> bool:
    """Walk the extended capabilities; a list that leads nowhere or in a circle ends."""
    at, seen = _EXTENDED_CONFIG, set[int]()
    while at >= _EXTENDED_CONFIG and at + 8 <= len(config) and at not in seen:
        seen.add(at)
        header = int.from_bytes(config[at : at + 4], "little")
        if header & 0xFFFF == _ACS_CAPABILITY:
            control = config[at + _ACS_CONTROL]
            return bool(control & _ACS_REQUEST_REDIRECT)
        at = header >> 20
    return False
