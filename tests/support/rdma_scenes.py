"""A node with RDMA ports, the first of which is odd."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from support.rules_scenes import Changes, Script
from support.scene_readings import port

Fields = Callable[[float], dict[str, Any]]


def ports(odd: Fields, count: int = 4, **changes: Any) -> Script:
    """Port 0 is odd, the others are in good health."""

    def script(second: float) -> Changes:
        others = [port(second, number) for number in range(1, count)]
        return Changes(ports=[port(second, 0, **odd(second)), *others], **changes)

    return script


def from_second(begin: float, **fields: Any) -> Fields:
    return lambda second: fields if second >= begin else {}


def counting(per_second: float, name: str, begin: float = 0.0, end: float = 1e9) -> Fields:
    return lambda second: {"counters": {name: int(per_second * max(0.0, min(second, end) - begin))}}
