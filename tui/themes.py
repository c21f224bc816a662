"""Our themes: the terminal's own sixteen colours, and two with colours of their own."""

from __future__ import annotations

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
DARK = Theme(
    name="dark",
    primary="#6cb6ff",
    secondary="#5aa0e0",
    warning="#e3b341",
    error="#ff6b6b",
    success="#57c785",
    accent="#6cb6ff",
    foreground="#d5dbe3",
    background="#12161c",
    surface="#12161c",
    panel="#1b2129",
    boost="#1b2129",
    variables={
        "gputop-dim": "#7d8896",
        "gputop-rule": "#3a434f",
        "gputop-title": "#6cb6ff",
        "gputop-gauge": "#57c785",
        "gputop-memory": "#5a9be0",
        "gputop-spark": "#4a9e6c",
        "gputop-compute": "#57c785",
        "gputop-data": "#e3b341",
        "gputop-comm": "#c586e8",
        "gputop-h2d": "#4fc1c9",
        "gputop-checkpoint": "#5a9be0",
        "gputop-compile": "#8fa8ff",
        "gputop-sync": "#e88ac0",
    },
)
LIGHT = Theme(
    name="light",
    dark=False,
    primary="#0b63b5",
    secondary="#2a78c0",
    warning="#9a6200",
    error="#c02626",
    success="#1f7a3d",
    accent="#0b63b5",
    foreground="#20262d",
    background="#fafbfc",
    surface="#fafbfc",
    panel="#eef1f4",
    boost="#eef1f4",
    variables={
        "gputop-dim": "#66707c",
        "gputop-rule": "#c3cad2",
        "gputop-title": "#0b63b5",
        "gputop-gauge": "#1f7a3d",
        "gputop-memory": "#2a6fbb",
        "gputop-spark": "#4a9465",
        "gputop-compute": "#1f7a3d",
        "gputop-data": "#9a6200",
        "gputop-comm": "#8a3fb0",
        "gputop-h2d": "#0d7f88",
        "gputop-checkpoint": "#2a6fbb",
        "gputop-compile": "#4a5fd0",
        "gputop-sync": "#b03a80",
    },
)
THEMES = (TERMINAL, DARK, LIGHT)


def after(name: str) -> str:
    """The name of the next theme."""
    names = [theme.name for theme in THEMES]
    return names[(names.index(name) + 1) % len(names)] if name in names else names[0]
