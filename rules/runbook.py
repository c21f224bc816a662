"""One rule as a page for people, made from its class: the only place where it is written down."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Mapping

import msgspec

from .catalogue import RULES
from .finding import Severity
from .rule import Rule, Threshold
from .suggestion import suggestion

SECTIONS = ("Meaning", "Impact", "Diagnosis", "Mitigation")

_HEADING = re.compile(rf"^({'|'.join(SECTIONS)}):\n", re.MULTILINE)


class UnknownRule(LookupError):
    """There is no such rule. The text is one sentence for people."""


class Runbook(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that can be said of a rule without having looked at a machine."""

    id: str
    name: str
    severity: Severity
    """Of a plain case."""
    severity_words: str
    """From the least to the worst that evidence may make of it."""
    sections: Mapping[str, str]
    """Title, one of `SECTIONS` in that order → text, one paragraph."""
    thresholds: Mapping[str, Threshold]
    needs: tuple[str, ...]
    needs_any: tuple[str, ...]
    """At least one of these."""
    hold_seconds: float
    clear_seconds: float
    explains: tuple[str, ...]
    explained_by: tuple[str, ...]
    next_step: str


def find(rule_id: str) -> type[Rule]:
    """The rule of that id, however written.

    Raises:
        UnknownRule: there is none.
    """
    by_id = {rule.id: rule for rule in RULES}
    rule = by_id.get(rule_id.strip().upper())
    if rule is None:
        hint = suggestion(rule_id, by_id) or "; gputop rules lists them"
        raise UnknownRule(f"there is no rule {rule_id}{hint}")
    return rule


def runbook(rule: type[Rule] | Rule) -> Runbook:
    """Its page."""
    return Runbook(
        id=rule.id,
        name=rule.name,
        severity=rule.severity,
        severity_words=severity_words(rule),
        sections=sections(inspect.getdoc(rule if isinstance(rule, type) else type(rule)) or ""),
        thresholds=rule.thresholds,
        needs=rule.needs,
        needs_any=rule.needs_any,
        hold_seconds=rule.hold_seconds,
        clear_seconds=rule.clear_seconds,
        explains=rule.explains,
        explained_by=tuple(other.id for other in RULES if rule.id in other.explains),
        next_step=rule.next_step,
    )


def severity_words(rule: type[Rule] | Rule) -> str:
    """``error``, or where evidence decides ``info to warning``."""
    return (
        " to ".join((rule.severities[0], rule.severities[-1])) if rule.severities else rule.severity
    )


def sections(docstring: str) -> dict[str, str]:
    """The parts of a rule's docstring, each as one line without its indentation."""
    parts = _HEADING.split(docstring)
    return {
        title: " ".join(textwrap.dedent(text).split())
        for title, text in zip(parts[1::2], parts[2::2], strict=True)
    }
