"""NCCL's RAS, against a small server that speaks its protocol as NCCL's source has it."""

from __future__ import annotations

import socket
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gputop.probes import ras
from gputop.probes.source import SourceAbsent, SourceError, SourceUnsupported

from ras_server import serving


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


@given(st.binary(max_size=200))
def test_any_bytes(data: bytes) -> None:
    with suppress(SourceError):
        assert ras.decode(data) == ()
