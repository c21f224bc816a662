"""Short names of jobs, where several are on one node: two ranks of the same number are told apart by them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..probes.model.job_frames import JobFrame

CELLS = 8
"""The longest."""


def job_labels(jobs: Sequence[JobFrame]) -> Mapping[str, str]:
    """Job id → short name, for the jobs whose ranks need it. No two are the same.

    Beside the only one that runs, only the dead need it.
    """
    running = [job for job in jobs if job.living or not job.ranks]
    named = _named(jobs)
    if len(running) == 1:
        del named[running[0].id]
        return named
    return named if len(jobs) > 1 else {}


def _named(jobs: Sequence[JobFrame]) -> dict[str, str]:
    taken: set[str] = set()
    named: dict[str, str] = {}
    numbers: dict[str, int] = {}
    """Stem → the last number that was tried: those below it are taken."""
    for job in jobs:
        stem = job.name.rpartition("/")[2].removesuffix(".py") or "job"
        number = numbers.get(stem, 1)
        name = stem[:CELLS] if number == 1 else _numbered(stem, number)
        while name in taken:
            number += 1
            name = _numbered(stem, number)
        taken.add(name)
        numbers[stem] = number
        named[job.id] = name
    return named


def _numbered(stem: str, number: int) -> str:
    ending = f"·{number}"
    return stem[: CELLS - len(ending)] + ending
