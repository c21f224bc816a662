"""Whatever bytes a state page holds: it is refused in one line, or gives values that make sense."""

from __future__ import annotations

import json
import os
import random
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gputop.probes.inprocess import layout
from gputop.probes.model.probe_readings import ProbeReading
from gputop.probes.sources.page.facts import loader_reading, parse_facts, parse_gauges
from gputop.probes.sources.page.location import PageRefused
from gputop.probes.sources.page.reader import reader_of

from fixtures.pages import FACTS, GAUGES, SECOND, MadePage, step, trained_page
from support.damaged_pages import check, corrupted

CORRUPTIONS = 10_000


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.unmeasured
def test_corruptions_give_a_sensible_reading_or_one_line(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    now = time.monotonic_ns()
    whole = trained_page(now, steps=8)
    whole.save(tmp_path)
    refused = 0
    for _ in range(CORRUPTIONS // 4):
        data = corrupted(bytearray(whole.data), chance)
        os.pwrite(whole.descriptor, data, 0)
        os.ftruncate(whole.descriptor, len(data))
        try:
            made = reader_of(os.dup(whole.descriptor), whole.owner)
            if made is not None:
                try:
                    check(made.read(now), now)
                    check(made.read(now + SECOND), now + SECOND)
                finally:
                    made.close()
        except PageRefused as refusal:
            refused += 1
            assert "\n" not in str(refusal)
    whole.let_go()
    assert 0 < refused < CORRUPTIONS // 4


def test_a_page_that_changes_under_the_reader_for_ever(tmp_path: Path) -> None:
    """Counters that jump, forwards and back, with the same reader all the time."""
    chance = random.Random(7)
    now = time.monotonic_ns()
    page = trained_page(now)
    made = page.reader(tmp_path)
    for _ in range(500):
        head = chance.choice((1, 2, 5, 2**20, 2**53, 2**63, 2**64 - 1, chance.randrange(1, 2000)))
        page.words(layout.SLOTS_AT + layout.SLOT_HEAD, head)
        page.newest(step(head, now))
        check(made.read(now), now)
    made.close()
    page.let_go()


def test_a_page_cut_to_any_length_while_it_is_read(tmp_path: Path) -> None:
    now = time.monotonic_ns()
    page = trained_page(now)
    made = page.reader(tmp_path)
    check(made.read(now), now)
    for length in range(layout.PAGE_SIZE, -1, -977):
        os.ftruncate(page.descriptor, length)
        if length < layout.HOT_SIZE:
            with pytest.raises(PageRefused, match="cut short"):
                made.read(now)
        else:
            check(made.read(now), now)
    made.close()
    page.let_go()


def test_a_page_that_becomes_another_while_it_is_read(tmp_path: Path) -> None:
    now = time.monotonic_ns()
    page = trained_page(now)
    made = page.reader(tmp_path)
    page.put(0, bytes(MadePage(pid=81).data[: layout.HEADER.size]))
    with pytest.raises(PageRefused, match="made another"):
        made.read(now)
    made.close()
    page.let_go()


HOSTILE_FACTS = {
    "rank": -1,
    "local_rank": 10**40,
    "world_size": True,
    "job_name": "\x1b]0;owned\x07\nname\u202e",
    "python": ["3", "12"],
    "torch": {"a": 1},
    "precision": "x" * 10_000,
    "device_uuid": "\ud800",
    "phase_names": {"16": "\x1b[31mred", "300": "far", "-1": "odd", "1": "mine", "17": 4},
    "groups": [7, {"name": ["a"], "ranks": [1, -2, 2.5, "3", True, 10**30]}, {"ranks": "all"}],
    "threads": {"a": "b", "7": "\x00", "8": {}},
    "hooks": ["on"],
    "trouble": 5,
    "socket": "/run/\x1bsocket",
    "main_slot": 99,
    "loader": {"num_workers": 1e9, "pin_memory": 1, "batch_size": float("inf")},
}


def test_each_field_that_makes_no_sense_is_left_out_alone() -> None:
    facts = parse_facts(json.dumps(HOSTILE_FACTS | {"cuda": "13.0"}).encode())
    assert facts.fields == {
        "job_name": "�]0;owned��name�",
        "precision": "x" * 200,
        "device_uuid": "�",
        "cuda_version": "13.0",
    }
    assert facts.phases[16] == "�[31mred"
    assert facts.phases[17] == "other"
    assert facts.phases[1] == "startup"
    assert [group.ranks for group in facts.groups] == [(), (1,), ()]
    assert facts.threads == {7: "�"}
    assert facts.main_slot == 0
    assert facts.loader == {}
    gauges = parse_gauges(
        b'{"at": NaN, "gc_pauses": 3, "recompiles": -4, "cost_ratio": Infinity, "gc_pause_ns": 1e400,'
        b'"allocator": {"allocated_bytes": 99999999999999999999999, "ooms": 2}, "loader": []}'
    )
    assert gauges.taken == 0
    assert gauges.fields["gc_pauses"] == 3
    assert set(gauges.fields) == {"gc_pauses", "allocator"}
    assert gauges.fields["allocator"].ooms == 2
    assert gauges.fields["allocator"].allocated_bytes is None


@pytest.mark.parametrize(
    "payload", [b"", b"[]", b"null", b"{", b"[" * 30_000, b'{"a":' * 6000, b"\xff\xfe", b"9" * 9000]
)
def test_a_text_that_is_no_object_says_nothing(payload: bytes) -> None:
    assert parse_facts(payload).fields == {}
    assert parse_gauges(payload).fields == {}


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@settings(max_examples=100)
@given(
    facts=st.dictionaries(st.sampled_from([*FACTS, "main_slot", "trouble"]), _json),
    gauges=st.dictionaries(st.sampled_from([*GAUGES, "at"]), _json),
    loader=st.dictionaries(st.sampled_from(["num_workers", "worker_pids", "pin_memory"]), _json),
)
@pytest.mark.unmeasured
def test_texts_of_any_shape(
    facts: dict[str, object], gauges: dict[str, object], loader: dict[str, object]
) -> None:
    said = parse_facts(json.dumps(facts).encode())
    looked = parse_gauges(json.dumps(gauges | {"loader": loader}).encode())
    reading = ProbeReading(
        monotonic_seconds=1.0,
        pid=1,
        start_time_seconds=1.0,
        loader=loader_reading(said, looked),
        **(said.fields | looked.fields),
    )
    check(reading, time.monotonic_ns())
    assert len(said.phases) == 256
    assert 0 <= said.main_slot < layout.THREADS
