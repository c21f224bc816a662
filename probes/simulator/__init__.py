"""A scripted node that yields samples: for demonstrations, tests and screenshots. Nothing is real."""

from __future__ import annotations

from .catalogue import SCENARIOS, scenario
from .node import SimulatedNode, simulate
from .scenario import Scenario, UnknownScenario

__all__ = [
    "SCENARIOS",
    "Scenario",
    "SimulatedNode",
    "UnknownScenario",
    "scenario",
    "simulate",
]
