"""Screens that were left are given back, with all that they have drawn: a monitor is open for days."""

from __future__ import annotations

import gc
from collections import Counter

from textual.strip import Strip

from gputop.tui.widgets.canvas import Canvas

from support.tui_watch import app_of, press, running

ROUNDS = 3


def there() -> Counter[type]:
    """How many of them there are."""
    gc.collect()
    return Counter(type(each) for each in gc.get_objects() if isinstance(each, Canvas | Strip))


async def test_screens_that_were_left_keep_nothing() -> None:
    app, _ = app_of()
    async with running(app) as pilot:
        seen: list[Counter[type]] = []
        for _ in range(ROUNDS):
            gc.unfreeze()  # the application spares what is there once it has started
            for key in "2345":
                await press(pilot, key)
            await press(pilot, "escape", "question_mark", "escape")
            seen.append(there())
    assert seen[0][Canvas] >= 1
    assert seen[-1][Canvas] == seen[0][Canvas]
    assert seen[-1][Strip] <= seen[0][Strip] + 5
