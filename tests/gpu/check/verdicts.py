"""Runs each kind of job on the GPU and compares gputop's verdict with what is wrong with it."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from . import smi
from .expected import EXPECTED, THRESHOLDS, judge
from .jobs import Job, JobFailed, file_of
from .section import Section
from .setting import Setting, ask, gputop

AROUND_SECONDS = 8.0
"""That a job takes beside being watched: its start on the GPU, the end of the watch, its own end."""

_ALARM_SECONDS = 5.0


class Case(NamedTuple):
    """A job with or without the probe, and what must be found."""

    name: str
    probe: bool
    expected: frozenset[str]


def cases() -> list[Case]:
    """Those with the probe first, as they have most to tell; what may leave the GPU stuck comes last."""
    ordered = [Case(each.job, True, each.with_probe) for each in EXPECTED]
    ordered += [Case(each.job, False, each.without) for each in EXPECTED]
    return sorted(ordered, key=lambda case: case.name.startswith("hung"))


def run(setting: Setting, said: Section) -> None:
    """Watch one job after the other; the next one loads torch meanwhile."""
    if setting.no_jobs:
        said.skipped(f"{setting.no_jobs}: no job was run")
        return
    thresholds = file_of(setting, "thresholds.toml")
    thresholds.write_text(THRESHOLDS)
    if setting.device == "cpu":
        said.skipped("on the CPU the jobs are run, and nothing is judged")
    for case, job in _started(setting, said):
        try:
            job.begin(setting.left_seconds - 1)
            report = _diagnose(job, thresholds, setting)
        except (JobFailed, RuntimeError, subprocess.TimeoutExpired) as error:
            said.failure(f"{job.title}: {error}")
            continue
        _tell(case, job, report, setting, said)
        if case.name == "healthy" and case.probe:
            try:
                _compare_under_load(setting, said)
            except (RuntimeError, subprocess.TimeoutExpired) as error:
                said.failure(f"beside {job.title}: {error}")


def _started(setting: Setting, said: Section) -> Iterator[tuple[Case, Job]]:
    """Each job, as long as there is time for another; it is ended when the next one is asked for."""
    waiting = cases()
    upcoming: Job | None = _job(waiting[0], setting)
    while waiting and upcoming is not None:
        case, job = waiting.pop(0), upcoming
        if setting.left_seconds < setting.watch_seconds + AROUND_SECONDS:
            job.end()
            waiting.insert(0, case)
            break
        upcoming = _job(waiting[0], setting) if waiting else None
        with job:
            yield case, job
    if waiting:
        names = ", ".join(f"{case.name} ({'probe' if case.probe else 'bare'})" for case in waiting)
        said.failure(f"no time was left for {names}")


def _job(case: Case, setting: Setting) -> Job:
    return Job(case.name, setting, probe=case.probe)


def _diagnose(job: Job, thresholds: Path, setting: Setting) -> dict[str, Any]:
    """As a user asks.

    Raises:
        RuntimeError: there is no report.
    """
    seconds = setting.watch_seconds
    options = ("--for", f"{seconds:g}", "--format", "json", "--rules", str(thresholds))
    words = gputop("diagnose", str(job.pid), *options)
    done = ask(words, seconds + 25)
    if not done.stdout.strip():
        raise RuntimeError(f"diagnose ended with {done.returncode}: {done.stderr.strip()[-300:]}")
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def _tell(case: Case, job: Job, report: dict[str, Any], setting: Setting, said: Section) -> None:
    findings = [each for each in report["findings"] if each["state"] != "cleared"]
    told = {each["id"]: each["severity"] for each in findings if case.expected or _lasts(each)}
    wrong = judge(case.expected, told) if setting.device == "cuda" else ""
    if not job.lives:
        wrong = f"the job has ended: {job.output()}"
    outcome = "not judged" if setting.device == "cpu" else ("WRONG" if wrong else "right")
    wanted = " or ".join(sorted(case.expected)) or "nothing"
    said.text(f"### {job.title}: {outcome}\n\nExpected: {wanted}.")
    said.table(("rule", "name", "severity", "state", "evidence"), _rows(findings))
    if wrong:
        said.failure(f"{job.title}: {wrong}")


def _lasts(finding: dict[str, Any]) -> bool:
    """One that held for a moment only would be nobody's false alarm."""
    seconds: float = finding["seen_duration_seconds"]
    return finding["state"] == "active" or seconds >= _ALARM_SECONDS


def _rows(findings: list[dict[str, Any]]) -> Iterator[tuple[str, ...]]:
    for each in findings:
        evidence = (f"{proof['label']} {proof['value']}" for proof in each["evidence"])
        yield each["id"], each["name"], each["severity"], each["state"], "; ".join(evidence)


def _compare_under_load(setting: Setting, said: Section) -> None:
    if setting.device == "cuda" and shutil.which("nvidia-smi"):
        said.text("### Every value beside nvidia-smi, with that job on the GPU")
        pair = smi.take(min(15.0, setting.left_seconds))
        smi.keep(pair, setting, "loaded")
        smi.tell(pair, said)
