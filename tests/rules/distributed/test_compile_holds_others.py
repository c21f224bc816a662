"""A compilation that the other ranks wait for."""

from __future__ import annotations

from support.stall_scenes import SLEEPING, assert_one_finding_with_the_right_rank, frames

COMPILING = frames("torch/_dynamo/convert_frame.py:_compile:1200", "train.py:main:112")


def test_one_finding_with_the_right_rank() -> None:
    assert_one_finding_with_the_right_rank(SLEEPING, COMPILING, "RUN425")
