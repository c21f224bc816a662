"""Addresses of PCI devices: NVML, the kernel and its log write the same one in different ways."""

from __future__ import annotations

_DOMAIN_DIGITS = 4


def normal_bus_id(bus_id: str | None) -> str | None:
    """NVML's ``00000000:18:00.0`` as the kernel has it: ``0000:18:00.0``; without a function, its first."""
    if bus_id is None:
        return None
    domain, colon, rest = bus_id.lower().partition(":")
    if not colon:
        return bus_id.lower()
    function = "" if "." in rest or ":" not in rest else ".0"
    return f"{domain.lstrip('0').rjust(_DOMAIN_DIGITS, '0')}:{rest}{function}"


def card_address(bus_id: str | None) -> str | None:
    """The same without the function: of one card, a line may name another function than NVML does."""
    return (normal_bus_id(bus_id) or "").partition(".")[0] or None
