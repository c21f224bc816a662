"""Samples with any numbers and types in any place: either refused, or judged and printed all the same."""

from __future__ import annotations

import copy
import json
import math
import random
from itertools import islice
from typing import Any

import msgspec
import pytest

from gputop.probes.derive.frame import derive
from gputop.probes.model.sample import Sample
from gputop.probes.simulator import simulate
from gputop.probes.wire.codec import WireError, decode
from gputop.rules.catalogue import make_rules
from gputop.rules.engine import Engine
from gputop.tui.commands.once import as_json

ROUNDS = 150
SEED = 5
WHOLE = (-1, 0, 1, 2**31, 2**32, 2**63 - 1, 2**63, 2**64 - 1, -(2**63))
FRACTIONS = (1e308, -1e308, 5e-324, math.inf, -math.inf, math.nan, -1.5, 0.0)
OTHERS: tuple[Any, ...] = (
    None,
    True,
    "",
    "x" * 5000,
    "\x1b[31m",
    [],
    {},
    {"a": 1},
    b"\xff\xfe",
    [1, 2],
)


@pytest.mark.parametrize("scenario", ["healthy", "gpu-lost"])
def test_no_value_ends_anything(scenario: str) -> None:
    chance = random.Random(SEED)
    first, second, ill, last = islice(
        simulate(scenario, start_time_seconds=1e9, interval_seconds=1.0), 4
    )
    before = derive(derive(None, first), second)
    tree = msgspec.msgpack.decode(msgspec.msgpack.encode(ill))
    places = list(_places(tree))
    judged = 0
    for _ in range(ROUNDS):
        sample = _decoded(_made_ill(tree, places, chance))
        if sample is None:
            continue
        judged += 1
        engine = Engine(make_rules())
        engine.judge(before)
        frame = derive(before, sample)
        json.loads(as_json(engine.judge(frame)))
        json.loads(as_json(engine.judge(derive(frame, last))))
        assert engine.broken == {}
    assert judged > ROUNDS / 10


def _decoded(body: bytes) -> Sample | None:
    try:
        message = decode(body)
    except WireError:
        return None
    return message if isinstance(message, Sample) else None


def _places(value: Any, place: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [place] if place else []
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    for key, each in pairs if isinstance(value, (dict, list)) else ():
        found += _places(each, (*place, key)) if isinstance(each, (dict, list)) else [(*place, key)]
    return found


def _made_ill(tree: Any, places: list[tuple[Any, ...]], chance: random.Random) -> bytes:
    made = copy.deepcopy(tree)
    for *folder, key in chance.sample(places, chance.choice((1, 1, 3))):
        at = made
        for each in folder:
            at = at[each] if not isinstance(at, dict) or each in at else None
            if at is None:
                break
        if not isinstance(at, (dict, list)) or (isinstance(at, list) and key >= len(at)):
            continue
        at[key] = _another(at[key] if isinstance(at, list) else at.get(key), chance)
    return msgspec.msgpack.encode(made)


def _another(value: Any, chance: random.Random) -> Any:
    """Mostly of the same type, for what is refused is refused soon."""
    if chance.random() < 0.85 and type(value) in (int, float):
        return chance.choice(WHOLE if type(value) is int else (*WHOLE, *FRACTIONS))
    return chance.choice((*WHOLE, *FRACTIONS, *OTHERS))
