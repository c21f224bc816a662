"""The README's test command runs many tests at a time; a few files run at once, without workers."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from support.parallel import usable_cores

ROOT = Path(__file__).parent.parent
ONE_FILE = "tests/rules/test_series.py"
SAYS_HOW_MANY = """
import pytest

def pytest_configure(config):
    print(f"processes: {config.option.numprocesses}, {config.option.dist}")
    pytest.exit("asked", returncode=0)
"""


def processes(folder: Path, *arguments: str) -> str:
    """What pytest is about to do with these arguments, before it collects."""
    (folder / "says_how_many.py").write_text(SAYS_HOW_MANY)
    inherited = {key: each for key, each in os.environ.items() if not key.startswith("PYTEST_")}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "says_how_many", *arguments],
        cwd=ROOT,
        env={**inherited, "PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        check=True,
    )
    (said,) = (line for line in done.stdout.splitlines() if line.startswith("processes: "))
    return said.removeprefix("processes: ")


def test_the_whole_suite_keeps_all_cores_busy(tmp_path: Path) -> None:
    files = len(list((ROOT / "tests").rglob("test_*.py")))
    count = min(int(2.5 * usable_cores()), files // 4)
    assert count >= 2
    assert processes(tmp_path) == f"{count}, worksteal"
    assert processes(tmp_path, "tests", "--cov") == f"{count}, worksteal"


@pytest.mark.parametrize(
    "arguments",
    [
        [ONE_FILE],
        ["tests/gpu"],
        ["-k", "a_few"],
        ["-m", "bench", "-s", "tests/bench"],
        ["--last-failed"],
        ["-n", "0"],
    ],
    ids=" ".join,
)
def test_a_few_run_without_workers(tmp_path: Path, arguments: Sequence[str]) -> None:
    assert processes(tmp_path, *arguments) == "0, no"


def test_a_number_that_is_given_is_kept(tmp_path: Path) -> None:
    assert processes(tmp_path, "-n", "3", ONE_FILE) == "3, worksteal"


def test_it_runs_without_the_plugin() -> None:
    subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:xdist", "-q", ONE_FILE],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
