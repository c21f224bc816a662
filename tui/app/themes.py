"""Our themes: the terminal's own sixteen colors, and two with colors of their own."""

from __future__ import annotations

from typing import NamedTuple

from textual.theme import Theme

# Bright black would be the usual grey, but some palettes (Solarized) make it the background.

TERMINAL = Theme(
    name="terminal",
    ansi=True,
    primary="ansi_cyan",
    secondary="ansi_blue",
    warning="ansi_yellow",
    error="ansi_red",
    success="ansi_green",
    accent="ansi_cyan",
    foreground="ansi_default",
    background="ansi_default",
    surface="ansi_default",
    panel="ansi_default",
    boost="ansi_default",
    variables={
        "ansi-background": "ansi_black",
        "ansi-foreground": "ansi_white",
        "gputop-dim": "ansi_default dim",
        "gputop-rule": "ansi_default dim",
        "gputop-title": "ansi_cyan",
        "gputop-gauge": "ansi_green",
        "gputop-memory": "ansi_blue",
        "gputop-spark": "ansi_green",
        "gputop-compute": "ansi_green",
        "gputop-data": "ansi_yellow",
        "gputop-comm": "ansi_magenta",
        "gputop-h2d": "ansi_cyan",
        "gputop-checkpoint": "ansi_blue",
        "gputop-compile": "ansi_bright_blue",
        "gputop-sync": "ansi_bright_magenta",
    },
)


class _Palette(NamedTuple):
    """Colors of our own; what the terminal's theme names is made of them."""

    ground: str
    raised: str
    text: str
    dim: str
    rule: str
    title: str
    second: str
    good: str
    warm: str
    hot: str
    memory: str
    spark: str
    comm: str
    h2d: str
    compile: str
    sync: str


def _theme(name: str, color: _Palette, *, dark: bool) -> Theme:
    return Theme(
        name=name,
        dark=dark,
        primary=color.title,
        secondary=color.second,
        warning=color.warm,
        error=color.hot,
        success=color.good,
        accent=color.title,
        foreground=color.text,
        background=color.ground,
        surface=color.ground,
        panel=color.raised,
        boost=color.raised,
        variables={
            "gputop-dim": color.dim,
            "gputop-rule": color.rule,
            "gputop-title": color.title,
            "gputop-gauge": color.good,
            "gputop-memory": color.memory,
            "gputop-spark": color.spark,
            "gputop-compute": color.good,
            "gputop-data": color.warm,
            "gputop-comm": color.comm,
            "gputop-h2d": color.h2d,
            "gputop-checkpoint": color.memory,
            "gputop-compile": color.compile,
            "gputop-sync": color.sync,
        },
    )


_DARK = _Palette(
    ground="#12161c",
    raised="#1b2129",
    text="#d5dbe3",
    dim="#7d8896",
    rule="#3a434f",
    title="#6cb6ff",
    second="#5aa0e0",
    good="#57c785",
    warm="#e3b341",
    hot="#ff6b6b",
    memory="#5a9be0",
    spark="#4a9e6c",
    comm="#c586e8",
    h2d="#4fc1c9",
    compile="#8fa8ff",
    sync="#e88ac0",
)
_LIGHT = _Palette(
    ground="#fafbfc",
    raised="#eef1f4",
    text="#20262d",
    dim="#66707c",
    rule="#c3cad2",
    title="#0b63b5",
    second="#2a78c0",
    good="#1f7a3d",
    warm="#9a6200",
    hot="#c02626",
    memory="#2a6fbb",
    spark="#4a9465",
    comm="#8a3fb0",
    h2d="#0d7f88",
    compile="#4a5fd0",
    sync="#b03a80",
)
THEMES = (TERMINAL, _theme("dark", _DARK, dark=True), _theme("light", _LIGHT, dark=False))


def after(name: str) -> str:
    """The name of the next theme."""
    names = [theme.name for theme in THEMES]
    return names[(names.index(name) + 1) % len(names)] if name in names else names[0]
