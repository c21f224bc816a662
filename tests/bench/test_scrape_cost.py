"""What a scrape of Prometheus costs: ``pytest -m bench -s tests/bench/test_scrape_cost.py``."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import generate_latest
from prometheus_client.openmetrics import exposition as openmetrics

from gputop.probes.derive.cache import DeriveCache
from gputop.probes.derive.frame import derive
from gputop.probes.model.frame import Frame
from gputop.probes.simulator import SimulatedNode
from gputop.rules.catalogue import make_rules
from gputop.rules.engine import Engine
from gputop.tui.reports.metrics.collector import JudgementCollector

TARGET_SECONDS = 16e-6
"""Of CPU for each series, at 8 GPUs and 8 ranks with probes."""
SLACK = 5

pytestmark = pytest.mark.bench


@pytest.fixture
def registry() -> CollectorRegistry:
    """Of a simulated node that was watched for a minute."""
    node = SimulatedNode("input-bound", start_time_seconds=1.79e9)
    engine, cache, collector = Engine(make_rules()), DeriveCache(), JudgementCollector()
    frame: Frame | None = None
    for elapsed in range(-60, 1):
        frame = derive(frame, node.sample_at(float(elapsed)), cache)
        collector.take(engine.judge(frame))
    registry = CollectorRegistry()
    registry.register(collector)
    return registry


@pytest.mark.parametrize(
    "form", [generate_latest, openmetrics.generate_latest], ids=["text", "OpenMetrics"]
)
def test_a_scrape(registry: CollectorRegistry, form: Callable[[CollectorRegistry], bytes]) -> None:
    series = sum(not line.startswith(b"#") for line in form(registry).splitlines())
    spent = []
    for _ in range(15):
        began = time.process_time()
        form(registry)
        spent.append(time.process_time() - began)
    each = min(spent) / series
    print(f"\n{series} series: {min(spent) * 1e3:.1f} ms, {each * 1e6:.1f} µs each (16)")
    assert each < SLACK * TARGET_SECONDS
