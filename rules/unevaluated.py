"""Which rules not evaluated: where a signal is missing, finding nothing is no good news."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from .finding import NotEvaluated, Verdict
from .rule import Rule

_EACH_COUNTS = frozenset({"gpu", "host"})
"""Of these one that cannot be looked at is one too many; of others, such as processes of other users,
some never can."""


def why_not_evaluated(rule: Rule, verdicts: Sequence[Verdict]) -> NotEvaluated | None:
    """Whether these verdicts of a rule leave out what it should have looked at, and why."""
    unavailable = [verdict for verdict in verdicts if verdict.unavailable]
    if not unavailable:
        return None
    if len(unavailable) < len(verdicts) and unavailable[0].subject.kind not in _EACH_COUNTS:
        return None
    reasons = Counter(verdict.unavailable for verdict in unavailable)
    return NotEvaluated(id=rule.id, name=rule.name, reason=reasons.most_common(1)[0][0])


def failed_rule(rule: Rule, why: str) -> NotEvaluated:
    """A rule that raised, and is left out from then on."""
    return NotEvaluated(id=rule.id, name=rule.name, reason=f"the rule itself failed ({why})")
