"""Whose jobs are listed and in which order, and what the first line says of the one asked for."""

from __future__ import annotations

from msgspec.structs import replace

from gputop.probes.model.job_frames import JobFrame
from gputop.probes.model.process_frames import ProcessFrame
from gputop.rules.finding import Judgement
from gputop.tui.app.app import GputopApp
from gputop.tui.drawing.lines import text_of
from gputop.tui.panels.top_line import top_line
from gputop.tui.session.followed_job import PATIENCE_SECONDS, FollowedJob
from gputop.tui.session.job_order import jobs_in_order
from gputop.tui.session.view import View
from gputop.tui.widgets.canvas import Canvas

from support.tui_watch import app_of, changed, judgement, running, view

HEALTHY = judgement()
(TRAIN,) = HEALTHY.frame.jobs
ASKED = TRAIN.ranks[0].pid


def dead(name: str, age: float) -> JobFrame:
    """Nobody has seen it alive: pages tell of it."""
    ranks = (replace(TRAIN.ranks[0], ended_age_seconds=age, pid=999_000 + int(age)),)
    return JobFrame(id=name, name=name, ranks=ranks)


def small(name: str) -> JobFrame:
    return replace(TRAIN, id=name, name=name, ranks=TRAIN.ranks[6:], pids=(), launcher_pid=None)


def at(seconds: float, *jobs: JobFrame, without: int | None = None) -> Judgement:
    """The node some seconds later, with these jobs and perhaps without a process."""
    frame = HEALTHY.frame
    moment = frame.monotonic_seconds + seconds
    kept: tuple[ProcessFrame, ...] = tuple(
        process for process in frame.processes if process.pid != without
    )
    return changed(HEALTHY, jobs=jobs, processes=kept, monotonic_seconds=moment)


def followed(pid: int, *judgements: Judgement) -> View:
    job = FollowedJob(pid)
    for each in judgements:
        job.follow(each.frame)
    return view(judgements[-1], asked=job.asked(judgements[-1].frame))


def names(shown_view: View) -> list[str]:
    return [job.name for job in jobs_in_order(shown_view)]


def first_line(shown_view: View) -> str:
    return text_of(top_line(shown_view, 160))


def test_the_dead_come_last_and_only_those_of_the_last_hour() -> None:
    jobs = (dead("a", 3500.0), dead("b", 3700.0), small("z"), dead("c", 60.0), TRAIN)
    assert names(view(at(1.0, *jobs))) == [TRAIN.name, "z", "c", "a"]


def test_strangers_dead_jobs_are_nothing_to_who_asks_for_a_job() -> None:
    stranger, other = dead("-c", 60.0), small("other.py")
    alive = followed(ASKED, at(0.0, stranger, other, TRAIN))
    assert names(alive) == [TRAIN.name, "other.py"]
    gone = followed(ASKED, at(0.0, stranger, TRAIN), at(4.0, stranger), at(9.0, stranger))
    assert names(gone) == []
    line = first_line(gone)
    assert TRAIN.name in line and "ended 5.0 s ago" in line
    assert "-c" not in line.replace(TRAIN.name, "") and line.count("ended") == 1


def test_the_job_asked_for_comes_first_also_when_others_are_larger_or_it_is_dead() -> None:
    pid = TRAIN.ranks[7].pid
    asked = replace(small("asked.py"), pids=(pid,))
    larger = replace(TRAIN, ranks=TRAIN.ranks[:6], pids=())
    assert names(followed(pid, at(0.0, larger, asked))) == ["asked.py", TRAIN.name]
    ranks = tuple(replace(rank, ended_age_seconds=3.0) for rank in asked.ranks)
    buried = replace(asked, ranks=ranks, pids=())
    over = followed(pid, at(0.0, larger, asked), at(3.0, larger, buried))
    assert names(over) == ["asked.py", TRAIN.name]
    assert "asked.py" in first_line(over) and "ended" in first_line(over)
    assert "s/step" not in first_line(over)


def test_a_job_outlives_the_process_that_led_to_it() -> None:
    launcher = TRAIN.launcher_pid
    assert launcher is not None
    lives = followed(launcher, at(0.0, TRAIN), at(9.0, TRAIN, without=launcher))
    assert "ended" not in first_line(lives) and "s/step" in first_line(lives)


def test_a_process_that_was_asked_for_just_now_has_not_ended() -> None:
    stranger = dead("-c", 60.0)
    missing = 4_000_000
    early = followed(missing, at(0.0, stranger), at(1.0, stranger))
    assert "ended" not in first_line(early) and "-c" not in first_line(early)
    late = followed(missing, at(0.0, stranger), at(PATIENCE_SECONDS, stranger))
    assert f"process {missing}" in first_line(late) and "ended" in first_line(late)


def shown(app: GputopApp) -> str:
    return "\n".join(text_of(line) for line in app.screen.query_one(Canvas).lines)


async def test_tabs_mark_the_dead() -> None:
    app, _ = app_of(at(0.0, TRAIN, dead("old.py", 2880.0)))
    async with running(app) as pilot:
        await pilot.press("2")
        await pilot.pause()
        assert "old.py 1 rank · ended 48 min ago" in shown(app)


async def test_both_screens_say_that_the_job_asked_for_has_ended() -> None:
    app, watch = app_of(at(0.0, TRAIN), pid=ASKED)
    async with running(app) as pilot:
        watch.push(at(2.0, dead("-c", 60.0)))
        for key in ("2", "5"):
            await pilot.press(key)
            await pilot.pause()
            assert f"{TRAIN.name} has ended" in shown(app)
            assert "another job" not in shown(app)
