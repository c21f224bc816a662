"""Texts come from drivers, from processes and from recordings, and may hold anything: nothing of that
reaches a terminal, whatever it is told about and wherever it is shown."""

from __future__ import annotations

from functools import cache
from typing import Any

import msgspec
import pytest

from gputop.probes.derive.frame import derive
from gputop.probes.model.frame import Frame
from gputop.probes.model.sample import Sample
from gputop.probes.simulator import SimulatedNode
from gputop.rules.catalogue import make_rules
from gputop.rules.engine import Engine
from gputop.rules.finding import Judgement
from gputop.tui.console.exits import complain
from gputop.tui.console.output import say
from gputop.tui.drawing.lines import text_of, width_of
from gputop.tui.reports.diagnosis_text import as_text
from gputop.tui.widgets.canvas import Canvas

from support.tui_watch import UNIX, app_of, running

EVIL = "\x1b[2J\x07\x1f\u202e\u0301\n"
"""Clears a screen, rings, moves the cursor, turns the text around, joins with its neighbour."""
OURS = ("phase", "phases", "state", "kind", "shares", "operation", "stacks")
"""Fields whose texts are not copied but chosen from a list of ours, or are decoded strictly."""
SCREENS = [
    (),
    ("enter",),
    ("down", "enter"),
    ("2",),
    ("2", "enter"),
    ("3",),
    ("3", "n"),
    ("4",),
    ("4", "enter"),
    ("5",),
    ("6",),
    ("6", "enter"),
]


def poisoned(value: Any, *, gutted: bool) -> Any:
    """The same with evil in its texts; gutted: of GPUs and the host nothing but why it is missing."""
    if isinstance(value, str):
        return value + EVIL
    if isinstance(value, tuple):
        return tuple(poisoned(each, gutted=gutted) for each in value)
    if isinstance(value, dict):
        return {key: poisoned(each, gutted=gutted) for key, each in value.items()}
    if not isinstance(value, msgspec.Struct):
        return value
    fields = msgspec.structs.fields(value)
    changes: dict[str, Any] = {}
    missing: dict[str, str] = dict(getattr(value, "missing", {}))
    for field in fields:
        content = getattr(value, field.name)
        optional = field.default is None
        if gutted and "missing" in value.__struct_fields__ and optional and field.name != "rank":
            changes[field.name] = None
            missing[field.name] = "not supported"
        elif field.name not in OURS and "Literal" not in str(field.type):
            changes[field.name] = poisoned(content, gutted=gutted)
    if "missing" in value.__struct_fields__:
        changes["missing"] = {name: why + EVIL for name, why in missing.items()}
    return msgspec.structs.replace(value, **changes)


def poisoned_sample(sample: Sample, *, gutted: bool) -> Sample:
    parts = {
        name: poisoned(getattr(sample, name), gutted=gutted)
        for name in sample.__struct_fields__
        if name not in ("sources", "boot_id")
    }
    sources = tuple(
        msgspec.structs.replace(source, reason=source.reason + EVIL) for source in sample.sources
    )
    return msgspec.structs.replace(sample, **parts, sources=sources)


@cache
def judged(scenario: str, *, gutted: bool) -> Judgement:
    node = SimulatedNode(scenario, start_time_seconds=UNIX)
    engine = Engine(make_rules())
    frame: Frame | None = None
    judgement: Judgement | None = None
    for second in range(-60, 1, 4):
        sample = node.with_stacks(node.sample_at(float(second)), float(second), -9.0)
        frame = derive(frame, poisoned_sample(sample, gutted=gutted))
        judgement = engine.judge(frame)
    assert judgement is not None
    assert not engine.broken
    return judgement


@pytest.mark.unmeasured
@pytest.mark.parametrize(
    ("scenario", "gutted", "size"),
    [
        ("gpu-lost", False, (132, 43)),
        ("rank-died", False, (80, 24)),
        ("driver-wedged", True, (132, 43)),
        ("gpu-lost", True, (80, 24)),
    ],
)
async def test_no_screen_draws_them(scenario: str, gutted: bool, size: tuple[int, int]) -> None:
    app, _ = app_of(judged(scenario, gutted=gutted))
    async with running(app, size) as pilot:
        for keys in SCREENS:
            await pilot.press(*keys)
            await pilot.pause()
            for line in app.screen.query_one(Canvas).lines:
                text = text_of(line)
                assert text.isprintable(), (keys, text)
                assert width_of(text) == size[0], (keys, text)
            await pilot.press("escape", "escape", "1")


@pytest.mark.unmeasured
@pytest.mark.parametrize("gutted", [False, True], ids=["told", "missing"])
@pytest.mark.parametrize("scenario", ["gpu-lost", "rank-died"])
def test_no_report_prints_them(scenario: str, gutted: bool) -> None:
    judgement = judged(scenario, gutted=gutted)
    job = next(iter(judgement.frame.jobs), None)
    text = as_text(judgement, job, judgement.active)
    assert all(line.isprintable() for line in text.split("\n"))


def test_no_complaint_and_no_report_does_whoever_made_it(
    capfd: pytest.CaptureFixture[str],
) -> None:
    complain(f"process 7 ({EVIL}) is none")
    say(f"one {EVIL} two", ascii_only=True)
    told = capfd.readouterr()
    assert told.err == "gputop: process 7 (?[2J?????) is none\n"
    assert told.out.splitlines()[0] == "one ?[2J????"
