"""Public JSON: what a name promises, whatever command prints it."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from gputop.probes.attach.capabilities import AccessMethod
from gputop.probes.derive.frame import derive
from gputop.probes.model.link_frames import PortFrame
from gputop.probes.model.process_frames import ProcessFrame
from gputop.probes.model.rank_activity import ActivityFrame
from gputop.probes.model.sample import SourceStatus
from gputop.probes.simulator import SCENARIOS, SimulatedNode
from gputop.rules.catalogue import make_rules
from gputop.rules.engine import Engine
from gputop.rules.finding import Evidence, Judgement
from gputop.tui.commands.compare import as_json as comparison_json
from gputop.tui.commands.diagnose import as_json as diagnosis_json
from gputop.tui.commands.doctor import Findings
from gputop.tui.commands.doctor import as_json as doctor_json
from gputop.tui.commands.job_choice import as_json as jobs_json
from gputop.tui.drawing.finding_words import evidence_text
from gputop.tui.reports.comparison.comparison import compare
from gputop.tui.reports.comparison.gatherer import Gatherer
from gputop.tui.reports.json_output import (
    Clock,
    Output,
    frame_json,
    probe_status_json,
    public_signal,
)

from nvml.simulated import SimulatedNvml
from support.json_walk import kind_of, public_list, walk
from support.tui_watch import UNIX, played

JSON = Path(__file__).parents[2] / "fixtures/json"
ENVELOPE = {
    *(
        "schema_version",
        "findings",
        "rules_not_evaluated",
        "jobs",
        "ledger",
        "last_minute",
        "watch",
    ),
    *("seen_duration_seconds", "unseen_duration_seconds", "since_timestamp_seconds"),
    *("entries", "missing"),
    *("python_version", "torch_version", "page", "steps_total", "instruments", "pid"),
}
"""Keys that are no field of a record of ours."""
ENTRY = {"duration_seconds", "origin"}
LONG = 60 * 86400
"""Seconds for which the simulated node can have been up."""
MIXED = {"value"}
"""What evidence says may be a number or words."""
AMOUNT = re.compile(
    r".*_(bytes|seconds|joules|packets|segments|switches|faults|periods|kills|ticks)"
)
CAPACITY = re.compile(
    r"(.*_)?(memory|total|used|free|available|limit|reserved|allocated|rss|split)_.*"
)


def decoded(text: bytes) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.json.decode(text)
    return found


@cache
def judged(scenario: str) -> Judgement:
    """A scenario in full swing, with stacks."""
    node = SimulatedNode(scenario, start_time_seconds=UNIX)
    engine, frame = Engine(make_rules()), None
    result: Judgement | None = None
    for second in (-4.0, -2.0, 0.0):
        sample = node.with_stacks(node.sample_at(second), second, -9.0)
        frame = derive(frame, sample)
        result = engine.judge(frame)
    assert result is not None
    return result


def outputs(scenario: str) -> Iterator[dict[str, Any]]:
    """What each command prints of a scenario."""
    judgement = judged(scenario)
    frame = judgement.frame
    yield decoded(frame_json(judgement))
    yield decoded(diagnosis_json(judgement, None, judgement.findings))
    for job in frame.jobs:
        yield decoded(diagnosis_json(judgement, job, judgement.findings))
    statuses = tuple(
        SourceStatus(name=each.name, status=each.status, monotonic_seconds=each.monotonic_seconds)
        for each in frame.sources
    )
    method = AccessMethod(name="probe", open=True, gives="phases", cost="none")
    sample = SimulatedNode(scenario, start_time_seconds=UNIX).sample_at(0.0)
    yield decoded(doctor_json(Findings(pid=1, access_methods=(method,), sources=statuses), sample))


def broken_rules(printed: dict[str, Any]) -> Iterator[str]:
    """What is wrong with the names of an output, and the values that they promise."""
    assert printed["schema_version"] == 2
    names = {each.partition(".")[2] for each in public_list()} | ENVELOPE | ENTRY
    now = printed.get("timestamp_seconds", UNIX)
    for path, key, value in walk(printed):
        if key not in names:
            yield f"{path} is in no list"
        if "monotonic" in key or "_since_start" in key or key == "start_time_seconds":
            yield f"{path} is an inner name"
        if key.endswith("_seconds") and not re.fullmatch(
            r"(.*_)?(timestamp|duration|age)_seconds", key
        ):
            yield f"{path} is neither a moment nor a length of time"
        if key.endswith("_seconds") and not isinstance(value, dict | int | float | None):
            yield f"{path} is no number"
        if key.endswith("_seconds") and isinstance(value, int | float):
            first, last = (now - LONG, now + 5) if "timestamp" in key else (0, LONG)
            if not first <= value <= last:
                yield f"{path} cannot be {value}"
        if AMOUNT.fullmatch(key) and not key.endswith("_seconds") and not CAPACITY.fullmatch(key):
            yield f"{path} is a bare counter"
        if (
            key == "signal"
            and isinstance(value, str)
            and re.search(r"_since_start$|(?<!timestamp)(?<!duration)(?<!age)_seconds$", value)
        ):
            yield f"{path} names an inner field: {value}"
        if key == "missing" and isinstance(value, dict):
            missing: dict[str, Any] = value
            yield from (
                f"{path}.{field} is in no list"
                for field in missing
                if field not in names | {"stack"}
            )


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_every_output_keeps_the_rules_of_the_names(scenario: str) -> None:
    assert [wrong for printed in outputs(scenario) for wrong in broken_rules(printed)] == []


def test_a_list_of_jobs_keeps_them_and_has_the_times_of_this_node() -> None:
    (job,) = judged("straggler").frame.jobs
    started = time.clock_gettime(time.CLOCK_BOOTTIME) - 60.0
    ranks = tuple(replace(rank, start_time_seconds=started) for rank in job.ranks)
    printed = decoded(jobs_json([replace(job, start_time_seconds=started, ranks=ranks)]))
    printed["timestamp_seconds"] = time.time()
    assert list(broken_rules(printed)) == []
    assert printed["jobs"][0]["start_timestamp_seconds"] == pytest.approx(time.time() - 60, abs=5)


def test_a_comparison_keeps_them() -> None:
    node = SimulatedNode("input-bound", start_time_seconds=UNIX)
    gatherer = Gatherer(UNIX)
    for second in range(4):
        gatherer.add(node.sample_at(float(second)))
    side = gatherer.side("a.gtop")
    assert side is not None
    other = replace(side, node="another", findings=())
    printed = decoded(comparison_json(compare(side, other, 0.05)))
    assert printed["differences"] and printed["rows"] and printed["a_side"]["gpus"]
    assert list(broken_rules(printed)) == []


def test_the_rules_find_names_that_break_them() -> None:
    wrong = {
        "schema_version": 2,
        "timestamp_seconds": UNIX,
        "gpus": [{"rx_bytes": 1, "step_seconds": 1.0, "state_monotonic_seconds": 3.0}],
        "ended_timestamp_seconds": 1040400.0,
        "missing": {"start_time_seconds": "why"},
    }
    found = "\n".join(broken_rules(wrong))
    for said in (
        "rx_bytes is a bare counter",
        "step_seconds is neither",
        "state_monotonic_seconds is an inner name",
        "ended_timestamp_seconds cannot be 1040400.0",
        "missing.start_time_seconds is in no list",
    ):
        assert said in found


def test_a_name_has_one_type_wherever_it_stands() -> None:
    kinds: dict[str, set[str]] = {}
    for scenario in SCENARIOS:
        for printed in outputs(scenario):
            for _, key, value in walk(printed):
                kind = kind_of(value)
                if kind not in ("null", "empty list") and key not in MIXED:
                    kinds.setdefault(key, set()).add(kind)
    assert {key: each for key, each in kinds.items() if len(each) > 1} == {}


def test_the_list_of_public_names_is_up_to_date() -> None:
    """A new field of a record is a new public name: look at it twice, for it stays. In tests/, the list is
    written by ``python -m support.json_walk > fixtures/json/version2_names.txt``."""
    assert (JSON / "version2_names.txt").read_text().split() == public_list()


def test_what_only_grows_says_so() -> None:
    node, frame = SimulatedNode("healthy", start_time_seconds=UNIX), None
    values: dict[str, list[float]] = {}
    for second in range(40):
        frame = derive(frame, node.sample_at(float(second)))
        printed = decoded(Output(Clock.of(frame)).encode_record(frame))
        seen: dict[str, float] = {}
        for path, _, value in walk(printed):
            if isinstance(value, int | float) and not isinstance(value, bool):
                seen[path] = seen.get(path, 0.0) + value
        for path, total in seen.items():
            values.setdefault(path, []).append(total)
    growing = {
        path
        for path, totals in values.items()
        if len(totals) == 40 and all(a < b for a, b in pairwise(totals[2:]))
    }
    bare = {
        path
        for path in growing
        if not path.endswith(("_total", "_since_first_seen", "_timestamp_seconds"))
    }
    assert bare <= {
        *("sequence", "timestamp_seconds", "jobs[].ranks[].last_minute_seen_duration_seconds"),
        *(path for path in bare if path.rpartition(".")[2] == "timestamp_seconds"),
    }
    assert {"gpus[].energy_joules_total", "processes[].cpu_seconds_total"} <= growing


def test_moments_come_from_the_clock_that_they_are_of() -> None:
    (process, *_) = judged("healthy").frame.processes
    asleep = replace(judged("healthy").frame, suspended_seconds=1000.0, monotonic_seconds=5000.0)
    clock = Clock.of(asleep)
    read = replace(process, monotonic_seconds=4990.0, start_time_seconds=5500.0)
    printed = decoded(Output(clock).encode_record(read))
    assert printed["timestamp_seconds"] == pytest.approx(asleep.time_seconds - 10)
    # Started 5500 s after boot, of which the node slept for 1000 s: 500 s ago.
    assert printed["start_timestamp_seconds"] == pytest.approx(asleep.time_seconds - 500)
    frame = decoded(frame_json(replace(judged("healthy"), frame=asleep)))
    assert frame["boot_timestamp_seconds"] == pytest.approx(asleep.time_seconds - 6000)


def test_what_is_unknown_stays_unknown() -> None:
    moves = ActivityFrame(state="R", busy_since_seconds=5.0)
    printed = decoded(Output(Clock(100.0, 90.0)).encode_record(moves))
    assert printed["still_since_timestamp_seconds"] is None
    assert printed["busy_since_timestamp_seconds"] == 105.0


def test_waiting_of_a_port_is_in_seconds() -> None:
    port = PortFrame(
        monotonic_seconds=1.0,
        device="mlx5_0",
        port=1,
        wait_ticks=25_000_000_000,
        rate_bytes_per_second=50e9,
    )
    output = Output(Clock(0.0, 0.0))
    assert decoded(output.encode_record(port))["wait_seconds_total"] == pytest.approx(4.0)
    unknown = decoded(output.encode_record(replace(port, rate_bytes_per_second=None)))
    assert unknown["wait_seconds_total"] is None
    assert unknown["missing"] == {"wait_seconds_total": "the rate of the port is not known"}
    denied = replace(port, wait_ticks=None, missing={"wait_ticks": "no permission"})
    assert decoded(output.encode_record(denied))["missing"] == {
        "wait_seconds_total": "no permission"
    }


def test_a_reason_stands_under_the_public_name() -> None:
    process = ProcessFrame(
        monotonic_seconds=1.0,
        pid=7,
        start_time_seconds=0.5,
        missing={"read_bytes": "no permission", "threads": "gone", "command": "kernel thread"},
    )
    printed = decoded(Output(Clock(0.0, 0.0)).encode_record(process))
    reasons = {
        "read_bytes_total": "no permission",
        "thread_count": "gone",
        "command": "kernel thread",
    }
    assert printed["missing"] == reasons
    assert all(printed[name] is None for name in reasons)


def test_evidence_names_the_public_field() -> None:
    assert public_signal("ecc_uncorrected_lifetime") == "ecc_uncorrected_errors_lifetime_total"
    assert public_signal("pcie_replays_since_start") == "pcie_replays_since_first_seen"
    assert public_signal("busy_seconds") == "busy_duration_seconds"
    assert public_signal("utilization_ratio") == "utilization_ratio"
    assert public_signal("others_delay_ratio") == "others_delay_ratio"
    assert public_signal("no_step_seconds") == "no_step_duration_seconds"
    assert public_signal("age_seconds") == "age_seconds"


def test_evidence_has_a_name_for_programs_and_words_for_people() -> None:
    shown = Evidence(
        signal="others_delay_ratio", label="delay of the others in a step", value=0.2, unit="ratio"
    )
    plain = Evidence(signal="run_delay_ratio", value=0.2, unit="ratio")
    known = Evidence(signal="sm_clock_hertz", value=1e9, unit="hertz")
    output = Output(Clock(0.0, 0.0))
    printed = [decoded(output.encode_record(each)) for each in (shown, plain, known)]
    assert [(each["signal"], each["label"]) for each in printed] == [
        ("others_delay_ratio", "delay of the others in a step"),
        ("run_delay_ratio", "run delay"),
        ("sm_clock_hertz", "SM clock"),
    ]
    assert evidence_text(shown).startswith("delay of the others in a step 20 %")


def test_what_a_probe_says_of_itself() -> None:
    said = {"pid": 7, "python": "3.12.1", "torch": None, "page": "/x", "steps": 5}
    printed = decoded(probe_status_json({**said, "instruments": {"gc": "on"}}))
    assert list(broken_rules(printed)) == []
    assert (printed["steps_total"], printed["instruments"]) == (5, {"gc": "on"})


@pytest.mark.parametrize("words", [("--once",), ("diagnose", "--for", "2"), ("doctor",)])
def test_a_simulated_driver(words: tuple[str, ...]) -> None:
    with SimulatedNvml("h100x8") as node:
        done = subprocess.run(
            [sys.executable, "-P", "-m", "gputop", *words, "--format", "json"],
            env=node.env(),
            capture_output=True,
            timeout=60,
            check=True,
        )
    # What runs on this machine may be older than the demo's node.
    wrong = [each for each in broken_rules(decoded(done.stdout)) if "cannot be" not in each]
    assert wrong == []


def test_nothing_of_it_is_loaded_until_json_is_asked_for() -> None:
    commands = ("once", "diagnose", "doctor", "stacks", "job_choice", "probe", "live")
    imports = ", ".join(f"gputop.tui.commands.{name}" for name in commands)
    script = f"import {imports}, gputop.tui.app.app, sys; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-P", "-c", script], check=True, capture_output=True, text=True
    )
    loaded = done.stdout.split()
    assert not [name for name in loaded if name.startswith("gputop.tui.reports.json_")]
    assert "gputop.tui.commands.once" in loaded


def test_every_name_of_version_1_is_there_or_listed_as_changed() -> None:
    """An old consumer finds in that list what became of each name that it reads."""
    changes = dict(
        line.split(" -> ") for line in (JSON / "version1_to_2.txt").read_text().splitlines()
    )
    before = {path for path, _, _ in walk(decoded((JSON / "version1.json").read_bytes()))}
    after = {path for name in ("gpu-lost", "healthy") for path, _, _ in walk(_frame(name))}
    assert {path for path in before if path not in after} == changes.keys()
    assert {new for new in changes.values() if new != "left out"} <= after


def _frame(scenario: str) -> dict[str, Any]:
    return decoded(frame_json(played(scenario)[1]))
