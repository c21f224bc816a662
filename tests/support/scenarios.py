"""Scenarios by what they are of. A test of what is well goes over the healthy ones, one of what is told over the faults."""

from __future__ import annotations

from gputop.probes.simulator import SCENARIOS

FAULTS = [name for name, scenario in SCENARIOS.items() if scenario.finds]
HEALTHY = [name for name, scenario in SCENARIOS.items() if not scenario.finds]
PLAIN = ["healthy", *FAULTS]
"""Without those that are well and look odd."""
