"""Whatever is missing: no rule breaks, and nothing that is unknown becomes a finding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from gputop.probes.model.gpu_readings import GpuReading
from gputop.probes.model.host_readings import CgroupReading, HostReading
from gputop.probes.model.process_readings import ProcessReading

from support.rules_scenes import Changes, Script, play
from support.scene_readings import GPUS, LAUNCHER, SPINNING, rank_pid


def optional(kind: type[msgspec.Struct]) -> list[str]:
    """Its fields that may be missing."""
    return [field.name for field in msgspec.structs.fields(kind) if field.default is None]


GPU_FIELDS, HOST_FIELDS = optional(GpuReading), optional(HostReading)
PROCESS_FIELDS, GROUP_FIELDS = optional(ProcessReading), optional(CgroupReading)
ILL: dict[str, Any] = {
    **SPINNING,
    "throttle_reasons": ("hw power brake", "sw power cap", "hw thermal slowdown"),
    "temperature_celsius": 95.0,
    "sm_clock_hertz": 700e6,
    "ecc_uncorrected": 5,
    "remap_pending": True,
    "pcie_width": 4,
    "memory_used_bytes": 79 << 30,
}


def without(
    gpu: Sequence[str] = (),
    host: Sequence[str] = (),
    process: Sequence[str] = (),
    group: Sequence[str] = (),
    ill: bool = False,
) -> Script:
    def script(_: float) -> Changes:
        lacking = dict.fromkeys(process)
        return Changes(
            every_gpu={**(ILL if ill else {}), **dict.fromkeys(gpu)},
            host=dict.fromkeys(host),
            processes={
                pid: {**({"state": "D"} if ill else {}), **lacking}
                for pid in (LAUNCHER, *map(rank_pid, range(GPUS)))
            },
            every_worker=lacking,
            cgroup=dict.fromkeys(group),
        )

    return script


def missing_one_by_one() -> list[Any]:
    return [
        pytest.param({part: [name]}, id=f"{part} {name}")
        for part, names in (
            ("gpu", GPU_FIELDS),
            ("host", HOST_FIELDS),
            ("process", PROCESS_FIELDS),
            ("group", GROUP_FIELDS),
        )
        for name in names
    ]


@pytest.mark.parametrize("missing", missing_one_by_one())
def test_a_missing_value_is_no_finding(missing: dict[str, Any]) -> None:
    assert play(without(**missing), 60, interval=20.0).ever() == set()


@pytest.mark.parametrize("ill", [False, True])
def test_all_values_missing_is_no_finding(ill: bool) -> None:
    script = without(GPU_FIELDS, HOST_FIELDS, PROCESS_FIELDS, GROUP_FIELDS, ill)
    assert play(script, 60, interval=20.0).ever() == set()


@pytest.mark.parametrize("name", GPU_FIELDS)
def test_no_rule_breaks_over_a_missing_value_of_an_ill_gpu(name: str) -> None:
    played = play(without(gpu=[name], ill=True), 40, interval=20.0)
    assert played.ever()
    for finding in played.last.findings:
        for each in finding.evidence:
            assert each.signal != name or each.value is None
