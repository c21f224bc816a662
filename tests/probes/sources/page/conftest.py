"""Pages that are read, and let go at the end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gputop.probes.sources.page.reader import PageReader

from fixtures.pages import MadePage

Read = Callable[[MadePage], PageReader]


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[Read]:
    opened: list[tuple[MadePage, PageReader]] = []

    def read(page: MadePage) -> PageReader:
        opened.append((page, page.reader(tmp_path)))
        return opened[-1][1]

    yield read
    for page, made in opened:
        made.close()
        page.let_go()
