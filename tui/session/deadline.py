"""A watch that nobody looks at while it is waited for: it must end also where nothing comes."""

from __future__ import annotations

import os
import threading
import time
from types import TracebackType
from typing import Self

from ...probes.scheduling.patience import Patience
from ...probes.scheduling.words import starved_sentence
from .watch import Watch

HANGS_SECONDS = 10.0
"""A collector that is run and says nothing for so long hangs."""
LONGEST_SECONDS = 60.0
"""Nobody waits longer for one that is not run, unless he says so."""
_TURN_SECONDS = 0.25


class Deadline:
    """Closes a watch in which nothing has come for too long, from a thread of its own.

    Args:
        watch: closed when the time is over.
        timeout_seconds: after which it is closed whatever comes; ``None``: only where nothing comes.
    """

    def __init__(self, watch: Watch, timeout_seconds: float | None = None) -> None:
        self._watch = watch
        self._timeout = timeout_seconds
        self._patience = Patience(os.getpid(), *watch.pids)
        self._over = threading.Event()
        self._came = threading.Event()
        self.why = ""
        """Why it was closed, one sentence; empty: it was not."""

    def __enter__(self) -> Self:
        threading.Thread(target=self._wait, name="deadline", daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._over.set()

    def came(self) -> None:
        """Something has come: the time begins anew."""
        self._came.set()

    def _wait(self) -> None:
        began = came = time.monotonic()
        while not self._over.wait(_TURN_SECONDS):
            if self._came.is_set():
                self._came.clear()
                self._patience.again()
                came = time.monotonic()
                if self._timeout is None:
                    continue
            self._patience.look(_TURN_SECONDS)
            now = time.monotonic()
            self.why = self._why(now - began, now - came)
            if self.why:
                self._watch.close()
                return

    def _why(self, seconds: float, silent: float) -> str:
        if self._timeout is not None:
            return self._sentence(seconds) if seconds >= self._timeout else ""
        if self._patience.waited_seconds >= HANGS_SECONDS or silent >= LONGEST_SECONDS:
            return self._sentence(silent)
        return ""

    def _sentence(self, seconds: float) -> str:
        if self._patience.starved:
            longer = "--timeout SECONDS waits longer"
            return f"{starved_sentence()}: no sample came within {seconds:.0f} s; {longer}"
        hangs = "" if self._timeout is not None else ": the collector hangs"
        return f"no sample came within {seconds:.0f} s{hangs}"
