"""Help explains everything that is on the screen it was called from, and nothing that is not."""

from __future__ import annotations

import inspect
import re
from collections.abc import Sequence
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

import pytest

from gputop.rules.finding import Judgement
from gputop.tui import screens
from gputop.tui.app.app import GputopApp
from gputop.tui.drawing.columns import Column, Layout, lay_out
from gputop.tui.drawing.explanations import (
    UNTITLED,
    Section,
    Term,
    column_terms,
    drawn_terms,
    panel_text,
)
from gputop.tui.drawing.lines import left, spans_width, text_of
from gputop.tui.panels import gpu_table, link_table, nvlink_table, process_table, rank_table
from gputop.tui.panels.gpu_charts import CHARTS, title_of
from gputop.tui.panels.gpu_facts import fact_lines
from gputop.tui.panels.host_line import explained as host_explained
from gputop.tui.panels.host_line import host_line
from gputop.tui.panels.rank_facts import rank_fact_lines
from gputop.tui.screens.help_screen import HelpScreen
from gputop.tui.screens.picture_screen import PictureScreen

from support.tui_watch import app_of, judgement, press, running, view, with_stacks

SIZES = [(60, 16), (80, 24), (132, 43), (200, 50)]
KEYS: dict[str, tuple[str, ...]] = {
    "GPUs": (),
    "job": ("2",),
    "links": ("3",),
    "topology": ("3", "t"),
    "single NVLinks": ("3", "n"),
    "processes": ("4", "down"),
    "stacks": ("5",),
    "findings": ("6",),
    "host": ("7",),
    "one GPU": ("down", "enter"),
    "one rank": ("2", "enter"),
}
LAYOUTS: list[Layout[Any]] = [
    layout
    for width in range(60, 260, 7)
    for layout in (
        gpu_table.layout_at(width),
        link_table.layout_at(width),
        nvlink_table.layout_at(width),
        process_table.layout_at(width),
        rank_table.layout_at(width, "tok/s"),
        rank_table.layout_at(width, "smp/s"),
    )
]


async def explained(judged: Judgement, size: tuple[int, int], keys: Sequence[str]) -> list[Section]:
    app, _ = app_of(judged)
    async with running(app, size) as pilot:
        await press(pilot, *keys)
        screen, shown = app.screen, app.view(None)
        assert isinstance(screen, PictureScreen) and shown is not None
        return list(screen.explained(screen.view() or shown, size[0], size[1] - 1))


def names(sections: Sequence[Section]) -> set[str]:
    return {term.name for section in sections for term in section.terms}


def help_lines(app: GputopApp) -> list[str]:
    screen = app.screen
    assert isinstance(screen, HelpScreen)
    return [text_of(line) for line in screen.body]


def test_every_column_says_what_it_is() -> None:
    for layout in LAYOUTS:
        terms = column_terms(layout)
        titles = text_of(layout.header).split()
        assert [
            word for term in terms for word in term.name.split() if term.name != UNTITLED
        ] == titles
        for term in terms:
            assert len(term.about) > 10 and term.about.endswith("."), term


def test_a_column_that_does_not_fit_is_not_listed() -> None:
    columns = [
        Column[str]("kept", 10, lambda row, width: [(left(row, width), "text")], "It stays."),
        Column[str](
            "gone", 10, lambda row, width: [(left(row, width), "text")], "It goes.", rank=1
        ),
    ]
    assert [term.name for term in column_terms(lay_out(columns, 30))] == ["kept", "gone"]
    assert [term.name for term in column_terms(lay_out(columns, 20))] == ["kept"]


