"""Islands of NVLink, and what the driver tells of peers."""

from __future__ import annotations

from pathlib import Path

from gputop.probes.derive.topology import derive_topology
from gputop.probes.model.gpu_readings import GpuReading
from gputop.probes.model.sample import Sample
from gputop.probes.model.topology_frames import TopologyFrame

from nvml.simulated import SimulatedNvml
from support.nvml_watch import Watch
from support.topology_reading import derived, links


def gpu(index: int, folder: Path | None = None, **fields: object) -> GpuReading:
    bus_id = None if folder is None else f"0000{folder.name.upper()}"
    return GpuReading(index=index, monotonic_seconds=0.0, pci_bus_id=bus_id, **fields)  # type: ignore[arg-type]


def level(frame: TopologyFrame, one: str, two: str) -> str:
    found = frame.levels[frame.columns.index(one)][frame.columns.index(two)]
    assert found == frame.levels[frame.columns.index(two)][frame.columns.index(one)]
    return found


def test_nothing_known_is_no_topology() -> None:
    sample = Sample(
        time_seconds=0.0, monotonic_seconds=0.0, sequence=0, node="bare", gpus=(gpu(0),)
    )
    assert derive_topology(sample) is None


def test_the_matrix_and_islands_of_a_switched_node() -> None:
    switches: list[str | None] = [f"00000000:0{n}:00.0" for n in range(5, 9)]
    gpus = [gpu(index, nvlinks=links(18, "switch", switches)) for index in range(8)]
    frame = derived(None, gpus)
    assert {level(frame, "GPU2", f"GPU{n}") for n in range(8) if n != 2} == {"NV18"}
    (island,) = frame.islands
    assert (island.name, island.gpus, island.links) == ("A", tuple(range(8)), 18)
    assert island.through == "switch"


def test_a_link_that_is_down_counts_less_and_parts_nobody() -> None:
    switches: list[str | None] = ["00000000:05:00.0", "00000000:06:00.0"]
    gpus = [gpu(index, nvlinks=links(18, "switch", switches)) for index in range(3)]
    gpus[1] = gpu(1, nvlinks=links(18, "switch", switches, down=(4, 5)))
    frame = derived(None, gpus)
    assert (level(frame, "GPU0", "GPU1"), level(frame, "GPU0", "GPU2")) == ("NV16", "NV18")
    assert [(island.gpus, island.links) for island in frame.islands] == [((0, 1, 2), 16)]


def test_a_switch_without_a_name_is_the_one_of_the_node() -> None:
    gpus = [gpu(index, nvlinks=links(18, "switch", [None])) for index in range(2)]
    assert level(derived(None, gpus), "GPU0", "GPU1") == "NV18"


def test_a_gpu_of_which_all_links_are_down_is_on_no_island() -> None:
    gpus = [gpu(index, nvlinks=links(4, "switch", [None])) for index in range(3)]
    gpus[2] = gpu(2, nvlinks=links(4, "switch", [None], down=(0, 1, 2, 3)))
    frame = derived(None, gpus)
    assert [place.island for place in frame.gpus] == ["A", "A", None]


def test_two_islands_on_the_simulated_driver(tmp_path: Path) -> None:
    node = SimulatedNvml("two-islands", directory=tmp_path)
    with Watch(node.env()) as watch:
        tick = watch.ticks(2)
        calls = node.calls()
        watch.ticks(5)
        again = node.calls()
    paths = tick.outcomes["nvml topology"].paths
    assert paths is not None
    # Once a pair, and never again.
    asked = [key for key in calls if key[0] == "nvmlDeviceGetTopologyCommonAncestor"]
    assert sum(calls[key] for key in asked) == 28
    assert all(again[key] == calls[key] for key in asked)
    asked_peers = [key for key in calls if key[0] == "nvmlDeviceGetP2PStatus"]
    assert sum(calls[key] for key in asked_peers) == 2 * 28
    assert all(again[key] == calls[key] for key in asked_peers)
    frame = derived(None, list(tick.gpus), paths.paths, "islands", paths.peers)
    assert [
        (island.name, island.gpus, island.links, island.through) for island in frame.islands
    ] == [
        ("A", (0, 1, 2, 3), 4, "gpu"),
        ("B", (4, 5, 6, 7), 4, "gpu"),
    ]
    assert level(frame, "GPU0", "GPU3") == "NV4"
    assert level(frame, "GPU0", "GPU4") == "SYS"


