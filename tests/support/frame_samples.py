"""What test_frame.py and test_process_and_host.py share."""

from __future__ import annotations

from typing import Any

from gputop.probes.model.sample import Sample

UNIX = 1_800_000_000.0


def sample(moment: float, **parts: Any) -> Sample:
    return Sample(
        time_seconds=UNIX + moment,
        monotonic_seconds=moment,
        sequence=int(moment),
        node="node17",
        boot_id=parts.pop("boot_id", "a"),
        **parts,
    )