def test_every_screen_is_explained() -> None:
    kinds = [
        kind
        for module in iter_modules(screens.__path__, f"{screens.__name__}.")
        for _, kind in inspect.getmembers(import_module(module.name), inspect.isclass)
        if issubclass(kind, PictureScreen) and kind is not PictureScreen
    ]
    assert len(kinds) >= 12
    for kind in kinds:
        assert "explained" in kind.__dict__, kind


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", KEYS)
async def test_help_is_whole_and_can_be_read_at_every_size(
    name: str, size: tuple[int, int]
) -> None:
    app, _ = app_of(with_stacks("input-bound") if name == "stacks" else judgement("two-islands"))
    async with running(app, size) as pilot:
        await press(pilot, *KEYS[name], "question_mark")
        screen = app.screen
        assert isinstance(screen, HelpScreen)
        body = screen.body
        assert all(spans_width(line) == size[0] for line in body)
        lines = help_lines(app)
        sections = screen.about.explained(screen.about.view() or view(), size[0], size[1] - 1)
        assert sections
        joined = re.sub(r"\s+", " ", " ".join(lines)) if size[0] < 120 else "\n".join(lines)
        for section in sections:
            assert section.title in joined
            for term in section.terms:
                assert term.name.strip() in joined
                if size[0] < 120:
                    assert term.about in joined
        await press(pilot, "end")
        assert screen.first == max(0, len(body) - (size[1] - 3))


@pytest.mark.parametrize("width", [120, 126, 132, 146, 160])
async def test_what_a_key_does_never_reaches_into_the_text_beside_it(width: int) -> None:
    app, _ = app_of(with_stacks("input-bound"))
    async with running(app, (width, 43)) as pilot:
        await press(pilot, "5", "question_mark")
        screen = app.screen
        assert isinstance(screen, HelpScreen)
        lines = help_lines(app)
        beside = width // 3 - 3 + 2
        assert all(not line[beside : beside + 2].strip() for line in lines), lines


async def test_what_is_listed_follows_the_width() -> None:
    narrow = await explained(judgement(), (60, 16), ())
    wide = await explained(judgement(), (200, 50), ())
    assert {"#", "%", "mem GiB"} <= names(narrow)
    assert "history" not in names(narrow) and "NVLink GB/s" not in names(narrow)
    assert {"history", "NVLink GB/s", "power W", "measured"} <= names(wide)
    assert "mem GiB" not in names(wide)


async def test_a_panel_without_room_is_not_explained() -> None:
    flat = await explained(judgement(), (80, 12), ())
    tall = await explained(judgement(), (80, 50), ())
    assert "Processes" in {section.title for section in tall}
    assert "Processes" not in {section.title for section in flat}


async def test_the_terms_of_the_topology_matrix_are_those_in_sight() -> None:
    wide = names(await explained(judgement("two-islands"), (132, 43), KEYS["topology"]))
    assert {"island", "node", "rank", "CPUs", "mem near", "nearest card", "NVn", "SYS"} <= wide
    small = names(await explained(judgement("two-islands"), (60, 16), KEYS["links"]))
    assert not {"island", "CPUs", "NVn"} & small


@pytest.mark.parametrize(
    "scenario", ["healthy", "gpu-lost", "thermal-throttle", "link-down", "input-bound"]
)
async def test_every_fact_and_chart_of_a_gpu_is_explained(scenario: str) -> None:
    judged = judgement(scenario)
    sections = await explained(judged, (200, 50), KEYS["one GPU"])
    gpu = judged.frame.gpus[0]
    assert {title_of(signal, chart) for signal, chart in CHARTS} <= names(sections)
    listed = {"Xids", "MIG", "Processes", "Missing"}
    for label in _labels([text_of(line) for line in fact_lines(gpu, judged.frame, 100)], listed):
        assert label in names(sections)


@pytest.mark.parametrize("scenario", ["healthy", "input-bound", "straggler"])
async def test_every_fact_of_a_rank_is_explained(scenario: str) -> None:
    judged = judgement(scenario)
    sections = await explained(judged, (200, 50), KEYS["one rank"])
    (job,) = judged.frame.jobs
    lines = [text_of(line) for line in rank_fact_lines(judged.frame, job, job.ranks[0], 100)]
    listed = {"Phases of the last 16 steps", "Collectives", "Other threads", "Missing"}
    labels = _labels(lines, listed)
    assert len(labels) > 10
    assert set(labels) <= names(sections)


