"""Lines are exactly as wide as they say, whatever is put in; and only what changed is sent."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import gputop.tui
from gputop.tui.drawing.changes import changed_cells
from gputop.tui.drawing.glyphs import ASCII_TWINS, speaks_utf8, to_ascii
from gputop.tui.drawing.lines import Line, LineBuilder, clip, left, plain, right, text_of, width_of

TEXT = st.text(max_size=30).map(plain)
ROLE = st.sampled_from(["text", "dim", "error"])
SPANS = st.lists(st.tuples(TEXT, ROLE), max_size=8)
WIDTHS = st.integers(min_value=0, max_value=40)


@given(SPANS, WIDTHS)
def test_a_line_has_exactly_its_width(spans: list[tuple[str, str]], width: int) -> None:
    line = LineBuilder(width).extend(spans).line()
    assert width_of(text_of(line)) == width


@given(TEXT, WIDTHS)
def test_texts_are_cut_and_filled_to_their_width(text: str, width: int) -> None:
    assert width_of(clip(text, width)) <= width
    assert width_of(left(text, width)) == width_of(right(text, width)) == width


@given(st.text(max_size=50))
def test_text_from_outside_cannot_move_the_cursor(text: str) -> None:
    made = plain(text)
    assert not any(ord(character) < 32 or 127 <= ord(character) < 160 for character in made)
    assert width_of(made) >= len(made)


@given(st.text(max_size=50))
def test_ascii_twins_keep_the_width_of_glyphs(text: str) -> None:
    assert to_ascii(text).isascii()
    assert len(to_ascii(text)) == len(text)


def test_every_glyph_has_a_twin_of_one_cell() -> None:
    for glyph, twin in ASCII_TWINS.items():
        assert len(glyph) == width_of(glyph) == len(twin) == 1
        assert twin.isascii() and twin.isprintable()


def test_every_glyph_in_the_code_is_in_the_table() -> None:
    folder = Path(gputop.tui.__file__).parent
    strings = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
    for path in folder.rglob("*.py"):
        code = re.sub(r'""".*?"""', "", path.read_text(), flags=re.DOTALL)
        code = re.sub(r"#.*", "", code)
        found = {character for text in strings.findall(code) for character in text}
        strange = {each for each in found if not each.isascii()} - ASCII_TWINS.keys()
        assert not strange, f"{path.name}: {strange}"


def _cells(line: Line) -> list[tuple[str, str]]:
    """One entry a cell; the second cell of a wide character is its own."""
    cells: list[tuple[str, str]] = []
    for text, role in line:
        for character in text:
            cells += [(character, role)] + [("", character)] * (width_of(character) - 1)
    return cells


@given(SPANS, SPANS)
def test_outside_of_the_changed_cells_nothing_differs(
    first: list[tuple[str, str]], second: list[tuple[str, str]]
) -> None:
    before = LineBuilder(40).extend(first).line()
    after = LineBuilder(40).extend(second).line()
    cells = list(zip(_cells(before), _cells(after), strict=True))
    differ = [at for at, (old, new) in enumerate(cells) if old != new]
    found = changed_cells(before, after)
    if found is None:
        assert not differ
    else:
        start, end = found
        assert 0 <= start < end <= 40
        assert all(start <= at < end for at in differ)


def test_a_changed_number_is_all_that_is_sent() -> None:
    before = (("  r0 ", "text"), (" 97 %", "text"), (" rest of it", "dim"))
    after = (("  r0 ", "text"), (" 96 %", "text"), (" rest of it", "dim"))
    assert changed_cells(before, after) == (7, 8)


@pytest.mark.parametrize(
    ("environment", "utf8"),
    [
        ({}, False),
        ({"LC_ALL": "", "LC_CTYPE": "", "LANG": ""}, False),
        ({"LANG": "en_US.UTF-8"}, True),
        ({"LANG": "C"}, False),
        ({"LANG": "C", "LC_CTYPE": "C.UTF-8"}, True),
        ({"LC_CTYPE": "C.UTF-8"}, True),
        ({"LANG": "en_US.UTF-8", "LC_ALL": "POSIX"}, False),
        ({"LANG": "de_DE.ISO-8859-1"}, False),
        ({"LANG": "C", "PYTHONIOENCODING": "utf8"}, True),
        ({"LANG": "C.UTF-8", "PYTHONIOENCODING": "ascii:replace"}, False),
    ],
)
def test_the_locale_tells_whether_the_terminal_knows_utf8(
    environment: dict[str, str], utf8: bool
) -> None:
    assert speaks_utf8(environment) is utf8
