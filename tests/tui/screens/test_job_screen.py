"""The job screen: every size, any number of ranks and jobs, the dead, and those of whom nothing is known."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gputop.probes.model.frame import Frame
from gputop.probes.model.job_frames import JobFrame, RankFrame
from gputop.probes.model.rank_activity import ActivityFrame
from gputop.rules.finding import Evidence, Subject
from gputop.tui.drawing.lines import text_of, width_of
from gputop.tui.drawing.target import Block, rank_target
from gputop.tui.panels.job import draw_job, rows_of
from gputop.tui.panels.rank_facts import rank_fact_lines
from gputop.tui.screens.picture_screen import picture
from gputop.tui.session.job_order import jobs_in_order
from gputop.tui.session.view import View
from gputop.tui.widgets.canvas import Canvas

from support.clock import Clock
from support.tui_watch import app_of, changed, finding, judgement, running, view, with_ranks

SCENARIOS = ("healthy", "straggler", "gpu-lost", "rank-exited", "input-bound")


SIZES = [(60, 15), (80, 23), (132, 42), (200, 49)]


def drawn(shown: View, width: int, height: int) -> Block:
    jobs = jobs_in_order(shown)

    def draw(view: View, width: int, height: int) -> Block:
        return draw_job(view, jobs[0] if jobs else None, width, height)

    return picture(shown, width, height, draw)


def text(block: Block) -> str:
    return "\n".join(text_of(line) for line in block.lines)


@given(
    width=st.integers(20, 250),
    height=st.integers(5, 70),
    ranks=st.integers(0, 64),
    scenario=st.sampled_from(SCENARIOS),
    shaded=st.booleans(),
    filter=st.sampled_from(["", "r1", "comm", "no such thing"]),
)
@settings(max_examples=60)
@pytest.mark.unmeasured
def test_it_has_exactly_its_size(
    width: int, height: int, ranks: int, scenario: str, shaded: bool, filter: str
) -> None:
    shown = view(with_ranks(judgement(scenario), ranks), shaded=shaded, filter=filter)
    block = drawn(shown, width, height)
    assert len(block.lines) == len(block.targets) == height
    assert {width_of(text_of(line)) for line in block.lines} == {width}
    assert all(text_of(line).isprintable() for line in block.lines)


@given(room=st.integers(4, 90), ranks=st.integers(1, 64), phases=st.integers(0, 14))
def test_all_lines_are_given_out_and_every_part_has_some(
    room: int, ranks: int, phases: int
) -> None:
    rows = rows_of(room, ranks, phases)
    assert sum(rows) == room
    assert rows.table >= 2
    if room >= 7:
        assert rows.timeline >= 2 and rows.chart >= 3
    assert rows.phases in (0, phases + 1)
    assert rows.table <= ranks + 2


@pytest.mark.parametrize("size", SIZES)
def test_every_one_of_64_ranks_is_within_reach(size: tuple[int, int]) -> None:
    judged = with_ranks(judgement("straggler"), 64)
    for rank in judged.frame.jobs[0].ranks[::9]:
        target = rank_target(rank)
        assert drawn(view(judged, selected=target), *size).targets.count(target) >= 1


@pytest.mark.parametrize("size", SIZES)
def test_whoever_is_waited_for_is_in_sight_and_named(size: tuple[int, int]) -> None:
    said = text(drawn(view(judgement("gpu-lost")), *size))
    assert "waits for r3" in said
    assert any(line.startswith(" r3 ") for line in said.splitlines())


@pytest.mark.parametrize(("scenario", "odd"), [("thermal-throttle", "r6"), ("straggler", "r3")])
def test_with_little_room_the_rank_of_a_finding_comes_first(scenario: str, odd: str) -> None:
    lines = text(drawn(view(judgement(scenario)), 60, 15)).splitlines()
    table = next(at for at, line in enumerate(lines) if line.startswith(" rank "))
    timeline = next(at for at, line in enumerate(lines) if line.startswith("── Last"))
    for title in table, timeline:
        assert "4 of 8 " in lines[title]
        assert lines[title + 1].startswith(f" {odd} ")
    assert "…" not in lines[table]


def test_where_all_ranks_fit_they_are_in_order_and_not_counted() -> None:
    said = text(drawn(view(judgement("thermal-throttle")), 80, 23))
    rows = [line.split()[0] for line in said.splitlines() if line.startswith(" r")]
    assert rows == ["rank", *(f"r{number}" for number in range(8)), *rows[1:9]]
    assert "of 8 " not in said


async def test_enter_with_little_room_opens_the_first_rank_in_sight() -> None:
    app, _ = app_of(judgement("thermal-throttle"))
    async with running(app, (60, 16)) as pilot:
        await pilot.press("2", "enter")
        await pilot.pause()
        assert app.screen.name == "rank" and shown(app).splitlines()[1].startswith(" r6")


@pytest.mark.parametrize("size", SIZES)
def test_the_dead_say_what_they_died_in(size: tuple[int, int]) -> None:
    said = text(drawn(view(judgement("rank-exited")), *size))
    assert "exited in backward of step 18 171, 57 s ago" in said
    assert "1 exited" in said


def test_a_job_that_hangs_is_not_said_to_go_on() -> None:
    title = text(drawn(view(judgement("gpu-lost")), 132, 42)).splitlines()[1]
    assert "no step for 5" in title and "/s" not in title
    assert "s/step" in text(drawn(view(judgement("healthy")), 132, 42)).splitlines()[1]


def with_rank_stopped(state: str, *, named: bool) -> View:
    """Rank 3 of a job that hangs has that state; no collective tells that anybody waits for it."""
    judged = judgement("gpu-lost")
    (job,) = judged.frame.jobs
    ranks = tuple(
        msgspec.structs.replace(
            rank,
            waits_for=(),
            activity=ActivityFrame(state=state if rank.rank == 3 else "S"),
        )
        for rank in job.ranks
    )
    judged = changed(judged, jobs=(msgspec.structs.replace(job, ranks=ranks),))
    subject = Subject(kind="rank", id="job 1@1.00", rank=3, job=job.id)
    found = msgspec.structs.replace(
        finding("RUN423", "rank stopped", "warning", 3),
        subject=subject,
        evidence=(Evidence(signal="kept_waiting", value="ranks 0, 1"),),
    )
    return view(msgspec.structs.replace(judged, findings=(found,) if named else ()))


@pytest.mark.parametrize("state", ["T", "t"])
def test_a_stopped_rank_is_said_to_be_stopped_and_whoever_waits_for_it_says_so(state: str) -> None:
    rows = rows_by_rank(with_rank_stopped(state, named=True))
    assert "STOPPED" in rows["r3"] and "waits for" not in rows["r3"]
    assert all("waits for r3" in rows[f"r{rank}"] for rank in (0, 1, 2, 4, 5, 6, 7))


def test_nobody_is_said_to_be_stopped_or_waited_for_without_a_reason() -> None:
    assert "STOPPED" not in str(rows_by_rank(with_rank_stopped("S", named=True)))
    assert "waits for" not in str(rows_by_rank(with_rank_stopped("T", named=False)))
    healthy = view(
        msgspec.structs.replace(
            with_rank_stopped("S", named=True).judgement, frame=judgement().frame
        )
    )
    assert "waits for" not in str(rows_by_rank(healthy))


def test_a_job_that_stands_still_is_drawn_without_a_pace() -> None:
    hung = view(judgement("gpu-lost"))
    (job,) = hung.frame.jobs
    assert "tok/s" in text(drawn(hung, 132, 42)) and "tokens/s" not in text(drawn(hung, 132, 42))
    said = facts(hung.frame, job, job.ranks[0])
    assert "tokens per second" in said and "no step has ended for 59 s" in said
    assert "tokens/s" in text(drawn(view(judgement("healthy")), 132, 42))


def rows_by_rank(shown: View) -> dict[str, str]:
    """The line of each rank in the table, which is the first that begins with it."""
    rows: dict[str, str] = {}
    for line in text(drawn(shown, 132, 42)).splitlines():
        rows.setdefault(line.split()[0] if line.split() else "", line)
    return rows


def facts(frame: Frame, job: JobFrame, rank: RankFrame) -> str:
    return "\n".join(text_of(line) for line in rank_fact_lines(frame, job, rank, 160))


def shown(app: Any) -> str:
    return "\n".join(text_of(line) for line in app.screen.query_one(Canvas).lines)


async def test_the_keys() -> None:
    app, _ = app_of(judgement("gpu-lost"))
    async with running(app) as pilot:
        await pilot.press("2")
        await pilot.pause()
        assert app.screen.name == "job" and "── Step time" in shown(app)
        await pilot.press("down", "down", "enter")
        await pilot.pause()
        assert app.screen.name == "rank" and "launched fewer: r3 (18 170)" in shown(app)
        await pilot.press("l", "l")
        await pilot.pause()
        assert shown(app).splitlines()[1].startswith(" r3")
        await pilot.press("escape")
        await pilot.pause()
        assert app.screen.name == "job"


async def test_another_job_is_a_key_away() -> None:
    judged = judgement()
    (job,) = judged.frame.jobs
    other = msgspec.structs.replace(job, id="other", name="eval.py", ranks=job.ranks[6:], pids=())
    first = msgspec.structs.replace(job, ranks=job.ranks[:6])
    app, _ = app_of(changed(judged, jobs=(other, first)))
    async with running(app) as pilot:
        await pilot.press("2")
        await pilot.pause()
        said = shown(app)
        assert "1 of 2 · 6 ranks of 8" in said and "eval.py 2 ranks" in said
        await pilot.press("l")
        await pilot.pause()
        assert "2 of 2 · 2 ranks of 8" in shown(app)
        await pilot.press("5")
        await pilot.pause()
        assert "eval.py" in shown(app).splitlines()[1], "it stays chosen on the other screen"
        await pilot.press("n", "2")
        await pilot.pause()
        assert "1 of 2 · 6 ranks of 8" in shown(app)
        await pilot.press("l")
        app.attach(first.ranks[0].pid)
        await pilot.press("down")
        await pilot.pause()
        assert "1 of 2 · 6 ranks of 8" in shown(app)


async def test_a_node_without_jobs_says_so() -> None:
    app, _ = app_of(changed(judgement(), jobs=()))
    async with running(app) as pilot:
        await pilot.press("2", "enter", "l", "down")
        await pilot.pause()
        assert "no training job is known" in shown(app)


async def test_a_rank_that_goes_while_it_is_looked_at() -> None:
    clock = Clock()
    app, watch = app_of(judgement(), clock=clock)
    async with running(app) as pilot:
        await pilot.press("2", "down", "enter")
        await pilot.pause()
        clock.now += 1.0
        watch.push(changed(judgement(), jobs=(), sequence=1))
        await pilot.pause()
        assert "not there any more" in shown(app)
