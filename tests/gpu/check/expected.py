"""What each job of ``gpu_jobs.py`` must be found to be, with and without the probe in it."""

from __future__ import annotations

from typing import NamedTuple


class Expected(NamedTuple):
    """Of one job: any of these rules; none at all of a healthy one."""

    job: str
    with_probe: frozenset[str]
    without: frozenset[str]


def _any(*ids: str) -> frozenset[str]:
    return frozenset(ids)


_LOW = ("HW210", "HW211")
"""All that the driver's counters tell where nothing tells of phases."""

EXPECTED = (
    Expected("healthy", _any(), _any()),
    Expected("input-bound", _any("INP701", "INP702", "INP703"), _any(*_LOW, "INP702")),
    Expected("launch-bound", _any("RUN437"), _any(*_LOW, "RUN437")),
    Expected("h2d-bound", _any("INP705", "INP709"), _any(*_LOW, "INP705", "INP709")),
    Expected("near-out-of-memory", _any("MEM306"), _any("MEM301")),
    Expected("hung-in-a-kernel", _any("HW211", "RUN406"), _any("HW211", "RUN406")),
)

THRESHOLDS = """\
[HW210]
window_seconds = 6
startup_seconds = 1
[HW211]
window_seconds = 5
"""
"""Shorter than what serves users: a job is watched for some seconds only."""

HARMLESS = frozenset({"ENV602", "ENV603", "ENV605", "HST111", "HST131", "MEM301", "LNK501"})
"""True of such a job or machine, and no word on the job's health."""


def judge(expected: frozenset[str], told: dict[str, str]) -> str:
    """Why it is wrong; empty if right.

    Args:
        expected: rules of which one must be told.
        told: rule id → severity, of all findings, those too that hold but not for long enough yet.
    """
    if expected:
        if expected & told.keys():
            return ""
        return f"none of {', '.join(sorted(expected))} was found, but {_listed(told)}"
    alarms = {
        rule: severity
        for rule, severity in told.items()
        if severity != "info" and rule not in HARMLESS
    }
    return f"a false alarm: {_listed(alarms)}" if alarms else ""


def _listed(told: dict[str, str]) -> str:
    return ", ".join(f"{rule} ({severity})" for rule, severity in sorted(told.items())) or "nothing"
