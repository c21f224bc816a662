"""Watching a node: the screen on a terminal, one frame as text anywhere else."""

from __future__ import annotations

import gc
import os
import sys
from argparse import Namespace
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from ...probes.feeds.collector_feed import CollectorFeed
from ...probes.feeds.protocol import Feed, FeedError
from ...probes.feeds.wedged import wedged_collectors
from ...probes.model.sample import Sample
from ..console.errors import UsageError
from ..console.exits import COULD_NOT_LOOK, complain
from ..console.output import output_is_utf8
from ..console.thresholds import thresholds

# What judges and draws is loaded where it is used: after the collector was forked, which needs none of it.
if TYPE_CHECKING:
    from ...rules.engine import Engine
    from ...rules.finding import Judgement
    from ..session.keeper import Keeper
    from ..session.watch import Watch

_LINKED = ("_ssl", "_hashlib", "_bz2", "_lzma", "_uuid", "zlib")
FIRST_SECONDS = 2.0
"""So long the screen waits to learn that there is no driver at all; then it opens whatever hangs."""


def watch(options: Namespace) -> int:
    """What ``gputop``, ``gputop PID`` and ``gputop demo`` do; returns the exit code."""
    limits = thresholds(options.settings)
    if options.format and not options.once and sys.stdout.isatty():
        raise UsageError("--format goes with --once")
    once = options.once or not is_screen()
    check_folder(options, kept=not once)
    if options.rejudge and once:
        raise UsageError(
            "--rejudge goes with the screen: gputop diagnose --from FILE judges anew without one"
        )
    if once and not options.once and is_typed_at():
        terminal = os.environ.get("TERM") or "not set"
        complain(f"no screen can be drawn on this terminal (TERM is {terminal}): one frame as text")
    code = _choose(options, screen=not once)
    if code is not None:
        return code
    try:
        if not once:
            load_libraries()
        feed = make_feed(options, once)
        if once:
            from .once import print_once

            return print_once(_watched(feed, _engine(limits), options), options)
        return _show(feed, limits, options)
    except FeedError as error:
        return complain(str(error), COULD_NOT_LOOK)


def report(options: Namespace) -> int:
    """What ``gputop diagnose``, ``stacks`` and ``serve`` do; returns the exit code."""
    limits = thresholds(options.settings)
    check_folder(options, kept=options.command in ("diagnose", "serve", "stream"))
    if options.command == "serve":
        from .serve import check

        check(options)
    code = _choose(options, screen=False)
    if code is not None:
        return code
    try:
        feed = make_feed(options, once=False)
    except FeedError as error:
        return complain(str(error), COULD_NOT_LOOK)
    engine = _engine(limits)
    if options.command == "record":
        from .record import record

        return record(feed, engine, options)
    keeper, watched = _kept(feed, engine, options, to_be_asked=False)
    code = _reporter(options.command)(watched, options)
    if keeper is not None:
        keeper.close()
    return code


def _reporter(command: str) -> Callable[[Watch, Namespace], int]:
    # One of them is loaded: the others cost time.
    if command == "diagnose":
        from .diagnose import diagnose

        return diagnose
    if command == "stacks":
        from .stacks import print_stacks

        return print_stacks
    if command == "stream":
        from .stream import stream

        return stream
    from .serve import serve

    return serve


def check_folder(options: Namespace, *, kept: bool) -> None:
    """See to it that what `--record-on-finding` promises can be done.

    Args:
        options: of the command line.
        kept: the last ten minutes of this watch are.

    Raises:
        UsageError: they are not, or nothing can be written to the folder that was named.
    """
    folder = options.record_on_finding
    if folder is None:
        return
    if options.source is not None:
        raise UsageError("--record-on-finding: what is looked at is a recording already")
    if not kept:
        raise UsageError(
            "--record-on-finding goes with the screen, diagnose, serve and stream: "
            "one look has no last ten minutes, and gputop record keeps all of it"
        )
    if not (Path(folder).is_dir() and os.access(folder, os.W_OK)):
        raise UsageError(f"--record-on-finding {folder}: no folder that can be written to")


