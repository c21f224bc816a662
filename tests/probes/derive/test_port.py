"""Rates of RDMA ports against exact integrals, whatever the counters and the reading of them do."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gputop.probes.derive.counters import growth, since
from gputop.probes.derive.frame import derive
from gputop.probes.model.frame import Frame
from gputop.probes.model.link_frames import PortFrame
from gputop.probes.model.link_readings import PortReading
from gputop.probes.model.sample import Sample
from gputop.probes.sources.rdma.port import SLOW_SECONDS
from gputop.probes.sources.rdma.source import InfinibandSource

from fixtures.rdma_tree import RdmaTree

SECONDS = 60.0
MOST_WRONG = 0.01
Carried = Callable[[float], float]


def wave(mean: float, swing: float, period: float) -> Carried:
    """Bytes carried by a time, where the rate swings about its mean: the exact integral."""
    omega = 2 * math.pi / period
    return lambda second: mean * second + swing / omega * (1 - math.cos(omega * second))


RX, TX = wave(18e9, 12e9, 7.0), wave(21e9, 9e9, 11.0)


class Run:
    """Reads a tree whose counters are exact integrals, at the moments given."""

    def __init__(self, root: Path, kind: str = "connectx7-ib") -> None:
        self.tree = RdmaTree(root)
        self.tree.add("mlx5_0", kind)
        self.kind = kind
        self.now = 0.0
        self.source = InfinibandSource(root, lambda: 5000.0 + self.now)
        self.frame: Frame | None = None

    def read(
        self, second: float, *, rx: float, tx: float, sent_at: float | None = None
    ) -> PortFrame:
        """The port at that second, in a sample that leaves later where it says so."""
        self.now = second
        folder, names, worth = ("counters", ("port_rcv_data", "port_xmit_data"), 4)
        if self.kind in ("efa", "bnxt_re"):
            folder, names, worth = ("hw_counters", ("rx_bytes", "tx_bytes"), 1)
        for name, value in zip(names, (rx, tx), strict=True):
            self.tree.set("mlx5_0", f"{folder}/{name}", int(value / worth))
        self.frame = derive(self.frame, sample(sent_at or second, *self.source.read()))
        return self.frame.ports[0]


def sample(second: float, *ports: PortReading) -> Sample:
    return Sample(
        time_seconds=1.8e9 + second,
        monotonic_seconds=5000.0 + second,
        sequence=round(second * 1000),
        node="node17",
        ports=ports,
    )


def moments(interval: float) -> Iterator[float]:
    number = 0
    while number * interval <= SECONDS:
        yield number * interval
        number += 1


def total(readings: list[tuple[float, PortFrame]], name: str) -> float:
    """What the rates say was carried, each over the time since the reading before."""
    carried = 0.0
    for (before, _), (now, port) in pairwise(readings):
        value = getattr(port, name)
        assert value is not None, (now, port.missing)
        carried += value * (now - before)
    return carried


@pytest.mark.parametrize("interval", [1.0, 0.2])
@pytest.mark.parametrize("kind", ["connectx7-ib", "connectx7-roce", "efa", "bnxt_re"])
def test_rates_over_a_minute(tmp_path: Path, kind: str, interval: float) -> None:
    run = Run(tmp_path, kind)
    readings = [
        (second, run.read(second, rx=RX(second), tx=TX(second))) for second in moments(interval)
    ]
    assert total(readings, "rx_bytes_per_second") == pytest.approx(RX(SECONDS), rel=1e-6)
    assert total(readings, "tx_bytes_per_second") == pytest.approx(TX(SECONDS), rel=1e-6)
    for (before, _), (now, port) in pairwise(readings):
        mean = (RX(now) - RX(before)) / (now - before)
        assert port.rx_bytes_per_second == pytest.approx(mean, rel=MOST_WRONG)


@pytest.mark.parametrize("interval", [1.0, 0.2])
def test_one_reading_is_late(tmp_path: Path, interval: float) -> None:
    """The sample of second 30 leaves without it; the reading comes with the next one."""
    run = Run(tmp_path)
    readings: list[tuple[float, PortFrame]] = []
    for second in moments(interval):
        if math.isclose(second, 30.0, abs_tol=1e-9):
            assert run.frame is not None
            before = run.frame.ports[0]
            last = before.monotonic_seconds
            again = PortReading(
                device="mlx5_0", port=1, monotonic_seconds=last, rx_bytes=before.rx_bytes
            )
            run.frame = derive(run.frame, sample(second, again))
            # Nothing new is known, so the newest rates that are known still stand.
            assert run.frame.ports[0].rx_bytes_per_second == before.rx_bytes_per_second
            assert run.frame.ports[0].age_seconds == pytest.approx(interval)
            late = second + 0.4 * interval
            readings.append((late, run.read(late, rx=RX(late), tx=TX(late), sent_at=late)))
        else:
            readings.append((second, run.read(second, rx=RX(second), tx=TX(second))))
    assert total(readings, "rx_bytes_per_second") == pytest.approx(RX(SECONDS), rel=1e-6)
    for (before_at, _), (now, port) in pairwise(readings):
        mean = (RX(now) - RX(before_at)) / (now - before_at)
        assert port.rx_bytes_per_second == pytest.approx(mean, rel=MOST_WRONG)


@pytest.mark.parametrize("interval", [1.0, 0.2])
def test_a_narrow_counter_goes_round(tmp_path: Path, interval: float) -> None:
    """32 bits of words are 17.2 GB: at 3 GB/s they go round every 6 seconds."""
    turn = 4 * 2**32
    carried = wave(3e9, 0.8e9, 7.0)
    run = Run(tmp_path, "narrow")
    readings = [
        (second, run.read(second, rx=carried(second) % turn, tx=carried(second) % turn))
        for second in moments(interval)
    ]
    assert carried(SECONDS) > 10 * turn
    assert total(readings, "rx_bytes_per_second") == pytest.approx(carried(SECONDS), rel=1e-6)


@pytest.mark.parametrize("interval", [1.0, 0.2])
def test_a_reset_is_no_rate_once_and_then_all_is_right(tmp_path: Path, interval: float) -> None:
    run = Run(tmp_path)
    unknown: list[float] = []
    carried = 0.0
    last = 0.0
    for second in moments(interval):
        offset = RX(30.0) if second >= 30.0 else 0.0
        port = run.read(second, rx=RX(second) - offset, tx=TX(second))
        assert second == 0 or port.tx_bytes_per_second is not None
        if port.rx_bytes_per_second is None and second:
            unknown.append(second)
            assert port.missing["rx_bytes_per_second"] == "its counter was reset"
            carried += RX(second) - RX(last)
        elif port.rx_bytes_per_second is not None:
            carried += port.rx_bytes_per_second * (second - last)
        last = second
    assert unknown == pytest.approx([30.0])
    assert carried == pytest.approx(RX(SECONDS), rel=1e-6)


def test_a_full_counter_tells_nothing(tmp_path: Path) -> None:
    """As the specification has it, a narrow counter stops at its end and stays there."""
    run = Run(tmp_path, "narrow")
    full = 4 * (2**32 - 1)
    ports = [
        run.read(second, rx=min(full, full - 3e9 + 2e9 * second), tx=0.0)
        for second in (0.0, 1.0, 2.0, 3.0)
    ]
    assert [port.rx_bytes_per_second for port in ports] == [None, pytest.approx(2e9), None, None]
    assert ports[3].missing["rx_bytes_per_second"] == "its 32-bit counter is full"


def test_a_narrow_counter_on_a_fast_port_tells_nothing(tmp_path: Path) -> None:
    run = Run(tmp_path, "narrow")
    run.tree.set("mlx5_0", "rate", "200 Gb/sec (4X HDR)")
    for second in (0.0, 1.0):
        port = run.read(second, rx=1e9 * second, tx=0.0)
    assert port.rx_bytes_per_second is None
    assert "goes round between two readings" in port.missing["rx_bytes_per_second"]


def test_waiting_is_a_share_of_time(tmp_path: Path) -> None:
    run = Run(tmp_path, "connectx6-ib")
    ticks_a_second = 25e9 / 8
    for second in (0.0, 1.0):
        run.tree.set("mlx5_0", "counters/port_xmit_wait", int(0.3 * ticks_a_second * second))
        port = run.read(second, rx=0.0, tx=0.0)
    assert port.wait_ratio == pytest.approx(0.3)
    run.tree.set("mlx5_0", "counters/port_xmit_wait", 2**32 - 1)
    port = run.read(2.0, rx=0.0, tx=0.0)
    assert (port.wait_ratio, port.missing["wait_ratio"]) == (None, "its 32-bit counter is full")


# --- what became of a port ---


def test_errors_are_counted_since_we_came(tmp_path: Path) -> None:
    run = Run(tmp_path)
    counts: list[int] = []
    for second, symbols in enumerate((40, 40, 43, 43, 2, 65535, 65535)):
        run.tree.set("mlx5_0", "counters/symbol_error", symbols)
        port = run.read(second * SLOW_SECONDS, rx=0.0, tx=0.0)
        counts.append(port.counters_since_start.get("symbol_error", 0))
    # 3 grown; then reset, of which 2 are certain; then full, which is the least that it can be.
    assert counts == [0, 0, 3, 3, 5, 5 + 65533, 5 + 65533]
    assert port.full_counters == ("symbol_error",)


def test_a_counter_that_cannot_be_read_once_loses_nothing(tmp_path: Path) -> None:
    run = Run(tmp_path)
    for second, text in enumerate(("5", "", "9")):
        run.tree.set("mlx5_0", "hw_counters/out_of_sequence", text)
        port = run.read(second * SLOW_SECONDS, rx=0.0, tx=0.0)
    assert port.counters_since_start == {"out_of_sequence": 4}


def test_a_port_that_flaps_and_goes(tmp_path: Path) -> None:
    run = Run(tmp_path)
    port = run.read(0.0, rx=1e9, tx=0.0)
    assert (port.state_changes, port.state_monotonic_seconds, port.used) == (0, None, True)
    for second, state in enumerate(("1: DOWN", "2: INIT", "4: ACTIVE"), start=1):
        run.tree.set("mlx5_0", "state", state)
        port = run.read(float(second), rx=1e9, tx=0.0)
    assert (port.state_changes, port.state_monotonic_seconds) == (2, 5003.0)
    run.tree.remove("mlx5_0")
    frame = derive(run.frame, sample(4.0, *run.source.read()))
    (gone,) = frame.ports
    assert (gone.state, gone.rx_bytes_per_second, gone.state_changes) == ("gone", None, 3)
    assert gone.missing["rx_bytes_per_second"] == "the port is gone"
    assert [link.state for link in frame.links] == ["gone"]
    later = derive(frame, sample(9.0))
    assert (later.ports[0].age_seconds, later.ports[0].state_changes) == (6.0, 3)
    assert later.ports[0].state_monotonic_seconds == 5004.0


def test_the_best_rate_is_remembered(tmp_path: Path) -> None:
    run = Run(tmp_path)
    run.read(0.0, rx=0.0, tx=0.0)
    run.tree.set("mlx5_0", "rate", "100 Gb/sec (1X NDR)")
    port = run.read(SLOW_SECONDS + 1, rx=0.0, tx=0.0)
    assert (port.rate_bytes_per_second, port.best_rate_bytes_per_second) == (12.5e9, 50e9)


# --- properties ---


@given(
    bits=st.sampled_from([8, 16, 32, 64]),
    start=st.integers(0, 2**70),
    steps=st.lists(st.floats(0, 1), min_size=1, max_size=20),
)
def test_a_counter_that_goes_round_never_lies(bits: int, start: int, steps: list[float]) -> None:
    """Where the most that it can grow is known, and less than a turn, growth is exact or unknown."""
    turn = 1 << bits
    most = turn / 2
    exact = start
    for step in steps:
        before, exact = exact, exact + int(step * most)
        found = growth(exact % turn, before % turn, bits, most)
        if bits == 64 and exact // turn != before // turn:
            assert found.amount is None
        elif found.amount is not None:
            assert found.amount == exact - before
        else:
            assert exact % turn == turn - 1


@given(
    now=st.integers(0, 2**64), before=st.integers(0, 2**64), bits=st.sampled_from([4, 16, 32, 64])
)
def test_growth_is_never_negative(now: int, before: int, bits: int) -> None:
    found = growth(now, before, bits, 2**31)
    assert (found.amount is None) == bool(found.reason)
    assert found.amount is None or found.amount >= 0


@settings(max_examples=200)
@given(
    bits=st.sampled_from([16, 32, 64]),
    growths=st.lists(st.integers(0, 2**12), max_size=30),
    resets=st.sets(st.integers(0, 30)),
)
def test_events_since_the_start_are_never_more_than_there_were(
    bits: int, growths: list[int], resets: set[int]
) -> None:
    counter = so_far = really = 0
    for number, grown in enumerate(growths):
        before = counter
        counter = grown if number in resets else counter + grown
        really += grown
        so_far = since(counter, before, so_far, bits).amount
        assert 0 <= so_far <= really
    if not resets:
        assert so_far == really
