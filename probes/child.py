"""A process of our own that may hang in the kernel: forked, talked to by pipes, left behind if need be."""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import signal
import traceback
from collections.abc import Callable

PIPE_BYTES = 1 << 18
"""A whole sample fits, so that it is written at once."""


def readable(descriptor: int, seconds: float) -> bool:
    """Whether there is something to read, or an end, within so many seconds."""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(max(0.0, seconds) * 1000))


class Child:
    """Runs a function in a process of its own, with pipes as its standard input and output.

    It must be made while this process has one thread. A fork costs a tenth of what starting another
    interpreter does, and shares its memory.

    Args:
        run: called in the child, which ends when it returns.
    """

    def __init__(self, run: Callable[[], object]) -> None:
        child_input, self.input = os.pipe()
        self.output, child_output = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self.input)
            os.close(self.output)
            _become(run, child_input, child_output)
        os.close(child_input)
        os.close(child_output)
        os.set_blocking(self.input, False)
        with contextlib.suppress(OSError):  # without it, a sample comes in pieces
            fcntl.fcntl(self.output, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
        self._handle = os.pidfd_open(self.pid)
        self._ended: str | None = None

    def write(self, data: bytes) -> None:
        """To its standard input; nothing happens where it does not read any more."""
        with contextlib.suppress(OSError):
            os.write(self.input, data)

    def kill(self) -> None:
        """Ask the kernel to end it."""
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._handle, signal.SIGKILL)

    def ended_within(self, seconds: float) -> str | None:
        """How it ended, in words; ``None`` where it has not, after so many seconds."""
        if self._ended is None and readable(self._handle, seconds):
            _, status = os.waitpid(self.pid, 0)
            code = os.waitstatus_to_exitcode(status)
            self._ended = f"signal {-code}" if code < 0 else f"exit code {code}"
        return self._ended


def _become(run: Callable[[], object], child_input: int, child_output: int) -> None:
    """In the child: never comes back, whatever happens."""
    try:
        # A session of its own: Ctrl-C at the terminal is for the front end alone.
        os.setsid()
        os.dup2(child_input, 0)
        os.dup2(child_output, 1)
        if not os.environ.get("GPUTOP_DEBUG"):
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        os.close(child_input)
        os.close(child_output)
        run()
    except BaseException:  # noqa: BLE001 - the child must never run on into the code of its parent
        traceback.print_exc()
        os._exit(1)
    os._exit(0)
