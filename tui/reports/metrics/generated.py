"""What is generated for a Prometheus and a Grafana: alert rules, recording rules, a dashboard.

The alerts are of findings, so that what counts as one is decided in one place: by the rules here.
"""

from __future__ import annotations

import json
from typing import Any

_ALERTS = """\
# Alert rules for gputop. Load with rule_files: in prometheus.yml.
groups:
  - name: gputop
    rules:
      - alert: GputopError
        expr: gputop_finding_active{severity="error"} == 1
        labels:
          severity: critical
        annotations:
          summary: '{{ $labels.rule }} {{ $labels.name }}: {{ $labels.subject }} on {{ $labels.node }}'
          description: 'gputop rules {{ $labels.rule }} tells what it means and what to do.'
      - alert: GputopWarning
        expr: gputop_finding_active{severity="warning"} == 1
        for: 2m
        labels:
          severity: warning
        annotations:
          summary: '{{ $labels.rule }} {{ $labels.name }}: {{ $labels.subject }} on {{ $labels.node }}'
          description: 'gputop rules {{ $labels.rule }} tells what it means and what to do.'
      - alert: GputopSilent
        expr: gputop_sample_age_seconds > 60
        for: 1m
        labels:
          severity: warning
        annotations:
          summary: 'gputop on {{ $labels.node }} has had no sample for {{ $value | humanizeDuration }}'
      - alert: GputopGpuSilent
        expr: gputop_gpu_up == 0
        for: 30s
        labels:
          severity: critical
        annotations:
          summary: 'GPU {{ $labels.gpu }} of {{ $labels.node }} does not answer'
"""

_RULES = """\
# Recording rules for gputop: what to watch of a job over time.
groups:
  - name: gputop_golden
    rules:
      # Where the time of a job goes, as shares that sum to 1.
      - record: job:gputop_time:ratio_rate5m
        expr: >-
          sum by (job, node, spent_on) (rate(gputop_rank_time_seconds_total[5m]))
          / ignoring (spent_on) group_left sum by (job, node) (rate(gputop_rank_time_seconds_total[5m]))
      - record: job:gputop_useful_compute:ratio_rate5m
        expr: job:gputop_time:ratio_rate5m{spent_on="compute"}
      # Share of the steps in which the main loop waits in collectives.
      - record: job:gputop_grad_sync:ratio_rate5m
        expr: >-
          sum by (job, node) (rate(gputop_rank_grad_sync_duration_seconds_sum[5m]))
          / sum by (job, node) (rate(gputop_rank_step_duration_seconds_sum[5m]))
      # How far the ranks' throughput lies apart: 0.03 is to be looked at.
      - record: job:gputop_throughput_spread:ratio_rate5m
        expr: >-
          (max by (job, node) (rate(gputop_rank_samples_total[5m]))
          - min by (job, node) (rate(gputop_rank_samples_total[5m])))
          / avg by (job, node) (rate(gputop_rank_samples_total[5m]))
      - record: job:gputop_step_duration_seconds:p99_5m
        expr: >-
          histogram_quantile(0.99, sum by (job, node, le)
          (rate(gputop_rank_step_duration_seconds_bucket[5m])))
      - record: job:gputop_gpu_utilization:avg
        expr: avg by (job, node) (gputop_gpu_utilization_ratio)
"""


def alerts() -> str:
    """Rules for Prometheus' ``rule_files``."""
    return _ALERTS


def recording_rules() -> str:
    """Rules for Prometheus' ``rule_files``."""
    return _RULES


def dashboard() -> str:
    """A dashboard for Grafana's import, as JSON."""
    panels = [
        _panel(
            "Findings", "gputop_finding_active == 1", "{{rule}} {{name}} {{subject}}", kind="table"
        ),
        _panel(
            "Where the time goes",
            "job:gputop_time:ratio_rate5m",
            "{{job}} {{spent_on}}",
            stack=True,
        ),
        _panel("GPU utilization", "gputop_gpu_utilization_ratio", "GPU {{gpu}}"),
        _panel("SM activity", "gputop_gpu_sm_active_ratio", "GPU {{gpu}}"),
        _panel("Power", "gputop_gpu_power_watts", "GPU {{gpu}}", unit="watt"),
        _panel("Memory used", "gputop_gpu_memory_used_bytes", "GPU {{gpu}}", unit="bytes"),
        _panel("Temperature", "gputop_gpu_temperature_celsius", "GPU {{gpu}}", unit="celsius"),
        _panel("SM clock", "gputop_gpu_sm_clock_hertz", "GPU {{gpu}}", unit="hertz"),
        _panel(
            "Step, mean",
            "rate(gputop_rank_step_duration_seconds_sum[1m])"
            " / rate(gputop_rank_step_duration_seconds_count[1m])",
            "{{job}} rank {{rank}}",
            unit="s",
        ),
        _panel("In collectives", "job:gputop_grad_sync:ratio_rate5m", "{{job}}"),
        _panel(
            "PCIe into the GPU", "gputop_gpu_pcie_rx_bytes_per_second", "GPU {{gpu}}", unit="Bps"
        ),
        _panel(
            "NVLink into the GPU",
            "gputop_gpu_nvlink_rx_bytes_per_second",
            "GPU {{gpu}}",
            unit="Bps",
        ),
    ]
    for number, panel in enumerate(panels):
        panel["id"] = number + 1
        panel["gridPos"] = {"x": 12 * (number % 2), "y": 8 * (number // 2), "w": 12, "h": 8}
    return json.dumps(
        {
            "title": "gputop",
            "uid": "gputop",
            "schemaVersion": 39,
            "refresh": "10s",
            "time": {"from": "now-1h", "to": "now"},
            "templating": {
                "list": [
                    {"name": "datasource", "type": "datasource", "query": "prometheus"},
                    {
                        "name": "node",
                        "type": "query",
                        "datasource": _SOURCE,
                        "query": "label_values(gputop_sample_age_seconds, node)",
                        "includeAll": True,
                        "multi": True,
                        "allValue": ".*",
                        "current": {"text": "All", "value": "$__all"},
                    },
                ]
            },
            "panels": panels,
        },
        indent=2,
    )


_SOURCE = {"type": "prometheus", "uid": "${datasource}"}


def _panel(
    title: str,
    query: str,
    legend: str,
    *,
    unit: str = "percentunit",
    kind: str = "timeseries",
    stack: bool = False,
) -> dict[str, Any]:
    table = kind == "table"
    custom = {"fillOpacity": 60, "stacking": {"mode": "normal"}} if stack else {}
    return {
        "title": title,
        "type": kind,
        "datasource": _SOURCE,
        "fieldConfig": {"defaults": {"unit": unit, "custom": custom}, "overrides": []},
        "targets": [
            {
                "refId": "A",
                "expr": _of_chosen_nodes(query),
                "legendFormat": legend,
                "instant": table,
                "format": "table" if table else "time_series",
            }
        ],
    }


def _of_chosen_nodes(query: str) -> str:
    """The query, of the nodes that are chosen above."""
    chosen = '{node=~"$node"}'
    for end in ("[1m]", " =="):
        if end in query:
            return query.replace(end, f"{chosen}{end}")
    return f"{query}{chosen}"
