"""The far end of a socket: its address, and the inode of the other socket where that is on this node."""

from __future__ import annotations

import contextlib
import ipaddress
import os
import socket
import struct
from typing import Literal, NamedTuple

from ..procfs.files import read_file

_MOST_BYTES = 1 << 22
_NETLINK_SOCK_DIAG = 4
_SOCK_DIAG_BY_FAMILY = 20
_REQUEST = 1
_SHOW_PEER = 4
_PEER = 2
_ALL_STATES = _ANY = 0xFFFFFFFF
_HEADER = struct.Struct("=IHHII")
_ASK = struct.Struct("=BBHIIIII")
_ANSWER = struct.Struct("=BBBBIII")
_ATTRIBUTE = struct.Struct("=HH")
_WAIT_SECONDS = 0.2


class FarEnd(NamedTuple):
    """Of one socket."""

    kind: Literal["socket", "unix socket"]
    name: str
    """``10.0.0.3:2049``; empty: not known."""
    inode: int | None = None
    """Of the other socket, on this node."""


def far_end(folder: str, inode: int) -> FarEnd | None:
    """``None`` where no table of its own network namespace has the socket.

    Args:
        folder: of the process in ``/proc``: it may be in another network namespace.
        inode: of its socket.
    """
    for table in ("tcp", "tcp6"):
        with contextlib.suppress(OSError):
            found = _in_table(read_file(f"{folder}/net/{table}", _MOST_BYTES), inode)
            if found is not None:
                return found
    with contextlib.suppress(OSError):
        if any(
            line.split()[6:7] == [str(inode).encode()]
            for line in read_file(f"{folder}/net/unix", _MOST_BYTES).split(b"\n")
        ):
            same = os.readlink(f"{folder}/ns/net") == os.readlink("/proc/self/ns/net")  # noqa: PTH115
            return FarEnd("unix socket", "", _unix_peer(inode) if same else None)
    return None


def _in_table(table: bytes, inode: int) -> FarEnd | None:
    lines = [words for line in table.split(b"\n")[1:] if len(words := line.split()) > 9]
    mine = next((words for words in lines if words[9] == str(inode).encode()), None)
    if mine is None:
        return None
    local, remote = mine[1], mine[2]
    if mine[3] == b"0A":  # it listens
        return FarEnd("socket", "")
    other = next((words[9] for words in lines if (words[1], words[2]) == (remote, local)), b"")
    return FarEnd(
        "socket", _address(remote), int(other) if other.isdigit() and int(other) else None
    )


def _address(text: bytes) -> str:
    host, _, port = text.partition(b":")
    try:
        words = bytes.fromhex(host.decode())
        number = b"".join(words[at : at + 4][::-1] for at in range(0, len(words), 4))
        found = ipaddress.ip_address(number)
        if isinstance(found, ipaddress.IPv6Address) and found.ipv4_mapped:
            found = found.ipv4_mapped
        shown = f"[{found}]" if found.version == 6 else str(found)
        return f"{shown}:{int(port, 16)}"
    except ValueError:
        return ""


def _unix_peer(inode: int) -> int | None:
    """As ``ss`` asks the kernel for it."""
    asked = (socket.AF_UNIX, 0, 0, _ALL_STATES, inode & _ANY, _SHOW_PEER, _ANY, _ANY)
    ask = _ASK.pack(*asked)
    header = _HEADER.pack(_HEADER.size + len(ask), _SOCK_DIAG_BY_FAMILY, _REQUEST, 1, 0)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETLINK_SOCK_DIAG) as link:
        link.settimeout(_WAIT_SECONDS)
        link.send(header + ask)
        answer = link.recv(8192)
    at = _HEADER.size + _ANSWER.size
    if len(answer) < at or _HEADER.unpack_from(answer)[1] != _SOCK_DIAG_BY_FAMILY:
        return None
    while at + _ATTRIBUTE.size <= len(answer):
        length, kind = _ATTRIBUTE.unpack_from(answer, at)
        if kind == _PEER and length >= _ATTRIBUTE.size + 4:
            return int(struct.unpack_from("=I", answer, at + _ATTRIBUTE.size)[0]) or None
        at += max(_ATTRIBUTE.size, (length + 3) & ~3)
    return None
