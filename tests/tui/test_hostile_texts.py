"""Texts come from drivers, from processes and from recordings, and may hold anything: nothing of that
reaches a terminal, whatever it is reported about and wherever it is shown."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gputop.probes.derive.frame import derive
from gputop.probes.model.frame import Frame
from gputop.probes.model.sample import Sample
from gputop.probes.simulator import SimulatedNode
from gputop.rules.catalogue import make_rules
from gputop.rules.engine import Engine
from gputop.rules.finding import Judgement
from gputop.tui.commands.diagnose import as_json as report_json
from gputop.tui.commands.once import as_json as frame_json
from gputop.tui.console.exits import complain
from gputop.tui.console.output import say, say_json
from gputop.tui.drawing.lines import plain, plain_json, text_of, width_of
from gputop.tui.reports.diagnosis_text import as_text
from gputop.tui.reports.markdown import finding_markdown
from gputop.tui.reports.stacks_text import stacks_text
from gputop.tui.widgets.canvas import Canvas

from support.tui_watch import UNIX, app_of, running

EVIL = "\x1b[2J\x07\x1f\u202e\u0301\n"
"""Clears a screen, rings, moves the cursor, turns the text around, joins with its neighbor."""
NEVER_RAW = (
    [chr(code) for code in (*range(0x09), *range(0x0B, 0x20), *range(0x7F, 0xA0))]
    + [chr(code) for code in (*range(0x200B, 0x2010), *range(0x2028, 0x202F))]
    + [chr(code) for code in (*range(0x2060, 0x2070), 0xFEFF, 0x00AD, 0x061C, 0xE0001)]
)
"""Controls, marks of direction, characters without a width, separators: what no output has."""
HARMLESS = "Modell größer 模型 ≥ µs"
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


def poisoned(value: Any, *, gutted: bool, text: str = EVIL) -> Any:
    """The same with evil in its texts; gutted: of GPUs and the host nothing but why it is missing."""
    if isinstance(value, str):
        return value + text
    if isinstance(value, tuple):
        return tuple(poisoned(each, gutted=gutted, text=text) for each in value)
    if isinstance(value, dict):
        return {key: poisoned(each, gutted=gutted, text=text) for key, each in value.items()}
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
            changes[field.name] = poisoned(content, gutted=gutted, text=text)
    if "missing" in value.__struct_fields__:
        changes["missing"] = {name: why + text for name, why in missing.items()}
    return msgspec.structs.replace(value, **changes)


def poisoned_sample(sample: Sample, *, gutted: bool, text: str = EVIL) -> Sample:
    parts = {
        name: poisoned(getattr(sample, name), gutted=gutted, text=text)
        for name in sample.__struct_fields__
        if name not in ("sources", "boot_id")
    }
    sources = tuple(
        msgspec.structs.replace(source, reason=source.reason + text) for source in sample.sources
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
        ("rank-exited", False, (80, 24)),
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
@pytest.mark.parametrize("gutted", [False, True], ids=["reported", "missing"])
@pytest.mark.parametrize("scenario", ["gpu-lost", "rank-exited"])
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
    reported = capfd.readouterr()
    assert reported.err == "gputop: process 7 (?[2J?????) is none\n"
    assert reported.out.splitlines()[0] == "one ?[2J????"


@cache
def judged_with(text: str) -> Judgement:
    """With a text after all others."""
    node = SimulatedNode("gpu-lost", start_time_seconds=UNIX)
    engine = Engine(make_rules())
    frame: Frame | None = None
    judgement: Judgement | None = None
    for second in range(-40, 1, 4):
        sample = poisoned_sample(node.sample_at(float(second)), gutted=False, text=text)
        frame = derive(frame, sample)
        judgement = engine.judge(frame)
    assert judgement is not None
    return judgement


def printed(capfd: pytest.CaptureFixture[str], print_it: Callable[[], None]) -> str:
    capfd.readouterr()
    print_it()
    return capfd.readouterr().out


def test_no_form_of_output_has_them(capfd: pytest.CaptureFixture[str]) -> None:
    everything = "".join(NEVER_RAW) + HARMLESS
    judgement = judged_with(everything)
    job = next(iter(judgement.frame.jobs))
    outputs = [
        printed(capfd, lambda: say_json(frame_json(judgement))),
        printed(capfd, lambda: say_json(report_json(judgement, job, judgement.active))),
        printed(capfd, lambda: say(as_text(judgement, job, judgement.active))),
        stacks_text(judgement.frame, job, job.ranks[0]),
        *(finding_markdown(each, judgement.frame, judgement.findings) for each in judgement.active),
    ]
    for output in outputs:
        assert [hex(ord(each)) for each in NEVER_RAW if each in output] == []
        assert "größer 模型 ≥ µs" in output


def test_json_loses_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    everything = "".join(NEVER_RAW) + HARMLESS
    judgement = judged_with(everything)
    encoded = frame_json(judgement)
    reported = printed(capfd, lambda: say_json(encoded))
    assert json.loads(reported) == json.loads(encoded)
    assert any(each["name"].endswith(everything) for each in json.loads(reported)["gpus"])


TEXTS = st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from(NEVER_RAW))


@given(TEXTS)
def test_any_text_is_plain_and_any_json_is_the_same(text: str) -> None:
    shown = plain(text)
    assert shown.isprintable() and len(shown) == len(text)
    assert plain(shown) == shown
    written = plain_json(msgspec.json.encode({text: [text]}).decode())
    assert written.isprintable()
    assert json.loads(written) == {text: [text]}
    assert plain_json(written) == written
