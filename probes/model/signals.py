"""The table of signals: each value that is watched over time, shown as evidence or missed is named here once.

History, findings, charts, facts, ``gputop doctor`` and the texts on missing values read it. A row tells
nothing of how its value is had: that is in the source (or ``derive``) that sets the field.
"""

from __future__ import annotations

from .signal_types import Chart, Signal, SignalOf

_WHOLE = (1.0,)
_GPM = "GPM (Hopper or later)"
_FAN = "a fan on the board"
_NVLINK = "NVLink"
_PSI = "a kernel that accounts for pressure (psi=1)"
_PSI_2 = f"control groups of version 2, and {_PSI}"
_PCIE = ("pcie_limit_bytes_per_second",)
_NVLINKS = ("nvlink_limit_bytes_per_second",)
_RATE = "bytes_per_second"

SIGNALS: tuple[Signal, ...] = (
    Signal(
        "utilization_ratio",
        "gpu",
        "utilization",
        "ratio",
        kept=True,
        chart=Chart(
            "gauge",
            _WHOLE,
            about="Share of the time in which any kernel ran, however small; the driver's own window of 1/6 to 1 s. NVML.",
        ),
        in_row=True,
        moving=True,
        needs="a GPU that is not split by MIG",
    ),
    Signal(
        "sm_active_ratio",
        "gpu",
        "SM active",
        "ratio",
        kept=True,
        chart=Chart(
            "gauge",
            _WHOLE,
            about="How many of the chip's multiprocessors had work. Near 0 under a high utilization, the SMs idle while a kernel waits or polls. GPM: Hopper and newer.",
        ),
        in_row=True,
        needs=_GPM,
    ),
    Signal("sm_occupancy_ratio", "gpu", "SM occupancy", "ratio", fact=True, needs=_GPM),
    Signal(
        "memory_utilization_ratio",
        "gpu",
        "memory controller",
        "ratio",
        fact=True,
        needs="a GPU that is not split by MIG",
    ),
    Signal(
        "tensor_active_ratio",
        "gpu",
        "tensor active",
        "ratio",
        kept=True,
        chart=Chart(
            "gauge",
            _WHOLE,
            about="Share of the time in which the tensor cores were busy. GPM: Hopper and newer.",
        ),
        in_row=True,
        needs=_GPM,
    ),
    Signal(
        "dram_active_ratio",
        "gpu",
        "DRAM active",
        "ratio",
        kept=True,
        chart=Chart(
            "gauge",
            _WHOLE,
            about="Share of the time in which the interface to the GPU's memory was busy. GPM: Hopper and newer.",
        ),
        in_row=True,
        needs=_GPM,
    ),
    Signal(
        "memory_used_bytes",
        "gpu",
        "memory used",
        "bytes",
        kept=True,
        chart=Chart(
            "memory",
            ("memory_total_bytes",),
            title="memory",
            about="GPU memory allocated by processes, against all of it. NVML.",
        ),
        in_row=True,
        moving=True,
        needs="memory of its own",
    ),
    Signal("memory_total_bytes", "gpu", "memory", "bytes", in_row=True, needs="memory of its own"),
    Signal(
        "power_watts",
        "gpu",
        "power",
        "watts",
        kept=True,
        chart=Chart(
            "data", ("power_limit_watts",), about="Power draw, against the limit in force. NVML."
        ),
        in_row=True,
        moving=True,
    ),
    Signal("power_limit_watts", "gpu", "power limit", "watts", in_row=True),
    Signal(
        "sm_clock_hertz",
        "gpu",
        "SM clock",
        "hertz",
        kept=True,
        chart=Chart(
            "memory",
            ("sm_clock_max_hertz",),
            about="Clock of the multiprocessors, against the highest of the chip. NVML.",
        ),
        in_row=True,
        moving=True,
    ),
    Signal("sm_clock_max_hertz", "gpu", "highest SM clock", "hertz"),
    Signal("throttle_reasons", "gpu", "clock held by"),
    Signal(
        "temperature_celsius",
        "gpu",
        "temperature",
        "celsius",
        kept=True,
        chart=Chart(
            "hot",
            ("temperature_slowdown_celsius", 100.0),
            about="Temperature of the chip, against the threshold from which it slows down. NVML.",
        ),
        in_row=True,
        moving=True,
    ),
    Signal("temperature_slowdown_celsius", "gpu", "chip slows at", "celsius"),
    Signal(
        "decoder_ratio",
        "gpu",
        "video decoders",
        "ratio",
        fact=True,
        needs="a GPU that decodes video",
    ),
    Signal(
        "encoder_ratio",
        "gpu",
        "video encoders",
        "ratio",
        fact=True,
        needs="a GPU that encodes video",
    ),
    Signal("fan_count", "gpu", "fans", "count"),
    Signal(
        "fan_speed_ratio",
        "gpu",
        "fan set to",
        "ratio",
        kept=True,
        chart=Chart(
            "data",
            _WHOLE,
            about="Speed of the slowest fan, as a share of its highest. NVML; boards that are cooled from outside have none.",
            always=False,
        ),
        fact=True,
        needs=_FAN,
    ),
    Signal(
        "fan_rotations_per_second",
        "gpu",
        "fan turns at",
        "rotations_per_second",
        fact=True,
        needs=f"{_FAN}, and a driver that offers it",
    ),
    Signal("memory_temperature_celsius", "gpu", "memory temperature", "celsius"),
    Signal("pcie_generation", "gpu", "PCIe generation", "count"),
    Signal("pcie_width", "gpu", "PCIe width", "lanes"),
    Signal("pcie_generation_max", "gpu", "highest PCIe generation", "count"),
    Signal("pcie_width_max", "gpu", "highest PCIe width", "lanes"),
    Signal(
        "pcie_rx_bytes_per_second",
        "gpu",
        "PCIe in",
        _RATE,
        kept=True,
        chart=Chart(
            "h2d",
            _PCIE,
            about="Bytes a second over PCIe into the GPU, against what the link carries as trained now. GPM or NVML.",
        ),
        in_row=True,
    ),
    Signal(
        "pcie_tx_bytes_per_second",
        "gpu",
        "PCIe out",
        _RATE,
        kept=True,
        chart=Chart(
            "h2d",
            _PCIE,
            about="Bytes a second over PCIe out of the GPU, against the same. GPM or NVML.",
        ),
        in_row=True,
    ),
    Signal("pcie_replays_since_start", "gpu", "PCIe replays", "count", kept=True),
    Signal(
        "nvlink_rx_bytes_per_second",
        "gpu",
        "NVLink in",
        _RATE,
        kept=True,
        chart=Chart(
            "comm",
            _NVLINKS,
            about="Bytes a second over all NVLinks into the GPU, against the sum of those that are up. GPM or NVML.",
        ),
        in_row=True,
        needs=_NVLINK,
    ),
    Signal(
        "nvlink_tx_bytes_per_second",
        "gpu",
        "NVLink out",
        _RATE,
        kept=True,
        chart=Chart(
            "comm",
            _NVLINKS,
            about="Bytes a second over all NVLinks out of the GPU, against the same. GPM or NVML.",
        ),
        in_row=True,
        needs=_NVLINK,
    ),
    Signal("nvlinks", "gpu", "NVLinks", needs=_NVLINK),
    Signal("nvlink_errors_since_start", "gpu", "NVLink errors", "errors", kept=True, needs=_NVLINK),
    Signal("ecc_uncorrected", "gpu", "uncorrected ECC errors", "errors", needs="ECC memory"),
    Signal(
        "ecc_uncorrected_since_start",
        "gpu",
        "uncorrected ECC errors since the start",
        "errors",
        needs="ECC memory",
    ),
    Signal("ecc_corrected", "gpu", "corrected ECC errors", "errors", kept=True, needs="ECC memory"),
    Signal("remap_pending", "gpu", "remap pending", needs="Ampere or later"),
    Signal("remap_failed", "gpu", "remap failed", needs="Ampere or later"),
    Signal("retired_pages", "gpu", "retired pages", "count", needs="a chip before Ampere"),
    Signal("retired_pages_pending", "gpu", "retired pages pending", needs="a chip before Ampere"),
    Signal("bank_remap_pending", "gpu", "bank remap pending", needs="driver 610 or later"),
    Signal("channel_repair_pending", "gpu", "channel repair pending", needs="a newer driver"),
    Signal("tpc_repair_pending", "gpu", "TPC repair pending", needs="a newer driver"),
    Signal("unrepairable_memory", "gpu", "unrepairable memory", needs="driver 590 or later"),
    Signal("sram_threshold_exceeded", "gpu", "SRAM error limit passed", needs="a newer driver"),
    Signal("recovery_action", "gpu", "recovery action", needs="a newer driver"),
    Signal("fabric_state", "gpu", "NVLink fabric", needs="NVSwitches"),
    Signal("fabric_health", "gpu", "health of the fabric", needs="NVSwitches and a newer driver"),
    Signal("processes", "gpu", "processes"),
    Signal("pci_bus_id", "gpu", "PCI"),
    Signal("age_seconds", "gpu", "age", "seconds"),
    Signal("cpu_ratio", "host", "CPU", "ratio", kept=True),
    Signal("memory_available_bytes", "host", "memory available", "bytes", kept=True),
    Signal("swap_in_bytes_per_second", "host", "swap-in", _RATE, kept=True),
    Signal("pressure_cpu_ratio", "host", "CPU pressure", "ratio", kept=True, needs=_PSI),
    Signal("pressure_memory_ratio", "host", "memory pressure", "ratio", needs=_PSI),
    Signal("pressure_io_ratio", "host", "IO pressure", "ratio", kept=True, needs=_PSI),
    Signal("read_bytes_per_second", "host", "read", _RATE, kept=True),
    Signal("write_bytes_per_second", "host", "write", _RATE, kept=True),
    Signal("rx_bytes_per_second", "host", "in", _RATE, kept=True),
    Signal("tx_bytes_per_second", "host", "out", _RATE, kept=True),
    Signal("tcp_sent_segments", "host", "TCP segments sent", "count", kept=True),
    Signal("tcp_retransmitted_segments", "host", "TCP retransmissions", "count", kept=True),
    Signal("tcp_retransmission_ratio", "host", "TCP retransmission", "ratio", kept=True),
    Signal("rx_bytes_per_second", "network", "in", _RATE, kept=True),
    Signal("tx_bytes_per_second", "network", "out", _RATE, kept=True),
    Signal("cpu_cores", "process", "CPU", "cores", kept=True),
    Signal("rss_bytes", "process", "RSS", "bytes"),
    Signal("state", "process", "state"),
    Signal("wait_channel", "process", "waits in"),
    Signal("open_files", "limits", "open files", "count", kept=True),
    Signal("open_files_limit", "limits", "limit of open files", "count"),
    Signal("shm_total_bytes", "limits", "/dev/shm", "bytes"),
    Signal("shm_free_bytes", "limits", "free in /dev/shm", "bytes", kept=True),
    Signal("await_seconds", "mount", "time of a request", "seconds"),
    Signal("queue_await_seconds", "mount", "of that in the queue", "seconds"),
    Signal("operations_per_second", "mount", "requests", "per_second"),
    Signal("retransmission_ratio", "mount", "retransmitted", "ratio"),
    Signal("memory_used_bytes", "cgroup", "memory used", "bytes", kept=True),
    Signal("oom_kills", "cgroup", "OOM kills", "count", kept=True),
    Signal("throttled_ratio", "cgroup", "throttled", "ratio", kept=True, needs="a CPU quota"),
    Signal(
        "pressure_cpu_ratio",
        "pressure",
        "CPU pressure",
        "ratio",
        kept=True,
        fact=True,
        needs=_PSI_2,
    ),
    Signal(
        "pressure_memory_ratio",
        "pressure",
        "memory pressure",
        "ratio",
        kept=True,
        fact=True,
        needs=_PSI_2,
    ),
    Signal(
        "pressure_io_ratio", "pressure", "IO pressure", "ratio", kept=True, fact=True, needs=_PSI_2
    ),
    Signal("state", "port", "state"),
    Signal("rate_bytes_per_second", "port", "rate", _RATE),
    Signal("rx_bytes_per_second", "port", "in", _RATE, kept=True),
    Signal("tx_bytes_per_second", "port", "out", _RATE, kept=True),
    Signal("wait_ratio", "port", "wait", "ratio", kept=True),
    Signal("wait_ticks", "port", "wait ticks", "count"),
    Signal("rx_packets", "port", "packets in", "count", kept=True),
    Signal("state_changes", "port", "state changes", "count", kept=True),
    Signal("step_seconds", "rank", "step", "seconds", kept=True),
    Signal("gc_pause_seconds", "probe", "garbage collection", "seconds", kept=True),
    Signal("recompiles", "probe", "recompilations", "count", kept=True),
    Signal("allocated_bytes", "allocator", "allocated by PyTorch", "bytes", kept=True),
    Signal("reserved_bytes", "allocator", "reserved by PyTorch", "bytes"),
    Signal("inactive_split_bytes", "allocator", "fragmented", "bytes"),
    Signal("alloc_retries", "allocator", "allocation retries", "count", kept=True),
)

_BY_NAME = {signal.name: signal for signal in reversed(SIGNALS)}


def signals_of(of: SignalOf) -> tuple[Signal, ...]:
    """The signals of one kind of subject, in the order of the table."""
    return tuple(signal for signal in SIGNALS if signal.of == of)


def kept(of: SignalOf) -> tuple[str, ...]:
    """Names of those that history keeps."""
    return tuple(signal.name for signal in signals_of(of) if signal.kept)


def signal_named(name: str) -> Signal | None:
    """The first row of a name: what it says for people is the same in all of them."""
    return _BY_NAME.get(name)
