"""A file has one purpose, so it is short; and every source stands in the contract that keeps them apart."""

from __future__ import annotations

import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
OURS = ("probes", "rules", "tui", "tests", "screenshots")
MOST_LINES = 400
MOST_LINES_OF_APP = 250
SHARED = {"gputop.probes.sources.procfs"}
"""What sources share."""


def lines_of(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


def test_no_file_is_long() -> None:
    files = [path for folder in OURS for path in (ROOT / folder).rglob("*.py")]
    assert len(files) > 1000
    assert {str(path): lines for path in files if (lines := lines_of(path)) > MOST_LINES} == {}
    assert lines_of(ROOT / "tui/app/app.py") < MOST_LINES_OF_APP


def test_every_source_is_kept_from_the_others() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    (listed,) = (
        set(each["modules"])
        for each in contracts["contracts"]
        if each["name"] == "sources never import each other"
    )
    folders = {
        f"gputop.probes.sources.{path.parent.name}"
        for path in (ROOT / "probes/sources").glob("*/__init__.py")
    }
    assert listed == folders - SHARED
