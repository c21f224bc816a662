"""The control socket: a Unix socket beside the page, for what needs the job's cooperation.

One request a connection, one line of JSON each way. It is served by one thread that sleeps in
``accept``; nothing here runs in a training thread. A client may be hostile or broken: it has a deadline
and a bounded line, and only the job's own user and root are heard at all.
"""

from __future__ import annotations

import json
import os
import socket
import struct
import threading
import time
from typing import Any, cast

from .commands import CommandError, answer
from .ending import at_exit
from .instrument import Instrument

REQUEST_BYTES = 4096
REQUEST_SECONDS = 2.0
"""From the connection to the end of the request's line."""
REPLY_SECONDS = 10.0
_WAITING_CLIENTS = 8
_PEER = struct.Struct("3i")
"""Pid, uid and gid of the other side, as the kernel knows them."""
_PAUSE_SECONDS = 1.0


class Control(Instrument):
    """Listens for requests; see `answer` for what can be asked."""

    name = "control"
    edges = 0

    def install(self) -> None:
        page = self.probe.page
        self._owner = os.getpid()
        self._directory = page.directory
        self._file = f"{page.name}.sock"
        self._remove_file()  # ours, from before an exec
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            # By descriptor: a path may be longer than a socket's address can be.
            address = f"/proc/self/fd/{self._directory}/{self._file}"
            listener.bind(address)
            os.chmod(address, 0o600)
            listener.listen(_WAITING_CLIENTS)
        except BaseException:
            listener.close()
            raise
        self._listener = listener
        self._open = True
        threading.Thread(target=self._serve, name="gputop-control", daemon=True).start()
        at_exit(self._at_exit)
        self.probe.tell(socket=os.path.join(os.path.dirname(page.path), self._file))

    def remove(self) -> None:
        self._open = False
        if os.getpid() == self._owner:
            self._listener.shutdown(socket.SHUT_RDWR)  # wakes the thread; closing would not
            self._remove_file()
        self._listener.close()

    def _at_exit(self) -> None:
        if os.getpid() == self._owner:
            self._remove_file()

    def _remove_file(self) -> None:
        try:
            os.unlink(self._file, dir_fd=self._directory)
        except OSError:
            return  # not there, or its directory is gone

    def _serve(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                if not self._open:
                    return
                time.sleep(_PAUSE_SECONDS)  # no descriptor left, perhaps: never spin
                continue
            self.calls += 1
            with client:
                self._hear(client)

    def _hear(self, client: socket.socket) -> None:
        try:
            self._talk(client)
        except Exception:
            return  # whatever a client does, the next one is heard

    def _talk(self, client: socket.socket) -> None:
        peer = client.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size)
        if _PEER.unpack(peer)[1] not in (os.geteuid(), 0):
            return
        line = _line_of(client)
        if line is None:
            return
        try:
            request: object = json.loads(line)
            if not isinstance(request, dict):
                raise CommandError("a request is a JSON object")
            reply = answer(self.probe, cast("dict[str, Any]", request))
        except CommandError as error:
            reply = {"error": str(error)}
        except Exception as error:
            reply = {"error": f"{type(error).__name__}: {error}"[:300]}
        client.settimeout(REPLY_SECONDS)
        client.sendall(json.dumps(reply).encode() + b"\n")


def _line_of(client: socket.socket) -> bytes | None:
    """The request's line; ``None`` if it does not come in time, is too long or breaks off."""
    deadline = time.monotonic() + REQUEST_SECONDS
    received = b""
    while len(received) <= REQUEST_BYTES:
        left = deadline - time.monotonic()
        if left <= 0:
            return None
        client.settimeout(left)
        data = client.recv(REQUEST_BYTES)
        if not data:
            return None
        received += data
        line, newline, _ = received.partition(b"\n")
        if newline:
            return line
    return None
