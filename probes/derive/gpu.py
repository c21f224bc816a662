"""GPUs: rates, staleness, and the rows of those that are gone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from ..model.driver_errors import fault_text
from ..model.frame import Frame
from ..model.gpu_frames import GpuFrame, NvlinkFrame, stale_after_seconds
from ..model.gpu_readings import GpuReading, gpu_source_name
from ..model.job_frames import JobFrame, RankFrame
from ..model.link_readings import PciPlace
from ..model.pci_address import normal_bus_id
from ..model.reading import Missing
from ..model.sample import Sample
from .counters import since
from .extend import extend
from .latched_faults import faults_at_start
from .nvlink import derive_nvlinks, errors_since_start
from .rates import counter_rates
from .topology import places_of
from .unanswered_gpus import unanswered_gpus

PCIE_LANE_BYTES_PER_SECOND = {
    1: 2.5e9 / 8 * 8 / 10,
    2: 5e9 / 8 * 8 / 10,
    3: 8e9 / 8 * 128 / 130,
    4: 16e9 / 8 * 128 / 130,
    5: 32e9 / 8 * 128 / 130,
    6: 64e9 / 8 * 242 / 256,
}
"""One lane, one direction, line encoding taken off (PCI-SIG: 8b/10b, 128b/130b, 242B/256B flits)."""

_TIMES_IMPOSSIBLE = 2.0
_REPLAY_BITS = 32
_NO_SLOT = "no bridge above this GPU is seen in /sys/bus/pci"

_RATES = {
    "pcie_rx_bytes_per_second": "pcie_rx_bytes",
    "pcie_tx_bytes_per_second": "pcie_tx_bytes",
    "nvlink_rx_bytes_per_second": "nvlink_rx_bytes",
    "nvlink_tx_bytes_per_second": "nvlink_tx_bytes",
    "pcie_replays_per_second": "pcie_replays",
}


def derive_gpus(
    previous: Frame | None, current: Sample, jobs: Sequence[JobFrame]
) -> tuple[GpuFrame, ...]:
    """A row for each GPU of the sample, and for each that an earlier frame had."""
    before = {gpu.index: gpu for gpu in (previous.gpus if previous else ())}
    on = {
        rank.gpu_index: (rank, job.id)
        # Where two jobs are on a GPU, it is the larger one's: the other is its guest.
        for job in sorted(jobs, key=lambda job: len(job.ranks))
        for rank in job.ranks
        if rank.gpu_index is not None and rank.ended_age_seconds is None
    }
    places = places_of(current)
    rows = {
        reading.index: _derive_gpu(reading, before.get(reading.index), previous, current, places)
        for reading in current.gpus
    }
    for index, gpu in before.items():
        if index not in rows and gpu.ever_read:
            rows[index] = _vanished(gpu, current)
    for reading in unanswered_gpus(current):
        rows.setdefault(reading.index, reading)
    return tuple(
        _with_rank(rows[index], on.get(index), before.get(index)) for index in sorted(rows)
    )


def _derive_gpu(
    reading: GpuReading,
    previous: GpuFrame | None,
    before: Frame | None,
    sample: Sample,
    places: Mapping[str, PciPlace],
) -> GpuFrame:
    if previous is not None and previous.uuid != reading.uuid:
        previous = None  # another card under the same number
    missing = dict(reading.missing)
    limits = _limits(reading, missing)
    derived = {
        **_possible(reading, _rates(reading, previous, missing), limits, missing),
        **limits,
        **_slot(reading, places.get(normal_bus_id(reading.pci_bus_id) or ""), missing),
    }
    links = derive_nvlinks(reading.nvlinks, previous.nvlinks if previous else None)
    age = max(0.0, sample.monotonic_seconds - reading.monotonic_seconds)
    status, reason = _status(reading, age, sample)
    if status in ("lost", "failed"):
        silent = [name for name in reading.__struct_fields__ if getattr(reading, name) is None]
        why = "GPU is lost" if status == "lost" else f"driver says: {reason}"
        missing = dict.fromkeys([*missing, *silent], why)
        age = _age_of_last_values(previous, before, sample)
    return extend(
        GpuFrame,
        reading,
        **derived,
        status=status,
        status_reason=reason,
        ever_read=status in ("ok", "stale") or (previous is not None and previous.ever_read),
        age_seconds=age,
        **_ecc(reading, previous, missing),
        faults_at_start=faults_at_start(reading, previous),
        nvlinks=links,
        nvlink_errors_since_start=_nvlink_errors(links, missing),
        pcie_replays_since_start=_replays(reading, previous, missing),
        missing=missing,
    )


def _rates(reading: GpuReading, previous: GpuFrame | None, missing: Missing) -> dict[str, Any]:
    """From counters, except where the driver itself gave the rate."""
    counters = {
        name: counter
        for name, counter in _RATES.items()
        if getattr(reading, name, None) is None and name not in reading.missing
    }
    rates = counter_rates(reading, previous, counters, missing)
    return _on_driver_clock(rates, reading, previous)


def _possible(
    reading: GpuReading, rates: dict[str, Any], limits: dict[str, Any], missing: Missing
) -> dict[str, Any]:
    """Without rates that no link can have: a counter that jumped, or a slip of the driver."""
    lane = PCIE_LANE_BYTES_PER_SECOND.get(reading.pcie_generation_max or 0)
    # As it may be trained, for a link trains up faster than its state is read.
    most = {
        "pcie": lane * reading.pcie_width_max if lane and reading.pcie_width_max else None,
        "nvlink": limits["nvlink_limit_bytes_per_second"],
    }
    kept = dict(rates)
    for kind, limit in most.items():
        for name in (f"{kind}_rx_bytes_per_second", f"{kind}_tx_bytes_per_second"):
            value = rates.get(name, getattr(reading, name))
            if value is not None and limit and value > _TIMES_IMPOSSIBLE * limit:
                kept[name] = None
                missing[name] = f"{value / 1e9:.0f} GB/s is more than the link can carry"
    return kept


def _on_driver_clock(
    rates: dict[str, Any], reading: GpuReading, previous: GpuFrame | None
) -> dict[str, Any]:
    """The NVLink counters carry the driver's own time stamps, which jitter less than ours."""
    now = reading.nvlink_monotonic_seconds
    before = previous.nvlink_monotonic_seconds if previous else None
    if previous is None or now is None or before is None or now <= before:
        return rates
    scale = (reading.monotonic_seconds - previous.monotonic_seconds) / (now - before)
    return {
        name: value * scale if name.startswith("nvlink") and value is not None else value
        for name, value in rates.items()
    }


