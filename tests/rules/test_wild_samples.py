"""Samples with any numbers and types in any place: either refused, or judged and printed all the same."""

from __future__ import annotations

import json
import random
from itertools import islice

import msgspec
import pytest

from gputop.probes.derive.frame import derive
from gputop.probes.model.sample import Sample
from gputop.probes.simulator import simulate
from gputop.probes.wire.codec import WireError, decode
from gputop.rules.catalogue import make_rules
from gputop.rules.engine import Engine
from gputop.tui.commands.once import as_json

from support.damaged_samples import made_ill, places

ROUNDS = 150
SEED = 5


@pytest.mark.parametrize("scenario", ["healthy", "gpu-lost"])
def test_no_value_ends_anything(scenario: str) -> None:
    chance = random.Random(SEED)
    first, second, ill, last = islice(
        simulate(scenario, start_time_seconds=1e9, interval_seconds=1.0), 4
    )
    before = derive(derive(None, first), second)
    tree = msgspec.msgpack.decode(msgspec.msgpack.encode(ill))
    found = places(tree)
    judged = 0
    for _ in range(ROUNDS):
        sample = _decoded(made_ill(tree, found, chance))
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
