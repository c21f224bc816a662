"""Draw every picture of this folder anew, from the simulator: ``python screenshots/make.py [FOLDER]``.

The simulated node and its clock stand still, so the SVG files come out the same each time; a test compares
them. The PNG files are made from them, for looking at.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from gputop.probes.model.sample import Sample
from gputop.probes.simulator import SimulatedNode
from gputop.probes.wire.command import Command
from gputop.probes.wire.messages import Reply
from gputop.rules.catalogue import make_rules
from gputop.rules.engine import Engine
from gputop.rules.finding import Judgement
from gputop.tui.app.app import GputopApp
from gputop.tui.session.watch import Watch

HERE = Path(__file__).parent
MOMENT = 1_793_455_651.0
"""Unix time of all pictures."""
PAST_SECONDS, STEP_SECONDS = 120.0, 1.0
ASKED_SECONDS = -9.0
"""When somebody began to ask for stacks, before that."""


class Picture(NamedTuple):
    """What is drawn, and after which keys."""

    name: str
    scenario: str
    columns: int
    lines: int
    keys: tuple[str, ...] = ()
    ascii_only: bool = False
    stacks: bool = False
    """Somebody has been asking for stacks."""


PICTURES = (
    Picture("main-200x50", "thermal-throttle", 200, 50),
    Picture("main-132x43", "gpu-lost", 132, 43),
    Picture("main-80x24", "gpu-lost", 80, 24),
    Picture("main-80x24-ascii", "input-bound", 80, 24, ascii_only=True),
    Picture("main-60x16", "thermal-throttle", 60, 16),
    Picture("input-bound-132x43", "input-bound", 132, 43),
    Picture("driver-wedged-132x43", "driver-wedged", 132, 43),
    Picture("gpu-132x43", "thermal-throttle", 132, 43, (*("down",) * 7, "enter")),
    Picture("job-132x43", "straggler", 132, 43, ("2",)),
    Picture("job-200x50", "gpu-lost", 200, 50, ("2",)),
    Picture("job-80x24", "rank-exited", 80, 24, ("2",)),
    Picture("job-80x24-ascii", "straggler", 80, 24, ("2",), ascii_only=True),
    Picture("job-60x16", "input-bound", 60, 16, ("2",)),
    Picture("rank-132x43", "gpu-lost", 132, 43, ("2", "down", "enter")),
    Picture("processes-132x43", "input-bound", 132, 43, ("4",)),
    Picture("links-200x50", "link-down", 200, 50, ("3",)),
    Picture("links-132x43", "two-islands", 132, 43, ("3",)),
    Picture("links-80x24", "congested-infiniband", 80, 24, ("3",)),
    Picture("stacks-200x50", "gpu-lost", 200, 50, ("5",), stacks=True),
    Picture("stacks-132x43", "straggler", 132, 43, ("5",), stacks=True),
    Picture("stacks-80x24", "gpu-lost", 80, 24, ("5",), stacks=True),
    Picture("stacks-80x24-ascii", "gpu-lost", 80, 24, ("5", "tab"), ascii_only=True, stacks=True),
    Picture("stacks-60x16", "input-bound", 60, 16, ("5",), stacks=True),
    Picture("findings-132x43", "gpu-lost", 132, 43, ("6",)),
    Picture("help-132x43", "healthy", 132, 43, ("question_mark",)),
)


class StillFeed:
    """Two minutes of a simulated node."""

    simulated = True
    past_samples = int(PAST_SECONDS / STEP_SECONDS)

    def __init__(self, scenario: str, stacks: bool) -> None:
        self._stacks = stacks
        self.title = f"demo {scenario}"
        self._node = SimulatedNode(scenario, start_time_seconds=MOMENT)

    def messages(self) -> Iterator[Sample | Reply]:
        for number in range(self.past_samples, -1, -1):
            elapsed = -number * STEP_SECONDS
            sample = self._node.sample_at(elapsed)
            asked = self._stacks and elapsed >= ASKED_SECONDS
            yield self._node.with_stacks(sample, elapsed, ASKED_SECONDS) if asked else sample

    def send(self, command: Command) -> None: ...

    def close(self) -> str:
        return ""


@cache
def judged(scenario: str, stacks: bool) -> tuple[Engine, tuple[Judgement, ...]]:
    """What every picture of a scenario shows: judged once, which takes longer than to draw it."""
    engine = Engine(make_rules())
    return engine, tuple(Watch(StillFeed(scenario, stacks), engine).judgements())


class StillWatch(Watch):
    """Brings what was judged, and then nothing more."""

    def __init__(self, scenario: str, stacks: bool) -> None:
        engine, self._judged = judged(scenario, stacks)
        super().__init__(StillFeed(scenario, stacks), engine)
        self.drained = threading.Event()
        self._closed = threading.Event()

    def judgements(self) -> Iterator[Judgement]:
        yield from self._judged
        self.drained.set()
        self._closed.wait()

    def close(self) -> None:
        self._closed.set()
        super().close()


async def draw(picture: Picture) -> str:
    """The picture as SVG."""
    watch = StillWatch(picture.scenario, picture.stacks)
    app = GputopApp(watch, ascii_only=picture.ascii_only, clock=lambda: 0.0)
    async with app.run_test(size=(picture.columns, picture.lines)) as pilot:
        while not watch.drained.is_set():
            await asyncio.sleep(0.01)
        await pilot.pause()
        app.redraw()
        await pilot.press(*picture.keys)
        await pilot.pause()
        svg = app.export_screenshot(title="gputop")
    watch.close()
    return svg


def to_png(svg: str, path: Path) -> None:
    """Render; DejaVu stands in for the font that Textual would have fetched from the network.

    Raises:
        ImportError, OSError: where cairosvg or the cairo library is not installed.
    """
    import cairosvg

    cairosvg.svg2png(
        bytestring=svg.replace("Fira Code", "DejaVu Sans Mono").encode(), write_to=str(path)
    )


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else HERE
    for picture in PICTURES:
        svg = asyncio.run(draw(picture))
        (folder / f"{picture.name}.svg").write_text(svg)
        to_png(svg, folder / f"{picture.name}.png")
        print(picture.name)


os.environ["TZ"] = "UTC"
os.environ.update(LC_ALL="C.UTF-8", COLORTERM="truecolor", TERM="xterm-256color")
os.environ.pop("NO_COLOR", None)
time.tzset()
if __name__ == "__main__":
    main()