def test_peers_as_the_simulated_driver_tells(tmp_path: Path) -> None:
    node = SimulatedNvml(
        "two-islands", {"gpu.*.p2p": 0, "gpu.*.p2p.refusal": 1}, directory=tmp_path
    )
    with Watch(node.env()) as watch:
        paths = watch.ticks(2).outcomes["nvml topology"].paths
    assert paths is not None
    peers = {(one, two): states for one, two, *states in paths.peers}
    assert peers[0, 3] == ["ok", "ok"]
    assert peers[0, 4] == ["chipset not supported", "chipset not supported"]
    assert len(peers) == 28


def test_nvlink_that_the_driver_refuses_makes_no_island(tmp_path: Path) -> None:
    node = SimulatedNvml("h100x8", {"gpu.*.p2p.nvlink": 0}, directory=tmp_path)
    with Watch(node.env()) as watch:
        tick = watch.ticks(2)
        refused = tick.outcomes["nvml topology"].paths
        node.set({"gpu.*.p2p.nvlink": 1})
        watch.tick(61.0)
        allowed = watch.tick().outcomes["nvml topology"].paths
    assert refused is not None
    assert allowed is not None
    frame = derived(None, list(tick.gpus), refused.paths, "refused", refused.peers)
    assert frame.islands == ()
    assert level(frame, "GPU0", "GPU7") == "NV18", "the links are there"
    assert sum(peer.refused for peer in frame.peers) == 28
    frame = derived(None, list(tick.gpus), allowed.paths, "refused", allowed.peers)
    assert [island.gpus for island in frame.islands] == [tuple(range(8))]
    assert not any(peer.refused for peer in frame.peers)


def test_a_driver_without_peer_states_leaves_it_to_the_links(tmp_path: Path) -> None:
    node = SimulatedNvml("two-islands", directory=tmp_path)
    node.fault("nvmlDeviceGetP2PStatus", "*", "NOT_SUPPORTED")
    with Watch(node.env()) as watch:
        tick = watch.ticks(2)
        before = node.calls()["nvmlDeviceGetP2PStatus", 0]
        watch.tick(61.0)
        assert node.calls()["nvmlDeviceGetP2PStatus", 0] == before, "it would not tell later either"
    paths = tick.outcomes["nvml topology"].paths
    assert paths is not None
    assert set(paths.peers[0][2:]) == {None}
    frame = derived(None, list(tick.gpus), paths.paths, "unreported", paths.peers)
    assert [island.name for island in frame.islands] == ["A", "B"]


def test_in_a_virtual_machine_the_driver_tells_what_links_do_not() -> None:
    """Links are up, and nobody says where they lead to."""
    gpus = [gpu(index, nvlinks=links(6, None, [None])) for index in range(3)]
    gpus[2] = gpu(2, nvlinks=links(6, None, [None], down=range(6)))
    peers = ((0, 1, "ok", "ok"), (0, 2, "ok", "not supported"), (1, 2, "ok", "not supported"))
    frame = derived(None, gpus, peers=peers)
    assert [(island.gpus, island.links, island.through) for island in frame.islands] == [
        ((0, 1), 6, "switch")
    ]
    assert not any(peer.refused for peer in frame.peers)


def test_a_lost_gpu_is_asked_again_when_it_is_back(tmp_path: Path) -> None:
    node = SimulatedNvml("two-islands", {"gpu.3.lost": True}, directory=tmp_path)
    with Watch(node.env()) as watch:
        first = watch.ticks(2).outcomes["nvml topology"].paths
        node.find(3)
        second = watch.tick(61.0).outcomes["nvml topology"].paths
    assert first is not None
    assert second is not None
    assert {pair[0] for pair in first.paths} == {0, 1, 2, 4, 5, 6}
    assert len(second.paths) == 28
