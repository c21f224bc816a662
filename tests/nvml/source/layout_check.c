/*
 * Not part of the library: compiled by a test against the public nvml.h, where that is installed.
 * Every structure and number of abi.h must be what the header says, member by member.
 */
#include "abi.h"

#include <nvml.h>
#include <stddef.h>

#define SAME_SIZE(ours, theirs)                                                        \
    _Static_assert(sizeof(ours) == sizeof(theirs), #ours " has another size than " #theirs);
#define SAME(ours, theirs, member)                                                     \
    _Static_assert(offsetof(ours, member) == offsetof(theirs, member),                 \
                   #theirs "." #member " is elsewhere");                               \
    _Static_assert(sizeof(((ours *)0)->member) == sizeof(((theirs *)0)->member),       \
                   #theirs "." #member " has another size");
#define SAME2(o, t, a, b) SAME(o, t, a) SAME(o, t, b)
#define SAME3(o, t, a, b, c) SAME2(o, t, a, b) SAME(o, t, c)
#define SAME4(o, t, a, b, c, d) SAME2(o, t, a, b) SAME2(o, t, c, d)

#define SAME_ERROR(name, number, text)                                                 \
    _Static_assert(NVML_##name == (number), "NVML_" #name " has another number");
SIM_ERRORS(SAME_ERROR)

SAME_SIZE(SimPciInfo, nvmlPciInfo_t)
SAME4(SimPciInfo, nvmlPciInfo_t, busIdLegacy, domain, bus, device)
SAME3(SimPciInfo, nvmlPciInfo_t, pciDeviceId, pciSubSystemId, busId)
SAME_SIZE(SimUtilization, nvmlUtilization_t)
SAME2(SimUtilization, nvmlUtilization_t, gpu, memory)
SAME_SIZE(SimMemory, nvmlMemory_t)
SAME3(SimMemory, nvmlMemory_t, total, free, used)
SAME_SIZE(SimMemory_v2, nvmlMemory_v2_t)
SAME4(SimMemory_v2, nvmlMemory_v2_t, total, reserved, free, used)
SAME_SIZE(SimBAR1Memory, nvmlBAR1Memory_t)
SAME3(SimBAR1Memory, nvmlBAR1Memory_t, bar1Total, bar1Free, bar1Used)
SAME_SIZE(SimProcessInfo_v1, nvmlProcessInfo_v1_t)
SAME2(SimProcessInfo_v1, nvmlProcessInfo_v1_t, pid, usedGpuMemory)
SAME_SIZE(SimProcessInfo_v2, nvmlProcessInfo_v2_t)
SAME4(SimProcessInfo_v2, nvmlProcessInfo_v2_t, pid, usedGpuMemory, gpuInstanceId, computeInstanceId)
SAME_SIZE(SimProcessDetail, nvmlProcessDetail_v1_t)
SAME4(SimProcessDetail, nvmlProcessDetail_v1_t, pid, usedGpuMemory, gpuInstanceId,
      usedGpuCcProtectedMemory)
SAME_SIZE(SimProcessDetailList, nvmlProcessDetailList_v1_t)
SAME4(SimProcessDetailList, nvmlProcessDetailList_v1_t, version, mode, numProcArrayEntries, procArray)
SAME_SIZE(SimProcessUtilizationSample, nvmlProcessUtilizationSample_t)
SAME4(SimProcessUtilizationSample, nvmlProcessUtilizationSample_t, pid, timeStamp, smUtil, decUtil)
SAME_SIZE(SimProcessUtilizationInfo, nvmlProcessUtilizationInfo_v1_t)
SAME4(SimProcessUtilizationInfo, nvmlProcessUtilizationInfo_v1_t, timeStamp, pid, smUtil, ofaUtil)
SAME_SIZE(SimProcessesUtilizationInfo, nvmlProcessesUtilizationInfo_v1_t)
SAME3(SimProcessesUtilizationInfo, nvmlProcessesUtilizationInfo_v1_t, processSamplesCount,
      lastSeenTimeStamp, procUtilArray)
SAME_SIZE(SimTemperature, nvmlTemperature_v1_t)
SAME2(SimTemperature, nvmlTemperature_v1_t, sensorType, temperature)
SAME_SIZE(SimMarginTemperature, nvmlMarginTemperature_v1_t)
SAME_SIZE(SimFanSpeedInfo, nvmlFanSpeedInfo_v1_t)
SAME2(SimFanSpeedInfo, nvmlFanSpeedInfo_v1_t, fan, speed)
SAME_SIZE(SimValue, nvmlValue_t)
SAME_SIZE(SimFieldValue, nvmlFieldValue_t)
SAME4(SimFieldValue, nvmlFieldValue_t, fieldId, scopeId, timestamp, latencyUsec)
SAME3(SimFieldValue, nvmlFieldValue_t, valueType, nvmlReturn, value)
SAME_SIZE(SimGpmMetric, nvmlGpmMetric_t)
SAME4(SimGpmMetric, nvmlGpmMetric_t, metricId, nvmlReturn, value, metricInfo)
SAME_SIZE(SimGpmMetricsGet, nvmlGpmMetricsGet_t)
SAME4(SimGpmMetricsGet, nvmlGpmMetricsGet_t, numMetrics, sample1, sample2, metrics)
SAME_SIZE(SimGpmSupport, nvmlGpmSupport_t)
SAME_SIZE(SimEccErrorCounts, nvmlEccErrorCounts_t)
SAME4(SimEccErrorCounts, nvmlEccErrorCounts_t, l1Cache, l2Cache, deviceMemory, registerFile)
SAME_SIZE(SimRowRemapperHistogram, nvmlRowRemapperHistogramValues_t)
SAME2(SimRowRemapperHistogram, nvmlRowRemapperHistogramValues_t, max, none)
SAME_SIZE(SimDeviceAttributes, nvmlDeviceAttributes_t)
SAME4(SimDeviceAttributes, nvmlDeviceAttributes_t, multiprocessorCount, sharedOfaCount,
      computeInstanceSliceCount, memorySizeMB)
SAME_SIZE(SimEventData, nvmlEventData_t)
SAME4(SimEventData, nvmlEventData_t, device, eventType, eventData, computeInstanceId)
SAME_SIZE(SimGpuFabricInfo, nvmlGpuFabricInfo_t)
SAME4(SimGpuFabricInfo, nvmlGpuFabricInfo_t, clusterUuid, status, cliqueId, state)
SAME_SIZE(SimGpuFabricInfo_v2, nvmlGpuFabricInfo_v2_t)
SAME2(SimGpuFabricInfo_v2, nvmlGpuFabricInfo_v2_t, state, healthMask)
SAME_SIZE(SimGpuFabricInfo_v3, nvmlGpuFabricInfo_v3_t)
SAME3(SimGpuFabricInfo_v3, nvmlGpuFabricInfo_v3_t, status, healthMask, healthSummary)
SAME_SIZE(SimViolationTime, nvmlViolationTime_t)

#define SAME_NUMBER(ours, theirs)                                                      \
    _Static_assert((long long)(ours) == (long long)(theirs), #theirs " has another number");
SAME_NUMBER(SIM_VERSION(SimMemory_v2, 2), nvmlMemory_v2)
SAME_NUMBER(SIM_VERSION(SimProcessDetailList, 1), nvmlProcessDetailList_v1)
SAME_NUMBER(SIM_VERSION(SimProcessesUtilizationInfo, 1), nvmlProcessesUtilizationInfo_v1)
SAME_NUMBER(SIM_VERSION(SimTemperature, 1), nvmlTemperature_v1)
SAME_NUMBER(SIM_VERSION(SimMarginTemperature, 1), nvmlMarginTemperature_v1)
SAME_NUMBER(SIM_VERSION(SimFanSpeedInfo, 1), nvmlFanSpeedInfo_v1)
SAME_NUMBER(SIM_VERSION(SimGpuFabricInfo_v3, 3), nvmlGpuFabricInfo_v3)
SAME_NUMBER(1, NVML_GPM_METRICS_GET_VERSION)
SAME_NUMBER(1, NVML_GPM_SUPPORT_VERSION)
SAME_NUMBER(SIM_EVENT_XID, nvmlEventTypeXidCriticalError)
SAME_NUMBER(SIM_TYPE_DOUBLE, NVML_VALUE_TYPE_DOUBLE)
SAME_NUMBER(SIM_TYPE_UINT, NVML_VALUE_TYPE_UNSIGNED_INT)
SAME_NUMBER(SIM_TYPE_ULONGLONG, NVML_VALUE_TYPE_UNSIGNED_LONG_LONG)
SAME_NUMBER(SIM_TYPE_INT, NVML_VALUE_TYPE_SIGNED_INT)

/* The numbers that api_field.c, api_gpm.c and the selectors of api_scalar.c are written in. */
SAME_NUMBER(82, NVML_FI_DEV_MEMORY_TEMP)
SAME_NUMBER(83, NVML_FI_DEV_TOTAL_ENERGY_CONSUMPTION)
SAME_NUMBER(84, NVML_FI_DEV_NVLINK_SPEED_MBPS_L0)
SAME_NUMBER(91, NVML_FI_DEV_NVLINK_LINK_COUNT)
SAME_NUMBER(94, NVML_FI_DEV_PCIE_REPLAY_COUNTER)
SAME_NUMBER(132, NVML_FI_DEV_NVLINK_SPEED_MBPS_L6)
SAME_NUMBER(138, NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX)
SAME_NUMBER(139, NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_RX)
SAME_NUMBER(140, NVML_FI_DEV_NVLINK_THROUGHPUT_RAW_TX)
SAME_NUMBER(141, NVML_FI_DEV_NVLINK_THROUGHPUT_RAW_RX)
SAME_NUMBER(38, NVML_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL)
SAME_NUMBER(45, NVML_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_TOTAL)
SAME_NUMBER(52, NVML_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL)
SAME_NUMBER(59, NVML_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL)
SAME_NUMBER(144, NVML_FI_DEV_REMAPPED_PENDING)
SAME_NUMBER(160, NVML_FI_DEV_NVLINK_ECC_DATA_ERROR_COUNT_TOTAL)
SAME_NUMBER(164, NVML_FI_DEV_NVLINK_GET_SPEED)
SAME_NUMBER(173, NVML_FI_DEV_PCIE_COUNT_CORRECTABLE_ERRORS)
SAME_NUMBER(185, NVML_FI_DEV_POWER_AVERAGE)
SAME_NUMBER(186, NVML_FI_DEV_POWER_INSTANT)
SAME_NUMBER(197, NVML_FI_DEV_PCIE_COUNT_TX_BYTES)
SAME_NUMBER(198, NVML_FI_DEV_PCIE_COUNT_RX_BYTES)
SAME_NUMBER(202, NVML_FI_DEV_NVLINK_COUNT_XMIT_BYTES)
SAME_NUMBER(204, NVML_FI_DEV_NVLINK_COUNT_RCV_BYTES)
SAME_NUMBER(230, NVML_FI_DEV_GET_GPU_RECOVERY_ACTION)
SAME_NUMBER(5, NVML_GPM_METRIC_ANY_TENSOR_UTIL)
SAME_NUMBER(10, NVML_GPM_METRIC_DRAM_BW_UTIL)
SAME_NUMBER(20, NVML_GPM_METRIC_PCIE_TX_PER_SEC)
SAME_NUMBER(21, NVML_GPM_METRIC_PCIE_RX_PER_SEC)
SAME_NUMBER(60, NVML_GPM_METRIC_NVLINK_TOTAL_RX_PER_SEC)
SAME_NUMBER(62, NVML_GPM_METRIC_NVLINK_L0_RX_PER_SEC)
SAME_NUMBER(97, NVML_GPM_METRIC_NVLINK_L17_TX_PER_SEC)
SAME_NUMBER(0, NVML_CLOCK_GRAPHICS)
SAME_NUMBER(1, NVML_CLOCK_SM)
SAME_NUMBER(2, NVML_CLOCK_MEM)
SAME_NUMBER(0, NVML_PCIE_UTIL_TX_BYTES)
SAME_NUMBER(1, NVML_PCIE_UTIL_RX_BYTES)
SAME_NUMBER(3, NVML_GPU_FABRIC_STATE_COMPLETED)