def _choose(options: Namespace, *, screen: bool) -> int | None:
    """Find the job of a command that is about one; the exit code where there is nothing to do."""
    if options.command not in ("attach", "stacks") and not options.pid:
        return None
    from .job_choice import choose

    return choose(options, screen=screen)


def _engine(limits: dict[str, dict[str, float]]) -> Engine:
    from ...rules.catalogue import make_rules
    from ...rules.engine import Engine

    return Engine(make_rules(limits))


def _watched(
    feed: Feed,
    engine: Engine,
    options: Namespace,
    observe: Callable[[Judgement], None] = lambda _: None,
) -> Watch:
    from ..session.watch import Watch

    return Watch(feed, engine, options.pid, observe)


def _show(feed: Feed, limits: dict[str, dict[str, float]], options: Namespace) -> int:
    engine = _engine(limits)
    from ..app.app import GputopApp

    gc.freeze()
    gc.enable()

    if isinstance(feed, CollectorFeed) and not (options.pid or options.jobs):
        first = feed.first(FIRST_SECONDS)
        why = why_not(first) if first else ""
        if why:
            from ..drawing.missing import HELP_WITHOUT_DRIVER

            feed.close()
            return complain(f"{why}; {HELP_WITHOUT_DRIVER}", COULD_NOT_LOOK)
    _believe_terminal()
    keeper, watched = _kept(feed, engine, options, to_be_asked=True)
    ascii_only = options.ascii or not output_is_utf8()
    replay = None
    if options.command == "replay":
        from ...probes.feeds.replay import ReplayFeed

        replay = feed if isinstance(feed, ReplayFeed) else None
    if replay is not None and options.rejudge:
        from .rejudge import rejudged

        replay.marks = rejudged(replay.recording, _engine(limits))
    app = GputopApp(
        watched,
        ascii_only=ascii_only,
        note=options.note,
        jobs=options.jobs,
        replay=replay,
        keeper=keeper,
        interval_seconds=options.interval if replay is None else None,
    )
    app.run()
    watched.close()
    if watched.stuck:
        complain(watched.stuck)
    if keeper is not None:
        keeper.tell = _tell
        keeper.close()
    return app.return_code or 0


def _kept(
    feed: Feed, engine: Engine, options: Namespace, *, to_be_asked: bool
) -> tuple[Keeper | None, Watch]:
    """A watch whose last ten minutes are kept, unless it is of a recording.

    Args:
        feed: where samples come from.
        engine: that judges them.
        options: of the command line.
        to_be_asked: somebody may ask for them at any time; else they are kept for `--record-on-finding` alone.
    """
    if options.source is not None or not (to_be_asked or options.record_on_finding):
        return None, _watched(feed, engine, options)
    from ...probes.feeds.tapped import TappedFeed
    from ..session.keeper import Keeper

    folder = Path(options.record_on_finding) if options.record_on_finding else None
    keeper = Keeper(folder, _tell)
    tapped = TappedFeed(feed, keeper.sample)
    return keeper, _watched(tapped, engine, options, keeper.judgement)


def _tell(sentence: str) -> None:
    complain(sentence)


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


def make_feed(options: Namespace, once: bool) -> Feed:
    """What the command line says is looked at.

    Raises:
        FeedError: where it cannot be.
        UsageError: where it is none.
    """
    if options.source is not None:
        from .recorded import recorded

        return recorded(options)
    if options.scenario is not None:
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


def load_libraries() -> None:
    """Of the screen's modules those with a library of their own, before a collector runs.

    The linker looks for libraries in the folders of LD_LIBRARY_PATH: where the one of the driver hangs, as
    on a file server that died, it keeps the lock of its folder, and who loads anything then hangs too.
    """
    for name in _LINKED:
        with suppress(ImportError):  # a Python without it does without it
            import_module(name)


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
