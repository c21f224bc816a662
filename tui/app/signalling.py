"""Signalling a process: asked and named first, and never in a simulation."""

from __future__ import annotations

import signal

from ...probes.model.process_frames import ProcessFrame
from ...probes.wire.messages import Reply
from ..drawing.target import Target
from ..panels.process_table import command_of, role_of
from ..session.app_like import AppLike
from ..session.view import WatchLike
from .process_request import asked_process

_STOPPED = frozenset("Tt")
_SIGNALS = {
    "c": signal.SIGCONT,
    "t": signal.SIGTERM,
    "i": signal.SIGINT,
    "9": signal.SIGKILL,
}


def ask(app: AppLike, watch: WatchLike, target: Target) -> None:
    """Ask which signal the selected process is to get, if any."""
    process = asked_process(
        app, watch, target, unreal="nothing can be signalled here", done="signalled"
    )
    if process is not None:
        app.ask(_question(process), lambda key: _answered(app, watch, process, key))


def _question(process: ProcessFrame) -> str:
    role = f" ({role_of(process)})" if role_of(process) else ""
    goes_on = "c CONT"
    ends = "t TERM  i INT  9 KILL"
    # What a stopped one needs comes first: our own finding says so.
    order = (goes_on, ends) if process.state in _STOPPED else (ends, goes_on)
    keys = f"{'  '.join(order)}  other key: no"
    return f"signal pid {process.pid}{role}?  {keys}  {command_of(process)}"


def _answered(app: AppLike, watch: WatchLike, process: ProcessFrame, key: str) -> None:
    number = _SIGNALS.get(key)
    if number is None:
        app.tell("nothing was sent")
        return
    name = number.name

    def on_reply(reply: Reply) -> None:
        """Called from the worker thread."""
        done = f"{name} was sent to pid {process.pid}"
        app.tell_from_thread(done if reply.ok else f"{name} was not sent: {reply.message}")

    watch.send_signal(process, number, on_reply)
    app.tell(f"{name} asked for")
