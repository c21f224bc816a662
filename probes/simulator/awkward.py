"""Healthy runs that look odd, all of them: no rule may call one ill."""

from __future__ import annotations

from . import awkward_nodes, awkward_rhythms
from .scenario import Scenario

AWKWARD: tuple[Scenario, ...] = (
    awkward_rhythms.CHECKPOINTS,
    awkward_rhythms.EVALUATIONS,
    awkward_rhythms.EVALUATION_ON_ONE,
    awkward_rhythms.WARM_UP,
    awkward_rhythms.COMPILES,
    awkward_rhythms.LOADS_WEIGHTS,
    awkward_rhythms.GRADIENT_ACCUMULATION,
    awkward_rhythms.RL_BURSTS,
    awkward_rhythms.UNEVEN_STEPS,
    awkward_rhythms.EPOCHS,
    awkward_rhythms.SHORT_STEPS,
    awkward_rhythms.CURRICULUM,
    awkward_rhythms.LAST_STAGE,
    awkward_rhythms.WRITES_IN_BACKGROUND,
    awkward_nodes.IDLE_SERVER,
    awkward_nodes.BUSY_SERVER,
    awkward_nodes.NOTEBOOK,
    awkward_nodes.ELASTIC_RESTART,
    awkward_nodes.TWO_JOBS,
    awkward_nodes.HALF_USED,
    awkward_nodes.MIG,
    awkward_nodes.GB10,
    awkward_nodes.FEW_COUNTERS,
    awkward_nodes.WITHOUT_PROBES,
    awkward_nodes.JOB_ENDS,
    awkward_nodes.OVERLOADED_HOST,
    awkward_nodes.CLOCKS_LOCKED,
    awkward_nodes.WARM_ROOM,
    awkward_nodes.MENDED_MEMORY,
    awkward_nodes.PREALLOCATED,
    awkward_nodes.SWAPPED_LONG_AGO,
    awkward_nodes.READS_FROM_DISK,
)
