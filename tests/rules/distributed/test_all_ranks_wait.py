"""All ranks wait, and nobody can be named."""

from __future__ import annotations

from support.rules_scenes import Changes, evidence, play
from support.stall_scenes import (
    ALL,
    BACKWARD,
    FROM,
    JUST_NOW,
    LONG_AGO,
    RULES,
    SILENT,
    mismatch,
    reported,
    thread,
    veiled,
    with_pages,
)


def test_without_wait_channels_ranks_that_all_sleep_are_seen_but_none_is_named() -> None:
    finding = play(veiled(lambda _: {}), 80).one("RUN405")
    assert (finding.subject.kind, finding.severity, finding.confidence) == ("job", "warning", 0.5)
    # One goes on: the others may just be early.
    assert not play(veiled(lambda _: {}, since=None), 40).ever() & RULES


def test_gpus_that_work_hard_are_no_wait() -> None:
    def script(second: float) -> Changes:
        works = {"utilization_ratio": 1.0, "sm_active_ratio": None, "power_watts": 650.0}
        spinning = {"state": "R", "cpu_seconds": 10.0 + second, "voluntary_switches": 9}
        threads = [thread(rank, second, FROM, **spinning) for rank in ALL]
        return Changes(threads=threads, every_gpu={**works, **SILENT})

    assert not play(script, 60).ever() & RULES


def test_a_healthy_job_has_none() -> None:
    def script(second: float) -> Changes:
        return Changes(threads=[thread(rank, second, None) for rank in ALL])

    assert not play(script, 30).ever() & RULES


def test_ranks_that_wait_in_one_place() -> None:
    assert reported(play(mismatch(BACKWARD), 25)) == {"RUN405": None}


def test_without_stacks_nobody_is_named() -> None:
    finding = play(mismatch(None), 80).one("RUN405")
    assert finding.subject.kind == "job"
    assert finding.severity == "warning"  # one witness alone makes nothing red


def test_a_stall_is_seen_at_the_second_look_where_pages_tell_for_how_long() -> None:
    finding = play(with_pages({}, LONG_AGO), 1).one("RUN405")
    assert evidence(finding, "waiting_seconds").value == 66.0
    assert not play(with_pages({}, JUST_NOW), 1).ever() & RULES