def _limits(reading: GpuReading, missing: Missing) -> dict[str, Any]:
    lane = PCIE_LANE_BYTES_PER_SECOND.get(reading.pcie_generation or 0)
    pcie = lane * reading.pcie_width if lane and reading.pcie_width else None
    if pcie is None:
        missing["pcie_limit_bytes_per_second"] = "generation or width of the link is not known"
    speeds = [
        link.speed_bytes_per_second
        for link in reading.nvlinks or ()
        if link.active and link.speed_bytes_per_second is not None
    ]
    if not speeds:
        missing["nvlink_limit_bytes_per_second"] = "no active NVLink whose speed is known"
    return {
        "pcie_limit_bytes_per_second": pcie,
        "nvlink_limit_bytes_per_second": sum(speeds) if speeds else None,
    }


def _age_of_last_values(previous: GpuFrame | None, before: Frame | None, sample: Sample) -> float:
    """A GPU without values is asked again and again, but what it reported before is what grows old."""
    if previous is None or before is None:
        return 0.0
    return previous.age_seconds + sample.monotonic_seconds - before.monotonic_seconds


def _slot(reading: GpuReading, place: PciPlace | None, missing: Missing) -> dict[str, int | None]:
    """What slot and card can do, each on its own: the driver tells of both together."""
    values = {
        "pcie_generation_slot_max": place.slot_generation_max if place else None,
        "pcie_width_slot_max": place.slot_width_max if place else None,
        "pcie_width_device_max": place.width_max if place else None,
    }
    missing.update({name: _NO_SLOT for name, value in values.items() if value is None})
    if reading.pcie_generation_device_max is None and place and place.generation_max:
        # An older driver does not tell of the card alone, and the kernel does.
        values["pcie_generation_device_max"] = place.generation_max
        missing.pop("pcie_generation_device_max", None)
    return values


