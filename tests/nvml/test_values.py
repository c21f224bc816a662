"""What the simulated driver answers through the real nvidia-ml-py, value by value."""

from collections.abc import Callable

import pytest

from nvml.client import Client, NvmlFailure
from nvml.keys import PROFILES
from nvml.simulated import SimulatedNvml

GIB = 1024**3
Connect = Callable[[SimulatedNvml], Client]


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("p.nvmlSystemGetDriverVersion()", "580.65.06"),
        ("p.nvmlSystemGetCudaDriverVersion_v2()", 13000),
        ("p.nvmlDeviceGetCount()", 8),
        ("p.nvmlDeviceGetName(gpu(3))", "NVIDIA H100 80GB HBM3"),
        ("p.nvmlDeviceGetCudaComputeCapability(gpu(0))", [9, 0]),
        ("p.nvmlDeviceGetPciInfo(gpu(2)).busId", "00000000:52:00.0"),
        ("p.nvmlDeviceGetIndex(p.nvmlDeviceGetHandleByPciBusId('00000000:61:00.0'))", 3),
        ("p.nvmlDeviceGetIndex(p.nvmlDeviceGetHandleByUUID(p.nvmlDeviceGetUUID(gpu(5))))", 5),
        ("p.nvmlDeviceGetPowerManagementLimitConstraints(gpu(0))", [200_000, 700_000]),
        ("p.nvmlDeviceGetEnforcedPowerLimit(gpu(0))", 700_000),
        ("p.nvmlDeviceGetTemperatureThreshold(gpu(0), p.NVML_TEMPERATURE_THRESHOLD_SLOWDOWN)", 89),
        ("p.nvmlDeviceGetTemperatureThreshold(gpu(0), p.NVML_TEMPERATURE_THRESHOLD_MEM_MAX)", 95),
        ("p.nvmlDeviceGetClockInfo(gpu(0), p.NVML_CLOCK_MEM)", 2619),
        ("p.nvmlDeviceGetMaxClockInfo(gpu(0), p.NVML_CLOCK_SM)", 1980),
        ("p.nvmlDeviceGetCurrPcieLinkWidth(gpu(0))", 16),
        ("p.nvmlDeviceGetMaxPcieLinkGeneration(gpu(0))", 5),
        ("p.nvmlDeviceGetNvLinkState(gpu(0), 17)", 1),
        ("p.nvmlDeviceGetNvLinkVersion(gpu(0), 0)", 6),
        ("p.nvmlDeviceGetNvLinkRemoteDeviceType(gpu(0), 4)", 2),
        ("p.nvmlDeviceGetEccMode(gpu(0))", [1, 1]),
        ("p.nvmlDeviceGetRemappedRows(gpu(0))", [0, 0, 0, 0]),
        ("p.nvmlDeviceGetMigMode(gpu(0))", [0, 0]),
        ("p.nvmlDeviceGetNumaNodeId(gpu(6))", 1),
        ("p.nvmlDeviceGetCpuAffinity(gpu(0), 4)[0]", 2**56 - 1),
        ("p.nvmlDeviceGetTopologyCommonAncestor(gpu(0), gpu(1))", 40),
        ("p.nvmlDeviceGetTopologyCommonAncestor(gpu(0), gpu(7))", 50),
        ("len(p.nvmlDeviceGetTopologyNearestGpus(gpu(0), p.NVML_TOPOLOGY_NODE))", 3),
        ("p.nvmlDeviceGetP2PStatus(gpu(0), gpu(7), p.NVML_P2P_CAPS_INDEX_NVLINK)", 0),
        (
            "p.nvmlDeviceGetFieldValues(gpu(0), [p.NVML_FI_DEV_NVLINK_LINK_COUNT])[0].value.uiVal",
            18,
        ),
        ("p.nvmlDeviceGetFieldValues(gpu(0), [(164, 3)])[0].value.uiVal", 26562),
    ],
)
def test_profile_values(healthy: Client, expression: str, value: object) -> None:
    assert healthy.ask(expression) == value


