"""The tick stands for a node that was looked at and found well, and for nothing else."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from gputop.probes.simulator import SCENARIOS
from gputop.rules.finding import Judgement, NotEvaluated
from gputop.tui.drawing.lines import text_of
from gputop.tui.panels.main import draw
from gputop.tui.screens.finding_screen import FindingScreen
from gputop.tui.session.view import Asked

from support.tui_watch import changed, finding, judgement, played, view, with_gpu, without_probes

TICK = "✓"


def clean() -> Judgement:
    """A judgement in which everything was looked at and nothing found."""
    return msgspec.structs.replace(judgement(), findings=(), rules=19, not_evaluated=())


def main(judged: Judgement, width: int = 132, **how: Any) -> str:
    return "\n".join(text_of(line) for line in draw(view(judged, **how), width, 42).lines)


def test_a_well_node_has_the_tick() -> None:
    assert f"{TICK} nothing found" in main(clean())


@pytest.mark.parametrize("once", [False, True])
def test_no_tick_while_something_is_suspected(once: bool) -> None:
    pending = (finding("HW208", "GPU lost", "error", 3, "pending"),)
    text = main(msgspec.structs.replace(clean(), findings=pending), once=once)
    assert TICK not in text and "1 pending" in text
    assert ("HW208" in text and "run without --once" in text) is once
    assert ("press" in text) is not once


@pytest.mark.parametrize("status", ["stale", "lost"])
def test_no_tick_while_a_gpu_does_not_answer(status: str) -> None:
    text = main(with_gpu(clean(), 3, status=status))
    assert TICK not in text and "GPU 3 does not answer" in text


@pytest.mark.parametrize("how", [{"silent_seconds": 9.0}, {"ended": ""}])
def test_no_tick_where_nothing_comes_any_more(how: dict[str, Any]) -> None:
    text = main(clean(), **how)
    assert TICK not in text and "nothing was looked at since 14:07:31" in text


def test_no_tick_without_gpus() -> None:
    assert TICK not in main(changed(clean(), gpus=()))


@pytest.mark.parametrize("once", [False, True])
def test_one_look_at_a_job_says_that_it_cannot_see_a_stall(once: bool) -> None:
    text = main(clean(), once=once, asked=Asked(pid=51877))
    assert (TICK in text) is not once
    assert ("one look cannot see a stall: gputop diagnose 51877 watches for one" in text) is once


def test_one_look_sees_a_stall_where_probes_tell_since_when() -> None:
    judged = clean()
    asked = Asked(pid=51877, job=judged.frame.jobs[0])
    assert "one look cannot see a stall" not in main(judged, once=True, asked=asked)
    blank = without_probes(judged)
    asked = Asked(pid=51877, job=blank.frame.jobs[0])
    assert "one look cannot see a stall" in main(blank, once=True, asked=asked)


@pytest.mark.parametrize("width", [60, 80, 132])
def test_no_tick_while_rules_cannot_look(width: int) -> None:
    not_evaluated = (NotEvaluated(id="HW201", name="thermal slowdown", reason="no permission"),)
    text = main(msgspec.structs.replace(clean(), not_evaluated=not_evaluated), width)
    assert TICK not in text and "1 of 19 rules not evaluated: no permission" in text


def test_findings_do_not_hide_that_rules_cannot_look() -> None:
    not_evaluated = (NotEvaluated(id="HW201", name="thermal slowdown", reason="no permission"),)
    active = (finding("HW208", "GPU lost", "error", 3),)
    text = main(msgspec.structs.replace(clean(), findings=active, not_evaluated=not_evaluated))
    assert "1 of 19 rules not evaluated" in text


@pytest.mark.parametrize(
    "scenario", [name for name, each in SCENARIOS.items() if each.finds or name == "healthy"]
)
@pytest.mark.unmeasured
def test_where_something_is_wrong_nothing_is_all_clear(scenario: str) -> None:
    first, second, _ = played(scenario)
    for judged in (first, second):
        assert (TICK in main(judged)) is (scenario == "healthy")


@pytest.mark.parametrize("width", [80, 132])
@pytest.mark.parametrize("found", [False, True])
def test_the_findings_screen_names_the_rules_that_cannot_look(found: bool, width: int) -> None:
    why = "the ranks have no probe: start the job under `gputop run`"
    not_evaluated = (
        NotEvaluated(id="RUN407", name="straggler", reason=why),
        NotEvaluated(id="HW201", name="thermal slowdown", reason="no permission"),
        NotEvaluated(id="HW206", name="Xid", reason="no permission"),
    )
    active = (finding("HW202", "hardware slowdown", "error", 3),) if found else ()
    judged = msgspec.structs.replace(clean(), findings=active, not_evaluated=not_evaluated)
    lines = FindingScreen().draw(view(judged), width, 90).lines
    text = " ".join(" ".join(map(text_of, lines)).split())
    assert f"{why}: RUN407" in text and "no permission: HW201, HW206" in text
    assert ("3 rules not evaluated" if found else "3 of 19 rules not evaluated") in text
