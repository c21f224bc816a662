"""Parts of the job's picture: delays, odd steps, ranks without probes, facts of one rank."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gputop.probes.model.frame import Frame
from gputop.probes.model.job_frames import JobFrame, RankFrame
from gputop.probes.model.probe_readings import CollectiveReading, DdpReading
from gputop.probes.model.rank_history import RankHistory
from gputop.rules.finding import Judgement
from gputop.tui.drawing.glyphs import BLOCK, WAITS, to_ascii
from gputop.tui.drawing.lines import text_of, width_of
from gputop.tui.drawing.target import Block
from gputop.tui.panels.job import draw_job
from gputop.tui.panels.rank_delays import delays_of, past_of
from gputop.tui.panels.rank_facts import rank_fact_lines
from gputop.tui.panels.step_chart import outlier_seconds, steps_of
from gputop.tui.screens.picture_screen import picture
from gputop.tui.session.job_order import jobs_in_order
from gputop.tui.session.view import View
from gputop.tui.widgets.canvas import Canvas

from support.probe_scenes import step
from support.tui_watch import (
    changed,
    judgement,
    view,
    without_probes,
)

SIZES = [(60, 15), (80, 23), (132, 42), (200, 49)]


def drawn(shown: View, width: int, height: int) -> Block:
    jobs = jobs_in_order(shown)

    def draw(view: View, width: int, height: int) -> Block:
        return draw_job(view, jobs[0] if jobs else None, width, height)

    return picture(shown, width, height, draw)


def text(block: Block) -> str:
    return "\n".join(text_of(line) for line in block.lines)


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
