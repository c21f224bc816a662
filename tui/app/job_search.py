"""The jobs of this node, looked for when a key asks to watch another one."""

from __future__ import annotations

from ..session.app_like import AppLike
from ..session.background import in_background
from ..session.view import WatchLike
from .messages import JobsFound


def ask(app: AppLike, watch: WatchLike) -> None:
    """Look for jobs on a thread: on a node with thousands of processes that takes a moment."""
    if watch.simulated:
        app.tell("nothing here is real: there is no other job to watch")
        return

    def look() -> None:
        from ...probes.attach.job_scan import jobs_here

        app.post_message(JobsFound(jobs_here()))

    why_not = in_background(look, "jobs")
    if why_not:
        app.tell(why_not)
