"""A day in which everything comes and goes, as fast as it can be judged: what grows, and by how much.

``python tests/bench/soak.py`` prints a table and exits with 1 where something grows beyond its bound. Parts:

- ``screen``: the whole front end, drawn, over a node with churn (`support.churn`);
- ``collector``: all sources over a made ``/proc`` whose processes come and go, by a clock that is moved;
- ``pages``: what jobs that are killed leave on a tmpfs.

Each runs in a process of its own. What a part has after a warm-up, in which caches fill, is its beginning.
"""

from __future__ import annotations

import argparse
import asyncio
import ctypes
import gc
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

TESTS = Path(__file__).parent.parent
sys.path.insert(0, str(TESTS))

GROWTH_BYTES = 5 << 20
PSS_BYTES = 75 << 20
"""Of the front end and the collector together."""
WARM_UP_SECONDS = 3600.0
"""Six times as long as the past is kept, in which every screen was open and caches have filled."""
PARTS = ("screen", "collector", "pages")


class State(NamedTuple):
    """What a process has."""

    pss_bytes: int
    descriptors: int
    threads: int
    shared_bytes: int
    """In its folder on a tmpfs."""


def state(folder: Path | None = None) -> State:
    """Of this process, once what it does not use has been given back."""
    gc.collect()
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).malloc_trim(0)
    lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
    pss = sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return State(
        pss << 10,
        len(os.listdir("/proc/self/fd")),  # noqa: PTH208
        threading.active_count(),
        sum(each.stat().st_blocks * 512 for each in folder.iterdir()) if folder else 0,
    )


def report(part: str, what: str, first: State, last: State, peak: int) -> bool:
    """Print a line; whether all is within its bounds."""
    grown = last.pss_bytes - first.pss_bytes
    print(
        f"{part:<10} {what}: PSS {first.pss_bytes / 2**20:.1f} → {last.pss_bytes / 2**20:.1f} MiB "
        f"({grown / 2**20:+.2f}, bound +{GROWTH_BYTES / 2**20:.0f}), at most {peak / 2**20:.1f}; "
        f"descriptors {first.descriptors} → {last.descriptors}, threads {first.threads} → "
        f"{last.threads}, tmpfs {first.shared_bytes / 2**20:.2f} → {last.shared_bytes / 2**20:.2f} MiB",
        flush=True,
    )
    return (
        grown <= GROWTH_BYTES
        and peak <= PSS_BYTES
        and last.descriptors <= first.descriptors + 4
        and last.threads <= first.threads + 1
        and last.shared_bytes - first.shared_bytes <= GROWTH_BYTES
    )


class Watcher:
    """Takes the state of this process every so often of simulated time."""

    def __init__(self, warm_up: float, every: float, folder: Path | None = None) -> None:
        self._folder = folder
        self._due = warm_up
        self._every = every
        self.first: State | None = None
        self.last: State | None = None
        self.peak = 0

    def look(self, seconds: float, *, now: bool = False) -> None:
        """So many seconds have passed."""
        if seconds < self._due and not now:
            return
        self._due = seconds + self._every
        self.last = state(self._folder)
        self.first = self.first or self.last
        self.peak = max(self.peak, self.last.pss_bytes)

    def report(self, part: str, what: str) -> bool:
        """Print a line; whether all is within its bounds."""
        assert self.first is not None and self.last is not None
        return report(part, what, self.first, self.last, self.peak)


