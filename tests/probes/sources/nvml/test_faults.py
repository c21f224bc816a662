"""What bad drivers do: lost GPUs, reloads, hangs, refusals, and numbers that cannot be."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from nvml.simulated import SimulatedNvml
from support.nvml_watch import Watch

H100_UUID = "GPU-03b7a1c2-5d3e-4f60-8a91-b2c3d4e5f603"


def eventually(condition: Callable[[], bool], seconds: float = 5.0) -> bool:
    """Whether it comes true within that time."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


@pytest.fixture
def node(tmp_path: Path) -> SimulatedNvml:
    return SimulatedNvml("h100x8", directory=tmp_path)


@pytest.fixture(scope="module")
def shared() -> Iterator[tuple[SimulatedNvml, Watch]]:
    """A node and its watcher for tests that leave both as they found them."""
    with SimulatedNvml("h100x8") as node, Watch(node.env()) as watch:
        yield node, watch


def test_gpu_lost_while_running_keeps_its_row_and_returns(node: SimulatedNvml) -> None:
    with Watch(node.env()) as watch:
        watch.ticks(2)
        node.lose(3)
        tick = watch.tick()
        gpu = tick.gpu(3)
        assert [each.index for each in tick.gpus] == list(range(8))
        assert [each.lost for each in tick.gpus] == [index == 3 for index in range(8)]
        assert (gpu.uuid, gpu.name) == (H100_UUID, "NVIDIA H100 80GB HBM3")
        assert gpu.utilization_ratio is None
        assert gpu.power_watts is None
        assert gpu.missing["power_watts"] == "GPU is lost"
        assert 4103 not in tick.pids
        assert 4104 in tick.pids

        before = node.calls()
        watch.ticks(3)
        asked = sum(count - before[key] for key, count in node.calls().items() if key[1] == 3)
        assert asked == 0

        node.find(3)
        gpu = watch.tick(advance=6).gpu(3)
        assert not gpu.lost
        assert gpu.utilization_ratio is not None
        # Its two samples of before were given back.
        assert node.calls()["nvmlGpmSampleFree", None] == 2
        assert watch.tick().gpu(3).sm_active_ratio is not None


def test_one_lost_value_of_a_batch_is_a_lost_gpu(shared: tuple[SimulatedNvml, Watch]) -> None:
    node, watch = shared
    node.set({"gpu.3.field.185.error": 15})
    assert [gpu.lost for gpu in watch.tick().gpus] == [index == 3 for index in range(8)]
    node.unset("gpu.3.field.185.error")
    assert not any(gpu.lost for gpu in watch.tick(advance=6).gpus)


def test_gpu_lost_at_start_is_a_row_with_its_number(node: SimulatedNvml) -> None:
    node.set({"gpu.3.lost_at_start": True})
    with Watch(node.env()) as watch:
        tick = watch.tick()
        gpu = tick.gpu(3)
        assert (gpu.index, gpu.lost, gpu.uuid) == (3, True, None)
        assert tick.gpu(4).uuid == "GPU-04b7a1c2-5d3e-4f60-8a91-b2c3d4e5f604"
        node.unset("gpu.3.lost_at_start")
        assert watch.tick(advance=6).gpu(3).uuid == H100_UUID


def test_gpu_that_answers_nothing_at_start_is_a_row_with_the_reason(node: SimulatedNvml) -> None:
    node.fault("*", 3, "UNKNOWN")
    with Watch(node.env()) as watch:
        gpu = watch.tick().gpu(3)
        assert (gpu.lost, gpu.uuid) == (False, None)
        assert gpu.missing["utilization_ratio"] == "driver says: Unknown Error"
        assert gpu.fault_code == 999
        node.fault("*", 3, "none")
        assert watch.tick().gpu(3).uuid == H100_UUID


