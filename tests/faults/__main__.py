"""The table of faults, with how each test of them went: ``python -m tests.faults``; ``--list`` runs none of them.

``--bench`` runs those too that take minutes.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import pytest

from .table import FAULTS, GROUPS, Fault

TESTS = Path(__file__).parents[1]
_INTRODUCTION = """# What was broken on purpose

Each row is a kind of fault, what must hold all the same, and the test that breaks it with real components.
`python -m tests.faults` runs them and prints this table with how each went (`--bench`: those too that take minutes)."""
_BENCH = "bench/"


class Outcomes:
    """A plugin of pytest: how each test went."""

    def __init__(self) -> None:
        self.of: dict[str, set[str]] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" or not report.passed:
            name = report.nodeid.removeprefix("tests/").partition("[")[0]
            self.of.setdefault(name, set()).add(report.outcome)

    def word(self, fault: Fault) -> str:
        """Of all tests of a fault: the worst that came."""
        found = {
            outcome
            for name, outcomes in self.of.items()
            if name == fault.test or name.startswith(f"{fault.test}::")
            for outcome in outcomes
        }
        for word in ("failed", "passed", "skipped"):
            if word in found:
                return word
        return "not run"


def rows(words: Mapping[Fault, str] | None = None) -> Sequence[str]:
    """The page, in Markdown; with how each went if that is known."""
    lines = [_INTRODUCTION]
    for title, faults in GROUPS.items():
        went = ("", "") if words is None else ("| it went ", "|---")
        lines += ["", f"## {title}", ""]
        lines.append(f"| broken | what holds | test {went[0]}|")
        lines.append(f"|---|---|---{went[1]}|")
        for fault in faults:
            word = f"| {words[fault]} " if words is not None else ""
            lines.append(f"| {fault.broken} | {fault.holds} | `{fault.test}` {word}|")
    return lines


def _run(bench: bool) -> Mapping[Fault, str]:
    chosen = {
        each.test.partition("::")[0]: each
        for each in FAULTS
        if bench or not each.test.startswith(_BENCH)
    }
    outcomes = Outcomes()
    tests = [str(TESTS / each.test) for each in FAULTS if each.test.partition("::")[0] in chosen]
    marks = "bench or not bench" if bench else "not bench"
    pytest.main(["-q", "-n", "0", "-m", marks, "--tb=short", *_once(tests)], plugins=[outcomes])
    return {fault: outcomes.word(fault) for fault in FAULTS}


def _once(tests: Collection[str]) -> Sequence[str]:
    """Without those whose whole file is among them."""
    return [each for each in tests if "::" not in each or each.partition("::")[0] not in tests]


def main(words: Sequence[str]) -> int:
    """Returns the exit code: 1 where one has failed."""
    if "--list" in words:
        print(*rows(), sep="\n")
        return 0
    went = _run("--bench" in words)
    print(*rows(went), sep="\n")
    return int("failed" in went.values())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
