/*
 * The many functions that answer with one number or text of a device: one table line each.
 *
 * VALUE: (device, unsigned *). SWITCH: (device, now *, pending *) of a mode. TEXT: (device, char *,
 * length). SELECTED: (device, selector, unsigned *), where the selector picks one of several keys.
 * The number of the state line times `scale` is the number of the ABI; power is in watts in a state
 * file and in milliwatts in the ABI.
 */
#include "sim.h"

#define VALUE(visibility, function, key, scale)                                        \
    visibility int function(const Device *device, unsigned *value)                     \
    {                                                                                  \
        DEVICE_CALL(device);                                                           \
        return read_u32(device, value, scale, key);                                    \
    }

VALUE(API, nvmlDeviceGetMinorNumber, "minor", 1)
VALUE(API, nvmlDeviceGetBoardId, "board_id", 1)
VALUE(API, nvmlDeviceGetMultiGpuBoard, "multi_gpu_board", 1)
VALUE(API, nvmlDeviceGetBrand, "brand", 1)
VALUE(API, nvmlDeviceGetArchitecture, "architecture", 1)
VALUE(NEWER_API, nvmlDeviceGetNumGpuCores, "cores", 1)
VALUE(NEWER_API, nvmlDeviceGetModuleId, "module_id", 1)
VALUE(NEWER_API, nvmlDeviceGetBusType, "bus_type", 1)
VALUE(NEWER_API, nvmlDeviceGetIrqNum, "irq", 1)
VALUE(NEWER_API, nvmlDeviceGetPowerSource, "power.source", 1)
VALUE(NEWER_API, nvmlDeviceGetMemoryBusWidth, "memory.bus_width", 1)
VALUE(NEWER_API, nvmlDeviceGetAdaptiveClockInfoStatus, "clock.adaptive", 1)
VALUE(NEWER_API, nvmlDeviceGetNumaNodeId, "numa", 1)
VALUE(API, nvmlDeviceGetComputeMode, "compute_mode", 1)
VALUE(API, nvmlDeviceGetPersistenceMode, "persistence", 1)
VALUE(API, nvmlDeviceGetDisplayMode, "display.mode", 1)
VALUE(API, nvmlDeviceGetDisplayActive, "display.active", 1)
VALUE(API, nvmlDeviceGetPerformanceState, "performance_state", 1)
VALUE(API, nvmlDeviceGetPowerState, "performance_state", 1)
VALUE(API, nvmlDeviceGetPowerUsage, "power", 1000)
VALUE(API, nvmlDeviceGetPowerManagementMode, "power.management", 1)
VALUE(API, nvmlDeviceGetPowerManagementLimit, "power.limit", 1000)
VALUE(API, nvmlDeviceGetEnforcedPowerLimit, "power.limit.enforced", 1000)
VALUE(API, nvmlDeviceGetPowerManagementDefaultLimit, "power.limit.default", 1000)
VALUE(API, nvmlDeviceGetFanSpeed, "fan.0", 1)
VALUE(API, nvmlDeviceGetNumFans, "fan.count", 1)
VALUE(API, nvmlDeviceGetCurrPcieLinkGeneration, "pcie.generation", 1)
VALUE(API, nvmlDeviceGetMaxPcieLinkGeneration, "pcie.generation.max", 1)
VALUE(API, nvmlDeviceGetGpuMaxPcieLinkGeneration, "pcie.generation.gpu_max", 1)
VALUE(API, nvmlDeviceGetCurrPcieLinkWidth, "pcie.width", 1)
VALUE(API, nvmlDeviceGetMaxPcieLinkWidth, "pcie.width.max", 1)
VALUE(NEWER_API, nvmlDeviceGetPcieSpeed, "pcie.speed", 1)
VALUE(NEWER_API, nvmlDeviceGetPcieLinkMaxSpeed, "pcie.speed.max", 1)
VALUE(API, nvmlDeviceGetInforomConfigurationChecksum, "inforom.checksum", 1)
VALUE(API, nvmlDeviceGetAccountingMode, "accounting", 1)
VALUE(API, nvmlDeviceGetRetiredPagesPendingStatus, "retired.pending", 1)

