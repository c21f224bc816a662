"""All scenarios, by name."""

from __future__ import annotations

from difflib import get_close_matches

from . import (
    device_faults,
    health_faults,
    host_faults,
    input_faults,
    link_faults,
    loader_faults,
    loop_faults,
    memory_faults,
    pace_faults,
    process_faults,
    setup_faults,
    speed_faults,
)
from .awkward import AWKWARD
from .common_faults import COMMON
from .compound_faults import COMPOUND
from .scenario import Scenario, UnknownScenario

_ALL = (
    Scenario(name="healthy", summary="Eight GPUs training at full speed; nothing is wrong."),
    input_faults.INPUT_BOUND,
    device_faults.GPU_LOST,
    device_faults.DRIVER_WEDGED,
    speed_faults.THERMAL_THROTTLE,
    speed_faults.POWER_CAP,
    speed_faults.CLOCK_STUCK,
    speed_faults.HOLLOW,
    input_faults.STRAGGLER,
    input_faults.CPU_THROTTLED,
    input_faults.SWAP,
    memory_faults.MEMORY_FULL,
    memory_faults.ORPHAN_MEMORY,
    memory_faults.OTHER_TENANT,
    device_faults.ECC,
    health_faults.ECC_STORM,
    device_faults.EARLIER_XID,
    device_faults.PCIE_TRAINED_DOWN,
    link_faults.LINK_DOWN,
    health_faults.FABRIC_DEGRADED,
    health_faults.IMEX_DOWN,
    link_faults.TWO_ISLANDS,
    link_faults.CONGESTED_INFINIBAND,
    pace_faults.OUTLIER_STEPS,
    pace_faults.LOAD_IMBALANCE,
    pace_faults.PIPELINE_BUBBLE,
    setup_faults.SLOW_SETTINGS,
    setup_faults.NO_TENSOR_CORES,
    setup_faults.MPS_SHARED,
    process_faults.RANK_EXITED,
    loader_faults.SLOW_NFS,
    loader_faults.LOADER_STALLS,
    loader_faults.LOADER_WORKERS_DIE,
    host_faults.OVERSUBSCRIBED,
    loop_faults.SYNC_POINTS,
    loop_faults.PAGEABLE_COPIES,
    *COMMON,
    *COMPOUND,
    *AWKWARD,
)

SCENARIOS: dict[str, Scenario] = {scenario.name: scenario for scenario in _ALL}

_LIKE = 0.7
"""How alike a name must be, from 0 to 1, to be the one that was meant."""


def scenario(name: str) -> Scenario:
    """The scenario of that name.

    Raises:
        UnknownScenario: when there is none.
    """
    if name not in SCENARIOS:
        near = get_close_matches(name, SCENARIOS, 1, _LIKE)
        near += [each for each in SCENARIOS if each.startswith(name)]
        raise UnknownScenario(name, near[0] if name and near else None, tuple(SCENARIOS))
    return SCENARIOS[name]
