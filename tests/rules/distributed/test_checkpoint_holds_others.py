"""A checkpoint that the other ranks wait for."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from support.rules_scenes import (
    Changes,
    Script,
    evidence,
    play,
)
from support.stall_scenes import (
    FROM,
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


def saved_before(seconds: float, *, again: float) -> Script:
    """The victim saves for so long while the others wait, trains on, and saves again without an end."""
    script = without_bytes(stall(SLEEPING, SAVING, until=FROM + seconds))
    later = without_bytes(stall(SLEEPING, SAVING))

    def both(second: float) -> Changes:
        if second < again:
            return script(second)
        changes = later(second - again + FROM)
        moved = second - (second - again + FROM)
        for name in ("threads", "stacks"):
            fresh = [_later(each, moved) for each in getattr(changes, name)]
            setattr(changes, name, fresh)
        return changes

    return both


def _later(reading: Any, seconds: float) -> Any:
    return msgspec.structs.replace(reading, monotonic_seconds=reading.monotonic_seconds + seconds)


@pytest.mark.parametrize(("past", "severity"), [(40.0, "warning"), (90.0, "info")])
def test_the_limit_is_twice_what_the_job_has_needed_before(past: float, severity: str) -> None:
    played = play(saved_before(past, again=130.0), 240, interval=2.0)
    finding = played.one("RUN419")
    assert finding.severity == severity
    longest = evidence(finding, "longest_before_seconds").value
    assert longest == pytest.approx(past, abs=6.0)
