"""The job screen: every size, any number of ranks and jobs, the dead, and those of whom nothing is known."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gputop.probes.model.frame import Frame
from gputop.probes.model.job_frames import JobFrame, RankFrame
from gputop.probes.model.probe_readings import CollectiveReading, DdpReading
from gputop.probes.model.rank_activity import ActivityFrame
from gputop.probes.model.rank_history import RankHistory
from gputop.rules.finding import Evidence, Judgement, Subject
from gputop.tui.drawing.glyphs import BLOCK, WAITS, to_ascii
from gputop.tui.drawing.lines import text_of, width_of
from gputop.tui.drawing.target import Block, rank_target
from gputop.tui.panels.job import draw_job, rows_of
from gputop.tui.panels.rank_delays import delays_of, past_of
from gputop.tui.panels.rank_facts import rank_fact_lines
from gputop.tui.panels.step_chart import outlier_seconds, steps_of
from gputop.tui.screens.picture_screen import picture
from gputop.tui.session.job_order import jobs_in_order
from gputop.tui.session.view import View
from gputop.tui.widgets.canvas import Canvas

from support.probe_scenes import step
from support.tui_watch import (
    Clock,
    app_of,
    changed,
    finding,
    judgement,
    running,
    view,
    with_ranks,
    without_probes,
)

SCENARIOS = ("healthy", "straggler", "gpu-lost", "rank-died", "input-bound")
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
    said = text(drawn(view(judgement("rank-died")), *size))
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


def test_the_straggler_is_reported_and_so_is_its_phase() -> None:
    said = text(drawn(view(judgement("straggler")), 132, 42))
    row = next(line for line in said.splitlines() if line.startswith(" r3 "))
    assert "delays 7: 4" in row
    data = next(line for line in said.splitlines() if line.startswith(" d data"))
    assert "r3 1.8" in data and "a step" in data


def test_waiting_is_drawn_as_waiting() -> None:
    judged = judgement("straggler")
    lines = text(drawn(view(judged), 132, 42)).splitlines()
    timeline = lines[next(at for at, line in enumerate(lines) if "── Last" in line) + 1 :]
    rows = {line.split()[0]: line for line in timeline if line.startswith(" r")}
    assert WAITS * 8 in rows["r0"] and "waits for r3" in rows["r0"]
    assert WAITS not in rows["r3"]


@pytest.mark.parametrize("shaded", [False, True])
def test_in_ascii_each_sign_of_a_time_line_means_one_thing(shaded: bool) -> None:
    lines = text(drawn(view(judgement("straggler"), shaded=shaded), 132, 42)).splitlines()
    at = next(at for at, line in enumerate(lines) if line.startswith("── Last"))
    legend = to_ascii(lines[at].split(" s ")[1]).split()
    signs = {sign[0]: word for sign, word in zip(legend[::2], legend[1::2], strict=True)}
    assert len(signs) == len(legend) // 2 and {"waits", "other"} <= set(signs.values())
    bar = "" if shaded else to_ascii(BLOCK)
    for row in lines[at + 1 : at + 9]:
        assert set(to_ascii(row[7:107])) <= {*signs, *bar, " "}


def test_delays_are_those_of_the_rhythm() -> None:
    """Rank 3 takes 1.87 s longer in each step of 4.2 s."""
    frame = judgement("straggler").frame
    delays = delays_of(past_of(frame, frame.jobs[0]))
    assert delays.keys() == {3}
    assert delays[3].ranks == 7
    assert delays[3].ratio == pytest.approx(1.87 / 4.17, abs=0.05)


def test_a_healthy_job_has_no_delays_worth_a_word() -> None:
    assert "delays" not in text(drawn(view(judgement("healthy")), 200, 49))


@pytest.mark.parametrize("size", SIZES)
def test_a_job_without_probes_says_how_to_get_them(size: tuple[int, int]) -> None:
    said = text(drawn(view(without_probes(judgement())), *size))
    assert said.count("no probe in this process") >= min(8, size[1] - 6)
    assert "gputop run -- COMMAND" in " ".join(said.split())


def test_one_rank_without_a_probe_among_others_says_so() -> None:
    judged = judgement()
    (job,) = judged.frame.jobs
    bare = without_probes(judged).frame.jobs[0].ranks[2]
    ranks = (*job.ranks[:2], bare, *job.ranks[3:])
    mixed = changed(judged, jobs=(msgspec.structs.replace(job, ranks=ranks),))
    said = text(drawn(view(mixed), 132, 42))
    assert said.count("no probe in this process") == 1


def test_outliers_are_reported_from_usual_steps_whatever_they_are() -> None:
    usual = [1.0, 1.01, 0.99, 1.02, 0.98] * 6
    assert max(usual) < outlier_seconds(sorted([*usual, 9.0, 12.0])) < 1.3
    noisy = [0.5, 1.0, 1.5] * 10
    assert outlier_seconds(sorted(noisy)) > 1.5


def with_steps(judged: Judgement, seconds: list[float]) -> Frame:
    rank = judged.frame.jobs[0].ranks[0]
    past = RankHistory(
        pid=rank.pid,
        start_time_seconds=rank.start_time_seconds,
        reading_seconds=1.0,
        steps=tuple(step(number, 1.0, each) for number, each in enumerate(seconds)),
    )
    return changed(judged, rank_histories=(past,)).frame


def test_an_odd_step_is_drawn_in_another_role() -> None:
    frame = with_steps(judgement(), [1.0] * 20 + [3.0] + [1.0] * 10)
    block = drawn(view(msgspec.structs.replace(judgement(), frame=frame)), 132, 42)
    assert "1 odd" in text(block) and "slowest 3.00 s, step 20" in text(block)
    hot = {span_text for line in block.lines for span_text, role in line if role == "hot"}
    assert "█" in hot


def test_a_step_that_does_not_end_is_shown_while_it_runs() -> None:
    frame = judgement("gpu-lost").frame
    steps = steps_of(frame, frame.jobs[0].ranks)
    assert steps.running is not None
    assert steps.running[0] == 18_171 and 55 < steps.running[1] < 62
    healthy = judgement("healthy").frame
    assert steps_of(healthy, healthy.jobs[0].ranks).running is None


MAYBE: Any = st.one_of(st.none(), st.floats(), st.floats(0, 100))
ODD: Any = st.text(max_size=20)


@st.composite
def odd_ranks(draw: Any) -> RankFrame:
    """A rank of which nothing can be relied on."""
    numbers = {
        field: draw(MAYBE)
        for field in (
            "phase_age_seconds",
            "step_seconds",
            "step_p50_seconds",
            "step_p99_seconds",
            "host_step_seconds",
            "gpu_step_seconds",
            "run_ahead_seconds",
            "samples_per_second",
            "tokens_per_second",
            "throughput_spread_ratio",
            "loss",
        )
    }
    return RankFrame(
        rank=draw(st.one_of(st.none(), st.integers(0, 10**6))),
        pid=draw(st.integers(1, 10**9)),
        start_time_seconds=0.0,
        gpu_index=draw(st.one_of(st.none(), st.integers(0, 99))),
        phase=draw(st.one_of(st.none(), ODD, st.just("comm"))),
        step=draw(st.one_of(st.none(), st.integers(0, 2**63))),
        current_step=draw(st.one_of(st.none(), st.integers(0, 2**63))),
        step_age_seconds=draw(st.one_of(st.none(), st.floats(0, 1e9))),
        ended_age_seconds=draw(st.one_of(st.none(), st.floats(0, 1e9))),
        phases_last_steps=draw(st.dictionaries(ODD, st.floats(0, 1), max_size=4)),
        waits_for=tuple(draw(st.lists(st.integers(0, 99), max_size=3))),
        missing={draw(ODD): draw(ODD)},
        **numbers,
    )


def test_a_rank_s_facts_say_what_of_it_is_not_read_and_what_is_not_waited_for() -> None:
    judged = judgement()
    (job,) = judged.frame.jobs
    rank = job.ranks[0]
    reported = judged.frame.probe(rank.pid, rank.start_time_seconds)
    assert reported
    assert "not read" not in facts(judged.frame, job, rank)
    now = judged.frame.monotonic_seconds
    odd = (
        CollectiveReading(
            group="grads",
            sequence=7,
            operation="all_reduce",
            in_flight_monotonic_seconds=now - 3,
            host_waits=False,
        ),
        CollectiveReading(group="DDP", sequence=0, operation="other", group_sequence=812),
    )
    ddp = DdpReading(
        backward_compute_seconds=0.002, backward_comm_seconds=0.005, backward_overlap_seconds=0.0015
    )
    changed_probe = msgspec.structs.replace(
        reported, steps_left_out=12345, collectives=odd, ddp=ddp
    )
    shown = facts(changed(judged, probes=(changed_probe,)).frame, job, rank)
    assert "12 345 · too many came at once" in shown
    assert "all_reduce no. 7 · launched 3.0 s ago, not waited for yet" in shown
    assert "computes 2.00 ms, its all-reduce takes 5.00 ms, 3.50 ms of that not hidden" in shown
    assert "none launched from Python, as with DDP alone · 812 by the group's own count" in shown


def facts(frame: Frame, job: JobFrame, rank: RankFrame) -> str:
    return "\n".join(text_of(line) for line in rank_fact_lines(frame, job, rank, 160))


@given(st.lists(odd_ranks(), max_size=5), ODD, st.integers(60, 200), st.integers(7, 60))
@settings(max_examples=50)
def test_no_rank_however_odd_breaks_it(
    ranks: list[RankFrame], name: str, width: int, height: int
) -> None:
    job = JobFrame(id="j", name=name, ranks=tuple(ranks))
    frame = Frame(time_seconds=1.0, monotonic_seconds=1e9, node="n", jobs=(job, job))
    block = drawn(view(Judgement(frame=frame)), width, height)
    assert {width_of(text_of(line)) for line in block.lines} == {width}
    for rank in ranks:
        for line in rank_fact_lines(frame, job, rank, width):
            assert width_of(text_of(line)) == width


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
