"""RDMA ports read from made trees of the kinds of devices there are."""

from __future__ import annotations

from pathlib import Path

import pytest

from gputop.probes.model.sample import Sample
from gputop.probes.sources.rdma.port import SLOW_SECONDS
from gputop.probes.sources.rdma.source import InfinibandSource
from gputop.probes.sources.rdma.text import parse_count, parse_rate, parse_state
from gputop.probes.wire.codec import encode

from fixtures.rdma_tree import KINDS, RdmaTree
from support.clock import Clock
from support.rdma_ports import only


def test_connectx_7_on_infiniband(tree: RdmaTree, source: InfinibandSource) -> None:
    tree.add("mlx5_0", "connectx7-ib", bus_id="0000:18:00.0", interface="ib0")
    tree.set("mlx5_0", "counters/port_rcv_data", 1_000)
    tree.set("mlx5_0", "counters/port_xmit_data", 2_000)
    tree.set("mlx5_0", "counters/port_rcv_packets", 10)
    tree.set("mlx5_0", "counters/port_xmit_packets", 20)
    tree.set("mlx5_0", "counters/port_xmit_wait", 77)
    tree.set("mlx5_0", "counters/symbol_error", 3)
    tree.set("mlx5_0", "hw_counters/out_of_sequence", 4)
    port = only(source)
    assert (port.device, port.port, port.driver, port.model) == ("mlx5_0", 1, "mlx5_core", "MT4129")
    assert (port.pci_bus_id, port.interface, port.virtual_function) == (
        "0000:18:00.0",
        "ib0",
        False,
    )
    assert (port.state, port.physical_state, port.link_layer) == ("active", "linkup", "infiniband")
    assert (port.rate_bytes_per_second, port.lanes, port.speed) == (50e9, 4, "NDR")
    # The data counters count words of four bytes.
    assert (port.rx_bytes, port.tx_bytes, port.data_counter_bits) == (4_000, 8_000, 64)
    assert (port.rx_packets, port.tx_packets, port.wait_ticks) == (10, 20, 77)
    assert port.counters["symbol_error"] == 3
    assert port.counters["out_of_sequence"] == 4
    assert port.missing == {}


def test_roce_has_marks_of_congestion_and_an_interface(
    tree: RdmaTree, source: InfinibandSource
) -> None:
    tree.add("mlx5_4", "connectx7-roce", interface="ens1f0np0")
    tree.set("mlx5_4", "hw_counters/np_cnp_sent", 9)
    tree.set("mlx5_4", "hw_counters/roce_adp_retrans", 5)
    port = only(source)
    assert (port.link_layer, port.interface) == ("ethernet", "ens1f0np0")
    assert port.rate_bytes_per_second == 50e9
    assert (port.counters["np_cnp_sent"], port.counters["roce_adp_retrans"]) == (9, 5)


@pytest.mark.parametrize("kind", ["bnxt_re", "efa"])
def test_drivers_that_count_bytes_among_the_hardware_counters(
    tree: RdmaTree, source: InfinibandSource, kind: str
) -> None:
    tree.add("rdma0", kind)
    tree.set("rdma0", "hw_counters/rx_bytes", 5_000)
    tree.set("rdma0", "hw_counters/tx_bytes", 6_000)
    tree.set("rdma0", "hw_counters/rx_pkts", 5)
    port = only(source)
    assert (port.rx_bytes, port.tx_bytes, port.rx_packets) == (5_000, 6_000, 5)
    assert port.data_counter_bits == 64
    assert port.missing == {"wait_ticks": "not counted by this driver"}


def test_efa_has_a_network_of_its_own(tree: RdmaTree, source: InfinibandSource) -> None:
    tree.add("efa_0", "efa")
    tree.set("efa_0", "hw_counters/rx_drops", 8)
    port = only(source)
    assert (port.link_layer, port.driver, port.model) == ("unknown", "efa", None)
    assert port.rate_bytes_per_second == 12.5e9
    assert port.counters["rx_drops"] == 8


def test_rxe_counts_packets_and_no_bytes(tree: RdmaTree, source: InfinibandSource) -> None:
    tree.add("rxe0", "rxe", interface="eth0")
    tree.set("rxe0", "hw_counters/sent_pkts", 12)
    tree.set("rxe0", "hw_counters/rcvd_pkts", 13)
    tree.set("rxe0", "hw_counters/retry_exceeded_err", 1)
    port = only(source)
    assert (port.tx_packets, port.rx_packets, port.rx_bytes) == (12, 13, None)
    assert port.missing["rx_bytes"] == port.missing["tx_bytes"] == "not counted by this driver"
    assert (port.driver, port.pci_bus_id, port.interface) == (None, None, "eth0")
    assert port.counters["retry_exceeded_err"] == 1


def test_a_virtual_function_is_reported(tree: RdmaTree, source: InfinibandSource) -> None:
    tree.add("mlx5_9", "virtual-function")
    assert only(source).virtual_function


def test_narrow_counters_are_reported_until_one_is_too_large_for_them(
    tree: RdmaTree, source: InfinibandSource
) -> None:
    tree.add("mlx4_0", "narrow")
    assert only(source).data_counter_bits == 32
    assert only(source).rate_bytes_per_second == 4e9  # 40 Gbit/s less 8b/10b
    tree.set("mlx4_0", "counters/port_rcv_data", 2**32)
    assert only(source).data_counter_bits == 64


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_device_is_read_whole(
    tree: RdmaTree, source: InfinibandSource, kind: str
) -> None:
    tree.add("rdma0", kind, ports=2)
    ports = source.read()
    assert [(port.device, port.port) for port in ports] == [("rdma0", 1), ("rdma0", 2)]
    assert all(port.state == "active" and port.rate_bytes_per_second for port in ports)


