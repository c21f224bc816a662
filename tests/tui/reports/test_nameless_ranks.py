"""Ranks that do not tell their number are reported by their pid."""

from __future__ import annotations

from msgspec.structs import replace

from gputop.rules.finding import Subject
from gputop.tui.drawing.finding_words import subject_text
from gputop.tui.reports.rank_lines import group_lines

from support.tui_watch import with_stacks


def test_in_a_report_their_pids_stand_for_them() -> None:
    frame = with_stacks("gpu-lost").frame
    (job,) = frame.jobs
    named = [line for line in group_lines(job, frame, stacks=False) if line.startswith("rank")]
    assert [line.partition(":")[0] for line in named] == ["rank 3", "ranks 0, 1, 2, 4, 5, 6, 7"]
    nameless = replace(job, ranks=tuple(replace(rank, rank=None) for rank in job.ranks))
    reported = [line.partition(":")[0] for line in group_lines(nameless, frame, stacks=False)]
    pids = [rank.pid for rank in job.ranks]
    assert reported == [f"pid {pids.pop(3)}", f"pids {', '.join(map(str, pids))}"]


def test_in_a_finding_too() -> None:
    rank = Subject(kind="rank", id="pid-29925-17409.20 30248@17413.27", rank=None)
    assert subject_text(rank) == "pid 30248"
    assert subject_text(replace(rank, rank=2)) == "rank 2"
    assert subject_text(replace(rank, kind="process", id="30248@17413.27")) == "pid 30248"