def _status(reading: GpuReading, age: float, sample: Sample) -> tuple[str, str]:
    if reading.lost:
        return "lost", "the driver says that this GPU is lost"
    if reading.fault_code and not reading.failed_calls:
        return "failed", fault_text(reading.fault_code)
    if age > stale_after_seconds(sample.interval_seconds):
        return "stale", _source_reason(reading.index, sample)
    return "ok", ""


def _source_reason(index: int, sample: Sample) -> str:
    name = gpu_source_name(index)
    source = next((source for source in sample.sources if source.name == name), None)
    if source is not None and source.status == "ok" and source.busy_seconds is None:
        return "it was not read since"  # whoever is not asked cannot answer
    return (source.reason if source else "") or "the driver does not answer for this GPU"


def _ecc(reading: GpuReading, previous: GpuFrame | None, missing: Missing) -> dict[str, int | None]:
    """Errors since we came: beyond what the counter showed then, whatever happened to it since."""
    start = previous.ecc_uncorrected_at_start if previous else None
    since = previous.ecc_uncorrected_since_start if previous else None
    now = reading.ecc_uncorrected
    if now is not None:
        if start is None or since is None:
            start = now
        elif now < start + since:  # the driver was loaded anew, and the counter began at 0 again
            start = -since
        since = now - start
    if since is None:
        missing["ecc_uncorrected_since_start"] = reading.missing.get(
            "ecc_uncorrected", "not read yet"
        )
    return {"ecc_uncorrected_at_start": start, "ecc_uncorrected_since_start": since}


def _nvlink_errors(links: Sequence[NvlinkFrame] | None, missing: Missing) -> int | None:
    errors = errors_since_start(links)
    if errors is None:
        none = (
            "has no NVLink" if links == () else missing.get("nvlinks", "not reported by the driver")
        )
        missing["nvlink_errors_since_start"] = none
    return errors


def _replays(reading: GpuReading, previous: GpuFrame | None, missing: Missing) -> int | None:
    now = reading.pcie_replays
    before = previous.pcie_replays if previous else None
    so_far = previous.pcie_replays_since_start if previous else None
    if now is None:
        if so_far is None:
            missing["pcie_replays_since_start"] = missing.get("pcie_replays", "not read yet")
        return so_far
    if before is None:
        return so_far or 0
    return since(now, before, so_far or 0, _REPLAY_BITS).amount


def _vanished(gpu: GpuFrame, sample: Sample) -> GpuFrame:
    """What is left of a GPU that the sample does not have any more: who it was, no values."""
    return GpuFrame(
        index=gpu.index,
        monotonic_seconds=gpu.monotonic_seconds,
        uuid=gpu.uuid,
        name=gpu.name,
        serial=gpu.serial,
        pci_bus_id=gpu.pci_bus_id,
        lost=True,
        status="lost",
        status_reason="the driver does not list this GPU any more",
        age_seconds=max(0.0, sample.monotonic_seconds - gpu.monotonic_seconds),
    )


def _with_rank(
    gpu: GpuFrame, on: tuple[RankFrame, str] | None, previous: GpuFrame | None
) -> GpuFrame:
    if on is not None:
        rank, job_id = on
        return msgspec.structs.replace(gpu, rank=rank.rank, job_id=job_id)
    if gpu.status in ("lost", "failed") and previous is not None:
        # Such a GPU lists no processes; whose it was is what people ask first.
        return msgspec.structs.replace(gpu, rank=previous.rank, job_id=previous.job_id)
    return gpu
