/*
 * Counters are exact integrals of the rate waves in the state.
 *
 * Each entry holds what it had accumulated when the present state began. A new state takes the old
 * waves' integrals up to the moment of the change and integrates its own waves from there, so a
 * counter never jumps because its rate changed. A line that is new in a later state starts at 0;
 * time zero of the first state is time zero of the clock (start of the machine).
 */
#include "sim.h"

double counter_of(const Entry *entry, double now)
{
    return entry->accumulated + wave_integral(&entry->wave, entry->since, now);
}

void counters_carry(State *next, const State *previous)
{
    if (!previous)
        return;
    double end = clock_of(previous), begin = clock_of(next);
    /* Frozen time moves by the file; a change of clock, or time set back, adds no seconds. */
    if (previous->frozen == next->frozen && end < begin)
        begin = end;
    for (size_t i = 0; i < next->capacity; i++) {
        Entry *entry = &next->entries[i];
        const Entry *old = entry->key ? state_find(previous, entry->scope, entry->key) : NULL;
        /* A rate that is `unsupported` for a while keeps its count. */
        if (old)
            entry->accumulated =
                old->form == PARSED_WAVE ? counter_of(old, end) : old->accumulated;
        entry->since = begin;
    }
}
