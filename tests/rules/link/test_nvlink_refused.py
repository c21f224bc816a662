"""NVLinks that are up while the driver refuses peer access over them."""

from __future__ import annotations

import pytest

from support.nvlink_scenes import islands, reported
from support.rules_scenes import (
    Script,
    always,
    evidence,
    play,
)

ONE_SWITCH = "00000000:05:00.0"


def test_nvlink_that_is_up_and_refused() -> None:
    script = islands(switch=ONE_SWITCH, peers=lambda one, two: ("ok", "disabled by a registry key"))
    played = play(script, 30)
    found = played.one("LNK514")
    assert (found.subject.kind, found.severity) == ("job", "warning")
    assert evidence(found, "pairs_refused").value == 28
    assert evidence(found, "nvlink_peer_access").value == "disabled by a registry key"
    assert "LNK505" not in played.ever(), "there is no island to be split over"


@pytest.mark.parametrize(
    "script",
    [
        islands(switch=ONE_SWITCH, peers=lambda one, two: ("ok", "ok")),
        islands(switch=ONE_SWITCH, peers=lambda one, two: (None, None)),
        islands(switch=ONE_SWITCH),
        islands(peers=lambda one, two: ("ok", "ok" if one // 4 == two // 4 else "not supported")),
        islands(switch=ONE_SWITCH, peers=lambda one, two: ("ok", "not supported"), mig_mode=True),
        always(
            gpu_paths=reported(lambda one, two: ("ok", "not supported")), every_gpu={"nvlinks": ()}
        ),
        islands(switch=ONE_SWITCH, peers=lambda one, two: ("ok", "not supported"), second_job=True),
    ],
    ids=[
        "allowed",
        "not reported",
        "not asked",
        "no link there",
        "split GPUs",
        "no NVLink",
        "no job",
    ],
)
@pytest.mark.unmeasured
def test_nothing_is_refused(script: Script) -> None:
    assert "LNK514" not in play(script, 30).ever()
