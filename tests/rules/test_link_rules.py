"""PCIe replays, NVLinks, islands, and ranks far from their GPU."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import pytest

from gputop.probes.model.gpu_readings import NvlinkReading
from gputop.probes.model.link_readings import GpuPathsReading, PlacementReading, TopologyReading

from support.rules_scenes import (
    BEGAN,
    GIB,
    GPUS,
    IDLE,
    Changes,
    Script,
    always,
    evidence,
    play,
    probe,
    rank_pid,
    with_probes,
)

LINKS = 6


def nvlinks(
    second: float, down: Sequence[int] = (), count: int = LINKS, **errors: int
) -> tuple[NvlinkReading, ...]:
    """Links to one switch; the errors are those of link 2."""
    return tuple(
        NvlinkReading(
            link=link,
            active=link not in down,
            remote="switch",
            remote_pci_bus_id="00000000:05:00.0",
            stamp_seconds=BEGAN + second,
            **{
                name: errors.get(name, 0) if link == 2 else 0
                for name in ("crc_errors", "replay_errors", "recovery_errors")
            },
        )
        for link in range(count)
    )


def linked(odd: Any, others: Any = lambda _: {}, **changes: Any) -> Script:
    """GPU 3 has links as ``odd`` says, all the others as ``others`` says."""

    def script(second: float) -> Changes:
        return Changes(
            gpus={
                index: {"nvlinks": nvlinks(second, **(odd if index == 3 else others)(second))}
                for index in range(GPUS)
            },
            **changes,
        )

    return script


def test_links_in_good_health() -> None:
    assert play(linked(lambda _: {}), 40).ever() == set()


# --- replays ---


def replaying(per_second: float, **more: Any) -> Script:
    return lambda second: Changes(gpus={3: {"pcie_replays": int(per_second * second), **more}})


def test_pcie_replays() -> None:
    found = play(replaying(1.0), 60).one("LNK502")
    assert (found.subject.id, found.subject.gpu, found.severity) == ("gpu3 pcie", 3, "warning")
    # 0.15 a minute and lane for 2.5 GT/s, here 32 GT/s and 16 lanes.
    assert evidence(found, "pcie_replays").threshold == pytest.approx(30.72)
    assert evidence(found, "pcie_replays").value == pytest.approx(60.0, rel=0.05)


def test_the_limit_is_that_of_the_link_as_trained() -> None:
    assert "LNK502" in play(replaying(0.1, pcie_generation=1), 60).ids()
    assert "LNK502" not in play(replaying(0.1), 60).ever()


@pytest.mark.parametrize(
    "script",
    [
        replaying(0.4),
        always(gpus={3: {"pcie_replays": 10**6}}),
        lambda second: Changes(gpus={3: {"pcie_replays": None if second > 1 else 5}}),
        always(gpus={3: {"pcie_replays": 5, "pcie_width": None}}),
    ],
    ids=["few", "old", "not reported", "width not reported"],
)
@pytest.mark.unmeasured
def test_no_pcie_replays(script: Script) -> None:
    assert "LNK502" not in play(script, 90).ever()


# --- NVLink down ---


def test_nvlink_that_goes_down() -> None:
    played = play(linked(lambda second: {"down": (4,)} if second >= 10 else {}), 20)
    found = played.one("LNK503")
    assert (found.subject.id, found.severity) == ("gpu3 nvlink", "error")
    assert evidence(found, "links down").value == "4 to 00000000:05:00.0"
    assert (evidence(found, "NVLinks up").value, evidence(found, "NVLinks up").threshold) == (5, 6)
    assert played.active_from("LNK503") == 10


def test_fewer_nvlinks_than_its_peers() -> None:
    found = play(linked(lambda _: {"down": (0, 1)}), 10).one("LNK503")
    assert found.severity == "warning"


@pytest.mark.parametrize(
    "script",
    [
        linked(lambda _: {"down": (5,)}, lambda _: {"down": (5,)}),
        linked(lambda _: {"count": 0}),
        always(every_gpu={"nvlinks": None}),
    ],
    ids=["a board without", "a chip without", "not reported"],
)
def test_no_nvlink_down(script: Script) -> None:
    assert "LNK503" not in play(script, 40).ever()


def test_an_nvlink_that_is_up_again_is_no_longer_reported() -> None:
    """That it was down at all is reported at once: it costs the job a time-out, or it comes again."""
    played = play(linked(lambda second: {"down": (4,)} if 10 <= second < 12 else {}), 40)
    assert played.active_from("LNK503") == 10
    assert "LNK503" not in played.ids()


def test_an_nvlink_down_explains_a_gpu_with_little_to_do() -> None:
    played = play(linked(lambda second: {"down": (4,)} if second >= 1 else {}, every_gpu=IDLE), 45)
    (on_three,) = [each for each in played.all("HW210") if each.subject.gpu == 3]
    assert on_three.explained_by is not None
    assert on_three.explained_by.id == "LNK503"


# --- NVLink errors ---


def test_links_that_tell_of_no_errors_leaves_the_rule_not_evaluated() -> None:
    def script(second: float) -> Changes:
        links = tuple(
            msgspec.structs.replace(link, crc_errors=None, replay_errors=None, recovery_errors=None)
            for link in nvlinks(second)
        )
        return Changes(every_gpu={"nvlinks": links})

    assert [
        not_evaluated.id for not_evaluated in play(with_probes(script), 5).last.not_evaluated
    ] == ["LNK504"]


def test_nvlink_replays() -> None:
    found = play(linked(lambda second: {"replay_errors": int(second >= 10)}), 20).one("LNK504")
    assert (found.subject.id, evidence(found, "worst link").value) == ("gpu3 nvlink", "2")


def test_nvlink_checksum_errors_at_a_high_rate() -> None:
    found = play(linked(lambda second: {"crc_errors": int(150 * second)}), 20).one("LNK504")
    assert evidence(found, "crc_errors_per_second").value == pytest.approx(150)


@pytest.mark.parametrize(
    "odd",
    [
        lambda second: {"crc_errors": int(20 * second)},
        lambda _: {"replay_errors": 500, "recovery_errors": 3},
    ],
    ids=["few", "old"],
)
def test_no_nvlink_errors(odd: Any) -> None:
    assert "LNK504" not in play(linked(odd), 60).ever()


def test_nvlink_errors_of_a_while_ago() -> None:
    played = play(linked(lambda second: {"replay_errors": int(second >= 5)}), 120)
    assert "LNK504" in played.ever()
    assert "LNK504" not in played.ids()


# --- islands ---


Peers = Callable[[int, int], tuple[str | None, str | None]]


def reported(peers: Peers) -> GpuPathsReading:
    return GpuPathsReading(
        monotonic_seconds=BEGAN,
        peers=tuple(
            (one, two, *peers(one, two)) for one in range(GPUS) for two in range(one + 1, GPUS)
        ),
    )


def islands(
    pcie: float = 20e9,
    split: int = 4,
    second_job: bool = False,
    switch: str = "",
    peers: Peers | None = None,
    **gpu: Any,
) -> Script:
    """GPUs below ``split`` are linked to each other, and those from there on too."""

    def ends(index: int) -> str:
        return switch or ("00000000:05:00.0" if index < split else "00000000:85:00.0")

    def script(second: float) -> Changes:
        gpus = {
            index: {
                "nvlinks": tuple(
                    NvlinkReading(
                        link=link,
                        active=True,
                        remote="switch",
                        remote_pci_bus_id=ends(index),
                        stamp_seconds=BEGAN + second,
                    )
                    for link in range(4)
                ),
                "pcie_rx_bytes": int(pcie * (BEGAN + second)),
                "pcie_tx_bytes": int(pcie * (BEGAN + second)),
                **gpu,
            }
            for index in range(GPUS)
        }
        return Changes(
            gpus=gpus,
            topology=TopologyReading(monotonic_seconds=BEGAN),
            gpu_paths=reported(peers) if peers else None,
            probes=[probe(index, second, "forward", 0.1) for index in range(GPUS)],
            without_job=second_job,
        )

    return script


def test_a_job_split_across_islands() -> None:
    found = play(islands(), 30).one("LNK505")
    assert (found.subject.kind, found.severity) == ("job", "warning")
    assert evidence(found, "NVLink islands").value == "A: GPU 0, 1, 2, 3 | B: GPU 4, 5, 6, 7"
    assert evidence(found, "PCIe of its limit").value == pytest.approx(20e9 / 63.015e9, rel=0.01)
    assert found.next_step == (
        "Split the process groups so that ranks 0, 1, 2, 3 and ranks 4, 5, 6, 7 stay together."
    )


def test_a_split_job_that_does_not_cross_is_information() -> None:
    assert play(islands(pcie=0.5e9), 30).one("LNK505").severity == "info"


@pytest.mark.parametrize(
    "script",
    [
        islands(switch="00000000:05:00.0"),
        islands(second_job=True),
        always(topology=TopologyReading(monotonic_seconds=BEGAN)),
        islands(split=7),
    ],
    ids=["one island", "no job", "no NVLink", "one GPU alone"],
)
def test_no_split(script: Script) -> None:
    assert "LNK505" not in play(script, 40).ever()


def test_where_even_pcie_is_refused_the_evidence_says_so() -> None:
    def peers(one: int, two: int) -> tuple[str, str]:
        near = one // 4 == two // 4
        return ("ok", "ok") if near else ("chipset not supported", "not supported")

    found = play(islands(peers=peers), 30).one("LNK505")
    assert evidence(found, "peer access between them").value == "chipset not supported"


# --- NVLink refused ---

ONE_SWITCH = "00000000:05:00.0"


def test_nvlink_that_is_up_and_refused() -> None:
    script = islands(switch=ONE_SWITCH, peers=lambda one, two: ("ok", "disabled by a registry key"))
    played = play(script, 30)
    found = played.one("LNK514")
    assert (found.subject.kind, found.severity) == ("job", "warning")
    assert evidence(found, "pairs refused").value == 28
    assert evidence(found, "peer access over NVLink").value == "disabled by a registry key"
    assert "LNK505" not in played.ever(), "there is no island to be split over"


@pytest.mark.parametrize(
    "script",
    [
        islands(switch=ONE_SWITCH, peers=lambda one, two: ("ok", "ok")),
        islands(switch=ONE_SWITCH, peers=lambda one, two: (None, None)),
        islands(switch=ONE_SWITCH),
        islands(peers=lambda one, two: ("ok", "ok" if one // 4 == two // 4 else "not supported")),
        islands(switch=ONE_SWITCH, peers=lambda one, two: ("ok", "not supported"), mig_mode=True),
        always(
            gpu_paths=reported(lambda one, two: ("ok", "not supported")), every_gpu={"nvlinks": ()}
        ),
        islands(switch=ONE_SWITCH, peers=lambda one, two: ("ok", "not supported"), second_job=True),
    ],
    ids=[
        "allowed",
        "not reported",
        "not asked",
        "no link there",
        "split GPUs",
        "no NVLink",
        "no job",
    ],
)
@pytest.mark.unmeasured
def test_nothing_is_refused(script: Script) -> None:
    assert "LNK514" not in play(script, 30).ever()


# --- placement ---


def placed(index: int, second: float, **fields: Any) -> PlacementReading:
    given: dict[str, Any] = {
        "monotonic_seconds": BEGAN + second,
        "pid": rank_pid(index),
        "start_time_seconds": 5001.0,
        "cpus": "0-47" if index < 4 else "48-95",
        "allowed_nodes": (index // 4,),
        "running_node": index // 4,
        "memory_bytes": {index // 4: 9 * GIB, 1 - index // 4: GIB},
    }
    return PlacementReading(**{**given, **fields})


def placing(odd: dict[str, Any], nodes: bool = True, **gpu: Any) -> Script:
    """Rank 2 is placed oddly."""

    def script(second: float) -> Changes:
        return Changes(
            gpus={
                index: {
                    **({"numa_node": index // 4} if nodes else {}),
                    **(gpu if index == 2 else {}),
                }
                for index in range(GPUS)
            },
            topology=TopologyReading(monotonic_seconds=BEGAN),
            placements=[
                placed(index, second, **(odd if index == 2 else {})) for index in range(GPUS)
            ],
        )

    return script


BOUND = {"cpus": "48-95", "allowed_nodes": (1,), "running_node": 1}


def test_a_rank_bound_to_the_other_socket() -> None:
    found = play(placing(BOUND, utilization_ratio=0.7), 45).one("HST117")
    assert (found.subject.kind, found.subject.rank, found.subject.gpu) == ("rank", 2, 2)
    assert (found.severity, evidence(found, "may run on CPUs").value) == ("warning", "48-95")


def test_where_the_gpu_is_busy_all_the_same_it_is_information() -> None:
    assert play(placing(BOUND), 45).one("HST117").severity == "info"


def test_a_rank_that_runs_on_the_other_socket_though_it_need_not() -> None:
    odd = {"allowed_nodes": (0, 1), "running_node": 1}
    found = play(placing(odd, utilization_ratio=0.7), 75).one("HST117")
    assert evidence(found, "runs elsewhere").value == 1.0


def test_memory_on_the_other_socket() -> None:
    found = play(placing({"memory_bytes": {0: GIB, 1: 9 * GIB}}), 45).one("HST117")
    assert evidence(found, "memory near").value == pytest.approx(0.1)


@pytest.mark.parametrize(
    "script",
    [
        placing({}),
        placing({"allowed_nodes": (0, 1)}),
        placing({"memory_bytes": None}),
        placing(BOUND, nodes=False),
        placing({"memory_bytes": {0: 6 * GIB, 1: 4 * GIB}}),
    ],
    ids=["bound well", "free", "memory not reported", "node not known", "mostly near"],
)
def test_placed_well(script: Script) -> None:
    assert "HST117" not in play(script, 75).ever()
