"""NCCL's RAS, against a small server that speaks its protocol as NCCL's source has it."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gputop.probes import ras
from gputop.probes.source import SourceAbsent, SourceError, SourceUnsupported


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
    *, json_too: bool = True, hello: bytes = b"SERVER PROTOCOL 2\n", body: bytes | None = None
) -> Iterator[int]:
    """A server for one client; ``body`` ``None`` gives `STATUS` in two pieces."""
    text = json.dumps(STATUS).encode() if body is None else body

    def serve() -> None:
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


def test_counts_missing_ranks_and_who_is_behind() -> None:
    with serving() as port:
        (found,) = ras.ask(port)
    assert (found.hash, found.size) == ("0xabc", 3)
    assert [each.launched for each in found.ranks] == [1012, 1011]
    assert [(each.rank, each.pid) for each in found.behind] == [(1, 101)]
    assert [each.status.unresponsive for each in found.missing_ranks] == [True]


def test_answers_of_another_job_are_left_out() -> None:
    with serving() as port:
        found = ras.ask(port)
    assert ras.of_pids(found, frozenset({102, 7})) == found
    assert ras.of_pids(found, frozenset({7})) == ()


def test_nobody_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with pytest.raises(SourceAbsent, match="NCCL_RAS_ENABLE"):
        ras.ask(port)


def test_one_without_json() -> None:
    with serving(json_too=False) as port, pytest.raises(SourceUnsupported, match=r"2\.28"):
        ras.ask(port)


def test_another_service_on_that_port() -> None:
    with serving(hello=b"220 mail ready\n") as port, pytest.raises(SourceUnsupported):
        ras.ask(port)


def test_one_that_is_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ras, "_CONNECT_SECONDS", 0.2)
    silent = pytest.raises(SourceError, match="does not answer")
    with socket.create_server(("127.0.0.1", 0)) as server, silent:
        ras.ask(server.getsockname()[1])


@given(st.binary(max_size=200))
def test_any_bytes(data: bytes) -> None:
    with suppress(SourceError):
        assert ras.decode(data) == ()
