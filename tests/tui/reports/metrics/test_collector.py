"""What is scraped: the newest frame as gauges, and counters that count each step once."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from gputop.rules.finding import Judgement
from gputop.tui.reports.metrics.collector import JudgementCollector
from gputop.tui.reports.metrics.totals import BUCKETS

from support.replays import replay
from support.rules_scenes import Script, always, play
from support.scene_readings import GPUS
from support.step_scenes import spends, steps

Series = dict[tuple[str, tuple[tuple[str, str], ...]], float]


def scraped(*judgements: Judgement) -> Series:
    """All series after these judgements."""
    collector, registry = JudgementCollector(), CollectorRegistry()
    registry.register(collector)
    for judgement in judgements:
        collector.take(judgement)
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(generate_latest(registry).decode())
        for sample in family.samples
    }


def values(series: Series, name: str, **labels: str) -> list[float]:
    return [
        value
        for (found, pairs), value in series.items()
        if found == name and labels.items() <= dict(pairs).items()
    ]


def test_before_the_first_look_there_is_nothing() -> None:
    assert scraped() == {}


def test_gauges_are_of_the_newest_frame() -> None:
    judged = replay("straggler").last
    series = scraped(judged)
    for gpu in judged.frame.gpus:
        assert values(series, "gputop_gpu_power_watts", gpu=str(gpu.index)) == [gpu.power_watts]
        assert values(series, "gputop_gpu_up", gpu=str(gpu.index)) == [1.0]
    assert values(series, "gputop_finding_active", rule="RUN407", rank="3") == [1.0]
    assert len(values(series, "gputop_rank_in_phase")) == 8


def test_what_is_missing_has_no_series_and_what_is_lost_is_down() -> None:
    judged = play(always(every_gpu={"power_watts": None}, gpus={2: {"lost": True}}), 2).last
    series = scraped(judged)
    assert values(series, "gputop_gpu_power_watts") == []
    assert values(series, "gputop_gpu_up", gpu="2") == [0.0]
    assert values(series, "gputop_gpu_utilization_ratio", gpu="2") == []
    assert len(values(series, "gputop_gpu_utilization_ratio")) == GPUS - 1


def stepping(comm: float = 0.25) -> Script:
    return spends(
        lambda _rank, _second: {"comm": comm},
        lambda _rank, second: {
            "steps": steps(second, lambda _number: 0.8, phases={"comm": comm, "forward": 0.55})
        },
    )


def test_each_step_is_counted_once() -> None:
    judged = play(stepping(), 30).judgements
    series = scraped(*judged)
    # The first that were seen may have been before this server: 30 more came.
    assert values(series, "gputop_rank_step_duration_seconds_count") == [30.0] * GPUS
    for value in values(series, "gputop_rank_step_duration_seconds_sum"):
        assert abs(value - 30 * 0.8) < 1e-6
    for value in values(series, "gputop_rank_grad_sync_duration_seconds_sum"):
        assert abs(value - 30 * 0.25) < 1e-6
    assert values(series, "gputop_rank_step_duration_seconds_bucket", le="1.0") == [30.0] * GPUS
    assert values(series, "gputop_rank_step_duration_seconds_bucket", le="0.7") == [0.0] * GPUS
    again = scraped(*judged, judged[-1])
    assert values(again, "gputop_rank_step_duration_seconds_count") == [30.0] * GPUS


def test_the_ledger_is_counted_in_seconds() -> None:
    judged = play(stepping(), 60).judgements
    series = scraped(*judged)
    spent = values(series, "gputop_rank_time_seconds_total", rank="0")
    assert 50 <= sum(spent) <= 60
    (comm,) = values(series, "gputop_rank_time_seconds_total", rank="0", spent_on="comm")
    assert abs(comm / sum(spent) - 0.25) < 0.03


def test_series_of_processes_that_are_gone_end() -> None:
    judged = [*play(stepping(), 10).judgements, play(always(without_job=True), 2).last]
    series = scraped(*judged)
    assert values(series, "gputop_rank_step_duration_seconds_count") == []
    assert values(series, "gputop_rank_in_phase") == []


def test_limits_are_in_order() -> None:
    assert list(BUCKETS) == sorted(set(BUCKETS))
