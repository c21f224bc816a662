"""The first line says which job runs, and what has become of the last one where none does."""

from __future__ import annotations

import msgspec
import pytest

from gputop.tui.drawing.lines import text_of
from gputop.tui.panels.top_line import top_line

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
    assert "8 ranks" in line and "s/step" in line and "died" not in line


@pytest.mark.parametrize("width", [80, 160])
def test_a_job_that_died_has_no_pace(width: int) -> None:
    line = first_line(540.0, width)
    assert "died 9 min ago" in line
    assert "s/step" not in line


def test_a_job_that_died_long_ago_is_no_news() -> None:
    line = first_line(7200.0)
    (job,) = judgement().frame.jobs
    assert "died" not in line and job.name not in line
