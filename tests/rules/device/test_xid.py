"""Xid events, what they mean, and which of them follow from others."""

from __future__ import annotations

from typing import Any

import pytest

from gputop.probes.model.gpu_readings import XidReading
from gputop.probes.model.sample import SourceStatus

from support.rules_scenes import UNIX, always, evidence, play, xid


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


def logged(code: int, hours: float, **more: Any) -> XidReading:
    """A line of the kernel log."""
    return XidReading(
        time_seconds=UNIX - 3600 * hours, code=code, gpu_index=2, origin="kernel log", **more
    )


def test_what_the_kernel_log_has_of_before_is_told_with_its_age() -> None:
    found = play(always(xids=[logged(48, 5.0), logged(43, 4.0)]), 3).one("HW206")
    assert (found.severity, found.name, found.subject.gpu) == ("info", "Xid before this watch", 2)
    (told,) = [
        str(each.value) for each in found.evidence
    ]  # 43 follows from others, and is left out
    assert told.startswith("48: ") and told.endswith("5 h ago")


def test_a_recent_one_of_the_log_is_as_one_of_an_event() -> None:
    found = play(always(xids=[logged(79, 0.05)]), 3).one("HW206")
    assert (found.severity, found.name) == ("error", "Xid")


def test_old_consequences_alone_are_nothing() -> None:
    assert play(always(xids=[logged(43, 5.0)]), 3).all("HW206") == []


def test_where_events_cannot_be_had_the_log_is_another_way() -> None:
    def gaps(*statuses: SourceStatus) -> set[str]:
        return {each.id for each in play(always(sources=statuses), 2).last.not_evaluated}

    events = SourceStatus(name="nvml events", status="unsupported", reason="no")
    log = SourceStatus(name="kernel log", status="ok", monotonic_seconds=1.0)
    assert "HW206" in gaps(events)
    assert "HW206" not in gaps(events, log)
