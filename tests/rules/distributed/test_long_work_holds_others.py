"""Work of one rank in a place where the others expect to wait for it."""

from __future__ import annotations

import pytest

from support.rules_scenes import evidence, play
from support.stall_scenes import BARRIER, LOOPING, VICTIM, everybody, frames

OWN = frames("train.py:main:111")
DOWNLOADING = frames("data.py:download_shards:8", "train.py:main:111")
FIRST = frames("accelerate/state.py:main_process_first:500", "train.py:main:20")


@pytest.mark.parametrize(("stack", "others"), [(OWN, BARRIER), (OWN, FIRST), (DOWNLOADING, FIRST)])
def test_it_is_information(stack: tuple[object, ...], others: tuple[object, ...]) -> None:
    finding = play(everybody(LOOPING, stack, others=others), 40).one("RUN427")  # type: ignore[arg-type]
    assert (finding.subject.rank, finding.severity) == (VICTIM, "info")


def test_the_users_own_word_is_told() -> None:
    finding = play(everybody(LOOPING, DOWNLOADING), 40).one("RUN427")
    assert evidence(finding, "own_function").value == "download_shards"


@pytest.mark.unmeasured
def test_it_is_a_warning_after_ten_minutes_without_progress() -> None:
    late = play(everybody(LOOPING, OWN, others=BARRIER), 640, interval=5.0)
    assert {each.severity for each in late.last.active if each.subject.rank == VICTIM} == {
        "warning"
    }
