"""The node's shape: from made trees, from the simulated driver, and from NVLinks."""

from __future__ import annotations

from pathlib import Path

import pytest

from gputop.probes.model.gpu_readings import GpuReading
from gputop.probes.model.link_readings import TopologyReading
from gputop.probes.model.sample import Sample
from gputop.probes.model.topology_frames import TopologyFrame
from gputop.probes.sources.protocol import SourceAbsent
from gputop.probes.sources.topology.pci import PciDevice, parse_generation
from gputop.probes.sources.topology.source import TopologySource
from gputop.probes.wire.codec import encode

from fixtures.pci_tree import NETWORK, PciTree, dgx
from fixtures.rdma_tree import RdmaTree
from support.clock import Clock
from support.topology_reading import derived


@pytest.fixture
def tree(tmp_path: Path) -> PciTree:
    return PciTree(tmp_path)


def read(tree: PciTree) -> TopologyReading:
    (reading,) = TopologySource(tree.sys.parent).read()
    return reading


def gpu(index: int, folder: Path | None = None, **fields: object) -> GpuReading:
    bus_id = None if folder is None else f"0000{folder.name.upper()}"
    return GpuReading(index=index, monotonic_seconds=0.0, pci_bus_id=bus_id, **fields)  # type: ignore[arg-type]


def level(frame: TopologyFrame, one: str, two: str) -> str:
    found = frame.levels[frame.columns.index(one)][frame.columns.index(two)]
    assert found == frame.levels[frame.columns.index(two)][frame.columns.index(one)]
    return found


def with_cards(tree: PciTree) -> tuple[list[Path], TopologyReading]:
    gpus, nics = dgx(tree)
    rdma = RdmaTree(tree.sys.parent)
    for number, nic in enumerate(nics):
        rdma.add(f"mlx5_{number}", pci=nic)
    return gpus, read(tree)


def test_places(tree: PciTree) -> None:
    _, reading = with_cards(tree)
    assert [place.kind for place in reading.places].count("gpu") == 8
    (card,) = [place for place in reading.places if place.names == ("mlx5_3",)]
    assert (card.kind, card.numa_node, card.cpus) == ("rdma", 0, "0-47")
    assert card.path == ("pci0000:30", "0000:30:01.0", "0000:31:00.0", "0000:32:05.0")
    first = reading.places[0]
    assert (first.generation_max, first.width_max) == (5, 16)
    assert (first.slot_generation_max, first.slot_width_max) == (5, 16)
    assert [(node.node, node.cpus, node.memory_total_bytes) for node in reading.nodes] == [
        (0, "0-47", 528_000_000 * 1024),
        (1, "48-95", 528_000_000 * 1024),
    ]
    assert (reading.iommu, reading.acs_redirects) == (False, ())


def test_the_matrix(tree: PciTree) -> None:
    folders, reading = with_cards(tree)
    frame = derived(reading, [gpu(index, folder) for index, folder in enumerate(folders)])
    assert frame.columns == (*(f"GPU{n}" for n in range(8)), *(f"mlx5_{n}" for n in range(8)))
    assert level(frame, "GPU0", "GPU0") == "X"
    assert level(frame, "GPU0", "GPU1") == "PIX"  # one switch
    assert level(frame, "GPU0", "mlx5_0") == "PIX"
    assert level(frame, "GPU0", "GPU2") == "NODE"  # another host bridge of the same node
    assert level(frame, "GPU0", "GPU4") == level(frame, "GPU3", "mlx5_7") == "SYS"
    assert frame.gpus[0].nearest_nics == ("mlx5_0", "mlx5_1")
    assert (frame.gpus[5].nearest_nics, frame.gpus[5].nearest_level) == (
        ("mlx5_4", "mlx5_5"),
        "PIX",
    )
    assert (frame.gpus[5].numa_node, frame.gpus[5].cpus) == (1, "48-95")
    assert frame.islands == ()


