/* What newer drivers tell of damage: repairs that wait for a reset, and what is beyond repair. */
#include "sim.h"

NEWER_API int nvmlDeviceGetRepairStatus(const Device *device, SimRepairStatus *status)
{
    DEVICE_CALL(device);
    REQUIRE_VERSION(status, SimRepairStatus, 1);
    RETURN_IF_ERROR(read_u32(device, &status->bChannelRepairPending, 1, "repair.channel_pending"));
    return read_u32(device, &status->bTpcRepairPending, 1, "repair.tpc_pending");
}

NEWER_API int nvmlDeviceGetUnrepairableMemoryFlag_v1(const Device *device,
                                                     SimUnrepairableMemory *memory)
{
    DEVICE_CALL(device);
    REQUIRE(memory != NULL);
    return read_u32(device, &memory->bUnrepairableMemory, 1, "repair.unrepairable_memory");
}

NEWER_API int nvmlDeviceGetSramEccErrorStatus(const Device *device, SimEccSramErrorStatus *status)
{
    DEVICE_CALL(device);
    REQUIRE_VERSION(status, SimEccSramErrorStatus, 1);
    return read_u32(device, &status->bThresholdExceeded, 1, "ecc.sram.threshold_exceeded");
}
