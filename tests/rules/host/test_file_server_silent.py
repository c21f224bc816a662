"""File servers that do not respond: of a mount that a rank waits for, of nobody's, and one that is back."""

from __future__ import annotations

from typing import Any

import pytest

from gputop.probes.model.kernel_log import KernelLogReading
from gputop.probes.model.rank_readings import BlockedFile

from support.rules_scenes import (
    Script,
    always,
    evidence,
    play,
)
from support.scene_readings import log_line, rank_pid


def silent(second: float = -100.0, server: str = "nas1") -> KernelLogReading:
    return log_line(second, "server not responding", subject=server)


def blocked(device: str) -> dict[str, Any]:
    file = BlockedFile(
        call="reads", path="/data/a", mount_point="/data", file_system="nfs4", device=device
    )
    return {"state": "D", "wait_channel": "rpc_wait_bit_killable", "blocked_on": file}


def waits(device: str, *lines: KernelLogReading) -> Script:
    return always(processes={rank_pid(3): blocked(device)}, kernel_log=lines)


@pytest.mark.parametrize(
    ("server", "device"),
    [("nas1", "nas1:/export"), ("fe80::1", "[fe80::1]:/export"), ("fs1", "//fs1/share")],
)
def test_a_rank_waits_for_it(server: str, device: str) -> None:
    found = play(waits(device, silent(server=server)), 2).one("HST129")
    assert found.severity == "warning"
    assert evidence(found, "mount").value == f"/data (nfs4, {device})"
    assert evidence(found, "waiting_processes").value == 1


def test_it_is_the_cause_of_the_process_that_hangs() -> None:
    played = play(waits("nas1:/export", silent()), 60)
    cause = next(each for each in played.all("HST129"))
    assert {each.id for each in cause.explains} >= {"HST107"}


def test_one_that_is_waited_for_is_told_however_old() -> None:
    assert play(waits("nas1:/export", silent(-200_000.0)), 2).one("HST129").severity == "warning"


@pytest.mark.parametrize(
    "script",
    [
        always(kernel_log=[silent()]),
        waits("nas2:/export", silent()),
    ],
    ids=["nobody waits", "a rank waits for another server"],
)
def test_what_is_information(script: Script) -> None:
    assert play(script, 2).one("HST129").severity == "info"


def test_one_that_responds_again() -> None:
    back = log_line(-50.0, "server responds", subject="nas1")
    assert "HST129" not in play(waits("nas1:/export", silent(), back), 2).ever()
    again = play(waits("nas1:/export", silent(), back, silent(-10.0)), 2)
    assert again.one("HST129").severity == "warning"
