"""What holds for all tests: a busy machine makes none of them fail, and none runs slowly for nothing."""

from __future__ import annotations

from collections.abc import Generator

import pytest
from hypothesis import HealthCheck, settings

from support.unmeasured import unmeasured

# How fast examples are made and run says how busy the machine is, and nothing about the code.
settings.register_profile(
    "busy machine", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("busy machine")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Tests that are marked "unmeasured" run at full speed also where coverage is measured."""
    if item.get_closest_marker("unmeasured") is None:
        return (yield)
    with unmeasured():
        return (yield)
