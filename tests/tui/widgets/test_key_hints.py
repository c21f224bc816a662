"""The last line never shows half a key, and says where the others are."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gputop.tui.drawing.lines import spans_width
from gputop.tui.widgets.bottom_line import BottomLine
from gputop.tui.widgets.key_hints import Hint, hint_spans

from support.tui_watch import app_of, running

HINTS: tuple[Hint, ...] = (
    ("Enter", "detail"),
    ("?", "help"),
    ("q", "quit"),
    ("1", "GPUs"),
    ("2", "job"),
    ("3", "links"),
    ("/", "filter"),
    ("Space", "pause"),
)


def text(room: int) -> str:
    return "".join(part for part, _ in hint_spans(HINTS, room))


def test_where_all_fit_the_help_is_only_help() -> None:
    assert text(80) == "Enter detail  ? help  q quit  1 GPUs 2 job 3 links  / filter  Space pause"


def test_the_screens_fold_and_the_help_says_that_there_is_more() -> None:
    assert text(60) == "Enter detail  ? more  q quit  1 GPUs 2 job 3 links  / filter"
    assert text(42) == "Enter detail  ? more  q quit  1-3 screens"


@given(st.integers(min_value=16, max_value=90))
def test_every_key_is_whole(room: int) -> None:
    said = text(room)
    assert spans_width(hint_spans(HINTS, room)) <= room
    known = {f"{key} {does}" for key, does in HINTS} | {"? more", "1-3 screens"}
    assert set(re.split(r"  | (?=\d )", said)) <= known
    everything = all(f"{key} {does}" in said for key, does in HINTS)
    assert ("? help" if everything else "? more") in said and "q quit" in said


@pytest.mark.parametrize("width", [60, 80, 100, 128])
async def test_a_terminal_of_80_columns_names_every_screen(width: int) -> None:
    app, _ = app_of()
    async with running(app, (width, 24)):
        last = app.screen.query_one(BottomLine).render_line(0).text
    assert "…" not in last
    named = "1 GPUs 2 job 3 links 4 procs 5 stacks 6 findings"
    assert (named if width >= 80 else "1-6 screens") in last
