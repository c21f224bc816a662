"""The environment of one process: asked for by a key, shown, and nowhere kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from textual.message import Message

from ..probes.frame import ProcessFrame
from ..probes.sample import Reply
from .view import Target, WatchLike, process_target

if TYPE_CHECKING:
    from .app import GputopApp


class EnvironmentRead(Message):
    """The answer has come."""

    def __init__(self, process: ProcessFrame, environment: dict[str, str]) -> None:
        super().__init__()
        self.process = process
        self.environment = environment


def ask(app: GputopApp, watch: WatchLike, target: Target) -> None:
    """Ask the collector for it; the application shows it once it has come."""
    judgement = app.reader.shown
    processes = judgement.frame.processes if judgement else ()
    process = next((each for each in processes if process_target(each) == target), None)
    if process is None:
        app.tell("that process is gone")
    elif watch.simulated:
        app.tell(f"pid {process.pid} is not real: it has no environment")
    elif app.reader.ended is not None:
        app.tell("the collector has ended: nothing can be read any more")
    else:
        watch.show_environment(process, lambda reply: _answered(app, process, reply))


def _answered(app: GputopApp, process: ProcessFrame, reply: Reply) -> None:
    """Called from the worker thread."""
    try:
        found = msgspec.convert(reply.data.get("environment"), dict[str, str])
    except msgspec.ValidationError:
        found = None
    if reply.ok and found is not None:
        app.post_message(EnvironmentRead(process, found))
    else:
        why = reply.message or "the collector did not say why"
        app.tell_from_thread(f"the environment of pid {process.pid} was not read: {why}")
