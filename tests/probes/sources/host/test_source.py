"""The node without its GPUs."""

from __future__ import annotations

from pathlib import Path

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gputop.probes.model.host_readings import HostReading
from gputop.probes.sources.host import text as kernel
from gputop.probes.sources.host.source import HostSource
from gputop.probes.sources.procfs.text import parse_fields
from gputop.probes.sources.protocol import SourceAbsent

from fixtures.proc_tree import ProcTree

NET = "Inter-| Receive\n face |bytes packets\n"
NET_LINE = "{name:>6}: {rx} 9 0 {dropped} 0 0 0 0 {tx} 9 0 1 0 0 0 0\n"


SNMP = (
    "Ip: Forwarding DefaultTTL\nIp: 1 64\n"
    "Tcp: RtoAlgorithm MaxConn OutSegs RetransSegs InErrs\nTcp: 1 -1 900 12 0\n"
)


def disk(name: str, read: int = 8) -> str:
    return f" 8 0 {name} 5 0 {read} 1 3 0 16 2 0 1500 9 0 0 0 0 0 0\n"


@pytest.fixture
def tree(tmp_path: Path) -> ProcTree:
    made = ProcTree(tmp_path)
    made.write("proc/stat", "cpu  100 0 50 800 40 0 5 5 30 0\ncpu0 1 2\nintr 1 2 3\n")
    made.write("proc/loadavg", "1.50 2.25 3.00 3/112 8564\n")
    made.write(
        "proc/meminfo",
        "MemTotal: 1000 kB\nMemFree: 1 kB\nMemAvailable:  600 kB\nSwapTotal: 10 kB\nSwapFree: 4 kB\n",
    )
    filler = "".join(f"nr_filler_{number} {number}\n" for number in range(900))
    made.write("proc/vmstat", filler + "pswpin 3\npswpout 5\n")
    for resource in ("cpu", "memory", "io"):
        made.write(
            f"proc/pressure/{resource}",
            "some avg10=0.00 avg60=0.00 avg300=0.00 total=2000000\n"
            "full avg10=0.00 avg60=0.00 avg300=0.00 total=1000000\n",
        )
    made.write(
        "proc/diskstats", "".join(map(disk, ("nvme0n1", "nvme0n1p1", "dm-0", "loop0", "zram0")))
    )
    for name in ("nvme0n1", "dm-0", "loop0", "zram0"):
        (tmp_path / "sys/block" / name / "slaves").mkdir(parents=True)
    lines = [
        NET_LINE.format(name=name, rx=1000, tx=2000, dropped=3)
        for name in ("lo", "eth0", "docker0", "bond0")
    ]
    made.write("proc/net/dev", NET + "".join(lines))
    made.write("proc/net/snmp", SNMP)
    made.write("sys/class/net/eth0/device/vendor", "x")
    made.write("sys/class/net/eth0/speed", "100000\n")
    made.write("sys/class/net/eth0/operstate", "up\n")
    (tmp_path / "dev/shm").mkdir(parents=True)
    return made


def read(tree: ProcTree) -> HostReading:
    (reading,) = HostSource(tree.root).read()
    return reading


def test_values(tree: ProcTree) -> None:
    host = read(tree)
    assert host.cpus == 4
    assert (host.cpu_busy_seconds, host.cpu_iowait_seconds, host.cpu_total_seconds) == (
        1.6,
        0.4,
        10.0,
    )
    assert (host.load_1m, host.load_5m, host.load_15m) == (1.5, 2.25, 3.0)
    assert (host.memory_total_bytes, host.memory_available_bytes) == (1024000, 614400)
    assert (host.swap_total_bytes, host.swap_free_bytes) == (10240, 4096)
    assert host.swap_in_bytes is not None
    assert host.swap_out_bytes == host.swap_in_bytes / 3 * 5
    assert host.pressure_cpu_some_seconds == host.pressure_memory_some_seconds == 2.0
    assert (host.pressure_io_some_seconds, host.pressure_io_full_seconds) == (2.0, 1.0)
    assert host.shm_total_bytes
    assert (host.tcp_sent_segments, host.tcp_retransmitted_segments) == (900, 12)
    not_yet = "compared with five seconds before: not yet"
    assert host.missing == {
        "cpu_users": "looked for only while no core is to spare",
        "full_cpus": not_yet,
        "cpu_loads": not_yet,
    }


