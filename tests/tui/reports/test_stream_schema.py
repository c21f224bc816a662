"""The schema of ``gputop stream``: what is printed keeps to it, and it is that of these records."""

from __future__ import annotations

import subprocess
import sys
from importlib.resources import files
from typing import Any, cast

import msgspec
import pytest

from gputop.probes.simulator import SCENARIOS
from gputop.tui.commands.stream import KINDS, lines
from gputop.tui.reports.json_types import line_type
from gputop.tui.reports.stream_schema import FILE, NAMES, made, packaged

from support.replays import replay


def printed(scenario: str, what: str) -> list[dict[str, Any]]:
    return [
        msgspec.json.decode(msgspec.json.encode(each))
        for each in lines(replay(scenario).last, what)
    ]


def test_the_file_is_that_of_these_records() -> None:
    """Else: python -m gputop.tui.reports.stream_schema > tui/reports/stream_schema.json"""
    assert files("gputop.tui.reports").joinpath(FILE).read_bytes() == made()


@pytest.mark.parametrize("scenario", ["straggler", "gpu-lost", "rank-exited"])
def test_what_is_printed_has_all_of_its_fields_and_no_others(scenario: str) -> None:
    assert scenario in SCENARIOS
    for what in KINDS:
        found = printed(scenario, what)
        assert msgspec.convert(found, list[line_type(what, strict=True)])  # type: ignore[misc]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"power_watts": "much"}, "Expected `float | null`"),
        ({"power_watt": 3.0}, "unknown field `power_watt`"),
        ({"schema_version": 1}, "Invalid enum value 1"),
        ({"index": None}, "Expected `int`, got `null`"),
    ],
)
def test_what_is_otherwise_does_not_fit(change: dict[str, object], why: str) -> None:
    line = {**printed("straggler", "gpus")[0], **change}
    with pytest.raises(msgspec.ValidationError, match=why):
        msgspec.convert(line, line_type("gpus", strict=True))


@pytest.mark.parametrize("what", KINDS)
def test_each_kind_has_a_whole_one(what: str) -> None:
    schema: dict[str, Any] = msgspec.json.decode(packaged(what))
    assert schema["$ref"] == f"#/$defs/{NAMES[what]}"
    line = schema["$defs"][NAMES[what]]
    assert set(line["required"]) == set(printed("straggler", what)[0])
    text = packaged(what).decode()
    for name in schema["$defs"]:
        assert f'"#/$defs/{name}"' in text
    for reference in set(_references(schema)):
        assert reference.removeprefix("#/$defs/") in schema["$defs"]


def _references(node: object) -> list[str]:
    match node:
        case {"$ref": str(reference)}:
            return [reference]
        case dict():
            pairs = cast("dict[str, object]", node)
            return [each for value in pairs.values() for each in _references(value)]
        case list():
            return [each for value in cast("list[object]", node) for each in _references(value)]
        case _:
            return []


def test_it_is_printed_without_a_look_at_the_node() -> None:
    command = [sys.executable, "-m", "gputop", "stream", "--schema", "--what", "findings"]
    done = subprocess.run(command, capture_output=True, timeout=60, check=True)
    assert msgspec.json.decode(done.stdout) == msgspec.json.decode(packaged("findings"))
    assert done.stderr == b""