def _descriptors() -> list[Path]:
    return list(Path("/proc/self/fd").iterdir())


def _target(descriptor: Path) -> str:
    try:
        return str(descriptor.readlink())
    except OSError:
        return ""


def test_odd_names_are_left_out(tree: RdmaTree, source: InfinibandSource) -> None:
    tree.add("mlx5_0")
    (tree.folder / "mlx5_0/ports/x1").mkdir()
    (tree.folder / "stray").write_text("")
    assert len(source.read()) == 1


def test_names_that_are_no_text_travel(tree: RdmaTree, source: InfinibandSource) -> None:
    """A device, and its interface, may be called by any bytes."""
    tree.add("good")
    tree.add("odd", pci=tree.root / "sys/devices/card", bus_id="0000:3b:00.1")
    tree.set("odd", "counters/port_rcv_data", 5)
    (tree.root / "sys/devices/card/net/eth\udcff").mkdir(parents=True)
    (tree.folder / "odd").rename(tree.folder / "mlx\udcff")
    ports = source.read()
    assert [(port.device, port.interface, port.rx_bytes) for port in ports] == [
        ("good", None, 0),
        ("mlx\N{REPLACEMENT CHARACTER}", "eth\N{REPLACEMENT CHARACTER}", 20),
    ]
    encode(Sample(time_seconds=1.0, monotonic_seconds=1.0, sequence=1, node="node17", ports=ports))


def test_descriptors_are_kept_and_given_back(tree: RdmaTree, source: InfinibandSource) -> None:
    def held() -> int:
        return sum(str(tree.root) in _target(each) for each in _descriptors())

    tree.add("mlx5_0", ports=2)
    source.read()
    after_one = held()
    for _ in range(5):
        source.read()
    assert held() == after_one > 40
    tree.remove_port("mlx5_0", 1)
    source.read()
    assert held() < after_one
    source.close()
    assert held() == 0


def test_errors_are_read_now_and_then_and_at_once_when_the_state_changes(
    tree: RdmaTree, source: InfinibandSource, clock: Clock
) -> None:
    tree.add("mlx5_0")
    assert only(source).counters["link_downed"] == 0
    tree.set("mlx5_0", "counters/link_downed", 1)
    tree.set("mlx5_0", "hw_counters/out_of_sequence", 1)
    clock.now += 1
    assert only(source).counters["link_downed"] == 0
    tree.set("mlx5_0", "state", "1: DOWN")
    tree.set("mlx5_0", "phys_state", "2: Polling")
    port = only(source)
    assert (port.state, port.physical_state, port.counters["link_downed"]) == ("down", "polling", 1)
    assert port.counters["out_of_sequence"] == 1
    tree.set("mlx5_0", "counters/symbol_error", 6)
    clock.now += SLOW_SECONDS
    assert only(source).counters["symbol_error"] == 6


def test_a_rate_that_falls_is_seen(tree: RdmaTree, source: InfinibandSource, clock: Clock) -> None:
    tree.add("mlx5_0")
    source.read()
    tree.set("mlx5_0", "rate", "100 Gb/sec (1X NDR)")
    clock.now += SLOW_SECONDS
    port = only(source)
    assert (port.rate_bytes_per_second, port.lanes) == (12.5e9, 1)


@pytest.mark.parametrize(
    ("text", "layer", "expected"),
    [
        (b"400 Gb/sec (4X NDR)\n", "infiniband", (50e9, 4, "NDR")),
        (b"100 Gb/sec (2X HDR)\n", "infiniband", (12.5e9, 2, "HDR")),
        (b"56 Gb/sec (4X FDR)\n", "infiniband", (7e9 * 64 / 66, 4, "FDR")),
        (b"40 Gb/sec (4X FDR10)\n", "infiniband", (5e9, 4, "FDR10")),
        (b"40 Gb/sec (4X QDR)\n", "infiniband", (4e9, 4, "QDR")),
        (b"40 Gb/sec (4X QDR)\n", "ethernet", (5e9, 4, "QDR")),
        (b"2.5 Gb/sec (1X)\n", "infiniband", (0.25e9, 1, "SDR")),
        (b"800 Gb/sec (4X XDR)\n", "infiniband", (100e9, 4, "XDR")),
    ],
)
def test_rates(text: bytes, layer: str, expected: tuple[float, int, str]) -> None:
    rate = parse_rate(text, layer)  # type: ignore[arg-type]
    assert rate is not None
    assert rate.bytes_per_second == pytest.approx(expected[0])
    assert rate[1:] == expected[1:]


@pytest.mark.parametrize(
    "text", [b"", b"0 Gb/sec (4X)", b"400 Gb/sec", b"-5 Gb/sec (4X EDR)", b"fast", b"\xff" * 50]
)
def test_what_is_no_rate(text: bytes) -> None:
    assert parse_rate(text, "infiniband") is None


def test_states() -> None:
    assert parse_state(b"5: ACTIVE_DEFER\n") == "active_defer"
    assert parse_state(b"9: <unknown>\n") == "unknown"
    assert parse_count(b"18446744073709551615\n")[0] is None
