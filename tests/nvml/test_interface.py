"""The binary interface: versions, sizes, layouts, the old driver, and a client that is not ours."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from nvml import build
from nvml.client import Client, NvmlFailure
from nvml.simulated import SimulatedNvml

Connect = Callable[[SimulatedNvml], Client]


def nvml_header() -> Path:
    """The public nvml.h of nvidia-nvml-dev, or a visible skip."""
    spec = importlib.util.find_spec("nvidia")
    for root in (spec.submodule_search_locations or []) if spec else []:
        for found in sorted(Path(root).rglob("nvml.h")):
            return found
    pytest.skip("nvml.h is not installed (pip install nvidia-nvml-dev)")


def exported(*, old: bool) -> set[str]:
    """The functions that the compiled library offers."""
    nm = shutil.which("nm") or pytest.skip("nm (binutils) is not installed")
    command = [nm, "-D", "--defined-only", str(build.library(old=old) / build.SONAME)]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return set(re.findall(r" T (nvml\w+)", text))


def test_layouts_are_those_of_the_public_header() -> None:
    header = nvml_header()
    check = [build.compiler(), "-std=gnu11", "-Wall", "-Werror", "-fsyntax-only"]
    check += ["-I", str(header.parent), str(build.SOURCES / build.NOT_IN_THE_LIBRARY)]
    run = subprocess.run(check, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr


def test_layout_check_can_fail(tmp_path: Path) -> None:
    header = nvml_header()
    for path in build.SOURCES.glob("*.[ch]"):
        shutil.copy(path, tmp_path)
    wrong = (tmp_path / "abi.h").read_text().replace("total, reserved, free, used", "total, used")
    (tmp_path / "abi.h").write_text(wrong)
    check = [build.compiler(), "-std=gnu11", "-fsyntax-only", "-I", str(header.parent)]
    check.append(str(tmp_path / build.NOT_IN_THE_LIBRARY))
    assert subprocess.run(check, capture_output=True, check=False).returncode != 0


def test_every_exported_name_is_a_real_one() -> None:
    assert exported(old=False) <= set(re.findall(r"\bnvml\w+", nvml_header().read_text()))


def test_old_driver_lacks_what_came_later() -> None:
    missing = exported(old=False) - exported(old=True)
    assert exported(old=True) < exported(old=False)
    assert {
        "nvmlDeviceGetMemoryInfo_v2",
        "nvmlDeviceGetComputeRunningProcesses_v3",
        "nvmlGpmSampleGet",
        "nvmlDeviceGetProcessesUtilizationInfo",
    } <= missing


def test_old_driver_through_nvidia_ml_py(tmp_path: Path, connect: Connect) -> None:
    client = connect(SimulatedNvml(directory=tmp_path, old_driver=True))
    for call in (
        "p.nvmlDeviceGetMemoryInfo(gpu(0), p.nvmlMemory_v2)",
        "p.nvmlDeviceGetComputeRunningProcesses_v3(gpu(0))",
        "p.nvmlGpmQueryDeviceSupport(gpu(0))",
        "p.nvmlDeviceGetTemperatureV(gpu(0), 0)",
    ):
        with pytest.raises(NvmlFailure, match="NVMLError_FunctionNotFound"):
            client.ask(call)
    assert client.ask("p.nvmlDeviceGetMemoryInfo(gpu(0)).total") == 81559 * 1024**2
    assert client.ask("len(p.nvmlDeviceGetComputeRunningProcesses_v2(gpu(0)))") == 1
    fields = client.ask("p.nvmlDeviceGetFieldValues(gpu(0), [82, 186, 197])")
    assert [each["nvmlReturn"] for each in fields] == [0, 3, 3]


@pytest.mark.parametrize(
    ("structure", "function"),
    [
        ("c_nvmlMemory_v2_t", "nvmlDeviceGetMemoryInfo_v2"),
        ("c_nvmlProcessDetailList_v1_t", "nvmlDeviceGetRunningProcessDetailList"),
        ("c_nvmlProcessesUtilizationInfo_v1_t", "nvmlDeviceGetProcessesUtilizationInfo"),
        ("c_nvmlTemperature_v1_t", "nvmlDeviceGetTemperatureV"),
        ("c_nvmlMarginTemperature_v1_t", "nvmlDeviceGetMarginTemperature"),
        ("c_nvmlFanSpeedInfo_t", "nvmlDeviceGetFanSpeedRPM"),
        ("c_nvmlGpmSupport_t", "nvmlGpmQueryDeviceSupport"),
        ("c_nvmlGpuFabricInfo_v3_t", "nvmlDeviceGetGpuFabricInfoV"),
    ],
)
def test_wrong_version_word_is_a_mismatch(healthy: Client, structure: str, function: str) -> None:
    code = f"import ctypes\nask = p._nvmlGetFunctionPointer('{function}')\n"
    code += f"structure = p.{structure}()\nstructure.version = 0x7F000001\n"
    code += "result = ask(gpu(0), ctypes.byref(structure))"
    assert healthy.ask(code) == 25


@pytest.mark.parametrize(("room", "code", "count"), [(0, 7, 3), (2, 7, 3), (3, 0, 3), (9, 0, 3)])
def test_process_list_asks_for_enough_room(
    simulated_nvml: SimulatedNvml, connect: Connect, room: int, code: int, count: int
) -> None:
    for slot, pid in enumerate((501, 502, 503), start=1):
        simulated_nvml.process(0, slot, pid, memory="1GiB", type="compute")
    ask = (
        f"import ctypes\ncount = ctypes.c_uint({room})\narray = (p.c_nvmlProcessInfo_v3_t * 9)()\n"
    )
    ask += "ask = p._nvmlGetFunctionPointer('nvmlDeviceGetComputeRunningProcesses_v3')\n"
    ask += "code = ask(gpu(0), ctypes.byref(count), array)\n"
    ask += "result = [code, count.value, [each.pid for each in array if each.pid]]"
    answer = connect(simulated_nvml).ask(ask)
    assert answer == [code, count, [501, 502, 503] if code == 0 else []]


def test_processes_by_kind(simulated_nvml: SimulatedNvml, connect: Connect) -> None:
    simulated_nvml.set({"gpu.0.process.1": "pid=11 memory=unavailable type=compute+graphics sm=30"})
    simulated_nvml.process(
        0, 2, 12, type="mps", memory="2GiB", sm="sine(mean=40,amplitude=0,period=1)"
    )
    client = connect(simulated_nvml)
    for kind, pids in (("Compute", [11]), ("Graphics", [11]), ("MPSCompute", [12])):
        listed = client.ask(f"p.nvmlDeviceGet{kind}RunningProcesses(gpu(0))")
        assert [each["pid"] for each in listed] == pids
    unknown = client.ask("p.nvmlDeviceGetComputeRunningProcesses(gpu(0))[0]")
    assert unknown["usedGpuMemory"] is None
    used = client.ask("p.nvmlDeviceGetProcessUtilization(gpu(0), 0)")
    assert [(each["pid"], each["smUtil"]) for each in used] == [(11, 30), (12, 40)]
    newer = client.ask("p.nvmlDeviceGetProcessesUtilizationInfo(gpu(0), 0)")
    assert [(each["pid"], each["smUtil"]) for each in newer] == [(11, 30), (12, 40)]
    with pytest.raises(NvmlFailure, match="NVMLError_NotFound"):
        client.ask("p.nvmlDeviceGetProcessUtilization(gpu(0), 2**62)")


def test_idle_gpu_has_an_empty_process_list(
    simulated_nvml: SimulatedNvml, connect: Connect
) -> None:
    simulated_nvml.set({"gpu.0.process.1": "none"})
    assert connect(simulated_nvml).ask("p.nvmlDeviceGetComputeRunningProcesses(gpu(0))") == []


def peer_python() -> str:
    """An interpreter that has nvitop, or a visible skip."""
    python = os.environ.get("GPUTOP_PEERS_PYTHON", sys.executable)
    probe = subprocess.run([python, "-c", "import nvitop"], capture_output=True, check=False)
    if probe.returncode != 0:
        pytest.skip(f"nvitop is not installed for {python} (set GPUTOP_PEERS_PYTHON)")
    return python


@pytest.mark.parametrize("old_driver", [False, True])
@pytest.mark.parametrize("profile", ["h100x8", "h100-mig", "gb10"])
def test_nvitop_runs_unchanged(tmp_path: Path, profile: str, old_driver: bool) -> None:
    node = SimulatedNvml(profile, directory=tmp_path, old_driver=old_driver)
    node.set({"gpu.0.temperature.gpu": 61, "gpu.0.power": 345})
    run = subprocess.run(
        [peer_python(), "-m", "nvitop", "--once", "--ascii"],
        env={**node.env(), "COLUMNS": "100"},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert run.returncode == 0, run.stderr
    assert "61C" in run.stdout
    assert "345W" in run.stdout
    assert not run.stderr
    if profile == "h100-mig":
        assert "3g.40gb @ GI/CI: 1/0" in run.stdout


def test_compiler_missing_is_one_clear_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    monkeypatch.delenv("CC", raising=False)
    with pytest.raises(build.NoCompilerError, match="needs a C compiler") as caught:
        build.library()
    assert "\n" not in str(caught.value)
