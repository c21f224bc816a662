"""Words with a fixed set of values, shared by frames, rules and screens."""

from __future__ import annotations

from typing import Literal

GpuStatus = Literal["ok", "stale", "lost", "failed"]
"""``failed``: the driver answers everything about it with an error that is no refusal."""


Origin = Literal["measured", "sampled", "inferred"]


ProcessRole = Literal["rank", "worker", "launcher", "other"]


AssignedBy = Literal["driver", "probe", "open files", "environment"]

LONG_PHASES = frozenset({"startup", "compile", "checkpoint", "eval"})
"""These take long by their nature."""


FABRIC_JOINED = "completed"
"""What the driver says of a GPU that has joined its NVSwitch fabric…"""


FABRIC_WELL = "healthy"
"""…and of a fabric in which nothing is wrong."""
