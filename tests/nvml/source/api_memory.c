/* Utilisation and memory. */
#include "sim.h"

API int nvmlDeviceGetUtilizationRates(const Device *device, SimUtilization *rates)
{
    DEVICE_CALL(device);
    REQUIRE(rates != NULL);
    RETURN_IF_ERROR(read_u32(device, &rates->gpu, 1, "utilization.gpu"));
    return read_u32(device, &rates->memory, 1, "utilization.memory");
}

typedef struct {
    double total, used, reserved, free;
} Memory;

/* `memory.free` may be given, to be absurd on purpose; otherwise it is what is left. */
static int read_memory(const Device *device, Memory *memory)
{
    RETURN_IF_ERROR(read_number(device, &memory->total, "memory.total"));
    RETURN_IF_ERROR(read_number(device, &memory->used, "memory.used"));
    memory->reserved = number_or(device, 0, "memory.reserved");
    memory->free = number_or(device, memory->total - memory->used - memory->reserved, "memory.free");
    return SIM_SUCCESS;
}

/* The first version knows no reserve: it counts it as used. */
API int nvmlDeviceGetMemoryInfo(const Device *device, SimMemory *info)
{
    DEVICE_CALL(device);
    REQUIRE(info != NULL);
    Memory memory;
    RETURN_IF_ERROR(read_memory(device, &memory));
    *info = (SimMemory){to_u64(memory.total), to_u64(memory.free),
                        to_u64(memory.used + memory.reserved)};
    return SIM_SUCCESS;
}

NEWER_API int nvmlDeviceGetMemoryInfo_v2(const Device *device, SimMemory_v2 *info)
{
    DEVICE_CALL(device);
    REQUIRE_VERSION(info, SimMemory_v2, 2);
    Memory memory;
    RETURN_IF_ERROR(read_memory(device, &memory));
    *info = (SimMemory_v2){info->version, to_u64(memory.total), to_u64(memory.reserved),
                           to_u64(memory.free), to_u64(memory.used)};
    return SIM_SUCCESS;
}

API int nvmlDeviceGetBAR1MemoryInfo(const Device *device, SimBAR1Memory *info)
{
    DEVICE_CALL(device);
    REQUIRE(info != NULL);
    double total, used;
    RETURN_IF_ERROR(read_number(device, &total, "bar1.total"));
    RETURN_IF_ERROR(read_number(device, &used, "bar1.used"));
    *info = (SimBAR1Memory){to_u64(total), to_u64(total - used), to_u64(used)};
    return SIM_SUCCESS;
}