#define SWITCH(visibility, function, now_key, pending_key)                             \
    visibility int function(const Device *device, unsigned *now, unsigned *pending)           \
    {                                                                                  \
        DEVICE_CALL(device);                                                           \
        RETURN_IF_ERROR(read_u32(device, now, 1, now_key));                            \
        return read_u32(device, pending, 1, pending_key);                              \
    }

SWITCH(API, nvmlDeviceGetEccMode, "ecc.mode", "ecc.mode.pending")
SWITCH(API, nvmlDeviceGetMigMode, "mig.mode", "mig.mode.pending")
SWITCH(API, nvmlDeviceGetDriverModel, "driver_model", "driver_model.pending")
SWITCH(NEWER_API, nvmlDeviceGetDriverModel_v2, "driver_model", "driver_model.pending")
SWITCH(API, nvmlDeviceGetGpuOperationMode, "operation_mode", "operation_mode.pending")
SWITCH(API, nvmlDeviceGetEncoderUtilization, "utilization.encoder", "utilization.sampling_period")
SWITCH(API, nvmlDeviceGetDecoderUtilization, "utilization.decoder", "utilization.sampling_period")
SWITCH(NEWER_API, nvmlDeviceGetJpgUtilization, "utilization.jpeg", "utilization.sampling_period")
SWITCH(NEWER_API, nvmlDeviceGetOfaUtilization, "utilization.ofa", "utilization.sampling_period")
SWITCH(NEWER_API, nvmlDeviceGetGspFirmwareMode, "gsp.mode", "gsp.mode.default")

#define TEXT(function, key)                                                            \
    API int function(const Device *device, char *text, unsigned length)                \
    {                                                                                  \
        DEVICE_CALL(device);                                                           \
        return read_text(device, text, length, key);                                   \
    }

TEXT(nvmlDeviceGetName, "name")
TEXT(nvmlDeviceGetUUID, "uuid")
TEXT(nvmlDeviceGetSerial, "serial")
TEXT(nvmlDeviceGetVbiosVersion, "vbios_version")
TEXT(nvmlDeviceGetBoardPartNumber, "board_part_number")
TEXT(nvmlDeviceGetInforomImageVersion, "inforom.image_version")

NEWER_API int nvmlDeviceGetGspFirmwareVersion(const Device *device, char *version)
{
    DEVICE_CALL(device);
    return read_text(device, version, 80, "gsp.version");
}

#define SELECTED(function, prefix, ...)                                                \
    API int function(const Device *device, unsigned selector, unsigned *value)         \
    {                                                                                  \
        static const char *const names[] = {__VA_ARGS__};                              \
        DEVICE_CALL(device);                                                           \
        REQUIRE(selector < sizeof names / sizeof *names);                              \
        return read_u32(device, value, 1, prefix, names[selector]);                    \
    }

#define CLOCK_DOMAINS "graphics", "sm", "memory", "video"

SELECTED(nvmlDeviceGetClockInfo, "clock.%s", CLOCK_DOMAINS)
SELECTED(nvmlDeviceGetMaxClockInfo, "clock.%s.max", CLOCK_DOMAINS)
SELECTED(nvmlDeviceGetApplicationsClock, "clock.%s.application", CLOCK_DOMAINS)
SELECTED(nvmlDeviceGetDefaultApplicationsClock, "clock.%s.application_default", CLOCK_DOMAINS)
SELECTED(nvmlDeviceGetMaxCustomerBoostClock, "clock.%s.boost_max", CLOCK_DOMAINS)
SELECTED(nvmlDeviceGetTemperature, "temperature.%s", "gpu")
SELECTED(nvmlDeviceGetTemperatureThreshold, "temperature.threshold.%s", "shutdown", "slowdown",
         "memory_max", "gpu_max", "acoustic_min", "acoustic_now", "acoustic_max", "gps_now")
SELECTED(nvmlDeviceGetAPIRestriction, "restriction.%s", "application_clocks", "auto_boost")

API int nvmlDeviceGetClock(const Device *device, unsigned domain, unsigned which, unsigned *mhz)
{
    static const char *const domains[] = {CLOCK_DOMAINS};
    static const char *const kinds[] = {"", ".application", ".application_default", ".boost_max"};
    DEVICE_CALL(device);
    REQUIRE(domain < 4 && which < 4);
    return read_u32(device, mhz, 1, "clock.%s%s", domains[domain], kinds[which]);
}

