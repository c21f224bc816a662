"""``gputop compare``: what it says of two sides, its exit codes, and that the page on CI does what it says."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from support.command_runs import run
from support.recordings import written

PAGE = Path(__file__).parents[3] / "docs/regression-check.md"
TRAIN = """
import time, gputop
gputop.attach()
slow = {slow}
while True:
    with gputop.phase("forward"):
        time.sleep(0.1)
    with gputop.phase("data"):
        time.sleep(slow)
    gputop.step(samples=4)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ninety seconds each of the simulated node."""
    made = tmp_path_factory.mktemp("recordings")
    for scenario in ("healthy", "input-bound", "pcie-trained-down", "gpu-lost"):
        written(made / f"{scenario}.gtop", 90, scenario)
    return made


def compared(folder: Path, a: str, b: str, *more: str) -> tuple[int, dict[str, Any]]:
    words = ("compare", str(folder / a), str(folder / b), "--format", "json", *more)
    done = run(*words)
    assert done.stderr == ""
    return done.returncode, json.loads(done.stdout)


def row(found: dict[str, Any], whose: str, signal: str) -> dict[str, Any]:
    (only,) = [each for each in found["rows"] if (each["whose"], each["signal"]) == (whose, signal)]
    return dict(only)


def test_a_recording_is_no_regression_of_itself(folder: Path) -> None:
    code, found = compared(folder, "healthy.gtop", "healthy.gtop", "--tolerance", "0")
    assert (code, found["regressions"], found["not_compared"], found["differences"]) == (
        0,
        [],
        [],
        [],
    )
    known = [each for each in found["rows"] if each["judged"] and each["a_value"] is not None]
    assert {each["verdict"] for each in known} == {"same"} and len(known) > 20
    assert row(found, "train.py", "step_p50_duration_seconds")["a_value"] == pytest.approx(
        2.32, 0.01
    )


def test_a_slower_job_with_what_its_time_goes_to(folder: Path) -> None:
    code, found = compared(folder, "healthy.gtop", "input-bound.gtop")
    assert code == 1
    step = row(found, "train.py", "step_p50_duration_seconds")
    assert step["verdict"] == "worse" and step["change_ratio"] == pytest.approx(0.55, abs=0.02)
    data = row(found, "train.py", "ledger_data_ratio")
    assert data["change_ratio"] == pytest.approx(0.35, abs=0.02)
    assert (data["verdict"], data["judged"]) == ("different", False)
    rules = {each["id"]: each for each in found["findings"]}
    assert (rules["INP701"]["found_in"], rules["INP701"]["verdict"]) == ("B", "worse")
    assert rules["HW210"]["verdict"] == "same"  # a note


def test_the_other_way_round_it_is_better(folder: Path) -> None:
    code, found = compared(folder, "input-bound.gtop", "healthy.gtop")
    assert (code, found["regressions"]) == (0, [])
    assert row(found, "train.py", "step_p50_duration_seconds")["verdict"] == "better"


def test_a_change_within_the_tolerance_is_none(folder: Path) -> None:
    code, found = compared(folder, "healthy.gtop", "input-bound.gtop", "--tolerance", "100%")
    assert (code, found["regressions"]) == (0, [])
    code, found = compared(folder, "healthy.gtop", "input-bound.gtop", "--tolerance", "0.5")
    assert code == 1 and any("step, median" in each for each in found["regressions"])


def test_a_link_that_carries_less(folder: Path) -> None:
    code, found = compared(folder, "healthy.gtop", "pcie-trained-down.gtop")
    assert code == 1
    assert row(found, "gpu4 pcie", "limit_bytes_per_second")["verdict"] == "worse"
    assert row(found, "gpu3 pcie", "limit_bytes_per_second")["verdict"] == "same"
    assert row(found, "gpu3 pcie", "rx_bytes_per_second")["verdict"] == "different"


def test_an_error_that_is_new(folder: Path) -> None:
    code, found = compared(folder, "healthy.gtop", "gpu-lost.gtop@..-0", "--tolerance", "1")
    assert code == 1
    assert [each for each in found["regressions"] if each.startswith("HW206")]


def test_two_spans_of_one_recording(folder: Path) -> None:
    a, b = "input-bound.gtop@..-45", "input-bound.gtop@-45.."
    code, found = compared(folder, a, b)
    assert (code, found["regressions"]) == (0, [])
    assert found["a_side"]["seen_duration_seconds"] == 44.0
    assert found["b_side"]["seen_duration_seconds"] == 45.0
    assert found["a_side"]["last_timestamp_seconds"] == found["b_side"]["first_timestamp_seconds"]


def test_too_few_steps_are_no_answer(folder: Path) -> None:
    code, found = compared(folder, "healthy.gtop", "healthy.gtop@-4..")
    assert (code, found["regressions"]) == (2, [])
    assert any("too few steps" in each for each in found["not_compared"])


def test_for_people_it_says_what_differs(folder: Path) -> None:
    done = run("compare", str(folder / "healthy.gtop"), str(folder / "input-bound.gtop"))
    lines = done.stdout.splitlines()
    assert done.returncode == 1
    assert any(re.search(r"step, median +2\.32 s +3\.59 s +\+55 % +worse", line) for line in lines)
    assert "  train.py: step, median +55 %" in lines
    assert len(lines) < 45, "what changed alike on all GPUs is told once"


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (["healthy.gtop"], 64, "required: B"),
        (["healthy.gtop", "nothing"], 2, "there is no such recording"),
        (["healthy.gtop", "/etc/hostname"], 2, "is not a gputop recording"),
        (["healthy.gtop", "/"], 2, "Is a directory"),
        (["healthy.gtop@noon..", "healthy.gtop"], 64, "is no time"),
        (["healthy.gtop@-5..-20", "healthy.gtop"], 64, "first time is after its second"),
        (["healthy.gtop@-3h..-2h", "healthy.gtop"], 2, "has nothing from"),
        (["healthy.gtop", "healthy.gtop", "--tolerance", "7"], 64, "is no share"),
        (["healthy.gtop", "healthy.gtop", "--tolerence", "7"], 64, "did you mean --tolerance?"),
    ],
)
def test_bad_input_gets_one_sentence(
    words: Sequence[str], code: int, sentence: str, folder: Path
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "gputop", "compare", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout) == (code, "")
    assert sentence in done.stderr and len(done.stderr.strip().splitlines()) == 1


def test_a_name_with_the_mark_in_it(folder: Path) -> None:
    shutil.copy(folder / "healthy.gtop", folder / "run@home.gtop")
    assert compared(folder, "run@home.gtop", "run@home.gtop@-60..")[0] == 0


def test_the_page_on_ci_does_what_it_says(tmp_path: Path) -> None:
    """A job's steps take three times as long as before: its own script says so, and ends with code 1."""
    (block,) = re.findall(r"runs this block -->\n```sh\n(.*?)```", PAGE.read_text(), re.DOTALL)
    short = block.replace("--for 120", "--for 9").replace("@-60..", "@-6..")
    assert short.count("9") and short != block
    binaries = tmp_path / "bin"
    binaries.mkdir()
    for name in ("gputop", "python"):
        body = f'#!/bin/sh\nexec {sys.executable} {"-m gputop " if name == "gputop" else ""}"$@"\n'
        (binaries / name).write_text(body)
        (binaries / name).chmod(0o755)
    environment = {**os.environ, "PATH": f"{binaries}:{os.environ['PATH']}"}

    def played(slow: float) -> subprocess.CompletedProcess[str]:
        (tmp_path / "train.py").write_text(TRAIN.format(slow=slow))
        return subprocess.run(
            ["bash", "-c", short],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=90,
            check=False,
        )

    first = played(0.02)
    assert (first.returncode, "baseline.gtop" in first.stderr) == (2, True), first.stderr
    (now,) = tmp_path.glob("now-*.gtop")
    now.rename(tmp_path / "baseline.gtop")
    slower = played(0.4)
    assert slower.returncode == 1, slower.stdout + slower.stderr
    assert re.search(r"train.py: step, median \+\d{3} %", slower.stdout)
    assert re.search(r"train.py: compute -\d\d", slower.stdout)
