"""What a front end may ask of its collector, beside samples."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial

import msgspec

from ..scheduling.process_limit import SENTENCE
from ..sources.procfs.target import TargetError, environment_of, send_signal
from ..sources.requests import Requests
from ..sources.stack_requests import StackRequests
from ..sources.stacks.exact_stack import take_exact
from ..sources.watchlist import Watchlist
from ..wire.codec import Message
from ..wire.command import (
    Attach,
    Command,
    Detach,
    Dump,
    LookAtWaits,
    SendSignal,
    SetInterval,
    ShowEnvironment,
    Stop,
    TakeExactStack,
    TakeStacks,
)
from ..wire.messages import Reply
from .collector import Collector


def obey(
    command: Command,
    *,
    collector: Collector,
    watchlist: Watchlist,
    requests: StackRequests,
    waits: Requests,
    send: Callable[[Message], None],
) -> None:
    """Do it, and answer; what takes long answers later, from a thread of its own.

    Args:
        command: the one to stop is none of these.
        collector: whose turns it may change.
        watchlist: of processes.
        requests: for stacks.
        waits: requests for what processes wait for.
        send: takes the answer.
    """
    ok, message = True, ""
    data: dict[str, object] = {}
    match command:
        case Stop():
            return  # who reads the commands ends at once, and has loaded nothing of this
        case SetInterval(seconds=seconds):
            data = {"seconds": collector.set_interval(seconds)}
        case Attach(pid=pid):
            watchlist.attach(pid)
            collector.hurry()
        case Detach(pid=pid):
            watchlist.detach(pid)
        case TakeStacks(pids=wanted, seconds=seconds, shares=shares):
            if requests.want(wanted, seconds, shares=shares):
                collector.hurry()  # a request that is renewed, as with every sample, must not bring one
        case LookAtWaits(pids=wanted, seconds=seconds):
            if waits.want(wanted, seconds):
                collector.hurry()
        case Dump():
            collector.hurry()
        case TakeExactStack():
            # It may take seconds, in which other commands must be obeyed.
            ok, message = _started(partial(_take_exact, command, send))
            if ok:
                return
        case SendSignal() | ShowEnvironment():
            try:
                data = _on_target(command)
            except TargetError as error:
                ok, message = False, str(error)
    send(Reply(command_id=command.command_id, ok=ok, message=message, data=data))


def _started(work: Callable[[], None]) -> tuple[bool, str]:
    try:
        threading.Thread(target=work, name="exact stack", daemon=True).start()
    except RuntimeError:
        return False, SENTENCE
    return True, ""


def _take_exact(command: TakeExactStack, send: Callable[[Message], None]) -> None:
    number = command.command_id
    try:
        reading = take_exact(command.pid, command.start_time_seconds, native=command.native)
    except TargetError as error:
        send(Reply(command_id=number, ok=False, message=str(error)))
    else:
        data = {"stack": msgspec.to_builtins(reading)}
        send(Reply(command_id=number, ok=True, data=data))


def _on_target(command: SendSignal | ShowEnvironment) -> dict[str, object]:
    if isinstance(command, SendSignal):
        send_signal(command.pid, command.start_time_seconds, command.signal)
        return {}
    return {"environment": environment_of(command.pid, command.start_time_seconds)}
