"""Everything about the node without its GPUs: cores, memory, pressure, disks, networks, control groups."""

from __future__ import annotations

from collections.abc import Iterable

from ...probes.model.frame import Frame
from ...probes.model.host_frames import CgroupFrame, DiskFrame, HostFrame, NetworkFrame
from ...probes.model.link_frames import PortFrame
from ...probes.model.link_readings import ImexReading
from ...probes.model.mount_frames import MountFrame
from ..drawing import format
from ..drawing.finding_words import words_of
from ..drawing.glyphs import DASH, DOT, DOWN, UP
from ..drawing.lines import Line, plain
from .gpu_facts import Fact, Group, grouped_lines

_MOST_GROUPS = 8
_LABEL = 20
_MOST_CPUS = 3
_STORM = 0.50
"""A CPU that spends so much of its time in interrupts has none left for whoever runs on it (ours)."""
_FULL_DISK = 0.80
"""Busy from here on is nearly full (datapath-doctor)."""
_STATES = {True: "up", False: "down", None: DASH}
_RUNS = {True: "runs", False: "does not run", None: DASH}


def host_fact_lines(frame: Frame, width: int) -> list[Line]:
    """The facts, group by group; of a host that was not read those that are known without it."""
    host = frame.host
    groups: list[Group] = [("Software", lambda: _software(frame))]
    if host is not None:
        read = host  # narrowed for the closures below
        groups += [
            ("CPU", lambda: _cpu(read)),
            ("Memory", lambda: _memory(read)),
            ("Pressure", lambda: _pressure(read)),
            ("Disks", lambda: map(_disk, read.disks or ())),
            ("Networks", lambda: map(_network, read.networks or ())),
            ("TCP", lambda: _tcp(read)),
        ]
    groups.append(("Network file systems", lambda: map(_mount, frame.mounts)))
    groups.append(("RDMA ports", lambda: map(_port, frame.ports)))
    imex = frame.imex
    if imex is not None:
        groups.append(("IMEX", lambda: _imex(imex)))
    groups.append(("Control groups", lambda: _groups(frame)))
    if host is not None:
        missing = host.missing
        groups.append(("Missing", lambda: _missing(missing)))
    return grouped_lines(groups, width)


def _software(frame: Frame) -> Iterable[Fact]:
    versions = (
        ("driver", frame.driver_version),
        ("NVML", frame.nvml_version),
        ("CUDA of the driver", frame.cuda_version),
    )
    for name, version in versions:
        if version:
            yield name, version, "text"


def _cpu(host: HostFrame) -> Iterable[Fact]:
    busy = format.quantity(host.cpu_ratio, "ratio")
    yield "busy", f"{busy} of {host.cpus or DASH} CPUs", "text"
    yield "waits for IO", format.quantity(host.cpu_iowait_ratio, "ratio"), "text"
    loads = (host.load_1m, host.load_5m, host.load_15m)
    words = " ".join(DASH if load is None else f"{load:.1f}" for load in loads)
    yield "load", f"{words} {DOT} means of 1, 5 and 15 min", "text"
    yield from _single_cpus(host)
    for user in host.cpu_users or ():
        yield f"pid {user.pid}", f"{plain(user.name)} {DOT} {user.cores:.1f} cores", "text"


def _single_cpus(host: HostFrame) -> Iterable[Fact]:
    if host.full_cpus is None or not host.cpu_loads:
        return
    busiest = " ".join(
        f"{load.number}: {format.quantity(load.busy_ratio, 'ratio')}"
        for load in sorted(host.cpu_loads, key=lambda load: -load.busy_ratio)[:_MOST_CPUS]
    )
    yield "full CPUs", f"{host.full_cpus} {DOT} busiest {busiest}", "text"
    worst = max(host.cpu_loads, key=lambda load: load.interrupt_ratio)
    share = format.quantity(worst.interrupt_ratio, "ratio")
    storm = worst.interrupt_ratio >= _STORM
    yield (
        "interrupts",
        f"most on CPU {worst.number}: {share} of its time",
        "warm" if storm else "text",
    )


def _memory(host: HostFrame) -> Iterable[Fact]:
    total, free = host.memory_total_bytes, host.memory_available_bytes
    yield "available", f"{format.binary(free)} of {format.binary(total)}", "text"
    swap, unused = host.swap_total_bytes, host.swap_free_bytes
    used = None if swap is None or unused is None else swap - unused
    yield "swap in use", f"{format.binary(used)} of {format.binary(swap)}", "text"
    rates = (host.swap_in_bytes_per_second, host.swap_out_bytes_per_second)
    read, written = (format.quantity(rate, "bytes_per_second") for rate in rates)
    yield "swapped", f"in {read} {DOT} out {written}", "warm" if any(rates) else "text"
    shm = f"{format.binary(host.shm_free_bytes)} of {format.binary(host.shm_total_bytes)}"
    yield "/dev/shm free", shm, "text"


def _pressure(host: HostFrame) -> Iterable[Fact]:
    yield "CPU", format.quantity(host.pressure_cpu_ratio, "ratio"), "text"
    yield "memory", format.quantity(host.pressure_memory_ratio, "ratio"), "text"
    some, full = (
        format.quantity(ratio, "ratio")
        for ratio in (host.pressure_io_ratio, host.pressure_io_full_ratio)
    )
    yield "IO", f"{some} {DOT} all tasks at once {full}", "text"


