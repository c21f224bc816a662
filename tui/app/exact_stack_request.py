"""A stack for which a rank is stopped: only after saying for how long, and looked at afterwards."""

from __future__ import annotations

import signal

import msgspec

from ...probes.attach.stack_pause import expected_pause
from ...probes.model.process_frames import ProcessFrame
from ...probes.model.rank_readings import StackReading
from ...probes.wire.messages import Reply
from ..drawing import format
from ..drawing.target import Target
from ..session.app_like import AppLike
from ..session.view import WatchLike
from .messages import ExactStackRead
from .process_request import asked_process

_NATIVE_KEY = "c"
"""Not ``n``: whoever means no presses that."""


def ask(app: AppLike, watch: WatchLike, target: Target) -> None:
    """Say what it costs, and take it if that is agreed to."""
    process = asked_process(app, watch, target, unreal="it has no other stack", done="dumped")
    if process is not None:
        app.ask(_question(process), lambda key: _answered(app, watch, process, key))


def ask_to_continue(app: AppLike, watch: WatchLike, process: ProcessFrame) -> None:
    """Offer to let a process go on that is stopped after its dump."""

    def on_key(key: str) -> None:
        if key != "c":
            app.tell(f"pid {process.pid} stays stopped: kill -CONT {process.pid} lets it go on")
            return
        watch.send_signal(process, signal.SIGCONT, lambda reply: _continued(app, process, reply))

    app.ask(f"pid {process.pid} is stopped after the dump!  c lets it go on  other key: no", on_key)


def _question(process: ProcessFrame) -> str:
    plain = format.duration(expected_pause(process.threads, native=False))
    native = format.duration(expected_pause(process.threads, native=True))
    return (
        f"stop pid {process.pid} for about {plain} to read its stack whole?  y yes  "
        f"c with C functions too, up to {native}  other key: no"
    )


def _answered(app: AppLike, watch: WatchLike, process: ProcessFrame, key: str) -> None:
    if key not in ("y", _NATIVE_KEY):
        app.tell("it was not stopped")
        return
    app.tell(f"pid {process.pid} is being dumped")

    def on_reply(reply: Reply) -> None:
        """Called from the worker thread."""
        try:
            reading = msgspec.convert(reply.data.get("stack"), StackReading)
        except msgspec.ValidationError:
            why = reply.message or "the collector did not say why"
            app.tell_from_thread(f"pid {process.pid} was not dumped: {why}")
        else:
            app.post_message(ExactStackRead(process, reading))

    watch.take_exact_stack(process, native=key == _NATIVE_KEY, on_reply=on_reply)


def _continued(app: AppLike, process: ProcessFrame, reply: Reply) -> None:
    """Called from the worker thread."""
    done = f"pid {process.pid} goes on"
    app.tell_from_thread(done if reply.ok else f"it was not continued: {reply.message}")
