/*
 * NVLink: state, peers, traffic and errors of each link.
 *
 * `nvlink.peers` lists for each link the number of the GPU at the other end, or `switch`; a single
 * word stands for all links.
 */
#include "sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int nvlink_count(const Device *device, unsigned *count)
{
    return read_u32(device, count, 1, "nvlink.count");
}

static int require_link(const Device *device, unsigned link)
{
    unsigned count;
    RETURN_IF_ERROR(nvlink_count(device, &count));
    REQUIRE(link < count);
    return SIM_SUCCESS;
}

static bool link_is_active(const Device *device, unsigned link)
{
    return number_or(device, 1, "nvlink.%u.state", link) != 0;
}

int nvlink_peer(const Device *device, unsigned link)
{
    char peers[512], *rest = NULL, *words[SIM_NVLINK_MAX_LINKS];
    unsigned count = 0;
    if (read_text(device, peers, sizeof peers, "nvlink.peers") != SIM_SUCCESS)
        return NVLINK_PEER_NONE;
    for (char *word = strtok_r(peers, " ,", &rest); word && count < SIM_NVLINK_MAX_LINKS;
         word = strtok_r(NULL, " ,", &rest))
        words[count++] = word;
    if (count == 1)
        link = 0;
    if (link >= count)
        return NVLINK_PEER_NONE;
    return strcmp(words[link], "switch") == 0 ? NVLINK_PEER_SWITCH : atoi(words[link]);
}

int nvlink_counter(const Device *device, unsigned link, const char *direction, double *bytes)
{
    return read_counter(device, bytes, "nvlink.%u.%s", link, direction);
}

int nvlink_error(const Device *device, unsigned link, const char *counter, double *count)
{
    *count = 0;
    int code = read_count(device, count, "nvlink.%u.error.%s", link, counter);
    return code == SIM_ERROR_NOT_SUPPORTED ? SIM_SUCCESS : code; /* no line: no errors yet */
}

API int nvmlDeviceGetNvLinkState(const Device *device, unsigned link, unsigned *active)
{
    DEVICE_CALL(device);
    RETURN_IF_ERROR(require_link(device, link));
    REQUIRE(active != NULL);
    *active = link_is_active(device, link);
    return SIM_SUCCESS;
}

API int nvmlDeviceGetNvLinkVersion(const Device *device, unsigned link, unsigned *version)
{
    DEVICE_CALL(device);
    RETURN_IF_ERROR(require_link(device, link));
    return read_u32(device, version, 1, "nvlink.version");
}

API int nvmlDeviceGetNvLinkCapability(const Device *device, unsigned link, unsigned capability,
                                      unsigned *result)
{
    /* peer-to-peer, system memory, atomics of both, no SLI bridge, valid */
    static const unsigned capabilities[] = {1, 1, 1, 1, 0, 1};
    DEVICE_CALL(device);
    RETURN_IF_ERROR(require_link(device, link));
    REQUIRE(capability < sizeof capabilities / sizeof *capabilities && result != NULL);
    *result = capabilities[capability];
    return SIM_SUCCESS;
}

API int nvmlDeviceGetNvLinkErrorCounter(const Device *device, unsigned link, unsigned counter,
                                        unsigned long long *count)
{
    static const char *const names[] = {"replay", "recovery", "crc_flit", "crc_data", "ecc_data"};
    DEVICE_CALL(device);
    RETURN_IF_ERROR(require_link(device, link));
    REQUIRE(counter < sizeof names / sizeof *names && count != NULL);
    double errors;
    RETURN_IF_ERROR(nvlink_error(device, link, names[counter], &errors));
    *count = to_u64(errors);
    return SIM_SUCCESS;
}

/* NVSwitches sit on buses of their own; four of them share the links. */
static void describe_switch(unsigned link, SimPciInfo *info)
{
    memset(info, 0, sizeof *info);
    info->bus = 0xF0 + link % 4;
    info->pciDeviceId = 0x22A310DE;
    snprintf(info->busId, sizeof info->busId, "00000000:%02X:00.0", info->bus);
    snprintf(info->busIdLegacy, sizeof info->busIdLegacy, "0000:%02X:00.0", info->bus);
}

API int nvmlDeviceGetNvLinkRemotePciInfo_v2(const Device *device, unsigned link, SimPciInfo *info)
{
    DEVICE_CALL(device);
    RETURN_IF_ERROR(require_link(device, link));
    REQUIRE(info != NULL);
    int peer = nvlink_peer(device, link);
    if (peer == NVLINK_PEER_NONE || peer >= MAX_GPUS || !link_is_active(device, link))
        return SIM_ERROR_NOT_SUPPORTED;
    if (peer != NVLINK_PEER_SWITCH)
        return pcie_describe(device_handle(peer, PHYSICAL), info);
    describe_switch(link, info);
    return SIM_SUCCESS;
}

API int nvmlDeviceGetNvLinkRemoteDeviceType(const Device *device, unsigned link, unsigned *type)
{
    enum { TYPE_GPU = 0, TYPE_SWITCH = 2 };
    DEVICE_CALL(device);
    RETURN_IF_ERROR(require_link(device, link));
    REQUIRE(type != NULL);
    int peer = nvlink_peer(device, link);
    if (peer == NVLINK_PEER_NONE)
        return SIM_ERROR_NOT_SUPPORTED;
    *type = peer == NVLINK_PEER_SWITCH ? TYPE_SWITCH : TYPE_GPU;
    return SIM_SUCCESS;
}
