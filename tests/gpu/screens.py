"""The screens over the real collector, as text: ``screens.py COLUMNS LINES``."""

from __future__ import annotations

import asyncio
import sys

from gputop.probes.feeds.collector_feed import CollectorFeed
from gputop.rules.catalogue import make_rules
from gputop.rules.engine import Engine
from gputop.tui.app.app import GputopApp
from gputop.tui.session.watch import Watch
from gputop.tui.widgets.canvas import Canvas

SECONDS = 4.0
KEYS = {"main": "", "job": "2", "processes": "3", "links": "4", "stacks": "5", "findings": "6"}


async def show(feed: CollectorFeed, columns: int, lines: int) -> None:
    """Print each of them."""
    watch = Watch(feed, Engine(make_rules()))
    app = GputopApp(watch)
    async with app.run_test(size=(columns, lines)) as pilot:
        await asyncio.sleep(SECONDS)
        for name, key in KEYS.items():
            if key:
                await pilot.press(key)
                await asyncio.sleep(1.0)
            print(f"---- {name}, {columns}x{lines}")
            for line in app.screen.query_one(Canvas).lines:
                print("".join(text for text, _ in line).rstrip())
            if key:
                await pilot.press("escape")
    watch.close()


if __name__ == "__main__":
    collector = CollectorFeed(0.5)  # while this process has one thread
    asyncio.run(show(collector, int(sys.argv[1]), int(sys.argv[2])))
