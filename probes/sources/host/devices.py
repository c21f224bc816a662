"""Which disks and network interfaces count, so that nothing is counted twice."""

from __future__ import annotations

import re
import time
from pathlib import Path

import msgspec

from ...model.host_readings import DiskReading, NetworkReading
from ..procfs.files import Descriptors, KeptFiles, read_file
from ..procfs.text import number
from .text import Disk, Network

_PATIENCE_SECONDS = 30.0
_NOT_DISKS = re.compile(r"(?:loop|ram|zram|fd|sr|nbd)\d+")
_PARTITION = re.compile(r"(?:[shv]d[a-z]+|xvd[a-z]+)\d+|(?:nvme\d+n\d+|mmcblk\d+)p\d+")
_STACKED = re.compile(r"(?:dm-|md)\d+")
_VIRTUAL_NETWORK = re.compile(
    r"(?:veth|docker|br-|virbr|cni|flannel|cali|cilium|lxc|vnet|tap|tun|wg|ifb|dummy|kube|nodelocal)"
    r".*"
)
_UP = {"up": True, "down": False, "lowerlayerdown": False, "notpresent": False, "dormant": False}
_MAX_SPEED = 10_000_000
"""In Mbit/s; virtual ones claim 2**32 - 1."""


class _Link(msgspec.Struct, frozen=True):
    has_device: bool
    speed_bytes_per_second: float | None


class Devices:
    """What is known of the devices, looked up again now and then."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._states = KeptFiles(root / "sys/class/net", Descriptors())
        self._disks: dict[str, bool] = {}
        self._links: dict[str, _Link] = {}
        self._due = 0.0

    def refresh(self) -> None:
        """Forget what was looked up, if it is time."""
        now = time.monotonic()
        if now >= self._due:
            self._due = now + _PATIENCE_SECONDS
            self._disks.clear()
            self._links.clear()

    def disks(self, disks: list[Disk]) -> tuple[DiskReading, ...]:
        """Whole disks. Not what lives in memory, and not what is made of other disks (LVM, RAID,
        dm-crypt, multipath): the same bytes are counted by the disks below."""
        return tuple(
            DiskReading(
                name=disk.name,
                read_bytes=disk.read_bytes,
                write_bytes=disk.write_bytes,
                busy_seconds=disk.busy_milliseconds / 1000,
                requests=disk.requests,
                request_seconds=disk.request_milliseconds / 1000,
                queue_seconds=(
                    None if disk.queue_milliseconds is None else disk.queue_milliseconds / 1000
                ),
            )
            for disk in disks
            if self._is_disk(disk.name)
        )

    def networks(self, networks: list[Network]) -> tuple[NetworkReading, ...]:
        """Interfaces with a device behind them, for what bonds, bridges and tunnels carry passes
        through those too. Where there is none, as in a container, all except the loopback."""
        found = [net for net in networks if net.name != "lo" and "/" not in net.name]
        real = [net for net in found if self._link(net.name).has_device]
        if not real:
            real = [net for net in found if not _VIRTUAL_NETWORK.fullmatch(net.name)]
        return tuple(self._network(net) for net in real)

    def _is_disk(self, name: str) -> bool:
        if name not in self._disks:
            self._disks[name] = self._find_disk(name)
        return self._disks[name]

    def _find_disk(self, name: str) -> bool:
        if _NOT_DISKS.fullmatch(name) or _STACKED.fullmatch(name):
            return False
        folder = self._path("block", name.replace("/", "!"))
        if not folder.parent.is_dir():
            return not _PARTITION.fullmatch(name)
        slaves = folder / "slaves"
        return folder.is_dir() and not (slaves.is_dir() and any(slaves.iterdir()))

    def _network(self, network: Network) -> NetworkReading:
        link = self._link(network.name)
        return NetworkReading(
            name=network.name,
            rx_bytes=network.rx_bytes,
            tx_bytes=network.tx_bytes,
            rx_dropped=network.rx_dropped,
            tx_dropped=network.tx_dropped,
            speed_bytes_per_second=link.speed_bytes_per_second,
            up=_UP.get(self._state(network.name)),
        )

    def _link(self, name: str) -> _Link:
        link = self._links.get(name)
        if link is None:
            link = self._links[name] = self._find_link(name)
        return link

    def _find_link(self, name: str) -> _Link:
        speed = number(self._word(name, "speed"))
        known = speed is not None and 0 < speed < _MAX_SPEED
        return _Link(
            has_device=self._path("class/net", name, "device").exists(),
            speed_bytes_per_second=speed * 1e6 / 8 if known and speed else None,
        )

    def _state(self, name: str) -> str:
        """The one thing about an interface that is read each time, and not rarely."""
        try:
            return self._states.read(f"{name}/operstate", 64).strip().decode("ascii", "replace")
        except OSError:
            self._states.close()  # it went away; one that comes in its place has another file
            return ""

    def close(self) -> None:
        """Give all descriptors back."""
        self._states.close()

    def _word(self, name: str, attribute: str) -> bytes:
        try:
            return read_file(self._path("class/net", name, attribute), 64).strip()
        except OSError:
            return b""  # a link that is down has no speed: the kernel says "invalid argument"

    def _path(self, *parts: str) -> Path:
        return self._root.joinpath("sys", *parts)
