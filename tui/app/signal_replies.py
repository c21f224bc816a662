"""What became of a signal that one process, or a whole tree of them, was to get."""

from __future__ import annotations

from collections.abc import Callable

from ...probes.wire.messages import Reply


class SignalReplies:
    """Replies to one request, passed on when the last of them is there."""

    def __init__(self, name: str, pid: int, processes: int, tell: Callable[[str], None]) -> None:
        self._name = name
        self._pid = pid
        self._processes = processes
        self._tell = tell
        self._sent = 0
        self._refusals: list[str] = []

    def add(self, reply: Reply) -> None:
        """Called from the worker thread, once for each process."""
        if reply.ok:
            self._sent += 1
        else:
            self._refusals.append(reply.message)
        if self._sent + len(self._refusals) == self._processes:
            self._tell(self._sentence())

    def _sentence(self) -> str:
        if self._sent == self._processes:
            more = f" and {self._processes - 1} below it" if self._processes > 1 else ""
            return f"{self._name} was sent to pid {self._pid}{more}"
        if self._sent == 0:
            return f"{self._name} was not sent: {self._refusals[0]}"
        first, *_ = self._refusals
        return f"{self._name} was sent to {self._sent} of {self._processes} processes: {first}"
