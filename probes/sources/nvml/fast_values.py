"""What moves fast about a GPU: read at every tick, in as few calls as NVML allows."""

from __future__ import annotations

from typing import Any

from ...model.missing_reasons import NOT_UNDER_MIG
from ...model.throttle_reasons import throttle_words
from .call import Answer, Calls, Fields
from .field_values import (
    ENERGY,
    MEMORY_TEMPERATURE,
    PCIE_REPLAYS,
    PCIE_RX_BYTES,
    PCIE_TX_BYTES,
    POWER_AVERAGE,
    POWER_INSTANT,
    Field,
    Values,
    read_fields,
)
from .units import celsius, count, hertz, part_of, ratio, thousandths, total, watts, word

_FIELDS: tuple[Field, ...] = (
    POWER_AVERAGE,
    POWER_INSTANT,
    MEMORY_TEMPERATURE,
    ENERGY,
    PCIE_TX_BYTES,
    PCIE_RX_BYTES,
    PCIE_REPLAYS,
)
_CLOCK_SM = 1
_SENSOR_GPU = 0


def read_fast(
    calls: Calls, fields: Fields, *, mig: bool, power_limit: float | None, more: tuple[Field, ...]
) -> Values:
    """Fill ``fields``; the values of ``more`` come along in the same call and are returned."""
    values = read_fields(calls, (*_FIELDS, *more))
    _utilization(calls, fields, mig)
    read_memory(calls, fields)
    _power(calls, fields, values, power_limit)
    _temperatures(calls, fields, values)
    _clocks(calls, fields)
    fields.put("pcie_replays", _replays(calls, values))
    for field, name in ((PCIE_RX_BYTES, "pcie_rx_bytes"), (PCIE_TX_BYTES, "pcie_tx_bytes")):
        fields.put(name, values[field].then(count))
    return values


def _utilization(calls: Calls, fields: Fields, mig: bool) -> None:
    if mig:
        fields.absent(NOT_UNDER_MIG, "utilization_ratio", "memory_utilization_ratio")
        return
    rates = calls.ask("nvmlDeviceGetUtilizationRates")
    fields.put("utilization_ratio", rates.then(lambda both: ratio(both.gpu)))
    fields.put("memory_utilization_ratio", rates.then(lambda both: ratio(both.memory)))


def read_memory(calls: Calls, fields: Fields) -> None:
    """Memory with the driver's reserve apart (v2), or as older drivers tell it (v1)."""
    info = calls.ask("nvmlDeviceGetMemoryInfo", calls.nvml.nvmlMemory_v2)
    reserve: Answer[Any] = info.then(lambda memory: Answer(memory.reserved))
    if info.value is None:
        info = calls.ask("nvmlDeviceGetMemoryInfo")
        reserve = info.then(lambda _: Answer(None, "counted as used by this driver"))
    whole = fields.put("memory_total_bytes", info.then(lambda memory: total(memory.total)))
    part = part_of(whole)
    fields.put("memory_used_bytes", info.then(lambda memory: part(memory.used)))
    fields.put("memory_reserved_bytes", reserve.then(part))


def _power(calls: Calls, fields: Fields, values: Values, limit: float | None) -> None:
    power = values.first(POWER_AVERAGE, POWER_INSTANT)
    if power.value is None:
        power = calls.ask("nvmlDeviceGetPowerUsage")
    fields.put("power_watts", power.then(watts(limit)))
    energy = values[ENERGY]
    if energy.value is None:
        energy = calls.ask("nvmlDeviceGetTotalEnergyConsumption")
    fields.put("energy_joules", energy.then(thousandths))


def _temperatures(calls: Calls, fields: Fields, values: Values) -> None:
    gpu = calls.first(
        ("nvmlDeviceGetTemperature", _SENSOR_GPU), ("nvmlDeviceGetTemperatureV", _SENSOR_GPU)
    )
    fields.put("temperature_celsius", gpu.then(celsius))
    fields.put("memory_temperature_celsius", values[MEMORY_TEMPERATURE].then(celsius))


def _clocks(calls: Calls, fields: Fields) -> None:
    fields.put("sm_clock_hertz", calls.ask("nvmlDeviceGetClockInfo", _CLOCK_SM).then(hertz))
    reasons = calls.first(
        ("nvmlDeviceGetCurrentClocksEventReasons",),
        ("nvmlDeviceGetCurrentClocksThrottleReasons",),
    )
    fields.put(
        "throttle_reasons",
        reasons.then(count).then(lambda bits: Answer(throttle_words(bits))),
    )


def _replays(calls: Calls, values: Values) -> Answer[int]:
    replays = values[PCIE_REPLAYS]
    if replays.value is None:
        replays = calls.ask("nvmlDeviceGetPcieReplayCounter")
    return replays.then(word)
