"""Talking to the probe inside a process, over the control socket beside its page."""

from __future__ import annotations

import json
import socket
import struct
import time
from collections.abc import Mapping
from typing import cast

from ..sources.page.location import beside_page, folders_of, owner_of
from .preload import why_not_loaded

REPLY_BYTES = 64 << 20
ANSWER_SECONDS = 15.0
_PEER = struct.Struct("3i")
_SOCKET = ".sock"
_WORKER_SERVER = ".torch.sock"
_HTTP_BYTES = 1 << 16
_RETRY_SECONDS = 0.02


class ProbeError(Exception):
    """It was not done. The text is one sentence for people."""


def ask(
    pid: int, request: Mapping[str, object], *, seconds: float = ANSWER_SECONDS
) -> dict[str, object]:
    """The answer of a process's probe to a request.

    Args:
        pid: of the process, as seen from here.
        request: has at least ``command``.
        seconds: until when the answer must be there.

    Raises:
        ProbeError: there is no probe, it does not answer in time, or it says no.
    """
    with _connect(pid, _SOCKET, seconds) as connection:
        try:
            connection.sendall(json.dumps(request).encode() + b"\n")
            reply: object = json.loads(_received(connection, seconds, until=b"\n"))
        except TimeoutError:
            raise ProbeError(
                f"the probe in process {pid} did not answer within {seconds:g} s: the process is "
                "stopped, or some thread of it holds the interpreter's lock"
            ) from None
        except (OSError, ValueError) as error:
            raise ProbeError(f"the probe in process {pid} broke off: {error}") from error
    if not isinstance(reply, dict):
        raise ProbeError(f"the probe in process {pid} answered with something else than an object")
    answer = cast("dict[str, object]", reply)
    if "error" in answer:
        raise ProbeError(str(answer["error"]))
    return answer


def ask_worker_server(pid: int, handler: str, *, seconds: float = ANSWER_SECONDS) -> str:
    """What a handler of torch's own server answers; works while the interpreter's lock is held.

    Raises:
        ProbeError: the process runs no such server, or it does not answer.
    """
    request = f"POST /handler/{handler} HTTP/1.0\r\nContent-Length: 0\r\n\r\n"
    with _connect(pid, _WORKER_SERVER, seconds) as connection:
        try:
            connection.sendall(request.encode())
            answer = _received(connection, seconds, until=None)
        except OSError as error:
            raise ProbeError(
                f"torch's worker server in process {pid} broke off: {error}"
            ) from error
    head, _, body = answer.partition(b"\r\n\r\n")
    if head.split(b" ")[1:2] != [b"200"]:
        raise ProbeError(f"torch's worker server in process {pid} has no handler {handler}")
    return body.decode("utf-8", "replace")


def _received(connection: socket.socket, seconds: float, *, until: bytes | None) -> bytes:
    """All that comes, to the first ``until`` or to the end."""
    deadline = time.monotonic() + seconds
    parts: list[bytes] = []
    size = 0
    while size <= REPLY_BYTES:
        left = deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        connection.settimeout(left)
        data = connection.recv(_HTTP_BYTES)
        if data:
            parts.append(data)
            size += len(data)
        if not data or (until is not None and data.endswith(until)):
            return b"".join(parts)
    raise ValueError(f"more than {REPLY_BYTES >> 20} MiB")


def _connect(pid: int, ending: str, seconds: float) -> socket.socket:
    found = owner_of("", pid)
    if found is None:
        raise ProbeError(f"there is no process {pid}")
    owner, asleep = found
    refusal: OSError | None = None
    for folder in folders_of("", owner, asleep=asleep):
        try:
            with beside_page("", owner, folder) as directory:
                file = owner.page_name.removesuffix(".page") + ending
                return _connect_in(directory, file, pid, seconds)
        except FileNotFoundError:
            continue
        except OSError as error:
            refusal = error
    if isinstance(refusal, BlockingIOError):
        raise ProbeError(
            f"the probe in process {pid} takes no connection within {seconds:g} s: others are waiting, "
            "and the process is stopped, or some thread of it holds the interpreter's lock"
        )
    if refusal is not None:
        raise ProbeError(
            f"the probe in process {pid} is not reachable: {refusal.strerror or refusal}"
        )
    raise ProbeError(f"process {pid} has no probe that can be asked: {why_not_loaded(pid)}")


def _connect_in(directory: int, file: str, pid: int, seconds: float) -> socket.socket:
    """A connection to that very process: anyone may have put a socket where its own should be."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    deadline = time.monotonic() + seconds
    try:
        connection.settimeout(seconds)
        while True:
            try:
                connection.connect(f"/proc/self/fd/{directory}/{file}")
                break
            except BlockingIOError:  # others wait to be accepted, and there is no place for more
                if time.monotonic() > deadline:
                    raise
            time.sleep(_RETRY_SECONDS)
        peer = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size)
        if _PEER.unpack(peer)[0] != pid:
            raise PermissionError(1, "another process listens on its socket")
    except BaseException:
        connection.close()
        raise
    return connection
