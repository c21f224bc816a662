"""What is read off a state page, in whatever instant of the writer's it is read."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from gputop.probes.inprocess import layout
from gputop.probes.model.probe_readings import (
    AllocatorReading,
    CollectiveReading,
    DdpReading,
    LoaderReading,
)
from gputop.probes.sources.page.reader import PageReader

from fixtures.pages import FACTS, GAUGES, SECOND, C, MadePage, trained_page

Read = Callable[[MadePage], PageReader]


def test_values(reader: Read) -> None:
    now = time.monotonic_ns()
    reading = reader(trained_page(now)).read(now)
    assert (reading.pid, reading.start_time_seconds) == (80, 50.0)
    assert reading.phase == "backward"
    assert reading.phase_monotonic_seconds == pytest.approx(now / SECOND - 0.5)
    assert (reading.step, reading.step_seconds) == (5, 1.0)
    assert reading.step_monotonic_seconds == pytest.approx(now / SECOND - 1)
    assert (reading.samples, reading.tokens, reading.skipped_steps) == (160.0, None, 1)
    assert (reading.rank, reading.local_rank, reading.world_size) == (3, 3, 8)
    assert (reading.torch_version, reading.cuda_version) == ("2.9.1", "13.0")
    assert reading.instruments == FACTS["hooks"]
    assert reading.allocator == AllocatorReading(allocated_bytes=10, reserved_bytes=20, ooms=0)
    assert reading.ddp == DdpReading(backward_compute_seconds=0.002, backward_comm_seconds=0.005)
    assert (reading.gc_pauses, reading.gc_pause_seconds, reading.recompiles) == (2, 0.5, 1)
    assert reading.loader == LoaderReading(
        num_workers=4,
        prefetch_factor=2,
        pin_memory=True,
        batch_size=32,
        queue_depth=3,
        queue_capacity=8,
        worker_pids=(101, 102),
    )
    assert reading.collectives == (
        CollectiveReading(
            group="default",
            sequence=7,
            group_sequence=12,
            operation="all_reduce",
            ranks=(0, 1, 2, 3),
            in_flight_monotonic_seconds=(now - SECOND // 4) / SECOND,
        ),
    )
    assert [(each.native_id, each.name, each.phase) for each in reading.threads] == [
        (91, "async save", "checkpoint")
    ]
    assert reading.missing == {"tokens": "the job does not tell"}


def test_collectives_that_the_host_has_left_alone_and_groups_that_it_never_uses(
    reader: Read,
) -> None:
    now = time.monotonic_ns()
    page = trained_page(now)
    word = layout.word(now - SECOND, layout.OPERATIONS.index("all_gather"))
    groups = ("asynchronous", "one of two waited for", "all back", "DDP's alone")
    page.facts(FACTS | {"groups": [{"name": name, "ranks": [0, 1]} for name in groups]})
    page.group(0, 5, 4, word, pending=1)
    page.group(1, 6, 4, word, pending=1)
    page.group(2, 6, 6, word)
    page.group(3, 0, 0, 0)
    found = [
        (each.sequence, each.in_flight_monotonic_seconds is not None, each.host_waits)
        for each in reader(page).read(now).collectives
    ]
    assert found == [(5, True, False), (6, True, True), (6, False, True), (0, False, True)]


def test_times_sum_to_the_time_since_the_probe_began(reader: Read) -> None:
    now = time.monotonic_ns()
    spent = reader(trained_page(now)).read(now).phase_seconds
    assert spent == pytest.approx(
        {"startup": 1.0, "data": 0.5 + 0.5, "forward": 4.5, "backward": 0.5}
    )
    assert sum(spent.values()) == pytest.approx(7.0)


def test_a_thread_that_has_just_begun_has_its_base_phase(reader: Read) -> None:
    now = time.monotonic_ns()
    page = MadePage()
    page.slot(0, [(now - SECOND, C["startup"])])
    reading = reader(page).read(now)
    assert (reading.phase, reading.phase_seconds) == ("startup", {"startup": 1.0})
    assert reading.step is None
    assert reading.missing["step"] == "no step has ended yet"


def test_a_phase_of_which_only_the_time_is_stored_is_not_counted_twice(reader: Read) -> None:
    """The writer has charged the open phase and is about to store the next one."""
    now = time.monotonic_ns()
    page = MadePage()
    began = now - 3 * SECOND
    page.slot(0, [(began, C["data"]), (now - SECOND, C["forward"])], totals={})
    page.slot(
        0,
        [(began, C["data"]), (now - SECOND, C["forward"])],
        totals={C["data"]: 2 * SECOND, C["forward"]: SECOND},
    )
    assert reader(page).read(now).phase_seconds == {"data": 2.0, "forward": 1.0}


def test_garbage_collected_inside_the_open_phase_is_taken_off_it(reader: Read) -> None:
    now = time.monotonic_ns()
    page = MadePage()
    phases = [(now - 3 * SECOND, C["data"]), (now - 2 * SECOND, C["forward"])]
    page.slot(0, phases, totals={C["data"]: SECOND, C["gc"]: SECOND // 2})
    reading = reader(page).read(now)
    assert reading.phase_seconds == {"data": 1.0, "gc": 0.5, "forward": 1.5}
    assert reading.phase_monotonic_seconds == pytest.approx(now / SECOND - 2)


def test_while_garbage_is_collected_the_interrupted_phase_keeps_its_time(reader: Read) -> None:
    now = time.monotonic_ns()
    page = MadePage()
    phases = [(now - 3 * SECOND, C["data"]), (now - 2 * SECOND, C["forward"])]
    page.slot(
        0,
        phases,
        totals={C["data"]: SECOND, C["gc"]: SECOND // 4},
        current=layout.word(now - SECOND // 2, C["gc"]),
    )
    reading = reader(page).read(now)
    assert reading.phase == "gc"
    assert reading.phase_seconds == {"data": 1.0, "gc": 0.75, "forward": 1.25}
    assert reading.segments[-1].phase == "gc"


def test_times_that_contradict_the_clock_are_left_out(reader: Read) -> None:
    now = time.monotonic_ns()
    page = MadePage()
    page.slot(0, [(now - SECOND, C["data"])], totals={C["data"]: 10**18})
    reading = reader(page).read(now)
    assert (reading.phase, reading.phase_seconds) == ("data", {})
    assert "contradict" in reading.missing["phase_seconds"]


def test_a_phase_that_begins_in_the_future_is_none(reader: Read) -> None:
    now = time.monotonic_ns()
    page = MadePage()
    page.slot(0, [(now + 3600 * SECOND, C["data"])])
    reading = reader(page).read(now)
    assert reading.phase is None
    assert "phase" in reading.missing


def test_the_main_loop_may_run_in_another_thread(reader: Read) -> None:
    now = time.monotonic_ns()
    page = MadePage()
    page.slot(0, [(now - 9 * SECOND, C["startup"])])
    page.slot(2, [(now - SECOND, C["forward"])], thread=85)
    page.facts({"main_slot": 2})
    reading = reader(page).read(now)
    assert (reading.phase, reading.segments[-1].phase) == ("forward", "forward")
    assert [each.phase for each in reading.threads] == ["startup"]


def test_a_thread_that_has_ended_is_not_reported_and_its_slot_may_be_taken_anew(
    reader: Read,
) -> None:
    now = time.monotonic_ns()
    page = trained_page(now)
    made = reader(page)
    page.slot(3, [(now - 2 * SECOND, C["checkpoint"])], thread=91, ended=now - SECOND)
    assert made.read(now).threads == ()
    page.slot(3, [(now - SECOND // 2, C["eval"])], thread=92, ended=now - SECOND)
    assert [each.native_id for each in made.read(now).threads] == [92]


def test_the_users_own_phases_have_their_names(reader: Read) -> None:
    now = time.monotonic_ns()
    page = MadePage()
    page.slot(0, [(now - 2 * SECOND, 17), (now - SECOND, 16)])
    page.facts(FACTS)
    reading = reader(page).read(now)
    assert reading.phase == "rollout"
    assert reading.phase_seconds == {"other": 1.0, "rollout": 1.0}


def test_what_has_changed_is_read_anew_and_what_was_taken_out_is_gone(reader: Read) -> None:
    now = time.monotonic_ns()
    page = trained_page(now)
    made = reader(page)
    page.facts(FACTS | {"trouble": "loader: no such attribute"})
    assert made.read(now).error == "loader: no such attribute"
    page.facts(FACTS)
    page.gauges(GAUGES | {"recompiles": 9, "at": now})
    reading = made.read(now)
    assert (reading.error, reading.recompiles, reading.rank) == (None, 9, 3)
