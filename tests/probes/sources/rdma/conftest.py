"""A tree of RDMA devices and the source that reads it."""

from __future__ import annotations

from pathlib import Path

import pytest

from gputop.probes.sources.rdma.source import InfinibandSource

from fixtures.rdma_tree import RdmaTree
from support.clock import Clock


@pytest.fixture
def tree(tmp_path: Path) -> RdmaTree:
    return RdmaTree(tmp_path)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def source(tree: RdmaTree, clock: Clock) -> InfinibandSource:
    return InfinibandSource(tree.root, clock)
