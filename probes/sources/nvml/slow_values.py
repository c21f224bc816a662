"""What moves slowly about a GPU, in groups that are each read every few seconds."""

from __future__ import annotations

import math
from collections.abc import Callable

from .call import Answer, Calls, Fields
from .field_values import (
    POWER_LIMIT_DEFAULT,
    POWER_LIMIT_NOW,
    SHUTDOWN_MARGIN,
    SLOWDOWN_MARGIN,
    Values,
    read_fields,
)
from .names import ARCHITECTURES, COMPUTE_MODES
from .units import celsius, flag, hertz, named, part_of, ratio, text, total, up_to, watts, word

_SHUTDOWN, _SLOWDOWN, _MEMORY_MAX = 0, 1, 2
_CLOCK_GRAPHICS, _CLOCK_SM, _CLOCK_MEMORY = 0, 1, 2
_SENSOR_GPU = 0
_LOWEST_PERFORMANCE_STATE = 15
_NODE_MASKS, _SCOPE_NODE = 4, 0
_BITS_PER_MASK = 64
_RETRY_SECONDS = 3.0
_HIGHEST_VERSION = 99
_HIGHEST_PCIE_GENERATION, _HIGHEST_PCIE_WIDTH = 16, 64


class Slow:
    """A group of fields and when to read it next.

    ``share`` (0 to 1) places it within its period, so that the groups of all GPUs are spread evenly
    over the ticks instead of meeting in one.
    """

    def __init__(self, read: Callable[[Calls, Fields], None], period: float, share: float) -> None:
        self._read = read
        self._period = period
        self._offset = period * (share % 1)
        self._slot: int | None = None
        self._retry_at = math.inf
        self.fields = Fields()
        self.bad_state: dict[str, int] = {}
        """As `Calls.bad_state`, of the last time."""

    def refresh(self, calls: Calls, now: float) -> None:
        """Read it if it is time."""
        slot = 0 if math.isinf(self._period) else int((now + self._offset) // self._period)
        if slot == self._slot and now < self._retry_at:
            return
        before, calls.failure = calls.failure, ""
        bad_before, calls.bad_state = calls.bad_state, {}
        fields = Fields()
        self._read(calls, fields)
        self.fields, self.bad_state = fields, calls.bad_state
        calls.bad_state = bad_before
        self._slot = slot
        self._retry_at = now + _RETRY_SECONDS if calls.failure else math.inf
        calls.failure = calls.failure or before

    def hurry(self) -> None:
        """Read it at the next chance."""
        self._slot = None


def read_identity(calls: Calls, fields: Fields) -> None:
    """What never changes while the GPU is there."""
    for field, function in (
        ("uuid", "nvmlDeviceGetUUID"),
        ("name", "nvmlDeviceGetName"),
        ("serial", "nvmlDeviceGetSerial"),
    ):
        fields.put(field, calls.ask(function).then(text))
    bus = calls.ask("nvmlDeviceGetPciInfo").then(lambda info: text(info.busId))
    fields.put("pci_bus_id", bus)
    fields.put("minor_number", calls.ask("nvmlDeviceGetMinorNumber").then(word))
    architecture = calls.ask("nvmlDeviceGetArchitecture").then(named(ARCHITECTURES))
    fields.put("architecture", architecture)
    capability = calls.ask("nvmlDeviceGetCudaComputeCapability")
    fields.put("compute_capability", capability.then(_version))
    fields.put("numa_node", _numa_node(calls))
    fields.put("fan_count", calls.ask("nvmlDeviceGetNumFans").then(word))


def _version(pair: tuple[int, int]) -> Answer[str]:
    part = up_to(_HIGHEST_VERSION)
    return part(pair[0]).then(lambda major: part(pair[1]).then(lambda m: Answer(f"{major}.{m}")))


def _numa_node(calls: Calls) -> Answer[int]:
    masks = calls.ask("nvmlDeviceGetMemoryAffinity", _NODE_MASKS, _SCOPE_NODE)
    if masks.value is None:
        return calls.ask("nvmlDeviceGetNumaNodeId").then(word)
    for position, mask in enumerate(masks.value):
        if type(mask) is int and mask > 0:
            return Answer(position * _BITS_PER_MASK + (mask & -mask).bit_length() - 1)
    return Answer(None, "driver names no NUMA node")


def read_limits(calls: Calls, fields: Fields) -> None:
    """Power limits, temperature thresholds and highest clocks."""
    values = read_fields(
        calls, (POWER_LIMIT_NOW, POWER_LIMIT_DEFAULT, SLOWDOWN_MARGIN, SHUTDOWN_MARGIN)
    )
    now, default = values[POWER_LIMIT_NOW], values[POWER_LIMIT_DEFAULT]
    if now.value is None:
        now = calls.ask("nvmlDeviceGetEnforcedPowerLimit")
    if default.value is None:
        default = calls.ask("nvmlDeviceGetPowerManagementDefaultLimit")
    fields.put("power_limit_watts", now.then(watts(None)))
    fields.put("power_limit_default_watts", default.then(watts(None)))
    _thresholds(calls, fields, values)
    for field, function, domain in (
        ("sm_clock_max_hertz", "nvmlDeviceGetMaxClockInfo", _CLOCK_SM),
        ("memory_clock_max_hertz", "nvmlDeviceGetMaxClockInfo", _CLOCK_MEMORY),
        ("sm_clock_application_hertz", "nvmlDeviceGetApplicationsClock", _CLOCK_GRAPHICS),
    ):
        fields.put(field, calls.ask(function, domain).then(hertz))


def _thresholds(calls: Calls, fields: Fields, values: Values) -> None:
    for field, threshold, margin in (
        ("temperature_slowdown_celsius", _SLOWDOWN, values[SLOWDOWN_MARGIN]),
        ("temperature_shutdown_celsius", _SHUTDOWN, values[SHUTDOWN_MARGIN]),
    ):
        answer = calls.ask("nvmlDeviceGetTemperatureThreshold", threshold)
        if answer.value is None and type(margin.value) is int:
            answer = _from_margin(calls, margin.value)
        fields.put(field, answer.then(celsius))
    memory = calls.ask("nvmlDeviceGetTemperatureThreshold", _MEMORY_MAX)
    fields.put("memory_temperature_max_celsius", memory.then(celsius))


def _from_margin(calls: Calls, threshold_margin: int) -> Answer[int]:
    # Newer chips tell how far they are from the highest temperature for full speed, and their
    # thresholds as the distance at which they are reached (0, or negative: beyond it).
    margin = calls.ask("nvmlDeviceGetMarginTemperature")
    here = calls.ask("nvmlDeviceGetTemperature", _SENSOR_GPU)
    return margin.then(lambda left: here.then(lambda at: Answer(at + left - threshold_margin)))


def read_pace(calls: Calls, fields: Fields) -> None:
    """What changes only when the GPU wakes up or falls asleep; and video, of which training has little."""
    memory = calls.ask("nvmlDeviceGetClockInfo", _CLOCK_MEMORY)
    fields.put("memory_clock_hertz", memory.then(hertz))
    state = calls.ask("nvmlDeviceGetPerformanceState")
    fields.put("performance_state", state.then(up_to(_LOWEST_PERFORMANCE_STATE)))
    for field, function in (
        ("encoder_ratio", "nvmlDeviceGetEncoderUtilization"),
        ("decoder_ratio", "nvmlDeviceGetDecoderUtilization"),
    ):
        fields.put(field, calls.ask(function).then(lambda both: ratio(both[0])))


def read_pcie_link(calls: Calls, fields: Fields) -> None:
    """How the link is trained now."""
    _pcie(calls, fields, "pcie_generation", "nvmlDeviceGetCurrPcieLinkGeneration")
    _pcie(calls, fields, "pcie_width", "nvmlDeviceGetCurrPcieLinkWidth")


def read_pcie_max(calls: Calls, fields: Fields) -> None:
    """How it could be trained."""
    _pcie(calls, fields, "pcie_generation_max", "nvmlDeviceGetMaxPcieLinkGeneration")
    _pcie(calls, fields, "pcie_width_max", "nvmlDeviceGetMaxPcieLinkWidth")
    device = "nvmlDeviceGetGpuMaxPcieLinkGeneration"
    _pcie(calls, fields, "pcie_generation_device_max", device)


def _pcie(calls: Calls, fields: Fields, field: str, function: str) -> None:
    highest = _HIGHEST_PCIE_GENERATION if "generation" in field else _HIGHEST_PCIE_WIDTH
    fields.put(field, calls.ask(function).then(up_to(highest, lowest=1)))


def read_modes(calls: Calls, fields: Fields) -> None:
    """Modes that an administrator sets, and the window through which the host sees the memory."""
    fields.put("persistence_mode", calls.ask("nvmlDeviceGetPersistenceMode").then(flag))
    fields.put("compute_mode", calls.ask("nvmlDeviceGetComputeMode").then(named(COMPUTE_MODES)))
    mode = calls.ask("nvmlDeviceGetMigMode").then(lambda both: flag(both[0]))
    fields.put("mig_mode", mode)
    bar1 = calls.ask("nvmlDeviceGetBAR1MemoryInfo")
    whole = fields.put("bar1_total_bytes", bar1.then(lambda info: total(info.bar1Total)))
    part = part_of(whole)
    fields.put("bar1_used_bytes", bar1.then(lambda info: part(info.bar1Used)))
