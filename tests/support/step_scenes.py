"""Jobs whose ranks tell of their steps: phases, pauses, recompilations, updates that were skipped."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from gputop.probes.model.probe_readings import AllocatorReading, ProbeReading, StepReading

from support.rules_scenes import Changes, Script
from support.scene_readings import BEGAN, GPUS, probe

FIRST_STEP = 1000
Shares = Mapping[str, float]


def spends(
    shares: Callable[[int, float], Shares],
    more: Callable[[int, float], dict[str, Any]] | None = None,
) -> Script:
    """Each rank spends each second so: phase → share; what is left is forward.

    Args:
        shares: rank and second → shares of that second.
        more: rank and second → other fields of its page.
    """
    totals: dict[int, dict[str, float]] = {rank: {} for rank in range(GPUS)}

    def script(second: float) -> Changes:
        pages: list[ProbeReading] = []
        for rank in range(GPUS):
            now = shares(rank, second)
            spent = {**now, "forward": 1.0 - sum(now.values())}
            known = totals[rank]
            for phase, share in spent.items():
                known[phase] = known.get(phase, 0.0) + share
            page = msgspec.structs.replace(
                probe(rank, second, "forward", 0.1),
                rank=rank,
                step=FIRST_STEP + int(second),
                step_seconds=1.0,
                step_monotonic_seconds=BEGAN + second,
                phase_seconds=dict(known),
                **(more(rank, second) if more else {}),
            )
            pages.append(page)
        return Changes(probes=pages)

    return script


def steps(
    second: float, seconds: Callable[[int], float] = lambda _number: 1.0, **fields: Any
) -> tuple[StepReading, ...]:
    """The step that ends at that second."""
    number = FIRST_STEP + int(second)
    return (
        StepReading(
            number=number, monotonic_seconds=BEGAN + second, seconds=seconds(number), **fields
        ),
    )


GIB = float(1 << 30)


def allocates(
    allocated: Callable[[int, float], float],
    *,
    reserved: float = 40.0,
    split: float = 1.0,
    retries: Callable[[float], int] = lambda _second: 0,
) -> Script:
    """What PyTorch's allocator of each rank holds, in GiB, of a device of 80."""

    def page(rank: int, second: float) -> dict[str, Any]:
        return {
            "allocator": AllocatorReading(
                allocated_bytes=int(allocated(rank, second) * GIB),
                reserved_bytes=int(reserved * GIB),
                inactive_split_bytes=int(split * GIB),
                alloc_retries=retries(second),
                ooms=0,
            ),
            "steps": steps(second),
        }

    return spends(lambda _rank, _second: {}, page)
