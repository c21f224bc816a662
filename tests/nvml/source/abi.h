/*
 * The public NVML binary interface, as far as the simulated driver speaks it.
 *
 * Our own declarations, so that a test machine needs a C compiler and nothing from NVIDIA. Every
 * name carries the prefix Sim: layout_check.c includes this file beside the public nvml.h and
 * compares the two member by member.
 */
#ifndef SIM_ABI_H
#define SIM_ABI_H

#include <stdint.h>

/* X(name, number, what nvmlErrorString says) */
#define SIM_ERRORS(X)                                                                  \
    X(SUCCESS, 0, "Success")                                                           \
    X(ERROR_UNINITIALIZED, 1, "Uninitialized")                                         \
    X(ERROR_INVALID_ARGUMENT, 2, "Invalid Argument")                                   \
    X(ERROR_NOT_SUPPORTED, 3, "Not Supported")                                         \
    X(ERROR_NO_PERMISSION, 4, "Insufficient Permissions")                              \
    X(ERROR_ALREADY_INITIALIZED, 5, "Already Initialized")                             \
    X(ERROR_NOT_FOUND, 6, "Not Found")                                                 \
    X(ERROR_INSUFFICIENT_SIZE, 7, "Insufficient Size")                                 \
    X(ERROR_INSUFFICIENT_POWER, 8, "Insufficient External Power")                      \
    X(ERROR_DRIVER_NOT_LOADED, 9, "Driver Not Loaded")                                 \
    X(ERROR_TIMEOUT, 10, "Timeout")                                                    \
    X(ERROR_IRQ_ISSUE, 11, "Interrupt Request Issue")                                  \
    X(ERROR_LIBRARY_NOT_FOUND, 12, "NVML Shared Library Not Found")                    \
    X(ERROR_FUNCTION_NOT_FOUND, 13, "Function Not Found")                              \
    X(ERROR_CORRUPTED_INFOROM, 14, "Corrupted infoROM")                                \
    X(ERROR_GPU_IS_LOST, 15, "GPU is lost")                                            \
    X(ERROR_RESET_REQUIRED, 16, "GPU requires restart")                                \
    X(ERROR_OPERATING_SYSTEM, 17, "The operating system has blocked the request.")     \
    X(ERROR_LIB_RM_VERSION_MISMATCH, 18, "Driver/library version mismatch")            \
    X(ERROR_IN_USE, 19, "In use by another client")                                    \
    X(ERROR_MEMORY, 20, "Insufficient Memory")                                         \
    X(ERROR_NO_DATA, 21, "No data")                                                    \
    X(ERROR_VGPU_ECC_NOT_SUPPORTED, 22, "Not supported for ECC-enabled vGPUs")         \
    X(ERROR_INSUFFICIENT_RESOURCES, 23, "Insufficient Resources")                      \
    X(ERROR_FREQ_NOT_SUPPORTED, 24, "Frequency not supported")                         \
    X(ERROR_ARGUMENT_VERSION_MISMATCH, 25, "Argument version mismatch")                \
    X(ERROR_DEPRECATED, 26, "Deprecated")                                              \
    X(ERROR_NOT_READY, 27, "Not ready")                                                \
    X(ERROR_GPU_NOT_FOUND, 28, "No GPUs were found")                                   \
    X(ERROR_INVALID_STATE, 29, "Invalid state")                                        \
    X(ERROR_UNKNOWN, 999, "Unknown Error")

enum {
#define SIM_ERROR_ENUM(name, number, text) SIM_##name = number,
    SIM_ERRORS(SIM_ERROR_ENUM)
#undef SIM_ERROR_ENUM
};

/* The version word of a structure that carries one: its size, and its revision in the top byte. */
#define SIM_VERSION(type, revision) ((unsigned)(sizeof(type) | ((unsigned)(revision) << 24)))

#define SIM_UNAVAILABLE_U64 UINT64_MAX
#define SIM_NO_INSTANCE UINT32_MAX

enum {
    SIM_EVENT_XID = 0x8,
    SIM_NVLINK_MAX_LINKS = 36,
    SIM_GPM_METRIC_MAX = 477,
    SIM_FIELD_MAX = 308,
};

enum SimValueType {
    SIM_TYPE_DOUBLE = 0,
    SIM_TYPE_UINT = 1,
    SIM_TYPE_ULONGLONG = 3,
    SIM_TYPE_INT = 5,
};

typedef struct {
    char busIdLegacy[16];
    unsigned domain, bus, device, pciDeviceId, pciSubSystemId;
    char busId[32];
} SimPciInfo;

typedef struct {
    unsigned gpu, memory;
} SimUtilization;

