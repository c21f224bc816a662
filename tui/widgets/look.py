"""What each role looks like: a table over the variables of the theme."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from rich.color import ColorSystem
from rich.style import Style
from textual.app import App
from textual.color import Color, ColorParseError
from textual.strip import Strip
from textual.widget import Widget

from ..drawing.roles import ROLES

_TERMINALS_OWN = -1


def styles_of(variables: Mapping[str, str], *, colors: bool = True) -> dict[str, Style]:
    """A style for each role, in the colors of a theme, or in none."""
    ground = _color(variables.get("background", "")) if colors else None
    base = Style() if ground is None else Style(bgcolor=ground.rich_color)
    return {
        role: base + _style(variables.get(name, ""), colors) + Style.parse(attributes)
        for role, (name, attributes) in ROLES.items()
    }


def app_of(widget: Widget) -> App[object]:
    """The widget's application; Textual leaves its type open."""
    return cast("App[object]", widget.app)  # pyright: ignore[reportUnknownMemberType]


def codes_of(styles: Mapping[str, Style], system: ColorSystem) -> dict[str, tuple[str, str]]:
    """For each role the terminal's codes, and what of them shows on spaces."""
    return {role: (_code(style, system), _on_spaces(style)) for role, style in styles.items()}


def _code(style: Style, system: ColorSystem) -> str:
    # The colors are rendered for one system only, which does not change while we run.
    return Strip.render_ansi(style, system)


def _on_spaces(style: Style) -> str:
    return f"{style.bgcolor}{style.reverse}{style.underline}{style.strike}"


def _style(variable: str, colors: bool) -> Style:
    """``ansi_default dim``: a color, and perhaps attributes."""
    name, _, attributes = variable.partition(" ")
    color = _color(name) if colors else None
    style = Style.parse(attributes)
    return style if color is None else Style(color=color.rich_color) + style


def _color(name: str) -> Color | None:
    """A color of the theme; ``None`` for the terminal's own, which needs no saying."""
    try:
        color = Color.parse(name)
    except ColorParseError:
        return None
    return None if color.ansi == _TERMINALS_OWN else color
