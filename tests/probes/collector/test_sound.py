"""A reading that the other end could not read is left out, the stream and its neighbors are not."""

from __future__ import annotations

import math
import time
from itertools import islice
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gputop.probes.collector.collector import Collector
from gputop.probes.collector.sound import sound
from gputop.probes.model.gpu_readings import GpuReading
from gputop.probes.model.host_readings import HostReading
from gputop.probes.model.process_readings import ProcessReading
from gputop.probes.model.sample import Sample
from gputop.probes.sources.protocol import Part
from gputop.probes.wire.codec import Splitter, decode, encode

INTERVAL = 0.2
UNSOUND: list[tuple[str, Any]] = [
    ("memory_used_bytes", 3.5),
    ("memory_used_bytes", 2**64),
    ("memory_used_bytes", "12"),
    ("power_watts", math.inf),
    ("power_watts", math.nan),
    ("power_watts", "x"),
    ("name", "\ud800"),
    ("name", 7),
    ("name", "x" * 2_000_000),
    ("throttle_reasons", (1,)),
    ("remap_pending", 1),
    ("nvlinks", ({"link": "0"},)),
    ("missing", {"power_watts": None}),
    ("uuid", object()),
]


def gpu(index: int = 0, **values: Any) -> GpuReading:
    return GpuReading(index=index, monotonic_seconds=time.monotonic(), **values)


@pytest.mark.parametrize(("field", "value"), UNSOUND)
def test_only_the_unsound_one_is_left_out(field: str, value: Any) -> None:
    good, other = gpu(1, power_watts=300.0), HostReading(monotonic_seconds=1.0, cpus=4)
    kept, why = sound((good, gpu(2, **{field: value}), other))
    assert kept == (good, other)
    assert why.startswith("1 of 3 readings left out: ")


def test_numbers_that_only_look_infinite_in_bytes_are_kept() -> None:
    # 0xcb7ff0… within the bytes of an integer.
    part = gpu(ecc_corrected=0xCB7FF0000000, energy_joules=1.7e308, power_watts=-1.7e308)
    assert sound((part,)) == ((part,), "")


def test_a_source_does_not_fill_the_stream() -> None:
    long = tuple(
        ProcessReading(
            monotonic_seconds=1.0, pid=pid, start_time_seconds=1.0, command=("x" * 500_000,)
        )
        for pid in range(1, 31)
    )
    kept, why = sound(long)
    assert 0 < len(kept) < 30 and "too much of it" in why
    assert len(encode(_sample(processes=kept))) < 5 << 20


values = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=4), st.binary(max_size=4)
)


@settings(max_examples=300)
@given(field=st.sampled_from(GpuReading.__struct_fields__), value=values)
def test_whatever_is_in_a_field_what_is_kept_travels(field: str, value: object) -> None:
    part = msgspec.structs.replace(gpu(3), **{field: value})
    kept, why = sound((part,))
    assert bool(why) is not bool(kept)
    if kept:
        body = encode(_sample(gpus=kept))
        (only,) = Splitter().feed(body)
        message = decode(only)
        assert isinstance(message, Sample)
        assert message.gpus == kept


def _sample(**parts: Any) -> Sample:
    return Sample(time_seconds=1.0, monotonic_seconds=1.0, sequence=1, node="n", **parts)


class Careless:
    """Gives a good reading first, and then one with a value of a wrong type, again and again."""

    name = "nvml gpu 3"
    reads = 0

    def read(self) -> tuple[Part, ...]:
        self.reads += 1
        return (gpu(3, power_watts=300.0 if self.reads == 1 else "a lot"),)

    def close(self) -> None: ...


def test_the_collector_goes_on_and_the_status_says_so() -> None:
    collector = Collector("node", interval_seconds=INTERVAL)
    collector.add(Careless())
    for sample in islice(collector.samples(), 4):
        (only,) = Splitter().feed(encode(sample))
        message = decode(only)
        assert isinstance(message, Sample)
        # What was good stays, and grows old.
        assert [reading.power_watts for reading in message.gpus] == [300.0]
        (status,) = message.sources
    assert status.status == "failed"
    assert status.reason.startswith("1 of 1 readings left out: Expected `float")
