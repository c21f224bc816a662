"""Every file that a source reads may hold any number or text: no source raises, and all it gives travels."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from gputop.probes.collector.sound import sound
from gputop.probes.sources.protocol import SourceError

from support.damaged_files import SOURCES, made_wild

ROUNDS = 150
SEED = 11


@pytest.mark.parametrize("name", SOURCES)
def test_any_number_in_any_file(name: str, tmp_path: Path) -> None:
    make, source = SOURCES[name]
    make(tmp_path)
    chance = random.Random(SEED)
    files = [
        each for each in sorted(tmp_path.rglob("*")) if each.is_file() and not each.is_symlink()
    ]
    given = 0
    for _ in range(ROUNDS):
        changed = {file: file.read_bytes() for file in chance.sample(files, min(3, len(files)))}
        for file, content in changed.items():
            file.write_bytes(made_wild(content, chance))
        reader = source(tmp_path)
        for _ in range(2):
            try:
                parts = reader.read()
            except SourceError:
                continue
            assert sound(parts) == (tuple(parts), "")
            given += len(parts)
        reader.close()
        for file, content in changed.items():
            file.write_bytes(content)
    assert given > ROUNDS / 2
