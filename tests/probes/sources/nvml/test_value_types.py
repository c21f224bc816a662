"""Values of the wrong type or beyond all range cost themselves and nothing else."""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gputop.probes.model.gpu_readings import GpuReading
from gputop.probes.sources.nvml import units

from nvml.simulated import SimulatedNvml
from support.nvml_watch import Watch

FIELDS = (1, 3, 4, 6, 29, 30, 31, 82, 83, 91, 94, *range(138, 146), *range(161, 167), 185, 186)
FIELDS_OF_LATER_DRIVERS = (189, 190, 193, 194, 197, 198, 202, 204, 230, 307)
SEED = 7


@pytest.fixture(scope="module")
def shared() -> Iterator[tuple[SimulatedNvml, Watch]]:
    with SimulatedNvml("h100x8") as node, Watch(node.env()) as watch:
        watch.tick()
        yield node, watch


def sound(reading: GpuReading) -> None:
    """What the other end of the pipe does with it."""
    body = msgspec.msgpack.encode(reading)
    assert msgspec.msgpack.decode(body, type=GpuReading) == reading


def raw(number: float) -> str:
    return hex(struct.unpack("Q", struct.pack("d", number))[0])


@pytest.mark.parametrize(
    ("field", "name", "number"),
    [
        (4, "ecc_uncorrected", 3.0),
        (144, "remap_pending", 1.0),
        (143, "remapped_rows_uncorrected", 2.5),
        (190, "power_limit_watts", 700_000.0),
        (82, "memory_temperature_celsius", float("nan")),
        (230, "recovery_action", float("inf")),
    ],
)
def test_a_double_is_no_whole_number(
    shared: tuple[SimulatedNvml, Watch], field: int, name: str, number: float
) -> None:
    node, watch = shared
    # Without the older call that would take its place.
    older = ("nvmlDeviceGetTotalEccErrors", "nvmlDeviceGetEnforcedPowerLimit")
    for call in older:
        node.fault(call, 2, "NOT_SUPPORTED")
    keys: dict[str, str | int | float | bool] = {
        f"gpu.2.field.{field}.type": 0,
        f"gpu.2.field.{field}.raw": raw(number),
    }
    node.set(keys)
    tick = watch.tick(advance=601)
    node.unset(*keys, *(f"fault.{call}.2" for call in older))
    gpu = tick.gpu(2)
    assert getattr(gpu, name) is None
    assert gpu.missing[name]
    assert getattr(tick.gpu(1), name) is not None
    assert gpu.utilization_ratio is not None
    sound(gpu)


def test_any_type_and_any_bytes_in_every_field(shared: tuple[SimulatedNvml, Watch]) -> None:
    node, watch = shared
    chance = random.Random(SEED)
    words = [0, 1, 2**31, 2**32 - 1, 2**63 - 1, 2**63, 2**64 - 1]
    words += [int(raw(number), 16) for number in (-1.0, 1e308, float("inf"), float("nan"))]
    for _ in range(25):
        keys: dict[str, str | int | float | bool] = {}
        for field in (*FIELDS, *FIELDS_OF_LATER_DRIVERS):
            word = chance.choice([*words, chance.getrandbits(64)])
            keys[f"gpu.2.field.{field}.raw"] = hex(word)
            keys[f"gpu.2.field.{field}.type"] = chance.choice([0, 1, 2, 3, 4, 5, 6, 7, 99, 2**31])
        node.set(keys)
        tick = watch.tick(advance=31)
        sound(tick.gpu(2))
        assert tick.gpu(2).utilization_ratio is not None
        assert tick.outcomes["nvml gpu 2"].status == "ok"
        assert len(tick.gpus) == 8
    node.unset(*keys)


@pytest.mark.parametrize(
    ("lines", "field", "reason"),
    [
        ({"power.limit.enforced": 0}, "power_limit_watts", "driver reported 0 W"),
        ({"power": 0, "power.instant": 0}, "power_watts", "driver reported 0 W"),
        ({"clock.sm": 0}, "sm_clock_hertz", "driver reported 0 MHz"),
        ({"clock.sm.max": 0}, "sm_clock_max_hertz", "driver reported 0 MHz"),
        ({"memory.total": 0}, "memory_total_bytes", "driver reported a size of 0"),
        (
            {"temperature.threshold.slowdown": 0},
            "temperature_slowdown_celsius",
            "driver reported 0 °C",
        ),
        ({"pcie.width": 0}, "pcie_width", "driver reported 0"),
        ({"clock.sm": "unsupported"}, "sm_clock_hertz", "not supported by this GPU"),
        ({"name": "H\x1b[31m100"}, "name", "driver gave text that cannot be read"),
    ],
)
def test_what_is_0_because_it_is_not_known_is_no_value(
    lines: dict[str, str | int | float | bool],
    field: str,
    reason: str,
) -> None:
    state = {f"gpu.2.{key}": value for key, value in lines.items()}
    with SimulatedNvml("h100x8", state) as node, Watch(node.env()) as watch:
        tick = watch.tick()
    gpu = tick.gpu(2)
    assert (getattr(gpu, field), gpu.missing.get(field)) == (None, reason)
    assert getattr(tick.gpu(1), field) is not None


anything = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=5),
    st.binary(max_size=5),
    st.lists(st.integers(), max_size=2),
)
RULES = {
    "count": units.count,
    "word": units.word,
    "scaled": units.scaled(1e6),
    "multiple": units.multiple(1024),
    "thousandths": units.thousandths,
    "up_to": units.up_to(15),
    "ratio": units.ratio,
    "flag": units.flag,
    "celsius": units.celsius,
    "hertz": units.hertz,
    "watts": units.watts(700.0),
    "named": units.named({1: "one"}),
    "total": units.total,
    "part_of": units.part_of(1000),
    "text": units.text,
}
WHOLE = {"count", "word", "multiple", "up_to", "total", "part_of"}


@settings(max_examples=200)
@given(value=anything)
@pytest.mark.parametrize("name", RULES)
def test_any_type_is_a_value_of_the_right_one_or_none(name: str, value: object) -> None:
    answer = RULES[name](value)  # type: ignore[operator]
    if answer.value is None:
        assert answer.reason
    else:
        assert not isinstance(value, bool)
        kind = int if name in WHOLE else bool if name == "flag" else (float, str)
        assert isinstance(answer.value, kind)
        if isinstance(answer.value, int):
            assert 0 <= answer.value < 2**63
