"""A process of our own that may hang in the kernel: talked to by pipes, left behind if need be."""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import signal
import threading
import traceback
from collections.abc import Callable, Sequence
from typing import Any

from ..scheduling.process_limit import EXIT_CODE, SENTENCE, is_process_limit

PIPE_BYTES = 1 << 18
"""A whole sample fits, so that it is written at once."""
_MOST_DESCRIPTORS = 256


def readable(descriptor: int, seconds: float) -> bool:
    """Whether there is something to read, or an end, within so many seconds."""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(max(0.0, seconds) * 1000))


class Child:
    """A process of its own, in a session of its own: Ctrl-C and Ctrl-Z are for the front end alone.

    It may be used from any thread: a deadline may end what another thread is ending just now.

    Args:
        start: starts it, with pipes as its standard input and output; returns its pid.

    Raises:
        OSError: when it cannot be started.
    """

    def __init__(self, start: Callable[[int, int], int]) -> None:
        child_input, self.input = os.pipe()
        self.output, child_output = os.pipe()
        try:
            self.pid = start(child_input, child_output)
            self._handle = os.pidfd_open(self.pid)
        except OSError:
            os.close(self.input)
            os.close(self.output)
            raise
        finally:
            os.close(child_input)
            os.close(child_output)
        os.set_blocking(self.input, False)
        with contextlib.suppress(OSError):  # without it, a sample comes in pieces
            fcntl.fcntl(self.output, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
        self._lock = threading.Lock()
        """Held where a descriptor is used or the child is reaped: both can be done away with once."""
        self._open = True
        self._ended: str | None = None

    def write(self, data: bytes) -> None:
        """To its standard input; nothing happens where it does not read any more."""
        with self._lock, contextlib.suppress(OSError):
            if self._open:
                os.write(self.input, data)

    def kill(self) -> None:
        """Ask the kernel to end it."""
        with self._lock, contextlib.suppress(ProcessLookupError):
            if self._open:
                signal.pidfd_send_signal(self._handle, signal.SIGKILL)

    def ended_within(self, seconds: float) -> str | None:
        """How it ended, in words; ``None`` where it has not, after so many seconds."""
        # The wait is outside of the lock: who asks for less shall not wait for who asks for more.
        if self._ended is None and self._open and readable(self._handle, seconds):
            with self._lock:
                if self._ended is None and self._open:
                    self._ended = self._reaped()
        return self._ended

    def close(self) -> None:
        """Close the pipes: nobody may read or write any more. Again, it does nothing."""
        with self._lock:
            if not self._open:
                return
            self._open = False
            for descriptor in (self.input, self.output, self._handle):
                os.close(descriptor)

    def _reaped(self) -> str:
        """How it ended: it has, so this does not wait."""
        _, status = os.waitpid(self.pid, 0)
        code = os.waitstatus_to_exitcode(status)
        if code == EXIT_CODE:
            return SENTENCE
        return f"signal {-code}" if code < 0 else f"exit code {code}"


def forked(run: Callable[[], object]) -> Callable[[int, int], int]:
    """To run a function in a child, which ends when it returns.

    Only for a process that has one thread. It costs a tenth of what starting another interpreter
    does, and shares its memory.
    """

    def start(child_input: int, child_output: int) -> int:
        pid = os.fork()
        if pid == 0:
            _become(run, child_input, child_output)
        return pid

    return start


def spawned(command: Sequence[str]) -> Callable[[int, int], int]:
    """To run a program in a child, whatever threads this process has."""

    def start(child_input: int, child_output: int) -> int:
        actions: list[tuple[Any, ...]] = [
            (os.POSIX_SPAWN_DUP2, child_input, 0),
            (os.POSIX_SPAWN_DUP2, child_output, 1),
        ]
        if not _debugging():
            actions.append((os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0))
        return os.posix_spawn(
            command[0],
            list(command),
            os.environ,
            file_actions=actions,
            setsid=True,
        )

    return start


def _become(run: Callable[[], object], child_input: int, child_output: int) -> None:
    """In the child: never comes back, whatever happens."""
    try:
        os.setsid()
        os.dup2(child_input, 0)
        os.dup2(child_output, 1)
        if not _debugging():
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        os.closerange(3, _MOST_DESCRIPTORS)  # else it holds its own input open
        run()
    except BaseException as error:  # noqa: BLE001 - the child must never run on into the code of its parent
        traceback.print_exc()
        os._exit(EXIT_CODE if is_process_limit(error) else 1)
    os._exit(0)


def _debugging() -> bool:
    return bool(os.environ.get("GPUTOP_DEBUG"))
