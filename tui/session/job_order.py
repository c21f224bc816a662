"""Which jobs screens list, and in which order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from ...probes.model.job_frames import JobFrame
from ..drawing import format
from ..drawing.glyphs import DOT
from ..drawing.lines import plain
from .view import View

DEAD_SHOWN_SECONDS = 3600.0
"""So long it is reported what has become of a dead job; its probe's pages stay for a day."""


def jobs_in_order(view: View) -> list[JobFrame]:
    """The one asked for first, then the largest; those of which nobody lives last, the latest first.

    Of the dead ones only the one asked for, or, where none was, those that died lately: pages stay for
    a day, and say nothing of any other job.
    """
    asked = view.asked
    wanted = asked.job.id if asked and asked.job else None
    shown = [
        job
        for job in view.frame.jobs
        if (age := died_seconds(job)) is None
        or job.id == wanted
        or (asked is None and age < DEAD_SHOWN_SECONDS)
    ]

    def place(job: JobFrame) -> tuple[bool, bool, float, int, str]:
        age = died_seconds(job)
        return job.id != wanted, age is not None, age or 0.0, -len(job.living), job.id

    return sorted(shown, key=place)


def died_seconds(job: JobFrame) -> float | None:
    """How long ago the last of its ranks died; ``None`` while one lives."""
    if not job.ranks or job.living:
        return None
    return min(rank.ended_age_seconds or 0.0 for rank in job.ranks)


def name_words(job: JobFrame) -> str:
    """What it is called; never empty."""
    return plain(job.name) or "job"


def count_words(job: JobFrame) -> str:
    """``2 ranks of 16``."""
    count = format.counted(len(job.ranks), "rank")
    return f"{count} of {job.world_size}" if (job.world_size or 0) > len(job.ranks) else count


def tab_words(job: JobFrame, labels: Mapping[str, str]) -> str:
    """Its name, how large it is, and that it is dead where it is.

    Args:
        job: of which.
        labels: for jobs whose name others have too, what to call them.
    """
    words = f"{plain(labels.get(job.id, '')) or name_words(job)} {count_words(job)}"
    age = died_seconds(job)
    return words if age is None else f"{words} {DOT} ended {format.duration(age)} ago"


def labels_of_one_name(view: View) -> Mapping[str, str]:
    """Job id → short name, of the jobs that are called as another one is."""
    names = Counter(job.name for job in view.frame.jobs)
    labels = view.job_labels
    return {
        job.id: labels[job.id]
        for job in view.frame.jobs
        if names[job.name] > 1 and job.id in labels
    }


def no_job_words(view: View) -> str:
    """Why there is no job to show."""
    asked = view.asked
    if asked is None:
        return "no training job is known on this node"
    if asked.over_seconds is None:
        return f"process {asked.pid} leads to no training job"
    return f"{asked_words(view)} has ended {format.duration(asked.over_seconds)} ago"


def asked_words(view: View) -> str:
    """What to call that which was asked for."""
    asked = view.asked
    if asked is None:
        return "job"
    return name_words(asked.job) if asked.job else f"process {asked.pid}"


class ShownJob:
    """Chosen on one screen, it is shown on the others too; until then it is the first."""

    def __init__(self) -> None:
        self._id = ""

    def of(self, view: View) -> JobFrame | None:
        """The one chosen; the first where that is gone."""
        jobs = jobs_in_order(view)
        return next((job for job in jobs if job.id == self._id), next(iter(jobs), None))

    def move(self, view: View, steps: int) -> bool:
        """Choose the one so many places further on; whether there is any."""
        job = self.of(view)
        if job is None:
            return False
        ids = [each.id for each in jobs_in_order(view)]
        self._id = ids[(ids.index(job.id) + steps) % len(ids)]
        return True

    def forget(self) -> None:
        """Show the first again."""
        self._id = ""
