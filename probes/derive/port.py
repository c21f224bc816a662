"""RDMA ports: rates, errors since we came, flaps, and the rows of those that are gone."""

from __future__ import annotations

from typing import Any

import msgspec

from ..model.frame import Frame
from ..model.link_frames import GONE, PortFrame
from ..model.link_readings import WAIT_TICK_BYTES, PortReading
from ..model.port_counters import COUNTERS
from ..model.reading import Missing
from ..model.sample import Sample
from .counters import Growth, growth, since
from .extend import extend

_WORD_BYTES = 4
_WAIT_FULL = 2**32 - 1
"""The kernel reads 32 bits of it (core/sysfs.c), which at the rate of NDR are full after 0.7 s."""
_RATES = {
    "rx_bytes_per_second": "rx_bytes",
    "tx_bytes_per_second": "tx_bytes",
    "rx_packets_per_second": "rx_packets",
    "tx_packets_per_second": "tx_packets",
    "wait_ratio": "wait_ticks",
}
_ACTIVE = "active"


def derive_ports(previous: Frame | None, current: Sample) -> tuple[PortFrame, ...]:
    """A row for each port of the sample, and for each that an earlier frame had."""
    before = {(port.device, port.port): port for port in (previous.ports if previous else ())}
    rows = {
        (reading.device, reading.port): _derive(
            reading, before.get((reading.device, reading.port)), current
        )
        for reading in current.ports
    }
    for key, port in before.items():
        if key not in rows:
            rows[key] = _gone(port, current)
    return tuple(rows[key] for key in sorted(rows))


def _derive(reading: PortReading, previous: PortFrame | None, sample: Sample) -> PortFrame:
    age = max(0.0, sample.monotonic_seconds - reading.monotonic_seconds)
    if previous is not None and previous.monotonic_seconds == reading.monotonic_seconds:
        return msgspec.structs.replace(previous, age_seconds=age)
    missing = dict(reading.missing)
    rates = _rates(reading, previous, missing)
    grown, full = _since_start(reading, previous)
    return extend(
        PortFrame,
        reading,
        **rates,
        **_life(reading, previous),
        **_wait_full(reading, previous),
        counters_since_start=grown,
        full_counters=full,
        age_seconds=age,
        missing=missing,
        counters={**(previous.counters if previous else {}), **reading.counters},
    )


def _rates(
    reading: PortReading, previous: PortFrame | None, missing: Missing
) -> dict[str, float | None]:
    rates: dict[str, float | None] = {}
    for name, counter in _RATES.items():
        now = getattr(reading, counter)
        before = getattr(previous, counter) if previous is not None else None
        if now is None:
            missing[name] = reading.missing.get(counter, "not read yet")
        elif previous is None or before is None:
            missing[name] = "needs a second reading"
        else:
            seconds = reading.monotonic_seconds - previous.monotonic_seconds
            grown = _grown(counter, now, before, reading, seconds)
            if grown.amount is None:
                missing[name] = grown.reason
            else:
                rates[name] = grown.amount / seconds
    ticks = rates.get("wait_ratio")
    if ticks is not None:
        limit = reading.rate_bytes_per_second
        if limit is None:
            missing["wait_ratio"] = "the rate of the port is not known"
        rates["wait_ratio"] = min(1.0, ticks * WAIT_TICK_BYTES / limit) if limit else None
    return rates


def _grown(counter: str, now: int, before: int, reading: PortReading, seconds: float) -> Growth:
    if seconds <= 0:
        return Growth(None, "needs a second reading")
    if counter == "wait_ticks":
        return growth(now, before, 32)  # it stops, and does not go round
    narrow = reading.data_counter_bits == 32
    if not counter.endswith("_bytes") or not narrow:
        return growth(now, before, 32 if narrow else 64)
    limit = reading.rate_bytes_per_second
    most = None if limit is None else limit * seconds / _WORD_BYTES
    words = growth(now // _WORD_BYTES, before // _WORD_BYTES, 32, most)
    return words if words.amount is None else Growth(words.amount * _WORD_BYTES)


def _wait_full(reading: PortReading, previous: PortFrame | None) -> dict[str, float | None]:
    """When its counter of waiting filled up, and how much it waited at least while it did."""
    before = previous.wait_ticks if previous is not None else None
    if reading.wait_ticks != _WAIT_FULL or previous is None or before is None:
        return {}
    if before == _WAIT_FULL:
        return {
            "wait_full_monotonic_seconds": previous.wait_full_monotonic_seconds,
            "wait_full_ratio": previous.wait_full_ratio,
        }
    seconds = reading.monotonic_seconds - previous.monotonic_seconds
    limit = reading.rate_bytes_per_second
    least = (
        (_WAIT_FULL - before) * WAIT_TICK_BYTES / limit / seconds if limit and seconds > 0 else None
    )
    return {
        "wait_full_monotonic_seconds": reading.monotonic_seconds,
        "wait_full_ratio": None if least is None else min(1.0, least),
    }


def _since_start(
    reading: PortReading, previous: PortFrame | None
) -> tuple[dict[str, int], tuple[str, ...]]:
    grown = dict(previous.counters_since_start) if previous else {}
    full: list[str] = []
    for name, now in reading.counters.items():
        bits = COUNTERS[name].bits if name in COUNTERS else 64
        before = previous.counters.get(name, now) if previous else now
        count = since(now, before, grown.get(name, 0), bits)
        if count.amount:
            grown[name] = count.amount
        if count.full:
            full.append(name)
    return grown, tuple(full)


def _life(reading: PortReading, previous: PortFrame | None) -> dict[str, Any]:
    rates = [
        rate
        for rate in (
            reading.rate_bytes_per_second if reading.state == _ACTIVE else None,
            previous.best_rate_bytes_per_second if previous else None,
        )
        if rate is not None
    ]
    active = reading.state == _ACTIVE
    used = active or bool(reading.rx_bytes or reading.tx_bytes)
    life: dict[str, Any] = {
        "best_rate_bytes_per_second": max(rates, default=None),
        "used": used or (previous is not None and previous.used),
    }
    if previous is None:
        return life
    moment = previous.state_monotonic_seconds
    changes = previous.state_changes
    if reading.state != previous.state:
        moment = reading.monotonic_seconds
        changes += active != (previous.state == _ACTIVE)
    return {**life, "state_changes": changes, "state_monotonic_seconds": moment}


def _gone(port: PortFrame, sample: Sample) -> PortFrame:
    """What is left of a port that the sample does not have any more: who it was, no values."""
    age = max(0.0, sample.monotonic_seconds - port.monotonic_seconds)
    if port.state == GONE:
        return msgspec.structs.replace(port, age_seconds=age)
    names = ("rx_bytes", "tx_bytes", *_RATES)
    return msgspec.structs.replace(
        port,
        **dict.fromkeys((*names, "wait_ticks", "rx_packets", "tx_packets", "physical_state")),
        state=GONE,
        state_changes=port.state_changes + (port.state == _ACTIVE),
        state_monotonic_seconds=sample.monotonic_seconds,
        age_seconds=age,
        missing=dict.fromkeys(names, "the port is gone"),
    )
