"""Bounds that more than one part must agree on."""

from __future__ import annotations

MIN_INTERVAL_SECONDS = 0.2
"""Faster polling slows the GPU's own work (nvtop#365)."""
MAX_INTERVAL_SECONDS = 60.0
