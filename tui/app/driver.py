"""Textual's terminal driver, with an input thread that sleeps while nobody types.

The stock one wakes ten times a second to see whether it shall end, which costs as much as half of a
monitor's collecting; and a byte that is not UTF-8 ends the program. Nor does it give the terminal
back when a signal ends the program, and one that another stops and continues it starts twice.
"""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import os
import select
import signal
import sys
import termios
import time
from typing import Any, TextIO, cast

from textual._xterm_parser import XTermParser
from textual.drivers.linux_driver import LinuxDriver

from ..console.exits import BY_SIGNAL

_TICK_SECONDS = 0.1
"""Between looks at a key that may go on, such as Escape."""
_TYPING_SECONDS = 0.5
"""So long after a key it looks again and again; then nothing can be pending any more."""
_ENDING = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM)


class _Screen:
    """Where pictures go. A terminal that is gone takes no more, and that is no error."""

    def __init__(self, file: TextIO) -> None:
        self._file = file

    def write(self, text: str) -> None:
        with contextlib.suppress(OSError):
            self._file.write(text)

    def flush(self) -> None:
        with contextlib.suppress(OSError):
            self._file.flush()

    def fileno(self) -> int:
        return self._file.fileno()


class QuietDriver(LinuxDriver):
    """Waits for keys, and for the word to end, without a clock."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)  # pyright: ignore[reportUnknownMemberType]
        self._woken, self._wake = os.pipe()
        os.set_blocking(self._woken, False)

        # Standard output is the terminal: that was seen to. Standard error may lead elsewhere.
        self._file = cast("Any", _Screen(cast("TextIO", sys.__stdout__)))

    def start_application_mode(self) -> None:
        super().start_application_mode()  # type: ignore[no-untyped-call]
        loop = asyncio.get_running_loop()
        for number in _ENDING:
            loop.add_signal_handler(number, self._end, BY_SIGNAL + number)
        loop.add_signal_handler(signal.SIGTSTP, self.suspend)
        loop.add_signal_handler(signal.SIGCONT, self._start_again)

    def suspend(self) -> None:
        """Give the terminal back, stop, and take it again when continued in the foreground."""
        self.suspend_application_mode()
        self._leave_signals()
        # The whole group, as the terminal itself does it: the shell may know another one of it as its
        # job. A group that no shell would ever continue is not stopped by this signal.
        os.killpg(0, signal.SIGTSTP)
        self._resume()

    def _start_again(self) -> None:
        """Somebody stopped us without asking; the shell has used the terminal since."""
        self._leave_signals()
        if self._is_ours():
            self.suspend_application_mode()
        self._resume()

    def _resume(self) -> None:
        if not self._is_ours():
            self._end(BY_SIGNAL + signal.SIGHUP)
            return
        self.resume_application_mode()
        self._app.refresh(layout=True)

    def _is_ours(self) -> bool:
        """Wait, stopped, until we are in the foreground; false where there is no terminal any more."""
        try:
            termios.tcsetattr(self.fileno, termios.TCSANOW, termios.tcgetattr(self.fileno))
        except termios.error:
            return False
        return True

    def _leave_signals(self) -> None:
        """With the terminal as it was, every signal may do what it always does."""
        loop = asyncio.get_running_loop()
        for number in (*_ENDING, signal.SIGTSTP, signal.SIGCONT):
            loop.remove_signal_handler(number)

    def _end(self, code: int) -> None:
        self._app.exit(return_code=code)

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
                data = self._typed()
                if not data:
                    self._app.call_later(self._end, BY_SIGNAL + signal.SIGHUP)
                    break
                for message in parser.feed(decode(data)):
                    self.process_message(message)
                quiet_from = time.monotonic() + _TYPING_SECONDS
            for message in parser.tick():
                self.process_message(message)
        self._forget_wakes()

    def _typed(self) -> bytes:
        """What was typed; nothing where the terminal is gone."""
        try:
            return os.read(self.fileno, 4096)
        except OSError:
            return b""

    def _forget_wakes(self) -> None:
        """So that the next input thread, after Ctrl-Z and fg, does not end at once."""
        with contextlib.suppress(BlockingIOError):
            os.read(self._woken, 64)
