"""Tasks and CPUs that are stuck in the kernel, by its own word."""

from __future__ import annotations

import pytest

from gputop.probes.model.kernel_log import KernelLogKind

from support.rules_scenes import always, evidence, play
from support.scene_readings import log_line, rank_pid


@pytest.mark.parametrize("kind", ["hung task", "cpu lockup"])
def test_of_a_rank(kind: KernelLogKind) -> None:
    line = log_line(-20, kind, pid=rank_pid(3), command_name="python")
    found = play(always(kernel_log=[line]), 2).one("HST130")
    assert (found.severity, found.subject.rank) == ("warning", 3)
    assert evidence(found, "kernel_log").value == f"a line of {kind}"


def test_what_is_information() -> None:
    stranger = log_line(-20, "hung task", pid=77, command_name="rsync")
    unknown = log_line(-20, "cpu lockup")
    played = play(always(kernel_log=[stranger, unknown]), 2)
    assert [found.severity for found in played.all("HST130")] == ["info", "info"]


def test_none() -> None:
    old = log_line(-4000, "hung task", pid=rank_pid(3), command_name="python")
    assert "HST130" not in play(always(kernel_log=[old]), 2).ever()
    assert "HST130" not in play(always(kernel_log=[log_line(-5, "disk error")]), 2).ever()
