"""What the probe takes out of a running job when asked: its state, a profile, a memory snapshot."""

from __future__ import annotations

import json
import pickletools
from collections import Counter
from pathlib import Path
from typing import Any

from .jobs import Job, JobFailed, file_of
from .section import Section
from .setting import Setting, ask, gputop

STEPS = 3
_ASK_SECONDS = 30.0


def run(setting: Setting, said: Section) -> None:
    """All of one healthy job, which must go on afterwards."""
    if setting.no_jobs:
        said.skipped(f"{setting.no_jobs}: there is no job to ask")
        return
    with Job("healthy", setting, probe=True) as job:
        try:
            job.begin(setting.left_seconds)
        except JobFailed as error:
            said.failure(str(error))
            return
        _status(job, setting, said)
        _profile(job, setting, said)
        _snapshot(job, setting, said)
        if not job.lives:
            said.failure(f"the job has ended meanwhile: {job.output()}")


def _asked(job: Job, setting: Setting, said: Section, *words: str) -> str:
    """The answer; empty where there is none, and that is told."""
    done = ask(gputop("probe", str(job.pid), *words), min(_ASK_SECONDS, setting.left_seconds))
    if done.returncode:
        said.failure(f"probe {words[0]} ended with {done.returncode}: {done.stderr.strip()[-400:]}")
        return ""
    return done.stdout


def _status(job: Job, setting: Setting, said: Section) -> None:
    answer = _asked(job, setting, said, "status", "--format", "json")
    if answer:
        said.text("State of the probe:")
        said.block(json.dumps(json.loads(answer), indent=1))


def _profile(job: Job, setting: Setting, said: Section) -> None:
    path = file_of(setting, "profile.json")
    if not _asked(job, setting, said, "profile", str(STEPS), "-o", str(path)):
        return
    counts = kinds(json.loads(path.read_text(encoding="utf-8")))
    listed = ", ".join(f"{number} {kind}" for kind, number in counts.most_common(8))
    said.text(f"Profile of {STEPS} steps, {path.stat().st_size / 2**20:.1f} MiB: {listed}.")
    wanted = "kernel" if setting.device == "cuda" else "cpu_op"
    if not counts[wanted]:
        said.failure(f"the profile has no {wanted} in it")


def kinds(trace: dict[str, Any]) -> Counter[str]:
    """How many events of each category a Chrome trace has."""
    return Counter(str(event.get("cat", "other")) for event in trace["traceEvents"])


def _snapshot(job: Job, setting: Setting, said: Section) -> None:
    if setting.device == "cpu":
        said.skipped("a memory snapshot is of CUDA's memory")
        return
    path = file_of(setting, "memory.pickle")
    if _asked(job, setting, said, "memory-snapshot", "-o", str(path)):
        _tell_snapshot(path, said)


def _tell_snapshot(path: Path, said: Section) -> None:
    # Read without running it: a pickle is a program.
    strings = {value for _, value, _ in pickletools.genops(path.read_bytes()) if value is not None}
    said.text(f"Memory snapshot: {path.stat().st_size / 2**10:.0f} KiB.")
    if not {"segments", "total_size"} <= strings:
        said.failure("the memory snapshot names no segments")
