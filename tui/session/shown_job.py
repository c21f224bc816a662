"""The job that screens of a job show."""

from __future__ import annotations

from ...probes.model.job_frames import JobFrame
from .job_order import jobs_in_order
from .view import View


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
