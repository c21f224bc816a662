"""Every piece of evidence has a name that programs can rely on, with its unit, and words for people."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import pytest

from gputop import rules
from gputop.rules.finding import Evidence
from gputop.tui.drawing.finding_words import label_of
from gputop.tui.drawing.format import quantity

from support.evidence_names import wrong_evidence, wrong_with
from support.scenarios import PLAIN
from support.tui_watch import judgement

MAKERS = frozenset({"Evidence", "compared", "against_peers"})
UNIT_PLACE = 3
"""Of the arguments of the makers that have it in a place."""


def constants(module: ast.Module) -> dict[str, str]:
    """Words that a module gives a name to."""
    found: dict[str, str] = {}
    for node in module.body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
            for target in node.targets:
                if isinstance(target, ast.Name) and isinstance(node.value.value, str):
                    found[target.id] = node.value.value
    return found


def texts(node: ast.expr | None, named: dict[str, str]) -> list[str]:
    """What an argument can be, as far as it is written there."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return [node.value]
    if isinstance(node, ast.IfExp):
        return texts(node.body, named) + texts(node.orelse, named)
    if isinstance(node, ast.Name) and node.id in named:
        return [named[node.id]]
    return []


def written() -> Iterator[tuple[str, str, str]]:
    """Where, name and unit of all evidence whose name is written out in the rules."""
    for path in sorted(Path(rules.__path__[0]).rglob("*.py")):
        module = ast.parse(path.read_text())
        named = constants(module)
        for call in (node for node in ast.walk(module) if isinstance(node, ast.Call)):
            if not isinstance(call.func, ast.Name) or call.func.id not in MAKERS:
                continue
            given = {each.arg: each.value for each in call.keywords}
            placed = call.args[UNIT_PLACE] if len(call.args) > UNIT_PLACE else None
            units = texts(given.get("unit", placed), named) or [""]
            first = given.get("signal") or (call.args[0] if call.args else None)
            for name in texts(first, named):
                yield f"{path.name}:{call.lineno}", name, units[0]


def test_names_that_rules_write_out_are_names_with_their_unit() -> None:
    found = list(written())
    assert len(found) > 150
    assert [
        f"{where}: {why}" for where, name, unit in found for why in wrong_with(name, unit)
    ] == []


@pytest.mark.parametrize("scenario", PLAIN)
def test_all_that_is_found_in_a_scene_has_names_units_and_words(scenario: str) -> None:
    evidence = list(chain.from_iterable(each.evidence for each in judgement(scenario).findings))
    assert wrong_evidence(evidence) == []
    for each in evidence:
        assert label_of(each).strip() and "_" not in label_of(each)
        assert quantity(each.value, each.unit)


@pytest.mark.parametrize(
    ("name", "unit", "is_right"),
    [
        ("others_delay_ratio", "ratio", True),
        ("delay of the others in a step", "ratio", False),
        ("others_delay", "ratio", False),
        ("NCCL_NET", "", False),
        ("2_links", "count", False),
        ("links_down", "", True),
        ("no_step_seconds", "", False),
        ("worker_cpu_cores", "cores", True),
        ("loader_workers", "people", False),
    ],
)
def test_a_name_that_breaks_the_rule_is_found(name: str, unit: str, is_right: bool) -> None:
    assert (list(wrong_with(name, unit)) == []) is is_right


def test_two_signals_never_share_the_name_of_one_with_another_unit() -> None:
    units: dict[str, set[str]] = {}
    for _, name, unit in written():
        if unit:
            units.setdefault(name, set()).add(unit)
    assert {name: each for name, each in units.items() if len(each) > 1} == {}


def test_words_of_its_own_come_before_those_of_the_name() -> None:
    own = Evidence(signal="gpus_known", label="GPUs known", value="none")
    assert label_of(own) == "GPUs known"
    assert label_of(Evidence(signal="ended_by", value="signal 9")) == "ended by"
