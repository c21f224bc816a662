"""The GPU of a rank that the driver's lists do not name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from msgspec.structs import replace

from gputop.probes.jobs.gpu_assignment import Choice, choose_gpu, gpu_by_environment, visible_gpus
from gputop.probes.model.gpu_readings import GpuReading, MigReading
from gputop.probes.model.process_readings import ProcessReading

UUIDS = ("GPU-aaaa1111", "GPU-aaaa2222", "GPU-bbbb3333", "GPU-cccc4444")


def node(*names: str) -> list[GpuReading]:
    return [
        GpuReading(
            monotonic_seconds=1.0,
            index=index,
            uuid=UUIDS[index],
            name=names[index] if names else "H100",
            pci_bus_id=f"00000000:{index + 1:02X}:00.0",
            minor_number=index,
        )
        for index in range(4)
    ]


def rank(
    environment: Mapping[str, str] | None = None,
    minors: tuple[int, ...] | None = None,
    **more: Any,
) -> ProcessReading:
    return ProcessReading(
        monotonic_seconds=1.0,
        pid=7,
        start_time_seconds=1.0,
        environment=dict(environment or {}),
        gpu_minors=minors,
        **more,
    )


def reported(choice: Choice) -> tuple[int | None, str | None]:
    return (choice.gpu.index if choice.gpu else None), choice.assigned_by


def visible(**environment: str) -> list[int] | str:
    found = visible_gpus(rank(environment), node())
    return found if isinstance(found, str) else [gpu.index for gpu in found]


@pytest.mark.parametrize(
    ("words", "indices"),
    [
        ("2,0", [2, 0]),
        (" 2 , 0 ", [2, 0]),
        ("1,9,0", [1]),
        ("1,-1,0", [1]),
        ("GPU-bbbb3333,GPU-aaaa2222", [2, 1]),
        ("GPU-b,GPU-aaaa1", [2, 0]),
        ("GPU-aaaa,GPU-b", "shows it no GPU"),
        ("0,GPU-bbbb3333", [0, 2]),
        ("", "shows it no GPU"),
        ("-1", "shows it no GPU"),
        ("NoDevFiles", "shows it no GPU"),
        ("GPU-", "shows it no GPU"),
    ],
)
def test_visible_devices(words: str, indices: list[int] | str) -> None:
    found = visible(CUDA_VISIBLE_DEVICES=words)
    assert indices in found if isinstance(indices, str) else found == indices


def test_without_the_variable_all_are_visible() -> None:
    assert visible() == [0, 1, 2, 3]


def test_gpus_of_different_models_have_an_order_only_by_bus() -> None:
    gpus = node("A100", "H100", "A100", "A100")
    asked = rank({"CUDA_VISIBLE_DEVICES": "1"})
    assert "CUDA_DEVICE_ORDER=PCI_BUS_ID" in gpu_by_environment(asked, 0, gpus).reason
    by_speed = rank({"CUDA_VISIBLE_DEVICES": "1", "CUDA_DEVICE_ORDER": "FASTEST_FIRST"})
    assert gpu_by_environment(by_speed, 0, gpus).gpu is None
    by_bus = rank({"CUDA_VISIBLE_DEVICES": "1", "CUDA_DEVICE_ORDER": "PCI_BUS_ID"})
    assert reported(gpu_by_environment(by_bus, 0, gpus)) == (1, "environment")
    by_uuid = rank({"CUDA_VISIBLE_DEVICES": UUIDS[3]})
    assert reported(gpu_by_environment(by_uuid, 0, gpus)) == (3, "environment")


def test_mig_is_reported_by_uuid_alone() -> None:
    gpus = node()
    part = MigReading(index=0, uuid="MIG-0123")
    gpus[2] = replace(gpus[2], mig_mode=True, migs=(part,))
    for words in ("MIG-0123", f"MIG-{UUIDS[2]}/1/0"):
        asked = rank({"CUDA_VISIBLE_DEVICES": words})
        assert reported(gpu_by_environment(asked, 0, gpus)) == (2, "environment")
    numbered = gpu_by_environment(rank({"CUDA_VISIBLE_DEVICES": "0"}), 0, gpus)
    assert "MIG" in numbered.reason


def test_a_container_has_fewer_than_are_seen_from_outside() -> None:
    by_uuid = rank({"NVIDIA_VISIBLE_DEVICES": f"{UUIDS[2]},{UUIDS[3]}"})
    assert reported(gpu_by_environment(by_uuid, 1, node())) == (3, "environment")
    by_number = rank({"NVIDIA_VISIBLE_DEVICES": "2,3"}, namespace_pids=(7, 1))
    assert reported(gpu_by_environment(by_number, 0, node())) == (2, "environment")
    # Seen from within, the numbers are the host's and mean nothing here.
    within = rank({"NVIDIA_VISIBLE_DEVICES": "6,7"}, namespace_pids=(7,))
    assert reported(gpu_by_environment(within, 1, node())) == (1, "environment")
    everything = rank({"NVIDIA_VISIBLE_DEVICES": "all"}, namespace_pids=(7, 1))
    assert reported(gpu_by_environment(everything, 1, node())) == (1, "environment")


def test_slurm_counts_within_what_the_step_was_given() -> None:
    confined = rank({"SLURM_JOB_GPUS": "2,3", "CUDA_VISIBLE_DEVICES": "0,1"})
    assert reported(gpu_by_environment(confined, 1, node())) == (3, "environment")
    plain = rank({"SLURM_JOB_GPUS": "2,3", "CUDA_VISIBLE_DEVICES": "2,3"})
    assert reported(gpu_by_environment(plain, 1, node())) == (3, "environment")


def test_open_files_tell_before_variables_do() -> None:
    gpus = node("A100", "H100", "A100", "A100")
    assert reported(choose_gpu(rank(minors=(3,)), 0, gpus)) == (3, "open files")
    assert choose_gpu(rank(minors=()), 0, gpus).reason.endswith("none open")
    assert "not seen here" in choose_gpu(rank(minors=(9,)), 0, gpus).reason
    assert "lists it on no GPU" in choose_gpu(rank({"CUDA_VISIBLE_DEVICES": "0"}), 0, gpus).reason


def test_variables_choose_among_open_files() -> None:
    asked = rank({"CUDA_VISIBLE_DEVICES": "2,1"}, minors=(0, 1, 2, 3))
    assert reported(choose_gpu(asked, 0, node())) == (2, "environment")
    assert "local rank" in choose_gpu(asked, None, node()).reason
    assert "no GPU that is here" in choose_gpu(asked, 5, node()).reason
    lying = rank({"CUDA_VISIBLE_DEVICES": "2"}, minors=(0, 1))
    assert "different GPUs" in choose_gpu(lying, 0, node()).reason


def test_files_that_are_not_shown_leave_the_variables() -> None:
    asked = rank({"CUDA_VISIBLE_DEVICES": "2"}, missing={"gpu_minors": "denied"})
    assert reported(choose_gpu(asked, 0, node())) == (2, "environment")
