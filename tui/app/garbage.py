"""Fewer looks for garbage: drawing leaves none, and each look at all objects costs as much as a panel."""

from __future__ import annotations

import gc

_NEW_OBJECTS = 20_000
"""After so many new ones Python looks at them; a frame has some thousands, and leaves no garbage."""


def spare_garbage_collection() -> None:
    """Called once everything is loaded: nothing of that will ever be garbage."""
    gc.freeze()
    gc.set_threshold(_NEW_OBJECTS, 10, 10)
