"""``gputop diagnose demo SCENARIO``: the first words are the scripted cause, and its symptoms are under it."""

from __future__ import annotations

import json
import subprocess

import pytest

from gputop.probes.simulator import SCENARIOS
from gputop.tui.reports.diagnosis_text import as_text
from gputop.tui.reports.markdown import diagnosis_markdown

from support.command_runs import run
from support.replays import replay
from support.scenarios import FAULTS


def run_demo(*words: str) -> subprocess.CompletedProcess[str]:
    return run("diagnose", *words)


@pytest.mark.parametrize("name", FAULTS)
@pytest.mark.unmeasured
def test_the_text_begins_with_the_cause(name: str) -> None:
    scenario, last = SCENARIOS[name], replay(name).last
    lines = as_text(last, None, last.active).splitlines()
    cause = scenario.finds[0]
    assert last.active[0].id == cause
    who = f"{scenario.severity.upper()} {cause} {last.active[0].name}: {scenario.about}"
    assert lines[0].partition(" (")[0] == who
    headlines = [line for line in lines if line.startswith(("ERROR", "WARNING"))]
    wanted = {*([cause] if scenario.severity != "info" else []), *scenario.beside}
    assert {line.split()[1] for line in headlines} == wanted
    if len(scenario.finds) > 1:
        assert lines[1].startswith("    ") and any(
            line.startswith("    explains: ") for line in lines
        )


@pytest.mark.parametrize("name", FAULTS)
@pytest.mark.unmeasured
def test_the_markdown_begins_with_the_cause(name: str) -> None:
    scenario, last = SCENARIOS[name], replay(name).last
    text = diagnosis_markdown(last, None, last.active)
    titles = [line for line in text.splitlines() if line.startswith("#")]
    cause = scenario.finds[0]
    assert titles[0].startswith("## node17, ")
    assert titles[1] == f"### {cause} {last.active[0].name}: {scenario.about} on node17"
    first = text.split("\n### ")[1]
    assert first.splitlines()[2].startswith(f"{scenario.severity}, active, since ")
    for symptom in scenario.finds[1:]:
        assert f"\n- {symptom} " in text


@pytest.mark.parametrize(
    ("words", "first"),
    [
        (("demo", "gpu-lost"), "ERROR HW206 Xid: GPU 3\n"),
        (("--format", "text", "demo", "rank-exited"), "ERROR RUN424 rank exited: rank 5\n"),
        (("--demo", "swap"), "WARNING HST109 swapping in: host\n"),
        (("demo", "--format", "markdown"), "## node17, "),
    ],
)
def test_a_scenario_is_diagnosed_at_once(words: tuple[str, ...], first: str) -> None:
    done = run_demo(*words)
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.startswith(first)


def test_a_healthy_one_is_well() -> None:
    done = run_demo("demo", "healthy")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("Nothing is wrong, as far as could be seen.\n")


def test_json_and_more_of_it() -> None:
    done = run_demo("--format", "json", "demo", "ecc", "--for", "1")
    assert done.returncode == 1
    assert json.loads(done.stdout)["findings"][0]["id"] == "HW206"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("demo", "gpu-losst"), "did you mean gpu-lost?"),
        (("demo", "swap", "12"), "not allowed with argument --demo"),
        (("--format", "yaml"), "text, markdown or json"),
    ],
)
def test_wrong_words_are_one_line(words: tuple[str, ...], said: str) -> None:
    done = run_demo(*words)
    assert done.returncode == 64
    assert said in done.stderr and done.stderr.count("\n") == 1
