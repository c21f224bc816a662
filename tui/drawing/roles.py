"""Color roles: what a span of text means, and which theme variable shows it."""

from __future__ import annotations

from .lines import Line

ROLES: dict[str, tuple[str, str]] = {
    "text": ("foreground", ""),
    "strong": ("foreground", "bold"),
    "dim": ("gputop-dim", ""),
    "stale": ("gputop-dim", "italic"),
    "title": ("gputop-title", "bold"),
    "rule": ("gputop-rule", ""),
    "brand": ("gputop-title", "bold"),
    "key": ("gputop-title", "bold"),
    "good": ("success", ""),
    "warning": ("warning", "bold"),
    "error": ("error", "bold"),
    "info": ("gputop-title", ""),
    "warm": ("warning", ""),
    "hot": ("error", ""),
    "mark": ("foreground", "bold reverse"),
    "trough": ("gputop-rule", ""),
    "gauge": ("gputop-gauge", ""),
    "memory": ("gputop-memory", ""),
    "spark": ("gputop-spark", ""),
    "compute": ("gputop-compute", ""),
    "data": ("gputop-data", ""),
    "comm": ("gputop-comm", ""),
    "h2d": ("gputop-h2d", ""),
    "checkpoint": ("gputop-checkpoint", ""),
    "compile": ("gputop-compile", ""),
    "sync": ("gputop-sync", ""),
    "other": ("gputop-dim", ""),
    "rest": ("gputop-rule", ""),
}
"""Role → variable of the theme for its color, and rich's attributes."""


_STILL_TRUE = frozenset({"title", "rule", "dim", "brand", "key", "mark", "stale"})


def faded(line: Line) -> Line:
    """A line of which nothing is news any more: its values look old."""
    return tuple([(text, role if role in _STILL_TRUE else "stale") for text, role in line])
