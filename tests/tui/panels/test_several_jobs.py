"""Ranks of several jobs in one table: each with the name of its job, and no two of the same name."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import pytest
from msgspec.structs import replace

from gputop.probes.derive.cache import DeriveCache
from gputop.probes.derive.frame import derive
from gputop.probes.model.frame import Frame
from gputop.probes.model.job_frames import JobFrame, RankFrame
from gputop.probes.simulator.node import SimulatedNode
from gputop.rules.catalogue import make_rules
from gputop.rules.engine import Engine
from gputop.rules.finding import Judgement
from gputop.rules.job_labels import CELLS, job_labels
from gputop.tui.drawing.finding_words import subject_text, subjects_text
from gputop.tui.drawing.lines import text_of
from gputop.tui.panels.gpu_table import gpu_block
from gputop.tui.panels.ledger import ledger_block
from gputop.tui.panels.main import draw
from gputop.tui.panels.process_table import ProcessRow, process_block
from gputop.tui.panels.topology_table import whole_matrix
from gputop.tui.reports.json_output import frame_json
from gputop.tui.session.view import View

from support.tui_watch import UNIX, judgement
from support.unmeasured import unmeasured

SCENARIO = "straggler"


def split(frame: Frame) -> Frame:
    """The job of eight ranks as two of four and one name, each with ranks 0 to 3."""
    (job,) = frame.jobs
    ranks = {rank.pid: (f"job{at // 4}", at % 4) for at, rank in enumerate(job.ranks)}
    on = {rank.gpu_index: ranks[rank.pid] for rank in job.ranks}

    def moved(each: Any, place: tuple[str, int] | None) -> Any:
        return each if place is None else replace(each, job_id=place[0], rank=place[1])

    halves = [
        replace(
            job,
            id=f"job{half}",
            world_size=4,
            ranks=tuple(
                replace(rank, rank=number, waits_for=())
                for number, rank in enumerate(job.ranks[4 * half : 4 * half + 4])
            ),
        )
        for half in range(2)
    ]
    return replace(
        frame,
        jobs=tuple(halves),
        gpus=tuple(moved(gpu, on.get(gpu.index)) for gpu in frame.gpus),
        processes=tuple(
            moved(each, ranks.get(each.rank_pid or each.pid)) for each in frame.processes
        ),
        placements=tuple(moved(each, on.get(each.gpu_index)) for each in frame.placements),
    )


@cache
def of_two_jobs() -> View:
    node = SimulatedNode(SCENARIO, start_time_seconds=UNIX)
    engine, cached = Engine(make_rules()), DeriveCache()
    with unmeasured():
        frame = derive(None, node.sample_at(0.0), cached)
        judged = engine.judge(split(frame))
        for number in range(1, 40):
            frame = derive(frame, node.sample_at(number * 2.0), cached)
            judged = engine.judge(split(frame))
    return View(judgement=judged, history=engine.history)


def texts(lines: Any) -> list[str]:
    return [text_of(line) for line in lines]


@pytest.mark.parametrize("width", [80, 100, 132, 200])
def test_a_job_column_beside_the_ranks_of_gpus_and_processes(width: int) -> None:
    view = of_two_jobs()
    title, *rows = texts(gpu_block(view, width, 20).lines)
    assert title.split()[:3] == ["#", "job", "rank"]
    names = {tuple(row.split()[1:3]) for row in rows}
    assert names == {(label, f"r{rank}") for label in ("train", "train·2") for rank in range(4)}
    listed = [ProcessRow(each) for each in view.frame.processes if each.role == "rank"]
    title, *rows = texts(process_block(view, listed, width, 20).lines)
    assert "job" in title.split()
    assert sum("train·2" in row for row in rows) == 4


def test_one_job_has_no_such_column() -> None:
    shown = View(judgement=judgement(), history=of_two_jobs().history)
    assert "job" not in text_of(gpu_block(shown, 132, 20).lines[0]).split()
    listed = [ProcessRow(each) for each in shown.frame.processes]
    assert "job" not in text_of(process_block(shown, listed, 132, 20).lines[0]).split()


def test_topology_and_ledger_name_the_job() -> None:
    view = of_two_jobs()
    matrix = "\n".join(texts(whole_matrix(view, 200)))
    assert all(f"train r{rank}" in matrix and f"train·2 r{rank}" in matrix for rank in range(4))
    ledger = texts(ledger_block(view, view.judgement.minutes, 132, 8).lines)
    assert len({line.split("  ")[0] for line in ledger}) == 8


def test_findings_name_the_job_in_words_and_in_json() -> None:
    view = of_two_jobs()
    late = [each for each in view.judgement.active if each.subject.kind == "rank"]
    assert {each.subject.job_label for each in late} <= {"train", "train·2"}
    assert late
    first = late[0].subject
    assert subject_text(first) == f"{first.job_label} r{first.rank}"
    printed = json.loads(frame_json(view.judgement))
    subjects = [each["subject"] for each in printed["findings"]]
    assert all(each["job_id"] and each["job_label"] for each in subjects if each["kind"] == "rank")
    for size in ((80, 24), (132, 43)):
        shown = "\n".join(texts(draw(view, *size).lines))
        assert f"{first.job_label} r{first.rank}" in shown


def test_ranks_of_two_jobs_are_not_run_together() -> None:
    (job, other) = of_two_jobs().frame.jobs
    found = of_two_jobs().judgement.active[0]
    both = [
        replace(
            found, subject=replace(found.subject, kind="rank", rank=1, job=each, job_label=name)
        )
        for each, name in ((job.id, "train"), (other.id, "train·2"))
    ]
    assert subjects_text(both) == "2 subjects"
    assert subjects_text([both[0], both[0]]) == "train r1"


def job(id: str, name: str, *, died: bool = False) -> JobFrame:
    ended = 5.0 if died else None
    rank = RankFrame(rank=0, pid=1, start_time_seconds=0.0, ended_age_seconds=ended)
    return JobFrame(id=id, name=name, ranks=(rank,))


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["train.py"], []),
        (["train.py", "eval.py"], ["train", "eval"]),
        (["train.py", "train.py", "train.py"], ["train", "train·2", "train·3"]),
        (["finetune_a.py", "finetune_b.py"], ["finetune", "finetu·2"]),
        (["", "/x/y/z.py"], ["job", "z"]),
    ],
)
def test_short_names(names: list[str], expected: list[str]) -> None:
    found = list(job_labels([job(str(at), name) for at, name in enumerate(names)]).values())
    assert found == expected
    assert all(len(name) <= CELLS for name in found)


def test_beside_the_only_job_that_runs_the_dead_alone_need_a_name() -> None:
    assert job_labels([job("a", "train.py"), job("b", "train.py", died=True)]) == {"b": "train·2"}


def test_a_job_by_itself_is_judged_without_names() -> None:
    judged: Judgement = judgement(SCENARIO)
    assert all(each.subject.job_label is None for each in judged.findings)
