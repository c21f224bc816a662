"""Work that is unevenly shared out, to another rank in each step."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from support.pace_scenes import STEP, Phases, ends_steps, longer
from support.rules_scenes import (
    Script,
    evidence,
    healthy,
    play,
)
from support.scene_readings import GPUS


def in_turn(seconds: float, *, phase: str = "forward", ranks: int = GPUS) -> Script:
    """Another rank has more work in each step."""
    order = random.Random(3)
    last = [order.randrange(ranks) for _ in range(400)]
    return ends_steps(
        lambda rank, step: longer(phase, seconds) if rank == last[step - 100] else STEP,
        fields=lambda rank, step: {"tokens": 3000.0 if rank == last[step - 100] else 2000.0},
        ranks=ranks,
    )


def test_the_last_one_is_another_each_time() -> None:
    played = play(in_turn(0.6), 90)
    found = played.one("RUN442")
    assert (found.subject.kind, found.severity) == ("job", "warning")
    assert evidence(found, "last_rank_delay_ratio").value == pytest.approx(0.6 / 1.6, rel=0.05)
    assert evidence(found, "last_rank_tokens_ratio").value == pytest.approx(1.5)
    assert found.lost_ratio == pytest.approx(0.6 * 7 / 8 / 1.6, rel=0.05)
    # What they wait for it is no communication: one cause, one warning.
    assert not {"RUN407", "RUN430"} & played.ids()


def test_less_is_information() -> None:
    assert play(in_turn(0.2), 90).one("RUN442").severity == "info"


def test_communication_beside_it_is_still_told() -> None:
    def phases(rank: int, step: int) -> Phases:
        return {**longer("forward", 0.3 * ((rank + step) % GPUS == 0)), "comm": 0.8}

    ids = play(ends_steps(phases), 90).ids()
    assert {"RUN442", "RUN430"} <= ids


def mostly(share: float) -> Callable[[int, int], Phases]:
    """Rank 3 is the last one in that share of the steps."""

    def phases(rank: int, step: int) -> Phases:
        late = 3 if random.Random(step).random() < share else step % GPUS
        return longer("forward", 0.6) if rank == late else STEP

    return phases


@pytest.mark.parametrize(
    "script",
    [
        in_turn(0.08),
        ends_steps(mostly(1.0)),
        ends_steps(mostly(0.8)),
        ends_steps(lambda rank, step: longer("checkpoint", 2.0) if rank == step % GPUS else STEP),
        ends_steps(lambda _rank, step: longer("forward", 0.6 * (step % 2))),
        healthy,
    ],
    ids=["little", "one rank", "mostly one rank", "they save in turn", "all alike", "no probe"],
)
def test_near_misses(script: Script) -> None:
    assert "RUN442" not in play(script, 80).ever()
