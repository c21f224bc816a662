/*
 * Two clocks: waves run on CLOCK_MONOTONIC, which all processes of the machine share, and
 * timestamps are wall-clock microseconds. `clock = frozen SECONDS` stops both at that value.
 */
#include "sim.h"

#include <errno.h>
#include <time.h>

static double seconds_of(clockid_t id)
{
    struct timespec now;
    clock_gettime(id, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

double clock_monotonic(void)
{
    return seconds_of(CLOCK_MONOTONIC);
}

double clock_of(const State *state)
{
    return state && state->frozen ? state->frozen_at : clock_monotonic();
}

double clock_now(void)
{
    state_lock();
    double now = clock_of(state_current());
    state_unlock();
    return now;
}

long long clock_timestamp(void)
{
    state_lock();
    const State *state = state_current();
    double now = state && state->frozen ? state->frozen_at : seconds_of(CLOCK_REALTIME);
    state_unlock();
    return (long long)(now * 1e6 + 0.5);
}

void clock_sleep(double seconds)
{
    struct timespec rest = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    while (nanosleep(&rest, &rest) != 0 && errno == EINTR)
        ;
}
