/*
 * From lines with wildcards to a hash table of plain entries: one per GPU, NVLink and MIG device,
 * so that an override of one link keeps that link's counter (see counters.c).
 */
#include "sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct Chunk {
    struct Chunk *next;
    size_t used;
    char bytes[32768];
};

typedef struct {
    State *state;
    int links, migs;
    char *problem;
    size_t problem_size;
} Expansion;

static const char *keep(State *state, const char *text)
{
    size_t size = strlen(text) + 1;
    struct Chunk *chunk = state->chunks;
    if (!chunk || chunk->used + size > sizeof chunk->bytes) {
        chunk = malloc(sizeof *chunk);
        *chunk = (struct Chunk){.next = state->chunks};
        state->chunks = chunk;
    }
    char *copy = memcpy(chunk->bytes + chunk->used, text, size);
    chunk->used += size;
    return copy;
}

static size_t slot_of(const State *state, int scope, const char *key)
{
    uint32_t hash = 2166136261u ^ (uint32_t)(scope + 1) * 16777619u;
    for (const char *c = key; *c; c++)
        hash = (hash ^ (unsigned char)*c) * 16777619u;
    size_t slot = hash & (state->capacity - 1);
    while (state->entries[slot].key && (state->entries[slot].scope != scope ||
                                        strcmp(state->entries[slot].key, key) != 0))
        slot = (slot + 1) & (state->capacity - 1);
    return slot;
}

Entry *state_find(const State *state, int scope, const char *key)
{
    Entry *entry = &state->entries[slot_of(state, scope, key)];
    return entry->key ? entry : NULL;
}

static void grow(State *state)
{
    State larger = *state;
    larger.capacity = state->capacity ? state->capacity * 2 : 512;
    larger.entries = calloc(larger.capacity, sizeof *larger.entries);
    for (size_t i = 0; i < state->capacity; i++)
        if (state->entries[i].key)
            larger.entries[slot_of(&larger, state->entries[i].scope, state->entries[i].key)] =
                state->entries[i];
    free(state->entries);
    *state = larger;
}

int error_by_name(const char *name)
{
    static const struct {
        const char *name;
        int code;
    } errors[] = {
#define SIM_ERROR_NAME(name, number, text) {#name, number},
        SIM_ERRORS(SIM_ERROR_NAME)
#undef SIM_ERROR_NAME
    };
    double number;
    if (wave_parse_number(name, &number))
        return (int)number;
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (strcmp(errors[i].name, name) == 0 ||
            (strncmp(errors[i].name, "ERROR_", 6) == 0 && strcmp(errors[i].name + 6, name) == 0))
            return errors[i].code;
    return -1;
}

static bool parse_value(Entry *entry)
{
    char name[64];
    if (strcmp(entry->text, "unsupported") == 0) {
        entry->error = SIM_ERROR_NOT_SUPPORTED;
    } else if (sscanf(entry->text, "error(%63[A-Z0-9_])", name) == 1) {
        entry->error = error_by_name(name);
        if (entry->error < 0)
            return false;
    }
    entry->form = wave_parse(entry->text, entry->scope, &entry->wave);
    return entry->form != PARSED_WRONGLY;
}

/* Every "{index}" in a text becomes the GPU's number. */
static void fill_in_index(const char *text, int gpu, char *filled, size_t size)
{
    static const char mark[] = "{index}";
    const char *next;
    size_t used = 0;
    for (; (next = strstr(text, mark)) && used < size; text = next + strlen(mark))
        used += (size_t)snprintf(filled + used, size - used, "%.*s%d", (int)(next - text), text, gpu);
    if (used < size)
        snprintf(filled + used, size - used, "%s", text);
}

static bool store(Expansion *e, int scope, const char *key, const char *value)
{
    State *state = e->state;
    if ((state->used + 1) * 2 > state->capacity)
        grow(state);
    char text[4096];
    fill_in_index(value, scope, text, sizeof text);
    Entry *entry = &state->entries[slot_of(state, scope, key)];
    if (!entry->key)
        state->used++;
    *entry = (Entry){.scope = scope,
                     .key = entry->key ? entry->key : keep(state, key),
                     .text = keep(state, text)};
    int process;
    if (scope >= 0 && sscanf(key, "process.%d", &process) == 1 && process >= 0 && process < 1024 &&
        process >= state->process_slots[scope])
        state->process_slots[scope] = process + 1;
    if (parse_value(entry))
        return true;
    snprintf(e->problem, e->problem_size, "%s = %s: not a value this driver understands", key, text);
    return false;
}

