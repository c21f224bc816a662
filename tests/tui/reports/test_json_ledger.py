"""The ledger in public JSON is what the screen shows."""

from __future__ import annotations

import re
from typing import Any

import msgspec
import pytest

from gputop.tui.commands.diagnose import as_json as diagnosis_json
from gputop.tui.commands.job_choice import as_json as jobs_json
from gputop.tui.drawing.lines import text_of
from gputop.tui.panels.ledger import ledger_block
from gputop.tui.reports.json_output import frame_json

from support.tui_watch import judgement, played, view


def decoded(text: bytes) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.json.decode(text)
    return found


@pytest.mark.parametrize(
    "scenario", ["healthy", "input-bound", "straggler", "gpu-lost", "rank-exited"]
)
def test_the_ledger_says_what_the_screen_shows(scenario: str) -> None:
    judged = played(scenario)[1]
    lines = ledger_block(view(judged), judged.minutes, 240, 99).lines
    rows = [text_of(line) for line in lines]
    shown = {row.split()[0]: dict(re.findall(r"(\w+) +(\d+) %", row)) for row in rows}
    frame = decoded(frame_json(judged))
    (job,) = frame["jobs"]
    report = decoded(diagnosis_json(judged, judged.frame.jobs[0], ()))
    for rank in (*job["ranks"], *report["job"]["ranks"]):
        if rank["ledger"] is None:
            assert rank["missing"]["ledger"]
            assert f"r{rank['rank']}" not in shown
            continue
        minute = rank["ledger"]["last_minute"]
        percent = {
            name: 100 * entry["duration_seconds"] / minute["seen_duration_seconds"]
            for name, entry in minute["entries"].items()
        }
        assert sum(percent.values()) == pytest.approx(100)
        row = shown[f"r{rank['rank']}"]
        assert {name: f"{percent.get(name, 0.0):.0f}" for name in row} == row
        assert all(percent[name] < 0.5 for name in percent.keys() - row.keys())
        origins = {entry["origin"] for entry in minute["entries"].values()}
        assert max(origins, key=["measured", "sampled", "inferred"].index) in next(
            line for line in rows if line.split()[0] == f"r{rank['rank']}"
        )
    assert len(shown) == sum(rank["ledger"] is not None for rank in job["ranks"]) > 0


def test_a_rank_without_phases_has_no_ledger_and_says_why() -> None:
    (job,) = decoded(jobs_json([judgement("healthy").frame.jobs[0]]))["jobs"]
    assert all(rank["ledger"] is None and rank["missing"]["ledger"] for rank in job["ranks"])
