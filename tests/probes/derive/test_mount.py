"""How requests fared between two readings of a mount."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from gputop.probes.derive.frame import derive
from gputop.probes.model.frame import Frame
from gputop.probes.model.mount_frames import MountFrame
from gputop.probes.model.mount_readings import MountReading
from gputop.probes.model.sample import Sample

READING = MountReading(
    monotonic_seconds=100.0,
    pid=1,
    start_time_seconds=2.0,
    mount_point="/data",
    device="filer:/export",
    file_system="nfs4",
    operations=1000,
    transmissions=1000,
    queue_seconds=1.0,
    round_trip_seconds=9.0,
    read_bytes=1000,
)


def frame(before: Frame | None, at: float, *mounts: MountReading) -> Frame:
    sample = Sample(
        time_seconds=at, monotonic_seconds=at, sequence=int(at), node="n", mounts=mounts
    )
    return derive(before, sample)


def last(*readings: MountReading) -> MountFrame:
    made: Frame | None = None
    for reading in readings:
        made = frame(made, reading.monotonic_seconds, reading)
    assert made is not None
    return made.mounts[0]


def test_means_are_of_the_time_between() -> None:
    later = replace(
        READING,
        monotonic_seconds=110.0,
        operations=1200,
        transmissions=1250,
        queue_seconds=2.0,
        round_trip_seconds=12.0,
        read_bytes=5000,
    )
    found = last(READING, later)
    assert found.operations_per_second == pytest.approx(20.0)
    assert found.await_seconds == pytest.approx(4.0 / 200)
    assert found.queue_await_seconds == pytest.approx(1.0 / 200)
    assert found.retransmission_ratio == pytest.approx(50 / 250)
    assert found.read_bytes_per_second == pytest.approx(400.0)
    assert (found.seconds, found.missing) == (10.0, {})


def test_what_was_sent_again_keeps_its_means_and_grows_old() -> None:
    later = replace(READING, monotonic_seconds=110.0, operations=1200, transmissions=1200)
    made = frame(frame(None, 100.0, READING), 110.0, later)
    again = frame(made, 114.0, later).mounts[0]
    assert again.operations_per_second == pytest.approx(20.0)
    assert again.age_seconds == pytest.approx(4.0)


@pytest.mark.parametrize(
    ("later", "reason"),
    [
        ({"operations": 5}, "reset"),
        ({"queue_seconds": None}, "not counted"),
        ({}, "nothing was read"),
    ],
)
def test_what_cannot_be_told_has_a_reason(later: dict[str, int | None], reason: str) -> None:
    found = last(READING, replace(READING, monotonic_seconds=110.0, **later))
    assert found.await_seconds is None
    assert reason in found.missing["await_seconds"]


def test_the_first_reading_tells_no_means() -> None:
    found = last(READING)
    assert found.await_seconds is None and "second reading" in found.missing["await_seconds"]


def test_another_mount_at_the_same_place_is_another_one() -> None:
    other = replace(READING, monotonic_seconds=110.0, device="filer:/other", operations=9000)
    assert last(READING, other).operations_per_second is None
