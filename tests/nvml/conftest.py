"""Fixtures for tests on the simulated driver."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from nvml.client import Client
from nvml.simulated import SimulatedNvml

pytest.importorskip("pynvml", reason="nvidia-ml-py is not installed")


@pytest.fixture
def simulated_nvml(tmp_path: Path) -> SimulatedNvml:
    """Eight simulated H100; tests change it with `set`, `lose`, `delay` and so on."""
    return SimulatedNvml(directory=tmp_path / "node")


@pytest.fixture
def connect() -> Iterator[Callable[[SimulatedNvml], Client]]:
    """Starts initialized clients of a node, and ends them with the test."""
    with ExitStack() as clients:

        def start(node: SimulatedNvml) -> Client:
            client = clients.enter_context(Client(node))
            client.ask("p.nvmlInit()")
            return client

        yield start


@pytest.fixture(scope="module")
def healthy() -> Iterator[Client]:
    """A client of an unchanged node, shared because starting one takes most of a test's time."""
    with SimulatedNvml() as node, Client(node) as client:
        client.ask("p.nvmlInit()")
        yield client
