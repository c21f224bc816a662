"""Whoever has connected to the control socket: each is heard and answered as far as it goes, none is waited for."""

from __future__ import annotations

import socket
import struct
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

REQUEST_BYTES = 4096
REQUEST_SECONDS = 2.0
"""From the connection to the end of the request's line."""
REPLY_SECONDS = 10.0
_PEER = struct.Struct("3i")
"""Pid, uid and gid of the other side, as the kernel knows them."""


class Client:
    """One connection: a line comes in, a line goes out.

    Args:
        connection: is closed by `close` alone.

    Attributes:
        answering: its request is there, and the answer is on its way.
        deadline: on the monotonic clock; after it there is no more waiting for this one.
    """

    def __init__(self, connection: socket.socket) -> None:
        connection.setblocking(False)
        self._connection = connection
        self._received = b""
        self._reply = memoryview(b"")
        self.answering = False
        self.deadline = time.monotonic() + REQUEST_SECONDS

    def fileno(self) -> int:
        """Of the connection."""
        return self._connection.fileno()

    def close(self) -> None:
        """End it."""
        self._connection.close()

    def go_on(self, answer: Callable[[bytes], bytes]) -> bool:
        """Take or give what can be at this moment. Whether there is more to come.

        Args:
            answer: what is sent in return for the request's line.
        """
        try:
            if not self.answering and not self._hear(answer):
                return False
            return self._send() if self.answering else True
        except BlockingIOError:
            return True
        except OSError:
            return False  # it has gone

    def _hear(self, answer: Callable[[bytes], bytes]) -> bool:
        data = self._connection.recv(REQUEST_BYTES)
        self._received += data
        line, newline, _ = self._received.partition(b"\n")
        if newline:
            self._reply = memoryview(answer(line))
            self.answering = True
            self.deadline = time.monotonic() + REPLY_SECONDS
        return bool(newline) or (bool(data) and len(self._received) <= REQUEST_BYTES)

    def _send(self) -> bool:
        self._reply = self._reply[self._connection.send(self._reply) :]
        return bool(self._reply)


def user_of(connection: socket.socket) -> int:
    """Of the process on the other side."""
    peer = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size)
    uid: int = _PEER.unpack(peer)[1]
    return uid
