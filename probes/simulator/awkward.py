"""Healthy runs that look odd, all of them: no rule may call one ill."""

from __future__ import annotations

from . import awkward_boards, awkward_hosts, awkward_jobs, awkward_rhythms, awkward_servers
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
    awkward_servers.IDLE_SERVER,
    awkward_servers.BUSY_SERVER,
    awkward_servers.NOTEBOOK,
    awkward_jobs.ELASTIC_RESTART,
    awkward_jobs.TWO_JOBS,
    awkward_jobs.HALF_USED,
    awkward_boards.MIG,
    awkward_boards.GB10,
    awkward_boards.FEW_COUNTERS,
    awkward_boards.WITHOUT_PROBES,
    awkward_jobs.JOB_ENDS,
    awkward_hosts.OVERLOADED_HOST,
    awkward_boards.CLOCKS_LOCKED,
    awkward_boards.WARM_ROOM,
    awkward_boards.MENDED_MEMORY,
    awkward_boards.PREALLOCATED,
    awkward_hosts.SWAPPED_LONG_AGO,
    awkward_jobs.READS_FROM_DISK,
)
