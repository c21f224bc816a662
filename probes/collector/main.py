"""``gputop collect``: samples on standard output, commands on standard input, until that ends."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

from ... import __version__
from ..model.sample import WIRE_SCHEMA_VERSION, Sample
from ..sources.context import Context
from ..sources.requests import Requests
from ..sources.stack_requests import StackRequests
from ..sources.watchlist import Watchlist
from ..wire.codec import Message, Splitter, WireError, decode_command, encode
from ..wire.command import Command, Stop
from ..wire.limits import COLLECTOR_NAME
from ..wire.messages import Hello, Reply
from .collector import Collector
from .registry import Line, chosen, make

COMMANDS_FD = 0
SAMPLES_FD = 1
_LATE_SECONDS = 1.0
_GARBAGE = 20_000
"""New objects after which to look for garbage; a sample has some thousands, and leaves none."""


def collect(
    *,
    interval_seconds: float = 1.0,
    without: frozenset[str] = frozenset(),
    pids: tuple[int, ...] = (),
) -> None:
    """Run until standard input ends, or a signal or a stop command says so. Does not return.

    Args:
        interval_seconds: between samples.
        without: names of sources not to be used.
        pids: processes to watch from the start, whether or not they are on a GPU.
    """
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, _on_signal)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    with contextlib.suppress(OSError):
        Path("/proc/self/comm").write_text(COLLECTOR_NAME)
    watchlist = Watchlist()
    for pid in pids:
        watchlist.attach(pid)
    collector = Collector(socket.gethostname(), boot_id(), interval_seconds)
    send = _Sender()
    send(
        Hello(
            schema_version=WIRE_SCHEMA_VERSION,
            program_version=__version__,
            node=socket.gethostname(),
            pid=os.getpid(),
        )
    )
    requests, waits = StackRequests(), Requests()
    obey = partial(
        _obey,
        collector=collector,
        watchlist=watchlist,
        requests=requests,
        waits=waits,
        send=send,
    )
    threading.Thread(target=_listen, args=(obey,), name="commands", daemon=True).start()
    context = Context(watchlist, requests, collector.add, waits)
    _add(chosen(first=True, without=without), collector, context)
    rest = partial(_add, chosen(first=False, without=without), collector, context)
    if pids:
        rest()  # somebody has come for a job, and wants all of it
    late = not pids
    for sample in collector.samples():
        send(sample)
        if late:
            with contextlib.suppress(RuntimeError):  # no thread may be started now: perhaps later
                threading.Thread(target=_add_late, args=(collector, rest), daemon=True).start()
                late = False
        if not gc.isenabled():  # it is off while a program starts
            gc.freeze()
            gc.set_threshold(_GARBAGE, 10, 10)
            gc.enable()


def boot_id(root: Path = Path("/")) -> str:
    """What names this run of the kernel; empty where it cannot be read."""
    try:
        return (root / "proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def _add(lines: Iterable[Line], collector: Collector, context: Context) -> None:
    for line in lines:
        # Whatever it finds and adds, such as GPUs, is in its line too.
        context.add = partial(collector.add, fills=line.fills)
        collector.add(make(line, context), line.fills)


def _add_late(collector: Collector, rest: Callable[[], None]) -> None:
    """Add the rest after the first sample: loading it takes as long as all that was needed for that."""
    seconds = min(collector.interval_seconds / 2, _LATE_SECONDS)
    time.sleep(seconds)
    rest()
    if collector.interval_seconds > 2 * seconds:
        collector.hurry()  # the second sample is far away


class _Sender:
    """Writes whole messages to standard output, from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()

    def __call__(self, message: Message) -> None:
        try:
            data = memoryview(encode(message))
        except WireError as error:
            if isinstance(message, Sample):
                return  # a monstrous sample is dropped, and the next may fit again
            data = memoryview(encode(Reply(command_id=0, ok=False, message=str(error))))
        with self._lock:
            while data:
                data = data[os.write(SAMPLES_FD, data) :]


def _listen(obey: Callable[[Command], None]) -> None:
    """Read commands until there are no more; nobody is there then to send samples to."""
    splitter = Splitter()
    while data := os.read(COMMANDS_FD, 65536):
        try:
            for body in splitter.feed(data):
                obey(decode_command(body))
        except WireError:
            break
    _end()


def _obey(
    command: Command,
    *,
    collector: Collector,
    watchlist: Watchlist,
    requests: StackRequests,
    waits: Requests,
    send: Callable[[Message], None],
) -> None:
    if isinstance(command, Stop):
        _end()
    from .commands import obey  # with what they load, which no first picture needs

    obey(
        command,
        collector=collector,
        watchlist=watchlist,
        requests=requests,
        waits=waits,
        send=send,
    )


def _on_signal(_number: int, _frame: object) -> None:
    _end()


def _end() -> None:
    # No clean-up: a thread that hangs in the driver would hold it for ever, and the kernel gives
    # back everything that a process has.
    os._exit(0)
