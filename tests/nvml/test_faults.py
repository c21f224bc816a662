"""A node that changes while it is watched: reloads, lost GPUs, faults, delays, call counts."""

import subprocess
import sys
import time
from collections.abc import Callable

import pytest

from nvml.client import Client, NvmlFailure
from nvml.simulated import SimulatedNvml

Connect = Callable[[SimulatedNvml], Client]
UTILIZATION = "p.nvmlDeviceGetUtilizationRates(gpu({})).gpu"


def test_changed_state_shows_in_the_next_call(
    simulated_nvml: SimulatedNvml, connect: Connect
) -> None:
    client = connect(simulated_nvml)
    for value in range(20):
        simulated_nvml.set({"gpu.*.utilization.gpu": value})
        assert client.ask(UTILIZATION.format(2)) == value


def test_more_specific_line_wins_over_the_later_one(
    simulated_nvml: SimulatedNvml, connect: Connect
) -> None:
    simulated_nvml.set({"gpu.3.utilization.gpu": 1, "gpu.*.utilization.gpu": 2})
    client = connect(simulated_nvml)
    assert [client.ask(UTILIZATION.format(gpu)) for gpu in (2, 3)] == [2, 1]


def test_bad_state_keeps_the_old_one_and_says_so_once(simulated_nvml: SimulatedNvml) -> None:
    simulated_nvml.set({"gpu.0.utilization.gpu": 41})
    code = f"""
import pynvml as p
p.nvmlInit()
first = p.nvmlDeviceGetUtilizationRates(p.nvmlDeviceGetHandleByIndex(0)).gpu
open({str(simulated_nvml.state_path)!r}, "w").write("gpu.0.utilization.gpu = sine(mean=1)\\n")
for _ in range(3):
    print(first, p.nvmlDeviceGetUtilizationRates(p.nvmlDeviceGetHandleByIndex(0)).gpu)
"""
    run = subprocess.run(
        [sys.executable, "-c", code],
        env=simulated_nvml.env(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout.splitlines() == ["41 41"] * 3
    assert len(run.stderr.splitlines()) == 1
    assert "the previous state stays" in run.stderr


def test_lost_gpu_is_lost_alone_and_can_return(
    simulated_nvml: SimulatedNvml, connect: Connect
) -> None:
    client = connect(simulated_nvml)
    client.ask("handle = gpu(3)\nresult = 0")
    simulated_nvml.lose(3)
    for call in ("UtilizationRates", "Name", "PowerUsage", "ComputeRunningProcesses"):
        with pytest.raises(NvmlFailure, match="NVMLError_GpuIsLost"):
            client.ask(f"p.nvmlDeviceGet{call}(handle)")
    assert client.ask(UTILIZATION.format(2)) > 0
    assert client.ask("p.nvmlDeviceGetCount()") == 8
    simulated_nvml.find(3)
    assert client.ask("p.nvmlDeviceGetPowerUsage(handle)") > 0


def test_gpu_lost_at_start_has_no_handle(simulated_nvml: SimulatedNvml, connect: Connect) -> None:
    simulated_nvml.set({"gpu.3.lost_at_start": True})
    with pytest.raises(NvmlFailure, match="NVMLError_GpuIsLost"):
        connect(simulated_nvml).ask("gpu(3)")


def test_gpu_that_disappears_is_lost_to_who_holds_it(
    simulated_nvml: SimulatedNvml, connect: Connect
) -> None:
    client = connect(simulated_nvml)
    client.ask("handle = gpu(7)\nresult = 0")
    simulated_nvml.set({"gpu.count": 7})
    assert client.ask("p.nvmlDeviceGetCount()") == 7
    with pytest.raises(NvmlFailure, match="NVMLError_GpuIsLost"):
        client.ask("p.nvmlDeviceGetPowerUsage(handle)")


@pytest.mark.parametrize(
    ("error", "failure"),
    [
        ("DRIVER_NOT_LOADED", "NVMLError_DriverNotLoaded"),
        ("LIB_RM_VERSION_MISMATCH", "NVMLError_LibRmVersionMismatch"),
        ("NO_PERMISSION", "NVMLError_NoPermission"),
        ("999", "NVMLError_Unknown"),
    ],
)
def test_init_fails_as_reported(simulated_nvml: SimulatedNvml, error: str, failure: str) -> None:
    simulated_nvml.fault("nvmlInit_v2", "system", error)
    with Client(simulated_nvml) as client, pytest.raises(NvmlFailure, match=failure):
        client.ask("p.nvmlInit()")


def test_fault_hits_its_function_and_gpu_only(
    simulated_nvml: SimulatedNvml, connect: Connect
) -> None:
    client = connect(simulated_nvml)
    simulated_nvml.fault("nvmlDeviceGetPowerUsage", 1, "TIMEOUT")
    with pytest.raises(NvmlFailure, match="NVMLError_Timeout"):
        client.ask("p.nvmlDeviceGetPowerUsage(gpu(1))")
    assert client.ask("p.nvmlDeviceGetPowerUsage(gpu(2))") > 0
    assert client.ask(UTILIZATION.format(1)) > 0
    simulated_nvml.fault("*", 5, "UNKNOWN")
    with pytest.raises(NvmlFailure, match="NVMLError_Unknown"):
        client.ask("gpu(5)")
    simulated_nvml.fault("nvmlDeviceGetComputeRunningProcesses", "*", "NO_PERMISSION")
    with pytest.raises(NvmlFailure, match="NVMLError_NoPermission"):
        client.ask("p.nvmlDeviceGetComputeRunningProcesses_v3(gpu(0))")
    simulated_nvml.fault("nvmlDeviceGetComputeRunningProcesses", 0, "none")
    assert len(client.ask("p.nvmlDeviceGetComputeRunningProcesses_v3(gpu(0))")) == 1


def test_one_field_can_fail_alone(simulated_nvml: SimulatedNvml, connect: Connect) -> None:
    simulated_nvml.set({"gpu.0.field.197.error": 4})
    fields = connect(simulated_nvml).ask("p.nvmlDeviceGetFieldValues(gpu(0), [197, 198])")
    assert [each["nvmlReturn"] for each in fields] == [4, 0]


BLOCKED_BESIDE_FREE = """
import threading, time
handles = [gpu(0), gpu(1)]
finished = {}

def ask(index):
    p.nvmlDeviceGetPowerUsage(handles[index])
    finished[index] = time.monotonic() - begin

begin = time.monotonic()
threads = [threading.Thread(target=ask, args=(index,)) for index in (0, 1)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
result = [finished[0], finished[1]]
"""


def test_delay_blocks_only_its_own_thread(simulated_nvml: SimulatedNvml, connect: Connect) -> None:
    client = connect(simulated_nvml)
    simulated_nvml.delay("nvmlDeviceGetPowerUsage", 0, 0.6)
    blocked, free = client.ask(BLOCKED_BESIDE_FREE)
    assert 0.6 <= blocked < 5
    assert free < 0.3


def test_hang_ends_when_its_line_goes(simulated_nvml: SimulatedNvml, connect: Connect) -> None:
    client = connect(simulated_nvml)
    simulated_nvml.delay("*", 2, 300)
    code = "import threading\nhandle = gpu(1)\nasked = threading.Event()\nresult = []\n"
    code += "def ask():\n    asked.set()\n    result.append(p.nvmlDeviceGetPowerUsage(gpu(2)))\n"
    client.ask(code + "thread = threading.Thread(target=ask, daemon=True)\nthread.start()\n")
    assert client.ask("(thread.join(0.2), thread.is_alive())[1]") is True
    simulated_nvml.delay("*", 2, 0)
    assert client.ask("(thread.join(10), thread.is_alive())[1]") is False


def test_calls_are_counted_by_function_and_gpu(
    simulated_nvml: SimulatedNvml, connect: Connect
) -> None:
    client = connect(simulated_nvml)
    client.ask("handles = [gpu(0), gpu(4)]\nresult = 0")
    client.ask("[p.nvmlDeviceGetPowerUsage(handles[0]) for _ in range(5)]")
    connect(simulated_nvml).ask("p.nvmlDeviceGetPowerUsage(gpu(4))")
    calls = simulated_nvml.calls()
    assert calls["nvmlDeviceGetPowerUsage", 0] == 5
    assert calls["nvmlDeviceGetPowerUsage", 4] == 1
    assert calls["nvmlDeviceGetHandleByIndex_v2", 4] == 2, "both processes count into one file"
    assert calls["nvmlInitWithFlags", None] == 2
    assert ("nvmlDeviceGetName", 0) not in calls


WAIT = """
import time
events = p.nvmlEventSetCreate()
for index in range(8):
    p.nvmlDeviceRegisterEvents(gpu(index), p.nvmlEventTypeXidCriticalError, events)

def wait(milliseconds):
    begin = time.monotonic()
    try:
        data = p.nvmlEventSetWait_v2(events, milliseconds)
    except p.NVMLError_Timeout:
        return "timeout", time.monotonic() - begin
    return p.nvmlDeviceGetIndex(data.device), data.eventType, data.eventData

result = 0
"""


def test_xid_arrives_once_and_again_when_repeated(
    simulated_nvml: SimulatedNvml, connect: Connect
) -> None:
    simulated_nvml.xid(1, 13)  # before the client started: no event for it
    client = connect(simulated_nvml)
    client.ask(WAIT)
    outcome, seconds = client.ask("wait(120)")
    assert outcome == "timeout"
    assert 0.12 <= seconds < 2
    simulated_nvml.xid(3, 79)
    assert client.ask("wait(5000)") == [3, 8, 79]
    assert client.ask("wait(1)")[0] == "timeout"
    simulated_nvml.xid(3, 79)
    assert client.ask("wait(5000)") == [3, 8, 79]


def test_xid_wakes_a_waiting_call(simulated_nvml: SimulatedNvml, connect: Connect) -> None:
    simulated_nvml.set({"gpu.6.xid": "48 after=0.2"})
    client = connect(simulated_nvml)
    client.ask(WAIT)
    begin = time.monotonic()
    assert client.ask("wait(10000)") == [6, 8, 48]
    assert time.monotonic() - begin < 5
    code = "import threading\nseen = []\nthread = threading.Thread(target=lambda: "
    client.ask(code + "seen.append(wait(15000)))\nthread.start()\nresult = 0")
    simulated_nvml.xid(2, 31)
    assert client.ask("(thread.join(10), seen)[1]") == [[2, 8, 31]]


HAMMER = """
import threading, time
handles = [gpu(index) for index in range(4)]
torn = []
stop = threading.Event()

def watch(handle):
    while not stop.is_set():
        rates = p.nvmlDeviceGetUtilizationRates(handle)
        if not 1 <= rates.gpu <= 50:
            torn.append(rates.gpu)

threads = [threading.Thread(target=watch, args=(handle,)) for handle in handles]
for thread in threads:
    thread.start()
result = 0
"""


def test_state_replaced_under_busy_threads(simulated_nvml: SimulatedNvml, connect: Connect) -> None:
    simulated_nvml.set({"gpu.*.utilization.gpu": 1})
    client = connect(simulated_nvml)
    client.ask(HAMMER)
    seen = ("nvmlDeviceGetUtilizationRates", 0)
    changes, deadline = 0, time.monotonic() + 10
    while changes < 50 or simulated_nvml.calls().get(seen, 0) < 50:
        simulated_nvml.set({"gpu.*.utilization.gpu": changes % 50 + 1})
        changes += 1
        assert time.monotonic() < deadline
    code = "stop.set()\nfor thread in threads:\n    thread.join(10)\nresult = torn"
    assert client.ask(code) == []
