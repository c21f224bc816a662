"""Single CPUs: what the mean of all hides."""

from __future__ import annotations

from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st

from gputop.probes.sources.host.cpu_loads import CpuLoadMeter
from gputop.probes.sources.host.text import OneCpu, parse_cpus

STAT = (
    b"cpu  9 0 0 90 1 0 0 0 0 0\n"
    b"cpu0 100 1 20 800 40 3 7 5 30 0\n"
    b"cpu12 5 0 0 95 0 0 0 0\n"
    b"cpu13 5 0 nonsense 95 0 0 0 0\n"
    b"cpux 5 0 0 95 0 0 0 0\n"
    b"intr 1 2 3\n"
    b"cpu99 1 1 1 1 1 1 1 1\n"
)


def meter(*looks: dict[int, OneCpu] | None) -> tuple[CpuLoadMeter, list[float]]:
    left: Iterator[dict[int, OneCpu] | None] = iter(looks)
    now = [100.0]
    return CpuLoadMeter(lambda: next(left), lambda: now[0]), now


def test_each_cpu_of_the_file() -> None:
    assert parse_cpus(STAT) == {0: OneCpu(136, 10, 976), 12: OneCpu(5, 0, 100)}


@given(st.binary(max_size=300))
def test_any_bytes(data: bytes) -> None:
    parse_cpus(data)
    parse_cpus(b"cpu 1 1 1 1 1 1 1 1\ncpu0 " + data)


def test_the_busiest_and_the_one_with_most_interrupts() -> None:
    before = {number: OneCpu(0, 0, 1000) for number in range(8)}
    after = {number: OneCpu(10 * number, 0, 1100) for number in range(8)}
    after[1] = OneCpu(60, 55, 1100)
    after[7] = OneCpu(99, 0, 1100)
    looking, now = meter(before, after)
    assert looking.read() is None
    now[0] += 5.0
    found = looking.read()
    assert found is not None
    assert found.full == 1
    assert [(each.number, each.busy_ratio) for each in found.loads] == [
        (7, 0.99),
        (1, 0.6),
        (6, 0.6),
    ]
    assert found.loads[1].interrupt_ratio == 0.55


def test_what_was_found_lasts_until_the_next_look() -> None:
    looking, now = meter({0: OneCpu(0, 0, 0)}, {0: OneCpu(100, 0, 100)}, None, {0: OneCpu(1, 0, 9)})
    looking.read()
    now[0] += 5.0
    found = looking.read()
    now[0] += 4.9
    assert looking.read() == found is not None
    now[0] += 0.1
    assert looking.read() is None, "not to be read any more"
    now[0] += 5.0
    assert looking.read() is None, "nothing to compare with"


def test_a_cpu_that_was_off_or_was_reset_is_left_out() -> None:
    before = {0: OneCpu(50, 0, 100), 1: OneCpu(0, 0, 100), 3: OneCpu(0, 0, 5)}
    after = {0: OneCpu(10, 0, 200), 1: OneCpu(0, 0, 100), 2: OneCpu(9, 0, 9), 3: OneCpu(1, 0, 10)}
    looking, now = meter(before, after)
    looking.read()
    now[0] += 5.0
    found = looking.read()
    assert found is not None
    assert [each.number for each in found.loads] == [3]
