"""Words with a fixed set of values, shared by frames, rules and screens."""

from __future__ import annotations

from typing import Literal

GpuStatus = Literal["ok", "stale", "lost"]


Origin = Literal["measured", "sampled", "inferred"]


ProcessRole = Literal["rank", "worker", "launcher", "other"]


AssignedBy = Literal["driver", "probe", "open files", "environment"]
