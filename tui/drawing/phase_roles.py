"""The color role of each phase."""

from __future__ import annotations

PHASE_ROLES = {
    "forward": "compute",
    "backward": "compute",
    "optimizer": "compute",
    "data": "data",
    "h2d": "h2d",
    "comm": "comm",
    "checkpoint": "checkpoint",
    "eval": "checkpoint",
    "compile": "compile",
    "startup": "compile",
    "gc": "sync",
    "sync": "sync",
    "stalled": "hot",
}