async def screen(hours: float, interval: float, rate: float) -> bool:
    """The front end as it is in a terminal, with another screen every few minutes."""
    from gputop.probes.feeds.tapped import TappedFeed
    from gputop.rules.catalogue import make_rules
    from gputop.rules.engine import Engine
    from gputop.rules.finding import Judgement
    from gputop.tui.app.app import GputopApp
    from gputop.tui.reports.metrics.totals import Totals
    from gputop.tui.session.keeper import Keeper
    from gputop.tui.session.watch import Watch

    from support.churn import ChurnFeed

    seconds = hours * 3600
    feed = ChurnFeed(seconds, interval, rate)
    watcher = Watcher(min(WARM_UP_SECONDS, seconds / 3), seconds / 24)
    totals = Totals()
    with tempfile.TemporaryDirectory() as folder:
        keeper = Keeper(Path(folder), lambda _: None)
        drawn = threading.Event()
        turns = 0

        def observe(judgement: Judgement) -> None:
            nonlocal turns
            keeper.judgement(judgement)
            totals.add(judgement)
            turns += 1
            if turns % 20 == 0:  # the screen gets its turn
                drawn.clear()
                drawn.wait(1.0)
            watcher.look(feed.seconds)

        watch = Watch(TappedFeed(feed, keeper.sample), Engine(make_rules()), (), observe)
        app = GputopApp(watch, keeper=keeper)
        async with app.run_test(size=(200, 50)) as pilot:
            keys = iter("2345678910" * 10_000)
            pressed = time.monotonic()
            while feed.seconds < seconds - 1.5 * interval:
                drawn.set()
                await asyncio.sleep(0.02)
                if time.monotonic() - pressed > 1.0:
                    pressed = time.monotonic()
                    await pilot.press("escape", next(keys))
            watcher.look(feed.seconds, now=True)
        watch.close()
    return watcher.report("screen", f"{hours:g} h, {feed.visits} processes, {turns} frames")


def collector(hours: float, interval: float, rate: float) -> bool:
    """All sources that read processes and pages, over a tree of files in which they come and go."""
    clock = _MovedClock()
    from gputop.probes.sources.host.cgroup import CgroupSource
    from gputop.probes.sources.host.numa import NumaSource
    from gputop.probes.sources.host.pressure import PressureSource
    from gputop.probes.sources.host.source import HostSource
    from gputop.probes.sources.page.source import ProbeSource
    from gputop.probes.sources.processes.limits import LimitsSource
    from gputop.probes.sources.processes.source import ProcessSource
    from gputop.probes.sources.processes.threads import ThreadSource
    from gputop.probes.sources.protocol import Source, SourceError
    from gputop.probes.sources.requests import Requests
    from gputop.probes.sources.stack_requests import StackRequests
    from gputop.probes.sources.stacks.source import StackSource
    from gputop.probes.sources.waits.source import WaitSource
    from gputop.probes.sources.watchlist import Watchlist

    from fixtures.pages import MadePage, trained_page
    from fixtures.proc_tree import ProcTree

    os.environ.pop("XDG_RUNTIME_DIR", None)
    seconds = hours * 3600
    watcher = Watcher(min(WARM_UP_SECONDS, seconds / 3), seconds / 24)
    with tempfile.TemporaryDirectory(dir="/dev/shm") as name:
        root = Path(name)
        tree = ProcTree(root)
        tree.process(1, parent=0, name="systemd")
        tree.write("proc/self/mountinfo", "30 1 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup rw\n")
        pages = root / f"dev/shm/gputop-{os.getuid()}"
        watched, waits, stacks = Watchlist(), Requests(), StackRequests()
        processes = ProcessSource(watched, root)
        sources: list[Source] = [
            processes,
            ThreadSource(watched, root, processes.latest),
            LimitsSource(watched, root),
            CgroupSource(watched, root),
            PressureSource(watched, root),
            NumaSource(watched, root),
            HostSource(root),
            ProbeSource(watched, root),
            WaitSource(waits, root),
            StackSource(stacks, "/bin/false", root),
        ]
        there: dict[int, tuple[float, MadePage | None]] = {}
        visits = 0
        for turn in range(int(seconds / interval)):
            passed = turn * interval
            clock.moved = passed
            for pid, (came, page) in list(there.items()):
                if passed - came > 20:
                    tree.end(pid)
                    if page is not None:
                        page.let_go()
                    del there[pid]
            while visits < passed * rate:
                visits += 1
                pid, ticks = 1000 + visits, 5000 + visits
                tree.process(
                    pid,
                    start=ticks,
                    command=("python", f"/data/run{visits}/train.py"),
                    environment={"RANK": "0", "WORLD_SIZE": "1", "JOB": str(visits)},
                    cgroup=f"0::/run{visits}\n",
                    uid=2000 + visits,
                )
                made: MadePage | None = None
                if visits % 16 == 0:
                    tree.process(pid, start=ticks, uid=os.getuid())
                    made = trained_page(time.monotonic_ns(), pid=pid, ticks=ticks)
                    made.save(pages)
                there[pid] = (passed, made)
            for gpu in range(8):
                watched.set_gpu(gpu, [pid for pid in there if pid % 8 == gpu])
            waits.want(there, 30.0)
            stacks.want(list(there)[:1], 30.0, shares=False)
            for source in sources:
                with suppress(SourceError):
                    source.read()
            _remove_pages(pages, keep=64)
            watcher.look(passed)
        watcher.look(seconds, now=True)
        for source in sources:
            source.close()
    return watcher.report("collector", f"{hours:g} h, {visits} processes")


