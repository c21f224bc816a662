"""Every Xid has a meaning and an action, or is told as unknown with what the driver says."""

from __future__ import annotations

import pytest

from gputop.probes.model.gpu_readings import XidReading
from gputop.rules.device._xid_codes import UNKNOWN_XID, XID_MEANINGS, xid_meaning

from support.rules_scenes import always, evidence, play
from support.scene_readings import UNIX, xid


@pytest.mark.parametrize(
    "code", [32, 38, 44, 61, 65, 68, 69, 110, *range(144, 151), 154, 157, *range(160, 164)]
)
def test_these_have_a_meaning_and_an_action(code: int) -> None:
    row = xid_meaning(code)
    assert row is not UNKNOWN_XID
    assert row.meaning and row.next_step.endswith(".")


def test_nvlink_errors_name_their_unit() -> None:
    meanings = [XID_MEANINGS[code].meaning for code in range(144, 151)]
    assert len(set(meanings)) == 7 and "TREX" in XID_MEANINGS[147].meaning


@pytest.mark.parametrize(
    ("code", "severity"),
    [
        (69, "warning"),
        (110, "error"),
        (160, "info"),
        (161, "error"),
        (162, "info"),
        (163, "warning"),
    ],
)
def test_the_severity_follows_the_action(code: int, severity: str) -> None:
    found = play(always(xids=[xid(-5, code, gpu=4)]), 1).one("HW206")
    assert (found.severity, found.subject.gpu) == (severity, 4)
    assert found.next_step == XID_MEANINGS[code].next_step


def test_an_unknown_one_is_told_as_unknown_with_its_text() -> None:
    text = "CE_LCE_ERROR on engine 5"
    told = XidReading(time_seconds=UNIX - 5, code=789, gpu_index=4, text=text)
    found = play(always(xids=[told]), 1).one("HW206")
    assert evidence(found, "xid").value == (
        f"789: unknown to this program, the driver says: {text}"
    )
    assert found.severity == "warning"


def test_of_a_known_one_the_meaning_is_enough() -> None:
    told = XidReading(
        time_seconds=UNIX - 5, code=79, gpu_index=4, text="GPU has fallen off the bus."
    )
    found = play(always(xids=[told]), 1).one("HW206")
    assert evidence(found, "xid").value == "79: GPU has fallen off the bus"
