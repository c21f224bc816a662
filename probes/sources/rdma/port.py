"""One port of an RDMA device: its files, and how often each is worth reading."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from ...model.link_readings import PortReading
from ...model.port_counters import HARDWARE_COUNTERS, PORT_COUNTERS
from ..procfs.files import Descriptors, KeptFiles, read_file
from ..procfs.text import name_text
from .text import parse_count, parse_layer, parse_rate, parse_state, parse_word

_WORD_BYTES = 4
SLOW_SECONDS = 10.0
"""Each file of ``counters`` is a question to the card's firmware, and each of ``hw_counters`` may be:
what counts trouble can wait a little, except when the state changes."""
_FACTS_SECONDS = 60.0
_FILE_BYTES = 64
_WIDE = "unicast_xmit_packets"
"""Only the extended counters, of 64 bits, have this one."""
_NOT_THERE = "not counted by this driver"
_NAMELESS = "the driver does not name it"
_DENIED = "no permission"


class _Traffic(NamedTuple):
    """A counter of traffic, and the files that may hold it, the best first."""

    field: str
    files: tuple[tuple[str, int], ...]
    """Path under the port, and what one of its units is worth."""


_TRAFFIC = (
    _Traffic(
        "rx_bytes",
        (
            ("counters/port_rcv_data", _WORD_BYTES),
            ("hw_counters/rx_bytes", 1),
        ),
    ),
    _Traffic("tx_bytes", (("counters/port_xmit_data", _WORD_BYTES), ("hw_counters/tx_bytes", 1))),
    _Traffic(
        "rx_packets",
        (
            ("counters/port_rcv_packets", 1),
            ("hw_counters/rx_pkts", 1),
            ("hw_counters/rcvd_pkts", 1),
        ),
    ),
    _Traffic(
        "tx_packets",
        (
            ("counters/port_xmit_packets", 1),
            ("hw_counters/tx_pkts", 1),
            ("hw_counters/sent_pkts", 1),
        ),
    ),
    _Traffic("wait_ticks", (("counters/port_xmit_wait", 1),)),
)


class Port:
    """Reads one port.

    Args:
        folder: of all RDMA devices.
        device: name of the device.
        port: number of the port.
        descriptors: shared with the other ports.
        clock: monotonic seconds.
        share: 0 to 1, places its slow files within their period, so that those of all ports do not
            meet in one reading.
    """

    def __init__(
        self,
        folder: Path,
        device: str,
        port: int,
        descriptors: Descriptors,
        clock: Callable[[], float],
        share: float = 0.0,
    ) -> None:
        self._device_folder = folder / device
        self._folder = self._device_folder / "ports" / str(port)
        self._path = str(self._folder)
        self._inode: int | None = None
        self._files = KeptFiles(self._path, descriptors)
        self._clock = clock
        self._device, self._port = name_text(device), port
        self._share = share
        self._port_counters = _present(self._folder / "counters", PORT_COUNTERS)
        self._hardware_counters = _present(self._folder / "hw_counters", HARDWARE_COUNTERS)
        self._traffic = tuple((field, *_chosen(self._folder, files)) for field, files in _TRAFFIC)
        in_words = any(name.startswith("counters/") for _, name, _ in self._traffic[:2])
        self._narrow = in_words and not (self._folder / "counters" / _WIDE).exists()
        self._facts: dict[str, Any] = {}
        self._facts_at = self._slow_at = 0.0
        self._slow: PortReading | None = None

    def read(self) -> PortReading:
        """The port now.

        Raises:
            OSError: it is gone.
        """
        now = self._clock()
        if now >= self._facts_at:
            self._facts_at = now + _FACTS_SECONDS
            self._facts = self._read_facts()
        missing: dict[str, str] = {}
        values = self._read_traffic(missing)
        state, reason = self._state()
        if state is None:
            missing["state"] = reason
        if self._slow is None or now >= self._slow_at or state != self._slow.state:
            share, self._share = self._share, 0.0
            self._slow_at = now + SLOW_SECONDS * (1.0 - share)
            self._slow = self._read_slow(now, state)
        return msgspec.structs.replace(
            self._slow,
            monotonic_seconds=now,
            missing={**self._slow.missing, **missing} if missing else self._slow.missing,
            **values,
        )

    def close(self) -> None:
        """Give the descriptors back."""
        self._files.close()

    def _state(self) -> tuple[str | None, str]:
        """The state, or why there is none.

        Raises:
            OSError: the port is gone, or another has come in its place.
        """
        inode = os.stat(self._path).st_ino  # noqa: PTH116 - Path.stat costs four times as much
        self._inode = self._inode or inode
        if inode != self._inode:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), self._path)
        try:
            return parse_state(self._files.read("state", _FILE_BYTES)), _NAMELESS
        except PermissionError:
            return None, _DENIED
        except OSError as error:
            if error.errno == errno.ENODEV:  # of a file still open, when its device goes
                raise
            return None, f"the kernel says: {error.strerror}"

    def _read_traffic(self, missing: dict[str, str]) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for field, name, worth in self._traffic:
            if not name:
                missing[field] = _NOT_THERE
                continue
            count, reason = self._number(name, worth)
            if count is None:
                missing[field] = reason
            else:
                values[field] = count
        if "rx_bytes" in values or "tx_bytes" in values:
            values["data_counter_bits"] = self._bits(values)
        return values

    def _bits(self, values: dict[str, Any]) -> int:
        """The narrow set of counters has the same names; a value that is too large gives it away."""
        if self._narrow:
            largest = max(values.get("rx_bytes", 0), values.get("tx_bytes", 0))
            self._narrow = largest <= _WORD_BYTES * (2**32 - 1)
        return 32 if self._narrow else 64

    def _number(self, name: str, worth: int = 1) -> tuple[int | None, str]:
        try:
            return parse_count(self._files.read(name, _FILE_BYTES), worth)
        except PermissionError:
            return None, _DENIED
        except OSError as error:
            return None, f"the kernel says: {error.strerror}"

    def _count(self, folder: str, names: Iterable[str], missing: dict[str, str]) -> dict[str, int]:
        counts: dict[str, int] = {}
        for name in names:
            value, reason = self._number(f"{folder}/{name}")
            if value is None:
                missing[name] = reason
            else:
                counts[name] = value
        return counts

    def _read_slow(self, now: float, state: str | None) -> PortReading:
        """The port without its traffic."""
        missing: dict[str, str] = {}
        counters = {
            **self._count("counters", self._port_counters, missing),
            **self._count("hw_counters", self._hardware_counters, missing),
        }
        rate = parse_rate(self._text("rate"), self._facts["link_layer"])
        if rate is None:
            missing["rate_bytes_per_second"] = "the driver does not tell the rate of this port"
        return PortReading(
            monotonic_seconds=now,
            device=self._device,
            port=self._port,
            state=state,
            physical_state=parse_state(self._text("phys_state")),
            rate_bytes_per_second=rate.bytes_per_second if rate else None,
            lanes=rate.lanes if rate else None,
            speed=rate.speed if rate else None,
            counters=counters,
            missing=missing,
            **self._facts,
        )

    def _read_facts(self) -> dict[str, Any]:
        device = self._device_folder / "device"
        return {
            "driver": _link_name(device / "driver"),
            "model": parse_word(_read(self._device_folder / "hca_type")),
            "board": parse_word(_read(self._device_folder / "board_id")),
            "firmware": parse_word(_read(self._device_folder / "fw_ver")),
            "pci_bus_id": _link_name(device),
            "virtual_function": (device / "physfn").exists(),
            "link_layer": parse_layer(self._text("link_layer")),
            "interface": self._interface(device),
        }

    def _interface(self, device: Path) -> str | None:
        named = parse_word(self._text("gid_attrs/ndevs/0"))
        if named:
            return named
        try:
            names = sorted(name_text(entry.name) for entry in (device / "net").iterdir())
        except OSError:
            return None
        # One of several belongs to another port of the card, and which is not reported here.
        return names[0] if len(names) == 1 else None

    def _text(self, name: str) -> bytes:
        return _read(f"{self._path}/{name}")


def _read(path: Path | str) -> bytes:
    try:
        return read_file(path, _FILE_BYTES)
    except OSError:
        return b""


def _link_name(path: Path) -> str | None:
    """The last part of what a symbolic link points to; a software device has no device behind it."""
    try:
        return name_text(os.readlink(path).rsplit("/", 1)[-1])  # noqa: PTH115 - the text, not a path
    except OSError:
        return None


def _present(folder: Path, wanted: Iterable[str]) -> tuple[str, ...]:
    try:
        names = {entry.name for entry in folder.iterdir()}
    except OSError:
        return ()
    return tuple(name for name in wanted if name in names)


def _chosen(folder: Path, files: tuple[tuple[str, int], ...]) -> tuple[str, int]:
    return next(((name, worth) for name, worth in files if (folder / name).exists()), ("", 1))
