"""The words for what NVML says in numbers: one table a kind."""

from __future__ import annotations

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
