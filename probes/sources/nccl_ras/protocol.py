"""NCCL's RAS service: how many collectives each rank of each communicator has launched.

NCCL 2.24 and later listens on a local TCP port, and JSON came with 2.28. The counts are of launches,
not of completed operations. The port is shared by all jobs of a host, so an answer may come from
another one: match it by pid.
"""

from __future__ import annotations

import socket
import time
from typing import Annotated

import msgspec

from ..protocol import SourceAbsent, SourceError, SourceUnsupported

PORT = 28028
COLLECT_SECONDS = 3
"""So long NCCL may gather answers of its other processes."""
_CONNECT_SECONDS = 1.0
_SLACK_SECONDS = 2.0
_MOST_BYTES = 1 << 24
_LINE_BYTES = 4096
_POINT_TO_POINT = ("Send", "Recv")
_OLD = "this NCCL is older than 2.28, whose RAS answers in JSON"


Count = Annotated[int, msgspec.Meta(ge=0, le=1 << 48)]
Index = Annotated[int, msgspec.Meta(ge=-1, lt=1 << 31)]
Name = Annotated[str, msgspec.Meta(max_length=256)]
"""What is larger is not NCCL's, and might not fit into a sample."""


class RasStatus(msgspec.Struct, frozen=True):
    """Flags of a rank within a communicator."""

    init_state: int = 0
    async_error: int = 0
    abort_flag: bool = False
    unresponsive: bool = False
    considered_dead: bool = False


class RasRank(msgspec.Struct, frozen=True):
    """One rank of a communicator."""

    rank: Index
    host: Name = ""
    pid: Index = -1
    cuda_dev: Index = -1
    nvml_dev: Index = -1
    status: RasStatus = RasStatus()
    collective_counts: Annotated[dict[Name, Count], msgspec.Meta(max_length=64)] = {}
    """Kind of collective → launches since the communicator was made."""

    @property
    def launched(self) -> int:
        """All kinds together, but for sends and receives: of these, ranks of a pipeline make
        different numbers."""
        return sum(n for kind, n in self.collective_counts.items() if kind not in _POINT_TO_POINT)


class RasCommunicator(msgspec.Struct, frozen=True):
    """One communicator, with the ranks that answered and those that did not."""

    hash: Name
    size: Index = 0
    ranks: tuple[RasRank, ...] = ()
    missing_ranks: tuple[RasRank, ...] = ()


class _Answer(msgspec.Struct, frozen=True):
    communicators: tuple[RasCommunicator, ...] = ()


def ask(port: int = PORT, host: str = "127.0.0.1") -> tuple[RasCommunicator, ...]:
    """What RAS knows of all communicators of the job behind that port.

    Raises:
        SourceAbsent: when nobody listens.
        SourceUnsupported: when the one that listens does not speak this protocol, or no JSON.
        SourceError: when it does not answer in time, or with something else.
    """
    deadline = time.monotonic() + _CONNECT_SECONDS + COLLECT_SECONDS + _SLACK_SECONDS
    try:
        with socket.create_connection((host, port), _CONNECT_SECONDS) as connection:
            _greet(connection, deadline)
            connection.sendall(b"STATUS\n")
            return decode(_read_all(connection, deadline))
    except ConnectionRefusedError as error:
        raise SourceAbsent(
            f"no NCCL RAS on port {port}: NCCL is older than 2.24, or NCCL_RAS_ENABLE=0"
        ) from error
    except TimeoutError as error:
        raise SourceError(f"NCCL RAS on port {port} does not answer") from error
    except OSError as error:
        raise SourceError(f"NCCL RAS on port {port}: {error.strerror or error}") from error


def decode(data: bytes) -> tuple[RasCommunicator, ...]:
    """
    Raises:
        SourceError: when it is not RAS's JSON.
    """
    try:
        return msgspec.json.decode(data, type=_Answer).communicators
    except (msgspec.MsgspecError, RecursionError, ValueError) as error:
        raise SourceError("NCCL RAS answered with something that is not its JSON") from error


def of_pids(
    communicators: tuple[RasCommunicator, ...], pids: frozenset[int]
) -> tuple[RasCommunicator, ...]:
    """Those in which one of these processes is a rank: the port may belong to another job."""
    return tuple(
        each
        for each in communicators
        if any(rank.pid in pids for rank in (*each.ranks, *each.missing_ranks))
    )


def _greet(connection: socket.socket, deadline: float) -> None:
    answer = _say(connection, "CLIENT PROTOCOL 2", time.monotonic() + _CONNECT_SECONDS)
    if not answer.upper().startswith("SERVER PROTOCOL "):
        raise SourceUnsupported("whatever listens on NCCL's RAS port does not speak its protocol")
    for line in (f"TIMEOUT {COLLECT_SECONDS}", "SET FORMAT json"):
        if _say(connection, line, deadline).upper() != "OK":
            raise SourceUnsupported(_OLD)


def _say(connection: socket.socket, line: str, deadline: float) -> str:
    connection.sendall(f"{line}\n".encode())
    answer = bytearray()
    while not answer.endswith(b"\n") and len(answer) < _LINE_BYTES:
        piece = _receive(connection, deadline)
        if not piece:
            break
        answer += piece
    return answer.decode("utf-8", "replace").strip()


def _read_all(connection: socket.socket, deadline: float) -> bytes:
    data = bytearray()
    while len(data) < _MOST_BYTES:
        piece = _receive(connection, deadline)
        if not piece:
            return bytes(data)
        data += piece
    raise SourceError("NCCL RAS answers without an end")


def _receive(connection: socket.socket, deadline: float) -> bytes:
    """What comes next, at most until the deadline: a drop now and then does not put it off."""
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    connection.settimeout(left)
    return connection.recv(1 << 16)
