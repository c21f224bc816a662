"""What people type, right and wrong: one clear line, the right exit code, never a traceback."""

from __future__ import annotations

import ctypes
import json
import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from gputop import __version__
from gputop.rules.catalogue import RULES

from nvml.simulated import SimulatedNvml
from support.command_runs import GPUTOP, run
from support.terminal import Pty


def complaint(done: subprocess.CompletedProcess[str]) -> str:
    """The one line on standard error."""
    assert done.stdout == ""
    assert done.stderr.startswith("gputop: ")
    assert done.stderr.count("\n") == 1, done.stderr
    return done.stderr


@pytest.fixture
def node() -> Iterator[SimulatedNvml]:
    with SimulatedNvml("h100x8") as simulated:
        yield simulated


def test_version() -> None:
    assert run("--version").stdout == f"gputop {__version__}\n"


def test_help_names_every_command() -> None:
    shown = run("--help").stdout
    for command in ("attach", "run", "probe", "demo", "rules", "collect"):
        assert command in shown


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("attach", "PID of a process of the job"),
        ("diagnose", "how long to watch, 1 to 3600 (30; of a recording"),
        ("diagnose", "1 something is wrong, 2 it could not look"),
        ("stacks", "Take the Python stacks of every rank"),
        ("doctor", "PID of the process to examine"),
        ("run", "Start a job"),
        ("probe", "PID of a process with the probe in it"),
        ("demo", "SCENARIO what goes wrong; --list tells all (input-bound)"),
        ("capture", "PID of the job that it is about (all jobs here)"),
        ("export", "FILE one of its files, the name of a recording, or a capsule"),
        ("compare", "A what was before: FILE or FILE@TIME..TIME"),
        ("rules", "ID of one rule, such as HW201"),
        ("collect", "leave this source alone"),
    ],
)
def test_the_help_of_a_command_describes_it_and_its_words(command: str, said: str) -> None:
    shown = run(command, "--help", env={**os.environ, "COLUMNS": "300"}).stdout
    assert said in " ".join(shown.split())
    description = shown.split("\n\n")[1]
    assert description[0].isupper() and description.endswith("."), description
    words = shown[shown.index(description) + len(description) :]
    for line in re.findall(r"^  \S.*(?:\n {4,}\S.*)?", words, re.MULTILINE):
        assert re.search(r"\S(?: {2,}|\n {4,})\S", line), f"{line!r} has no text"


def test_a_terminal_without_a_screen_gets_one_frame_and_the_reason() -> None:
    command = ["env", "TERM=dumb", *GPUTOP, "demo", "healthy"]
    with closing(Pty(command, columns=120, lines=40, env=os.environ)) as program:
        assert program.process.wait(30) == 0
        program.wait_for("no screen can be drawn on this terminal (TERM is dumb)", 5)
        program.wait_for("node17", 5)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--onse"], "did you mean --once?"),
        (["dmeo"], "did you mean demo?"),
        (
            ["help"],
            "attach, diagnose, stacks, doctor, run, probe, demo, rules, serve, record, replay, cut, compare, capture, export, stream or collect",
        ),
        (["demo", "gpu-losst", "--once"], "did you mean gpu-lost?"),
        (["demo", "zzz", "--once"], "healthy, input-bound"),
        (["--format", "yaml", "--once"], "text or json"),
        (["collect", "--without", "nvmk"], "did you mean nvml?"),
        (["rules", "zzz"], "there is no rule zzz; gputop rules lists them"),
        (["--interval", "0.01"], "0.2"),
        (["--interval", "nan"], "nan"),
        (["--interval", "fast"], "fast"),
        (["attach", "me"], "process id"),
        (["attach", "--inject"], "PID"),
        (["0"], "the first is 1"),
        (["-5"], "positive"),
        (["99999999999999999999"], "process id"),
        (["rules", "HTS107"], "did you mean HST107"),
        (["rules", "HW999"], "there is no rule HW999; gputop rules lists them"),
        (["demo", "nosuch", "--once"], "there is no scenario 'nosuch'; scenarios are healthy, "),
        (["demo", "thermal", "--once"], "did you mean thermal-throttle?\n"),
        (["attach", "--name", "("], "'(' is no regular expression"),
        (["stacks", "--name", "a{99999999999}"], "is no regular expression"),
        (["--rules", "/nowhere/rules.toml", "--once"], "/nowhere/rules.toml"),
        (["demo", "--once", "--record-on-finding", "/tmp"], "goes with the screen, diagnose"),
        (["stacks", "--record-on-finding", "/tmp"], "goes with the screen, diagnose"),
        (["diagnose", "--record-on-finding", "/nope/x"], "/nope/x: no folder that can be written"),
        (["serve", "--record-on-finding", "/etc/passwd"], "no folder that can be written"),
    ],
)
def test_wrong_usage_is_one_line_and_64(words: list[str], said: str) -> None:
    done = run(*words)
    assert said in complaint(done)
    assert done.returncode == 64