typedef struct {
    unsigned long long total, free, used;
} SimMemory;

typedef struct {
    unsigned version;
    unsigned long long total, reserved, free, used;
} SimMemory_v2;

typedef struct {
    unsigned long long bar1Total, bar1Free, bar1Used;
} SimBAR1Memory;

typedef struct {
    unsigned pid;
    unsigned long long usedGpuMemory;
} SimProcessInfo_v1;

typedef struct {
    unsigned pid;
    unsigned long long usedGpuMemory;
    unsigned gpuInstanceId, computeInstanceId;
} SimProcessInfo_v2;

typedef struct {
    unsigned pid;
    unsigned long long usedGpuMemory;
    unsigned gpuInstanceId, computeInstanceId;
    unsigned long long usedGpuCcProtectedMemory;
} SimProcessDetail;

typedef struct {
    unsigned version, mode, numProcArrayEntries;
    SimProcessDetail *procArray;
} SimProcessDetailList;

typedef struct {
    unsigned pid;
    unsigned long long timeStamp;
    unsigned smUtil, memUtil, encUtil, decUtil;
} SimProcessUtilizationSample;

typedef struct {
    unsigned long long timeStamp;
    unsigned pid, smUtil, memUtil, encUtil, decUtil, jpgUtil, ofaUtil;
} SimProcessUtilizationInfo;

typedef struct {
    unsigned version, processSamplesCount;
    unsigned long long lastSeenTimeStamp;
    SimProcessUtilizationInfo *procUtilArray;
} SimProcessesUtilizationInfo;

typedef struct {
    unsigned version, sensorType;
    int temperature;
} SimTemperature;

typedef struct {
    unsigned version;
    int marginTemperature;
} SimMarginTemperature;

typedef struct {
    unsigned version, fan, speed;
} SimFanSpeedInfo;

typedef union {
    double dVal;
    int siVal;
    unsigned uiVal;
    unsigned long ulVal;
    unsigned long long ullVal;
    signed long long sllVal;
    unsigned short usVal;
} SimValue;

typedef struct {
    unsigned fieldId, scopeId;
    long long timestamp, latencyUsec;
    unsigned valueType;
    int nvmlReturn;
    SimValue value;
} SimFieldValue;

typedef struct {
    unsigned long long timeStamp;
    SimValue sampleValue;
} SimSample;

typedef struct {
    unsigned metricId;
    int nvmlReturn;
    double value;
    struct {
        char *shortName, *longName, *unit;
    } metricInfo;
} SimGpmMetric;

struct GpmSample;

typedef struct {
    unsigned version, numMetrics;
    struct GpmSample *sample1, *sample2;
    SimGpmMetric metrics[SIM_GPM_METRIC_MAX];
} SimGpmMetricsGet;

typedef struct {
    unsigned version, isSupportedDevice;
} SimGpmSupport;

typedef struct {
    unsigned long long l1Cache, l2Cache, deviceMemory, registerFile;
} SimEccErrorCounts;

typedef struct {
    unsigned version;
    unsigned long long counts[11];
    unsigned bThresholdExceeded;
} SimEccSramErrorStatus;

typedef struct {
    unsigned version, bChannelRepairPending, bTpcRepairPending;
} SimRepairStatus;

typedef struct {
    unsigned bUnrepairableMemory;
} SimUnrepairableMemory;

typedef struct {
    unsigned max, high, partial, low, none;
} SimRowRemapperHistogram;

typedef struct {
    unsigned multiprocessorCount, sharedCopyEngineCount, sharedDecoderCount, sharedEncoderCount,
        sharedJpegCount, sharedOfaCount, gpuInstanceSliceCount, computeInstanceSliceCount;
    unsigned long long memorySizeMB;
} SimDeviceAttributes;

typedef struct {
    const void *device;
    unsigned long long eventType, eventData;
    unsigned gpuInstanceId, computeInstanceId;
} SimEventData;

typedef struct {
    unsigned char clusterUuid[16];
    int status;
    unsigned cliqueId;
    unsigned char state;
} SimGpuFabricInfo;

typedef struct {
    unsigned version;
    unsigned char clusterUuid[16];
    int status;
    unsigned cliqueId;
    unsigned char state;
    unsigned healthMask;
} SimGpuFabricInfo_v2;

typedef struct {
    unsigned version;
    unsigned char clusterUuid[16];
    int status;
    unsigned cliqueId;
    unsigned char state;
    unsigned healthMask;
    unsigned char healthSummary;
} SimGpuFabricInfo_v3;

typedef struct {
    unsigned long long referenceTime, violationTime;
} SimViolationTime;

#endif
