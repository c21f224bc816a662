"""What holds for all tests: a busy machine makes none of them fail, and none runs slowly for nothing."""

from __future__ import annotations

import gc
import os
import shutil
import tempfile
from collections.abc import Generator

import pytest
from hypothesis import HealthCheck, settings

from support.parallel import usable_cores, workers
from support.shared_results import FOLDER
from support.unmeasured import unmeasured

# How fast examples are made and run says how busy the machine is, and nothing about the code.
settings.register_profile(
    "busy machine", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("busy machine")


def pytest_configure(config: pytest.Config) -> None:
    """The workers of this run, which inherit its environment, share what takes long to work out."""
    if hasattr(config, "workerinput"):
        return
    folder = tempfile.mkdtemp(prefix="gputop-tests-")
    os.environ[FOLDER] = folder
    config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))


def pytest_collection_finish() -> None:
    """What was collected stays to the end: to look through it for garbage again and again is a sixth of the time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 20, 50)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """Answers ``--numprocesses=auto``, which pyproject.toml asks for."""
    if "PYTEST_XDIST_AUTO_NUM_WORKERS" in os.environ:
        return None  # xdist itself reads it
    return workers(config, usable_cores())


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    """With ``-p no:xdist`` nobody else knows the options that pyproject.toml gives."""
    if not pluginmanager.hasplugin("xdist"):
        parser.addoption("--numprocesses", help="for xdist, which is switched off")
        parser.addoption("--dist", help="for xdist, which is switched off")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Tests that are marked "unmeasured" run at full speed also where coverage is measured."""
    if item.get_closest_marker("unmeasured") is None:
        return (yield)
    with unmeasured():
        return (yield)
