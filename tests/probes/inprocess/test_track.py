"""The phases of a thread: exclusive time, and what is left of it when things go wrong."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gputop.probes.inprocess import layout
from gputop.probes.inprocess.track import Track, make_track

DATA, FORWARD, OTHER, GC = (layout.CODES[name] for name in ("data", "forward", "other", "gc"))


class Scratch:
    """A page in memory with one track in slot 3."""

    SLOT = 3

    def __init__(self) -> None:
        self.page = bytearray(layout.PAGE_SIZE)
        self.words = memoryview(self.page).cast("Q")
        self.track: Track = make_track(self.words, self.SLOT, OTHER, 77)

    def slot(self, at: int) -> int:
        """The word at that place of the slot."""
        return self.words[(layout.SLOTS_AT + self.SLOT * layout.SLOT_SIZE + at) // 8]

    def totals(self) -> list[int]:
        """Exclusive time per code, from the page."""
        first = (layout.SLOTS_AT + self.SLOT * layout.SLOT_SIZE + layout.SLOT_TOTALS) // 8
        return self.words[first : first + layout.MAX_CODES].tolist()

    def current(self) -> tuple[int, int]:
        """Moment and code of the current word."""
        return layout.unword(self.slot(layout.SLOT_WORD), time.perf_counter_ns())

    def ring(self) -> Iterator[tuple[int, int]]:
        """Moments and codes of all words that are still there, oldest first."""
        head = self.slot(layout.SLOT_HEAD)
        first = (layout.RINGS_AT + self.SLOT * layout.RING_WORDS * 8) // 8
        for number in range(max(0, head - layout.RING_WORDS), head):
            word = self.words[first + number % layout.RING_WORDS]
            yield layout.unword(word, time.perf_counter_ns())


@pytest.fixture
def scratch() -> Scratch:
    return Scratch()


def test_time_inside_a_phase_is_not_its_own(scratch: Scratch) -> None:
    outer = scratch.track.enter(DATA)
    time.sleep(0.02)
    inner = scratch.track.enter(FORWARD)
    time.sleep(0.05)
    scratch.track.leave(inner)
    time.sleep(0.02)
    scratch.track.leave(outer)

    totals = scratch.totals()
    assert totals[FORWARD] >= 50e6
    assert 40e6 <= totals[DATA] < totals[FORWARD] + 40e6
    assert totals[: layout.USER_CODE] == scratch.track.totals()
    scratch.track.leave(scratch.track.enter(layout.USER_CODE))
    scratch.track.charge()
    assert scratch.totals()[: layout.USER_CODE + 1] == scratch.track.totals()


def test_what_an_exception_left_open_is_closed_with_what_is_around_it(scratch: Scratch) -> None:
    outer = scratch.track.enter(DATA)
    scratch.track.enter(FORWARD)
    scratch.track.enter(FORWARD)
    scratch.track.leave(outer)
    assert scratch.track.depth() == 1
    assert scratch.current()[1] == OTHER


def test_leaving_more_than_was_entered_keeps_the_base(scratch: Scratch) -> None:
    depth = scratch.track.enter(DATA)
    for _ in range(3):
        scratch.track.leave(depth)
    assert scratch.track.depth() == 1
    assert scratch.current()[1] == OTHER


@given(st.lists(st.integers(-4, 20), max_size=60))
def test_the_totals_and_the_open_phase_sum_to_the_life_of_the_track(moves: list[int]) -> None:
    scratch = Scratch()
    depths: list[int] = []
    for move in moves:
        if move >= 0:
            depths.append(scratch.track.enter(move))
        elif depths:
            scratch.track.leave(depths.pop(move % len(depths) if depths else 0))
            del depths[scratch.track.depth() - 1 :]
        moment, _ = scratch.current()
        assert sum(scratch.totals()) == moment - scratch.slot(layout.SLOT_BEGAN)


def test_the_ring_tells_every_change_in_order(scratch: Scratch) -> None:
    for code in range(16, 32):
        scratch.track.leave(scratch.track.enter(code))
    words = list(scratch.ring())
    assert [code for _, code in words] == [OTHER] + [
        each for code in range(16, 32) for each in (code, OTHER)
    ]
    assert all(before <= after for (before, _), (after, _) in pairwise(words))
    assert words[-1] == scratch.current()


def test_the_ring_goes_round(scratch: Scratch) -> None:
    for _ in range(layout.RING_WORDS):
        scratch.track.leave(scratch.track.enter(DATA))
    words = list(scratch.ring())
    assert len(words) == layout.RING_WORDS
    assert all(before <= after for (before, _), (after, _) in pairwise(words))
    assert scratch.slot(layout.SLOT_HEAD) == scratch.track.edges() == 2 * layout.RING_WORDS + 1


def test_a_collection_is_shown_while_it_runs_and_charged_to_nobody_else(scratch: Scratch) -> None:
    depth = scratch.track.enter(DATA)
    began = scratch.current()
    scratch.track.pause()
    assert scratch.current()[1] == GC
    time.sleep(0.03)
    scratch.track.resume()
    assert scratch.current() == began
    scratch.track.leave(depth)
    totals = scratch.totals()
    assert totals[GC] >= 30e6
    assert totals[DATA] < totals[GC]
    assert sum(totals) == scratch.current()[0] - scratch.slot(layout.SLOT_BEGAN)


def test_charging_adds_what_has_passed_and_changes_no_phase(scratch: Scratch) -> None:
    scratch.track.enter(DATA)
    before = scratch.current()
    time.sleep(0.01)
    moment = scratch.track.charge()
    assert scratch.current() == before
    assert sum(scratch.totals()) == moment - scratch.slot(layout.SLOT_BEGAN)
    assert scratch.totals()[DATA] >= 10e6


def test_a_new_base_takes_over_where_nothing_is_open(scratch: Scratch) -> None:
    time.sleep(0.01)
    scratch.track.base(DATA)
    assert scratch.current()[1] == DATA
    assert scratch.totals()[OTHER] >= 10e6
    depth = scratch.track.enter(FORWARD)
    scratch.track.base(OTHER)
    assert scratch.current()[1] == FORWARD
    scratch.track.leave(depth)
    assert scratch.current()[1] == OTHER


def test_the_end_of_a_thread_is_reported(scratch: Scratch) -> None:
    assert scratch.slot(layout.SLOT_THREAD) == 77
    assert scratch.slot(layout.SLOT_ENDED) == 0
    scratch.track.enter(DATA)
    scratch.track.end()
    assert scratch.current()[1] == layout.CODES["none"]
    assert scratch.slot(layout.SLOT_ENDED) == scratch.current()[0]


def test_a_slot_used_before_begins_anew(scratch: Scratch) -> None:
    scratch.track.leave(scratch.track.enter(DATA))
    scratch.track.end()
    again = make_track(scratch.words, scratch.SLOT, FORWARD, 78)
    assert sum(scratch.totals()) == 0
    assert scratch.slot(layout.SLOT_ENDED) == 0
    assert scratch.current() == (scratch.slot(layout.SLOT_BEGAN), FORWARD)
    assert again.edges() == 1


def test_after_a_rebind_the_old_page_is_left_alone(scratch: Scratch) -> None:
    before = bytes(scratch.page)
    scratch.track.rebind(memoryview(bytearray(layout.PAGE_SIZE)).cast("Q"))
    scratch.track.leave(scratch.track.enter(DATA))
    assert bytes(scratch.page) == before


@given(st.integers(0, (1 << 62) - 1), st.integers(0, 255), st.integers(0, 1 << 40))
def test_a_word_comes_back_as_it_was(moment: int, code: int, later: int) -> None:
    assert layout.unword(layout.word(moment, code), moment + later) == (moment, code)
