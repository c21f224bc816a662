"""No bytes in the kernel's log end anything."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as some

from gputop.probes.collector.sound import sound
from gputop.probes.sources.kernel_log.events import told
from gputop.probes.sources.kernel_log.lines import WORDS, matter
from gputop.probes.sources.kernel_log.source import KernelLogSource

LINES = (Path(__file__).parents[3] / "fixtures/kernel_log.txt").read_bytes().splitlines()


def damaged() -> some.SearchStrategy[bytes]:
    """Lines of the fixture cut anywhere, with other bytes in them."""
    cut = some.builds(
        lambda line, at, more: line[: at % (len(line) + 1)] + more + line[at % (len(line) + 1) :],
        some.sampled_from(LINES),
        some.integers(0, 300),
        some.binary(max_size=12),
    )
    return some.lists(cut | some.sampled_from(WORDS) | some.binary(max_size=80), max_size=20).map(
        b"\n".join
    )


@settings(max_examples=150, deadline=None)
@given(damaged())
def test_damaged_lines(data: bytes) -> None:
    for line in matter(data):
        told(line)


@settings(max_examples=60, deadline=None)
@given(some.lists(damaged(), min_size=1, max_size=4))
def test_a_log_of_them_gives_what_can_be_sent(parts: list[bytes]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "dev").mkdir()
        log = root / "dev/kmsg"
        log.write_bytes(b"")
        source = KernelLogSource(root)
        for part in parts:
            with log.open("ab") as file:
                file.write(part + b"\n")
            readings = source.read()
            assert sound(readings) == (readings, "")
        source.close()
