"""Hold-down both ways, causes and symptoms, and what happens to a rule that breaks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gputop.probes.model.frame import Frame
from gputop.probes.model.gpu_frames import GpuFrame
from gputop.probes.model.vocabulary import GpuStatus
from gputop.rules.engine import KEEP_CLEARED_SECONDS, Engine
from gputop.rules.finding import Severity, Subject, Verdict
from gputop.rules.history import History
from gputop.rules.rule import Rule, Scene

SUBJECT = Subject(kind="gpu", id="0", gpu=0)


Says = Callable[[float], bool | None]


def frame(second: float, boot_id: str = "a") -> Frame:
    return Frame(
        time_seconds=1e9 + second, monotonic_seconds=100 + second, node="n", boot_id=boot_id
    )


class Scripted(Rule):
    """A rule that says what it is made to."""

    id = "HW299"
    name = "scripted"
    severity = "warning"
    hold_seconds = 5.0
    clear_seconds = 3.0
    next_step = "Do nothing."

    def __init__(
        self,
        says: Says,
        severity: Callable[[float], Severity | None] = lambda _: None,
        since: Callable[[float], float | None] = lambda _: None,
    ) -> None:
        super().__init__()
        self.says, self.how_bad, self.since = says, severity, since

    def judge(self, scene: Scene) -> Iterable[Verdict]:
        second = scene.frame.monotonic_seconds - 100
        since = self.since(second)
        yield Verdict(
            subject=SUBJECT,
            holds=self.says(second),
            severity=self.how_bad(second),
            since_monotonic_seconds=None if since is None else 100 + since,
        )


def states(rule: Rule, seconds: int, step: float = 1.0) -> list[str]:
    """The state of its finding in each frame, or ``-``."""
    engine = Engine((rule,))
    found: list[str] = []
    for number in range(int(seconds / step) + 1):
        findings = engine.judge(frame(number * step)).findings
        found.append(findings[0].state if findings else "-")
    assert not engine.broken
    return found


def test_it_counts_only_after_it_has_held() -> None:
    assert states(Scripted(lambda _: True), 6) == ["pending"] * 5 + ["active"] * 2


def test_it_clears_only_after_it_has_been_gone_for_a_while() -> None:
    found = states(Scripted(lambda second: second <= 6), 10)
    assert found[5:] == ["active", "active", "active", "active", "cleared", "cleared"]


def test_a_gap_shorter_than_clearing_does_not_end_it() -> None:
    found = states(Scripted(lambda second: second not in (7, 8)), 12)
    assert set(found[5:]) == {"active"}


def test_a_pending_one_that_stops_is_gone_at_once() -> None:
    assert states(Scripted(lambda second: second < 3), 4) == ["pending"] * 3 + ["-"] * 2


def test_unknown_keeps_an_active_one_for_the_time_of_clearing() -> None:
    found = states(Scripted(lambda second: True if second <= 6 else None), 10)
    assert found[7:] == ["active", "active", "cleared", "cleared"]


def test_one_unknown_moment_does_not_restart_the_wait() -> None:
    found = states(Scripted(lambda second: None if second == 3 else True), 6)
    assert found == ["pending"] * 5 + ["active"] * 2


def test_unknown_alone_is_no_finding() -> None:
    assert set(states(Scripted(lambda _: None), 10)) == {"-"}


def test_a_subject_that_vanishes_clears() -> None:
    class Vanishing(Scripted):
        def judge(self, scene: Scene) -> Iterable[Verdict]:
            return super().judge(scene) if scene.frame.monotonic_seconds <= 106 else ()

    assert states(Vanishing(lambda _: True), 9)[-1] == "cleared"


def test_time_reported_by_the_evidence_counts_towards_the_wait() -> None:
    found = states(Scripted(lambda _: True, since=lambda _: -20.0), 1)
    assert found == ["active", "active"]


def test_a_beginning_in_the_future_is_now() -> None:
    found = states(Scripted(lambda _: True, since=lambda second: second + 50), 6)
    assert found == ["pending"] * 5 + ["active"] * 2


def test_it_gets_worse_only_once_the_worse_has_held_and_better_only_once_it_is_gone() -> None:
    rule = Scripted(
        lambda _: True, severity=lambda second: "error" if 10 <= second <= 20 else "info"
    )
    engine = Engine((rule,))
    found = [engine.judge(frame(second)).findings[0].severity for second in range(30)]
    assert found[9:16] == ["info"] * 6 + ["error"]
    assert found[20:24] == ["error"] * 3 + ["info"]


def test_severity_does_not_flicker() -> None:
    rule = Scripted(lambda _: True, severity=lambda second: "error" if second % 2 else "warning")
    engine = Engine((rule,))
    found = {engine.judge(frame(second)).findings[0].severity for second in range(40)}
    assert found == {"warning"}


def test_cleared_ones_are_kept_ten_minutes() -> None:
    engine = Engine((Scripted(lambda second: second <= 6),))
    for second in range(int(KEEP_CLEARED_SECONDS) + 8):
        judgement = engine.judge(frame(second))
    assert [finding.state for finding in judgement.findings] == ["cleared"]
    assert judgement.findings[0].cleared_seconds == 1e9 + 9
    for second in range(int(KEEP_CLEARED_SECONDS) + 8, int(KEEP_CLEARED_SECONDS) + 12):
        judgement = engine.judge(frame(second))
    assert judgement.findings == ()


def test_a_rule_that_breaks_is_left_out_and_the_others_go_on() -> None:
    class Broken(Scripted):
        id = "HW298"

        def judge(self, scene: Scene) -> Iterable[Verdict]:
            raise ZeroDivisionError("no")

    engine = Engine((Broken(lambda _: True), Scripted(lambda _: True)))
    for second in range(7):
        judgement = engine.judge(frame(second))
    assert engine.broken == {"HW298": "ZeroDivisionError: no"}
    assert [finding.id for finding in judgement.active] == ["HW299"]


@pytest.mark.parametrize("then", [frame(-50), frame(20, boot_id="b")])
def test_after_a_step_back_or_a_restart_of_the_node_it_begins_anew(then: Frame) -> None:
    engine = Engine((Scripted(lambda _: True),))
    for second in range(7):
        engine.judge(frame(second))
    judgement = engine.judge(then)
    assert [finding.state for finding in judgement.findings] == ["pending"]
    assert len(engine.history) == 1


@given(st.lists(st.tuples(st.integers(1, 4), st.integers(1, 6)), max_size=20))
def test_what_flips_faster_than_it_must_hold_never_counts(runs: list[tuple[int, int]]) -> None:
    says = [held for on, off in runs for held in [True] * on + [False] * off]
    found = states(Scripted(lambda second: says[int(second)]), len(says) - 1) if says else []
    assert set(found) <= {"pending", "-"}


@given(st.lists(st.sampled_from([True, False, None]), min_size=1, max_size=60))
def test_whatever_a_rule_says_active_lasts_for_the_time_of_clearing(
    says: list[bool | None],
) -> None:
    found = states(Scripted(lambda second: says[int(second)]), len(says) - 1)
    spans = "".join("a" if state == "active" else "." for state in found).split(".")
    inner = [span for span in spans[:-1] if span]  # the last one may go on
    assert all(len(span) >= Scripted.clear_seconds for span in inner)


def gpu(index: int, job: str | None = "j") -> Subject:
    return Subject(kind="gpu", id=str(index), gpu=index, job=job)


def test_history_is_bounded_and_forgets_whom_it_has_not_seen() -> None:
    history = History(seconds=50)
    for second in range(300):
        gpus = (
            GpuFrame(index=0, monotonic_seconds=second, power_watts=float(second)),
            GpuFrame(index=1, monotonic_seconds=second, power_watts=7.0),
        )
        seen = gpus if second < 100 else gpus[:1]
        history.add(msgspec.structs.replace(frame(second), gpus=seen))
        history.add(msgspec.structs.replace(frame(second - 1), gpus=gpus))
    assert 50 <= len(history) < 50 + 65
    assert history.seconds() == len(history) - 1
    assert history.gpu(0, "power_watts").blocks(1, 2) == [298.0, 299.0]
    assert history.gpu(0, "power_watts").mean(10) == 294.0
    assert history.gpu(1, "power_watts").blocks(1, 2) == []


def test_blocks_of_the_past_stay_together_while_values_come() -> None:
    history = History()
    for second in range(10):
        watts = None if second in (4, 5, 6, 7) else float(second)
        gpus = (GpuFrame(index=0, monotonic_seconds=second, power_watts=watts),)
        history.add(msgspec.structs.replace(frame(second), gpus=gpus))
    assert history.gpu(0, "power_watts").blocks(4, 9) == [1.5, None, 8.5]
    assert history.gpu(0, "power_watts").blocks(4, 2) == [None, 8.5]
    assert history.gpu(0, "power_watts").blocks(5, 2) == [1.5, 8.5]


def test_blocks_stay_what_they_are_when_the_oldest_values_are_forgotten() -> None:
    history = History(seconds=20)
    for second in range(400):
        gpus = (GpuFrame(index=0, monotonic_seconds=second, power_watts=float(second)),)
        history.add(msgspec.structs.replace(frame(second), gpus=gpus))
        newest = second // 3 * 3
        expected = [(newest + second) / 2, newest - 2.0, newest - 5.0, newest - 8.0]
        found = history.gpu(0, "power_watts").blocks(3, 4)
        assert found == expected[: second // 3 + 1][::-1]
    assert len(history) < 100


def test_history_tells_missing_from_zero_and_how_much_it_covers() -> None:
    history = History()
    for second, ratio in enumerate((0.5, None, 0.0, None)):
        status: GpuStatus = "ok" if second != 3 else "stale"
        gpu_frame = GpuFrame(
            index=0, monotonic_seconds=second, utilization_ratio=ratio, status=status
        )
        history.add(msgspec.structs.replace(frame(second), gpus=(gpu_frame,)))
    series = history.gpu(0, "utilization_ratio")
    assert series.blocks(1, 4) == [0.5, None, 0.0, None]
    assert series.mean(10) == 0.25
    assert series.covered(10) == 2
    assert history.gpu(1, "utilization_ratio").mean(10) is None
    history.clear()
    assert len(history) == 0
    assert series.window(10) == []


class Waits(Rule):
    """One label on the ends of the wait-for graph; says what it is told to."""

    name = "waits"
    severity = "warning"
    severities = ("info", "warning")
    hold_seconds = 5.0
    clear_seconds = 3.0
    about_waiting = True
    next_step = "Wait."

    def __init__(self, rule_id: str, spans: Mapping[range, Severity]) -> None:
        super().__init__()
        self.id = rule_id  # type: ignore[misc]
        self._spans = spans

    def judge(self, scene: Scene) -> Iterable[Verdict]:
        second = round(scene.frame.monotonic_seconds - 100)
        for span, severity in self._spans.items():
            if second in span:
                yield Verdict(
                    subject=Subject(kind="rank", id="r3", rank=3, job="j"),
                    holds=True,
                    severity=severity,
                    since_monotonic_seconds=40.0,
                )


def told(first: Mapping[range, Severity], second: Mapping[range, Severity]) -> list[set[str]]:
    """Which of two causes count, second by second."""
    engine = Engine([Waits("RUN901", first), Waits("RUN902", second)])
    judged = [engine.judge(frame(second)) for second in range(20)]
    return [{finding.id for finding in each.active} for each in judged]


def test_a_change_of_cause_passes_its_own_hold_down_and_closes_the_old_one() -> None:
    by_second = told({range(6): "warning"}, {range(6, 20): "warning"})
    assert by_second[:11] == [{"RUN901"}] * 11, "until the new one counts, the old one stands"
    assert by_second[11:] == [{"RUN902"}] * 9


def test_a_cause_that_is_seen_for_a_moment_changes_nothing() -> None:
    by_second = told({range(6): "warning", range(8, 20): "warning"}, {range(6, 8): "warning"})
    assert by_second == [{"RUN901"}] * 20


def test_what_only_calms_counts_at_once() -> None:
    by_second = told({range(6): "warning"}, {range(6, 20): "info"})
    assert by_second[6:] == [{"RUN902"}] * 14
