"""What NVML's return codes say, and which of them mean that a GPU is in a bad state."""

from __future__ import annotations

from .missing_reasons import LOST

_GPU_IS_LOST, _RESET_REQUIRED = 15, 16

DRIVER_SAYS: dict[int, str] = {
    1: "Uninitialized",
    2: "Invalid Argument",
    3: "Not Supported",
    4: "Insufficient Permissions",
    6: "Not Found",
    7: "Insufficient Size",
    8: "Insufficient External Power",
    9: "Driver Not Loaded",
    10: "Timeout",
    11: "Interrupt Request Issue",
    12: "Library Not Found",
    13: "Function Not Found",
    14: "Corrupted infoROM",
    15: LOST,
    16: "GPU needs a reset",
    17: "blocked by the operating system",
    18: "driver and library versions differ",
    19: "In Use",
    20: "Insufficient Memory",
    21: "No Data",
    22: "Not Supported for ECC-enabled vGPUs",
    23: "Insufficient Resources",
    24: "Frequency Not Supported",
    25: "Argument version mismatch",
    26: "Deprecated",
    27: "Not Ready",
    28: "GPU Not Found",
    29: "Invalid State",
    999: "Unknown Error",
}
"""NVML return code → its text. Here because asking the driver for it would be one more call."""

OF_THE_DEVICE = frozenset({8, 11, 14, _GPU_IS_LOST, _RESET_REQUIRED})
"""Codes about the GPU itself: one call that returns one of them tells as much as all."""

_OF_ONE_CALL = frozenset({2, 5, 6, 7, 12, 19, 21, 22, 24, 27, 28, 29})
"""Codes that a healthy GPU may return from a single call: nothing to report, busy, asked wrongly."""


def driver_says(code: int) -> str:
    """What is shown for a return code that has no phrase of its own."""
    return f"driver says: {DRIVER_SAYS.get(code, f'error {code}')}"


def fault_text(code: int) -> str:
    """The same with the number, by which it is looked up: ``Unknown Error (code 999)``."""
    return f"{DRIVER_SAYS.get(code, 'an error unknown to this program')} (code {code})"


def is_bad_state(code: int) -> bool:
    """Whether one of the calls that every GPU answers may fail this way on a bad GPU only."""
    return code not in _OF_ONE_CALL
