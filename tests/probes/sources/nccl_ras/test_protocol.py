"""NCCL's RAS, against a small server that speaks its protocol as NCCL's source has it."""

from __future__ import annotations

import json
import socket
import threading
import time
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gputop.probes.sources.nccl_ras import protocol as ras
from gputop.probes.sources.protocol import SourceAbsent, SourceError, SourceUnsupported

from support.ras_server import STATUS, serving


def test_counts_missing_ranks_and_who_is_behind() -> None:
    with serving() as port:
        (found,) = ras.ask(port)
    assert (found.hash, found.size) == ("0xabc", 3)
    assert [each.launched for each in found.ranks] == [1012, 1011]
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


@pytest.mark.parametrize("greets", [False, True])
def test_one_that_drips_is_not_waited_for_longer_than_a_silent_one(
    greets: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ras, "_CONNECT_SECONDS", 0.3)
    monkeypatch.setattr(ras, "COLLECT_SECONDS", 1)
    monkeypatch.setattr(ras, "_SLACK_SECONDS", 0.2)

    def drip(server: socket.socket) -> None:
        client, _ = server.accept()
        with client, suppress(OSError):
            if greets:
                client.sendall(b"SERVER PROTOCOL 2\n")
            while True:
                client.sendall(b"x")
                time.sleep(0.05)

    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=drip, args=(server,), daemon=True).start()
        began = time.monotonic()
        with pytest.raises(SourceError, match="does not answer"):
            ras.ask(server.getsockname()[1])
    assert time.monotonic() - began < 20  # and not for as long as a line may be


@pytest.mark.parametrize(
    ("where", "value"),
    [
        (("ranks", 0, "collective_counts", "AllReduce"), 2**63),
        (("ranks", 0, "collective_counts", "AllReduce"), 10**30),
        (("ranks", 0, "collective_counts", "AllReduce"), -1),
        (("ranks", 0, "collective_counts"), {f"kind {n}": 1 << 48 for n in range(1 << 15)}),
        (("ranks", 0, "rank"), 2**64),
        (("ranks", 0, "pid"), 2**64 - 1),
        (("ranks", 0, "host"), "h" * 10_000_000),
        (("missing_ranks", 0, "rank"), -(2**63)),
        (("size",), 2**64),
        (("hash",), "0" * 10_000_000),
    ],
)
def test_what_would_not_fit_into_a_sample_is_not_its_answer(
    where: tuple[str | int, ...], value: object
) -> None:
    answer = json.loads(json.dumps(STATUS))
    inner = answer["communicators"][0]
    for step in where[:-1]:
        inner = inner[step]
    inner[where[-1]] = value
    with pytest.raises(SourceError, match="not its JSON"):
        ras.decode(json.dumps(answer).encode())


@given(st.binary(max_size=200))
def test_any_bytes(data: bytes) -> None:
    with suppress(SourceError):
        assert ras.decode(data) == ()
