"""Signalling a process, alone or with all below it: asked and named first, and never in a simulation."""

from __future__ import annotations

import signal
from collections.abc import Sequence

from ...probes.model.process_frames import ProcessFrame
from ..drawing.target import Target
from ..panels.process_table import command_of, role_of
from ..session.app_like import AppLike
from ..session.background import in_background
from ..session.view import WatchLike
from .process_request import asked_process
from .signal_replies import SignalReplies

_STOPPED = frozenset("Tt")
_SIGNALS = {
    "c": signal.SIGCONT,
    "t": signal.SIGTERM,
    "i": signal.SIGINT,
    "9": signal.SIGKILL,
}
_WITH_ALL_BELOW = "b"
_CONTINUE = "c CONT"
_KEYS = "t TERM  i INT  9 KILL"
_NO = "any other key: no"


def ask(app: AppLike, watch: WatchLike, target: Target) -> None:
    """Ask which signal the process is to get, if any."""
    process = asked_process(
        app, watch, target, unreal="nothing can be signalled here", done="signalled"
    )
    if process is not None:
        app.ask(_question(process), lambda key: _answered(app, watch, process, key))


def _question(process: ProcessFrame) -> str:
    role = f" ({role_of(process)})" if role_of(process) else ""
    # What a stopped one needs comes first: our own finding says so.
    order = (_CONTINUE, _KEYS) if process.state in _STOPPED else (_KEYS, _CONTINUE)
    keys = f"{'  '.join(order)}  {_WITH_ALL_BELOW} with all below it  {_NO}"
    return f"signal pid {process.pid}{role}?  {keys}  {command_of(process)}"


def _answered(app: AppLike, watch: WatchLike, process: ProcessFrame, key: str) -> None:
    if key == _WITH_ALL_BELOW:
        _ask_for_all(app, watch, process)
    else:
        _send(app, watch, [process], key)


def _ask_for_all(app: AppLike, watch: WatchLike, process: ProcessFrame) -> None:
    """Look for the processes on a thread, and ask again when it is known how many there are."""

    def look() -> None:
        from ...probes.attach.process_search import processes_below

        below = [
            ProcessFrame(
                pid=each.pid,
                start_time_seconds=each.start_time_seconds,
                monotonic_seconds=process.monotonic_seconds,
            )
            for each in processes_below(process.pid, process.start_time_seconds)
        ]
        app.call_later(_ask_about, app, watch, process, below)

    why_not = in_background(look, "processes below")
    app.tell(why_not or f"looking for what runs below pid {process.pid}")


def _ask_about(
    app: AppLike, watch: WatchLike, process: ProcessFrame, below: Sequence[ProcessFrame]
) -> None:
    if not below:
        app.tell(f"nothing runs below pid {process.pid}: nothing was sent")
        return
    pids = ", ".join(str(each.pid) for each in below)
    question = f"signal pid {process.pid} and the {len(below)} below it?  {_KEYS}  {_CONTINUE}  {_NO}  {pids}"
    # A launcher starts anew what ends below it: it comes first.
    app.ask(question, lambda key: _send(app, watch, [process, *below], key))


def _send(app: AppLike, watch: WatchLike, processes: Sequence[ProcessFrame], key: str) -> None:
    number = _SIGNALS.get(key)
    if number is None:
        app.tell("nothing was sent")
        return
    replies = SignalReplies(number.name, processes[0].pid, len(processes), app.tell_from_thread)
    for process in processes:
        watch.send_signal(process, number, replies.add)
    app.tell(f"{number.name} asked for")
