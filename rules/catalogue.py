"""All rules, in the order of their ids. An id is given once and never used again."""

from __future__ import annotations

from collections.abc import Mapping

from .device.thermal_slowdown import ThermalSlowdown
from .rule import Rule

RULES: tuple[type[Rule], ...] = (ThermalSlowdown,)


def make_rules(overrides: Mapping[str, Mapping[str, float]] | None = None) -> tuple[Rule, ...]:
    """An instance of each rule, with the thresholds of the settings where they give any.

    Args:
        overrides: rule id → threshold name → value, as `settings.load` returns them.
    """
    given = overrides or {}
    return tuple(rule(given.get(rule.id)) for rule in RULES)
