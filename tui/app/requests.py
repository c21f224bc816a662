"""What keys ask for: something of a process, stacks, another job. Its code is loaded when it is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...probes.model.process_frames import ProcessFrame
from ..drawing.target import Target

if TYPE_CHECKING:
    from ..session.app_like import AppLike
    from ..session.view import WatchLike


class Requests:
    """Each asks the reader first where it touches the job; answers come as messages.

    Args:
        app: tells the reader what became of it, and shows the answers.
        watch: passes requests on to the collector.
    """

    def __init__(self, app: AppLike, watch: WatchLike) -> None:
        self._app = app
        self._watch = watch

    def signal(self, target: Target) -> None:
        """Ask whether the selected process is to be signalled."""
        from .signalling import ask

        ask(self._app, self._watch, target)

    def environment(self, target: Target) -> None:
        """Ask for the environment of the selected process."""
        from .environment_request import ask

        ask(self._app, self._watch, target)

    def exact_stack(self, target: Target) -> None:
        """Ask whether the selected process is to be stopped for its stack."""
        from .exact_stack_request import ask

        ask(self._app, self._watch, target)

    def to_continue(self, process: ProcessFrame) -> None:
        """Ask whether a process that is stopped after its dump is to go on."""
        from .exact_stack_request import ask_to_continue

        ask_to_continue(self._app, self._watch, process)

    def stacks(self, pids: Sequence[int], seconds: float) -> None:
        """Ask for the stacks of these processes and their shares for so many seconds; 0: no more."""
        self._watch.take_stacks(pids, seconds, shares=seconds > 0)

    def jobs(self) -> None:
        """Look for the jobs of this node, to watch another one."""
        from .job_search import ask

        ask(self._app, self._watch)
