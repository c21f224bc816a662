"""The jobs of this node, looked for when a key asks to watch another one."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from textual.message import Message

from ...probes.model.job_frames import JobFrame
from ..session.app_like import AppLike
from ..session.view import WatchLike


class JobsFound(Message):
    """The look at all processes is over."""

    def __init__(self, jobs: Sequence[JobFrame]) -> None:
        super().__init__()
        self.jobs = jobs


def ask(app: AppLike, watch: WatchLike) -> None:
    """Look for jobs on a thread: on a node with thousands of processes that takes a moment."""
    if watch.simulated:
        app.tell("nothing here is real: there is no other job to watch")
        return

    def look() -> None:
        from ...probes.attach.job_scan import jobs_here

        app.post_message(JobsFound(jobs_here()))

    threading.Thread(target=look, name="jobs", daemon=True).start()
