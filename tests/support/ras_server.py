"""A small server that speaks the protocol of NCCL's RAS, as NCCL's source has it."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


def rank(number: int, pid: int, reduced: int) -> dict[str, Any]:
    return {
        "rank": number,
        "host": "127.0.0.1",
        "pid": pid,
        "cuda_dev": number,
        "nvml_dev": number,
        "status": {
            "init_state": 0,
            "async_error": 0,
            "finalize_called": False,
            "destroy_flag": False,
            "abort_flag": False,
        },
        "collective_counts": {"Broadcast": 1, "AllReduce": reduced, "AllGather": 0},
    }


STATUS = {
    "nccl_version": "2.28.3",
    "communicators_count": 1,
    "communicators": [
        {
            "hash": "0xabc",
            "secondary_hash": "0x1:0x2",
            "size": 3,
            "ranks_count": 2,
            "missing_ranks_count": 1,
            "ranks": [rank(0, 100, 1011), rank(1, 101, 1010)],
            "missing_ranks": [
                {
                    "rank": 2,
                    "host": "127.0.0.1",
                    "pid": 102,
                    "cuda_dev": 2,
                    "nvml_dev": 2,
                    "status": {"unresponsive": True, "considered_dead": False},
                }
            ],
        }
    ],
    "ras": {"collection_time_sec": 0.1, "timeouts_count": 0},
}


@contextmanager
def serving(
    *,
    json_too: bool = True,
    hello: bytes = b"SERVER PROTOCOL 2\n",
    body: bytes | bytearray | None = None,
    clients: int = 1,
) -> Iterator[int]:
    """A server for so many clients, one after the other.

    Args:
        json_too: whether it knows that format, as NCCL does from 2.28 on.
        hello: its answer to the greeting.
        body: of the answer; `STATUS`, in two pieces, where ``None``.
        clients: how many.
    """
    text = json.dumps(STATUS).encode() if body is None else body

    def serve() -> None:
        for _ in range(clients):
            serve_one()

    def serve_one() -> None:
        client, _ = server.accept()
        with client:
            lines = client.makefile("rb")
            for line in lines:
                word = line.decode().strip().upper()
                if word.startswith("CLIENT PROTOCOL"):
                    client.sendall(hello)
                elif word.startswith("TIMEOUT"):
                    client.sendall(b"OK\n")
                elif word == "SET FORMAT JSON":
                    client.sendall(b"OK\n" if json_too else b"ERROR: unknown command\n")
                elif word == "STATUS":
                    client.sendall(text[:50])
                    time.sleep(0.05)
                    client.sendall(text[50:])
                    lines.close()
                    return

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield server.getsockname()[1]
        thread.join(5)