@pytest.mark.parametrize("words", [[], ["--once"], ["--once", "--format", "json"]])
def test_no_driver_is_one_line_that_names_the_demo(words: list[str]) -> None:
    with SimulatedNvml("h100x8", {"fault.nvmlInit_v2.system": "DRIVER_NOT_LOADED"}) as node:
        done = run(*words, env=node.env())
    assert "gputop demo" in complaint(done)
    assert done.returncode == 2


@pytest.mark.parametrize(
    ("state", "said"),
    [
        ({"fault.nvmlInit_v2.system": "NO_PERMISSION"}, "to open /dev/nvidiactl; `gputop demo`"),
        ({"delay.nvmlInit_v2.system": 30}, "gputop: the NVIDIA driver has not answered for "),
    ],
    ids=["denied", "hangs"],
)
def test_the_one_line_names_who_does_not_answer(state: dict[str, str | float], said: str) -> None:
    with SimulatedNvml("h100x8", {**state}) as node:
        done = run("--once", env=node.env())
    assert said in complaint(done)
    assert done.returncode == 2


def test_no_driver_on_a_terminal_says_so_and_opens_no_screen() -> None:
    with (
        SimulatedNvml("h100x8", {"fault.nvmlInit_v2.system": "DRIVER_NOT_LOADED"}) as node,
        closing(Pty(GPUTOP, columns=80, lines=24, env=node.env())) as program,
    ):
        assert program.process.wait(30) == 2
        program.wait_for("gputop demo", 5)
        assert b"\x1b[?1049h" not in program.output


def test_no_library_at_all() -> None:
    try:
        ctypes.CDLL("libnvidia-ml.so.1")
        pytest.skip("this machine has a driver")
    except OSError:
        pass
    done = run("--once")
    assert "libnvidia-ml.so.1" in complaint(done)
    assert done.returncode == 2


def test_a_pipe_gets_one_frame_as_text(node: SimulatedNvml) -> None:
    done = run(env=node.env())
    assert done.returncode == 0
    assert "\x1b" not in done.stdout
    assert done.stdout.count("━") > 0
    assert re.search(r"^ +7 ", done.stdout, re.MULTILINE)


def test_once_on_a_real_driver_api(node: SimulatedNvml) -> None:
    node.set({"gpu.2.power": 321, "gpu.2.pcie.rx": 3e9, "gpu.2.pcie.tx": 1e9})
    done = run("--once", "--format", "json", env=node.env())
    assert done.returncode == 0
    frame = json.loads(done.stdout)
    assert frame["schema_version"] == 2
    gpu = frame["gpus"][2]
    assert gpu["power_watts"] == pytest.approx(321)
    assert gpu["pcie_rx_bytes_per_second"] == pytest.approx(3e9, rel=0.05)
    assert gpu["pcie_tx_bytes_per_second"] == pytest.approx(1e9, rel=0.05)
    assert 0 <= gpu["utilization_ratio"] <= 1
    assert len(frame["gpus"]) == 8


BOOKKEEPING = {
    *("rank", "job_id", "ecc_uncorrected_errors_when_first_seen"),
    *("container_kind", "pod_uid", "gpu_minors"),
}
"""Fields that are ``None`` for a reason that goes without saying."""


