"""Memory errors, row remaps, Xid, a lost GPU, a driver that does not answer."""

from __future__ import annotations

from typing import Any

import pytest

from gputop.probes.derive.frame import derive
from gputop.probes.model.sample import Sample, SourceStatus
from gputop.rules.catalogue import make_rules
from gputop.rules.engine import Engine

from support.rules_scenes import (
    BEGAN,
    SPINNING,
    UNIX,
    Changes,
    always,
    evidence,
    play,
    rank_pid,
    xid,
)


def errors(second: float, **more: Any) -> Changes:
    return Changes(gpus={4: {"ecc_uncorrected": 7 if second < 5 else 9, **more}})


def test_uncorrectable_errors_since_the_start() -> None:
    found = play(errors, 6).one("HW204")
    assert (found.subject.gpu, found.severity) == (4, "warning")
    count = evidence(found, "uncorrected errors")
    assert (count.value, count.threshold, count.comparison) == (2.0, 1.0, "≥")


@pytest.mark.parametrize(
    ("more", "witness"),
    [
        ({"remap_pending": True}, "remap_pending"),
        ({"recovery_action": "gpu reset"}, "recovery_action"),
    ],
)
def test_uncorrectable_errors_with_a_second_witness(more: dict[str, Any], witness: str) -> None:
    found = play(lambda second: errors(second, **more), 6).one("HW204")
    assert found.severity == "error"
    assert evidence(found, witness).value


def test_uncorrectable_errors_of_just_before_the_start() -> None:
    played = play(always(gpus={4: {"ecc_uncorrected": 2}}, xids=[xid(-90, 48, gpu=4)]), 1)
    found = played.one("HW204")
    assert (found.severity, evidence(found, "uncorrected errors").value) == ("error", 2.0)
    assert found.explained_by is not None
    other = play(always(gpus={4: {"ecc_uncorrected": 2}}, xids=[xid(-90, 63, gpu=4)]), 1)
    assert other.one("HW204").severity == "warning"


def test_uncorrectable_errors_since_the_driver_was_loaded_are_of_before_this_watch() -> None:
    old = {"ecc_uncorrected": 9, "ecc_uncorrected_lifetime": 400}
    found = play(always(gpus={4: old}), 5).one("HW204")
    assert (found.name, found.severity) == ("memory error before this watch", "warning")
    assert evidence(found, "since").value == "before this watch"
    assert evidence(found, "uncorrected errors").value == 9.0


def test_uncorrectable_errors_of_a_lifetime_are_history() -> None:
    old = {"ecc_uncorrected": 0, "ecc_uncorrected_lifetime": 400}
    assert play(always(gpus={4: old}), 5).ever() == set()


def test_without_ecc_nothing_is_said() -> None:
    assert play(always(gpus={4: {"ecc_uncorrected": None}}), 5).ever() == set()


def test_row_remap_pending() -> None:
    found = play(always(gpus={4: {"remap_pending": True}}), 1).one("HW205")
    assert (found.subject.gpu, found.severity) == (4, "warning")
    assert evidence(found, "remap_pending").value == "yes"


def test_row_remap_failed() -> None:
    found = play(always(gpus={4: {"remap_failed": True}}), 1).one("HW205")
    assert found.severity == "error"
    assert "replaced" in found.next_step


def test_page_retirement_pending_on_an_older_chip() -> None:
    old = {"remap_pending": None, "remap_failed": None, "retired_pages_pending": True}
    assert play(always(gpus={4: old}), 1).one("HW205").severity == "warning"


def test_very_many_remapped_rows() -> None:
    assert play(always(gpus={4: {"remapped_rows_uncorrected": 513}}), 1).one("HW205")


@pytest.mark.parametrize(
    "change",
    [
        {"remapped_rows_uncorrected": 512},
        {"remap_pending": None, "remap_failed": None},
        {"remap_pending": True, "monotonic_seconds": -60.0},
    ],
    ids=["many rows", "unknown", "stale"],
)
def test_no_row_remap(change: dict[str, Any]) -> None:
    assert "HW205" not in play(always(gpus={4: change}), 3).ever()


def test_xid_with_its_meaning() -> None:
    found = play(always(xids=[xid(-8, 79, pid=4242)]), 0).one("HW206")
    assert (found.subject.gpu, found.subject.job is not None) == (3, True)
    assert found.severity == "error"
    assert found.since_seconds == UNIX - 8
    assert evidence(found, "xid").value == "79: GPU has fallen off the bus, process 4242"
    assert "bare-metal" in found.next_step


