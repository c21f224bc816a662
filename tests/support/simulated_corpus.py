"""Every scenario of the simulator, watched for minutes: what the rules said, beside what is true.

A row is a `Scenario` in the catalogue and nothing else: it says its cause, whom it is about, its symptoms,
and which rules it only nearly meets. Healthy ones have no cause.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from random import Random

from msgspec.structs import replace

from gputop.probes.derive.cache import DeriveCache
from gputop.probes.derive.frame import derive
from gputop.probes.simulator import SCENARIOS, Scenario, SimulatedNode
from gputop.rules.catalogue import RULES, make_rules
from gputop.rules.engine import Engine
from gputop.rules.finding import Finding
from gputop.tui.drawing.finding_words import subject_text

from support.unmeasured import unmeasured
from truth.statistics import Share

BEFORE_SECONDS = 120.0
"""Before elapsed 0, as a demonstration shows at once."""
MINUTES = 10.0
LOOK_SECONDS = 5.0
"""A look costs 6 ms whatever lies between two of them."""
_UNEVEN_RATIO = 0.35
"""Looks come so much earlier or later: in step with the job's they would see the same part of each of its."""


@dataclass
class Outcome:
    """What was said of one scenario."""

    scenario: Scenario
    first: Finding | None = None
    """Of the last look, if it is a warning or an error."""
    roots: tuple[Finding, ...] = ()
    """Of the last look: what nothing else explains, without information."""
    place: int | None = None
    """Of the cause among them, from 1 on."""
    alarms: dict[str, float] = field(default_factory=dict[str, float])
    """Rule and subject of what should not have been said, and when it was said first."""
    comings: dict[str, int] = field(default_factory=dict[str, int])
    """Of each rule and subject: how often it came to count."""
    flagged_seconds: float | None = None
    """From the onset until the cause was told."""
    gone: tuple[str, ...] = ()
    """What the scenario names and the last look does not have."""

    @property
    def is_healthy(self) -> bool:
        return not self.scenario.finds

    @property
    def is_found(self) -> bool:
        return self.place is not None

    @property
    def is_first(self) -> bool:
        return self.place == 1

    @property
    def is_exact(self) -> bool:
        """The first line is the scripted one, with its severity and subject."""
        wanted = (self.scenario.finds[0], self.scenario.severity, self.scenario.about)
        return self.first is not None and told(self.first) == wanted

    @property
    def flaps(self) -> list[str]:
        return [what for what, times in self.comings.items() if times > 1]


def _key(finding: Finding) -> str:
    return f"{finding.id} {finding.name} ({subject_text(finding.subject)})"


def _counts(finding: Finding, scenario: Scenario) -> bool:
    """Information is no alarm; but it may be all that there is to say."""
    return finding.severity != "info" or finding.id in scenario.finds[:1]


def told(finding: Finding) -> tuple[str, str, str]:
    """Rule, severity, and whom it is about."""
    return (finding.id, finding.severity, subject_text(finding.subject))


@cache
def watched(
    name: str,
    minutes: float = MINUTES,
    look_seconds: float = LOOK_SECONDS,
    *,
    probes: bool = True,
) -> Outcome:
    """Watch the scenario for so long, without what its probes tell if need be."""
    scenario = SCENARIOS[name]
    outcome = Outcome(scenario)
    expected = {*scenario.finds, *scenario.beside}
    node = SimulatedNode(scenario, start_time_seconds=1_793_455_651.0)
    engine, cache_, frame = Engine(make_rules()), DeriveCache(), None
    before: set[str] = set()
    chance = Random(name)
    active: Sequence[Finding] = ()
    with unmeasured():
        for number in range(math.ceil(minutes * 60.0 / look_seconds)):
            early = chance.uniform(-_UNEVEN_RATIO, _UNEVEN_RATIO)
            elapsed = (number + early) * look_seconds - BEFORE_SECONDS
            sample = node.sample_at(elapsed, look_seconds)
            frame = derive(frame, sample if probes else replace(sample, probes=()), cache_)
            active = [each for each in engine.judge(frame).active if _counts(each, scenario)]
            assert not engine.broken, (name, engine.broken)
            now = {_key(each) for each in active if each.explained_by is None}
            for what in now - before:
                outcome.comings[what] = outcome.comings.get(what, 0) + 1
            before = now
            for each in active:
                if each.explained_by is None and each.id not in expected:
                    outcome.alarms.setdefault(_key(each), elapsed)
            is_told = any(each.id in scenario.finds[:1] for each in active)
            if outcome.flagged_seconds is None and is_told:
                outcome.flagged_seconds = elapsed - scenario.onset_seconds
    for each in active:
        if each.explained_by is not None:  # a symptom may be told before its cause counts
            outcome.alarms.pop(_key(each), None)
            outcome.comings.pop(_key(each), None)
    outcome.roots = tuple(each for each in active if each.explained_by is None)
    outcome.first = active[0] if active else None
    kinds = list(dict.fromkeys(each.id for each in outcome.roots))
    if scenario.finds and scenario.finds[0] in kinds:
        outcome.place = kinds.index(scenario.finds[0]) + 1
    outcome.gone = tuple(each for each in scenario.beside if each not in kinds)
    return outcome