def test_gpu_that_stops_answering_keeps_its_row_and_tells_the_code(node: SimulatedNvml) -> None:
    with Watch(node.env()) as watch:
        watch.tick()
        node.fault("*", 3, "UNKNOWN")
        tick = watch.tick()
        gpu = tick.gpu(3)
        assert (gpu.uuid, gpu.fault_code, gpu.failed_calls) == (H100_UUID, 999, ())
        assert gpu.power_watts is None
        assert tick.outcomes["nvml gpu 3"].status == tick.outcomes["nvml"].status == "ok"
        assert [each.fault_code for each in tick.gpus] == [0, 0, 0, 999, 0, 0, 0, 0]
        node.fault("*", 3, "none")
        gpu = watch.tick(advance=31).gpu(3)
        assert (gpu.fault_code, gpu.power_watts is None) == (0, False)


def test_gpus_that_may_not_be_read_are_rows_and_the_driver_stays(node: SimulatedNvml) -> None:
    node.fault("*", "*", "NO_PERMISSION")
    with Watch(node.env()) as watch:
        tick = watch.ticks(3)
    assert tick.outcomes["nvml"].status == "ok"
    assert [gpu.missing["power_watts"] for gpu in tick.gpus] == ["no permission"] * 8
    assert node.calls()["nvmlInitWithFlags", None] == 1


def test_mig_switched_off_brings_utilization_back(tmp_path: Path) -> None:
    node = SimulatedNvml("h100-mig", {"gpu.0.performance_state": "unsupported"}, directory=tmp_path)
    with Watch(node.env()) as watch:
        assert watch.ticks(2).gpu(0).utilization_ratio is None
        node.set(
            {
                "gpu.0.mig.mode": 0,
                "gpu.0.performance_state": 2,
                "gpu.0.utilization.gpu": 60,
                "gpu.0.utilization.memory": 30,
            }
        )
        gpu = watch.tick(advance=11).gpu(0)
    assert gpu.mig_mode is False
    assert gpu.migs == ()
    assert gpu.utilization_ratio == 0.6
    # What was not supported before is asked for anew.
    assert gpu.performance_state == 2
    assert {process.sm_ratio is None for process in gpu.processes or ()} == {False}


def test_mig_instances_follow_a_new_partition(tmp_path: Path) -> None:
    node = SimulatedNvml("h100-mig", directory=tmp_path)
    with Watch(node.env()) as watch:
        assert [mig.index for mig in watch.ticks(2).gpu(0).migs] == [0, 1, 2]
        node.set({"gpu.0.mig.count": 2, "gpu.0.mig.1.uuid": "MIG-new", "gpu.0.mig.1.name": "new"})
        migs = watch.tick(advance=11).gpu(0).migs
        assert [(mig.index, mig.name == "new") for mig in migs] == [(0, False), (1, True)]


def test_one_failing_call_costs_one_value(shared: tuple[SimulatedNvml, Watch]) -> None:
    node, watch = shared
    node.fault("nvmlDeviceGetUtilizationRates", 3, "TIMEOUT")
    node.fault("nvmlDeviceGetMemoryInfo", 3, "UNKNOWN")
    gpu = watch.tick().gpu(3)
    assert gpu.missing["utilization_ratio"] == "driver says: Timeout"
    assert gpu.missing["memory_used_bytes"] == "driver says: Unknown Error"
    assert gpu.power_watts is not None
    # Neither is remembered.
    node.fault("nvmlDeviceGetUtilizationRates", 3, "none")
    node.fault("nvmlDeviceGetMemoryInfo", 3, "none")
    gpu = watch.tick().gpu(3)
    assert gpu.utilization_ratio is not None
    assert gpu.memory_used_bytes is not None


def test_no_permission_is_asked_again_after_a_while(shared: tuple[SimulatedNvml, Watch]) -> None:
    node, watch = shared
    node.fault("nvmlDeviceGetUtilizationRates", 0, "NO_PERMISSION")
    assert watch.tick().gpu(0).missing["utilization_ratio"] == "no permission"
    node.fault("nvmlDeviceGetUtilizationRates", 0, "none")
    assert watch.tick().gpu(0).missing["utilization_ratio"] == "no permission"
    assert watch.tick(advance=11).gpu(0).utilization_ratio is not None