@pytest.mark.parametrize(
    ("one", "two", "expected"),
    [
        # Two root ports of one host bridge.
        (["pci0000:10", "0000:10:01.0", "0000:11:00.0"], ["pci0000:10", "0000:10:02.0", "0000:12:00.0"], "PHB"),
        # Two functions of one card.
        (["pci0000:10", "0000:10:01.0", "0000:11:00.0"], ["pci0000:10", "0000:10:01.0", "0000:11:00.1"], "PIX"),
        # A switch below another.
        (
            ["pci0000:10", "0000:10:01.0", "0000:11:00.0", "0000:12:00.0", "0000:13:00.0", "0000:14:00.0", "0000:15:00.0"],
            ["pci0000:10", "0000:10:01.0", "0000:11:00.0", "0000:12:01.0", "0000:16:00.0"],
            "PXB",
        ),
        # As in most virtual machines: all on one bus, without bridges.
        (["pci0000:00", "0000:00:05.0"], ["pci0000:00", "0000:00:06.0"], "PHB"),
    ],
)  # fmt: skip
def test_levels(tree: PciTree, one: list[str], two: list[str], expected: str) -> None:
    folders = [tree.gpu(one), tree.gpu(two)]
    frame = derived(read(tree), [gpu(0, folders[0]), gpu(1, folders[1])])
    assert level(frame, "GPU0", "GPU1") == expected


def test_what_the_driver_says_of_two_gpus_counts_more(tree: PciTree) -> None:
    folders = [tree.gpu(["pci0000:00", f"0000:00:0{n}.0"]) for n in (5, 6)]
    gpus = [gpu(0, folders[0]), gpu(1, folders[1])]
    assert level(derived(read(tree), gpus, ((0, 1, "SYS"),)), "GPU0", "GPU1") == "SYS"


def test_without_sys_the_driver_is_enough() -> None:
    frame = derived(None, [gpu(0), gpu(1)], ((0, 1, "PXB"),))
    assert level(frame, "GPU0", "GPU1") == "PXB"
    assert (frame.nodes, frame.nics) == ((), ())
    assert derived(None, [gpu(0), gpu(1), gpu(2)], ((0, 1, "PXB"),)).levels[0][2] == "?"


def test_it_is_read_once_until_a_card_comes(tree: PciTree) -> None:
    dgx(tree)
    clock = Clock()
    source = TopologySource(tree.sys.parent, clock)
    (first,) = source.read()
    for _ in range(3):
        clock.now += 31.0
        assert source.read() == (first,)
    tree.nic(["pci0000:90", "0000:90:01.0", "0000:91:00.0"])
    assert source.read() == (first,)
    clock.now += 31.0
    (second,) = source.read()
    assert second.monotonic_seconds == clock.now


@pytest.mark.parametrize(
    ("acs", "expected"), [(True, ("0000:10:01.0",)), (False, ()), (None, None)]
)
def test_acs(tree: PciTree, acs: bool | None, expected: tuple[str, ...] | None) -> None:
    tree.add(["pci0000:10", "0000:10:01.0", "0000:11:00.0"], acs=acs)
    reading = read(tree)
    assert reading.acs_redirects == expected
    if expected is None:
        assert "root" in reading.missing["acs_redirects"]


def test_iommu(tree: PciTree) -> None:
    tree.gpu(["pci0000:10", "0000:10:01.0", "0000:11:00.0"])
    tree.iommu()
    assert read(tree).iommu is True


def test_registers_that_lead_in_a_circle(tmp_path: Path) -> None:
    config = bytearray(4096)
    config[0x100:0x104] = (0x0001 | 0x200 << 20).to_bytes(4, "little")
    config[0x200:0x204] = (0x0001 | 0x100 << 20).to_bytes(4, "little")
    (tmp_path / "config").write_bytes(bytes(config))
    assert PciDevice(tmp_path).redirects() is False
    (tmp_path / "config").write_bytes(b"\xff" * 4096)
    assert PciDevice(tmp_path).redirects() is False