@dataclass(frozen=True)
class Score:
    """Over many scenarios."""

    recall: Share
    precision: Share
    top_cause: Share
    right_subject: Share
    false_alarms: int
    """In healthy runs."""
    healthy_hours: float
    flapping: tuple[str, ...]

    def lines(self) -> list[str]:
        """For people."""
        rate = self.false_alarms / self.healthy_hours if self.healthy_hours else 0.0
        return [
            f"recall          {self.recall}",
            f"precision       {self.precision}",
            f"top cause       {self.top_cause}",
            f"right subject   {self.right_subject}",
            f"false alarms    {self.false_alarms} in {self.healthy_hours:.1f} healthy hours, {rate:.2f} an hour",
            f"flapping        {', '.join(self.flapping) or 'none'}",
        ]


def score(outcomes: Iterable[Outcome], minutes: float = MINUTES) -> Score:
    """Pool them."""
    found = list(outcomes)
    faulty = [each for each in found if not each.is_healthy]
    healthy = [each for each in found if each.is_healthy]
    named = [each for each in faulty if each.is_found]
    wrong = sum(len(each.alarms) for each in found)
    right = len(named) + sum(len(each.scenario.beside) - len(each.gone) for each in faulty)
    return Score(
        recall=Share(len(named), len(faulty)),
        precision=Share(right, right + wrong),
        top_cause=Share(sum(each.is_first for each in faulty), len(faulty)),
        right_subject=Share(sum(each.is_exact for each in named), len(named)),
        false_alarms=sum(len(each.alarms) for each in healthy),
        healthy_hours=len(healthy) * minutes / 60.0,
        flapping=tuple(f"{each.scenario.name}: {what}" for each in found for what in each.flaps),
    )


def table(outcomes: Iterable[Outcome]) -> list[str]:
    """A line per scenario."""
    return [_row(each) for each in outcomes]


def _row(each: Outcome) -> str:
    name = each.scenario.name
    alarms = "".join(f"  FALSE {what} at {at:.0f} s" for what, at in each.alarms.items())
    if each.is_healthy:
        return f"{name:26} healthy{alarms or '  quiet'}"
    first = " ".join(told(each.first)) if each.first else "nothing"
    place = f"cause {each.place}." if each.is_found else "MISSED"
    mark = (
        ""
        if each.is_exact
        else f"  WANTED {' '.join((each.scenario.finds[0], each.scenario.severity, each.scenario.about))}"
    )
    flagged = "" if each.flagged_seconds is None else f"  after {each.flagged_seconds:.0f} s"
    missing = f"  MISSED {', '.join(each.gone)}" if each.gone else ""
    return f"{name:26} {place}  {first}{flagged}{mark}{missing}{alarms}"


def coverage() -> list[str]:
    """Which rules have no scenario here, so that only ``tests/rules`` plays them, and which no near miss."""
    causes = {each.finds[0] for each in SCENARIOS.values() if each.finds}
    causes |= {id_ for each in SCENARIOS.values() for id_ in each.beside}
    near = {id_ for each in SCENARIOS.values() for id_ in each.nearly}
    ids = [rule.id for rule in RULES]
    return [
        f"{len(causes)} of {len(ids)} rules are the cause of a scenario; in tests/rules alone: "
        + " ".join(id_ for id_ in ids if id_ not in causes),
        f"{len(near)} have a near miss here; in tests/rules alone: "
        + " ".join(id_ for id_ in ids if id_ not in near),
    ]
