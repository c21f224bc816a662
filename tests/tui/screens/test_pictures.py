"""How screens look, as SVG: every difference must be looked at before it is accepted."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec
import pytest
from textual.pilot import Pilot

from gputop.rules.finding import Judgement
from gputop.tui.app.app import GputopApp

from support.tui_watch import (
    app_of,
    changed,
    finding,
    judgement,
    with_gpu,
    with_gpus,
    with_ranks,
    with_stacks,
    without_probes,
)

Compare = Callable[..., bool]
THERMAL = "thermal-throttle"


def compared(
    snap_compare: Compare, app: GputopApp, columns: int, lines: int, keys: Sequence[str] = ()
) -> bool:
    async def settle(pilot: Pilot[int]) -> None:
        await pilot.pause()
        await pilot.press(*keys)
        await pilot.pause()

    return snap_compare(app, terminal_size=(columns, lines), run_before=settle)


@pytest.mark.parametrize(("columns", "lines"), [(60, 16), (80, 24), (132, 43), (200, 50)])
def test_main(snap_compare: Compare, columns: int, lines: int) -> None:
    app, _ = app_of(judgement(THERMAL))
    assert compared(snap_compare, app, columns, lines)


def test_main_in_ascii(snap_compare: Compare) -> None:
    app, _ = app_of(judgement("gpu-lost"), ascii_only=True)
    assert compared(snap_compare, app, 132, 43)


def test_main_without_colors(snap_compare: Compare, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    app, _ = app_of(judgement("gpu-lost"))
    assert compared(snap_compare, app, 132, 43)


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_main_in_colors_of_our_own(snap_compare: Compare, theme: str) -> None:
    app, _ = app_of(judgement(THERMAL))
    app.theme = theme
    assert compared(snap_compare, app, 132, 43)


def test_a_gpu_that_does_not_answer_and_one_that_is_lost(snap_compare: Compare) -> None:
    judged = with_gpu(judgement(), 7, status="stale", age_seconds=38.0)
    judged = with_gpu(judged, 2, status="lost", status_reason="fell off the bus", age_seconds=130.0)
    app, _ = app_of(judged)
    assert compared(snap_compare, app, 132, 43)


def test_a_node_of_which_hardly_anything_is_known(snap_compare: Compare) -> None:
    judged = changed(judgement(), gpus=(), jobs=(), processes=(), host=None, driver_version=None)
    app, _ = app_of(Judgement(frame=judged.frame))
    assert compared(snap_compare, app, 80, 24)


def test_sixteen_gpus_in_a_small_terminal(snap_compare: Compare) -> None:
    app, _ = app_of(with_gpus(judgement(THERMAL), 16))
    assert compared(snap_compare, app, 80, 24, ["down"] * 14)


def test_a_cause_with_symptoms_and_a_filter(snap_compare: Compare) -> None:
    app, _ = app_of(judgement("gpu-lost"), simulated=True, title="demo gpu-lost")
    assert compared(snap_compare, app, 100, 32, ["slash", *"r3", "enter", "space"])


def test_one_gpu(snap_compare: Compare) -> None:
    app, _ = app_of(judgement(THERMAL))
    assert compared(snap_compare, app, 132, 43, [*["down"] * 7, "enter"])


def test_one_gpu_in_a_small_terminal(snap_compare: Compare) -> None:
    app, _ = app_of(judgement(THERMAL))
    assert compared(snap_compare, app, 80, 24, [*["down"] * 7, "enter"])


def test_findings(snap_compare: Compare) -> None:
    judged = judgement("gpu-lost")
    gone = finding(
        "HW201", "thermal slowdown", "warning", 5, "cleared", cleared_seconds=1_793_455_600.0
    )
    judged = msgspec.structs.replace(judged, findings=(*judged.findings, gone))
    app, _ = app_of(judged)
    assert compared(snap_compare, app, 132, 43, ["6"])


def test_findings_in_a_small_terminal(snap_compare: Compare) -> None:
    app, _ = app_of(judgement("gpu-lost"))
    assert compared(snap_compare, app, 80, 24, ["6", "down"])


def test_processes(snap_compare: Compare) -> None:
    app, _ = app_of(judgement("input-bound"))
    assert compared(snap_compare, app, 132, 43, ["4", "down", "down"])


@pytest.mark.parametrize(
    ("scenario", "columns", "lines"),
    [("link-down", 200, 50), ("two-islands", 132, 43), ("congested-infiniband", 80, 24)],
)
def test_links(snap_compare: Compare, scenario: str, columns: int, lines: int) -> None:
    app, _ = app_of(judgement(scenario))
    assert compared(snap_compare, app, columns, lines, ["3", "down"])


def test_help(snap_compare: Compare) -> None:
    app, _ = app_of()
    assert compared(snap_compare, app, 100, 40, ["question_mark"])


def test_a_question_before_a_signal(snap_compare: Compare) -> None:
    app, _ = app_of()
    assert compared(snap_compare, app, 100, 24, ["4", "down", "down", "x"])


def test_too_small(snap_compare: Compare) -> None:
    app, _ = app_of(judgement("gpu-lost"))
    assert compared(snap_compare, app, 40, 5)


@pytest.mark.parametrize(("columns", "lines"), [(60, 16), (80, 24), (132, 43), (200, 50)])
def test_a_job_with_a_straggler(snap_compare: Compare, columns: int, lines: int) -> None:
    app, _ = app_of(judgement("straggler"))
    assert compared(snap_compare, app, columns, lines, ["2"])


def test_a_job_that_hangs_in_ascii(snap_compare: Compare) -> None:
    app, _ = app_of(judgement("gpu-lost"), ascii_only=True)
    assert compared(snap_compare, app, 132, 43, ["2"])


def test_a_job_with_a_dead_rank_without_colors(
    snap_compare: Compare, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    app, _ = app_of(judgement("rank-exited"))
    assert compared(snap_compare, app, 80, 24, ["2"])


def test_a_job_of_64_ranks(snap_compare: Compare) -> None:
    app, _ = app_of(with_ranks(judgement("straggler"), 64))
    assert compared(snap_compare, app, 100, 30, ["2", "end"])


def test_a_job_without_probes(snap_compare: Compare) -> None:
    app, _ = app_of(without_probes(judgement()))
    assert compared(snap_compare, app, 80, 24, ["2"])


def test_two_jobs(snap_compare: Compare) -> None:
    judged = judgement()
    (job,) = judged.frame.jobs
    first = msgspec.structs.replace(job, ranks=job.ranks[:6])
    other = msgspec.structs.replace(job, id="other", name="eval.py", ranks=job.ranks[6:])
    app, _ = app_of(changed(judged, jobs=(first, other)))
    assert compared(snap_compare, app, 100, 30, ["2", "l"])


def test_main_with_a_dead_rank(snap_compare: Compare) -> None:
    app, _ = app_of(judgement("rank-exited"))
    assert compared(snap_compare, app, 132, 43)


@pytest.mark.parametrize(("columns", "lines"), [(80, 24), (132, 43)])
def test_one_rank(snap_compare: Compare, columns: int, lines: int) -> None:
    app, _ = app_of(judgement("gpu-lost"))
    assert compared(snap_compare, app, columns, lines, ["2", "down", "enter"])


@pytest.mark.parametrize(("columns", "lines"), [(60, 16), (80, 24), (132, 43), (200, 50)])
def test_stacks_of_a_job_that_hangs(snap_compare: Compare, columns: int, lines: int) -> None:
    app, _ = app_of(with_stacks("gpu-lost"))
    assert compared(snap_compare, app, columns, lines, ["5"])


def test_the_tree_of_stacks_in_ascii(snap_compare: Compare) -> None:
    app, _ = app_of(with_stacks("straggler"), ascii_only=True)
    assert compared(snap_compare, app, 80, 24, ["5", "tab"])


def test_stacks_without_colors(snap_compare: Compare, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    app, _ = app_of(with_stacks("input-bound"))
    assert compared(snap_compare, app, 80, 24, ["5", "down"])


def test_stacks_that_are_denied(snap_compare: Compare) -> None:
    judged = with_stacks("gpu-lost")
    why = "kernel.yama.ptrace_scope is 1: one may only trace one's own children: sudo gputop, or sudo sysctl kernel.yama.ptrace_scope=0"
    stacks = tuple(
        msgspec.structs.replace(each, refusal=why, main_stacks=(), threads=())
        for each in judged.frame.stacks
    )
    app, _ = app_of(changed(judged, stacks=stacks))
    assert compared(snap_compare, app, 100, 30, ["5"])
