/* The way into every API function: count, reload, delay, fault, and the lost GPU. */
#include "sim.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

static _Atomic int users; /* nvmlInit calls not yet answered by nvmlShutdown */

void call_initialized(bool initialized)
{
    if (initialized)
        users++;
    else
        users--;
}

/*
 * The line for this call among `fault.FUNCTION.WHERE` or `delay.FUNCTION.WHERE`: an exact function
 * beats its name without the _vN ending, which beats `*`; an exact GPU beats `*`. WHERE is
 * `system` for calls that belong to no GPU.
 */
static const Entry *directive(const char *kind, const char *function, int gpu)
{
    char plain[96], where[16] = "system", key[160];
    snprintf(plain, sizeof plain, "%s", function);
    char *version = strstr(plain, "_v");
    if (version)
        *version = '\0';
    if (strcmp(plain, "nvmlInitWithFlags") == 0)
        function = "nvmlInit_v2"; /* clients differ in which one they call */
    if (gpu != SYSTEM_SCOPE)
        snprintf(where, sizeof where, "%d", gpu);
    const char *functions[] = {function, plain, "*"}, *places[] = {where, "*"};
    for (int f = 0; f < 3; f++)
        for (int p = 0; p < (gpu == SYSTEM_SCOPE ? 1 : 2); p++) {
            snprintf(key, sizeof key, "%s.%s.%s", kind, functions[f], places[p]);
            const Entry *entry = state_find(state_current(), SYSTEM_SCOPE, key);
            if (entry)
                return entry;
        }
    return NULL;
}

static double delay_of(const char *function, int gpu)
{
    state_lock();
    const State *state = state_current();
    const Entry *entry = state && state->has_delays ? directive("delay", function, gpu) : NULL;
    double seconds = entry && entry->form == PARSED_WAVE ? entry->wave.first : 0;
    state_unlock();
    return seconds;
}

/* Sleeps in slices and looks again, so that a test can end a hang by changing the state. */
static void delay(const char *function, int gpu)
{
    double begin = clock_monotonic(), seconds;
    while ((seconds = delay_of(function, gpu)) > 0) {
        double left = begin + seconds - clock_monotonic();
        if (left <= 0)
            return;
        clock_sleep(left < 0.02 ? left : 0.02);
        state_refresh();
    }
}

static int fault(const char *function, int gpu)
{
    state_lock();
    const State *state = state_current();
    const Entry *entry = state && state->has_faults ? directive("fault", function, gpu) : NULL;
    int code = entry ? error_by_name(entry->text) : SIM_SUCCESS;
    state_unlock();
    return code < 0 ? SIM_SUCCESS : code; /* `fault.X.3 = none` takes a wider fault away */
}

int call_begin_uninitialized(CallSite *site, const char *function)
{
    counts_add(site, function, SYSTEM_SCOPE);
    RETURN_IF_ERROR(state_refresh());
    delay(function, SYSTEM_SCOPE);
    return fault(function, SYSTEM_SCOPE);
}

int call_begin(CallSite *site, const char *function, int gpu)
{
    counts_add(site, function, gpu);
    if (users <= 0)
        return SIM_ERROR_UNINITIALIZED;
    RETURN_IF_ERROR(state_refresh());
    delay(function, gpu);
    return fault(function, gpu);
}

int call_begin_device(CallSite *site, const char *function, const Device *device)
{
    bool valid = device_is_valid(device);
    RETURN_IF_ERROR(call_begin(site, function, valid ? device->gpu : SYSTEM_SCOPE));
    REQUIRE(valid);
    /* A handle outlives its GPU, also where the state has fewer GPUs than before. */
    if (device->gpu >= gpu_count() ||
        number_or(device_handle(device->gpu, PHYSICAL), 0, "lost") != 0)
        return SIM_ERROR_GPU_IS_LOST;
    return SIM_SUCCESS;
}
