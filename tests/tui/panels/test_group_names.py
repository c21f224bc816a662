"""A container is named as its runtime shows it, wherever a finding is about its control group."""

from __future__ import annotations

import msgspec
import pytest

from gputop.rules.finding import Finding, FindingRef, Subject
from gputop.tui.drawing.finding_words import subject_text
from gputop.tui.drawing.lines import text_of
from gputop.tui.panels.main import draw

from support.tui_watch import judgement, view

ID = "8f3c1d9a5be24706b1f0c6a9e2d47b35a1f6e8c09d7b4a52e3c8f1069ab7d4e2"


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        (f"/system.slice/docker-{ID}.scope", "docker-8f3c1d9a5be2"),
        (f"/docker/{ID}", "docker/8f3c1d9a5be2"),
        (f"/kubepods.slice/pod1.slice/cri-containerd-{ID}.scope", "cri-containerd-8f3c1d9a5be2"),
        (f"/kubepods/burstable/pod1/{ID}", "pod1/8f3c1d9a5be2"),
        (f"/machine.slice/libpod-{ID}.scope/container", "libpod-8f3c1d9a5be2/container"),
        (f"/{ID}", "8f3c1d9a5be2"),
        (f"/{ID}0", f"/{ID}0"),
        ("/user.slice/user-1017.slice/session-42.scope",) * 2,
        ("/", "/"),
    ],
)
def test_of_a_container_the_first_twelve_digits_are_enough(path: str, shown: str) -> None:
    assert subject_text(Subject(kind="cgroup", id=path)) == shown


def reference_to(finding: Finding) -> FindingRef:
    return FindingRef(id=finding.id, subject=finding.subject)


@pytest.mark.parametrize("width", [60, 80, 132])
def test_it_is_whole_where_it_folds_under_its_cause(width: int) -> None:
    """Throttling itself is a cause now: it is turned into the symptom of what it explains."""
    judged = judgement("cpu-throttled")
    by_id = {each.id: each for each in judged.findings}
    throttled, few = by_id["HST110"], by_id["HST111"]
    replace = msgspec.structs.replace
    cause = replace(few, explained_by=None, explains=(reference_to(throttled),))
    symptom = replace(throttled, explains=(), explained_by=reference_to(few))
    shown = view(replace(judged, findings=(cause, symptom)))
    lines = [text_of(line) for line in draw(shown, width, 24).lines]
    assert any("cgroup CPU throttling, docker-8f3c1d9a5be2" in line for line in lines)


def test_throttling_is_the_cause_of_too_few_cores() -> None:
    lines = [text_of(line) for line in draw(view(judgement("cpu-throttled")), 132, 24).lines]
    assert any("cgroup CPU throttling      docker-8f3c" in line for line in lines)
    assert any("explains: " in line and "too few cores, job" in line for line in lines)
