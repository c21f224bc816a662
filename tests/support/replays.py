"""The past of each simulated scenario, derived and judged once for all tests that ask about it."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import msgspec

from gputop.probes.derive.frame import derive
from gputop.probes.model.frame import Frame
from gputop.probes.simulator import SimulatedNode
from gputop.rules.catalogue import make_rules
from gputop.rules.engine import Engine
from gputop.rules.finding import Judgement

from support.shared_results import shared
from support.unmeasured import unmeasured

PAST_SECONDS = 120
"""What a demonstration shows at once."""
_STEP_SECONDS = 2
_KEPT = slice(-10, None, 3)
"""Frames of one scenario take 10 MB: a few of the last ones stay."""


class Replay(NamedTuple):
    """What the rules said of a scenario's past."""

    ever: frozenset[str]
    """Ids of the rules that were active at any moment."""
    last: Judgement
    frames: tuple[Frame, ...]
    """A few of the last ones."""


@cache
def replay(scenario: str, *, probes: bool = True) -> Replay:
    """Two minutes until the moment at which the screen first draws.

    Args:
        scenario: of the simulator.
        probes: whether the ranks have probes.
    """
    return shared(f"replay-{scenario}-{probes}", lambda: _replayed(scenario, probes=probes))


def _replayed(scenario: str, *, probes: bool) -> Replay:
    with unmeasured():
        node = SimulatedNode(scenario, start_time_seconds=1_793_455_651.0)
        engine = Engine(make_rules())
        frame: Frame | None = None
        judged: list[Judgement] = []
        for second in range(-PAST_SECONDS, 1, _STEP_SECONDS):
            sample = node.sample_at(float(second))
            frame = derive(frame, sample if probes else msgspec.structs.replace(sample, probes=()))
            judged.append(engine.judge(frame))
    ever = frozenset(finding.id for each in judged for finding in each.active)
    return Replay(ever, judged[-1], tuple(each.frame for each in judged[_KEPT]))
