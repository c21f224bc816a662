"""NVLinks with replays, recoveries or many checksum errors."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from support.nvlink_scenes import linked, nvlinks
from support.rules_scenes import (
    Changes,
    evidence,
    play,
    with_probes,
)


def test_links_that_tell_of_no_errors_leaves_the_rule_not_evaluated() -> None:
    def script(second: float) -> Changes:
        links = tuple(
            msgspec.structs.replace(link, crc_errors=None, replay_errors=None, recovery_errors=None)
            for link in nvlinks(second)
        )
        return Changes(every_gpu={"nvlinks": links})

    assert [
        not_evaluated.id for not_evaluated in play(with_probes(script), 5).last.not_evaluated
    ] == ["LNK504"]


def test_nvlink_replays() -> None:
    found = play(linked(lambda second: {"replay_errors": int(second >= 10)}), 20).one("LNK504")
    assert (found.subject.id, evidence(found, "worst_link").value) == ("gpu3 nvlink", "2")


def test_nvlink_checksum_errors_at_a_high_rate() -> None:
    found = play(linked(lambda second: {"crc_errors": int(150 * second)}), 20).one("LNK504")
    assert evidence(found, "crc_errors_per_second").value == pytest.approx(150)


@pytest.mark.parametrize(
    "odd",
    [
        lambda second: {"crc_errors": int(20 * second)},
        lambda _: {"replay_errors": 500, "recovery_errors": 3},
    ],
    ids=["few", "old"],
)
def test_no_nvlink_errors(odd: Any) -> None:
    assert "LNK504" not in play(linked(odd), 60).ever()


def test_nvlink_errors_of_a_while_ago() -> None:
    played = play(linked(lambda second: {"replay_errors": int(second >= 5)}), 120)
    assert "LNK504" in played.ever()
    assert "LNK504" not in played.ids()
