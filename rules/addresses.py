"""Addresses of sockets, as they are read."""

from __future__ import annotations

import ipaddress


def is_local(name: str) -> bool:
    """Whether an address leads to this very machine."""
    host = name.rpartition(":")[0].strip("[]")
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return True
