"""``gputop doctor``: every means, whether it is open here, and the command that would open it."""

from __future__ import annotations

import threading
from argparse import Namespace

import msgspec

from ..probes.feeds import CollectorFeed, FeedError
from ..probes.means import Means, means_here, means_of
from ..probes.sample import Sample, SourceStatus
from .attaching import refusal
from .exits import COULD_NOT_LOOK, OK, complain
from .output import say, say_json

PATIENCE_SECONDS = 4.0
"""For a source that takes its time to answer."""


class Findings(msgspec.Struct, frozen=True, kw_only=True):
    """What is printed as JSON."""

    pid: int | None
    means: tuple[Means, ...]
    sources: tuple[SourceStatus, ...]


def examine(options: Namespace) -> int:
    """Try everything, print it; returns the exit code."""
    pid: int | None = options.pid[0] if options.pid else None
    if pid is not None and (why := refusal(pid)):
        return complain(why, COULD_NOT_LOOK)
    try:
        sources = _sources()
    except FeedError as error:
        complain(str(error))
        sources = ()
    found = Findings(
        pid=pid,
        means=tuple(means_of(pid) if pid is not None else means_here()),
        sources=sources,
    )
    if options.format == "json":
        say_json(msgspec.json.encode(found) + b"\n")
    else:
        say(as_text(found))
    return OK


def as_text(found: Findings) -> str:
    """For people: one line each, what is closed with its reason under it."""
    lines = [] if found.pid is None else [f"process {found.pid}"]
    for means in found.means:
        state = "open" if means.open else "closed"
        lines.append(f"{means.name:22}{state:12}{means.gives} ({means.cost})")
        if means.reason:
            lines.append(f"{'':22}{means.reason}")
    lines += ["", "sources"]
    for source in found.sources:
        lines.append(f"{source.name:22}{source.status:12}{source.reason}".rstrip())
    return "\n".join(lines)


def _sources() -> tuple[SourceStatus, ...]:
    """How the sources of a collector fare on this machine.

    Raises:
        FeedError: when it does not start.
    """
    feed = CollectorFeed(0.5)
    found: tuple[SourceStatus, ...] = ()
    deadline = threading.Timer(2 * PATIENCE_SECONDS, feed.close)  # for a collector that is mute
    deadline.start()
    began: float | None = None
    try:
        for message in feed.messages():
            if not isinstance(message, Sample):
                continue
            began = message.monotonic_seconds if began is None else began
            found = message.sources
            settled = found and all(source.status != "stale" for source in found)
            if settled or message.monotonic_seconds - began >= PATIENCE_SECONDS:
                break
    finally:
        deadline.cancel()
        feed.close()
    return found
