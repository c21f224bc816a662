"""The first line says which job runs, and what has become of the last one where none does."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from gputop.probes.model.frame import SourceFrame
from gputop.probes.model.sample import SourceState
from gputop.tui.drawing.lines import text_of
from gputop.tui.panels.top_line import top_line
from gputop.tui.session.view import Asked

from support.tui_watch import changed, judgement, view


def first_line(ended_age_seconds: float | None, width: int = 160) -> str:
    judged = judgement()
    (job,) = judged.frame.jobs
    ranks = tuple(
        msgspec.structs.replace(rank, ended_age_seconds=ended_age_seconds) for rank in job.ranks
    )
    dead = msgspec.structs.replace(job, ranks=ranks)
    return text_of(top_line(view(changed(judged, jobs=(dead,))), width))


def test_a_job_that_runs_has_its_step_and_pace() -> None:
    line = first_line(None)
    assert "8 ranks" in line and "s/step" in line and "ended" not in line


@pytest.mark.parametrize("width", [80, 160])
def test_a_job_that_died_has_no_pace(width: int) -> None:
    line = first_line(40.0, width)
    assert "ended 40 s ago" in line
    assert "s/step" not in line


def test_a_job_that_died_long_ago_is_no_news() -> None:
    line = first_line(61.0)
    (job,) = judgement().frame.jobs
    assert "ended" not in line and job.name not in line


def several(count: int, **how: Any) -> str:
    judged = judgement()
    (job,) = judged.frame.jobs
    jobs = tuple(msgspec.structs.replace(job, id=f"job {number}") for number in range(count))
    return text_of(top_line(view(changed(judged, jobs=jobs), **how), 160))


def test_of_several_jobs_none_is_the_one() -> None:
    line = several(8)
    assert "8 jobs · a chooses" in line and "s/step" not in line


def test_where_nobody_can_press_a_key_none_is_named() -> None:
    assert "8 jobs" in several(8, once=True)
    assert "chooses" not in several(8, once=True)


def test_the_job_that_was_asked_for_is_the_one() -> None:
    judged = judgement()
    (job,) = judged.frame.jobs
    asked = Asked(pid=job.ranks[0].pid, job=msgspec.structs.replace(job, id="job 2"))
    line = several(3, asked=asked)
    assert f"{job.name} +2 jobs" in line and "s/step" in line


def test_the_living_stand_before_a_stranger_who_has_just_died() -> None:
    judged = judgement()
    (job,) = judged.frame.jobs
    ranks = tuple(msgspec.structs.replace(rank, ended_age_seconds=5.0) for rank in job.ranks)
    dead = msgspec.structs.replace(job, id="dead", name="stranger.py", ranks=ranks)
    line = text_of(top_line(view(changed(judged, jobs=(dead, job))), 160))
    assert job.name in line and "stranger.py" not in line
    servers = tuple(
        msgspec.structs.replace(process, job_id=None) for process in judged.frame.processes
    )
    line = text_of(top_line(view(changed(judged, jobs=(dead,), processes=servers)), 160))
    assert "8 processes on GPUs, no job" in line and "stranger.py" not in line


@pytest.mark.parametrize(
    ("status", "said"),
    [("stale", "GPUs unknown"), ("failed", "GPUs unknown"), ("absent", "no GPU"), ("ok", "no GPU")],
)
def test_gpus_that_cannot_be_asked_for_are_unknown(status: SourceState, said: str) -> None:
    nvml = SourceFrame(name="nvml", status=status, busy_seconds=20.0 if status == "stale" else None)
    line = text_of(top_line(view(changed(judgement(), gpus=(), sources=(nvml,))), 160))
    assert said in line


def test_gpus_without_a_row_are_counted_too() -> None:
    judged = judgement()
    mute = tuple(SourceFrame(name=f"nvml gpu {index}", status="stale") for index in (6, 7))
    line = text_of(top_line(view(changed(judged, gpus=judged.frame.gpus[:6], sources=mute)), 160))
    assert "6 of 8 GPUs: 6 × H100" in line
