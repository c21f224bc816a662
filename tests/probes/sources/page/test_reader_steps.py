"""Steps and segments out of a page: which are reported, how often, and what is overwritten meanwhile."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

import pytest

from gputop.probes.inprocess import layout
from gputop.probes.model.probe_readings import (
    LONGEST_STEPS,
    NEWEST_STEPS,
)
from gputop.probes.sources.page.phases import SEGMENTS
from gputop.probes.sources.page.reader import PageReader

from fixtures.pages import FACTS, SECOND, C, MadePage, step, trained_page

Read = Callable[[MadePage], PageReader]


TOO_COSTLY = "off: the probe took 3.1% of the time, this most of it"


LONG_UP = 3600 * SECOND
"""A moment on a machine that has been up for longer than the oldest step of a test."""


@pytest.mark.parametrize(
    ("since", "told"), [(-1.5, None), (-1.0, "forward: off"), (-0.5, "forward: off")]
)
def test_steps_are_off_until_one_ends_after_that_moment(
    reader: Read, since: float, told: str | None
) -> None:
    """The last step ended a second ago."""
    now = time.monotonic_ns()
    page = trained_page(now)
    moment = now + int(since * SECOND)
    page.facts(FACTS | {"steps_off": {"since": moment, "why": "forward: off"}})
    reading = reader(page).read(now)
    assert reading.steps_off == told
    assert reading.step == 5


@pytest.mark.parametrize(
    ("state", "told"),
    [
        ("on", None),
        ("off: named in GPUTOP_PROBE_OFF", None),
        (TOO_COSTLY, f"optimizer: {TOO_COSTLY}"),
    ],
)
def test_a_probe_of_before_that_does_not_say_that_steps_are_off(
    reader: Read, state: str, told: str | None
) -> None:
    now = time.monotonic_ns()
    page = trained_page(now)
    page.facts(FACTS | {"hooks": {"optimizer": state}})
    assert reader(page).read(now).steps_off == told


@pytest.mark.parametrize(
    "told", [None, 5, [], {"since": "x", "why": "y"}, {"since": -1, "why": "y"}, {"since": 2**60}]
)
def test_what_is_no_moment_and_reason_turns_no_steps_off(reader: Read, told: object) -> None:
    now = time.monotonic_ns()
    page = trained_page(now)
    page.facts(FACTS | {"steps_off": told})
    assert reader(page).read(now).steps_off is None


def test_steps_come_with_all_they_have(reader: Read) -> None:
    now = time.monotonic_ns()
    page = trained_page(now)
    late = step(5, now - SECOND, gpu=SECOND // 2)
    late.run_ahead = SECOND // 5
    page.step(4, late)
    newest = reader(page).read(now).steps[-1]
    assert newest.number == 5
    assert newest.monotonic_seconds == pytest.approx(now / SECOND - 1)
    assert newest.phases == {"data": 0.1, "forward": 0.9}
    assert newest.gpu_phases == {"forward": 0.5}
    assert (newest.run_ahead_seconds, newest.loss, newest.samples) == (0.2, 2.5, 32.0)


def test_only_new_steps_and_changed_ones_are_reported_and_each_of_them_twice(reader: Read) -> None:
    now = time.monotonic_ns()
    page = trained_page(now)
    made = reader(page)

    def reported() -> list[int]:
        return [each.number for each in made.read(now).steps]

    assert reported() == [1, 2, 3, 4, 5]
    assert reported() == [1, 2, 3, 4, 5]
    assert reported() == []
    page.step(5, step(6, now))
    page.newest(step(6, now))
    assert reported() == [6]
    page.step(3, step(4, now - 2 * SECOND, gpu=SECOND))
    assert reported() == [4, 6]
    assert reported() == [4]
    assert reported() == []


def test_a_step_that_is_being_stored_when_first_seen_is_reported_later(reader: Read) -> None:
    now = time.monotonic_ns()
    page = trained_page(now)
    at = layout.STEPS_AT + 4 * layout.STEP_SIZE
    whole = bytes(page.data[at : at + layout.STEP_SIZE])
    page.put(at + 20, b"\xff" * 40)
    made = reader(page)
    assert [each.number for each in made.read(now).steps] == [1, 2, 3, 4]
    page.put(at, whole)
    assert made.read(now).steps[-1].number == 5


def test_the_ring_of_steps_goes_round(reader: Read) -> None:
    now = LONG_UP
    page = trained_page(now, steps=300)
    made = reader(page)
    numbers = [each.number for each in made.read(now).steps]
    assert numbers == list(range(300 - layout.STEPS + 1, 301))
    for index in range(300, 310):
        page.step(index, step(index + 1, now))
    page.newest(step(310, now))
    assert [each.number for each in made.read(now).steps][-10:] == list(range(301, 311))


def test_of_very_short_steps_the_newest_and_the_longest_are_reported_and_the_others_counted(
    reader: Read,
) -> None:
    now = time.monotonic_ns()
    page = trained_page(now)
    made = reader(page)
    made.read(now)
    made.read(now)
    for index in range(5, 105):
        short = step(index + 1, now)
        short.duration = SECOND if index == 40 else index
        page.step(index, short)
    page.newest(step(105, now))
    reported = made.read(now)
    numbers = [each.number for each in reported.steps]
    assert numbers == [41, 95, *range(105 - NEWEST_STEPS + 1, 106)]
    assert reported.steps_left_out == 100 - NEWEST_STEPS - LONGEST_STEPS
    assert [each.number for each in made.read(now).steps] == numbers
    assert made.read(now).steps == ()


def test_segments_are_the_newest_phases_each_with_its_step(reader: Read) -> None:
    now = time.monotonic_ns()
    segments = reader(trained_page(now)).read(now).segments
    assert [(each.phase, each.step) for each in segments] == [
        ("startup", 1),
        *((phase, number) for number in (1, 2, 3, 4, 5) for phase in ("data", "forward")),
        ("data", 6),
        ("backward", 6),
    ]
    assert segments[-1].monotonic_seconds == pytest.approx(now / SECOND - 0.5)
    moments = [each.monotonic_seconds for each in segments]
    assert moments == sorted(moments)


def test_the_whole_ring_is_reported_at_first_and_the_newest_part_of_it_later(reader: Read) -> None:
    page = trained_page(LONG_UP, steps=800)
    made = reader(page)
    assert [len(made.read(LONG_UP).segments) for _ in range(3)] == [1024, 1024, SEGMENTS]
    assert made.read(LONG_UP).segments[-1].phase == "backward"


def test_words_that_were_overwritten_while_the_ring_was_read_are_left_out(reader: Read) -> None:
    page = trained_page(LONG_UP, steps=800)
    head = 1 + 2 * 800 + 2
    for index in range(head, head + 20):  # stored after the copy of the head was taken
        page.words(
            layout.RINGS_AT + index % layout.RING_WORDS * 8,
            layout.word(LONG_UP - 5 + index, C["eval"]),
        )
    segments = reader(page).read(LONG_UP).segments
    assert len(segments) == layout.RING_WORDS - 20
    assert "eval" not in {each.phase for each in segments}


@pytest.mark.parametrize(
    ("at", "generation", "cuts"),
    [
        (layout.NEWEST_AT + layout.STEP_SIZE, 6, range(152)),
        (layout.GAUGES_AT, 2, range(300)),
        (layout.FACTS_AT, 2, range(0, 700, 3)),
    ],
)
def test_a_writer_killed_at_any_byte_leaves_the_record_before(
    reader: Read, at: int, generation: int, cuts: range
) -> None:
    now = time.monotonic_ns()
    page = trained_page(now)
    made = reader(page)
    before = made.read(now)
    payload = {
        layout.NEWEST_AT + layout.STEP_SIZE: layout.pack_step(step(6, now)),
        layout.GAUGES_AT: b'{"recompiles": 7, "pad": "' + b"x" * 300 + b'"}',
        layout.FACTS_AT: b'{"rank": 7, "pad": "' + b"x" * 700 + b'"}',
    }[at]
    record = layout.record(generation, payload)
    for cut in cuts:
        stored = record[:cut] + bytes(len(record) - cut)
        if stored == record:
            continue  # what was not stored is zeros anyway
        page.put(at, stored)
        reading = made.read(now)
        assert (reading.step, reading.recompiles, reading.rank) == (
            before.step,
            before.recompiles,
            before.rank,
        )
    page.put(at, record)
    after = made.read(now)
    assert (after.step, after.recompiles, after.rank) != (
        before.step,
        before.recompiles,
        before.rank,
    )


def test_a_step_whose_storing_was_killed_at_any_byte_is_left_out_alone(reader: Read) -> None:
    now = time.monotonic_ns()
    page = trained_page(now)
    at = layout.STEPS_AT + 4 * layout.STEP_SIZE
    old = bytes(page.data[at : at + layout.STEP_SIZE])
    new = layout.record(5, layout.pack_step(step(5, now - SECOND, gpu=SECOND)))
    page.put(at, bytes(layout.STEP_SIZE))
    reader(page)
    for cut in range(len(new)):
        stored = new[:cut] + old[cut:]
        page.put(at, stored)
        descriptor = os.dup(page.descriptor)
        fresh = PageReader(descriptor, page.owner, bytes(page.data[: layout.HEADER.size]))
        numbers = [each.number for each in fresh.read(now).steps]
        fresh.close()
        whole = stored in (old, new + old[len(new) :])
        assert numbers == ([1, 2, 3, 4, 5] if whole else [1, 2, 3, 4])
