"""The table of faults names tests that there are, and the page in the docs is that table."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from faults.__main__ import Outcomes, rows
from faults.table import FAULTS, Fault

TESTS = Path(__file__).parent


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.test)
def test_the_test_of_a_fault_is_there(fault: Fault) -> None:
    path, separator, name = fault.test.partition("::")
    functions = {
        node.name
        for node in ast.parse((TESTS / path).read_text()).body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    assert any(each.startswith("test_") for each in functions)
    assert name in functions or not separator


def test_the_page_is_the_table() -> None:
    """``python -m tests.faults --list > docs/faults.md`` writes it."""
    assert (TESTS.parent / "docs" / "faults.md").read_text() == "\n".join(rows()) + "\n"


def test_a_fault_is_as_good_as_the_worst_of_its_tests() -> None:
    outcomes = Outcomes()
    outcomes.of = {"a.py::test_one": {"passed"}, "a.py::test_two": {"passed", "failed"}}
    assert outcomes.word(Fault("", "", "a.py")) == "failed"
    assert outcomes.word(Fault("", "", "a.py::test_one")) == "passed"
    assert outcomes.word(Fault("", "", "b.py")) == "not run"
