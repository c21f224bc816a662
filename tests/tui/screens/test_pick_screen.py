"""Choosing the job to watch."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from gputop.probes.model.job_frames import JobFrame
from gputop.tui.app.app import GputopApp
from gputop.tui.commands.job_choice import job_lines
from gputop.tui.drawing.lines import text_of, width_of
from gputop.tui.panels.top_line import top_line
from gputop.tui.screens.pick_screen import PickScreen
from gputop.tui.session.job_order import jobs_in_order
from gputop.tui.session.view import Asked

from support.tui_watch import app_of, changed, judgement, running, view


def two_jobs() -> tuple[JobFrame, JobFrame]:
    (job,) = judgement().frame.jobs
    other = replace(
        job,
        id="other",
        name="finetune.py",
        ranks=job.ranks[:1],
        world_size=16,
        slurm_job_id="731",
        slurm_step_id="0",
        container_kind="docker",
        container_id="8f3c1d9a5be24706",
        pod_uid="0a1b",
        pod_name="llm-0",
        working_directory="/home/mara/run",
        command=("python", "finetune.py"),
    )
    return job, other


async def test_enter_watches_the_one_chosen() -> None:
    _, still = app_of()
    app = GputopApp(still, jobs=two_jobs())
    async with running(app) as pilot:
        assert isinstance(app.screen, PickScreen)
        await pilot.press("down", "enter")
        await pilot.pause()
        assert app.screen.name != "pick"
    assert still.attached == [two_jobs()[1].ranks[0].pid]


@pytest.mark.parametrize("size", [(60, 16), (80, 24), (200, 50)])
async def test_whose_it_is_and_where_it_runs(size: tuple[int, int]) -> None:
    _, still = app_of()
    app = GputopApp(still, jobs=two_jobs())
    async with running(app, size) as pilot:
        await pilot.press("down")
        await pilot.pause()
        view = app.view(app.screen.selected) if isinstance(app.screen, PickScreen) else None
        assert view is not None
        assert isinstance(app.screen, PickScreen)
        block = app.screen.draw(view, size[0], size[1] - 1)
    text = "\n".join("".join(span for span, _ in line) for line in block.lines)
    assert "finetune.py · 1 rank of 16 · mara" in text
    assert len(block.lines) == len(block.targets) == size[1] - 1
    assert {sum(map(width_of, (span for span, _ in line))) for line in block.lines} == {size[0]}
    if size[0] == 200:
        assert "Slurm 731.0 · docker 8f3c1d9a5be2 · pod llm-0" in text
        assert "/home/mara/run" in text


async def test_escape_watches_none() -> None:
    _, still = app_of()
    app = GputopApp(still, jobs=two_jobs())
    async with running(app) as pilot:
        await pilot.press("escape")
        await pilot.pause()
        assert not isinstance(app.screen, PickScreen)
    assert still.attached == []


async def test_in_a_simulation_there_is_nothing_to_choose() -> None:
    app, still = app_of(simulated=True)
    async with running(app) as pilot:
        await pilot.press("a")
        await pilot.pause()
        assert not isinstance(app.screen, PickScreen)
    assert still.attached == []


def test_lines_for_a_pipe_say_what_to_type() -> None:
    first, second = job_lines(two_jobs(), "stacks")
    assert first.startswith(f"gputop stacks {two_jobs()[0].ranks[0].pid} ")
    assert second.startswith(f"gputop stacks {two_jobs()[1].ranks[0].pid} ")
    assert "finetune.py" in second


@pytest.mark.parametrize("at", [0, 1])
def test_screens_begin_with_the_job_that_was_asked_for(at: int) -> None:
    first, second = two_jobs()
    (rank,) = second.ranks
    second = replace(second, ranks=(replace(rank, pid=99),), pids=(99,), launcher_pid=None)
    asked = (first, second)[at]
    shown = changed(judgement(), jobs=(first, second))
    seen = view(shown, asked=Asked(pid=asked.ranks[0].pid, job=asked))
    assert jobs_in_order(seen)[0].id == asked.id
    assert f"{asked.name} +1 job " in text_of(top_line(seen, 200))
