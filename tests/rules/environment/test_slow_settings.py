"""Settings of debugging and of other machines, each with what it does here."""

from __future__ import annotations

import pytest

from gputop.probes.model.host_readings import NetworkReading

from support.rules_scenes import Changes, Script, play
from support.scene_readings import GPUS, port, rank_pid, worker_pid

ETH = NetworkReading(name="eth0", rx_bytes=0, tx_bytes=0, up=True)
DOWN = NetworkReading(name="ens7", rx_bytes=0, tx_bytes=0, up=False)
OTHER = NetworkReading(name="ens8", rx_bytes=0, tx_bytes=0, up=None)
BASE = {"WORLD_SIZE": "8", "LOCAL_WORLD_SIZE": "8", "OMP_NUM_THREADS": "1"}


def with_settings(settings: dict[str, str], *, ports: bool = False, pressed: float = 0.0) -> Script:
    def script(second: float) -> Changes:
        variables = {**BASE, **settings}
        variables = {name: value for name, value in variables.items() if value}
        return Changes(
            processes={
                pid: {"environment": {**variables, "RANK": str(rank), "LOCAL_RANK": str(rank)}}
                for rank in range(GPUS)
                for pid in (rank_pid(rank), worker_pid(rank))
            },
            ports=[port(second)] if ports else (),
            host={"networks": (ETH, DOWN, OTHER), "pressure_cpu_some_seconds": pressed * second},
        )

    return script


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"CUDA_LAUNCH_BLOCKING": "1"}, "CUDA_LAUNCH_BLOCKING"),
        ({"TORCH_DISTRIBUTED_DEBUG": "DETAIL"}, "TORCH_DISTRIBUTED_DEBUG=DETAIL"),
        ({"NCCL_DEBUG": "TRACE"}, "NCCL_DEBUG=TRACE"),
        ({"CUBLAS_WORKSPACE_CONFIG": ":4096:8"}, "CUBLAS_WORKSPACE_CONFIG"),
        ({"NCCL_P2P_DISABLE": "1"}, "NCCL_P2P_DISABLE"),
        ({"NCCL_SHM_DISABLE": "true"}, "NCCL_SHM_DISABLE"),
        ({"NCCL_SOCKET_IFNAME": "ib0"}, "NCCL_SOCKET_IFNAME=ib0"),
        ({"NCCL_SOCKET_IFNAME": "ens7"}, "NCCL_SOCKET_IFNAME=ens7: that network interface is down"),
        ({"NCCL_P2P_LEVEL": "LOC"}, "NCCL_P2P_LEVEL=LOC"),
        ({"NCCL_ALGO": "Ring"}, "NCCL_ALGO=Ring"),
        ({"NCCL_PROTO": "LL"}, "NCCL_PROTO=LL"),
        ({"NCCL_BUFFSIZE": "65536"}, "NCCL_BUFFSIZE=65536"),
        ({"NCCL_NVLS_ENABLE": "0"}, "NCCL_NVLS_ENABLE=0"),
        ({"NCCL_CHECK_POINTERS": "1"}, "NCCL_CHECK_POINTERS"),
        ({"TORCH_NCCL_BLOCKING_WAIT": "1"}, "TORCH_NCCL_BLOCKING_WAIT"),
        ({"NVIDIA_TF32_OVERRIDE": "0"}, "NVIDIA_TF32_OVERRIDE=0"),
        ({"PYTORCH_NO_CUDA_MEMORY_CACHING": "1"}, "PYTORCH_NO_CUDA_MEMORY_CACHING"),
        ({"CUDA_CACHE_DISABLE": "1"}, "CUDA_CACHE_DISABLE"),
    ],
)
def test_each_is_named(settings: dict[str, str], named: str) -> None:
    found = play(with_settings(settings), 20).one("ENV602")
    assert found.severity == "info"
    (setting,) = [str(each.value) for each in found.evidence]
    assert setting.startswith(named)


NODES = {"WORLD_SIZE": "16", "MASTER_ADDR": "node1", "MASTER_PORT": "29500"}


def test_sockets_in_place_of_rdma_count_where_there_is_some() -> None:
    sockets = {**NODES, "NCCL_NET": "Socket"}
    (told,) = play(with_settings(sockets, ports=True), 20).one("ENV602").evidence
    assert str(told.value).startswith("NCCL_NET=Socket")


def test_rdma_that_is_switched_off_counts_where_there_is_some() -> None:
    off = {**NODES, "NCCL_IB_DISABLE": "1"}
    assert "ENV602" in play(with_settings(off, ports=True), 20).ids()
    assert "ENV602" not in play(with_settings(off), 20).ids()


@pytest.mark.parametrize("settings", [{"NCCL_IB_DISABLE": "1"}, {"NCCL_NET": "Socket"}])
def test_how_nodes_talk_does_not_count_for_a_job_on_one(settings: dict[str, str]) -> None:
    assert "ENV602" not in play(with_settings(settings, ports=True), 20).ever()


def test_threads_count_where_cores_are_short() -> None:
    unset = {"OMP_NUM_THREADS": ""}
    assert "ENV602" in play(with_settings(unset, pressed=0.5), 20).ids()
    assert "ENV602" not in play(with_settings(unset), 20).ids()


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"CUDA_LAUNCH_BLOCKING": "0"},
        {"NCCL_DEBUG": "WARN"},
        {"NCCL_SOCKET_IFNAME": "eth"},
        {"NCCL_SOCKET_IFNAME": "=eth0"},
        {"NCCL_SOCKET_IFNAME": "^docker"},
        {"NCCL_SOCKET_IFNAME": "ib0,eth0"},
        {"NCCL_SOCKET_IFNAME": "ens"},
        {"TORCH_DISTRIBUTED_DEBUG": "INFO"},
        {"NCCL_P2P_LEVEL": "NVL"},
        {"NCCL_ALGO": ""},
        {"NCCL_BUFFSIZE": "8388608"},
        {"NCCL_BUFFSIZE": "large"},
        {"NCCL_NVLS_ENABLE": "1"},
        {"NVIDIA_TF32_OVERRIDE": "1"},
        {"NCCL_NET": "Socket"},
        {"NCCL_NET_GDR_LEVEL": "LOC"},
    ],
)
def test_near_misses(settings: dict[str, str]) -> None:
    assert "ENV602" not in play(with_settings(settings), 20).ever()