def test_disks_are_counted_once(tree: ProcTree) -> None:
    (found,) = read(tree).disks or ()
    assert (found.name, found.read_bytes, found.write_bytes) == ("nvme0n1", 4096, 8192)
    assert found.busy_seconds == 1.5
    assert (found.requests, found.request_seconds, found.queue_seconds) == (8, 0.003, 0.009)


def test_a_disk_made_of_others_does_not_count(tree: ProcTree) -> None:
    tree.write("proc/diskstats", disk("nvme0n1") + disk("bcache0"))
    (tree.root / "sys/block/bcache0/slaves/nvme0n1").mkdir(parents=True)
    assert [found.name for found in read(tree).disks or ()] == ["nvme0n1"]


def test_without_sys_partitions_are_reported_by_name(tree: ProcTree) -> None:
    tree.write("proc/diskstats", "".join(map(disk, ("sda", "sda1", "nvme1n1", "nvme1n1p2", "md0"))))
    (tree.root / "sys/block").rename(tree.root / "sys/gone")
    assert [found.name for found in read(tree).disks or ()] == ["sda", "nvme1n1"]


def test_real_interfaces_only(tree: ProcTree) -> None:
    (network,) = read(tree).networks or ()
    assert (network.name, network.rx_bytes, network.tx_bytes) == ("eth0", 1000, 2000)
    assert (network.rx_dropped, network.tx_dropped) == (3, 1)
    assert (network.speed_bytes_per_second, network.up) == (12.5e9, True)


def test_in_a_container_the_virtual_interface_is_the_real_one(tree: ProcTree) -> None:
    (tree.root / "sys/class/net/eth0/device").rename(tree.root / "gone")
    tree.write("sys/class/net/eth0/speed", "-1\n")
    tree.write("sys/class/net/eth0/operstate", "unknown\n")
    found = {network.name: network for network in read(tree).networks or ()}
    assert set(found) == {"eth0", "bond0"}
    assert (found["eth0"].speed_bytes_per_second, found["eth0"].up) == (None, None)


def test_missing_pieces_have_reasons(tree: ProcTree) -> None:
    for name in (
        "stat",
        "loadavg",
        "meminfo",
        "vmstat",
        "diskstats",
        "net/dev",
        "net/snmp",
        "pressure/io",
    ):
        (tree.root / "proc" / name).unlink()
    (tree.root / "dev/shm").rmdir()
    host = read(tree)
    assert (host.cpu_busy_seconds, host.disks, host.networks, host.load_1m) == (None,) * 4
    assert "psi=1" in host.missing["pressure_io_some_seconds"]
    assert {"cpu_busy_seconds", "swap_in_bytes", "shm_total_bytes", "disks"} <= set(host.missing)
    assert host.pressure_cpu_some_seconds == 2.0


def test_no_proc(tmp_path: Path) -> None:
    with pytest.raises(SourceAbsent):
        HostSource(tmp_path).read()


def test_this_machine_agrees_with_psutil() -> None:
    source = HostSource()
    (host,) = source.read()
    (again,) = source.read()
    assert host.memory_total_bytes == psutil.virtual_memory().total
    assert host.cpus == psutil.cpu_count()
    assert again.cpu_total_seconds is not None
    assert host.cpu_total_seconds is not None
    assert again.cpu_total_seconds >= host.cpu_total_seconds
    source.close()


def test_odd_lines() -> None:
    assert kernel.parse_cpu(b"cpu 1 2 3 4 5\n") == (6, 5, 15)
    assert kernel.parse_cpu(b"cpu 1 2 3 4 -5 6\n") is None
    assert kernel.parse_load(b"nan inf 1") is None
    assert kernel.parse_networks(b"eth0:1: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n") == [
        ("eth0:1", 1, 4, 9, 12)
    ]
    assert parse_fields(b"a 1\nb 2\n", (b"a ", b"b ", b"c ")) == (1, 2, None)


@given(st.binary(max_size=200))
def test_no_bytes_make_a_parser_raise(data: bytes) -> None:
    kernel.parse_cpu(b"cpu " + data)
    kernel.parse_load(data)
    parse_fields(data, (b"a", data[:3]))
    kernel.parse_pressure(b"some " + data)
    kernel.parse_disks(b"8 0 sda " + data + b" 1" * 20)
    kernel.parse_networks(data + b": " + data + b" 1" * 20)