def _disk(disk: DiskFrame) -> Fact:
    read, written = (
        format.quantity(rate, "bytes_per_second")
        for rate in (disk.read_bytes_per_second, disk.write_bytes_per_second)
    )
    busy = disk.busy_ratio
    full = busy is not None and busy >= _FULL_DISK
    text = f"busy {format.quantity(busy, 'ratio')} {DOT} {read}{DOWN} {written}{UP}"
    if disk.await_seconds is not None:
        text += f" {DOT} {format.precise(disk.await_seconds)} a request"
    if disk.queue_length is not None:
        text += f" {DOT} {disk.queue_length:.1f} in flight"
    return plain(disk.name), text, "warm" if full else "text"


def _network(network: NetworkFrame) -> Fact:
    rx, tx = (
        format.quantity(rate, "bytes_per_second")
        for rate in (network.rx_bytes_per_second, network.tx_bytes_per_second)
    )
    speed = format.quantity(network.speed_bytes_per_second, "bytes_per_second")
    text = f"{_STATES[network.up]} {DOT} {rx}{DOWN} {tx}{UP} of {speed}"
    if network.dropped_since_start:
        rate = format.quantity(network.dropped_per_second, "per_second")
        text += f" {DOT} dropped {format.grouped(network.dropped_since_start)}, now {rate}"
    return plain(network.name), text, "warm" if network.dropped_per_second else "text"


def _tcp(host: HostFrame) -> Iterable[Fact]:
    yield "segments", _count_rate(host.tcp_segments_per_second), "text"
    again = format.quantity(host.tcp_retransmissions_per_second, "per_second")
    share = format.quantity(host.tcp_retransmission_ratio, "ratio")
    yield "retransmitted", f"{again} {DOT} {share}", "text"


def _mount(mount: MountFrame) -> Fact:
    read = format.quantity(mount.read_bytes_per_second, "bytes_per_second")
    waits = format.precise(mount.await_seconds)
    again = format.quantity(mount.retransmission_ratio, "ratio")
    late = DASH if mount.timeouts is None else format.grouped(mount.timeouts)
    text = f"{_count_rate(mount.operations_per_second)} requests of {waits} {DOT} {read}{DOWN} {DOT} retransmitted {again}"
    return (
        plain(mount.mount_point),
        f"{text} {DOT} {late} timed out in all {DOT} {plain(mount.device)}",
        "text",
    )


def _count_rate(rate: float | None) -> str:
    return f"{format.compact(rate).strip()}/s"


def _port(port: PortFrame) -> Fact:
    board = f" ({plain(port.board)})" if port.board else ""
    card = f"{plain(port.model or DASH)}{board} {DOT} firmware {plain(port.firmware or DASH)}"
    over = f" {DOT} interface {plain(port.interface)}" if port.interface else ""
    rx, tx = map(_count_rate, (port.rx_packets_per_second, port.tx_packets_per_second))
    rate = format.quantity(port.rate_bytes_per_second, "bytes_per_second")
    state = f"{port.state or DASH} {DOT} {rate}"
    place = f" {DOT} PCI {plain(port.pci_bus_id)}" if port.pci_bus_id else ""
    text = f"{state} {DOT} packets {rx}{DOWN} {tx}{UP} {DOT} {card}{over}{place}"
    return f"{plain(port.device)}/{port.port}", text, "text"


def _imex(imex: ImexReading) -> Iterable[Fact]:
    yield "nodes", DASH if imex.domain_nodes is None else str(imex.domain_nodes), "text"
    down = imex.daemon_runs is False and (imex.domain_nodes or 0) > 1
    yield "daemon", _RUNS[imex.daemon_runs], "warm" if down else "text"
    yield "channels", DASH if imex.channels is None else str(imex.channels), "text"


def _groups(frame: Frame) -> Iterable[Fact]:
    for group in frame.cgroups[:_MOST_GROUPS]:
        name = group.path.rstrip("/").rpartition("/")[2] or "/"
        yield plain(name)[:_LABEL], f"{_group(group, frame)} {DOT} {plain(group.path)}", "text"


def _group(group: CgroupFrame, frame: Frame) -> str:
    quota = "no CPU quota"
    if group.cpu_quota_cores is not None:
        held = format.quantity(group.throttled_ratio, "ratio")
        in_all = format.duration(group.cpu_throttled_seconds)
        quota = f"{group.cpu_quota_cores:g} cores {DOT} held back in {held} of the periods, {in_all} in all"
    limit = (
        "" if group.memory_limit_bytes is None else f" of {format.binary(group.memory_limit_bytes)}"
    )
    memory = f"memory {format.binary(group.memory_used_bytes)}{limit}"
    kills = f"{DASH if group.oom_kills is None else group.oom_kills} OOM kills"
    pressure = frame.pressure(group.path)
    full = format.quantity(pressure.pressure_io_full_ratio if pressure else None, "ratio")
    return f"{quota} {DOT} {memory} {DOT} {kills} {DOT} all wait for IO {full}"


def _missing(missing: dict[str, str]) -> Iterable[Fact]:
    for field, reason in sorted(missing.items()):
        yield words_of(field), reason, "dim"