@pytest.mark.parametrize(
    ("lines", "field", "reason"),
    [
        ({"utilization.gpu": 200}, "utilization_ratio", "driver reported 200 %"),
        ({"utilization.gpu": "0xFFFFFFFF"}, "utilization_ratio", "driver gave no value"),
        (
            {"memory.used": "90GiB"},
            "memory_used_bytes",
            "driver reported more used than there is",
        ),
        ({"memory.total": 0}, "memory_total_bytes", "driver reported a size of 0"),
        ({"memory.total": 0}, "memory_used_bytes", "driver reported no total"),
        ({"power": 4000}, "power_watts", "driver reported 4000 W"),
        ({"temperature.gpu": 255}, "temperature_celsius", "driver reported 255 °C"),
        (
            {"temperature.memory": "0xFFFFFFFF"},
            "memory_temperature_celsius",
            "driver gave no value",
        ),
        ({"clock.sm": "0xFFFFFFFF"}, "sm_clock_hertz", "driver gave no value"),
        ({"performance_state": 32}, "performance_state", "driver gave no value"),
        ({"pcie.width": "0xFFFFFFFF"}, "pcie_width", "driver gave no value"),
        ({"ecc.uncorrected.volatile": 2e19}, "ecc_uncorrected", "driver gave no value"),
    ],
)
def test_absurd_values_are_none_with_what_was_reported(
    shared: tuple[SimulatedNvml, Watch],
    lines: dict[str, str | int | float],
    field: str,
    reason: str,
) -> None:
    node, watch = shared
    node.set({f"gpu.2.{key}": value for key, value in lines.items()})
    # Long enough for the slow values to be read again.
    tick = watch.tick(advance=31)
    node.unset(*(f"gpu.2.{key}" for key in lines))
    gpu = tick.gpu(2)
    assert getattr(gpu, field) is None
    assert gpu.missing[field] == reason
    assert getattr(tick.gpu(1), field) is not None


def test_a_counter_that_jumps_back_is_passed_on_as_it_is(
    shared: tuple[SimulatedNvml, Watch],
) -> None:
    node, watch = shared
    before = watch.tick().gpu(0).pcie_rx_bytes
    node.set({"gpu.0.pcie.rx.offset": -1e12})
    after = watch.tick().gpu(0).pcie_rx_bytes
    node.unset("gpu.0.pcie.rx.offset")
    assert before is not None
    assert after is not None
    assert before - 1.1e12 < after < before - 0.9e12


def test_hang_in_one_gpu_leaves_the_others(node: SimulatedNvml) -> None:
    with Watch(node.env()) as watch:
        watch.tick()
        node.delay("nvmlDeviceGetTemperature", 3, 30)
        for _ in range(2):
            tick = watch.tick(hung="nvml gpu 3")
            assert tick.blocked == ("nvml gpu 3",)
            assert tick.gpu(2).temperature_celsius is not None
        node.delay("nvmlDeviceGetTemperature", 3, 0)
        assert watch.tick().blocked == ()
        assert watch.ask(do="close") < 0.5


def test_close_never_waits_for_a_hung_call(node: SimulatedNvml) -> None:
    with Watch(node.env()) as watch:
        watch.ticks(2)
        node.delay("*", 3, 30)
        assert watch.tick(hung="nvml gpu 3").blocked == ("nvml gpu 3",)
        assert watch.ask(do="close") < 0.5
        # The seven others give their two samples back; nobody shuts down under the eighth.
        freed = ("nvmlGpmSampleFree", None)
        assert eventually(lambda: node.calls().get(freed) == 14)
        assert ("nvmlShutdown", None) not in node.calls()


def test_close_gives_everything_back(node: SimulatedNvml) -> None:
    with Watch(node.env()) as watch:
        watch.ticks(2)
        assert watch.ask(do="close") < 0.5
        assert eventually(lambda: node.calls().get(("nvmlShutdown", None)) == 1)
        assert node.calls()["nvmlGpmSampleFree", None] == 16
        assert node.calls()["nvmlEventSetFree", None] == 1
