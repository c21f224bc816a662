/*
 * Events. A line `gpu.3.xid = 79` that is new or says something else than before is an Xid event;
 * `gpu.3.xid = 79 after=2.5` comes that many seconds after the state was read, also at the start.
 */
#include "sim.h"

#include <pthread.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

enum { RING = 256, SET_MAGIC = 0x45564E54 };

typedef struct {
    int gpu;
    unsigned long long code;
    double due; /* on the monotonic clock, also when waves are frozen */
} Event;

/* Guarded by the state's lock: events are noticed while a state is loaded. */
static Event ring[RING];
static unsigned long long noticed;

struct EventSet {
    unsigned magic;
    unsigned long long types[MAX_GPUS], from[MAX_GPUS];
    bool taken[RING];
    unsigned long long horizon; /* events up to here have been cleared from `taken` */
    int watch; /* made by the first wait, for making one takes longer than a tick may; -1 before */
};

static void notice(int gpu, const char *text, bool at_start)
{
    double after = 0;
    const char *delay = strstr(text, "after=");
    if (delay)
        after = strtod(delay + 6, NULL);
    else if (at_start)
        return; /* an Xid from before we looked */
    double code = strtod(text, NULL);
    if (code > 0)
        ring[noticed++ % RING] =
            (Event){gpu, (unsigned long long)code, clock_monotonic() + after};
}

void events_notice(const State *next, const State *previous)
{
    for (int gpu = 0; gpu < next->gpu_count; gpu++) {
        const Entry *now = state_find(next, gpu, "xid");
        const Entry *before = previous ? state_find(previous, gpu, "xid") : NULL;
        if (now && (!before || strcmp(before->text, now->text) != 0))
            notice(gpu, now->text, previous == NULL);
    }
}

API int nvmlEventSetCreate(struct EventSet **set)
{
    SYSTEM_CALL();
    REQUIRE(set != NULL);
    *set = calloc(1, sizeof **set);
    (*set)->magic = SET_MAGIC;
    (*set)->watch = -1;
    return SIM_SUCCESS;
}

API int nvmlEventSetFree(struct EventSet *set)
{
    SYSTEM_CALL();
    REQUIRE(set != NULL && set->magic == SET_MAGIC);
    set->magic = 0;
    if (set->watch >= 0)
        close(set->watch);
    free(set);
    return SIM_SUCCESS;
}

API int nvmlDeviceRegisterEvents(const Device *device, unsigned long long types,
                                 struct EventSet *set)
{
    DEVICE_CALL(device);
    REQUIRE(set != NULL && set->magic == SET_MAGIC);
    double supported = number_or(device, 0, "events.supported");
    if (types & ~to_u64(supported))
        return SIM_ERROR_NOT_SUPPORTED;
    state_lock();
    /* Events still to come count, whenever their line was read; past ones do not. */
    for (unsigned long long n = noticed > RING ? noticed - RING : 0; n < noticed; n++)
        if (ring[n % RING].gpu == device->gpu && ring[n % RING].due < clock_monotonic())
            set->from[device->gpu] = n + 1;
    set->types[device->gpu] |= types;
    state_unlock();
    return SIM_SUCCESS;
}

/* Takes the first event that is due; else says when the next one will be (0: none in sight). */
static bool take(struct EventSet *set, Event *event, double *next_due)
{
    *next_due = 0;
    state_lock();
    bool found = false;
    for (; set->horizon < noticed; set->horizon++)
        set->taken[set->horizon % RING] = false;
    for (unsigned long long n = noticed > RING ? noticed - RING : 0; n < noticed && !found; n++) {
        const Event *each = &ring[n % RING];
        if (n < set->from[each->gpu] || !(set->types[each->gpu] & SIM_EVENT_XID) ||
            set->taken[n % RING])
            continue;
        if (each->due <= clock_monotonic()) {
            *event = *each;
            set->taken[n % RING] = found = true;
        } else if (*next_due == 0 || each->due < *next_due) {
            *next_due = each->due;
        }
    }
    state_unlock();
    return found;
}

/* Wakes when something in the state file's folder changes: waiting costs nothing meanwhile. */
static int watch_state(void)
{
    char folder[4096];
    snprintf(folder, sizeof folder, "%s", state_path() ? state_path() : "");
    char *slash = strrchr(folder, '/');
    if (slash)
        *slash = '\0';
    int watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (watch >= 0)
        inotify_add_watch(watch, slash ? folder : ".", IN_MOVED_TO | IN_CLOSE_WRITE);
    return watch;
}

static int wait_for_event(struct EventSet *set, double timeout, Event *event)
{
    enum { LONGEST_NAP_MS = 500 }; /* a safety net where inotify does not work */
    double deadline = clock_monotonic() + timeout, next_due;
    int code = SIM_SUCCESS;
    if (set->watch < 0)
        set->watch = watch_state();
    for (;;) {
        char changes[4096];
        state_refresh();
        if (take(set, event, &next_due))
            break;
        double until = next_due > 0 && next_due < deadline ? next_due : deadline;
        double left = (until - clock_monotonic()) * 1000;
        if (clock_monotonic() >= deadline) {
            code = SIM_ERROR_TIMEOUT;
            break;
        }
        struct pollfd wake = {set->watch, POLLIN, 0};
        int nap = left < 0 ? 0 : left > LONGEST_NAP_MS ? LONGEST_NAP_MS : (int)left + 1;
        if (poll(&wake, set->watch >= 0, nap) > 0)
            while (read(set->watch, changes, sizeof changes) > 0)
                ;
    }
    return code;
}

static int wait(struct EventSet *set, SimEventData *data, unsigned timeout_ms)
{
    REQUIRE(set != NULL && set->magic == SET_MAGIC && data != NULL);
    Event event;
    RETURN_IF_ERROR(wait_for_event(set, timeout_ms / 1000.0, &event));
    *data = (SimEventData){device_handle(event.gpu, PHYSICAL), SIM_EVENT_XID, event.code,
                           SIM_NO_INSTANCE, SIM_NO_INSTANCE};
    return SIM_SUCCESS;
}

API int nvmlEventSetWait_v2(struct EventSet *set, SimEventData *data, unsigned timeout_ms)
{
    SYSTEM_CALL();
    return wait(set, data, timeout_ms);
}

API int nvmlEventSetWait(struct EventSet *set, SimEventData *data, unsigned timeout_ms)
{
    SYSTEM_CALL();
    return wait(set, data, timeout_ms);
}