static bool store_all(Expansion *e, int scope, const char *key, const char *value)
{
    const char *star = strstr(key, ".*.");
    bool link = star && star - key == 6 && strncmp(key, "nvlink", 6) == 0;
    bool mig = star && star - key == 3 && strncmp(key, "mig", 3) == 0;
    if (scope < 0 || !(link || mig))
        return store(e, scope, key, value);
    char plain[256];
    for (int i = 0; i < (link ? e->links : e->migs); i++) {
        snprintf(plain, sizeof plain, "%.*s.%d.%s", (int)(star - key), key, i, star + 3);
        if (!store(e, scope, plain, value))
            return false;
    }
    return true;
}

static bool expand(Expansion *e, const Line *line)
{
    int gpu, consumed = 0;
    if (strncmp(line->key, "gpu.*.", 6) == 0) {
        for (gpu = 0; gpu < e->state->gpu_count; gpu++)
            if (!store_all(e, gpu, line->key + 6, line->value))
                return false;
        return true;
    }
    if (sscanf(line->key, "gpu.%d.%n", &gpu, &consumed) == 1 && consumed > 0) {
        if (gpu < 0 || gpu >= MAX_GPUS) {
            snprintf(e->problem, e->problem_size, "%s: no such GPU", line->key);
            return false;
        }
        return store_all(e, gpu, line->key + consumed, line->value);
    }
    if (strncmp(line->key, "fault.", 6) == 0)
        e->state->has_faults = true;
    if (strncmp(line->key, "delay.", 6) == 0)
        e->state->has_delays = true;
    return store(e, SYSTEM_SCOPE, line->key, line->value);
}

/* How many GPUs, links and MIG devices the wildcards stand for. */
static void measure(Expansion *e, const Lines *lines)
{
    for (size_t i = 0; i < lines->count; i++) {
        const char *key = lines->items[i].key, *dot = strrchr(key, '.');
        double number;
        if (!wave_parse_number(lines->items[i].value, &number))
            continue;
        if (strcmp(key, "gpu.count") == 0)
            e->state->gpu_count = number < 0 ? 0 : number > MAX_GPUS ? MAX_GPUS : (int)number;
        bool links = dot && dot - key >= 7 && strcmp(dot - 7, ".nvlink.count") == 0;
        bool migs = dot && dot - key >= 4 && strcmp(dot - 4, ".mig.count") == 0;
        if (links && number > e->links)
            e->links = number > SIM_NVLINK_MAX_LINKS ? SIM_NVLINK_MAX_LINKS : (int)number;
        if (migs && number > e->migs)
            e->migs = number > MAX_MIG_DEVICES ? MAX_MIG_DEVICES : (int)number;
    }
}

static bool read_clock(Expansion *e)
{
    const Entry *clock = state_find(e->state, SYSTEM_SCOPE, "clock");
    if (!clock || strcmp(clock->text, "real") == 0)
        return true;
    e->state->frozen = strncmp(clock->text, "frozen ", 7) == 0 &&
                       wave_parse_number(clock->text + 7, &e->state->frozen_at);
    if (!e->state->frozen)
        snprintf(e->problem, e->problem_size, "clock = %s: say real or frozen SECONDS", clock->text);
    return e->state->frozen;
}

State *state_build(const Lines *lines, char *problem, size_t problem_size)
{
    Expansion e = {.state = calloc(1, sizeof(State)), .problem = problem, .problem_size = problem_size};
    grow(e.state);
    measure(&e, lines);
    bool fine = true;
    for (size_t i = 0; fine && i < lines->count; i++)
        fine = expand(&e, &lines->items[i]);
    if (fine && read_clock(&e))
        return e.state;
    state_free(e.state);
    return NULL;
}

void state_free(State *state)
{
    if (!state)
        return;
    for (struct Chunk *chunk = state->chunks, *next; chunk; chunk = next) {
        next = chunk->next;
        free(chunk);
    }
    free(state->entries);
    free(state);
}