@pytest.mark.parametrize(
    "links",
    [
        {"bus/pci/devices/0000:ff:00.0": "0000:ff:00.0"},
        {
            "bus/pci/devices/0000:fe:00.0": "0000:ff:00.0",
            "bus/pci/devices/0000:ff:00.0": "0000:fe:00.0",
        },
        {"bus/pci/devices/0000:ff:00.0": "/nowhere/0000:ff:00.0"},
        {"class/net/odd0/device": "device"},
        {"class/infiniband/odd0": "odd0"},
        {"devices/system/node/node7": "node7"},
    ],
)
def test_links_that_lead_in_a_circle_or_nowhere(tree: PciTree, links: dict[str, str]) -> None:
    _, reading = with_cards(tree)
    for link, target in links.items():
        path = tree.sys / link
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(target)
    odd = read(tree)
    assert (odd.places, odd.nodes) == (reading.places, reading.nodes)


def test_names_that_are_no_text_travel(tree: PciTree) -> None:
    """An interface may be called by any bytes."""
    gpus, nics = dgx(tree)
    for name, card in (("net/eth\udcff", nics[0]), ("infiniband/mlx\udcff", nics[1])):
        path = tree.sys / "class" / name
        path.mkdir(parents=True)
        (path / "device").symlink_to(card)
    reading = read(tree)
    names = {name for place in reading.places for name in place.names}
    assert names == {"eth\N{REPLACEMENT CHARACTER}", "mlx\N{REPLACEMENT CHARACTER}"}
    encode(
        Sample(time_seconds=0.0, monotonic_seconds=0.0, sequence=0, node="node17", topology=reading)
    )
    assert len(gpus) == 8


def test_no_sys(tmp_path: Path) -> None:
    with pytest.raises(SourceAbsent, match="is /sys mounted"):
        TopologySource(tmp_path).read()


def test_files_with_rubbish(tree: PciTree) -> None:
    folder = tree.gpu(["pci0000:10", "0000:10:01.0", "0000:11:00.0"])
    for name, word in (
        ("numa_node", "-1"),
        ("max_link_speed", "Unknown"),
        ("max_link_width", "255"),
        ("local_cpulist", ""),
    ):
        (folder / name).write_text(word + "\n")
    (tree.sys / "devices/system/node/node9").mkdir(parents=True)
    (place,) = read(tree).places
    assert (place.numa_node, place.cpus, place.generation_max, place.width_max) == (None,) * 4
    (folder / "class").write_text("x")
    assert read(tree).places == ()


def test_a_node_of_minus_one_is_not_compared(tree: PciTree) -> None:
    folders = [
        tree.add(["pci0000:10", "0000:10:01.0", "0000:11:00.0"], numa=-1),
        tree.add(["pci0000:20", "0000:20:01.0", "0000:21:00.0"], numa=-1),
    ]
    frame = derived(read(tree), [gpu(0, folders[0]), gpu(1, folders[1])])
    assert level(frame, "GPU0", "GPU1") == "?"


def test_a_node_without_rdma_has_its_network_cards(tree: PciTree) -> None:
    folders, _ = dgx(tree, rdma=False)
    card = tree.nic(["pci0000:90", "0000:90:01.0", "0000:91:00.0"])
    odd = tree.add(["pci0000:90", "0000:90:01.0", "0000:91:00.1"], device_class=NETWORK + 0x070000)
    tree.interface("eth0", card)
    tree.interface("usb0", odd)
    tree.interface("lo", None)
    frame = derived(read(tree), [gpu(0, folders[0])])
    assert frame.columns == ("GPU0", "eth0")


def test_generations() -> None:
    assert [parse_generation(text) for text in (b"32.0 GT/s PCIe", b"8 GT/s", b"Unknown", b"")] == [
        5,
        3,
        None,
        None,
    ]
