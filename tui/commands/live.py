"""Watching a node: the screen on a terminal, one frame as text anywhere else."""

from __future__ import annotations

import gc
import os
import sys
from argparse import Namespace
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ...probes.feeds.collector_feed import CollectorFeed
from ...probes.feeds.protocol import Feed, FeedError
from ...probes.feeds.wedged import wedged_collectors
from ...probes.model.sample import Sample
from ...rules.catalogue import make_rules
from ...rules.engine import Engine
from ..console.errors import UsageError
from ..console.exits import COULD_NOT_LOOK, complain
from ..console.output import output_is_utf8
from ..console.thresholds import thresholds
from ..drawing.missing import HELP_WITHOUT_DRIVER
from ..session.watch import Watch

if TYPE_CHECKING:
    from ..session.flight_recorder import FlightRecorder

LIVE_SECONDS, RECORDED_SECONDS = 30.0, 600.0
"""That diagnose looks at, unless it is told."""
FIRST_SECONDS = 2.0
"""So long the screen waits to learn that there is no driver at all; then it opens whatever hangs."""


def watch(options: Namespace) -> int:
    """What ``gputop``, ``gputop PID`` and ``gputop demo`` do; returns the exit code."""
    engine = Engine(make_rules(thresholds(options.settings)))
    if options.format and not options.once and sys.stdout.isatty():
        raise UsageError("--format goes with --once")
    once = options.once or not is_screen()
    if options.recording is not None and not once:
        raise UsageError("--from goes with --once, and with diagnose")
    if options.incidents is not None and once:
        raise UsageError("--record-on-finding goes with a screen, and with diagnose")
    if once and not options.once and is_typed_at():
        terminal = os.environ.get("TERM") or "not set"
        complain(f"no screen can be drawn on this terminal (TERM is {terminal}): one frame as text")
    code = _choose(options, screen=not once)
    if code is not None:
        return code
    try:
        feed = _feed(options, once)
        if once:
            from .once import print_once

            code = print_once(Watch(feed, engine, options.pid), options)
            _tell_damage(feed, options)
            return code
        return _show(feed, engine, options)
    except FeedError as error:
        return complain(str(error), COULD_NOT_LOOK)


def report(options: Namespace) -> int:
    """What ``gputop diagnose`` and ``gputop stacks`` do; returns the exit code."""
    engine = Engine(make_rules(thresholds(options.settings)))
    if options.command == "diagnose" and options.seconds is None:
        options.seconds = LIVE_SECONDS if options.recording is None else RECORDED_SECONDS
    code = _choose(options, screen=False)
    if code is not None:
        return code
    try:
        feed = _feed(options, once=False)
    except FeedError as error:
        return complain(str(error), COULD_NOT_LOOK)
    if options.command == "stacks":
        from .stacks import print_stacks

        return print_stacks(Watch(feed, engine, options.pid), options)
    flight = None
    if options.incidents is not None:
        flight = _flight(feed, options, on_notice=complain)
    watched = Watch(feed, engine, options.pid, flight)
    from .diagnose import diagnose

    code = diagnose(watched, options)
    _tell_damage(feed, options)
    return code


def _tell_damage(feed: Feed, options: Namespace) -> None:
    if options.recording is not None:
        from .recorded import tell_damage

        tell_damage(feed)


def _choose(options: Namespace, *, screen: bool) -> int | None:
    """Find the job of a command that is about one; the exit code where there is nothing to do."""
    if options.command not in ("attach", "stacks") and not options.pid:
        return None
    if options.recording is not None:
        return None
    from .job_choice import choose

    return choose(options, screen=screen)


def _show(feed: Feed, engine: Engine, options: Namespace) -> int:
    from ..app.app import GputopApp  # while this is loaded, the collector starts beside it

    gc.freeze()
    gc.enable()

    if isinstance(feed, CollectorFeed) and not (options.pid or options.jobs):
        first = feed.first(FIRST_SECONDS)
        why = why_not(first) if first else ""
        if why:
            feed.close()
            return complain(f"{why}; {HELP_WITHOUT_DRIVER}", COULD_NOT_LOOK)
    _believe_terminal()
    flight = _flight(feed, options, on_notice=lambda sentence: app.tell_from_thread(sentence))
    watched = Watch(feed, engine, options.pid, flight)
    ascii_only = options.ascii or not output_is_utf8()
    app = GputopApp(watched, ascii_only=ascii_only, note=options.note, jobs=options.jobs)
    app.run()
    watched.close()
    if watched.stuck:
        complain(watched.stuck)
    return app.return_code or 0


def _believe_terminal() -> None:
    """COLUMNS and LINES are for a terminal that does not know its size; else they may be stale."""
    columns, lines = os.get_terminal_size(sys.stdout.fileno())
    if columns and lines:
        os.environ.pop("COLUMNS", None)
        os.environ.pop("LINES", None)


def why_not(sample: Sample) -> str:
    """Why this node has no GPUs to show, in words; empty where it has, or the driver is slow."""
    if sample.gpus:
        return ""
    for source in sample.sources:
        if source.name == "nvml" and source.status in ("absent", "denied", "failed", "unsupported"):
            return source.reason
    return ""


def _flight(feed: Feed, options: Namespace, on_notice: Callable[[str], object]) -> FlightRecorder:
    """What keeps the last minutes, and writes them where the reader has said that it shall."""
    from ..session.flight_recorder import FlightRecorder

    incidents = None
    if options.incidents is not None:
        from ...probes.recording.incidents import Incidents

        incidents = Incidents(Path(options.incidents))
    return FlightRecorder(incidents=incidents, simulated=feed.simulated, on_notice=on_notice)


def _feed(options: Namespace, once: bool) -> Feed:
    if options.recording is not None:
        from .recorded import recorded_feed

        return recorded_feed(options, before_seconds=0.0 if once else options.seconds)
    if options.command == "demo":
        from ...probes.simulator import UnknownScenario
        from ...probes.simulator.feed import DemoFeed

        try:
            return DemoFeed(options.scenario, options.interval)
        except UnknownScenario as error:
            raise UsageError(str(error)) from error
    pids: list[int] = options.pid
    notes = [*options.notices, *_looked_at(pids)]
    wedged = wedged_collectors()
    if wedged:
        notes.append(
            f"an earlier collector (pid {wedged[0]}) still hangs in the driver: "
            "going on without NVML until it ends"
        )
    without = ["nvml"] if wedged else []
    if once:
        for note in notes:
            complain(note)
        return CollectorFeed(min(options.interval, 0.5), without=without, pids=pids)
    return CollectorFeed(options.interval, without=without, pids=pids, notices=notes, restarts=True)


def is_screen() -> bool:
    """Whether there is a terminal that can be drawn on and typed at."""
    return is_typed_at() and os.environ.get("TERM", "dumb") != "dumb"


def is_typed_at() -> bool:
    """Whether there is a terminal at both ends, whatever it can draw."""
    return sys.stdout.isatty() and sys.stdin.isatty()


def _looked_at(pids: Sequence[int]) -> list[str]:
    """What will be missing of the processes that were asked for.

    Raises:
        FeedError: when there is no job to watch in one of them.
    """
    if not pids:
        return []
    from ...probes.attach.eligibility import caution, refusal

    for pid in pids:
        if why := refusal(pid):
            raise FeedError(why)
    return [note for pid in pids if (note := caution(pid))]
