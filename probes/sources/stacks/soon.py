"""Looks at files of a watched program, whose disk may hang: then whoever looks is left behind."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

_SECONDS = 0.5
_Found = TypeVar("_Found")


def soon(work: Callable[[], _Found], otherwise: _Found) -> _Found:
    """What it returns; ``otherwise`` where that takes too long or meets an error of the system."""
    found: list[_Found] = []

    def look() -> None:
        try:
            found.append(work())
        except (OSError, ValueError):
            found.append(otherwise)

    looker = threading.Thread(target=look, name="files of a program", daemon=True)
    looker.start()
    looker.join(_SECONDS)
    return found[0] if found else otherwise
