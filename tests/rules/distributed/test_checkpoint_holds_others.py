"""A checkpoint that the other ranks wait for."""

from __future__ import annotations

import pytest

from support.rules_scenes import play
from support.stall_scenes import (
    SLEEPING,
    assert_one_finding_with_the_right_rank,
    frames,
    stall,
    without_bytes,
)

SAVING = frames("torch/serialization.py:_save:900", "train.py:main:130")


def test_one_finding_with_the_right_rank() -> None:
    assert_one_finding_with_the_right_rank(SLEEPING, SAVING, "RUN419")


@pytest.mark.unmeasured
def test_a_checkpoint_is_no_stall_until_the_time_limit_is_near() -> None:
    assert play(stall(SLEEPING, SAVING), 120).one("RUN419").severity == "info"
    assert play(stall(SLEEPING, SAVING), 640, interval=5.0).one("RUN419").severity == "info"
    late = play(without_bytes(stall(SLEEPING, SAVING)), 640, interval=5.0).one("RUN419")
    assert late.severity == "warning"
    assert "longer than expected" in late.next_step
