"""``gputop rules``: the catalogue, or one rule's runbook."""

from __future__ import annotations

import shutil

from ...rules.runbook import UnknownRule, find, runbook
from ..console.errors import UsageError
from ..console.exits import OK
from ..console.output import say
from ..console.thresholds import thresholds
from ..reports.runbook_text import page_lines, table_lines


def print_rules(rule_id: str | None, settings: str | None) -> int:
    """Print all rules, or one; returns the exit code.

    Args:
        rule_id: of the one.
        settings: file with other thresholds, or ``None``.

    Raises:
        UsageError: when there is no such rule, or the file cannot be used.
    """
    changed = thresholds(settings)
    if rule_id is None:
        say("\n".join(table_lines()))
        return OK
    try:
        rule = find(rule_id)
    except UnknownRule as error:
        raise UsageError(str(error)) from error
    width = min(100, shutil.get_terminal_size((100, 24)).columns)
    page = runbook(rule)
    say("\n".join(page_lines(page, width, changed.get(page.id, {}))))
    return OK