@pytest.mark.parametrize("old_driver", [False, True])
@pytest.mark.parametrize("profile", ["h100x8", "a100-pcie", "gb10", "h100-mig"])
def test_whatever_is_missing_has_a_reason(profile: str, old_driver: bool) -> None:
    with SimulatedNvml(profile, old_driver=old_driver) as node:
        frame = json.loads(run("--once", "--format", "json", env=node.env()).stdout)
    for part in (*frame["gpus"], frame["host"], *frame["processes"]):
        silent = {name for name, value in part.items() if value is None}
        assert silent - set(part["missing"]) - BOOKKEEPING == set()
        assert all(part["missing"].values())


PUBLIC = {
    "": "schema_version timestamp_seconds boot_timestamp_seconds node driver_version gpus processes jobs links host sources "
    "findings",
    "gpus": "index uuid name utilization_ratio sm_active_ratio tensor_active_ratio "
    "dram_active_ratio memory_used_bytes memory_total_bytes memory_reserved_bytes power_watts "
    "power_limit_watts temperature_celsius sm_clock_hertz throttle_reasons "
    "pcie_rx_bytes_per_second pcie_tx_bytes_per_second pcie_generation pcie_width "
    "nvlink_rx_bytes_per_second nvlink_tx_bytes_per_second status age_seconds missing",
    "sources": "name status reason age_seconds duration_seconds",
    "findings": "id name severity subject since_timestamp_seconds confidence evidence explains next_step",
    "jobs": "id ranks",
}


def test_the_public_names_are_there() -> None:
    frame = json.loads(run("demo", "gpu-lost", "--once", "--format", "json").stdout)
    assert set(PUBLIC[""].split()) <= set(frame)
    for part, names in PUBLIC.items():
        if part:
            assert frame[part], part
            assert set(names.split()) <= set(frame[part][0]), part
    rank = frame["jobs"][0]["ranks"][0]
    assert {
        "rank",
        "pid",
        "gpu_uuid",
        "phase",
        "phase_age_seconds",
        "phase_source",
        "ledger",
    } <= set(rank)
    lost = frame["gpus"][3]
    assert (lost["index"], lost["status"], lost["utilization_ratio"]) == (3, "lost", None)
    evidence = frame["findings"][0]["evidence"][0]
    assert {"signal", "value", "threshold", "unit", "origin"} <= set(evidence)


def test_demo_lists_its_scenarios() -> None:
    listed = run("demo", "--list").stdout.splitlines()
    assert {"healthy", "input-bound", "gpu-lost", "driver-wedged", "thermal-throttle"} <= {
        line.split()[0] for line in listed
    }


@pytest.mark.parametrize("where", ["before", "after"])
def test_options_may_stand_before_or_after_the_command(where: str) -> None:
    options = ["--once", "--format", "json"]
    words = [*options, "demo", "healthy"] if where == "before" else ["demo", "healthy", *options]
    assert json.loads(run(*words).stdout)["node"] == "node17"


@pytest.mark.parametrize(
    "words",
    [
        *[[command, "demo"] for command in ("collect", "demo healthy", "rules HW201", "attach 1")],
        ["collect", "--once"],
        ["rules", "--ascii"],
        ["--version=3"],
    ],
)
def test_the_word_that_is_wrong_is_never_offered(words: list[str]) -> None:
    said = complaint(done := run(*" ".join(words).split()))
    wrong = words[-1].partition("=")[0]
    assert wrong in said
    assert f"did you mean {wrong}?" not in said
    assert done.returncode == 64


def test_rules_lists_all_and_shows_one() -> None:
    listed = run("rules").stdout
    for rule in RULES:
        assert f"{rule.id}  " in listed
    page = run("rules", "hw201").stdout
    for word in ("Meaning", "Impact", "Diagnosis", "Mitigation", "temperature_celsius"):
        assert word in page


def test_the_columns_of_the_rules_begin_together() -> None:
    rows = run("rules").stdout.partition("\n\n")[0].splitlines()
    assert {len(row.split()[0]) for row in rows} == {5, 6}
    severity = {re.search(r"info|warning|error", row).start() for row in rows}  # type: ignore[union-attr]
    assert severity == {8}


