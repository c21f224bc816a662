"""What more than one part must agree on."""

from __future__ import annotations

MIN_INTERVAL_SECONDS = 0.2
"""Faster polling slows the GPU's own work (nvtop#365)."""
MAX_INTERVAL_SECONDS = 60.0

COLLECTOR_NAME = "gputop-collect"
"""What ``ps -o comm`` shows, also of one that hangs while it ends; the kernel keeps 15 characters."""
