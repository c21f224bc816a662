"""The stacks screen: every size, groups and tree, reasons where there are none, requests, copying and saving."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gputop.probes.model.rank_activity import ActivityFrame
from gputop.probes.model.rank_readings import (
    StackFrameReading,
    StackReading,
    StackThreadReading,
    ThreadReading,
    ThreadsReading,
)
from gputop.rules.finding import Judgement
from gputop.tui.app.app import GputopApp
from gputop.tui.drawing.lines import text_of, width_of
from gputop.tui.drawing.target import Block, rank_target
from gputop.tui.panels.stacks import StackLook, draw_stacks, ranks_of
from gputop.tui.reports.saving import save_text
from gputop.tui.screens.picture_screen import picture
from gputop.tui.session.job_order import jobs_in_order
from gputop.tui.session.view import View
from gputop.tui.widgets.bottom_line import BottomLine

from support.clock import Clock
from support.tui_watch import app_of, changed, judgement, running, view, with_ranks, with_stacks

SCENARIOS = ("healthy", "straggler", "gpu-lost", "rank-exited", "input-bound")
SCOPE = "kernel.yama.ptrace_scope is 1: sudo gputop, or sudo sysctl kernel.yama.ptrace_scope=0"


def drawn(shown: View, width: int = 132, height: int = 43, look: StackLook | None = None) -> Block:
    jobs = jobs_in_order(shown)

    def draw(view: View, width: int, height: int) -> Block:
        return draw_stacks(view, jobs[0] if jobs else None, look or StackLook(), width, height)

    block = picture(shown, width, height, draw)
    assert len(block.lines) == len(block.targets) == height
    assert {width_of(text_of(line)) for line in block.lines} == {width}
    return block


def text(block: Block) -> str:
    return "\n".join(text_of(line) for line in block.lines)


def with_readings(judged: Judgement, **fields: Any) -> Judgement:
    """All dumps changed."""
    stacks = tuple(msgspec.structs.replace(each, **fields) for each in judged.frame.stacks)
    return changed(judged, stacks=stacks)


def refused(judged: Judgement, reason: str = SCOPE) -> Judgement:
    return with_readings(judged, refusal=reason, main_stacks=(), threads=())


def with_samples(judged: Judgement, count: int, **shares: float) -> Judgement:
    """The first rank of the picture with shares from so many samples."""
    (job,) = judged.frame.jobs
    ranks = tuple(
        msgspec.structs.replace(rank, phases_sampled=shares, phases_sampled_count=count)
        for rank in job.ranks
    )
    return changed(judged, jobs=(msgspec.structs.replace(job, ranks=ranks),))


def test_shares_are_reported_with_their_error_and_only_from_enough_samples() -> None:
    judged = with_stacks("straggler")
    assert "host phases" not in text(drawn(view(judged)))
    few = with_samples(judged, 43)
    assert "host phases: 43 of 100 samples so far" in text(drawn(view(few)))
    enough = with_samples(judged, 142, data=0.25, backward=0.75)
    reported = "host phases of 142 samples: backward 75 % ±7 %, data 25 % ±7 %"
    assert reported in text(drawn(view(enough), width=200))


def last_line(app: GputopApp) -> str:
    return app.screen.query_one(BottomLine).render_line(0).text


@given(
    width=st.integers(20, 250),
    height=st.integers(3, 70),
    ranks=st.integers(0, 64),
    scenario=st.sampled_from(SCENARIOS),
    asked=st.booleans(),
    denied=st.booleans(),
    tree=st.booleans(),
    first=st.integers(0, 40),
    filter=st.sampled_from(["", "train_step", "rank 3", "no such thing"]),
)
@settings(max_examples=100)
def test_it_has_exactly_its_size(
    width: int,
    height: int,
    ranks: int,
    scenario: str,
    asked: bool,
    denied: bool,
    tree: bool,
    first: int,
    filter: str,
) -> None:
    judged = with_stacks(scenario) if asked else judgement(scenario)
    judged = with_ranks(judged, ranks) if ranks < 8 or ranks % 2 else judged
    judged = refused(judged) if denied else judged
    drawn(view(judged, filter=filter), width, height, StackLook(first, tree))


def test_outliers_come_first_and_say_where_they_are() -> None:
    lines = text(drawn(view(with_stacks("gpu-lost")))).splitlines()
    assert "rank 3 " in lines[3] and "backward" in lines[3]
    assert "runs the backward at train_step (train.py:119)" in lines[3]
    assert "7 ranks 0-2,4-7" in lines[4]
    assert "is in a collective at reduce_gradients (train.py:96)" in lines[4]


def test_the_tree_forks_where_the_groups_part() -> None:
    shown = text(drawn(view(with_stacks("gpu-lost")), 80, 30, StackLook(tree=True)))
    tree = shown[shown.index("<module>") :].splitlines()
    assert tree[1].split() == ["main", "(train.py:174)"]
    assert tree[2].startswith(" ├ train_step (train.py:119)") and tree[2].rstrip().endswith(
        "rank 3"
    )
    assert any(line.startswith(" └ train_step (train.py:121)") for line in tree)
    assert tree[-1].strip() == "" or "all_reduce" in shown


def test_a_tree_that_does_not_fit_keeps_its_forks() -> None:
    shown = text(drawn(view(with_stacks("gpu-lost")), 80, 15, StackLook(tree=True)))
    assert "rank 3" in shown.split("Where they part")[1]
    assert "7 ranks" in shown.split("Where they part")[1]
    assert "more" in shown


def test_the_selected_rank_is_shown_with_its_threads() -> None:
    judged = with_stacks("gpu-lost")
    ranks = ranks_of(view(judged), judged.frame.jobs[0])
    assert [rank.rank for rank in ranks] == [3, 0, 1, 2, 4, 5, 6, 7]
    shown = text(drawn(view(judged, selected=rank_target(ranks[4]))))
    assert "Rank 4 pid 51834 · 1.0 s old · innermost first" in shown
    assert "MainThread · tid 51834 · running" in shown
    assert "Thread-1 (_pin_memory_loop) · sleeping" in shown
    assert shown.index("all_reduce (torch") < shown.rindex("<module> (train.py:231)")


def test_how_they_were_taken_is_said() -> None:
    judged = with_readings(with_stacks("gpu-lost"), inconsistent_dumps=1)
    how = text(drawn(view(judged))).splitlines()[2]
    assert (
        "py-spy, nonblocking · 3 samples · 1.0 s old · 8 of 40 inconsistent · 31 ms a dump" in how
    )


def test_a_refusal_names_its_remedy_and_the_threads_are_shown_instead() -> None:
    judged = refused(with_stacks("gpu-lost"))
    (job,) = judged.frame.jobs
    activity = ActivityFrame(
        state="S", wait="lock", wait_channel="futex_wait_queue", cpu_cores=0.01
    )
    ranks = tuple(
        msgspec.structs.replace(
            rank, activity=activity, phase="data", phase_source="inferred", doing=None
        )
        for rank in job.ranks
    )
    first = ranks[0]
    threads = ThreadsReading(
        monotonic_seconds=judged.frame.monotonic_seconds,
        pid=first.pid,
        start_time_seconds=first.start_time_seconds,
        main=ThreadReading(tid=first.pid, name="python", state="S", cpu_seconds=4.0),
        others=(ThreadReading(tid=9, name="pt_autograd_0", state="R", cpu_seconds=41.0),),
        count=60,
    )
    jobs = (msgspec.structs.replace(job, ranks=ranks),)
    shown = text(drawn(view(changed(judged, jobs=jobs, threads=(threads,)))))
    assert f"8 ranks 0-7: no stack: {SCOPE}" in shown
    assert "sleeps (S)" in shown
    assert "in futex_wait_queue, a wait for lock" in shown
    assert "CPU 0.0 cores" in shown
    assert "data  reported by the threads" in shown
    assert "named threads, of 60 threads" in shown
    assert "pt_autograd_0" in shown


def test_a_dead_rank_says_so() -> None:
    judged = with_stacks("rank-exited")
    shown = text(drawn(view(judged)))
    assert "rank 5: it exited" in shown
    assert "kill" not in shown


def test_a_stopped_target_names_the_way_out() -> None:
    shown = text(drawn(view(with_readings(with_stacks("gpu-lost"), state_after="T"))))
    assert "its process is stopped: kill -CONT 51833" in shown


def test_names_from_outside_cannot_break_the_picture() -> None:
    frames = (StackFrameReading(name="\x1b[31mred", file="wide漢字.py", line=1),)
    thread = StackThreadReading(frames=frames, name="\x1b]52;c;eA==\x07", main=True)
    judged = with_readings(with_stacks("gpu-lost"), threads=(thread,), main_stacks=(frames,))
    assert "\x1b" not in text(drawn(view(judged)))


def test_without_a_job_it_says_so() -> None:
    assert "no training job is known" in text(drawn(view(changed(judgement(), jobs=()))))


async def test_stacks_are_asked_for_while_it_is_open_and_not_after() -> None:
    clock = Clock()
    app, watch = app_of(with_stacks("gpu-lost"), clock=clock)
    async with running(app) as pilot:
        assert watch.requests == []
        await pilot.press("5")
        await pilot.pause()
        pids = tuple(range(51830, 51838))
        assert watch.requests == [(pids, 3.0)]
        watch.push(with_stacks("gpu-lost"))
        await pilot.pause()
        assert len(watch.requests) == 1
        clock.now += 1.0
        watch.push(with_stacks("gpu-lost"))
        await pilot.pause()
        assert watch.requests[1:] == [(pids, 3.0)]
        await pilot.press("escape")
        await pilot.pause()
        assert watch.requests[-1] == (pids, 0.0)
        before = len(watch.requests)
        clock.now += 5.0
        watch.push(with_stacks("gpu-lost"))
        await pilot.pause()
        assert len(watch.requests) == before


async def test_under_another_screen_nothing_is_asked_for() -> None:
    app, watch = app_of(with_stacks("gpu-lost"))
    async with running(app) as pilot:
        await pilot.press("5")
        await pilot.pause()
        await pilot.press("question_mark")
        await pilot.pause()
        assert watch.requests[-1][1] == 0.0
        await pilot.press("escape")
        await pilot.pause()
        assert watch.requests[-1][1] == 3.0


async def test_nothing_is_asked_for_while_the_picture_is_held() -> None:
    clock = Clock()
    app, watch = app_of(with_stacks("gpu-lost"), clock=clock)
    async with running(app) as pilot:
        await pilot.press("space", "5")
        await pilot.pause()
        assert watch.requests == []


async def test_up_and_down_walk_through_the_ranks_and_enter_opens_one() -> None:
    app, _ = app_of(with_stacks("gpu-lost"))
    async with running(app) as pilot:
        await pilot.press("5", "down")
        await pilot.pause()
        selected = app.screen.selected  # type: ignore[attr-defined]
        assert selected is not None and selected.id.startswith("51830@")
        await pilot.press("enter")
        await pilot.pause()
        assert app.screen.name == "rank"


async def test_what_is_copied_has_groups_ranks_and_threads() -> None:
    app, _ = app_of(with_stacks("gpu-lost"))
    async with running(app) as pilot:
        await pilot.press("5", "y")
        await pilot.pause()
        assert "rank 3: backward, runs the backward at train_step (train.py:119)" in app.clipboard
        assert "ranks 0, 1, 2, 4, 5, 6, 7: comm" in app.clipboard
        assert "rank 3, thread Thread-1 (_pin_memory_loop)" in app.clipboard
        assert "OSC 52" in last_line(app)


async def test_what_is_saved_is_what_is_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    app, _ = app_of(with_stacks("gpu-lost"))
    async with running(app) as pilot:
        await pilot.press("5", "y", "w")
        await pilot.pause()
        (path,) = tmp_path.iterdir()
        assert path.read_text() == app.clipboard
        assert path.stat().st_mode & 0o777 == 0o600
        assert f"saved as {tmp_path}" in last_line(app)
        await pilot.press("w")
        assert "saved already" in last_line(app)


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    path = save_text("stacks", "one", tmp_path, 1_793_455_651.0)
    path.unlink()
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(FileExistsError):
        save_text("stacks", "two", tmp_path, 1_793_455_651.0)
    assert not (tmp_path / "elsewhere").exists()


def test_dumps_of_another_process_with_the_same_pid_do_not_count() -> None:
    judged = with_stacks("gpu-lost")
    other = StackReading(
        monotonic_seconds=judged.frame.monotonic_seconds, pid=51833, start_time_seconds=1.0, taken=1
    )
    kept = [each for each in judged.frame.stacks if each.pid != 51833]
    shown = text(drawn(view(changed(judged, stacks=(*kept, other)))))
    assert "rank 3: no stack yet" in shown
