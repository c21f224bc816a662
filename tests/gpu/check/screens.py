"""The screens over the real collector, as text, in a small terminal and in a large one."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from typing import Any

from gputop.probes.feeds.collector_feed import CollectorFeed
from gputop.rules.catalogue import make_rules
from gputop.rules.engine import Engine
from gputop.tui.app.app import GputopApp
from gputop.tui.session.watch import Watch

from .section import Section
from .setting import Setting, ask, gputop

SIZES = ((80, 24), (200, 50))
FIRST_SECONDS, NEXT_SECONDS = 3.0, 0.7
KEYS = {"main": "", "job": "2", "links": "3", "processes": "4", "stacks": "5", "findings": "6"}


def run(setting: Setting, said: Section) -> None:
    """Each size in a process of its own: a collector is started while there is one thread."""
    for words in (("doctor",), ("--once",)):
        done = ask(gputop(*words), setting.left_seconds / 4)
        said.text(f"gputop {words[0]} (exit code {done.returncode}):")
        said.block(done.stdout + done.stderr)
    package = __package__ or ""
    for columns, lines in SIZES:
        command = [sys.executable, "-m", f"{package}.screens", str(columns), str(lines)]
        done = ask(command, setting.left_seconds / 2)
        if done.returncode:
            said.failure(f"{columns}×{lines}: {done.stderr.strip()[-500:]}")
            continue
        path = setting.folder / f"screens-{columns}x{lines}.txt"
        path.write_text(done.stdout, encoding="utf-8")
        said.text(f"{columns}×{lines} (also in {path.name}):")
        said.block(done.stdout)
        for what in wrong(done.stdout, columns):
            said.failure(f"{columns}×{lines}: {what}")


def wrong(text: str, columns: int) -> list[str]:
    """What no screen may show."""
    found = [f"a line is wider: {line!r}" for line in text.splitlines() if len(line) > columns]
    if "Traceback" in text:
        found.append("there is a traceback on it")
    missing = [name for name in KEYS if f"---- {name}\n" not in text]
    return found + [f"the screen {name} was not shown" for name in missing]


async def pictures(feed: CollectorFeed, columns: int, lines: int) -> AsyncIterator[tuple[str, str]]:
    """Name and text of each."""
    watch = Watch(feed, Engine(make_rules()))
    app = GputopApp(watch)
    async with app.run_test(size=(columns, lines)) as pilot:
        await asyncio.sleep(FIRST_SECONDS)
        for name, key in KEYS.items():
            if key:
                await pilot.press(key)
                await asyncio.sleep(NEXT_SECONDS)
            yield name, _text(app)
            if key:
                await pilot.press("escape")
    watch.close()


def _text(app: Any) -> str:
    strips = app.screen._compositor.render_strips()
    return "\n".join(strip.text.rstrip() for strip in strips)


async def _print(feed: CollectorFeed, columns: int, lines: int) -> None:
    async for name, text in pictures(feed, columns, lines):
        print(f"---- {name}\n{text}")


if __name__ == "__main__":
    collector = CollectorFeed(0.5)  # while this process has one thread
    asyncio.run(_print(collector, int(sys.argv[1]), int(sys.argv[2])))
