"""Where the last minute went: each row tells its own greatest losses, and always the same ones."""

from __future__ import annotations

import re

import pytest

from gputop.rules.finding import Judgement
from gputop.tui.drawing.lines import text_of
from gputop.tui.panels.ledger import ledger_block

from support.tui_watch import played, view

FRAMES = played("straggler")[:2]


def rows(judged: Judgement, width: int, *, shaded: bool = False) -> list[str]:
    shown = view(judged, shaded=shaded)
    return [text_of(line) for line in ledger_block(shown, judged.minutes, width, 2).lines]


def named(row: str) -> list[str]:
    return re.findall(r"([a-z]\w+) +\d+ %", row)


@pytest.mark.parametrize("shaded", [False, True])
@pytest.mark.parametrize("width", [60, 80, 100])
def test_each_row_names_what_it_lost_most_of(width: int, shaded: bool) -> None:
    for judged in FRAMES:
        odd, others = rows(judged, width, shaded=shaded)
        assert {"compute", "data"} <= set(named(odd))
        assert {"compute", "wait"} <= set(named(others))


@pytest.mark.parametrize("width", [60, 80, 100])
def test_what_is_named_stays_from_frame_to_frame(width: int) -> None:
    first, second = ([named(row) for row in rows(judged, width)] for judged in FRAMES)
    assert first == second


def test_the_letters_of_a_bar_are_explained_as_far_as_there_is_room() -> None:
    for row in rows(FRAMES[0], 92, shaded=True):
        bar = re.search(r"█\S*", row)
        assert bar is not None
        assert all(f"{letter} " in row for letter in set(bar[0]))


@pytest.mark.parametrize("width", range(30, 140))
def test_the_bars_of_a_block_end_together(width: int) -> None:
    ends = {row.rindex("▆") for row in rows(FRAMES[0], width)}
    assert len(ends) == 1
