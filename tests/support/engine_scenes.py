"""What test_engine.py and test_causes.py share."""

from __future__ import annotations

import msgspec

from gputop.rules.finding import Finding, Severity, Subject


def finding(
    rule_id: str, subject: Subject, severity: Severity = "warning", state: str = "active"
) -> Finding:
    return msgspec.convert(
        {
            "id": rule_id,
            "name": rule_id,
            "severity": severity,
            "subject": msgspec.to_builtins(subject),
            "state": state,
            "since_seconds": 0.0,
            "seen_seconds": 0.0,
        },
        Finding,
    )
