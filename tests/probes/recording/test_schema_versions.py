"""What was recorded by any earlier version opens, with the values that it had."""

from __future__ import annotations

from pathlib import Path

import pytest

from gputop.probes.derive.frame import derive
from gputop.probes.model.frame import Frame
from gputop.probes.model.sample import WIRE_SCHEMA_VERSION
from gputop.probes.recording.recording import Recording
from gputop.rules.catalogue import make_rules
from gputop.rules.engine import Engine

from support.recording_fixture import COUNT, FOLDER
from support.recordings import START

FIRST = 2
"""Before that nothing was recorded."""


def test_each_version_has_its_recording() -> None:
    wanted = {f"schema{version}.gtop" for version in range(FIRST, WIRE_SCHEMA_VERSION + 1)}
    assert {path.name for path in FOLDER.glob("*.gtop")} == wanted


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.gtop")), ids=lambda path: path.stem)
def test_it_opens_and_is_judged(path: Path) -> None:
    with Recording(path) as recording:
        kept = list(recording.kept())
        assert recording.node == "node17"
        assert [(each.id, each.time_seconds) for each in recording.events] == [("HW201", START + 8)]
        assert recording.damage() == ""
    assert [each.sample.time_seconds for each in kept] == [START + n for n in range(COUNT)]
    assert [mark.id for mark in kept[-1].marks] == ["HW201"]
    engine = Engine(make_rules())
    frame: Frame | None = None
    for each in kept:
        frame = derive(frame, each.sample)
        judgement = engine.judge(frame)
    assert engine.broken == {}
    assert judgement.frame.gpus[0].memory_used_bytes == 76_450_417_868
    assert [gpu.index for gpu in judgement.frame.gpus] == [0, 1]
    assert [probe.rank for probe in judgement.frame.probes] == [0, 1]
