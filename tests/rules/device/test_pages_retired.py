"""Pages of memory that are out of use, on chips that have such."""

from __future__ import annotations

from typing import Any

import pytest

from gputop.probes.model.missing_reasons import NOT_SUPPORTED

from support.rules_scenes import always, evidence, play

OLD = {"remap_pending": None, "remap_failed": None, "retired_pages_pending": False}


@pytest.mark.parametrize(
    ("pages", "severity"), [(10, "info"), (14, "info"), (15, "warning"), (63, "error")]
)
def test_by_their_number(pages: int, severity: str) -> None:
    found = play(always(gpus={4: {**OLD, "retired_pages": pages}}), 1).one("HW222")
    assert (found.subject.gpu, found.severity) == (4, severity)
    assert evidence(found, "retired_pages").value == pages
    assert ("replaced" in found.next_step) == (severity == "error")


@pytest.mark.parametrize(
    "change",
    [{**OLD, "retired_pages": 9}, {**OLD, "retired_pages": 0}, {}],
    ids=["few", "none", "a chip that has none"],
)
def test_near_misses(change: dict[str, Any]) -> None:
    assert "HW222" not in play(always(gpus={4: change}), 3).ever()


def test_where_there_are_none_to_look_at_nothing_is_missing() -> None:
    none = {"missing": {"retired_pages": NOT_SUPPORTED}}
    blind = {each.id for each in play(always(every_gpu={**OLD, **none}), 3).last.not_evaluated}
    assert "HW222" not in blind
    refused = {"missing": {"retired_pages": "no permission"}}
    last = play(always(every_gpu={**OLD, **refused}), 3).last
    assert "HW222" in {each.id for each in last.not_evaluated}
