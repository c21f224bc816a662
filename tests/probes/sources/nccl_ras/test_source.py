"""RAS beside real processes: asked only when somebody looks closer, and matched to the pids here."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gputop.probes.sources.nccl_ras.source import RasSource
from gputop.probes.sources.procfs.target import start_time_of
from gputop.probes.sources.protocol import SourceAbsent
from gputop.probes.sources.stack_requests import StackRequests
from gputop.probes.sources.watchlist import Watchlist

from support.ras_server import rank, serving

SLEEPS = "import os, time; os.write(1, b'ready\\n'); time.sleep(60)"


@contextmanager
def process(port: int, *before: str) -> Iterator[int]:
    running = subprocess.Popen(
        [*before, sys.executable, "-c", SLEEPS],
        env={**os.environ, "NCCL_RAS_ADDR": f"127.0.0.1:{port}"},
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        assert running.stdout is not None
        assert running.stdout.readline() == b"ready\n"
        yield running.pid
    finally:
        os.killpg(running.pid, 9)
        running.communicate()


def watching(*pids: int) -> tuple[RasSource, StackRequests]:
    watchlist, requests = Watchlist(), StackRequests()
    watchlist.set_ranks({pid: start_time_of(pid) or 0.0 for pid in pids})
    return RasSource(watchlist, requests), requests


def answer(*pids: int) -> bytes:
    """With one rank fewer launches than the first, and sends that do not count."""
    ranks = [rank(number, pid, 1011 - number) for number, pid in enumerate(pids)]
    ranks[0]["collective_counts"]["Send"] = 77
    return json.dumps({"communicators": [{"hash": "0xabc", "size": 2, "ranks": ranks}]}).encode()


def test_it_is_asked_only_when_somebody_looks_closer() -> None:
    with serving() as port, process(port) as pid:
        source, requests = watching(pid)
        assert source.read() == ()
        requests.want([pid], 10.0)
        assert source.read() == ()  # the server's job is another one


def test_counts_by_the_pids_here() -> None:
    body = bytearray()
    with serving(body=body) as port, process(port) as pid:
        body += answer(pid, 7)
        source, requests = watching(pid)
        requests.want([pid], 10.0)
        (found,) = source.read()
        assert source.read() == (found,)  # not asked again so soon
    assert (found.id, found.size) == ("0xabc", 2)
    assert [(each.rank, each.pid, each.launched) for each in found.ranks] == [
        (0, pid, 1012),
        (1, None, 1011),
    ]


@pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("unshare") is None, reason="needs root and unshare"
)
def test_a_process_of_a_container_is_known_by_its_pid_within() -> None:
    body = bytearray(answer(1, 7))
    with (
        serving(body=bytes(body)) as port,
        process(port, "unshare", "--pid", "--fork", "--mount-proc") as outer,
    ):
        pid = int(Path(f"/proc/{outer}/task/{outer}/children").read_text())
        source, requests = watching(pid)
        requests.want([pid], 10.0)
        (found,) = source.read()
    assert found.ranks[0].pid == pid


def test_nobody_listens() -> None:
    with process(1) as pid:
        source, requests = watching(pid)
        requests.want([pid], 10.0)
        with pytest.raises(SourceAbsent):
            source.read()
        requests.want([pid], 0.0)
        assert source.read() == ()