@pytest.mark.parametrize(
    "calls",
    [
        "Serial UUID VbiosVersion BoardPartNumber Brand Architecture MinorNumber NumGpuCores BoardId",
        "EncoderUtilization DecoderUtilization BAR1MemoryInfo MemoryBusWidth PowerManagementLimit",
        "PowerManagementDefaultLimit TotalEnergyConsumption MarginTemperature PerformanceState",
        "SupportedClocksEventReasons CurrentClocksThrottleReasons SupportedClocksThrottleReasons",
        "CurrPcieLinkGeneration GpuMaxPcieLinkGeneration PcieReplayCounter PcieSpeed",
        "RowRemapperHistogram ComputeMode PersistenceMode DisplayMode DisplayActive MaxMigDeviceCount",
        "GraphicsRunningProcesses MPSComputeRunningProcesses SupportedEventTypes NumFans",
    ],
)
def test_plain_getters_are_answered(healthy: Client, calls: str) -> None:
    for call in calls.split():
        assert healthy.ask(f"p.nvmlDeviceGet{call}(gpu(0))") is not None


def test_memory_errors_by_place(simulated_nvml: SimulatedNvml, connect: Connect) -> None:
    simulated_nvml.set(
        {
            "gpu.0.ecc.uncorrected.volatile": 3,
            "gpu.0.ecc.uncorrected.volatile.memory": 2,
            "gpu.0.remapped.uncorrected": 1,
            "gpu.0.remapped.pending": 1,
            "gpu.0.retired.pages.uncorrected": "0x1000 0x2000",
            "gpu.0.retired.pending": 1,
        }
    )
    client = connect(simulated_nvml)
    kind, span = "p.NVML_MEMORY_ERROR_TYPE_UNCORRECTED", "p.NVML_VOLATILE_ECC"
    assert client.ask(f"p.nvmlDeviceGetTotalEccErrors(gpu(0), {kind}, {span})") == 3
    detailed = client.ask(f"p.nvmlDeviceGetDetailedEccErrors(gpu(0), {kind}, {span})")
    assert detailed == {"l1Cache": 0, "l2Cache": 0, "deviceMemory": 2, "registerFile": 0}
    in_dram = f"p.nvmlDeviceGetMemoryErrorCounter(gpu(0), {kind}, {span}, 2)"
    assert client.ask(in_dram) == 2
    assert client.ask("p.nvmlDeviceGetRemappedRows(gpu(0))") == [0, 1, 1, 0]
    assert client.ask("p.nvmlDeviceGetRetiredPages(gpu(0), 1)") == [0x1000, 0x2000]
    assert client.ask("p.nvmlDeviceGetRetiredPagesPendingStatus(gpu(0))") == 1


def test_set_values_arrive_in_the_units_of_the_interface(
    simulated_nvml: SimulatedNvml, connect: Connect
) -> None:
    simulated_nvml.freeze(100.0)
    simulated_nvml.set(
        {
            "gpu.3.utilization.gpu": 37,
            "gpu.3.power": 123.456,
            "gpu.3.memory.used": "70GiB",
            "gpu.3.memory.total": "80GiB",
            "gpu.3.memory.reserved": "1GiB",
            "gpu.3.temperature.memory": 88,
            "gpu.3.clock.event_reasons": 0x44,
        }
    )
    client = connect(simulated_nvml)
    assert client.ask("p.nvmlDeviceGetUtilizationRates(gpu(3)).gpu") == 37
    assert client.ask("p.nvmlDeviceGetPowerUsage(gpu(3))") == 123_456
    assert client.ask("p.nvmlDeviceGetCurrentClocksEventReasons(gpu(3))") == 0x44
    field = client.ask("p.nvmlDeviceGetFieldValues(gpu(3), [p.NVML_FI_DEV_MEMORY_TEMP])[0]")
    assert (field["nvmlReturn"], field["value"]) == (0, 88)
    assert field["timestamp"] == 100_000_000
    second = client.ask("p.nvmlDeviceGetMemoryInfo(gpu(3), p.nvmlMemory_v2)")
    assert (second["used"], second["reserved"], second["free"]) == (70 * GIB, GIB, 9 * GIB)
    first = client.ask("p.nvmlDeviceGetMemoryInfo(gpu(3))")
    assert first["used"] == 71 * GIB, "the first version counts the reserve as used"


