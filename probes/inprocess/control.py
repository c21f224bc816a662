"""The control socket: a Unix socket beside the page, for what needs the job's cooperation.

One request a connection, one line of JSON each way. It is served by one thread that sleeps until
somebody comes; nothing here runs in a training thread. A client may be hostile or broken: it has a
deadline and a bounded line, keeps no other one waiting, and only the job's own user and root are heard.
"""

from __future__ import annotations

import json
import os
import select
import socket
import threading
import time
from typing import Any, cast

from .clients import Client, user_of
from .commands import answer
from .ending import at_exit
from .errors import CommandError
from .instrument import Instrument

_MOST_CLIENTS = 64
"""Beyond them, the one that came first is dropped: whoever means it has had its answer by then."""
_PAUSE_SECONDS = 1.0


class Control(Instrument):
    """Listens for requests; see `answer` for what can be asked."""

    name = "control"

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
            listener.listen(_MOST_CLIENTS)
            listener.setblocking(False)
        except BaseException:
            listener.close()
            raise
        self._listener = listener
        self._inode = os.fstat(listener.fileno()).st_ino
        self._open = True
        threading.Thread(target=self._serve, name="gputop-control", daemon=True).start()
        at_exit(self._at_exit)
        self.probe.tell(socket=os.path.join(os.path.dirname(page.path), self._file))

    def remove(self) -> None:
        self._open = False
        if os.getpid() == self._owner:
            self._remove_file()
        if not self._is_ours():
            self._listener.detach()
            return
        if os.getpid() == self._owner:
            self._listener.shutdown(socket.SHUT_RDWR)  # wakes the thread; closing would not
        self._listener.close()

    def _is_ours(self) -> bool:
        """Not where the job has closed all files: the number may be another one's now."""
        try:
            return os.fstat(self._listener.fileno()).st_ino == self._inode
        except OSError:
            return False

    def _at_exit(self) -> None:
        if os.getpid() == self._owner:
            self._remove_file()

    def _remove_file(self) -> None:
        try:
            os.unlink(self._file, dir_fd=self._directory)
        except OSError:
            return  # not there, or its directory is gone

    def _serve(self) -> None:
        clients: dict[int, Client] = {}
        while self._open:
            try:
                self._turn(clients)
            except Exception:
                for client in clients.values():
                    client.close()
                clients.clear()
                time.sleep(_PAUSE_SECONDS)  # no descriptor left, perhaps: never spin
        for client in clients.values():
            client.close()

    def _turn(self, clients: dict[int, Client]) -> None:
        """Wait until something can be done for somebody, and do it."""
        waiting = select.poll()
        waiting.register(self._listener.fileno(), select.POLLIN)
        for number, client in clients.items():
            waiting.register(number, select.POLLOUT if client.answering else select.POLLIN)
        deadline = min((client.deadline for client in clients.values()), default=None)
        left = None if deadline is None else max(0.0, deadline - time.monotonic()) * 1e3 + 1
        ready = dict(waiting.poll(left))
        now = time.monotonic()
        for number, client in tuple(clients.items()):
            late = number not in ready and client.deadline < now
            if late or (number in ready and not client.go_on(self._answer)):
                del clients[number]
                client.close()
        if self._listener.fileno() in ready and self._open:
            self._accept(clients)

    def _accept(self, clients: dict[int, Client]) -> None:
        try:
            connection, _ = self._listener.accept()
        except BlockingIOError:
            return
        if user_of(connection) not in (os.geteuid(), 0):
            connection.close()
            return
        self.calls += 1
        clients[connection.fileno()] = Client(connection)
        if len(clients) > _MOST_CLIENTS:
            clients.pop(next(iter(clients))).close()

    def _answer(self, line: bytes) -> bytes:
        try:
            request: object = json.loads(line)
            if not isinstance(request, dict):
                raise CommandError("a request is a JSON object")
            reply = answer(self.probe, cast("dict[str, Any]", request))
        except CommandError as error:
            reply = {"error": str(error)}
        except Exception as error:
            reply = {"error": f"{type(error).__name__}: {error}"[:300]}
        return json.dumps(reply).encode() + b"\n"
