"""Which finding explains which, and in what order they stand."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gputop.rules.causes import with_causes
from gputop.rules.finding import Finding, Subject, WaitPath

from support.engine_scenes import finding


def gpu(index: int, job: str | None = "j") -> Subject:
    return Subject(kind="gpu", id=str(index), gpu=index, job=job)


def test_a_job_wide_symptom_folds_under_a_fault_of_another_gpu_of_its_job() -> None:
    found = with_causes(
        (
            finding("LOST", gpu(3), "error"),
            finding("HOLLOW", gpu(0)),
            finding("HOLLOW", gpu(9, "k")),
        ),
        {"LOST": ("HOLLOW",)},
        {"HOLLOW"},
    )
    assert [each.explained_by is not None for each in found] == [False, True, False]
    assert [ref.subject.gpu for ref in found[0].explains] == [0]


def test_a_local_symptom_does_not() -> None:
    found = with_causes(
        (finding("HOT", gpu(3)), finding("SLOW", gpu(0)), finding("SLOW", gpu(3))),
        {"HOT": ("SLOW",)},
    )
    assert [(each.id, each.subject.gpu, each.explained_by is not None) for each in found] == [
        ("HOT", 3, False),
        ("SLOW", 3, True),
        ("SLOW", 0, False),
    ]


def test_what_is_about_waiting_explains_those_on_the_way_to_it() -> None:
    def of_rank(number: int) -> Subject:
        return Subject(kind="gpu", id=str(number), gpu=number, rank=number, job="j")

    hung = Subject(kind="rank", id="r3", rank=3, job="j")
    found = with_causes(
        (
            finding("HANGS", hung),
            *(finding("HOLLOW", of_rank(number)) for number in (0, 1, 3)),
        ),
        {"HANGS": ("HOLLOW",)},
        {"HOLLOW"},
        {("HANGS", hung.key): WaitPath(frozenset({0}))},
    )
    explained = {each.subject.rank for each in found if each.explained_by is not None}
    assert explained == {0, 3}, "rank 1 waits for nobody, or for somebody else"


@pytest.mark.parametrize(
    ("through", "explained"),
    [({"socket", "network"}, True), ({"socket"}, False), ({"pipe"}, False), (set(), True)],
)
def test_a_network_explains_what_waits_on_a_path_over_it_alone(
    through: set[str], explained: bool
) -> None:
    blocked = Subject(kind="rank", id="r3", rank=3, job="j")
    host = Subject(kind="host", id="n")
    found = with_causes(
        (finding("LOSSES", host), finding("BLOCKED", blocked)),
        {"LOSSES": ("BLOCKED",)},
        only_in={"LOSSES": {"network"}},
        waits_in={("BLOCKED", blocked.key): through},
    )
    assert [each.explained_by is not None for each in found if each.id == "BLOCKED"] == [explained]


def test_what_is_only_pending_explains_nothing() -> None:
    found = with_causes(
        (finding("SLOW", gpu(3)), finding("HOT", gpu(3), state="pending")), {"HOT": ("SLOW",)}
    )
    assert all(each.explained_by is None for each in found)


def test_information_explains_no_warning() -> None:
    found = with_causes(
        (finding("SLOW", gpu(3)), finding("HOT", gpu(3), "info")), {"HOT": ("SLOW",)}
    )
    assert all(each.explained_by is None for each in found)


def test_a_tree_stands_where_its_most_urgent_finding_would() -> None:
    found = with_causes(
        (finding("SLOW", gpu(3), "error"), finding("AAA", gpu(1)), finding("HOT", gpu(3))),
        {"HOT": ("SLOW",)},
    )
    assert [each.id for each in found] == ["HOT", "SLOW", "AAA"]


def test_of_one_kind_the_worse_explains_the_lesser() -> None:
    found = with_causes(
        (finding("XID", gpu(3), "error"), finding("XID", gpu(0), "info")), {"XID": ("XID",)}
    )
    assert found[1].explained_by is not None
    equal = with_causes(
        (finding("XID", gpu(3), "error"), finding("XID", gpu(0), "error")), {"XID": ("XID",)}
    )
    assert all(each.explained_by is None for each in equal)


_NAMES = ("A", "B", "C", "D")


_FINDINGS = st.builds(
    finding,
    st.sampled_from(_NAMES),
    st.builds(gpu, st.integers(0, 2), st.sampled_from([None, "j"])),
    st.sampled_from(["error", "warning", "info"]),
)


@settings(max_examples=150)
@given(
    st.lists(_FINDINGS, max_size=12, unique_by=lambda each: (each.id, each.subject.key)),
    st.dictionaries(st.sampled_from(_NAMES), st.lists(st.sampled_from(_NAMES)).map(tuple)),
    st.sets(st.sampled_from(_NAMES)),
)
def test_causes_never_go_in_circles_and_nothing_is_lost(
    findings: list[Finding], explains: dict[str, tuple[str, ...]], job_wide: set[str]
) -> None:
    linked = with_causes(findings, explains, job_wide)
    keys = [(each.id, each.subject.key) for each in linked]
    assert sorted(keys) == sorted((each.id, each.subject.key) for each in findings)
    for place, each in enumerate(linked):
        if each.explained_by is not None:
            assert (each.explained_by.id, each.explained_by.subject.key) in keys[:place]
