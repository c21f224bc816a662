"""The process that a key was pressed on, where something can be asked of it."""

from __future__ import annotations

from ...probes.model.process_frames import ProcessFrame
from ..drawing.target import Target, process_target
from ..session.app_like import AppLike
from ..session.view import WatchLike


def asked_process(
    app: AppLike, watch: WatchLike, target: Target, *, unreal: str, done: str
) -> ProcessFrame | None:
    """That process, or ``None`` after the user has been informed why not.

    Args:
        app: tells the user.
        watch: where processes are from.
        target: stands for the process.
        unreal: what is to be said of a simulated one.
        done: what is to be done to it, as in "nothing can be … any more".
    """
    judgement = app.reader.shown
    processes = judgement.frame.processes if judgement else ()
    process = next((each for each in processes if process_target(each) == target), None)
    if process is None:
        app.tell("that process has exited")
    elif watch.simulated:
        app.tell(f"pid {process.pid} is not real: {unreal}")
    elif app.reader.ended is not None:
        app.tell(f"the collector has ended: nothing can be {done} any more")
    else:
        return process
    return None
