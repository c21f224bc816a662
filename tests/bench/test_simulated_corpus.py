"""The table of truth over all simulated scenarios, a look each second: ``pytest -m bench -s`` prints it.

``GPUTOP_BENCH_MINUTES`` is how long each is watched (10), ``GPUTOP_BENCH_LOOK_SECONDS`` the time between looks:
a day of each is 1440 and 10.
"""

from __future__ import annotations

import os

import pytest

from gputop.probes.simulator import SCENARIOS

from support.simulated_corpus import coverage, score, table, watched

MINUTES = float(os.environ.get("GPUTOP_BENCH_MINUTES", "10"))
LOOK_SECONDS = float(os.environ.get("GPUTOP_BENCH_LOOK_SECONDS", "1"))

pytestmark = pytest.mark.bench


@pytest.mark.unmeasured
def test_the_table_of_truth() -> None:
    outcomes = []
    print()
    for name in SCENARIOS:
        outcomes.append(watched(name, MINUTES, LOOK_SECONDS))
        print(*table(outcomes[-1:]), sep="\n", flush=True)
    total = score(outcomes, MINUTES)
    print(*total.lines(), *coverage(), sep="\n")
    assert total.recall.hits / total.recall.of >= 0.95
    assert total.precision.hits / total.precision.of >= 0.95
