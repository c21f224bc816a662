/*
 * Where GPUs sit: PCI switches (`pci.switch`), NUMA nodes (`numa`, `cpu_affinity`), NVLink peers,
 * and the NVSwitch fabric.
 */
#include "sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LEVEL_INTERNAL = 0, LEVEL_SINGLE = 10, LEVEL_NODE = 40, LEVEL_SYSTEM = 50 };

static unsigned common_ancestor(const Device *a, const Device *b)
{
    if (a->gpu == b->gpu)
        return LEVEL_INTERNAL;
    double hub = number_or(a, -1, "pci.switch");
    if (hub >= 0 && hub == number_or(b, -1, "pci.switch"))
        return LEVEL_SINGLE;
    return number_or(a, 0, "numa") == number_or(b, 0, "numa") ? LEVEL_NODE : LEVEL_SYSTEM;
}

API int nvmlDeviceGetTopologyCommonAncestor(const Device *device, const Device *other,
                                            unsigned *level)
{
    DEVICE_CALL(device);
    REQUIRE(device_is_valid(other) && level != NULL);
    *level = common_ancestor(device, other);
    return SIM_SUCCESS;
}

API int nvmlDeviceGetTopologyNearestGpus(const Device *device, unsigned level, unsigned *count,
                                         const Device **nearest)
{
    DEVICE_CALL(device);
    REQUIRE(count != NULL);
    unsigned room = *count, found = 0;
    for (int gpu = 0; gpu < gpu_count(); gpu++) {
        const Device *other = device_handle(gpu, PHYSICAL);
        if (gpu == device->gpu || common_ancestor(device, other) > level)
            continue;
        if (nearest && found < room)
            nearest[found] = other;
        found++;
    }
    *count = nearest && found > room ? room : found;
    return SIM_SUCCESS;
}

static bool linked(const Device *a, const Device *b)
{
    unsigned links;
    if (nvlink_count(a, &links) != SIM_SUCCESS)
        return false;
    for (unsigned link = 0; link < links; link++) {
        int peer = nvlink_peer(a, link);
        if (peer == b->gpu || (peer == NVLINK_PEER_SWITCH && nvlink_peer(b, 0) == peer))
            return true;
    }
    return false;
}

API int nvmlDeviceGetP2PStatus(const Device *device, const Device *other, unsigned capability,
                               unsigned *status)
{
    enum { CAPABILITIES = 5, NVLINK = 2, STATUS_OK = 0, STATUS_NOT_SUPPORTED = 5 };
    DEVICE_CALL(device);
    REQUIRE(device_is_valid(other) && capability < CAPABILITIES && status != NULL);
    bool over_nvlink = linked(device, other) && number_or(device, 1, "p2p.nvlink") != 0
                       && number_or(other, 1, "p2p.nvlink") != 0;
    bool works = over_nvlink || (capability != NVLINK && number_or(device, 1, "p2p") != 0);
    *status = works ? STATUS_OK : to_u32(number_or(device, STATUS_NOT_SUPPORTED, "p2p.refusal"));
    return SIM_SUCCESS;
}

/* "0-3,8" to bits. */
static int affinity_bits(const Device *device, unsigned words, unsigned long *bits)
{
    char text[256], *rest = NULL;
    REQUIRE(words > 0 && bits != NULL);
    RETURN_IF_ERROR(read_text(device, text, sizeof text, "cpu_affinity"));
    memset(bits, 0, words * sizeof *bits);
    const unsigned width = 8 * sizeof *bits;
    for (char *range = strtok_r(text, ",", &rest); range; range = strtok_r(NULL, ",", &rest)) {
        unsigned first, last;
        int read = sscanf(range, "%u-%u", &first, &last);
        for (unsigned cpu = first; read > 0 && cpu <= (read == 2 ? last : first); cpu++)
            if (cpu / width < words)
                bits[cpu / width] |= 1UL << cpu % width;
    }
    return SIM_SUCCESS;
}

API int nvmlDeviceGetCpuAffinity(const Device *device, unsigned words, unsigned long *bits)
{
    DEVICE_CALL(device);
    return affinity_bits(device, words, bits);
}

API int nvmlDeviceGetCpuAffinityWithinScope(const Device *device, unsigned words,
                                            unsigned long *bits, unsigned scope)
{
    DEVICE_CALL(device);
    REQUIRE(scope < 2);
    return affinity_bits(device, words, bits);
}

API int nvmlDeviceGetMemoryAffinity(const Device *device, unsigned words, unsigned long *bits,
                                    unsigned scope)
{
    DEVICE_CALL(device);
    double node;
    REQUIRE(words > 0 && bits != NULL && scope < 2);
    RETURN_IF_ERROR(read_number(device, &node, "numa"));
    memset(bits, 0, words * sizeof *bits);
    if (node >= 0 && node < 64)
        bits[0] = 1UL << (unsigned)node;
    return SIM_SUCCESS;
}

NEWER_API int nvmlDeviceGetGpuFabricInfo(const Device *device, SimGpuFabricInfo *info)
{
    DEVICE_CALL(device);
    REQUIRE(info != NULL);
    memset(info, 0, sizeof *info);
    info->state = (unsigned char)number_or(device, 0, "fabric.state");
    info->status = (int)number_or(device, 0, "fabric.status");
    info->cliqueId = to_u32(number_or(device, 0, "fabric.clique"));
    return SIM_SUCCESS;
}

NEWER_API int nvmlDeviceGetGpuFabricInfoV(const Device *device, SimGpuFabricInfo_v3 *info)
{
    DEVICE_CALL(device);
    REQUIRE(info != NULL);
    bool third = info->version == SIM_VERSION(SimGpuFabricInfo_v3, 3);
    if (!third && info->version != SIM_VERSION(SimGpuFabricInfo_v2, 2))
        return SIM_ERROR_ARGUMENT_VERSION_MISMATCH;
    memset(info->clusterUuid, 0, sizeof info->clusterUuid);
    info->state = (unsigned char)number_or(device, 0, "fabric.state");
    info->status = (int)number_or(device, 0, "fabric.status");
    info->cliqueId = to_u32(number_or(device, 0, "fabric.clique"));
    info->healthMask = to_u32(number_or(device, 0, "fabric.health"));
    if (third) /* the second revision ends before this member */
        info->healthSummary = (unsigned char)number_or(device, 0, "fabric.health_summary");
    return SIM_SUCCESS;
}
