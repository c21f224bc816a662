"""Whose wait is worth the cost of looking it up: only what has stood still for two seconds, or polls."""

from __future__ import annotations

from typing import Any

import pytest

from gputop.rules.closer_look import standing

from support.rules_scenes import play
from support.scene_readings import rank_pid
from support.stall_scenes import FROM, LOOPING, SLEEPING, VICTIM, stall


@pytest.mark.parametrize(
    ("victim", "seconds", "looked_at"),
    [
        (SLEEPING, 1.0, False),
        (SLEEPING, 5.0, True),
        (LOOPING, 5.0, False),
        ({"state": "T"}, 5.0, False),
    ],
)
def test_only_what_stands_still_is_looked_at(
    victim: dict[str, Any], seconds: float, looked_at: bool
) -> None:
    frame = play(stall(victim), FROM + seconds).last.frame
    assert (rank_pid(VICTIM) in standing(frame)) is looked_at
