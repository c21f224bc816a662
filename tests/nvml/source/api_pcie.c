/* PCI Express traffic and errors. */
#include "sim.h"

/* The real call measures for 20 ms and so blocks that long; `pcie.throughput_seconds` says how long. */
API int nvmlDeviceGetPcieThroughput(const Device *device, unsigned direction, unsigned *kib_per_second)
{
    static const char *const directions[] = {"tx", "rx"};
    DEVICE_CALL(device);
    REQUIRE(direction < 2 && kib_per_second != NULL);
    double begin = clock_now(), bytes;
    clock_sleep(number_or(device, 0.02, "pcie.throughput_seconds"));
    RETURN_IF_ERROR(read_mean(device, begin, &bytes, "pcie.%s", directions[direction]));
    *kib_per_second = to_u32(bytes / 1024);
    return SIM_SUCCESS;
}

API int nvmlDeviceGetPcieReplayCounter(const Device *device, unsigned *count)
{
    DEVICE_CALL(device);
    double replays;
    REQUIRE(count != NULL);
    RETURN_IF_ERROR(read_count(device, &replays, "pcie.replay"));
    *count = to_u32(replays);
    return SIM_SUCCESS;
}
