"""The check for real GPUs, tried against the simulated driver: it must name what differs, and only that."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

import pytest

from gpu.check import parts, section, smi_compare
from gpu.check.expected import judge
from gpu.check.screens import wrong
from gpu.check.smi_values import ONLY_GPUTOP, VALUES
from nvml.simulated import SimulatedNvml
from support.command_runs import run
from support.torch_python import TORCH_PYTHON, needs_torch

ROOT = Path(__file__).parents[2]
FAKE = ROOT / "tests/gpu/fake_smi.py"
OF_ITSELF = frozenset(
    {
        *("timestamp_seconds", "missing", "status", "status_reason", "age_seconds", "ever_read"),
        *("lost", "fault_code", "failed_calls", "rank", "job_id", "ledger"),
        *("nvlinks", "migs", "processes", "pcie_limit_bytes_per_second"),
        *("nvlink_limit_bytes_per_second", "pcie_replays_per_second", "pcie_width_device_max"),
        *("pcie_generation_slot_max", "pcie_width_slot_max", "faults_when_first_seen"),
        *("pcie_replays_since_first_seen", "nvlink_errors_since_first_seen"),
        *("ecc_uncorrected_errors_since_first_seen", "ecc_uncorrected_errors_when_first_seen"),
    }
)
"""What gputop works out, reads elsewhere, or is compared apart from the table."""


class Machine(NamedTuple):
    """A simulated one with its nvidia-smi."""

    node: SimulatedNvml
    env: dict[str, str]

    def check(self, *words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "tests.gpu.check", *words]
        return subprocess.run(
            command, cwd=ROOT, env=self.env, capture_output=True, text=True, check=False, timeout=90
        )


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    folder = tmp_path_factory.mktemp("bin")
    smi = folder / "nvidia-smi"
    smi.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{FAKE}" "$@"\n')
    smi.chmod(0o755)
    with SimulatedNvml("h100x8", {"gpu.count": 2, "gpu.1.clock.event_reasons": 0x24}) as node:
        node.freeze(100.0)
        env = node.env()
        yield Machine(node, {**env, "PATH": f"{folder}:{env['PATH']}"})


@pytest.fixture(scope="module")
def both(machine: Machine) -> tuple[dict[str, Any], str]:
    """What gputop and nvidia-smi say of the same moment."""
    frame = json.loads(run("--once", "--format", "json", env=machine.env).stdout)
    words = ["nvidia-smi", "-q", "-x"]
    path = machine.env["PATH"].split(":")[0]
    smi = subprocess.run(
        [f"{path}/{words[0]}", *words[1:]],
        env=machine.env,
        capture_output=True,
        text=True,
        check=True,
    )
    return frame, smi.stdout


def test_all_agree(both: tuple[dict[str, Any], str]) -> None:
    rows = list(smi_compare.compare(*both))
    assert [row for row in rows if row.wrong] == []
    verdicts = {(row.subject, row.field): row.verdict for row in rows}
    for field in ("power_watts", "memory_used_bytes", "throttle_reasons", "ecc_enabled"):
        assert verdicts["GPU 1", field] == "agree"
    assert verdicts["GPU 1", "process 4101"] == "agree"
    assert verdicts["GPU 0", "retired_pages_total"] == "N/A"
    assert verdicts["GPU 0", "energy_joules_total"] == "only here"


@pytest.mark.parametrize(
    ("there", "instead", "field", "verdict"),
    [
        ("<replay_counter>0<", "<replay_counter>1<", "pcie_replays_total", "differ"),
        ("81559 MiB", "81557 MiB", "memory_total_bytes", "differ"),
        ("<current_ecc>Enabled<", "<current_ecc>Disabled<", "ecc_enabled", "differ"),
        (">Hopper<", ">Ada Lovelace<", "architecture", "differ"),
        ("sw_thermal_slowdown>Active", "sw_thermal_slowdown>No", "throttle_reasons", "differ"),
        ("sw_power_cap>Active", "sw_power_cap>No", "throttle_reasons", "not judged"),
        ("<fan_speed>N/A<", "<fan_speed>30 %<", "fan_speed_ratio", "only there"),
        ("<serial>1650423010001<", "<serial>N/A<", "serial", "only here"),
        ("<pid>4100<", "<pid>4999<", "process 4999", "differ"),
        ("70656 MiB", "69500 MiB", "process 4100", "agree"),  # 2 % of 69 GiB and no more
        ("70656 MiB", "68000 MiB", "process 4100", "differ"),
    ],
)
def test_what_differs_is_named(
    both: tuple[dict[str, Any], str], there: str, instead: str, field: str, verdict: str
) -> None:
    frame, xml = both
    assert there in xml
    rows = list(smi_compare.compare(frame, xml.replace(there, instead, 1)))
    assert verdict in {row.verdict for row in rows if row.field == field}
    allowed = {field, "process 4100"}
    assert {row.field for row in rows if row.wrong} <= allowed


def test_newer_thresholds_are_distances() -> None:
    (value,) = (each for each in VALUES if each.field == "temperature_slowdown_celsius")
    gpu = ElementTree.fromstring(
        "<gpu><temperature><gpu_temp>41 C</gpu_temp><gpu_temp_tlimit>46 C</gpu_temp_tlimit>"
        "<gpu_temp_slow_tlimit_threshold>-2 C</gpu_temp_slow_tlimit_threshold></temperature></gpu>"
    )
    assert value.path.read(gpu) == 89


def test_each_value_of_a_gpu_has_its_place(both: tuple[dict[str, Any], str]) -> None:
    placed = {value.field for value in VALUES} | ONLY_GPUTOP | OF_ITSELF
    assert set(both[0]["gpus"][0]) - placed == set()
    assert placed - set(both[0]["gpus"][0]) == set()


def test_what_no_row_reads_is_listed(both: tuple[dict[str, Any], str]) -> None:
    xml = both[1].replace(
        "<fan_speed>", "<voltage><graphics_volt>885 mV</graphics_volt></voltage><fan_speed>"
    )
    assert "voltage/graphics_volt 885 mV" in smi_compare.unread(xml)
    assert not [each for each in smi_compare.unread(xml) if each.startswith("pci/replay_counter")]


def test_the_command_says_what_differs(machine: Machine, tmp_path: Path) -> None:
    report = tmp_path / "report.md"
    words = ("--parts", "smi", "--report", str(report), "--folder", str(tmp_path))
    other = machine._replace(
        env={**machine.env, "FAKE_SMI_CHANGED": "remapped_rows/remapped_row_unc=3"}
    )
    done = other.check(*words)
    assert done.returncode == 1, done.stderr
    text = report.read_text()
    assert text.count("**Failed:**") == 1
    assert (tmp_path / "frame-idle.json").exists()
    assert "GPU 0 remapped_rows_uncorrected_total differ: gputop 0, nvidia-smi 3" in text


def test_calls_are_timed_and_what_is_unsupported_is_told(machine: Machine, tmp_path: Path) -> None:
    machine.node.delay("nvmlDeviceGetUtilizationRates", 1, 0.25)
    into = tmp_path / "calls"
    try:
        common = ("--folder", str(tmp_path), "--limit", "3")
        machine.check("--part", "calls", "--into", str(into), *common)
    finally:
        machine.node.delay("nvmlDeviceGetUtilizationRates", 1, 0)
    said = section.read(into)
    text = "\n".join(each.text for each in said if each.kind == "text")
    assert "| nvmlDeviceGetRetiredPages |" in text
    assert "not supported (" in text
    assert "| 185 | 0 | – |" in text
    rows = [line for line in text.splitlines() if "GetUtilizationRates" in line]
    longest = int(rows[0].split("|")[4].replace("µs", "").replace(",", ""))
    assert 250_000 <= longest < 1_000_000
    assert said[-1].kind == "ended"


@needs_torch
def test_a_job_is_started_with_the_probe_and_asked(machine: Machine, tmp_path: Path) -> None:
    into = tmp_path / "captures"
    words = ("--device", "cpu", "--python", TORCH_PYTHON, "--limit", "60")
    machine.check("--part", "captures", "--into", str(into), "--folder", str(tmp_path), *words)
    said = section.read(into)
    text = "\n".join(each.text for each in said if each.kind == "text")
    assert [each.text for each in said if each.kind == "failure"] == []
    assert '"forward": "on"' in text
    assert "cpu_op" in text
    assert [each.text for each in said if each.kind == "skipped"] == [
        "a memory snapshot is of CUDA's memory"
    ]


@needs_torch
def test_jobs_are_watched_as_long_as_there_is_time(machine: Machine, tmp_path: Path) -> None:
    into = tmp_path / "verdicts"
    words = ("--device", "cpu", "--python", TORCH_PYTHON, "--watch", "1", "--limit", "10")
    machine.check("--part", "verdicts", "--into", str(into), "--folder", str(tmp_path), *words)
    said = section.read(into)
    text = "\n".join(each.text for each in said if each.kind == "text")
    assert "### healthy, with the probe: not judged\n\nExpected: nothing." in text
    (late,) = (each.text for each in said if each.kind == "failure")
    assert late.startswith("no time was left for input-bound (probe), launch-bound (probe)")
    assert not [path for path in tmp_path.iterdir() if path.suffix in (".ready", ".gate")]


def test_without_cuda_jobs_are_skipped_visibly(machine: Machine, tmp_path: Path) -> None:
    report = tmp_path / "report.md"
    words = ("--parts", "verdicts", "cost", "--python", "/bin/false")
    done = machine.check(*words, "--report", str(report), "--folder", str(tmp_path))
    assert done.returncode == 1
    assert report.read_text().count("**Not tried:** /bin/false has no torch") == 2


def _measured(code: str, folder: Path, limit: float = 20.0) -> parts.Outcome:
    part = parts.Part("x", "X", limit)
    return parts.measure(part, [sys.executable, "-c", code], folder / "said", limit)


def test_a_part_that_hangs_is_cut_off_and_what_it_said_is_kept(tmp_path: Path) -> None:
    said = json.dumps(section.Said("text", "half of it"))
    code = f"open({str(tmp_path / 'said')!r}, 'a').write({said!r} + '\\n'); import time; time.sleep(60)"
    outcome = _measured(code, tmp_path, limit=1.0)
    assert outcome.seconds < 10
    assert outcome.said[0].text == "half of it"
    assert outcome.failures == ["cut off at its limit of 1 s"]


def test_a_part_that_dies_is_told_with_its_last_words(tmp_path: Path) -> None:
    outcome = _measured("import os, sys; sys.stderr.write('no such driver'); os._exit(7)", tmp_path)
    assert outcome.failures == ["ended with 7: no such driver"]
    assert outcome.word == "FAILED"


def test_verdicts_are_judged() -> None:
    expected = frozenset({"INP701", "INP702"})
    assert judge(expected, {"INP702": "warning", "HW210": "warning"}) == ""
    assert judge(expected, {"HW210": "warning"}).startswith("none of INP701, INP702 was found")
    assert judge(frozenset(), {"ENV603": "info", "HST111": "warning"}) == ""
    assert judge(frozenset(), {"RUN437": "warning"}) == "a false alarm: RUN437 (warning)"


@pytest.mark.slow
def test_the_screens_are_kept_as_text(machine: Machine) -> None:
    command = [sys.executable, "-m", "tests.gpu.check.screens", "80", "24"]
    done = subprocess.run(
        command, cwd=ROOT, env=machine.env, capture_output=True, text=True, check=True, timeout=90
    )
    assert wrong(done.stdout, 80) == []
    pictures = done.stdout.split("---- ")[1:]
    assert [len(picture.splitlines()) for picture in pictures] == [25] * 6
    titles = ("2×H100", "Step", "── Links", "── Processes", "── Stacks", "── Findings")
    assert [each for each in titles if each not in done.stdout] == []


def test_a_screen_that_is_not_right_is_told() -> None:
    text = "".join(f"---- {name}\n" for name in ("main", "job", "links", "processes", "stacks"))
    assert wrong(text + "---- findings\n" + "x" * 80, 80) == []
    assert wrong(text, 80) == ["the screen findings was not shown"]
    assert len(wrong(text + "---- findings\n" + "x" * 81, 80)) == 1
