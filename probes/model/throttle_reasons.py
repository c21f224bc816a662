"""Why clocks are not higher: NVML's clock event reasons in words."""

from __future__ import annotations

THROTTLE_REASONS: dict[int, str] = {
    0x001: "gpu idle",
    0x002: "application clocks",
    0x004: "sw power cap",
    0x008: "hw slowdown",
    0x010: "sync boost",
    0x020: "sw thermal slowdown",
    0x040: "hw thermal slowdown",
    0x080: "hw power brake",
    0x100: "display clocks",
    0x200: "board limit",
    0x400: "reliability limit",
}
"""Bit of the clock event reasons → why the clocks are not higher."""


def throttle_words(bits: int) -> tuple[str, ...]:
    """The reasons set in ``bits``, lowest bit first; a bit without a word as ``reason 0x…``."""
    return tuple(
        THROTTLE_REASONS.get(1 << position, f"reason {1 << position:#x}")
        for position in range(bits.bit_length())
        if bits >> position & 1
    )
