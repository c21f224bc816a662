"""GPUs in a bad state, at start and midway, by every code; and what is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from nvml.simulated import SimulatedNvml
from support.nvml_watch import Watch

BAD = {
    "UNKNOWN": 999,
    "RESET_REQUIRED": 16,
    "INSUFFICIENT_POWER": 8,
    "IRQ_ISSUE": 11,
    "CORRUPTED_INFOROM": 14,
    "TIMEOUT": 10,
    "MEMORY": 20,
    "INSUFFICIENT_RESOURCES": 23,
    "NOT_READY": 27,
    "INVALID_STATE": 29,
    "OPERATING_SYSTEM": 17,
    "INVALID_ARGUMENT": 2,
}
REFUSALS = ("NOT_SUPPORTED", "NO_PERMISSION", "FUNCTION_NOT_FOUND", "ARGUMENT_VERSION_MISMATCH")
SINGLE_CALLS = ("nvmlDeviceGetUtilizationRates", "nvmlDeviceGetPowerUsage", "nvmlDeviceGetUUID")


@pytest.fixture
def node(tmp_path: Path) -> SimulatedNvml:
    return SimulatedNvml("h100x8", directory=tmp_path)


@pytest.mark.parametrize("where", ["*", "nvmlDeviceGetHandleByIndex"])
def test_every_code_at_start_is_told_with_the_number_of_the_gpu(
    node: SimulatedNvml, where: str
) -> None:
    codes = list(BAD.items())[:7]
    for gpu, (name, _) in enumerate(codes):
        node.fault(where, gpu, name)
    with Watch(node.env()) as watch:
        tick = watch.tick()
    assert [gpu.fault_code for gpu in tick.gpus] == [code for _, code in codes] + [0]
    assert [gpu.failed_calls for gpu in tick.gpus] == [()] * 8
    assert [gpu.power_watts is None for gpu in tick.gpus] == [True] * 7 + [False]


def test_every_code_midway(node: SimulatedNvml) -> None:
    codes = list(BAD.items())[5:]
    with Watch(node.env()) as watch:
        watch.tick()
        for gpu, (name, _) in enumerate(codes):
            node.fault("*", gpu, name)
        tick = watch.tick()
    assert [gpu.fault_code for gpu in tick.gpus] == [code for _, code in codes] + [0]
    assert all(gpu.uuid for gpu in tick.gpus)


@pytest.mark.parametrize("error", REFUSALS)
@pytest.mark.parametrize("where", ["*", "nvmlDeviceGetHandleByIndex"])
def test_a_refusal_is_no_bad_state(node: SimulatedNvml, where: str, error: str) -> None:
    node.fault(where, 3, error)
    with Watch(node.env()) as watch:
        gpu = watch.tick().gpu(3)
    assert (gpu.fault_code, gpu.failed_calls, gpu.power_watts) == (0, (), None)
    assert gpu.missing["power_watts"] in (
        "no permission",
        "not supported by this GPU",
        "not offered by this driver",
    )


def test_all_at_once_keep_their_rows_and_codes(node: SimulatedNvml) -> None:
    with Watch(node.env()) as watch:
        watch.tick()
        node.fault("*", "*", "RESET_REQUIRED")
        tick = watch.tick()
        assert [gpu.fault_code for gpu in tick.gpus] == [16] * 8
        assert all(gpu.uuid for gpu in tick.gpus)
        # The driver as a whole is tried anew, and the GPUs come back with it.
        assert watch.tick().outcomes["nvml"].status == "failed"
        node.fault("*", "*", "none")
        assert [gpu.fault_code for gpu in watch.tick(advance=31).gpus] == [0] * 8


@pytest.mark.parametrize("call", SINGLE_CALLS)
def test_a_call_that_every_gpu_answers_is_named_when_it_fails(
    node: SimulatedNvml, call: str
) -> None:
    node.fault("nvmlDeviceGetFieldValues", 3, "NOT_SUPPORTED")
    node.fault(call, 3, "UNKNOWN")
    with Watch(node.env()) as watch:
        tick = watch.tick()
    gpu = tick.gpu(3)
    assert (gpu.fault_code, gpu.failed_calls) == (999, (call,))
    assert gpu.temperature_celsius is not None
    assert tick.gpu(2).fault_code == 0


@pytest.mark.parametrize(
    ("call", "error"),
    [
        ("nvmlDeviceGetUtilizationRates", "IN_USE"),
        ("nvmlDeviceGetUtilizationRates", "NO_DATA"),
        ("nvmlDeviceGetGpuFabricInfoV", "UNKNOWN"),
        ("nvmlGpmSampleGet", "UNKNOWN"),
        ("nvmlDeviceGetNvLinkRemoteDeviceType", "UNKNOWN"),
        ("nvmlDeviceGetMigMode", "INVALID_ARGUMENT"),
    ],
)
def test_a_call_that_a_healthy_gpu_may_fail_is_no_bad_state(
    node: SimulatedNvml, call: str, error: str
) -> None:
    node.fault(call, 3, error)
    with Watch(node.env()) as watch:
        assert watch.ticks(2).gpu(3).fault_code == 0


def test_one_value_that_says_the_device_is_bad_is_enough(node: SimulatedNvml) -> None:
    node.set({"gpu.3.field.230.error": 16, "gpu.4.field.230.error": 3})
    with Watch(node.env()) as watch:
        tick = watch.tick()
        # It is of a group that is read every few seconds, and stands in between.
        assert watch.ticks(2).gpu(3).fault_code == 16
    assert (tick.gpu(3).fault_code, tick.gpu(3).failed_calls) == (16, ("field 230",))
    assert tick.gpu(4).fault_code == 0


def test_a_driver_that_cannot_count_its_gpus_lists_none_for_a_reason(node: SimulatedNvml) -> None:
    node.fault("nvmlDeviceGetCount", "system", "UNKNOWN")
    with Watch(node.env()) as watch:
        outcome = watch.ticks(2).outcomes["nvml"]
        assert outcome.status == "failed"
        assert outcome.reason == (
            "the NVIDIA driver does not list its GPUs: driver says: Unknown Error"
        )
        node.fault("nvmlDeviceGetCount", "system", "none")
        watch.ticks(2)
        assert len(watch.tick().gpus) == 8


@pytest.mark.parametrize("call", ["nvmlSystemGetDriverVersion", "nvmlDeviceGetCount"])
def test_a_loss_that_belongs_to_no_gpu_ends_no_source(node: SimulatedNvml, call: str) -> None:
    node.fault(call, "system", "GPU_IS_LOST")
    with Watch(node.env()) as watch:
        assert watch.tick().outcomes["nvml"].status == "failed"


@pytest.mark.parametrize("content", [b"", b"no library\n" * 100, b"\x7fELF" + b"\1" * 200])
def test_a_library_that_does_not_load_is_not_absent(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "libnvidia-ml.so.1").write_bytes(content)
    with SimulatedNvml("l4") as node, Watch({**node.env(), "LD_LIBRARY_PATH": str(tmp_path)}) as w:
        outcome = w.tick().outcomes["nvml"]
    assert outcome.status == "failed"
    assert outcome.reason.startswith("the NVIDIA driver library (libnvidia-ml.so.1) is there but ")


def test_damage_that_newer_drivers_tell_of(node: SimulatedNvml) -> None:
    node.set(
        {
            "gpu.1.repair.unrepairable_memory": 1,
            "gpu.2.repair.tpc_pending": 1,
            "gpu.3.ecc.sram.threshold_exceeded": 1,
            "gpu.4.remapped.banks.pending": 1,
            "gpu.5.repair.unrepairable_memory": "unsupported",
        }
    )
    with Watch(node.env()) as watch:
        gpus = watch.tick().gpus
    assert [gpu.unrepairable_memory for gpu in gpus[:2]] == [False, True]
    assert [gpu.tpc_repair_pending for gpu in gpus[1:3]] == [False, True]
    assert [gpu.sram_threshold_exceeded for gpu in gpus[2:4]] == [False, True]
    assert [gpu.bank_remap_pending for gpu in gpus[3:5]] == [False, True]
    assert gpus[5].missing["unrepairable_memory"] == "not supported by this GPU"


def test_older_drivers_do_not_offer_it(tmp_path: Path) -> None:
    node = SimulatedNvml("h100x8", directory=tmp_path, old_driver=True)
    with Watch(node.env()) as watch:
        gpu = watch.tick().gpu(0)
    for field in ("unrepairable_memory", "tpc_repair_pending", "sram_threshold_exceeded"):
        assert gpu.missing[field] == "not offered by this driver"
    assert gpu.fault_code == 0
