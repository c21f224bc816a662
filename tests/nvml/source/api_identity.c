/* Finding a device, and who it is. */
#include "sim.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

static int handle_by_index(CallSite *site, const char *function, unsigned index,
                           const Device **device)
{
    bool exists = index < (unsigned)gpu_count();
    RETURN_IF_ERROR(call_begin(site, function, exists ? (int)index : SYSTEM_SCOPE));
    REQUIRE(device != NULL && index < (unsigned)gpu_count());
    const Device *found = device_handle((int)index, PHYSICAL);
    if (number_or(found, 0, "lost_at_start") != 0)
        return SIM_ERROR_GPU_IS_LOST;
    *device = found;
    return SIM_SUCCESS;
}

API int nvmlDeviceGetHandleByIndex_v2(unsigned index, const Device **device)
{
    static CallSite site;
    return handle_by_index(&site, __func__, index, device);
}

API int nvmlDeviceGetHandleByIndex(unsigned index, const Device **device)
{
    static CallSite site;
    return handle_by_index(&site, __func__, index, device);
}

static bool uuid_is(const Device *device, const char *uuid)
{
    char own[96];
    return read_text(device, own, sizeof own, "uuid") == SIM_SUCCESS && strcmp(own, uuid) == 0;
}

API int nvmlDeviceGetHandleByUUID(const char *uuid, const Device **device)
{
    SYSTEM_CALL();
    REQUIRE(uuid != NULL && device != NULL);
    for (int gpu = 0; gpu < gpu_count(); gpu++)
        for (int mig = PHYSICAL; mig < MAX_MIG_DEVICES; mig++)
            if (uuid_is(device_handle(gpu, mig), uuid)) {
                *device = device_handle(gpu, mig);
                return SIM_SUCCESS;
            }
    return SIM_ERROR_NOT_FOUND;
}

API int nvmlDeviceGetHandleBySerial(const char *serial, const Device **device)
{
    SYSTEM_CALL();
    REQUIRE(serial != NULL && device != NULL);
    char own[32];
    for (int gpu = 0; gpu < gpu_count(); gpu++) {
        const Device *each = device_handle(gpu, PHYSICAL);
        if (read_text(each, own, sizeof own, "serial") == SIM_SUCCESS && strcmp(own, serial) == 0) {
            *device = each;
            return SIM_SUCCESS;
        }
    }
    return SIM_ERROR_NOT_FOUND;
}

int pcie_describe(const Device *device, SimPciInfo *info)
{
    const Device *gpu = device_handle(device->gpu, PHYSICAL);
    memset(info, 0, sizeof *info);
    RETURN_IF_ERROR(read_u32(gpu, &info->bus, 1, "pci.bus"));
    info->domain = to_u32(number_or(gpu, 0, "pci.domain"));
    info->device = to_u32(number_or(gpu, 0, "pci.device"));
    info->pciDeviceId = to_u32(number_or(gpu, 0, "pci.device_id"));
    info->pciSubSystemId = to_u32(number_or(gpu, 0, "pci.subsystem_id"));
    unsigned bus = info->bus & 0xFF, slot = info->device & 0x1F;
    snprintf(info->busId, sizeof info->busId, "%08X:%02X:%02X.0", info->domain, bus, slot);
    snprintf(info->busIdLegacy, sizeof info->busIdLegacy, "%04X:%02X:%02X.0",
             info->domain & 0xFFFF, bus, slot);
    return SIM_SUCCESS;
}

static int handle_by_bus(const char *bus_id, const Device **device)
{
    REQUIRE(bus_id != NULL && device != NULL);
    for (int gpu = 0; gpu < gpu_count(); gpu++) {
        SimPciInfo info;
        if (pcie_describe(device_handle(gpu, PHYSICAL), &info) == SIM_SUCCESS &&
            (strcasecmp(info.busId, bus_id) == 0 || strcasecmp(info.busIdLegacy, bus_id) == 0)) {
            *device = device_handle(gpu, PHYSICAL);
            return SIM_SUCCESS;
        }
    }
    return SIM_ERROR_NOT_FOUND;
}

API int nvmlDeviceGetHandleByPciBusId_v2(const char *bus_id, const Device **device)
{
    SYSTEM_CALL();
    return handle_by_bus(bus_id, device);
}

API int nvmlDeviceGetHandleByPciBusId(const char *bus_id, const Device **device)
{
    SYSTEM_CALL();
    return handle_by_bus(bus_id, device);
}

API int nvmlDeviceGetPciInfo_v3(const Device *device, SimPciInfo *info)
{
    DEVICE_CALL(device);
    REQUIRE(info != NULL);
    return pcie_describe(device, info);
}

API int nvmlDeviceGetPciInfo_v2(const Device *device, SimPciInfo *info)
{
    DEVICE_CALL(device);
    REQUIRE(info != NULL);
    return pcie_describe(device, info);
}

API int nvmlDeviceGetIndex(const Device *device, unsigned *index)
{
    DEVICE_CALL(device);
    REQUIRE(index != NULL);
    *index = (unsigned)(device->mig == PHYSICAL ? device->gpu : device->mig);
    return SIM_SUCCESS;
}

API int nvmlDeviceGetCudaComputeCapability(const Device *device, int *major, int *minor)
{
    DEVICE_CALL(device);
    REQUIRE(major != NULL && minor != NULL);
    char text[16];
    const Device *gpu = device_handle(device->gpu, PHYSICAL);
    RETURN_IF_ERROR(read_text(gpu, text, sizeof text, "compute_capability"));
    return sscanf(text, "%d.%d", major, minor) == 2 ? SIM_SUCCESS : SIM_ERROR_UNKNOWN;
}

API int nvmlDeviceOnSameBoard(const Device *device, const Device *other, int *same)
{
    DEVICE_CALL(device);
    REQUIRE(device_is_valid(other) && same != NULL);
    *same = device->gpu == other->gpu;
    return SIM_SUCCESS;
}
