"""Judgements of the last minutes: the same again, in bounded memory."""

from __future__ import annotations

import msgspec

from gputop.rules.finding import Judgement
from gputop.tui.session.judged import JudgedRing

from support.replays import replay

BEGAN = 1_790_000_000.0


def judged(second: int) -> Judgement:
    last = replay("gpu-lost").last
    frame = msgspec.structs.replace(last.frame, time_seconds=BEGAN + second)
    return msgspec.structs.replace(last, frame=frame, rules=second)


def test_each_comes_back_as_it_was() -> None:
    ring = JudgedRing()
    for second in range(50):
        ring.add(judged(second))
    assert ring.times == [BEGAN + second for second in range(50)]
    for second in (0, 19, 20, 39, 40, 49):
        found = ring.of(BEGAN + second)
        assert found is not None
        assert found.with_frame(judged(second).frame) == judged(second)
    assert ring.of(BEGAN + 0.5) is None


def test_what_is_too_old_goes() -> None:
    ring = JudgedRing(seconds=60)
    for second in range(200):
        ring.add(judged(second))
    assert ring.of(BEGAN) is None
    assert 60 <= len(ring.times) <= 80 and ring.times[-1] == BEGAN + 199


def test_what_is_too_much_goes() -> None:
    ring = JudgedRing(most_bytes=20_000)
    for second in range(400):
        ring.add(judged(second))
    assert 10_000 < ring.bytes <= 20_000
    assert ring.of(BEGAN + 399) is not None
