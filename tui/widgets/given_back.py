"""What widgets that were left have drawn: Textual would keep it."""

from __future__ import annotations

from textual._styles_cache import StylesCache


def give_back(drawn: StylesCache) -> None:
    """Textual remembers a thousand of these by one of their methods, and with them all their strips."""
    drawn.clear()