class _MovedClock:
    """The clocks of the interpreter, put forward. Made before the sources are imported."""

    def __init__(self) -> None:
        self.moved = 0.0
        for name in ("monotonic", "time"):
            setattr(time, name, self._ahead(getattr(time, name), 1))
        for name in ("monotonic_ns", "time_ns"):
            setattr(time, name, self._ahead(getattr(time, name), 1_000_000_000))

    def _ahead(self, real: Callable[[], float], unit: int) -> Callable[[], float]:
        return lambda: real() + type(real())(self.moved * unit)


def _remove_pages(folder: Path, keep: int) -> None:
    """As the probe that starts next does."""
    if folder.is_dir():
        for each in sorted(folder.iterdir(), key=lambda page: page.stat().st_mtime)[:-keep]:
            each.unlink()


_KILLED = """
import os, signal, sys, time
sys.path.append(sys.argv[1])
import inprocess.api as gputop
attached = gputop.attach()
assert attached, attached
def settled(): return getattr(gputop.active().instruments.get("control"), "state", "not there") != "not there"
while not settled(): time.sleep(0.002)
time.sleep(0.1)
os.kill(os.getpid(), signal.SIGKILL)
"""


def pages(jobs: int) -> bool:
    """So many real jobs with the probe, each of which is killed; all of their pages are minutes old."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as runtime:
        folder = Path(runtime, "gputop")
        env = {**os.environ, "XDG_RUNTIME_DIR": runtime}
        first: State | None = None
        for number in range(jobs):
            package = str(TESTS.parent / "probes")
            subprocess.run([sys.executable, "-c", _KILLED, package], env=env, check=False)
            for each in folder.iterdir():
                os.utime(each, (time.time() - 60 - number % 50, time.time() - 60 - number % 50))
            if number >= min(80, jobs // 2) and first is None:
                first = state(folder)
        last = state(folder)
        left = len(list(folder.glob("*.page")))
    print(f"pages      {left} left of {jobs} jobs that were killed")
    return report("pages", f"{jobs} jobs", first or last, last, last.pss_bytes) and left <= 66


def main() -> int:
    """Run the parts that are asked for; 1 where one grows beyond its bounds."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("parts", nargs="*", help=f"of {', '.join(PARTS)}; none: all")
    parser.add_argument("--hours", type=float, default=24.0, help="of simulated time")
    parser.add_argument("--interval", type=float, default=10.0, help="seconds between samples")
    parser.add_argument("--rate", type=float, default=0.25, help="new processes on GPUs a second")
    parser.add_argument("--jobs", type=int, default=160, help="that are killed")
    options = parser.parse_args()
    time_of = (options.hours, options.interval, options.rate)
    if len(options.parts) == 1:
        (part,) = options.parts
        if part == "screen":
            return 0 if asyncio.run(screen(*time_of)) else 1
        return 0 if (collector(*time_of) if part == "collector" else pages(options.jobs)) else 1
    rest = [word for word in sys.argv[1:] if word not in PARTS]
    codes = [
        subprocess.run([sys.executable, __file__, part, *rest], check=False).returncode
        for part in options.parts or PARTS
    ]
    return max(codes)


if __name__ == "__main__":
    sys.exit(main())
