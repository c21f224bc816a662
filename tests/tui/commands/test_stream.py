"""``gputop stream``: one line for each thing at each look, under the public names."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import pytest

from gputop.tui.commands.stream import KINDS, lines
from gputop.tui.reports.json_output import frame_json

from support.replays import replay

LONG_SECONDS = 60.0


def run(*words: str) -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, "-m", "gputop", "stream", *words],
        capture_output=True,
        text=True,
        timeout=LONG_SECONDS,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


def of(what: str) -> list[dict[str, Any]]:
    return list(lines(replay("straggler").last, what))


def test_each_kind_has_a_line_for_each_of_it() -> None:
    judged = replay("straggler").last
    assert [len(of(what)) for what in KINDS] == [1, 8, 8, len(judged.active)]
    for what in KINDS:
        for line in of(what):
            assert line["schema_version"] == 2
            assert line["timestamp_seconds"] == judged.frame.time_seconds
            assert line["node"] == "node17"


def test_a_frame_is_what_once_prints() -> None:
    (line,) = of("frames")
    assert json.loads(json.dumps(line)) == json.loads(frame_json(replay("straggler").last))


def test_ranks_tell_their_job_and_where_their_time_went() -> None:
    rank = of("ranks")[3]
    assert (rank["rank"], rank["job_name"]) == (3, "train.py")
    assert rank["ledger"]["last_minute"]["entries"]


def test_so_many_looks_of_chosen_fields() -> None:
    words = ["--demo", "healthy", "--what", "gpus", "--fields", "index,power_watts"]
    code, out, err = run(*words, "--count", "2", "-i", "0.2")
    assert (code, err) == (0, "")
    found = [json.loads(line) for line in out.splitlines()]
    assert len(found) == 16
    assert all(
        list(line) == ["timestamp_seconds", "node", "index", "power_watts"] for line in found
    )


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--what", "gpu"], "did you mean gpus"),
        (["--what", "gpus", "--fields", "power_wats", "--count", "1"], "did you mean power_watts"),
        (["--what", "findings", "--fields", "nonsense", "--count", "1"], "no field 'nonsense'"),
        (["--count", "0"], "is no number"),
    ],
)
def test_bad_input_gets_one_sentence(words: Sequence[str], sentence: str) -> None:
    code, out, err = run("--demo", "healthy", *words)
    assert (code, out) == (64, "")
    assert sentence in err and len(err.strip().splitlines()) == 1