@pytest.mark.parametrize("before", [True, False])
def test_rules_shows_the_thresholds_of_a_settings_file(tmp_path: Path, before: bool) -> None:
    file = tmp_path / "rules.toml"
    file.write_text("[HW201]\ntemperature_celsius = 50\n")
    option = ["--rules", str(file)]
    words = [*option, "rules", "HW201"] if before else ["rules", *option, "HW201"]
    shown = " ".join(run(*words).stdout.split())
    assert " temperature_celsius = 50 (50 °C) (source: your settings; else 82 (82 °C))" in shown


def test_collect_refuses_a_terminal(node: SimulatedNvml) -> None:
    with closing(Pty([*GPUTOP, "collect"], columns=80, lines=24, env=node.env())) as program:
        assert program.process.wait(30) == 64


def test_settings_change_what_is_found(tmp_path: Path) -> None:
    file = tmp_path / "rules.toml"
    file.write_text("[HW201]\ntemperature_celsius = 50\n")
    done = run("--rules", str(file), "demo", "thermal-throttle", "--once", "--format", "json")
    assert done.returncode == 0
    assert "HW201" in {finding["id"] for finding in json.loads(done.stdout)["findings"]}


def test_a_broken_settings_file_names_the_nearest_key(tmp_path: Path) -> None:
    file = tmp_path / "rules.toml"
    file.write_text("[HW201]\ntemperature_celsus = 85\n")
    done = run("--rules", str(file), "demo", "--once")
    assert "temperature_celsius" in complaint(done)
    assert done.returncode == 64


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("pipe", "is not a regular file"),
        ("folder", "is not a regular file"),
        ("device", "is not a regular file"),
        ("large", "is larger than 1 MiB"),
    ],
)
def test_settings_that_are_no_file_of_settings(tmp_path: Path, kind: str, said: str) -> None:
    file = Path("/dev/zero") if kind == "device" else tmp_path / "rules.toml"
    if kind == "pipe":
        os.mkfifo(file)
    elif kind == "folder":
        file.mkdir()
    elif kind == "large":
        file.write_text("# much\n" * 200_000)
    done = run("--rules", str(file), "rules", timeout=20)
    assert complaint(done).startswith(f"gputop: {file} {said}")
    assert done.returncode == 64


def test_the_terminals_own_size_counts_not_stale_variables() -> None:
    env = {**os.environ, "COLUMNS": "80", "LINES": "24"}
    with closing(Pty([*GPUTOP, "demo", "healthy"], columns=160, lines=40, env=env)) as program:
        program.wait_for("\x1b[40;", 20)  # the cursor goes to the last line
        program.type("q")
        assert program.process.wait(20) == 0


def test_a_terminal_that_does_not_know_its_size_is_taken_to_be_80x24() -> None:
    env = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
    with closing(Pty([*GPUTOP, "demo", "healthy"], columns=0, lines=0, env=env)) as program:
        program.wait_for("node17", 20)
        program.type("q")
        assert program.process.wait(20) == 0


@pytest.mark.parametrize(
    ("state", "said"),
    [
        ({f"gpu.{index}.lost": True for index in range(8)}, "GPU lost"),
        ({"fault.*.*": "NO_PERMISSION"}, "rules not evaluated: no permission"),
    ],
    ids=["all lost", "no permission"],
)
def test_one_frame_of_an_ill_node_gives_no_all_clear(
    state: dict[str, str | bool], said: str
) -> None:
    with SimulatedNvml("h100x8", dict(state)) as node:
        text = run("--once", env=node.env()).stdout
        frame = json.loads(run("--once", "--format", "json", env=node.env()).stdout)
    assert "✓" not in text and said in text and "press 6" not in text
    assert frame["findings"] or len(frame["rules_not_evaluated"]) > 5


def test_a_pid_without_a_driver_says_why_there_is_no_gpu() -> None:
    with SimulatedNvml("h100x8", {"fault.nvmlInit_v2.system": "DRIVER_NOT_LOADED"}) as node:
        text = run("--once", str(os.getpid()), env=node.env()).stdout
    assert "the NVIDIA driver is not loaded" in text and "✓" not in text
