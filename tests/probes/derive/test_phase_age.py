"""How long a rank has been in its phase is reported only where something proves that it never left it."""

from __future__ import annotations

from typing import Any

import pytest

from gputop.probes.model.job_frames import RankFrame
from gputop.probes.model.rank_readings import ThreadReading, ThreadsReading
from gputop.probes.model.sample import Sample

from support.probe_scenes import STARTED, fold, probe, process, rank_of, sample

SECONDS = 20


def main_thread(second: float, **fields: Any) -> ThreadsReading:
    main = ThreadReading(
        tid=100,
        name="python",
        **{"state": "S", "cpu_seconds": 3.0, "voluntary_switches": 0, **fields},
    )
    return ThreadsReading(monotonic_seconds=second, pid=100, start_time_seconds=STARTED, main=main)


def rank_after(moves: Any, *, probed: bool = False) -> RankFrame:
    """The rank after some looks, in each of which it was met waiting for others."""
    samples: list[Sample] = []
    for second in range(SECONDS + 1):
        moment = 100.0 + second
        probes = [probe(moment, phase="comm", phase_monotonic_seconds=100.0)] if probed else []
        threads = (main_thread(moment, **moves(second)),)
        samples.append(sample(moment, probes, [process(moment)], threads=threads))
    return rank_of(fold(*samples), 0)


@pytest.mark.parametrize(
    ("moves", "probed", "reported"),
    [
        (lambda second: {"voluntary_switches": 40 * second}, False, None),
        (lambda _: {}, False, SECONDS),
        (lambda second: {"voluntary_switches": 40 * second}, True, SECONDS),
    ],
    ids=["wakes up now and then", "sleeps on", "its probe tells"],
)
def test_it_is_reported_where_it_is_proven(
    moves: Any, probed: bool, reported: float | None
) -> None:
    assert rank_after(moves, probed=probed).phase_unbroken_seconds == reported
