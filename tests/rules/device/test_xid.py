"""Xid events, what they mean, and which of them follow from others."""

from __future__ import annotations

from typing import Any

import pytest

from gputop.probes.model.kernel_log import KernelLogReading
from gputop.probes.model.sample import SourceStatus

from support.rules_scenes import always, evidence, play
from support.scene_readings import GPUS, LAUNCHER, UNIX, gpu_slot, log_line, rank_pid, xid


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


def in_log(second: float, code: int, gpu: int = 3, **fields: Any) -> KernelLogReading:
    text = f"NVRM: Xid (PCI:{gpu_slot(gpu)}): {code}, pid=7, name=python, the driver's words"
    given = {"before_start": True, "pci_bus_id": gpu_slot(gpu), "code": code, "text": text}
    return log_line(second, "xid", **{**given, **fields})


def test_one_from_before_this_watch_is_a_finding_with_its_time() -> None:
    found = play(always(kernel_log=[in_log(-1200, 94, pid=7)]), 0).one("HW206")
    assert (found.subject.gpu, found.severity) == (3, "warning")
    assert found.since_seconds == UNIX - 1200
    assert evidence(found, "since").value == "before this watch"
    assert evidence(found, "xid").value == "94: contained memory error, process 7, 20 min ago"


def test_an_unknown_one_of_the_log_is_told_with_the_drivers_words() -> None:
    found = play(always(kernel_log=[in_log(-60, 789)]), 0).one("HW206")
    assert evidence(found, "xid").value == (
        "789: unknown to this program, the driver says: the driver's words, 1 min ago"
    )


def test_an_old_one_is_information() -> None:
    assert play(always(kernel_log=[in_log(-3700, 79)]), 0).one("HW206").severity == "info"
    assert play(always(kernel_log=[in_log(-3500, 79)]), 0).one("HW206").severity == "error"


def test_before_this_job_is_said() -> None:
    started = {rank_pid(index): {"start_time_seconds": 9990.0} for index in range(GPUS)}
    launched = {LAUNCHER: {"start_time_seconds": 9980.0}}
    script = always(kernel_log=[in_log(-600, 79)], processes={**started, **launched})
    found = play(script, 0).one("HW206")
    assert found.severity == "info"
    assert evidence(found, "since").value == "before this watch, and before this job"


def test_after_a_day_it_is_the_logs_alone() -> None:
    assert "HW206" not in play(always(kernel_log=[in_log(-86_500, 79)]), 0).ever()


def test_of_what_both_tell_there_is_one() -> None:
    both = always(xids=[xid(-8, 79)], kernel_log=[in_log(-11, 79, pid=7, before_start=False)])
    found = play(both, 0).one("HW206")
    assert [each.value for each in found.evidence] == ["79: GPU has fallen off the bus, process 7"]


def test_the_same_code_of_another_gpu_or_another_time_is_another() -> None:
    others = [in_log(-8, 79, gpu=5), in_log(-300, 79)]
    played = play(always(xids=[xid(-8, 79)], kernel_log=others), 0)
    assert {found.subject.gpu for found in played.all("HW206")} == {3, 5}
    three = next(found for found in played.all("HW206") if found.subject.gpu == 3)
    assert [each.signal for each in three.evidence].count("xid") == 2


def test_of_a_card_that_is_not_listed_the_address_is_named() -> None:
    found = play(always(kernel_log=[in_log(-8, 79, pci_bus_id="0000:ee:00")]), 0).one("HW206")
    assert (found.subject.gpu, found.subject.id) == (None, "0000:ee:00")


@pytest.mark.parametrize("log", ["ok", "denied"])
def test_either_of_the_two_is_enough_to_look(log: str) -> None:
    sources = [
        SourceStatus(name="nvml events", status="denied", reason="no permission"),
        SourceStatus(name="kernel log", status="ok" if log == "ok" else "denied", reason="why"),
    ]
    judged = play(always(sources=sources), 0).last
    assert ("HW206" in {each.id for each in judged.not_evaluated}) is (log == "denied")


def test_what_the_log_has_of_hours_ago_is_told_with_its_age() -> None:
    lines = [in_log(-5 * 3600, 48), in_log(-4 * 3600, 43)]
    found = play(always(kernel_log=lines), 3).one("HW206")
    assert (found.severity, found.name) == ("info", "Xid before this watch")
    (told,) = [str(each.value) for each in found.evidence if each.signal == "xid"]
    assert told.endswith(", 5 h ago"), "43 follows from others, and is left out"


def test_a_new_one_of_the_log_is_as_one_of_an_event() -> None:
    found = play(always(kernel_log=[in_log(-30, 79, before_start=False)]), 3).one("HW206")
    assert (found.severity, found.name) == ("error", "Xid")
