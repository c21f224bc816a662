"""Textual's terminal driver, with an input thread that sleeps while nobody types.

The stock one wakes ten times a second to see whether it shall end, which costs as much as half of a
monitor's collecting; and a byte that is not UTF-8 ends the program.
"""

from __future__ import annotations

import codecs
import contextlib
import os
import select
import time
from typing import Any

from textual._xterm_parser import XTermParser
from textual.drivers.linux_driver import LinuxDriver

_TICK_SECONDS = 0.1
"""Between looks at a key that may go on, such as Escape."""
_TYPING_SECONDS = 0.5
"""So long after a key it looks again and again; then nothing can be pending any more."""


class QuietDriver(LinuxDriver):
    """Waits for keys, and for the word to end, without a clock."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)  # pyright: ignore[reportUnknownMemberType]
        self._woken, self._wake = os.pipe()
        os.set_blocking(self._woken, False)

    def disable_input(self) -> None:
        os.write(self._wake, b"!")
        super().disable_input()

    def run_input_thread(self) -> None:
        parser = XTermParser(self._debug)
        decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        poll = select.poll()
        poll.register(self.fileno, select.POLLIN)
        poll.register(self._woken, select.POLLIN)
        quiet_from = 0.0
        while not self.exit_event.is_set():
            typing = time.monotonic() < quiet_from
            ready = {
                descriptor for descriptor, _ in poll.poll(_TICK_SECONDS * 1000 if typing else None)
            }
            if self.fileno in ready:
                data = os.read(self.fileno, 4096)
                if not data:
                    break  # the terminal is gone
                for message in parser.feed(decode(data)):
                    self.process_message(message)
                quiet_from = time.monotonic() + _TYPING_SECONDS
            for message in parser.tick():
                self.process_message(message)
        self._forget_wakes()

    def _forget_wakes(self) -> None:
        """So that the next input thread, after Ctrl-Z and fg, does not end at once."""
        with contextlib.suppress(BlockingIOError):
            os.read(self._woken, 64)
