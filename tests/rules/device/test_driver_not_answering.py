"""A driver that does not answer, for one GPU or for all."""

from __future__ import annotations

import pytest

from gputop.probes.derive.frame import derive
from gputop.probes.model.sample import Sample, SourceStatus
from gputop.rules.catalogue import make_rules
from gputop.rules.engine import Engine

from support.rules_scenes import (
    Changes,
    always,
    evidence,
    play,
)
from support.scene_readings import BEGAN, UNIX, rank_pid


def hung(second: float, *indices: int, since: float = 5.0) -> Changes:
    """The driver stops answering for these GPUs."""
    if second <= since:
        return Changes()
    return Changes(
        gpus={index: {"monotonic_seconds": BEGAN + since} for index in indices},
        sources=[
            SourceStatus(
                name=f"nvml gpu {index}",
                status="stale",
                reason=f"no answer for {second - since:.0f} s",
                busy_seconds=second - since,
            )
            for index in indices
        ],
    )


def test_driver_not_answering_for_one_gpu() -> None:
    played = play(lambda second: hung(second, 7), 12)
    found = played.one("HW209")
    assert (found.subject.kind, found.subject.gpu, found.severity) == ("gpu", 7, "warning")
    assert evidence(found, "age_seconds").value == 7.0
    assert found.since_seconds == UNIX + 5
    assert played.active_from("HW209") == 10.0


def test_driver_not_answering_for_long_is_an_error() -> None:
    played = play(lambda second: hung(second, 7), 36)
    assert played.one("HW209").severity == "error"
    assert played.one("HW209").subject.job is not None


def test_driver_not_answering_for_any_gpu_is_one_finding() -> None:
    found = play(lambda second: hung(second, *range(8)), 20).one("HW209")
    assert (found.subject.kind, found.subject.id) == ("node", "node17")
    assert evidence(found, "gpus_not_answering").value == "8 of 8"


def test_the_driver_as_a_whole_hangs() -> None:
    source = SourceStatus(name="nvml", status="stale", busy_seconds=40.0)
    found = play(always(sources=[source]), 1).one("HW209")
    assert (found.subject.kind, found.severity) == ("node", "error")


def test_the_driver_went_away() -> None:
    source = SourceStatus(name="nvml", status="failed", reason="the NVIDIA driver is not loaded")
    found = play(always(sources=[source]), 4).one("HW209")
    assert evidence(found, "nvml_source").value == "the NVIDIA driver is not loaded"


@pytest.mark.parametrize(
    "source",
    [
        SourceStatus(name="nvml", status="stale", busy_seconds=2.0),
        SourceStatus(name="nvml", status="ok"),
        SourceStatus(name="host", status="failed", busy_seconds=60.0),
    ],
    ids=["slow", "ok", "another source"],
)
def test_the_driver_answers(source: SourceStatus) -> None:
    assert play(always(sources=[source]), 10).ever() == set()


def test_a_gpu_that_is_a_little_late_is_no_finding() -> None:
    late = lambda second: Changes(gpus={7: {"monotonic_seconds": BEGAN + second - 4}})
    assert "HW209" not in play(late, 20).ever()


def test_a_lost_gpu_is_not_silent() -> None:
    lost = {"lost": True, "monotonic_seconds": -60.0}
    assert "HW209" not in play(always(gpus={7: lost}), 10).ever()


def test_a_silent_driver_explains_the_rank_that_waits_in_it() -> None:
    def script(second: float) -> Changes:
        changes = hung(second, 7)
        changes.processes = {rank_pid(7): {"state": "D", "wait_channel": "nv_ioctl"}}
        return changes

    played = play(script, 45)
    waiting = played.one("HST107")
    assert waiting.explained_by is not None
    assert waiting.explained_by.id == "HW209"


def test_a_driver_that_hangs_before_it_lists_its_gpus_does_not_count_them() -> None:
    source = SourceStatus(name="nvml", status="stale", busy_seconds=40.0)
    frame = derive(
        None,
        Sample(
            time_seconds=UNIX, monotonic_seconds=50.0, sequence=1, node="node17", sources=(source,)
        ),
    )
    assert frame.gpus == ()
    (found,) = (each for each in Engine(make_rules()).judge(frame).findings if each.id == "HW209")
    assert [each.signal for each in found.evidence] == ["age_seconds", "gpus_known", "nvml_source"]
    assert found.evidence[1].value == "none: the driver hangs before it lists them"
