"""Steps that the loss scaler threw away: too many of the last hundred, after the first."""

from __future__ import annotations

import pytest

from support.rules_scenes import Script, evidence, play
from support.step_scenes import FIRST_STEP, spends, steps


def skips(every: int, *, shift: int = 0) -> Script:
    def page(_rank: int, second: float) -> dict[str, object]:
        (step,) = steps(second, skipped=int(second) % every == 0)
        import msgspec

        return {"steps": (msgspec.structs.replace(step, number=step.number - shift),)}

    return spends(lambda _rank, _second: {}, page)


def test_one_in_ten() -> None:
    found = play(skips(10), 120).all("RUN435")
    assert {each.subject.rank for each in found} == set(range(8))
    assert evidence(found[0], "skipped_steps_ratio").value == pytest.approx(0.1, abs=0.011)


def test_near_misses() -> None:
    assert "RUN435" not in play(skips(40), 120).ever()
    assert "RUN435" not in play(skips(10), 80).ever()
    assert "RUN435" not in play(skips(10, shift=FIRST_STEP), 120).ever()
