"""NVLinks that go down, or of which there are fewer than on the peers."""

from __future__ import annotations

import pytest

from support.nvlink_scenes import linked
from support.rules_scenes import (
    Script,
    always,
    evidence,
    play,
)
from support.scene_readings import LOW


def test_links_in_good_health() -> None:
    assert play(linked(lambda _: {}), 40).ever() == set()


def test_nvlink_that_goes_down() -> None:
    played = play(linked(lambda second: {"down": (4,)} if second >= 10 else {}), 20)
    found = played.one("LNK503")
    assert (found.subject.id, found.severity) == ("gpu3 nvlink", "error")
    assert evidence(found, "links_down").value == "4 to 00000000:05:00.0"
    assert (evidence(found, "nvlinks_up").value, evidence(found, "nvlinks_up").threshold) == (5, 6)
    assert played.active_from("LNK503") == 10


def test_fewer_nvlinks_than_its_peers() -> None:
    found = play(linked(lambda _: {"down": (0, 1)}), 10).one("LNK503")
    assert found.severity == "warning"


def test_links_that_are_up_and_may_carry_nothing() -> None:
    found = play(linked(lambda _: {"closed": (1, 4)}), 10).one("LNK503")
    assert (found.name, found.severity) == ("NVLink without traffic", "warning")
    assert evidence(found, "closed_links").value == "1, 4"


@pytest.mark.parametrize(
    "script",
    [
        linked(lambda _: {"down": (5,)}, lambda _: {"down": (5,)}),
        linked(lambda _: {"count": 0}),
        always(every_gpu={"nvlinks": None}),
    ],
    ids=["a board without", "a chip without", "not reported"],
)
def test_no_nvlink_down(script: Script) -> None:
    assert "LNK503" not in play(script, 40).ever()


def test_an_nvlink_that_is_up_again_is_no_longer_reported() -> None:
    """That it was down at all is reported at once: it costs the job a time-out, or it comes again."""
    played = play(linked(lambda second: {"down": (4,)} if 10 <= second < 12 else {}), 40)
    assert played.active_from("LNK503") == 10
    assert "LNK503" not in played.ids()


def test_an_nvlink_down_explains_a_gpu_with_little_to_do() -> None:
    played = play(linked(lambda second: {"down": (4,)} if second >= 1 else {}, every_gpu=LOW), 45)
    (on_three,) = [each for each in played.all("HW210") if each.subject.gpu == 3]
    assert on_three.explained_by is not None
    assert on_three.explained_by.id == "LNK503"
