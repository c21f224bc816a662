"""The public names: what JSON calls the fields of our records, where that is not what we call them.

Records change with the program, and these do not: a script reads them. What is not in a table is printed
under its own name. The rules that all of them keep:

- Units are SI base units in the name. A moment is Unix time and ends in ``timestamp_seconds``; a length of
  time ends in ``duration_seconds`` or ``age_seconds``.
- What only ever grows ends in ``_total`` after its unit, and in ``_since_first_seen`` where it is counted
  from when this monitor first saw it. Capacities (``memory_total_bytes``) do neither.
- A name has one type wherever it stands: what is a list in one place is ``…_count`` where it is a number.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

from ...probes.derive.stack_groups import StackGroup
from ...probes.model import (
    frame,
    gpu_frames,
    host_frames,
    job_frames,
    kernel_log,
    link_frames,
    mount_frames,
    probe_readings,
    process_frames,
    rank_activity,
    rank_readings,
    topology_frames,
    wait_readings,
)
from ...probes.model.link_readings import NumaNode
from ...probes.model.sample import SourceStatus
from ...probes.model.starvation import Starvation
from ...rules import finding


class Changed(NamedTuple):
    """A field whose value is another one outside."""

    name: str
    how: Literal["moment", "start", "boot", "wait"]
    """``moment``: on the monotonic clock. ``start``: since boot. ``boot``: that moment itself, in the place
    of the field. ``wait``: ticks of an RDMA port."""


Public = str | Changed | None
"""``None``: it says nothing outside, and is left out."""


def _moment(name: str) -> Changed:
    return Changed(name, "moment")


def _renamed(pairs: str) -> dict[str, Public]:
    """Old and new names in turn."""
    words = pairs.split()
    return dict(zip(words[::2], words[1::2], strict=True))


def _counters(names: str) -> dict[str, Public]:
    return {name: f"{name}_total" for name in names.split()}


def _since(names: str) -> dict[str, Public]:
    return {f"{name}_since_start": f"{name}_since_first_seen" for name in names.split()}


EVERYWHERE: Mapping[str, Public] = {
    "monotonic_seconds": _moment("timestamp_seconds"),
    "time_seconds": "timestamp_seconds",
    "start_time_seconds": Changed("start_timestamp_seconds", "start"),
}
"""In any record that has no other name for it."""

RECORDS: Mapping[type, Mapping[str, Public]] = {
    wait_readings.HolderReading: {"still_seconds": "still_duration_seconds"},
    frame.Frame: {
        "monotonic_seconds": Changed("boot_timestamp_seconds", "boot"),
        "interval_seconds": "interval_duration_seconds",
        "suspended_seconds": "suspended_duration_seconds",
        "rank_histories": None,
        "worker_histories": None,
        "pressures": "cgroup_pressures",
    },
    SourceStatus: _renamed(
        "busy_seconds busy_duration_seconds starved_seconds starved_duration_seconds"
    ),
    Starvation: _renamed(
        "seconds starved_duration_seconds stopped_seconds stopped_duration_seconds"
    ),
    gpu_frames.GpuFrame: {
        **_counters("energy_joules pcie_rx_bytes pcie_tx_bytes pcie_replays"),
        **_counters("nvlink_rx_bytes nvlink_tx_bytes retired_pages"),
        **_counters("remapped_rows_corrected remapped_rows_uncorrected"),
        **_since("pcie_replays nvlink_errors"),
        **_renamed(
            """
            ecc_corrected ecc_corrected_errors_total
            ecc_uncorrected ecc_uncorrected_errors_total
            ecc_uncorrected_lifetime ecc_uncorrected_errors_lifetime_total
            ecc_uncorrected_since_start ecc_uncorrected_errors_since_first_seen
            ecc_uncorrected_at_start ecc_uncorrected_errors_when_first_seen
            faults_at_start faults_when_first_seen
            """
        ),
        "nvlink_monotonic_seconds": None,  # a clock of the driver's own
    },
    gpu_frames.NvlinkFrame: {
        **_counters("rx_bytes tx_bytes crc_errors replay_errors recovery_errors"),
        **_since("crc_errors replay_errors recovery_errors"),
        "stamp_seconds": None,  # a clock of the driver's own
    },
    process_frames.ProcessFrame: {
        **_counters("cpu_seconds run_delay_seconds read_bytes write_bytes"),
        **_counters("voluntary_switches involuntary_switches major_faults"),
        **_renamed("threads thread_count allowed_cpus allowed_cpu_count gpus gpu_indices"),
    },
    host_frames.HostFrame: {
        **_counters("cpu_busy_seconds cpu_iowait_seconds swap_in_bytes swap_out_bytes"),
        **_counters("pressure_cpu_some_seconds pressure_memory_some_seconds"),
        **_counters("pressure_io_some_seconds pressure_io_full_seconds"),
        **_counters("tcp_sent_segments tcp_retransmitted_segments"),
        **_renamed("cpus cpu_count cpu_total_seconds cpu_seconds_total full_cpus full_cpu_count"),
    },
    host_frames.DiskFrame: {
        **_counters("read_bytes write_bytes busy_seconds requests request_seconds queue_seconds"),
        **_renamed("await_seconds await_duration_seconds"),
    },
    host_frames.NetworkFrame: {
        **_counters("rx_bytes tx_bytes"),
        **_renamed(
            """
            rx_dropped rx_dropped_packets_total
            tx_dropped tx_dropped_packets_total
            dropped_per_second dropped_packets_per_second
            dropped_since_start dropped_packets_since_first_seen
            """
        ),
    },
    host_frames.CgroupFrame: {
        **_counters("cpu_periods cpu_throttled_periods cpu_throttled_seconds oom_kills"),
        **_since("oom_kills"),
    },
    kernel_log.KernelLogFrame: _renamed(
        """
        first_time_seconds first_timestamp_seconds earlier_seconds earlier_duration_seconds
        count line_count gpus gpu_indices subject subject_name
        anonymous_bytes anonymous_memory_bytes
        """
    ),
    host_frames.PressureFrame: {
        **_counters("pressure_cpu_some_seconds pressure_memory_some_seconds"),
        **_counters("pressure_io_some_seconds pressure_io_full_seconds"),
    },
    mount_frames.MountFrame: {
        **_counters(
            "operations transmissions timeouts queue_seconds round_trip_seconds read_bytes"
        ),
        **_renamed(
            """
            users user_pids
            await_seconds await_duration_seconds
            queue_await_seconds queue_await_duration_seconds
            seconds mean_duration_seconds
            """
        ),
    },
    link_frames.PortFrame: {
        **_counters("rx_bytes tx_bytes rx_packets tx_packets counters"),
        **_since("counters"),
        "wait_ticks": Changed("wait_seconds_total", "wait"),
        "state_changes": "state_changes_since_first_seen",
        "state_monotonic_seconds": _moment("state_since_timestamp_seconds"),
        "wait_full_monotonic_seconds": _moment("wait_full_timestamp_seconds"),
    },
    link_frames.LinkFrame: _since("errors"),
    topology_frames.GpuPlace: _renamed("bus_id pci_bus_id"),
    topology_frames.NicPlace: _renamed("bus_id pci_bus_id"),
    topology_frames.Island: _renamed("gpus gpu_indices links link_count"),
    topology_frames.PeerAccess: _renamed("one gpu_a two gpu_b links link_count"),
    topology_frames.PlacementFrame: _renamed(
        """
        memory_bytes memory_by_numa_node_bytes
        allowed_nodes allowed_numa_nodes
        running_node running_numa_node
        gpu_node gpu_numa_node
        """
    ),
    NumaNode: _renamed("node numa_node"),
    job_frames.RankFrame: _renamed(
        """
        workers worker_pids
        ended_age_seconds exited_age_seconds
        phase_unbroken_seconds phase_unbroken_duration_seconds
        longest_phases longest_phase_durations
        long_phase_seconds long_phase_duration_seconds
        phase_share phase_dumps_ratio
        phase_margin phase_dumps_margin_ratio
        phases phase_ratios
        phases_sampled phase_ratios_sampled
        phases_sampled_count phase_ratios_sampled_count
        phases_last_steps phase_ratios_last_steps
        phases_last_minute phase_ratios_last_minute
        last_minute_seconds last_minute_seen_duration_seconds
        step_seconds step_duration_seconds
        step_p50_seconds step_p50_duration_seconds
        step_p99_seconds step_p99_duration_seconds
        host_step_seconds host_step_duration_seconds
        gpu_step_seconds gpu_step_duration_seconds
        run_ahead_seconds run_ahead_duration_seconds
        """
    ),
    rank_activity.ActivityFrame: {
        "still_since_seconds": _moment("still_since_timestamp_seconds"),
        "busy_since_seconds": _moment("busy_since_timestamp_seconds"),
        "polls_since_seconds": _moment("polls_since_timestamp_seconds"),
        "asks_since_seconds": _moment("asks_since_timestamp_seconds"),
    },
    rank_activity.ExitedRank: {
        "monotonic_seconds": _moment("exited_timestamp_seconds"),
        **_renamed("signal exit_signal code exit_code"),
    },
    frame.ProbeFrame: {
        **_counters("samples tokens phase_seconds steps_left_out gc_pauses gc_pause_seconds"),
        **_counters("recompiles skipped_steps"),
        **_renamed("step_seconds step_duration_seconds device_uuid gpu_uuid"),
        "phase_monotonic_seconds": _moment("phase_start_timestamp_seconds"),
        "step_monotonic_seconds": _moment("step_end_timestamp_seconds"),
        "ended_monotonic_seconds": _moment("exited_timestamp_seconds"),
    },
    probe_readings.StepReading: {
        "monotonic_seconds": _moment("end_timestamp_seconds"),
        **_renamed(
            """
            seconds duration_seconds
            phases phase_duration_seconds
            gpu_phases gpu_phase_duration_seconds
            run_ahead_seconds run_ahead_duration_seconds
            """
        ),
    },
    probe_readings.SegmentReading: {"monotonic_seconds": _moment("start_timestamp_seconds")},
    probe_readings.ThreadPhaseReading: {
        "native_id": "os_thread_id",
        "phase_monotonic_seconds": _moment("phase_start_timestamp_seconds"),
    },
    probe_readings.AllocatorReading: _counters("alloc_retries ooms"),
    probe_readings.LoaderReading: _counters("failures"),
    probe_readings.CollectiveReading: {
        "ranks": "rank_numbers",
        "in_flight_monotonic_seconds": _moment("in_flight_since_timestamp_seconds"),
    },
    probe_readings.DdpReading: _renamed(
        """
        backward_compute_seconds backward_compute_duration_seconds
        backward_comm_seconds backward_comm_duration_seconds
        backward_overlap_seconds backward_overlap_duration_seconds
        """
    ),
    StackGroup: _renamed("ranks rank_numbers"),
    rank_readings.ThreadsReading: _renamed("count thread_count"),
    rank_readings.ThreadReading: _counters("cpu_seconds voluntary_switches involuntary_switches"),
    rank_readings.StackReading: _renamed("taken dumps_taken"),
    rank_readings.StackThreadReading: _renamed("main is_main"),
    rank_readings.CommunicatorReading: _renamed("silent silent_ranks"),
    rank_readings.CommunicatorRankReading: _renamed(
        "host host_name launched launched_collectives_total"
    ),
    finding.Finding: _renamed(
        """
        since_seconds since_timestamp_seconds
        seen_seconds seen_duration_seconds
        cleared_seconds cleared_timestamp_seconds
        """
    ),
    finding.Price: _renamed("lost_gpu_seconds lost_gpu_seconds_total"),
    finding.Evidence: _renamed("mean_seconds mean_duration_seconds"),
    finding.Subject: _renamed("gpu gpu_index job job_id"),
    finding.Entry: _renamed("seconds duration_seconds"),
}
"""Of a record and those that inherit from it."""

PROBE_STATUS: Mapping[str, str] = {
    "python": "python_version",
    "torch": "torch_version",
    "steps": "steps_total",
}
"""What a probe answers to ``gputop probe PID status``, which is no record of ours."""

SIGNAL_RECORDS: tuple[type, ...] = (
    gpu_frames.GpuFrame,
    job_frames.RankFrame,
    process_frames.ProcessFrame,
    host_frames.CgroupFrame,
    host_frames.HostFrame,
    link_frames.PortFrame,
    link_frames.LinkFrame,
    frame.SourceFrame,
)
"""Evidence names fields of these."""
