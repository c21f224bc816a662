"""TERM and HUP end a command as Ctrl+C does, so that it leaves things in order."""

from __future__ import annotations

import signal
from types import FrameType


class EndedBySignals:
    """While it is entered, these signals raise `KeyboardInterrupt`."""

    def __enter__(self) -> None:
        self._before = {
            number: signal.signal(number, _interrupt) for number in (signal.SIGTERM, signal.SIGHUP)
        }

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt
