"""How long an exact stack stops its process."""

from __future__ import annotations

BLOCKING_SECONDS = 0.0015


EACH_THREAD_SECONDS = 0.00017


NATIVE_SECONDS = 0.3
"""Pauses as measured on torch jobs of 2 to 128 threads; the native one varied from 0.04 to 0.3 s."""


def expected_pause(threads: int | None, *, native: bool) -> float:
    """For how many seconds the target will be stopped, about."""
    return NATIVE_SECONDS if native else BLOCKING_SECONDS + EACH_THREAD_SECONDS * (threads or 1)
