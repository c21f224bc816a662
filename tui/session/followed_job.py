"""The job that the screens were opened for, from frame to frame, and still when it has ended."""

from __future__ import annotations

from ...probes.jobs.ownership import job_of
from ...probes.model.frame import Frame
from ...probes.model.job_frames import JobFrame
from .asked_process import AskedProcess
from .view import Asked

PATIENCE_SECONDS = 5.0
"""A process that was asked for just now is not in the frames that are on their way."""


class FollowedJob:
    """What a process id led to.

    Once a job without probes has ended it is in no frame, and strangers' jobs are: what was asked for
    must not be taken for one of them.
    """

    def __init__(self, pid: int) -> None:
        self._process = AskedProcess(pid)
        self._job: JobFrame | None = None
        self._over_since: float | None = None
        self._first: float | None = None
        self._seen = False

    @property
    def pid(self) -> int:
        """Of the process."""
        return self._process.pid

    def follow(self, frame: Frame) -> None:
        """Look for it in the next frame."""
        now = frame.monotonic_seconds
        self._first = now if self._first is None else self._first
        self._seen |= frame.process(self._process.pid) is not None
        if self._seen or now - self._first >= PATIENCE_SECONDS:
            self._process.follow(frame)
        found = None if self._process.ended else job_of(frame, self._process.pid)
        if found is None and self._job is not None:
            found = next((job for job in frame.running if job.id == self._job.id), None)
        if found is not None and found.living:
            self._job, self._over_since = found, None
        elif self._over_since is None and (self._job is not None or self._process.ended):
            self._over_since = now

    def asked(self, frame: Frame) -> Asked:
        """What became of it, as of a frame."""
        since = self._over_since
        return Asked(
            pid=self._process.pid,
            job=self._job,
            over_seconds=None if since is None else max(0.0, frame.monotonic_seconds - since),
        )
