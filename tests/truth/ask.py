"""What gputop says of a job: the one place that knows the names in its report."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .start import Setting, gputop

COULD_NOT_LOOK = 2
PATIENCE_SECONDS = 120.0
OF_THE_JOB = ("rank", "job", "process")


@dataclass(frozen=True)
class Told:
    """A finding."""

    id: str
    name: str
    severity: str
    kind: str
    rank: int | None
    active: bool
    text: str

    @property
    def weighty(self) -> bool:
        """Whether somebody would get up for it."""
        return self.active and self.severity != "info"

    @property
    def of_the_job(self) -> bool:
        """Whether it is about the job, not about the machine beside it."""
        return self.kind in OF_THE_JOB

    def __str__(self) -> str:
        whom = self.kind if self.rank is None else f"rank {self.rank}"
        state = "" if self.active else ", pending"
        return f"{self.id} {self.name} ({whom}, {self.severity}{state}): {self.text}"


@dataclass(frozen=True)
class Answer:
    """The end of one watch."""

    findings: tuple[Told, ...]
    could_not_look: str = ""
    """What it said instead; empty where it looked."""

    @property
    def weighty(self) -> tuple[Told, ...]:
        """In the order in which they are shown."""
        return tuple(each for each in self.findings if each.weighty)

    @property
    def alarms(self) -> tuple[Told, ...]:
        """Those of them that are about the job."""
        return tuple(each for each in self.weighty if each.of_the_job)


def ask(pid: int, seconds: float, setting: Setting) -> Answer:
    """Watch it for so long."""
    length = f"{max(seconds, 1.0):.1f}"
    return _answer(["diagnose", str(pid), "--for", length, "--format", "json"], seconds, setting)


def look_once(pid: int, setting: Setting) -> Answer:
    """One frame of it, as a script takes one."""
    return _answer(["--once", "--format", "json", "attach", str(pid)], 0.0, setting)


def _answer(words: list[str], seconds: float, setting: Setting) -> Answer:
    done = subprocess.run(
        [*setting.before, *gputop(*words)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=seconds + PATIENCE_SECONDS,
        check=False,
    )
    if "Traceback" in done.stderr:
        return Answer((), f"a traceback: {done.stderr[-500:]}")
    findings = findings_of(json.loads(done.stdout)) if done.stdout.strip() else ()
    if done.returncode == COULD_NOT_LOOK:
        return Answer(findings, done.stderr.strip() or "exit 2")
    return Answer(findings)


def findings_of(report: Mapping[str, Any]) -> tuple[Told, ...]:
    """The reader of the report: all that this corpus takes from it."""
    return tuple(
        Told(
            id=finding["id"],
            name=finding["name"],
            severity=finding["severity"],
            kind=finding["subject"]["kind"],
            rank=finding["subject"].get("rank"),
            active=finding["state"] == "active",
            text=_text(finding),
        )
        for finding in report["findings"]
    )


def _text(finding: Mapping[str, Any]) -> str:
    proofs = [
        " ".join(str(each[part]) for part in ("signal", "label", "value") if each.get(part))
        for each in finding.get("evidence", ())
    ]
    return "; ".join([*proofs, finding.get("next_step", ""), finding.get("text", "")]).strip("; ")
