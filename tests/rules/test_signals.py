"""The table of signals: each row is a field, and whatever rules ask for has a row."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from gputop.probes.model.frame import ProbeFrame
from gputop.probes.model.gpu_frames import GpuFrame
from gputop.probes.model.host_frames import CgroupFrame, HostFrame, NetworkFrame, PressureFrame
from gputop.probes.model.job_frames import RankFrame
from gputop.probes.model.link_frames import PortFrame
from gputop.probes.model.mount_frames import MountFrame
from gputop.probes.model.probe_readings import AllocatorReading
from gputop.probes.model.process_frames import ProcessFrame
from gputop.probes.model.process_readings import LimitsReading
from gputop.probes.model.signal_types import UNITS, Signal, SignalOf
from gputop.probes.model.signals import SIGNALS, kept, signals_of
from gputop.rules import catalogue
from gputop.rules.catalogue import RULES
from gputop.rules.history import ERROR_KINDS, History
from gputop.rules.link._ports import PortRule
from gputop.rules.rule import CgroupRule, GpuRule, HostRule, ProcessRule, Rule
from gputop.tui.drawing.finding_words import words_of
from gputop.tui.drawing.missing import _MOVING
from gputop.tui.drawing.roles import ROLES

from support.rules_scenes import frames, healthy

FRAMES: dict[SignalOf, type[msgspec.Struct]] = {
    "gpu": GpuFrame,
    "host": HostFrame,
    "network": NetworkFrame,
    "process": ProcessFrame,
    "cgroup": CgroupFrame,
    "pressure": PressureFrame,
    "limits": LimitsReading,
    "mount": MountFrame,
    "port": PortFrame,
    "rank": RankFrame,
    "probe": ProbeFrame,
    "allocator": AllocatorReading,
}
KINDS: tuple[tuple[type[Rule], SignalOf], ...] = (
    (GpuRule, "gpu"),
    (HostRule, "host"),
    (ProcessRule, "process"),
    (CgroupRule, "cgroup"),
    (PortRule, "port"),
)
COMPUTED = {"process": {"blocked"}, "gpu": {"throttle_bits"}, "rank": {"phase stalled"}}
"""What history works out itself, and is no field."""
ASKED_WITH: dict[str, tuple[SignalOf, ...]] = {
    "cgroup": ("pressure",),
    "process": ("limits",),
    "rank": ("probe", "allocator"),
}
"""What history keeps beside a subject's own signals."""
RULES_FOLDER = Path(catalogue.__file__).parent
each_signal = pytest.mark.parametrize("signal", SIGNALS, ids=lambda each: f"{each.of} {each.name}")


@each_signal
def test_a_name_is_a_field(signal: Signal) -> None:
    frame = FRAMES[signal.of]
    assert signal.name in frame.__struct_fields__
    if signal.chart:
        named = {each for each in signal.chart.full if isinstance(each, str)}
        assert named <= set(frame.__struct_fields__)
        assert signal.chart.role in ROLES


@each_signal
def test_a_row_is_whole(signal: Signal) -> None:
    assert signal.words
    assert not signal.chart or (signal.kept and signal.of == "gpu"), "it has no past to draw"
    assert not signal.fact or signal.unit
    ending = next((unit for unit in UNITS if signal.name.endswith(f"_{unit}")), None)
    assert signal.unit.endswith(ending or ""), "the unit is not the one that its name ends in"


def test_a_row_is_there_once_and_a_name_has_the_same_words_everywhere() -> None:
    assert len({(each.of, each.name) for each in SIGNALS}) == len(SIGNALS)
    assert len({(each.name, each.words) for each in SIGNALS}) == len({s.name for s in SIGNALS})
    assert all(words_of(each.name) == each.words for each in SIGNALS)


def test_words_of_what_has_no_row_are_its_name_without_the_unit() -> None:
    assert words_of("run_delay_ratio") == "run delay"
    assert words_of("fan_tachometer_rotations_per_second") == "fan tachometer"


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: str(rule.id))
def test_what_a_rule_needs_has_a_row(rule: type[Rule]) -> None:
    of = next((of for base, of in KINDS if issubclass(rule, base)), None)
    needed = {*rule.needs, *rule.needs_any}
    assert of is not None or not needed, "nothing says of what it needs these"
    assert needed <= {signal.name for signal in signals_of(of)} if of else True


def asked_of_history() -> Iterator[tuple[str, str, str]]:
    """File, subject and signal of each question to the history that is written out in a rule."""
    for path in sorted(RULES_FOLDER.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
                continue
            to = node.func.value
            asked = isinstance(to, ast.Attribute | ast.Name) and ast.unparse(to).endswith("history")
            if asked and node.args and isinstance(node.args[-1], ast.Constant):
                yield path.name, node.func.attr, str(node.args[-1].value)


def test_what_rules_ask_of_history_is_kept() -> None:
    questions = list(asked_of_history())
    assert len(questions) > 20
    for file, of, signal in questions:
        computed = {f"errors {kind}" for kind in ERROR_KINDS} | COMPUTED.get(of, set())
        if not re.match("phase ", signal) and signal not in computed:
            kinds = (of, *ASKED_WITH.get(of, ()))
            known = {name for kind in kinds for name in kept(kind)}  # type: ignore[arg-type]
            assert signal in known, (file, of, signal)


def test_history_keeps_what_the_table_says() -> None:
    history = History()
    for frame in frames(healthy, range(4)):
        history.add(frame)
    assert history.gpu(3, "power_watts").mean(10) == pytest.approx(
        frame.gpus[3].power_watts, rel=0.1
    )
    assert history.gpu(3, "sm_occupancy_ratio").mean(10) is None
    assert history.cgroup("/job", "throttled_ratio").mean(10) == 0.0


def test_every_age_of_gpus_has_a_moving_value() -> None:
    assert _MOVING == (
        "utilization_ratio",
        "memory_used_bytes",
        "power_watts",
        "sm_clock_hertz",
        "temperature_celsius",
    )


def test_the_table_loads_records_alone() -> None:
    code = "import gputop.probes.model.signals, sys; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-P", "-c", code], check=True, capture_output=True, text=True
    )
    own = {name for name in done.stdout.split() if name.startswith("gputop.")}
    model = "gputop.probes.model"
    assert own == {"gputop.probes", model, f"{model}.signals", f"{model}.signal_types"}
