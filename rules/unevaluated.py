"""Which rules cannot look: where a signal is missing, finding nothing is no good news."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from .finding import Blind, Verdict
from .rule import Rule

_EACH_COUNTS = frozenset({"gpu", "host"})
"""Of these one that cannot be looked at is one too many; of others, such as processes of other users,
some never can."""


def blind_rule(rule: Rule, verdicts: Sequence[Verdict]) -> Blind | None:
    """Whether these verdicts of a rule leave out what it should have looked at, and why."""
    unread = [verdict for verdict in verdicts if verdict.unread]
    if not unread:
        return None
    if len(unread) < len(verdicts) and unread[0].subject.kind not in _EACH_COUNTS:
        return None
    reasons = Counter(verdict.unread for verdict in unread)
    return Blind(id=rule.id, name=rule.name, reason=reasons.most_common(1)[0][0])


def broken_rule(rule: Rule, why: str) -> Blind:
    """A rule that raised, and is left out from then on."""
    return Blind(id=rule.id, name=rule.name, reason=f"the rule itself failed ({why})")
