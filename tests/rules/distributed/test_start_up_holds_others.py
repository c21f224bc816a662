"""One rank that still starts while the others wait for it."""

from __future__ import annotations

from support.rules_scenes import play
from support.stall_scenes import LOOPING, RENDEZVOUS, VICTIM, everybody, frames, reported

IMPORTING = frames("<frozen importlib._bootstrap>:_load:690", "train.py:<module>:3")


def test_it_is_information() -> None:
    finding = play(everybody(LOOPING, IMPORTING, others=RENDEZVOUS), 40).one("RUN428")
    assert (finding.subject.rank, finding.severity) == (VICTIM, "info")


def test_who_is_blocked_in_an_import_is_not_starting() -> None:
    blocked = everybody({"wait_channel": "wait_for_partner"}, IMPORTING, others=RENDEZVOUS)
    assert reported(play(blocked, 25)) == {"HST125": VICTIM}