def test_transmit_and_receive_are_not_mixed_up(
    simulated_nvml: SimulatedNvml, connect: Connect
) -> None:
    simulated_nvml.freeze(1000.0)
    simulated_nvml.set(
        {
            "gpu.0.pcie.tx": "3MiB",
            "gpu.0.pcie.rx": "7MiB",
            "gpu.0.nvlink.*.tx": "11MiB",
            "gpu.0.nvlink.*.rx": "13MiB",
        }
    )
    client = connect(simulated_nvml)
    throughput = "p.nvmlDeviceGetPcieThroughput(gpu(0), p.NVML_PCIE_UTIL_{}_BYTES)"
    assert client.ask(throughput.format("TX")) == 3 * 1024
    assert client.ask(throughput.format("RX")) == 7 * 1024
    fields = client.ask(
        "[v.value.ullVal for v in p.nvmlDeviceGetFieldValues(gpu(0), [197, 198, (138, 0),"
        " (139, 0), (138, 0xffffffff), (139, 0xffffffff)])]"
    )
    assert fields == [
        3 * 1024**2 * 1000,
        7 * 1024**2 * 1000,
        11 * 1024 * 1000,
        13 * 1024 * 1000,
        18 * 11 * 1024 * 1000,
        18 * 13 * 1024 * 1000,
    ]


def test_absurd_values_pass_through(simulated_nvml: SimulatedNvml, connect: Connect) -> None:
    simulated_nvml.set(
        {
            "gpu.0.utilization.gpu": 200,
            "gpu.0.memory.used": "200GiB",
            "gpu.0.temperature.gpu": "0xFFFFFFFF",
            "gpu.0.clock.event_reasons": "0xFFFFFFFFFFFFFFFF",
        }
    )
    client = connect(simulated_nvml)
    assert client.ask("p.nvmlDeviceGetUtilizationRates(gpu(0)).gpu") == 200
    memory = client.ask("p.nvmlDeviceGetMemoryInfo(gpu(0))")
    assert memory["used"] > memory["total"]
    assert memory["free"] == 0
    # The plain call is unsigned, the newer one signed.
    code = "import ctypes\nvalue = ctypes.c_uint()\n"
    code += (
        "p.nvmlLib.nvmlDeviceGetTemperature(gpu(0), 0, ctypes.byref(value))\nresult = value.value"
    )
    assert client.ask(code) == 0xFFFFFFFF
    assert client.ask("p.nvmlDeviceGetCurrentClocksEventReasons(gpu(0))") == 2**64 - 1


def test_missing_and_unsupported_values_are_not_supported(
    simulated_nvml: SimulatedNvml, connect: Connect
) -> None:
    simulated_nvml.set({"gpu.1.power": "unsupported", "gpu.2.power": "error(NO_PERMISSION)"})
    client = connect(simulated_nvml)
    with pytest.raises(NvmlFailure, match="NVMLError_NotSupported"):
        client.ask("p.nvmlDeviceGetPowerUsage(gpu(1))")
    with pytest.raises(NvmlFailure, match="NVMLError_NoPermission"):
        client.ask("p.nvmlDeviceGetPowerUsage(gpu(2))")
    with pytest.raises(NvmlFailure, match="NVMLError_NotSupported"):
        client.ask("p.nvmlDeviceGetFanSpeed(gpu(0))")
    with pytest.raises(NvmlFailure, match="NVMLError_InvalidArgument"):
        client.ask("gpu(8)")
    assert client.ask("p.nvmlDeviceGetFieldValues(gpu(0), [150])[0].nvmlReturn") == 3


def test_calls_before_init_are_refused(simulated_nvml: SimulatedNvml) -> None:
    with Client(simulated_nvml) as client:
        client.ask("p._LoadNvmlLibrary()")
        with pytest.raises(NvmlFailure, match="NVMLError_Uninitialized"):
            client.ask("p.nvmlDeviceGetCount()")