API int nvmlDeviceGetFanSpeed_v2(const Device *device, unsigned fan, unsigned *percent)
{
    DEVICE_CALL(device);
    return read_u32(device, percent, 1, "fan.%u", fan);
}

NEWER_API int nvmlDeviceGetFanSpeedRPM(const Device *device, SimFanSpeedInfo *info)
{
    DEVICE_CALL(device);
    REQUIRE_VERSION(info, SimFanSpeedInfo, 1);
    return read_u32(device, &info->speed, 1, "fan.%u.rpm", info->fan);
}

API int nvmlDeviceGetPowerManagementLimitConstraints(const Device *device, unsigned *lowest,
                                                     unsigned *highest)
{
    DEVICE_CALL(device);
    RETURN_IF_ERROR(read_u32(device, lowest, 1000, "power.limit.min"));
    return read_u32(device, highest, 1000, "power.limit.max");
}

API int nvmlDeviceGetTotalEnergyConsumption(const Device *device, unsigned long long *millijoules)
{
    DEVICE_CALL(device);
    double joules;
    REQUIRE(millijoules != NULL);
    RETURN_IF_ERROR(read_counter(device, &joules, "power"));
    *millijoules = to_u64(joules * 1000);
    return SIM_SUCCESS;
}

NEWER_API int nvmlDeviceGetTemperatureV(const Device *device, SimTemperature *temperature)
{
    DEVICE_CALL(device);
    REQUIRE_VERSION(temperature, SimTemperature, 1);
    REQUIRE(temperature->sensorType == 0);
    double celsius;
    RETURN_IF_ERROR(read_number(device, &celsius, "temperature.gpu"));
    temperature->temperature = (int)celsius;
    return SIM_SUCCESS;
}

NEWER_API int nvmlDeviceGetMarginTemperature(const Device *device, SimMarginTemperature *margin)
{
    DEVICE_CALL(device);
    REQUIRE_VERSION(margin, SimMarginTemperature, 1);
    double celsius;
    RETURN_IF_ERROR(read_number(device, &celsius, "temperature.margin"));
    margin->marginTemperature = (int)celsius;
    return SIM_SUCCESS;
}

#define REASONS(visibility, function, key)                                             \
    visibility int function(const Device *device, unsigned long long *reasons)         \
    {                                                                                  \
        DEVICE_CALL(device);                                                           \
        double bits;                                                                   \
        REQUIRE(reasons != NULL);                                                      \
        RETURN_IF_ERROR(read_number(device, &bits, key));                              \
        *reasons = to_u64(bits);                                                       \
        return SIM_SUCCESS;                                                            \
    }

REASONS(API, nvmlDeviceGetCurrentClocksThrottleReasons, "clock.event_reasons")
REASONS(API, nvmlDeviceGetSupportedClocksThrottleReasons, "clock.event_reasons.supported")
REASONS(NEWER_API, nvmlDeviceGetCurrentClocksEventReasons, "clock.event_reasons")
REASONS(NEWER_API, nvmlDeviceGetSupportedClocksEventReasons, "clock.event_reasons.supported")
REASONS(API, nvmlDeviceGetSupportedEventTypes, "events.supported")

/* Time a policy held the clocks down: the integral of violation.POLICY, a share between 0 and 1. */
API int nvmlDeviceGetViolationStatus(const Device *device, unsigned policy, SimViolationTime *time)
{
    static const char *const policies[] = {
        "power", "thermal", "sync_boost", "board_limit", "low_utilization", "reliability", NULL,
        NULL,    NULL,      NULL,         "app_clocks",  "base_clocks",
    };
    DEVICE_CALL(device);
    REQUIRE(time != NULL && policy < sizeof policies / sizeof *policies && policies[policy]);
    double seconds;
    RETURN_IF_ERROR(read_counter(device, &seconds, "violation.%s", policies[policy]));
    time->referenceTime = (unsigned long long)clock_timestamp();
    time->violationTime = to_u64(seconds * 1e9);
    return SIM_SUCCESS;
}
