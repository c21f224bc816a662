/* Handles: every GPU and MIG device has one fixed address, as stable as the real driver's. */
#include "sim.h"

static Device handles[MAX_GPUS][MAX_MIG_DEVICES + 1];

const Device the_system = {SYSTEM_SCOPE, PHYSICAL};

__attribute__((constructor)) static void number_handles(void)
{
    for (int gpu = 0; gpu < MAX_GPUS; gpu++)
        for (int mig = PHYSICAL; mig < MAX_MIG_DEVICES; mig++)
            handles[gpu][mig + 1] = (Device){gpu, mig};
}

const Device *device_handle(int gpu, int mig)
{
    return &handles[gpu][mig + 1];
}

bool device_is_valid(const Device *device)
{
    uintptr_t base = (uintptr_t)handles, at = (uintptr_t)device;
    return at >= base && at < base + sizeof handles && (at - base) % sizeof(Device) == 0;
}

int gpu_count(void)
{
    state_lock();
    int count = state_current() ? state_current()->gpu_count : 0;
    state_unlock();
    return count;
}
