"""What is printed: whole, in the reader's characters, and never with a traceback where it cannot be."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from functools import cache

import pytest

from nvml.simulated import SimulatedNvml

GPUTOP = [sys.executable, "-P", "-m", "gputop"]
PRINTING = ["--help", "--version", "rules", "rules HW201", "demo --list", "demo --once", "collect"]


def shell(line: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Run a line of shell in which ``gputop`` is the program."""
    program = " ".join(GPUTOP)
    return subprocess.run(
        ["bash", "-c", f'gputop() {{ {program} "$@"; }}; {line}'],
        env={**os.environ, "LANG": "C.UTF-8", **env},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )


@pytest.fixture
def node() -> Iterator[SimulatedNvml]:
    with SimulatedNvml("h100x8") as simulated:
        yield simulated


@pytest.mark.parametrize("words", PRINTING)
@pytest.mark.parametrize(
    ("place", "reason"), [(">&-", "Bad file descriptor"), (">/dev/full", "No space left on device")]
)
def test_where_nothing_can_be_written_one_line_says_why(
    words: str, place: str, reason: str
) -> None:
    done = shell(f"gputop {words} {place}")
    assert done.stderr == f"gputop: cannot write to standard output: {reason}\n"
    assert done.returncode == 2


@pytest.mark.parametrize("words", PRINTING)
def test_a_reader_that_stops_reading_is_no_error(words: str) -> None:
    done = shell(f"gputop {words} | true; exit ${{PIPESTATUS[0]}}")
    assert done.stderr == ""
    assert done.returncode in (0, 141)  # collect ends as other filters do, by the signal


@pytest.mark.parametrize("place", ["2>&-", "2>/dev/full"])
@pytest.mark.parametrize(("words", "code"), [("demo --once", 0), ("--wrong", 64), ("4194304", 2)])
def test_without_standard_error_the_exit_code_tells(place: str, words: str, code: int) -> None:
    done = shell(f"gputop {words} {place}")
    assert done.returncode == code
    assert ("node17" in done.stdout) is (code == 0)
    assert "gputop:" not in done.stdout


@pytest.mark.parametrize("closed", ["<&-", "2>&-", "<&- 2>&-"])
def test_a_collector_starts_beside_closed_streams(node: SimulatedNvml, closed: str) -> None:
    done = shell(f"gputop --format json {closed}", **node.env())
    assert done.returncode == 0
    assert len(json.loads(done.stdout)["gpus"]) == 8


UNSET = {"LC_ALL": "", "LC_CTYPE": "", "LANG": "", "PYTHONIOENCODING": ""}


@pytest.mark.parametrize(
    ("changes", "glyphs"),
    [
        ({"LC_ALL": "C", "LANG": "C.UTF-8"}, False),
        ({"LC_ALL": "POSIX"}, False),
        ({"LC_CTYPE": "C", "LANG": "C.UTF-8"}, False),
        ({"LANG": "C"}, False),
        ({}, False),
        ({"LANG": "C.UTF-8", "PYTHONIOENCODING": "ascii"}, False),
        ({"LC_CTYPE": "C.UTF-8", "LANG": "C"}, True),
        ({"LANG": "C", "PYTHONIOENCODING": "utf-8"}, True),
        ({"LANG": "en_US.UTF-8"}, True),
    ],
)
def test_the_locale_tells_which_characters(changes: Mapping[str, str], glyphs: bool) -> None:
    for words in ("demo gpu-lost --once", "rules HW201"):
        done = shell(f"gputop {words}", **{**UNSET, **changes})
        assert done.returncode == (1 if "gpu-lost" in words else 0), done.stderr
        assert done.stdout.isascii() is not glyphs


def test_json_is_utf8_in_any_locale() -> None:
    done = shell("gputop demo --once --format json", LC_ALL="C", PYTHONIOENCODING="ascii")
    assert len(json.loads(done.stdout)["gpus"]) == 8


def unbroken(text: str) -> str:
    return re.sub(r"\s+", " ", text)


@cache
def next_steps(scenario: str) -> frozenset[str]:
    """Of every finding that is not explained by another."""
    found = json.loads(shell(f"gputop demo {scenario} --once --format json").stdout)["findings"]
    return frozenset(each["next_step"] for each in found if not each["explained_by"])


@pytest.mark.parametrize("columns", ["", "60"])
@pytest.mark.parametrize("scenario", ["input-bound", "thermal-throttle", "gpu-lost", "swap"])
def test_a_pipe_gets_every_finding_whole(scenario: str, columns: str) -> None:
    steps = next_steps(scenario)
    text = shell(f"gputop demo {scenario} --once", COLUMNS=columns).stdout
    findings = text.partition("── Findings")[2].partition("── Processes")[0]
    shown = [step for step in steps if f"next: {step}" in unbroken(findings)]
    assert len(shown) == findings.count("next:") > 0
    assert "…" not in findings
    assert not columns or max(map(len, text.splitlines())) <= int(columns)
    assert "train.py --config configs/llm_7b.yaml\n" in text or columns


def test_a_pipe_gets_whole_titles_and_a_line_for_each_next_step() -> None:
    reported = shell("gputop demo orphan-memory --once").stdout
    assert "memory held by no live process" in reported
    reported += shell("gputop demo straggler --once").stdout
    steps = [line for line in reported.splitlines() if "next: " in line]
    assert len(steps) == 2
    assert all(line.startswith("     next: ") for line in steps)
