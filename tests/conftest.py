"""What holds for all tests: a busy machine makes none of them fail, and none runs slowly for nothing."""

from __future__ import annotations

import sys
import threading
from collections.abc import Generator

import pytest
from hypothesis import HealthCheck, settings

# How fast examples are made and run says how busy the machine is, and nothing about the code.
settings.register_profile(
    "busy machine", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("busy machine")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Tests that are marked "unmeasured" run at full speed also where coverage is measured.

    The tracer is taken away meanwhile: pytest-cov's own mark does nothing in a worker of pytest-xdist.
    """
    if item.get_closest_marker("unmeasured") is None:
        return (yield)
    tracer, of_threads = sys.gettrace(), threading.gettrace()
    sys.settrace(None)
    threading.settrace(None)
    try:
        return (yield)
    finally:
        sys.settrace(tracer)
        threading.settrace(of_threads)
