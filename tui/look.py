"""What each role looks like: a table over the variables of the theme."""

from __future__ import annotations

from collections.abc import Mapping

from rich.style import Style
from textual.color import Color, ColorParseError

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
"""Role → variable of the theme for its colour, and rich's attributes."""


def styles_of(variables: Mapping[str, str]) -> dict[str, Style]:
    """A style for each role, in the colours of a theme."""
    ground = _colour(variables.get("background", ""))
    base = Style(bgcolor=ground.rich_color) if ground and ground.ansi != -1 else Style()
    return {
        role: base + _style(_colour(variables.get(name, "")), attributes)
        for role, (name, attributes) in ROLES.items()
    }


def _style(colour: Color | None, attributes: str) -> Style:
    style = Style.parse(attributes)
    # The terminal's own foreground needs no saying.
    return style if colour is None or colour.ansi == -1 else Style(color=colour.rich_color) + style


def _colour(name: str) -> Color | None:
    try:
        return Color.parse(name)
    except ColorParseError:
        return None
