"""Who is compared with whom: near misses are parts that differ by design, beside ones that differ by a fault."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import pytest

from gputop.probes.model.gpu_readings import MigReading, NvlinkReading
from gputop.probes.model.link_frames import PortFrame
from gputop.probes.model.probe_readings import CollectiveReading
from gputop.probes.model.topology_frames import GpuPlace, TopologyFrame
from gputop.rules.device._clocks import peer_clock
from gputop.rules.link._ports import same_role
from gputop.rules.rule import peers_of

from support.rules_scenes import (
    Changes,
    Script,
    evidence,
    play,
)
from support.scene_readings import GPUS, port
from support.step_scenes import allocates
from support.straggler_scenes import LATE, VICTIM, WAITS, only_victim, training

COMPUTES = {"data": 0.02, "forward": 0.4, "backward": 0.57, "comm": 0.01}
RESTS = {"data": 0.02, "forward": 0.2, "backward": 0.39, "comm": 0.39}
SMALL: Mapping[str, Any] = {
    "name": "NVIDIA L4",
    "sm_clock_hertz": 1200e6,
    "sm_clock_max_hertz": 1300e6,
}


def last_of(script: Script) -> Any:
    return play(script, 3).last.frame


# GPUs


def test_gpus_of_another_model_are_no_peers() -> None:
    frame = last_of(lambda _: Changes(gpus={0: SMALL, 1: SMALL}))
    assert {gpu.index for gpu in peers_of(frame.gpus[0], frame)} == {1}
    assert peer_clock(frame.gpus[0], frame) is None
    assert peer_clock(frame.gpus[2], frame) == 1755e6


@pytest.mark.parametrize("rule", ["HW203", "HW202", "HW201", "LNK501"])
def test_a_slower_model_on_the_node_is_no_fault(rule: str) -> None:
    power = {**SMALL, "throttle_reasons": ("sw power cap",)} if rule == "HW202" else SMALL
    assert rule not in play(lambda _: Changes(gpus={0: power, 1: power}), 40, interval=2.0).ever()


def mig(*profiles: str) -> Mapping[str, Any]:
    return {
        "mig_mode": True,
        "migs": tuple(MigReading(index=at, name=name) for at, name in enumerate(profiles)),
    }


def test_a_split_gpu_is_compared_with_those_split_alike() -> None:
    alike, other = mig("MIG 1g.10gb", "MIG 3g.40gb"), mig("MIG 7g.80gb")
    frame = last_of(
        lambda _: Changes(gpus={0: alike, 1: mig("MIG 3g.40gb", "MIG 1g.10gb"), 2: other})
    )
    peers = [{peer.index for peer in peers_of(gpu, frame)} for gpu in frame.gpus]
    assert peers[:4] == [{1}, {0}, set(), {4, 5, 6, 7}]


def test_the_clock_of_a_split_gpu_is_not_held_against_whole_ones() -> None:
    split = {**mig("MIG 1g.10gb"), "throttle_reasons": ("sw power cap",), "sm_clock_hertz": 1200e6}
    assert "HW202" not in play(lambda _: Changes(gpus={0: split}), 40, interval=2.0).ever()
    whole = {**split, "mig_mode": False, "migs": ()}
    assert play(lambda _: Changes(gpus={0: whole}), 40, interval=2.0).one("HW202").subject.gpu == 0


# NVLinks


def bridged(pairs: Mapping[int, int]) -> Callable[[int], tuple[NvlinkReading, ...]]:
    """Links of each GPU: to its partner, or nowhere."""

    def links(index: int) -> tuple[NvlinkReading, ...]:
        end = pairs.get(index)
        return tuple(
            NvlinkReading(
                link=link,
                active=end is not None,
                remote=None if end is None else "gpu",
                remote_pci_bus_id=None if end is None else f"00000000:{end + 16:02x}:00.0",
            )
            for link in range(4)
        )

    return links


def with_links(links: Callable[[int], tuple[NvlinkReading, ...]]) -> Script:
    return lambda _: Changes(gpus={index: {"nvlinks": links(index)} for index in range(GPUS)})


def test_a_gpu_without_a_bridge_is_built_so() -> None:
    pairs = {0: 1, 1: 0, 2: 3, 3: 2, 4: 5, 5: 4}  # 6 and 7 have none
    assert "LNK503" not in play(with_links(bridged(pairs)), 20).ever()


def test_a_gpu_of_a_mesh_or_switch_without_links_is_a_fault() -> None:
    switch = tuple(
        NvlinkReading(link=link, active=True, remote="switch", remote_pci_bus_id="00000000:05:00.0")
        for link in range(4)
    )
    none = bridged({})
    found = play(with_links(lambda index: none(index) if index == 6 else switch), 20).one("LNK503")
    assert found.subject.gpu == 6


# RDMA ports


STORAGE = {"rate_bytes_per_second": 12.5e9, "lanes": 4, "speed": "EDR"}


def compute_and_storage(**storage: Any) -> Script:
    def script(second: float) -> Changes:
        compute = [port(second, number) for number in range(8)]
        return Changes(ports=[*compute, port(second, 8, **{**STORAGE, **storage})])

    return script


def test_a_port_cabled_slower_by_design_is_not_degraded() -> None:
    assert "LNK507" not in play(compute_and_storage(), 30).ever()


@pytest.mark.parametrize("lanes", [1, 2])
def test_a_port_that_lost_lanes_is(lanes: int) -> None:
    found = play(compute_and_storage(lanes=lanes, speed="NDR"), 30).one("LNK507")
    assert (found.subject.id, found.severity) == ("mlx5_8/1", "warning")


def test_a_port_that_was_faster_before_is() -> None:
    def script(second: float) -> Changes:
        slow = compute_and_storage()(second).ports
        fast = compute_and_storage(rate_bytes_per_second=25e9, speed="HDR")(second).ports
        return Changes(ports=fast if second < 5 else slow)

    assert play(script, 30).one("LNK507").severity == "warning"


def at(number: int, rate: float = 50e9) -> PortFrame:
    return PortFrame(
        monotonic_seconds=1.0, device=f"mlx5_{number}", port=1, rate_bytes_per_second=rate
    )


@pytest.mark.parametrize(("level", "expected"), [("PIX", True), ("PXB", True), ("NODE", False)])
def test_ports_beside_a_gpu_are_of_one_role(level: str, expected: bool) -> None:
    places = tuple(
        GpuPlace(index=index, nearest_nics=(f"mlx5_{index}",), nearest_level=level)
        for index in range(8)
    )
    frame = msgspec.structs.replace(
        last_of(lambda _: Changes()), topology=TopologyFrame(gpus=places)
    )
    assert same_role(at(0), at(5), frame) is expected
    assert not same_role(at(0), at(8), frame)
    assert not same_role(at(0), at(5), msgspec.structs.replace(frame, topology=None))


# Pipeline stages


def with_groups(script: Script, groups: Callable[[int], tuple[CollectiveReading, ...]]) -> Script:
    def changed(second: float) -> Changes:
        changes = script(second)
        changes.probes = [
            msgspec.structs.replace(page, collectives=groups(page.rank or 0))
            for page in changes.probes
        ]
        return changes

    return changed


def in_group(name: str, ranks: tuple[int, ...], operation: str = "all_reduce") -> CollectiveReading:
    return CollectiveReading(group=name, sequence=9, operation=operation, ranks=ranks)


def stages(of: int, name: str = "mesh_pp") -> Callable[[int], tuple[CollectiveReading, ...]]:
    """As many pipelines as are left: rank r is stage r // (8 // of)."""
    width = GPUS // of
    return lambda rank: (
        in_group(name, tuple(rank % width + width * stage for stage in range(of))),
    )


