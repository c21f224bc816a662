"""What history keeps of subjects that come, go, come back as others, and are too many."""

from __future__ import annotations

import math

from gputop.rules.columns import GONE_SECONDS, MOST_GONE, MOST_VALUES, Columns

SIGNALS = ("a", "b")


def put(
    columns: Columns, subject: str, moment: int, value: float, signature: object = None
) -> None:
    columns.put(subject, SIGNALS, (value, None), moment, float(moment), signature)


def test_a_column_begins_with_its_subject_and_keeps_its_gaps() -> None:
    columns = Columns()
    put(columns, "process 1", 100, 1.0)
    put(columns, "process 1", 103, 2.0)
    column = columns.of("process 1")["a"]
    assert column.start == 100
    assert [column.at(moment) for moment in (99, 100, 103, 104)] == [None, 1.0, 2.0, None]
    assert math.isnan(column.at(101) or 0.0)


def test_whoever_is_listed_twice_has_one_value() -> None:
    columns = Columns()
    put(columns, "gpu 0", 5, 1.0)
    put(columns, "gpu 0", 5, 2.0)
    put(columns, "gpu 0", 6, 3.0)
    assert list(columns.of("gpu 0")["a"].values) == [2.0, 3.0]


def test_a_pid_that_came_back_is_another_subject() -> None:
    columns = Columns()
    put(columns, "process 1", 1, 1.0, 10.0)
    put(columns, "process 1", 2, 2.0, 10.0)
    columns.put("process 1", ("limit",), (5.0,), 2, 2.0)  # of whom is not known here
    assert list(columns.of("process 1")["a"].values) == [1.0, 2.0]
    put(columns, "process 1", 3, 9.0, 11.0)
    assert list(columns.of("process 1")["a"].values) == [9.0]
    assert "limit" not in columns.of("process 1")


def test_what_is_gone_is_kept_for_a_while_and_a_gpu_for_longer() -> None:
    columns = Columns()
    put(columns, "process 1", 0, 1.0)
    put(columns, "gpu 0", 0, 1.0)
    columns.give_back(GONE_SECONDS)
    assert columns.of("process 1")
    columns.give_back(GONE_SECONDS + 1)
    assert not columns.of("process 1")
    assert columns.of("gpu 0")


def test_of_many_that_are_gone_the_last_stay() -> None:
    columns = Columns()
    for number in range(3 * MOST_GONE):
        put(columns, f"process {number}", number % 100, 1.0)
    columns.give_back(100.0)
    assert columns.subjects == MOST_GONE
    left = min(
        columns.of(f"process {n}")["a"].start
        for n in range(3 * MOST_GONE)
        if columns.of(f"process {n}")
    )
    assert left >= 100 - MOST_GONE


def test_too_much_is_forgotten_before_its_time_and_of_gpus_last() -> None:
    columns = Columns()
    moments = 4000
    subjects = [f"process {number}" for number in range(2 * MOST_VALUES // moments)]
    for moment in (0, moments // 2, moments - 1):  # what lies between was missing
        for subject in (*subjects, "gpu 0"):
            columns.put(subject, ("a",), (1.0,), moment, float(moment))
    assert len(columns) > MOST_VALUES
    columns.forget(0, moments)
    assert len(columns) <= MOST_VALUES
    assert len(columns.of("gpu 0")["a"].values) == moments
    assert columns.of(subjects[0])["a"].at(moments - 1) == 1.0
    assert columns.of(subjects[0])["a"].at(0) is None


def test_a_copy_of_the_past_ends_there_and_stays_as_it_is() -> None:
    columns = Columns()
    for moment in range(5):
        put(columns, "process 1", moment, float(moment), 10.0)
    put(columns, "process 2", 4, 9.0)
    past = columns.until(3)
    put(columns, "process 1", 5, 5.0, 10.0)
    columns.forget(2, 5)
    assert list(past.of("process 1")["a"].values) == [0.0, 1.0, 2.0]
    assert past.subjects == 1  # the other one came later
    put(past, "process 1", 3, 7.0, 10.0)
    assert list(past.of("process 1")["a"].values) == [0.0, 1.0, 2.0, 7.0]
    assert list(columns.of("process 1")["a"].values) == [2.0, 3.0, 4.0, 5.0]