@pytest.mark.parametrize(
    ("code", "severity"),
    [(13, "warning"), (43, "info"), (63, "info"), (94, "warning"), (48, "error")],
)
def test_severity_of_an_xid(code: int, severity: str) -> None:
    assert play(always(xids=[xid(-8, code)]), 0).one("HW206").severity == severity


def test_a_code_that_nobody_knows() -> None:
    found = play(always(xids=[xid(-8, 999)]), 0).one("HW206")
    assert found.severity == "warning"
    assert "catalogue" in found.next_step


def test_consequences_point_to_the_earlier_code_and_fold_under_it() -> None:
    codes = [xid(-8, 79), xid(-6, 45, gpu=0), xid(-6, 45, gpu=3)]
    played = play(always(xids=codes), 0)
    worst, other = sorted(played.all("HW206"), key=lambda found: found.severity != "error")
    assert (worst.subject.gpu, other.subject.gpu) == (3, 0)
    assert other.severity == "info"
    assert other.next_step == "Ignore this one and look at Xid 79 on GPU 3, 2 s before it."
    assert other.explained_by is not None
    assert [each.signal for each in worst.evidence] == ["xid", "xid"]


def test_xid_by_uuid_and_of_nobody() -> None:
    played = play(always(xids=[xid(-8, 31, None, gpu_uuid="GPU-5"), xid(-8, 31, None)]), 0)
    assert {found.subject.gpu for found in played.all("HW206")} == {5, None}


def test_xid_ages_out_after_ten_minutes() -> None:
    assert play(always(xids=[xid(-590, 79)]), 9).ids() == {"HW206"}
    assert play(always(xids=[xid(-590, 79)]), 21).ids() == set()
    assert play(always(xids=[xid(-601, 79)]), 5).ever() == set()


def test_gpu_lost_explains_what_its_job_shows() -> None:
    def script(second: float) -> Changes:
        if second < 5:
            return Changes()
        spinning = dict.fromkeys(range(8), SPINNING)
        return Changes(gpus={**spinning, 3: {"lost": True}})

    played = play(script, 60)
    lost = played.one("HW208")
    assert (lost.subject.gpu, lost.subject.rank, lost.severity) == (3, 3, "error")
    hollow = played.all("HW211")
    assert {found.subject.gpu for found in hollow} == {0, 1, 2, 4, 5, 6, 7}
    assert {found.explained_by and found.explained_by.id for found in hollow} == {"HW208"}
    assert played.last.findings[0].id == "HW208"


def test_a_gpu_that_was_lost_before_the_start_is_of_the_only_job() -> None:
    gpus: dict[int, dict[str, Any]] = {index: dict(SPINNING) for index in range(8)}
    gpus[3] = {"lost": True, "processes": ()}
    played = play(always(gpus=gpus), 30, interval=2.0)
    assert played.one("HW208").subject.job is not None
    assert all(found.explained_by for found in played.all("HW211"))


def test_a_gpu_that_vanished_is_lost_and_still_of_its_job() -> None:
    def script(second: float) -> Changes:
        return Changes(gone_gpus=(3,) if second >= 5 else ())

    found = play(script, 8).one("HW208")
    assert found.subject.gpu == 3
    assert found.subject.job is not None
    assert evidence(found, "status").value == "the driver does not list this GPU any more"


@pytest.mark.parametrize("gone", [{}, {"monotonic_seconds": -60.0}], ids=["there", "stale"])
def test_no_gpu_lost(gone: dict[str, Any]) -> None:
    assert "HW208" not in play(always(gpus={3: gone}), 5).ever()


def test_lost_for_one_look_is_not_lost() -> None:
    blip = lambda second: Changes(gone_gpus=(3,) if second == 4 else ())
    assert "HW208" not in play(blip, 8).ever()


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
    assert evidence(found, "gpus not answering").value == "8 of 8"


def test_the_driver_as_a_whole_hangs() -> None:
    source = SourceStatus(name="nvml", status="stale", busy_seconds=40.0)
    found = play(always(sources=[source]), 1).one("HW209")
    assert (found.subject.kind, found.severity) == ("node", "error")


def test_the_driver_went_away() -> None:
    source = SourceStatus(name="nvml", status="failed", reason="the NVIDIA driver is not loaded")
    found = play(always(sources=[source]), 4).one("HW209")
    assert evidence(found, "source nvml").value == "the NVIDIA driver is not loaded"


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
    assert [each.signal for each in found.evidence] == ["age_seconds", "gpus known", "source nvml"]
    assert found.evidence[1].value == "none: the driver hangs before it lists them"
