"""Why values are missing, in words."""

from __future__ import annotations

from ..probes.frame import GpuFrame
from .widgets.evidence import words_of


def why_missing(gpu: GpuFrame) -> str:
    """One sentence on everything that a GPU does not give."""
    if gpu.status != "ok":
        return f"GPU {gpu.index}: {gpu.status_reason or gpu.status}"
    reasons: dict[str, list[str]] = {}
    for field, reason in gpu.missing.items():
        reasons.setdefault(reason, []).append(words_of(field))
    parts = [f"{', '.join(fields)} {reason}" for reason, fields in reasons.items()]
    return f"GPU {gpu.index}: " + ("; ".join(parts) or "all values are there")
