"""Writes the recording of the present schema version: ``python -m support.recording_fixture``."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from gputop.probes.model.sample import WIRE_SCHEMA_VERSION

from support.recordings import mark, samples, write_blocks

FOLDER = Path(__file__).parents[1] / "fixtures" / "recordings"
COUNT = 20


def write() -> Path:
    """Write it, unless it is there: an old one is never changed."""
    path = FOLDER / f"schema{WIRE_SCHEMA_VERSION}.gtop"
    if path.exists():
        raise SystemExit(f"{path} is there already, and stays as it is")
    taken = [
        replace(sample, gpus=sample.gpus[:2], probes=sample.probes[:2], ports=sample.ports[:1])
        for sample in samples(COUNT)
    ]
    write_blocks(path, taken, marks=[(mark(),) if number >= 8 else () for number in range(COUNT)])
    return path


if __name__ == "__main__":
    print(write())
