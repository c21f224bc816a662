"""The words for what NVML says in numbers: one table a kind."""

from __future__ import annotations

from ...model.missing_reasons import LOST

ARCHITECTURES: dict[int, str] = {
    2: "Kepler",
    3: "Maxwell",
    4: "Pascal",
    5: "Volta",
    6: "Turing",
    7: "Ampere",
    8: "Ada",
    9: "Hopper",
    10: "Blackwell",
    13: "Rubin",
}

COMPUTE_MODES: dict[int, str] = {
    0: "default",
    1: "exclusive thread",
    2: "prohibited",
    3: "exclusive process",
}

RECOVERY_ACTIONS: dict[int, str] = {
    0: "none",
    1: "gpu reset",
    2: "node reboot",
    3: "drain p2p",
    4: "drain and reset",
    5: "recover imex domain",
    6: "bus reset",
    7: "system reboot",
}

NVLINK_GENERATIONS: dict[int, int] = {1: 1, 2: 2, 3: 2, 4: 3, 5: 3, 6: 4, 7: 5, 8: 6}
"""NVML numbers the minor versions too: 2.2 is 3, 4.0 is 6."""


DRIVER_SAYS: dict[int, str] = {
    1: "Uninitialized",
    2: "Invalid Argument",
    6: "Not Found",
    7: "Insufficient Size",
    8: "Insufficient External Power",
    9: "Driver Not Loaded",
    10: "Timeout",
    11: "Interrupt Request Issue",
    14: "Corrupted infoROM",
    15: LOST,
    16: "GPU needs a reset",
    17: "blocked by the operating system",
    18: "driver and library versions differ",
    19: "In Use",
    20: "Insufficient Memory",
    21: "No Data",
    23: "Insufficient Resources",
    27: "Not Ready",
    28: "GPU Not Found",
    29: "Invalid State",
    999: "Unknown Error",
}
"""NVML return code → its text. Here because asking the driver for it would be one more call."""


def driver_says(code: int) -> str:
    """What is shown for a return code that has no phrase of its own."""
    return f"driver says: {DRIVER_SAYS.get(code, f'error {code}')}"
