"""The catalogue as a whole: ids, names, pages, settings."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gputop.rules.catalogue import FAMILIES, RULES, make_rules
from gputop.rules.device._xid_codes import XID_MEANINGS, xid_meaning
from gputop.rules.finding import SEVERITY_ORDER
from gputop.rules.rule import Rule
from gputop.rules.runbook import SECTIONS, UnknownRule, find, runbook, severity_words
from gputop.rules.settings import SettingsError, load

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
UNITS = frozenset(
    [
        "bytes",
        "bytes_per_second",
        "celsius",
        "cores",
        "count",
        "cycles",
        "errors",
        "lanes",
        "per_minute",
        "per_second",
        "ratio",
        "rows",
        "seconds",
    ]
)
ACRONYMS = frozenset(
    {
        *(
            "CPU",
            "D",
            "ECC",
            "Ethernet",
            "GPU",
            "IMEX",
            "NUMA",
            "NVLink",
            "NVSwitch",
            "PCIe",
            "RDMA",
            "TCP",
        ),
        "Xid",
    }
)
each_rule = pytest.mark.parametrize("rule", RULES, ids=lambda rule: str(rule.id))


def test_ids_are_unique_and_in_order_of_their_families() -> None:
    ids = [rule.id for rule in RULES]
    assert len(set(ids)) == len(ids)
    places = [(list(FAMILIES).index(rule_id[:-2]), rule_id) for rule_id in ids]
    assert places == sorted(places)


def test_names_are_unique() -> None:
    assert len({rule.name for rule in RULES}) == len(RULES)


@each_rule
def test_one_rule_one_file_in_the_folder_of_its_family(rule: type[Rule]) -> None:
    *_, folder, module = rule.__module__.split(".")
    assert FAMILIES[rule.id[:-2]] == folder
    others = [other for other in RULES if other.__module__ == rule.__module__]
    assert others == [rule]
    assert module.isidentifier()


@each_rule
def test_its_tests_are_found_by_its_name(rule: type[Rule]) -> None:
    *_, folder, module = rule.__module__.split(".")
    tests = HERE / folder / f"test_{module}.py"
    assert tests.exists(), f"tests of {rule.id} belong into {tests}"
    assert f'"{rule.id}"' in tests.read_text(encoding="utf-8")


def test_tests_of_families_mirror_their_modules() -> None:
    for tests in HERE.glob("*/test_*.py"):
        module = tests.stem.removeprefix("test_")
        family = ROOT / "rules" / tests.parent.name
        assert any((family / f"{prefix}{module}.py").exists() for prefix in ("", "_")), tests


@each_rule
def test_the_name_is_lower_case(rule: type[Rule]) -> None:
    assert all(word in ACRONYMS or word.islower() for word in rule.name.split())


@each_rule
def test_the_page_has_its_four_parts(rule: type[Rule]) -> None:
    page = runbook(rule)
    assert tuple(page.sections) == SECTIONS
    assert all(len(text) > 60 and text.endswith(".") for text in page.sections.values())
    assert page == runbook(rule())


@each_rule
def test_the_next_step_is_one_sentence(rule: type[Rule]) -> None:
    assert re.fullmatch(r"[A-Z].*\.", rule.next_step)
    assert ". " not in rule.next_step


@each_rule
def test_its_plain_severity_is_among_those_declared_in_order(rule: type[Rule]) -> None:
    assert not rule.severities or rule.severity in rule.severities
    orders = [SEVERITY_ORDER[severity] for severity in rule.severities]
    assert orders == sorted(set(orders), reverse=True) and len(orders) != 1


def test_a_severity_that_evidence_decides_is_reported_as_a_span() -> None:
    words = {rule.id: severity_words(rule) for rule in RULES}
    assert (words["HW211"], words["HST111"]) == ("info to error", "info to warning")
    assert words["RUN424"] == "info to error"


@each_rule
def test_what_it_explains_exists(rule: type[Rule]) -> None:
    ids = {other.id for other in RULES}
    assert set(rule.explains) <= ids
    assert list(rule.explains) == sorted(rule.explains)


def test_explaining_goes_in_no_circle() -> None:
    explains = {rule.id: set(rule.explains) - {rule.id} for rule in RULES}
    while explains:
        last = {rule_id for rule_id, others in explains.items() if not others & explains.keys()}
        assert last, f"a circle among {sorted(explains)}"
        explains = {rule_id: others for rule_id, others in explains.items() if rule_id not in last}


@each_rule
def test_thresholds_have_unit_and_source_and_can_be_changed(rule: type[Rule]) -> None:
    for name, threshold in rule.thresholds.items():
        assert threshold.unit in UNITS
        assert threshold.source
        changed = {made.id: made for made in make_rules({rule.id: {name: 0.125}})}[rule.id]
        assert changed.limit == {**rule().limit, name: 0.125}


def test_explained_by_is_the_other_side_of_explains() -> None:
    page = runbook(find("HW210"))
    assert set(page.explained_by) == {rule.id for rule in RULES if "HW210" in rule.explains}


def test_find_takes_any_case() -> None:
    assert find("hw201").name == "thermal slowdown"


def test_find_suggests() -> None:
    with pytest.raises(UnknownRule, match="there is no rule HW2001; did you mean HW201"):
        find("HW2001")
    with pytest.raises(UnknownRule, match=r"^there is no rule quux; gputop rules lists them"):
        find("quux")


def test_xid_table() -> None:
    assert all(row.next_step.endswith(".") for row in XID_MEANINGS.values())
    assert {xid_meaning(code).kind for code in (43, 45)} == {"consequence"}
    assert xid_meaning(12345).kind == "notice"


# --- settings ---


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "gputop.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_settings_change_thresholds(tmp_path: Path) -> None:
    path = written(tmp_path, "[HW201]\ntemperature_celsius = 85\n\n[HST109]\n")
    overrides = load(path)
    assert overrides == {"HW201": {"temperature_celsius": 85.0}, "HST109": {}}
    rule = next(rule for rule in make_rules(overrides) if rule.id == "HW201")
    assert rule.limit["temperature_celsius"] == 85.0
    assert rule.limit["clock_loss_ratio"] == 0.15


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[hw201]\n", "[hw201] is no rule; did you mean HW201?"),
        ("[zzz]\n", "[zzz] is no rule"),
        (
            "[HW201]\ntemperature = 85\n",
            "no threshold of thermal slowdown; did you mean temperature_celsius?",
        ),
        (
            "[HW201]\ntemperature_celsius = 'hot'\n",
            "HW201.temperature_celsius must be a number, not 'hot'",
        ),
        (
            "[HW201]\ntemperature_celsius = true\n",
            "HW201.temperature_celsius must be a number, not True",
        ),
        ("[HW201]\ntemperature_celsius = -1\n", "must be a number of 0 or more, not -1"),
        ("[HW201]\ntemperature_celsius = inf\n", "must be a number of 0 or more, not inf"),
        ("[HW201]\ntemperature_celsius = nan\n", "must be a number of 0 or more, not nan"),
        ("[HW201]\nclock_loss_ratio = 15\n", "must be a number from 0 to 1, not 15"),
        ("HW201 = 85\n", "HW201 must be a table, written as [HW201]"),
        ("[HW201\n", "is not valid TOML"),
    ],
)
def test_settings_that_mean_nothing(tmp_path: Path, text: str, says: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(SettingsError) as error:
        load(path)
    assert says in str(error.value)
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)


def test_settings_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="cannot be read: No such file"):
        load(tmp_path / "none.toml")
    (tmp_path / "raw.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(SettingsError, match="is not UTF-8 text"):
        load(tmp_path / "raw.toml")


def test_overrides_reach_the_verdict(tmp_path: Path) -> None:
    from support.rules_scenes import always, play

    path = written(tmp_path, "[MEM301]\ninfo_ratio = 0.5\n")
    assert "MEM301" in play(always(), 31, overrides=load(path)).ids()
