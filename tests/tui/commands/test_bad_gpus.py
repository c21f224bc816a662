"""GPUs in a bad state, of which nothing is known, or with faults of before: what each command says."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from nvml.simulated import SimulatedNvml, Value

ALL_CLEAR = ("Nothing is wrong", "Nothing was found", "nothing found", "✓")


@pytest.fixture
def node(tmp_path: Path) -> SimulatedNvml:
    return SimulatedNvml("h100x8", directory=tmp_path)


def gputop(node: SimulatedNvml, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "gputop", *words],
        env=node.env(),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def diagnose(node: SimulatedNvml) -> subprocess.CompletedProcess[str]:
    return gputop(node, "diagnose", "--for", "3")


def once(node: SimulatedNvml) -> tuple[subprocess.CompletedProcess[str], dict[str, Any]]:
    """As text and as JSON, which end the same way."""
    text, frame = gputop(node, "--once"), gputop(node, "--once", "--format", "json")
    assert (text.returncode, text.stderr) == (frame.returncode, frame.stderr)
    return text, json.loads(frame.stdout)


def row(text: str, gpu: int) -> str:
    return next(line for line in text.splitlines() if line.split()[:1] == [str(gpu)])


def no_all_clear(text: str) -> bool:
    return not any(words in text for words in ALL_CLEAR)


@pytest.mark.parametrize(
    ("error", "code", "says", "remedy"),
    [
        ("UNKNOWN", 999, "Unknown Error", "In a container, restart it"),
        ("RESET_REQUIRED", 16, "GPU needs a reset", "nvidia-smi -i 3 -r"),
        ("INSUFFICIENT_POWER", 8, "Insufficient External Power", "power cables of GPU 3"),
    ],
)
def test_a_gpu_in_a_bad_state_is_named_with_code_and_remedy(
    node: SimulatedNvml, error: str, code: int, says: str, remedy: str
) -> None:
    node.fault("*", 3, error)
    text, frame = once(node)
    assert text.returncode == 1
    assert f"driver says: {says} (code {code})" in row(text.stdout, 3)
    assert no_all_clear(text.stdout) and remedy in text.stdout
    assert [gpu["status"] for gpu in frame["gpus"]] == ["ok"] * 3 + ["failed"] + ["ok"] * 4
    (found,) = [each for each in frame["findings"] if each["id"] == "HW216"]
    assert (found["subject"]["gpu_index"], found["state"], found["severity"]) == (
        3,
        "active",
        "error",
    )
    assert remedy in found["next_step"]

    done = diagnose(node)
    assert done.returncode == 1
    assert "ERROR HW216 GPU in a bad state: GPU 3\n" in done.stdout
    assert f"{says} (code {code})" in done.stdout and remedy in done.stdout
    assert no_all_clear(done.stdout)


def test_all_handles_that_fail_are_rows_and_findings(node: SimulatedNvml) -> None:
    node.fault("nvmlDeviceGetHandleByIndex", "*", "UNKNOWN")
    text, frame = once(node)
    assert text.returncode == 1
    assert all("(code 999)" in row(text.stdout, gpu) for gpu in range(8))
    assert {each["subject"]["gpu_index"] for each in frame["findings"]} == set(range(8))
    done = diagnose(node)
    assert done.returncode == 1
    assert done.stdout.count("ERROR HW216") == 8
    assert no_all_clear(done.stdout)


@pytest.mark.parametrize("error", ["NO_PERMISSION", "NOT_SUPPORTED"])
def test_one_gpu_that_is_refused_is_no_finding_and_no_all_clear(
    node: SimulatedNvml, error: str
) -> None:
    node.fault("*", 3, error)
    text, frame = once(node)
    assert (text.returncode, frame["findings"]) == (0, [])
    assert no_all_clear(text.stdout)
    done = diagnose(node)
    assert done.returncode == 0
    assert no_all_clear(done.stdout) and "GPU 3 could not be read: " in done.stdout


def test_where_all_is_refused_nothing_was_looked_at(node: SimulatedNvml) -> None:
    node.fault("*", "*", "NO_PERMISSION")
    text, frame = once(node)
    assert (text.returncode, frame["findings"]) == (2, [])
    assert text.stderr == "gputop: no GPU can be read: no permission\n"
    assert diagnose(node).returncode == 2


def test_a_gpu_that_never_answered_is_a_row_and_a_finding(node: SimulatedNvml) -> None:
    node.delay("*", 2, 40)
    text, frame = once(node)
    assert text.returncode == 1
    assert "no answer for " in row(text.stdout, 2) and no_all_clear(text.stdout)
    assert [gpu["index"] for gpu in frame["gpus"]] == list(range(8))
    silent = frame["gpus"][2]
    assert (silent["status"], silent["ever_read"], silent["power_watts"]) == ("stale", False, None)
    assert silent["missing"]["power_watts"].startswith("no answer for ")
    (found,) = [each for each in frame["findings"] if each["id"] == "HW209"]
    assert (found["subject"]["gpu_index"], found["state"]) == (2, "active")

    done = gputop(node, "diagnose", "--for", "7")
    assert done.returncode == 1
    assert "HW209 driver not answering: GPU 2" in done.stdout and no_all_clear(done.stdout)


def test_where_no_gpu_ever_answered_there_are_rows_and_nothing_was_read(
    node: SimulatedNvml,
) -> None:
    node.delay("*", "*", 40)
    text, frame = once(node)
    assert text.returncode == 2
    assert "the NVIDIA driver does not answer about any of its GPUs (8)" in text.stderr
    assert all("no answer for " in row(text.stdout, gpu) for gpu in range(8))
    assert len(frame["gpus"]) == 8 and no_all_clear(text.stdout)


def ill(lines: dict[str, Value]) -> tuple[subprocess.CompletedProcess[str], dict[str, Any]]:
    with SimulatedNvml("h100x8", {f"gpu.3.{key}": value for key, value in lines.items()}) as node:
        text = gputop(node, "--once")
        done = gputop(node, "diagnose", "--for", "2", "--format", "json")
    report: dict[str, Any] = json.loads(done.stdout)
    report["code"] = done.returncode
    return text, report


@pytest.mark.parametrize(
    ("lines", "rule", "mark", "severity"),
    [
        ({"ecc.uncorrected.volatile": 4}, "HW204", "memory error before", "warning"),
        ({"remapped.pending": 1}, "HW205", "row remap pending", "warning"),
        ({"remapped.failure": 1}, "HW205", "row remap pending", "error"),
        ({"remapped.banks.pending": 1}, "HW205", "row remap pending", "warning"),
        ({"recovery_action": 1}, "HW217", "recovery asked", "error"),
        ({"recovery_action": 4}, "HW217", "recovery asked", "warning"),
        ({"recovery_action": 77}, "HW217", "recovery asked", "warning"),
        ({"repair.unrepairable_memory": 1}, "HW218", "damage beyond repair", "error"),
        ({"ecc.sram.threshold_exceeded": 1}, "HW218", "damage beyond repair", "error"),
        ({"repair.tpc_pending": 1}, "HW218", "repair pending", "warning"),
    ],
)
def test_what_was_there_before_this_watch_is_a_finding_and_a_mark(
    lines: dict[str, Value], rule: str, mark: str, severity: str
) -> None:
    text, report = ill(lines)
    assert mark in row(text.stdout, 3)
    (found,) = report["findings"]
    assert (found["id"], found["severity"], found["subject"]["gpu_index"]) == (rule, severity, 3)
    assert {"since": "before this watch"}.items() <= {
        each["signal"]: each["value"] for each in found["evidence"]
    }.items()
    assert report["code"] == 1


@pytest.mark.parametrize(
    "lines",
    [
        {"ecc.uncorrected.aggregate": 4},
        {"remapped.uncorrected": 4},
        {"recovery_action": 0},
        {"recovery_action": "unsupported"},
        {"ecc.mode": 0, "ecc.uncorrected.volatile": 4},
        {"repair.unrepairable_memory": "unsupported"},
    ],
)
def test_what_is_only_history_or_not_supported_is_none(lines: dict[str, Value]) -> None:
    text, report = ill(lines)
    # Whatever a busy machine makes of the host: nothing is said of a GPU.
    assert [each["name"] for each in report["findings"] if each["id"].startswith("HW")] == []
    assert text.returncode == 0


@pytest.mark.parametrize("profile", ["gb10", "h100-mig", "l4", "a100-pcie", "two-islands"])
def test_a_healthy_node_of_any_kind_has_none_of_these(profile: str) -> None:
    with SimulatedNvml(profile) as node:
        text, frame = once(node)
    assert text.returncode == 0
    ids = {each["id"] for each in frame["findings"]}
    assert not ids & {"HW204", "HW205", "HW208", "HW209", "HW216", "HW217", "HW218"}
