"""A rank that is stopped or traced while the others wait for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from gputop.probes.model.rank_readings import Stack

from support.rules_scenes import Changes, evidence, play
from support.scene_readings import UNIX
from support.stall_scenes import (
    JUST_NOW,
    LOADING,
    LONG_AGO,
    RULES,
    VICTIM,
    assert_one_finding_with_the_right_rank,
    stall,
    with_pages,
)


@pytest.mark.parametrize(
    ("victim", "stack"),
    [
        ({"state": "T"}, None),
        ({"state": "t"}, LOADING),
    ],
)
def test_one_finding_with_the_right_rank(victim: Mapping[str, Any], stack: Stack | None) -> None:
    assert_one_finding_with_the_right_rank(victim, stack, "RUN423")


@pytest.mark.parametrize("state", ["T", "t"])
def test_a_stopped_rank_is_named_at_the_second_look_where_pages_tell_for_how_long(
    state: str,
) -> None:
    finding = play(with_pages({"state": state}, LONG_AGO), 1).one("RUN423")
    assert (finding.subject.rank, finding.severity) == (VICTIM, "error")
    assert evidence(finding, "waiting_seconds").value == 66.0
    assert finding.since_seconds == UNIX - 65.0
    assert not play(with_pages({"state": state}, JUST_NOW), 1).ever() & RULES


def test_a_long_phase_of_a_step_that_is_not_overdue_proves_no_stall() -> None:
    """A long backward is one: ranks that stand still in it for a moment have not since it began."""
    steps_of_a_minute = with_pages({"state": "T"}, LONG_AGO)

    def script(second: float) -> Changes:
        changes = steps_of_a_minute(second)
        probes = [msgspec.structs.replace(each, step_seconds=60.0) for each in changes.probes]
        return replace(changes, probes=probes)

    assert not play(script, 1).ever() & RULES


def test_without_pages_a_wait_is_reported_as_seen() -> None:
    finding = play(stall({"state": "T"}), 25).one("RUN423")
    assert evidence(finding, "seen_waiting_seconds").value == 20.0
    assert all(each.signal != "waiting_seconds" for each in finding.evidence)
