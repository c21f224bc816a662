"""RDMA ports as their source reads them."""

from __future__ import annotations

from gputop.probes.model.link_readings import PortReading
from gputop.probes.sources.rdma.source import InfinibandSource


def only(source: InfinibandSource) -> PortReading:
    """The one port that there is."""
    (port,) = source.read()
    return port