@pytest.mark.parametrize("name", ["mesh_pp", "PIPELINE_MODEL_PARALLEL_GROUP", "pipe"])
def test_the_last_stage_computes_longer_by_design(name: str) -> None:
    def last_stage(rank: int, _: int) -> Mapping[str, float]:
        return COMPUTES if rank >= 6 else RESTS

    script = training(last_stage)
    pipelines = with_groups(script, stages(4, name))
    assert "RUN407" not in play(pipelines, 30).ever()


def test_a_pipeline_alone_has_nobody_to_compare() -> None:
    script = training(lambda rank, _: COMPUTES if rank == 7 else RESTS)
    assert "RUN407" in play(script, 30).ever()  # replicas
    assert "RUN407" not in play(with_groups(script, stages(8)), 30).ever()
    hands_on = with_groups(script, lambda _: (in_group("default_pg", (), "batch_isend_irecv"),))
    assert "RUN407" not in play(hands_on, 30).ever()


def test_a_straggler_within_its_stage_is_found() -> None:
    script = with_groups(training(only_victim(LATE, WAITS)), stages(2))
    assert play(script, 20).one("RUN407").subject.rank == VICTIM


@pytest.mark.parametrize("name", ["default_pg", "mesh_dp", "support", "happy_group"])
def test_other_groups_make_no_stages(name: str) -> None:
    script = with_groups(training(only_victim(LATE, WAITS)), stages(8, name))
    assert play(script, 20).one("RUN407").subject.rank == VICTIM


def test_a_rank_on_a_slower_model_is_told_as_that() -> None:
    script = training(lambda rank, _: COMPUTES if rank == VICTIM else RESTS)

    def mixed(second: float) -> Changes:
        changes = script(second)
        changes.gpus = {VICTIM: SMALL}
        return changes

    found = play(mixed, 20).one("RUN407")
    assert (found.severity, found.subject.rank) == ("info", VICTIM)
    assert evidence(found, "other_gpu_model").value == "NVIDIA L4"
    assert play(script, 20).one("RUN407").severity == "warning"


# Memory


def test_stages_and_models_need_memory_as_they_are_made() -> None:
    script = allocates(lambda rank, _: 60.0 if rank >= 6 else 30.0)
    assert "MEM307" in play(script, 60).ever()
    assert "MEM307" not in play(with_groups(script, stages(4)), 60).ever()

    def mixed(second: float) -> Changes:
        changes = script(second)
        changes.gpus = {6: SMALL, 7: SMALL}
        return changes

    assert "MEM307" not in play(mixed, 60).ever()


def test_one_rank_of_a_stage_that_is_fuller_is_named() -> None:
    script = with_groups(allocates(lambda rank, _: 60.0 if rank == 6 else 30.0), stages(4))
    assert evidence(play(script, 60).one("MEM307"), "fullest_rank").value == "6"
