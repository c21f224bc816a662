"""Where the last minute went: each row tells its own greatest losses, and always the same ones."""

from __future__ import annotations

import re

import pytest
from msgspec.structs import replace

from gputop.probes.model.job_frames import RankFrame
from gputop.rules.finding import Evidence, Judgement
from gputop.tui.drawing.lines import text_of
from gputop.tui.panels.ledger import accounts, ledger_block

from support.tui_watch import changed, played, view

FRAMES = played("straggler")[:2]


def rows(judged: Judgement, width: int, *, shaded: bool = False) -> list[str]:
    shown = view(judged, shaded=shaded)
    return [text_of(line) for line in ledger_block(shown, accounts(shown), width, 2).lines]


def named(row: str) -> list[str]:
    return re.findall(r"([a-z]\w+) +\d+ %", row)


@pytest.mark.parametrize("shaded", [False, True])
@pytest.mark.parametrize("width", [60, 80, 100])
def test_each_row_names_what_it_lost_most_of(width: int, shaded: bool) -> None:
    for judged in FRAMES:
        odd, others = rows(judged, width, shaded=shaded)
        assert {"compute", "data"} <= set(named(odd))
        assert {"compute", "comm"} <= set(named(others))


@pytest.mark.parametrize("width", [60, 80, 100])
def test_what_is_named_stays_from_frame_to_frame(width: int) -> None:
    first, second = ([named(row) for row in rows(judged, width)] for judged in FRAMES)
    assert first == second


def test_the_letters_of_a_bar_are_explained_as_far_as_there_is_room() -> None:
    for row in rows(FRAMES[0], 88, shaded=True):
        bar = re.search(r"█\S*", row)
        assert bar is not None
        assert all(f"{letter} " in row for letter in set(bar[0]))


@pytest.mark.parametrize("width", range(30, 140))
def test_the_bars_of_a_block_end_together(width: int) -> None:
    ends = {row.rindex("▆") for row in rows(FRAMES[0], width)}
    assert len(ends) == 1


def hidden(judged: Judgement) -> Judgement:
    """The same job where the collectives run inside the backward, as DDP's do."""
    (job,) = judged.frame.jobs

    def inside(rank: RankFrame) -> RankFrame:
        shares = dict(rank.phases_last_minute)
        shares["backward"] += shares.pop("comm", 0.0)
        return replace(rank, phases_last_minute=shares)

    findings = tuple(
        replace(finding, evidence=(Evidence(signal="in collectives and backward", value=0.5),))
        if finding.id == "RUN407"
        else finding
        for finding in judged.findings
    )
    job = replace(job, ranks=tuple(map(inside, job.ranks)))
    return replace(changed(judged, jobs=(job,)), findings=findings)


def test_waiting_inside_the_backward_is_not_reported_as_work() -> None:
    judged = FRAMES[0]
    plain, inside = (
        {tuple(a.names): a for a in accounts(view(j))} for j in (judged, hidden(judged))
    )
    assert inside.keys() == plain.keys()
    for names, account in inside.items():
        for phase in ("compute", "comm", "data"):
            assert account.shares.get(phase, 0.0) == pytest.approx(
                plain[names].shares.get(phase, 0.0), abs=0.03
            )
        assert account.origin == ("measured" if names == ("r3",) else "inferred")


def test_without_that_finding_the_backward_is_reported_as_it_is() -> None:
    judged = replace(hidden(FRAMES[0]), findings=())
    assert all("comm" not in account.shares for account in accounts(view(judged)))
