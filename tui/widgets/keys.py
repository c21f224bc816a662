"""Keys in words, from the bindings in force: the line below and the help cannot drift from them."""

from __future__ import annotations

from typing import Any, NamedTuple

from textual.binding import Binding
from textual.dom import DOMNode
from textual.screen import Screen

from .look import app_of

HELP_KEY, QUIT_KEY = "?", "q"
_NAMES = {
    "question_mark": "?",
    "slash": "/",
    "left_square_bracket": "[",
    "right_square_bracket": "]",
    "left_curly_bracket": "{",
    "right_curly_bracket": "}",
    "less_than_sign": "<",
    "greater_than_sign": ">",
    "plus": "+",
    "equals_sign": "=",
    "minus": "-",
    "enter": "Enter",
    "escape": "Esc",
    "space": "Space",
    "pageup": "PgUp",
    "pagedown": "PgDn",
    "home": "Home",
    "end": "End",
    "tab": "Tab",
    "shift+tab": "Shift-Tab",
    "ctrl+c": "Ctrl-C",
    "ctrl+q": "Ctrl-Q",
    "ctrl+z": "Ctrl-Z",
    "up": "Up",
    "down": "Down",
    "left": "Left",
    "right": "Right",
}


_OTHERS_WORDS = {"Quit": "quit"}
"""How Textual describes its own bindings → how we do."""


class Keys(NamedTuple):
    """One action, with all its keys."""

    names: str
    does: str


def name_of(key: str) -> str:
    """``question_mark`` → ``?``."""
    return _NAMES.get(key, key)


def hints_of(screen: Screen[Any]) -> tuple[tuple[str, str], ...]:
    """The few keys for the line below."""
    hints: dict[str, str] = {}
    for binding in _bindings(screen):
        if binding.show and binding.action not in hints:
            hints[binding.action] = binding.key
    described = {binding.action: binding.description for binding in _bindings(screen)}
    return tuple((name_of(key), described[action]) for action, key in hints.items())


def all_keys(screen: Screen[Any]) -> list[Keys]:
    """Every key of a screen and of the application under it, those that do the same together."""
    found: dict[str, list[str]] = {}
    for binding in _bindings(screen):
        if binding.description:
            does = _OTHERS_WORDS.get(binding.description, binding.description)
            names = found.setdefault(does, [])
            if name_of(binding.key) not in names:
                names.append(name_of(binding.key))
    return [Keys(" ".join(names), does) for does, names in found.items()]


def _bindings(screen: Screen[Any]) -> list[Binding]:
    """The screen's own first. Textual's own, what does nothing here, and keys of the application that the
    screen has taken for itself are left out.
    """
    without: frozenset[str] = getattr(screen, "WITHOUT", frozenset())
    ours: tuple[DOMNode, ...] = (screen, app_of(screen))
    taken = screen._bindings.key_to_bindings  # pyright: ignore[reportPrivateUsage]
    return [
        binding
        for node in ours
        for key, key_bindings in node._bindings.key_to_bindings.items()  # pyright: ignore[reportPrivateUsage]
        if node is screen or key not in taken
        for binding in key_bindings
        if not binding.action.startswith(("app.focus", "screen.copy"))
        and not binding.system
        and (action := binding.action.partition("(")[0]) not in without
        and app_of(screen).check_action(action, ()) is not False
    ]
