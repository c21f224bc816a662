"""The environment of one process: asked for by a key, shown, and nowhere kept."""

from __future__ import annotations

import msgspec

from ...probes.model.process_frames import ProcessFrame
from ...probes.wire.messages import Reply
from ..drawing.target import Target
from ..session.app_like import AppLike
from ..session.view import WatchLike
from .messages import EnvironmentRead
from .process_request import asked_process


def ask(app: AppLike, watch: WatchLike, target: Target) -> None:
    """Ask the collector for it; the application shows it once it has come."""
    process = asked_process(app, watch, target, unreal="it has no environment", done="read")
    if process is not None:
        watch.show_environment(process, lambda reply: _answered(app, process, reply))


def _answered(app: AppLike, process: ProcessFrame, reply: Reply) -> None:
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
