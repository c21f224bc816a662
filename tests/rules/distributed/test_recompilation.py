"""Code that is compiled anew after warm-up, and not before."""

from __future__ import annotations

from support.rules_scenes import Script, evidence, play
from support.step_scenes import FIRST_STEP, spends


def recompiles(each_seconds: float | None, *, first_step: int = FIRST_STEP) -> Script:
    def page(rank: int, second: float) -> dict[str, object]:
        count = 3 if each_seconds is None else 3 + int(second / each_seconds)
        return {
            "recompiles": count if rank == 1 else 3,
            "step": first_step + int(second),
        }

    def script(second: float) -> object:
        base = spends(lambda _rank, _second: {})(second)
        import msgspec

        base.probes = [
            msgspec.structs.replace(each, **page(each.rank or 0, second)) for each in base.probes
        ]
        return base

    return script  # type: ignore[return-value]


def test_it_is_told_with_how_often() -> None:
    found = play(recompiles(50.0), 140).one("RUN434")
    assert (found.subject.rank, found.severity) == (1, "info")
    assert evidence(found, "recompiles").value == 2.0


def test_again_and_again_is_a_warning() -> None:
    assert play(recompiles(10.0), 140).one("RUN434").severity == "warning"


def test_near_misses() -> None:
    assert "RUN434" not in play(recompiles(None), 60).ever()
    assert "RUN434" not in play(recompiles(10.0, first_step=5), 60).ever()