@pytest.mark.parametrize("profile", sorted(path.stem for path in PROFILES.glob("*.state")))
def test_every_profile_names_all_its_gpus(profile: str, connect: Connect) -> None:
    with SimulatedNvml(profile) as node:
        client = connect(node)
        code = "names = [p.nvmlDeviceGetUUID(gpu(i)) for i in range(p.nvmlDeviceGetCount())]\n"
        uuids = client.ask(code + "result = names")
        buses = client.ask(
            "[p.nvmlDeviceGetPciInfo(gpu(i)).busId for i in range(p.nvmlDeviceGetCount())]"
        )
        assert len(set(uuids)) == len(set(buses)) == len(uuids) > 0


def test_unified_memory_has_no_memory_info(connect: Connect) -> None:
    with SimulatedNvml("gb10") as node:
        client = connect(node)
        for call in ("gpu(0)", "gpu(0), p.nvmlMemory_v2"):
            with pytest.raises(NvmlFailure, match="NVMLError_NotSupported"):
                client.ask(f"p.nvmlDeviceGetMemoryInfo({call})")
        assert client.ask("p.nvmlDeviceGetComputeRunningProcesses(gpu(0))[0].pid") == 7400


def test_two_islands_are_linked_inside_only(connect: Connect) -> None:
    with SimulatedNvml("two-islands") as node:
        client = connect(node)
        code = "result = [[p.nvmlDeviceGetP2PStatus(gpu(a), gpu(b), 2) == 0 for b in range(8)"
        code += " if b != a] for a in range(8)]\n"
        linked = client.ask(code)
        assert linked == [[a // 4 == b // 4 for b in range(8) if b != a] for a in range(8)]
        remote = client.ask(
            "[p.nvmlDeviceGetNvLinkRemotePciInfo(gpu(5), link).busId for link in (0, 4, 11)]"
        )
        expected = client.ask("[p.nvmlDeviceGetPciInfo(gpu(i)).busId for i in (4, 6, 7)]")
        assert remote == expected


def test_mig_instances_are_devices_of_their_own(connect: Connect) -> None:
    with SimulatedNvml("h100-mig") as node:
        client = connect(node)
        assert client.ask("p.nvmlDeviceGetMigMode(gpu(0))") == [1, 1]
        with pytest.raises(NvmlFailure, match="NVMLError_NotSupported"):
            client.ask("p.nvmlDeviceGetUtilizationRates(gpu(0))")
        with pytest.raises(NvmlFailure, match="NVMLError_NotFound"):
            client.ask("p.nvmlDeviceGetMigDeviceHandleByIndex(gpu(0), 3)")
        with pytest.raises(NvmlFailure, match="NVMLError_NotSupported"):
            client.ask("p.nvmlDeviceGetMigDeviceHandleByIndex(gpu(1), 0)")
        client.ask("mig = p.nvmlDeviceGetMigDeviceHandleByIndex(gpu(0), 1)\nresult = 0")
        assert client.ask("p.nvmlDeviceIsMigDeviceHandle(mig)") == 1
        assert client.ask("p.nvmlDeviceGetName(mig)").endswith("2g.20gb")
        assert client.ask("p.nvmlDeviceGetGpuInstanceId(mig)") == 3
        assert client.ask("p.nvmlDeviceGetMemoryInfo(mig).total") == 20096 * 1024**2
        assert client.ask("p.nvmlDeviceGetAttributes(mig).multiprocessorCount") == 32
        parent = "p.nvmlDeviceGetDeviceHandleFromMigDeviceHandle(mig)"
        assert client.ask(f"p.nvmlDeviceGetIndex({parent})") == 0
        own = client.ask("p.nvmlDeviceGetComputeRunningProcesses(mig)")
        assert [(each["pid"], each["gpuInstanceId"]) for each in own] == [(4110, 3)]
        whole = client.ask("p.nvmlDeviceGetComputeRunningProcesses(gpu(0))")
        assert [each["pid"] for each in whole] == [4100, 4110]


def test_misspelled_key_is_refused_with_the_nearest(simulated_nvml: SimulatedNvml) -> None:
    with pytest.raises(ValueError, match=r"utilisation.*nearest is 'gpu\.\*\.utilization\.gpu'"):
        simulated_nvml.set({"gpu.3.utilisation.gpu": 5})
    with pytest.raises(ValueError, match="no profile 'h1000'; there are a100-pcie, gb10"):
        SimulatedNvml("h1000")
