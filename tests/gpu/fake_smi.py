"""``nvidia-smi -q -x`` over whatever NVML is loaded, for tests of what compares with it.

It asks the real binding, not gputop's code, and prints what nvidia-smi 575 does, without the elements that
the check does not read. A line ``TAG=TEXT`` in the variable FAKE_SMI_CHANGED overrides one element of GPU 0.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree

import pynvml as nvml

MIB = 2**20
DEPRECATED = "Requested functionality has been deprecated"
REASONS = (
    (0x1, "gpu_idle"),
    (0x2, "applications_clocks_setting"),
    (0x4, "sw_power_cap"),
    (0x8, "hw_slowdown"),
    (0x40, "hw_thermal_slowdown"),
    (0x80, "hw_power_brake_slowdown"),
    (0x10, "sync_boost"),
    (0x20, "sw_thermal_slowdown"),
    (0x100, "display_clocks_setting"),
)
ARCHITECTURES = {7: "Ampere", 8: "Ada Lovelace", 9: "Hopper", 10: "Blackwell"}
ON = {0: "Disabled", 1: "Enabled"}
YES = {0: "No", 1: "Yes"}


def tell(call: Callable[..., Any], *arguments: Any, form: str = "{}") -> str:
    try:
        return form.format(call(*arguments))
    except nvml.NVMLError:
        return "N/A"


def field(gpu: Any, number: int, form: str = "{}", per: int = 1) -> str:
    value = nvml.nvmlDeviceGetFieldValues(gpu, [number])[0]
    if value.nvmlReturn:
        return "N/A"
    return form.format(value.value.ullVal / per if per > 1 else value.value.ullVal)


def add(parent: ElementTree.Element, tag: str, text: object = None) -> ElementTree.Element:
    """An element at ``a/b/c`` below the parent, made with the groups above it where it is not there."""
    for name in tag.split("/"):
        found = parent.find(name)
        parent = ElementTree.SubElement(parent, name) if found is None else found
    parent.text = None if text is None else str(text)
    return parent


def device(log: ElementTree.Element, index: int) -> None:
    gpu = nvml.nvmlDeviceGetHandleByIndex(index)
    bus = nvml.nvmlDeviceGetPciInfo(gpu).busId
    out = ElementTree.SubElement(log, "gpu", id=bus)
    identity(out, gpu, bus)
    health(out, gpu)
    moving(out, gpu)
    processes(out, gpu)
    if index == 0:
        for line in os.environ.get("FAKE_SMI_CHANGED", "").splitlines():
            tag, _, text = line.partition("=")
            add(out, tag, text)


def identity(out: ElementTree.Element, gpu: Any, bus: str) -> None:
    add(out, "product_name", nvml.nvmlDeviceGetName(gpu))
    add(out, "product_architecture", ARCHITECTURES[nvml.nvmlDeviceGetArchitecture(gpu)])
    add(out, "display_mode", DEPRECATED)
    add(out, "persistence_mode", tell(lambda: ON[nvml.nvmlDeviceGetPersistenceMode(gpu)]))
    add(out, "mig_mode/current_mig", tell(lambda: ON[nvml.nvmlDeviceGetMigMode(gpu)[0]]))
    instances = add(out, "mig_devices", "None")
    for index in range(nvml.nvmlDeviceGetMaxMigDeviceCount(gpu)):
        if tell(nvml.nvmlDeviceGetMigDeviceHandleByIndex, gpu, index) != "N/A":
            ElementTree.SubElement(instances, "mig_device")
    add(out, "serial", tell(nvml.nvmlDeviceGetSerial, gpu))
    add(out, "uuid", nvml.nvmlDeviceGetUUID(gpu))
    add(out, "minor_number", nvml.nvmlDeviceGetMinorNumber(gpu))
    add(out, "gpu_recovery_action", field(gpu, 230).replace("0", "None"))
    add(out, "pci/pci_bus_id", bus)
    link = "pci/pci_gpu_link_info"
    for name, call in (
        ("max_link_gen", nvml.nvmlDeviceGetMaxPcieLinkGeneration),
        ("current_link_gen", nvml.nvmlDeviceGetCurrPcieLinkGeneration),
        ("max_device_link_gen", nvml.nvmlDeviceGetGpuMaxPcieLinkGeneration),
    ):
        add(out, f"{link}/pcie_gen/{name}", tell(call, gpu))
    widths = f"{link}/link_widths"
    add(out, f"{widths}/max_link_width", f"{nvml.nvmlDeviceGetMaxPcieLinkWidth(gpu)}x")
    add(out, f"{widths}/current_link_width", f"{nvml.nvmlDeviceGetCurrPcieLinkWidth(gpu)}x")
    add(out, "pci/replay_counter", tell(nvml.nvmlDeviceGetPcieReplayCounter, gpu))
    for name, which in (("tx_util", 0), ("rx_util", 1)):
        rate = tell(nvml.nvmlDeviceGetPcieThroughput, gpu, which, form="{} KB/s")
        add(out, f"pci/{name}", rate)
    add(out, "fan_speed", tell(nvml.nvmlDeviceGetFanSpeed, gpu, form="{} %"))
    add(out, "compute_mode", {0: "Default", 3: "E. Process"}[nvml.nvmlDeviceGetComputeMode(gpu)])


def health(out: ElementTree.Element, gpu: Any) -> None:
    add(out, "ecc_mode/current_ecc", tell(lambda: ON[nvml.nvmlDeviceGetEccMode(gpu)[0]]))
    for span, volatile in (("volatile", 0), ("aggregate", 1)):
        for name, uncorrected in (("dram_correctable", 0), ("dram_uncorrectable", 1)):
            count = tell(nvml.nvmlDeviceGetTotalEccErrors, gpu, uncorrected, volatile)
            add(out, f"ecc_errors/{span}/{name}", count)
            add(out, f"ecc_errors/{span}/s{name[1:]}", "0" if count != "N/A" else "N/A")
    add(out, "ecc_errors/aggregate/sram_threshold_exceeded", tell(lambda: YES[exceeded(gpu)]))
    for kind in ("multiple_single_bit_retirement", "double_bit_retirement"):
        add(out, f"retired_pages/{kind}/retired_count", "N/A")
    add(out, "retired_pages/pending_retirement", "N/A")
    try:
        corrected, uncorrected, pending, failed = nvml.nvmlDeviceGetRemappedRows(gpu)[:4]
    except nvml.NVMLError:
        return
    add(out, "remapped_rows/remapped_row_corr", corrected)
    add(out, "remapped_rows/remapped_row_unc", uncorrected)
    add(out, "remapped_rows/remapped_row_pending", YES[pending])
    add(out, "remapped_rows/remapped_row_failure", YES[failed])


def exceeded(gpu: Any) -> int:
    status = nvml.c_nvmlEccSramErrorStatus_v1_t()
    nvml.nvmlDeviceGetSramEccErrorStatus(gpu, nvml.byref(status))
    return int(status.bThresholdExceeded)


def mebibytes(call: Callable[..., Any], arguments: tuple[Any, ...], name: str) -> str:
    return f"{getattr(call(*arguments), name) // MIB} MiB"


def moving(out: ElementTree.Element, gpu: Any) -> None:
    add(out, "performance_state", f"P{nvml.nvmlDeviceGetPerformanceState(gpu)}")
    bits = nvml.nvmlDeviceGetCurrentClocksEventReasons(gpu)
    for bit, name in REASONS:
        active = "Active" if bits & bit else "Not Active"
        add(out, f"clocks_event_reasons/clocks_event_reason_{name}", active)
    for name in ("total", "reserved", "used", "free"):
        room = tell(mebibytes, nvml.nvmlDeviceGetMemoryInfo, (gpu, nvml.nvmlMemory_v2), name)
        add(out, f"fb_memory_usage/{name}", room)
    for name in ("Total", "Used"):
        room = tell(mebibytes, nvml.nvmlDeviceGetBAR1MemoryInfo, (gpu,), f"bar1{name}")
        add(out, f"bar1_memory_usage/{name.lower()}", room)
    for name in ("gpu", "memory"):
        share = tell(nvml.nvmlDeviceGetUtilizationRates, gpu, form=f"{{0.{name}}} %")
        add(out, f"utilization/{name}_util", share)
    for name, call in (
        ("encoder_util", nvml.nvmlDeviceGetEncoderUtilization),
        ("decoder_util", nvml.nvmlDeviceGetDecoderUtilization),
    ):
        add(out, f"utilization/{name}", tell(call, gpu, form="{0[0]} %"))
    add(out, "temperature/gpu_temp", f"{nvml.nvmlDeviceGetTemperature(gpu, 0)} C")
    for name, which in (("max", 0), ("slow", 1), ("max_mem", 2)):
        limit = tell(nvml.nvmlDeviceGetTemperatureThreshold, gpu, which, form="{} C")
        add(out, f"temperature/gpu_temp_{name}_threshold", limit)
    add(out, "temperature/memory_temp", field(gpu, 82, "{} C"))
    add(out, "gpu_power_readings/average_power_draw", field(gpu, 185, "{:.2f} W", 1000))
    add(out, "gpu_power_readings/instant_power_draw", field(gpu, 186, "{:.2f} W", 1000))
    add(out, "gpu_power_readings/current_power_limit", field(gpu, 190, "{:.2f} W", 1000))
    add(out, "gpu_power_readings/default_power_limit", field(gpu, 189, "{:.2f} W", 1000))
    for group, call in (
        ("clocks", nvml.nvmlDeviceGetClockInfo),
        ("applications_clocks", nvml.nvmlDeviceGetApplicationsClock),
        ("max_clocks", nvml.nvmlDeviceGetMaxClockInfo),
    ):
        for name, which in (("graphics_clock", 0), ("sm_clock", 1), ("mem_clock", 2)):
            clock = tell(call, gpu, which, form="{} MHz")
            add(out, f"{group}/{name}", clock)
    fabric(out, gpu)


def fabric(out: ElementTree.Element, gpu: Any) -> None:
    info = nvml.c_nvmlGpuFabricInfoV_t()
    try:
        nvml.nvmlDeviceGetGpuFabricInfoV(gpu, nvml.byref(info))
    except nvml.NVMLError:
        add(out, "fabric/state", "N/A")
        return
    names = {0: "N/A", 1: "Not Started", 2: "In Progress", 3: "Completed"}
    add(out, "fabric/state", names[info.state])


def processes(out: ElementTree.Element, gpu: Any) -> None:
    group = add(out, "processes")
    for process in nvml.nvmlDeviceGetComputeRunningProcesses(gpu):
        info = ElementTree.SubElement(group, "process_info")
        add(info, "pid", process.pid)
        add(info, "type", "C")
        used = process.usedGpuMemory
        add(info, "used_memory", "N/A" if used is None else f"{used // MIB} MiB")


def main() -> int:
    if sys.argv[1:] != ["-q", "-x"]:
        print(f"Invalid combination of input arguments: {sys.argv[1:]}", file=sys.stderr)
        return 2
    nvml.nvmlInit()
    log = ElementTree.Element("nvidia_smi_log")
    add(log, "driver_version", nvml.nvmlSystemGetDriverVersion())
    cuda = nvml.nvmlSystemGetCudaDriverVersion()
    add(log, "cuda_version", f"{cuda // 1000}.{cuda % 1000 // 10}")
    add(log, "attached_gpus", nvml.nvmlDeviceGetCount())
    for index in range(nvml.nvmlDeviceGetCount()):
        device(log, index)
    ElementTree.indent(log, "\t")
    print('<?xml version="1.0" ?>\n<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">')
    print(ElementTree.tostring(log, "unicode"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
