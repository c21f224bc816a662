"""The corpus itself: its table names what is there, and its figures are computed rightly."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from truth.__main__ import CASES
from truth.ask import Answer, Told, findings_of
from truth.case import Case
from truth.faulty import FAULTY
from truth.healthy import HEALTHY
from truth.known import known
from truth.outcome import Outcome, fits
from truth.report import figures, unexpected, verdict
from truth.start import JOBS
from truth.statistics import Share

SPINS = Told("RUN406", "rank not advancing", "error", "rank", 1, True, "state R; spins in a loop")
CASE = Case(name="a", job="hung.odd_spin", faulty=True, culprits=(1,), causes=("RUN406",))


def _functions(module: str) -> set[str]:
    return set(re.findall(r"^def (\w+)\(", (JOBS / f"{module}.py").read_text(), re.MULTILINE))


def _exists(job: str) -> bool:
    module, _, function = job.partition(".")
    if function in _functions(module):
        return True
    place, _, way = function.partition("_")
    return (
        module == "hung"
        and f'"{place}"' in (JOBS / "hung.py").read_text()
        and way in _functions("blocks") | _functions("everyday") | _functions("rare")
    )


def test_there_are_enough_cases_and_each_has_a_name_of_its_own() -> None:
    assert len(FAULTY) >= 25 and len(HEALTHY) >= 20
    assert len({case.name for case in CASES}) == len(CASES)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_each_case_has_a_job_and_says_what_is_true(case: Case) -> None:
    assert _exists(case.job) and (not case.beside or _exists(case.beside))
    assert case.faulty == bool(case.causes) == bool(case.culprits)
    for cause in case.causes:
        re.compile(cause)


def test_what_is_known_to_fail_is_in_the_corpus_and_has_a_reason() -> None:
    for name, modes in known().reasons.items():
        assert name in {case.name for case in CASES}
        assert modes and set(modes) <= {"probe", "bare"} and all(modes.values())


def test_all_files_of_it_are_short() -> None:
    for path in Path(__file__).parent.rglob("*.py"):
        assert len(path.read_text().splitlines()) < 250, path


def test_a_cause_is_an_id_or_words_of_the_finding() -> None:
    assert fits(SPINS, "RUN406") and fits(SPINS, "spins? in") and fits(SPINS, "NOT advancing")
    assert not fits(SPINS, "RUN405") and not fits(SPINS, "socket")
    assert not fits(replace(SPINS, text="explained by RUN405"), "RUN405")  # an id is no word
    assert not fits(
        replace(SPINS, text="place flock (blocks.py:7)"), "lock"
    )  # the job's own function


def test_the_interval_is_wilsons() -> None:
    low, high = Share(19, 21).interval
    assert (round(low, 4), round(high, 4)) == (0.7109, 0.9735)
    assert Share(0, 0).interval == (0.0, 1.0)
    assert str(Share(10, 10)) == "10 of 10 = 100% (95 %: 72% to 100%)"


def test_what_was_not_right_is_said() -> None:
    right = Outcome(CASE, Answer((SPINS,)), 60, told_seconds=CASE.due_seconds)
    host = replace(SPINS, id="LNK513", kind="host", rank=None)
    assert right.failure == ""
    assert replace(right, answer=Answer(()), told_seconds=None).failure == "not told in 60 s"
    assert replace(right, answer=Answer((host, SPINS))).failure == "wrong rank, wrong cause on top"
    assert replace(right, answer=Answer((replace(SPINS, rank=0),))).failure == "wrong rank"
    assert replace(right, told_seconds=90.0).failure == "late, after 90 s"
    assert replace(right, answer=Answer((), "no reply")).failure == "could not look: no reply"


def test_a_healthy_job_is_left_alone_but_its_machine_may_be_spoken_of() -> None:
    healthy = Outcome(replace(CASE, faulty=False), Answer((SPINS,)), 60)
    quiet = (
        replace(SPINS, severity="info"),
        replace(SPINS, active=False),
        replace(SPINS, kind="host"),
    )
    assert healthy.failure == "false alarm"
    assert replace(healthy, answer=Answer(quiet)).failure == ""
    assert replace(healthy, answer=Answer((), "process 7 has exited")).failure == ""


def test_known_failures_are_held_strictly() -> None:
    right = Outcome(CASE, Answer((SPINS,)), 60, told_seconds=5.0)
    wrong = Outcome(CASE, Answer(()), 60)
    words = [verdict(each, why) for each in (right, wrong) for why in ("", "no rule yet")]
    assert words == ["right", "MENDED", "FAILS", "known"]
    assert unexpected(right, "no rule yet") and not unexpected(wrong, "no rule yet")
    assert verdict(replace(wrong, broken="no module torch"), "no rule yet") == "BROKEN"


def test_figures_over_the_cases() -> None:
    found = Outcome(CASE, Answer((SPINS,)), 60, told_seconds=5.0)
    alarm = Outcome(replace(CASE, faulty=False), Answer((SPINS,)), 1800)
    lines = figures([found, Outcome(CASE, Answer(()), 60), alarm]).splitlines()
    assert [line[16:24] for line in lines[:4]] == ["1 of 2 =", "1 of 2 =", "1 of 1 =", "1 of 1 ="]
    assert lines[6] == "false alarms    1 in 0.50 h = 2.0 an hour"


def test_only_these_names_are_read_from_a_report() -> None:
    finding = {
        "id": "HST125",
        "name": "rank blocked",
        "severity": "error",
        "state": "active",
        "subject": {"kind": "rank", "rank": 1},
        "evidence": [{"signal": "file", "value": "/data/fifo"}],
        "next_step": "Look.",
    }
    (told,) = findings_of({"findings": [finding]})
    assert str(told) == "HST125 rank blocked (rank 1, error): file /data/fifo; Look."
    assert told.weighty and told.of_the_job