def _labels(lines: Sequence[str], listed: set[str]) -> list[str]:
    """What stands before the facts, but for groups that list things of the job's own."""
    labels: list[str] = []
    group = ""
    for line in lines:
        if line[:1].strip():
            group = line.strip()
        elif line[2:3].strip() and group not in listed:
            labels.append(line[2:23].strip())
    return labels


async def test_each_phase_in_sight_has_its_letter_and_its_meaning() -> None:
    sections = await explained(judgement("input-bound"), (132, 43), KEYS["job"])
    (timeline,) = [section for section in sections if section.title == "Timeline"]
    about = {term.name: term.about for term in timeline.terms}
    assert about["d data"] == "waits for input"
    assert about["F forward"] == "computes the forward pass"
    assert "k checkpoint" not in about


async def test_tab_goes_from_part_to_part() -> None:
    app, _ = app_of()
    async with running(app, (80, 24)) as pilot:
        await press(pilot, "question_mark")
        screen = app.screen
        assert isinstance(screen, HelpScreen)
        lines = help_lines(app)
        await press(pilot, "tab", "tab")
        assert lines[screen.first].strip() == "GPUs"
        await press(pilot, "shift+tab", "shift+tab")
        assert lines[screen.first].strip() == "Keys"


async def test_a_mark_that_is_not_on_the_screen_is_not_explained() -> None:
    for scenario, expected in (("thermal-throttle", True), ("healthy", False)):
        app, _ = app_of(judgement(scenario))
        async with running(app, (132, 43)) as pilot:
            await press(pilot, "question_mark")
            assert any("held down by heat" in line for line in help_lines(app)) is expected


@pytest.mark.parametrize("width", range(40, 260, 4))
def test_the_host_line_is_explained_by_what_is_drawn_of_it(width: int) -> None:
    shown = view(judgement())
    host = shown.frame.host
    assert host is not None
    line = text_of(host_line(shown, width))
    titles = {"CPU": "CPU ", "load": "load ", "mem": " GiB", "swap-in": "MB/s", "PSI": "PSI "}
    drawn = {name for name, mark in titles.items() if mark in line}
    drawn |= {"disk"} if "disk " in line else set()
    drawn |= {"networks"} if any(f"{net.name} " in line for net in host.networks or ()) else set()
    assert {term.name for term in host_explained(shown, width).terms} == drawn


def test_where_only_the_pressure_of_memory_is_drawn_its_use_is_not_explained() -> None:
    shown = view(judgement())
    widths = [at for at in range(10, 120) if " mem " in text_of(host_line(shown, at))]
    lines = {at: text_of(host_line(shown, at)) for at in widths}
    pressure_alone = [at for at, line in lines.items() if "GiB" not in line]
    assert pressure_alone
    for at in pressure_alone:
        assert "mem" not in {term.name for term in host_explained(shown, at).terms}


@pytest.mark.parametrize(
    ("name", "text", "is_drawn"),
    [
        ("loss", "0.31 s/step · loss 2.301", True),
        ("loss", "loss_fn  train.py:3", False),
        ("loss", "blossom", False),
        ("swap", "swap-in 3 MB/s", False),
        ("s/step", "0.31 s/step", True),
        ("s/step", "tokens/step", False),
        ("next:", "next: move it", True),
        ("\u00b1", "0.31 s/step \u00b12.0 %", True),
        ("odd", "3 odd", True),
        ("odd", "oddly", False),
    ],
)
def test_a_term_is_drawn_where_it_stands_as_whole_words(
    name: str, text: str, is_drawn: bool
) -> None:
    assert bool(drawn_terms([Term(name, "")], text)) is is_drawn


def test_the_text_of_a_panel_ends_where_the_next_one_begins() -> None:
    text = "node · Step time\n── Job loss ── of two ──\nr0 loss\n── Step time ── p50 ──\nodd"
    assert panel_text(text, "Step time") == "Step time ── p50 ──\nodd"
    assert panel_text(text, "Job") == "Job loss ── of two ──\nr0 loss\n"
    assert panel_text(text, "Topology") == ""
