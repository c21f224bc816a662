"""What ``nvidia-smi -q -x`` says of each GPU, beside what gputop said in the same second.

Counters and identity must be the same. What moves may have moved in between: it is compared with a tolerance.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from xml.etree import ElementTree as XML

_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_MIB, _MHZ = 2**20, 1e6


class Compared(NamedTuple):
    """One value of one GPU."""

    gpu: int
    field: str
    ours: Any
    theirs: Any
    verdict: str
    """``same``, ``near``, ``DIFFERS``, or which of the two has none."""


class _Value(NamedTuple):
    field: str
    paths: Sequence[str]
    """In the XML; the first that is there counts, as they differ by version."""
    read: Callable[[str], Any]
    slack: float = 0.0
    """Of moving values: the share by which, or the amount in the field's unit by which, they may differ."""
    slack_share: float = 0.0


def _number(unit: float = 1.0) -> Callable[[str], float | None]:
    def read(text: str) -> float | None:
        found = _NUMBER.match(text.strip())
        return float(found[0]) * unit if found else None

    return read


def _text(text: str) -> str | None:
    return None if text.strip() in ("N/A", "[N/A]", "") else text.strip()


def _flag(text: str) -> bool | None:
    return {"Enabled": True, "Disabled": False, "Yes": True, "No": False}.get(text.strip())


VALUES = (
    _Value("name", ["product_name"], _text),
    _Value("uuid", ["uuid"], _text),
    _Value("serial", ["serial"], _text),
    _Value("minor_number", ["minor_number"], _number()),
    _Value("persistence_mode", ["persistence_mode"], _flag),
    _Value(
        "performance_state", ["performance_state"], lambda text: _number()(text.lstrip("P")), 15
    ),
    _Value("pcie_generation", ["pci/pci_gpu_link_info/pcie_gen/current_link_gen"], _number(), 4),
    _Value("pcie_width", ["pci/pci_gpu_link_info/link_widths/current_link_width"], _number(), 15),
    _Value("pcie_generation_max", ["pci/pci_gpu_link_info/pcie_gen/max_link_gen"], _number()),
    _Value("pcie_width_max", ["pci/pci_gpu_link_info/link_widths/max_link_width"], _number()),
    _Value("pcie_replays_total", ["pci/replay_counter"], _number()),
    _Value("memory_total_bytes", ["fb_memory_usage/total"], _number(_MIB), _MIB),
    _Value("memory_reserved_bytes", ["fb_memory_usage/reserved"], _number(_MIB), 8 * _MIB),
    _Value("memory_used_bytes", ["fb_memory_usage/used"], _number(_MIB), 256 * _MIB),
    _Value("bar1_total_bytes", ["bar1_memory_usage/total"], _number(_MIB), _MIB),
    _Value("utilization_ratio", ["utilization/gpu_util"], _number(0.01), 1.0),
    _Value("memory_utilization_ratio", ["utilization/memory_util"], _number(0.01), 1.0),
    _Value("temperature_celsius", ["temperature/gpu_temp"], _number(), 8),
    _Value("temperature_slowdown_celsius", ["temperature/gpu_temp_slow_threshold"], _number()),
    _Value("temperature_shutdown_celsius", ["temperature/gpu_temp_max_threshold"], _number()),
    _Value("memory_temperature_celsius", ["temperature/memory_temp"], _number(), 8),
    _Value(
        "power_watts",
        [
            "gpu_power_readings/instant_power_draw",
            "gpu_power_readings/power_draw",
            "power_readings/power_draw",
        ],
        _number(),
        20,
        0.5,
    ),
    _Value(
        "power_limit_watts",
        ["gpu_power_readings/current_power_limit", "power_readings/enforced_power_limit"],
        _number(),
        0.5,
    ),
    _Value(
        "power_limit_default_watts",
        ["gpu_power_readings/default_power_limit", "power_readings/default_power_limit"],
        _number(),
        0.5,
    ),
    _Value("sm_clock_hertz", ["clocks/sm_clock"], _number(_MHZ), 50 * _MHZ, 0.9),
    _Value("memory_clock_hertz", ["clocks/mem_clock"], _number(_MHZ), 50 * _MHZ, 0.9),
    _Value("sm_clock_max_hertz", ["max_clocks/sm_clock"], _number(_MHZ)),
    _Value("memory_clock_max_hertz", ["max_clocks/mem_clock"], _number(_MHZ)),
    _Value("ecc_enabled", ["ecc_mode/current_ecc"], _flag),
    _Value("mig_mode", ["mig_mode/current_mig"], _flag),
    _Value("fan_speed_ratio", ["fan_speed"], _number(0.01), 0.2),
)


def compare(frame: Mapping[str, Any], xml: str) -> Iterator[Compared]:
    """Every value that both have, or only one of them.

    Args:
        frame: what ``gputop --once --format json`` printed.
        xml: what ``nvidia-smi -q -x`` printed.
    """
    theirs = {_text(gpu.findtext("uuid") or ""): gpu for gpu in XML.fromstring(xml).iter("gpu")}
    for ours in frame["gpus"]:
        gpu = theirs.pop(ours["uuid"], None)
        if gpu is None:
            yield Compared(ours["index"], "uuid", ours["uuid"], None, "only gputop has it")
            continue
        for value in VALUES:
            text = next((found for path in value.paths if (found := gpu.findtext(path))), "")
            yield _compared(ours["index"], value, ours.get(value.field), value.read(text))
        pids = {int(pid.text or 0) for pid in gpu.iter("pid")}
        own = {process["pid"] for process in ours["processes"] or ()}
        yield Compared(
            ours["index"],
            "processes",
            sorted(own),
            sorted(pids),
            "same" if own == pids else "DIFFERS",
        )
    for uuid in theirs:
        yield Compared(-1, "uuid", None, uuid, "only nvidia-smi has it")


def _compared(index: int, value: _Value, ours: Any, theirs: Any) -> Compared:
    if ours is None or theirs is None:
        verdict = (
            "neither"
            if ours is theirs
            else f"only {'nvidia-smi' if ours is None else 'gputop'} has it"
        )
    elif ours == theirs:
        verdict = "same"
    elif isinstance(ours, (int, float)) and isinstance(theirs, (int, float)):
        room = max(value.slack, value.slack_share * max(abs(ours), abs(theirs)), 1e-6 * abs(theirs))
        verdict = "near" if abs(ours - theirs) <= room else "DIFFERS"
    else:
        verdict = "DIFFERS"
    return Compared(index, value.field, ours, theirs, verdict)
