/*
 * Inside the simulated NVML driver: the state text, waves over time, counters, and the way into
 * every API function.
 *
 * A call goes: call.c (count it, notice a changed state file, delay, fault, lost GPU), then the
 * function in api_*.c reads numbers and texts of its GPU by key. The lock of the state is held for
 * single reads only, never across a delay, so a blocked call blocks its own thread and no other.
 */
#ifndef SIM_H
#define SIM_H

#include "abi.h"

#include <stdbool.h>
#include <stddef.h>

#define API __attribute__((visibility("default")))

/* A symbol that drivers before R510 did not have; the old-driver build hides it. */
#ifdef SIM_OLD_DRIVER
#define NEWER_API __attribute__((visibility("hidden"), used))
enum { OLD_DRIVER = 1 };
#else
#define NEWER_API API
enum { OLD_DRIVER = 0 };
#endif

enum { MAX_GPUS = 64, MAX_MIG_DEVICES = 8, SYSTEM_SCOPE = -1, PHYSICAL = -1 };

/* What an nvmlDevice_t points to: a whole GPU (mig == PHYSICAL) or one of its MIG devices. */
typedef struct {
    int gpu, mig;
} Device;

/* wave.c: a number as a function of time, with its exact integral. */
typedef enum { WAVE_CONSTANT, WAVE_SINE, WAVE_SQUARE, WAVE_RAMP } WaveKind;
typedef struct {
    WaveKind kind;
    double first, second; /* value / mean, amplitude / low, high / from, to */
    double period, duty, phase, begin;
} Wave;
typedef enum { PARSED_WAVE, PARSED_TEXT, PARSED_WRONGLY } WaveParse;
WaveParse wave_parse(const char *text, int gpu, Wave *wave);
bool wave_parse_number(const char *text, double *number);
double wave_value(const Wave *wave, double time);
double wave_integral(const Wave *wave, double from, double to);

/* lines.c: a state file and what it includes, as key/value lines in order of rising priority. */
typedef struct {
    char *key, *value;
    int layer, stars, order;
} Line;
typedef struct {
    Line *items;
    size_t count, capacity;
} Lines;
bool lines_read(const char *path, Lines *lines, char *problem, size_t problem_size);
void lines_free(Lines *lines);

/* state.c: the present state. Lines are looked up by GPU (or SYSTEM_SCOPE) and key. */
typedef struct {
    int scope;
    const char *key, *text;
    WaveParse form;
    int error; /* what reading it returns: SIM_SUCCESS, or the error the line asks for */
    Wave wave;
    double accumulated, since; /* the integral up to `since`; see counters.c */
} Entry;
typedef struct {
    Entry *entries;
    size_t capacity, used;
    struct Chunk *chunks;
    int gpu_count;
    int process_slots[MAX_GPUS];
    bool frozen, has_faults, has_delays;
    double frozen_at;
} State;
void state_lock(void);
void state_unlock(void);
const State *state_current(void); /* with the lock held; NULL before the first good file */
int state_refresh(void);          /* re-read when the file changed; an error only if none is loaded */
const char *state_path(void);
Entry *state_find(const State *state, int scope, const char *key);

/* expand.c: from lines with wildcards to one entry per GPU, link and MIG device. */
State *state_build(const Lines *lines, char *problem, size_t problem_size);
void state_free(State *state);
int error_by_name(const char *name); /* -1 when it is none */

/* clock.c: time of waves in seconds, and wall-clock timestamps in microseconds. */
double clock_monotonic(void);
double clock_of(const State *state);
double clock_now(void);
long long clock_timestamp(void);
void clock_sleep(double seconds);

/* counters.c */
void counters_carry(State *next, const State *previous);
double counter_of(const Entry *entry, double now);

/* read.c: values of a device by key; each returns an NVML code. Keys are printf formats. */
#define KEY_FORMAT(n) __attribute__((format(printf, n, n + 1)))
int read_number(const Device *device, double *value, const char *key, ...) KEY_FORMAT(3);
int read_text(const Device *device, char *text, size_t size, const char *key, ...) KEY_FORMAT(4);
int read_mean(const Device *device, double from, double *value, const char *key, ...) KEY_FORMAT(4);
int read_u32(const Device *device, unsigned *value, double scale, const char *key, ...)
    KEY_FORMAT(4);
double number_or(const Device *device, double fallback, const char *key, ...) KEY_FORMAT(3);
/* The integral of the rate `key`, plus the constant `key.offset`. */
int read_counter(const Device *device, double *value, const char *key, ...) KEY_FORMAT(3);
/* The number `key`, plus the integral of `key.rate` when there is one: for counts of rare events. */
int read_count(const Device *device, double *value, const char *key, ...) KEY_FORMAT(3);
unsigned to_u32(double value);
unsigned long long to_u64(double value);
int copy_text(const char *text, char *to, unsigned size);

/* counts.c: how often each function was called, for tests to read. */
typedef struct {
    uint64_t *cells[MAX_GPUS + 1];
} CallSite;
void counts_add(CallSite *site, const char *function, int gpu);

/* device.c */
const Device *device_handle(int gpu, int mig);
bool device_is_valid(const Device *device);
int gpu_count(void);
extern const Device the_system;

/* call.c: the way into every API function. */
int call_begin(CallSite *site, const char *function, int gpu);
int call_begin_device(CallSite *site, const char *function, const Device *device);
int call_begin_uninitialized(CallSite *site, const char *function);
void call_initialized(bool initialized);

#define RETURN_IF_ERROR(expression)                                                    \
    do {                                                                               \
        int code_ = (expression);                                                      \
        if (code_ != SIM_SUCCESS)                                                      \
            return code_;                                                              \
    } while (0)
#define DEVICE_CALL(device)                                                            \
    static CallSite site_;                                                             \
    RETURN_IF_ERROR(call_begin_device(&site_, __func__, device))
#define SYSTEM_CALL()                                                                  \
    static CallSite site_;                                                             \
    RETURN_IF_ERROR(call_begin(&site_, __func__, SYSTEM_SCOPE))
#define REQUIRE(condition)                                                             \
    do {                                                                               \
        if (!(condition))                                                              \
            return SIM_ERROR_INVALID_ARGUMENT;                                         \
    } while (0)
#define REQUIRE_VERSION(structure, type, revision)                                     \
    do {                                                                               \
        REQUIRE((structure) != NULL);                                                  \
        if ((structure)->version != SIM_VERSION(type, revision))                       \
            return SIM_ERROR_ARGUMENT_VERSION_MISMATCH;                                \
    } while (0)

/* Shared between API families. */
int pcie_describe(const Device *device, SimPciInfo *info); /* api_identity.c */
bool mig_is_on(const Device *device);                      /* api_mig.c */
int nvlink_count(const Device *device, unsigned *count);   /* api_nvlink.c */
int nvlink_peer(const Device *device, unsigned link);      /* GPU index, or a NVLINK_PEER_ value */
enum { NVLINK_PEER_SWITCH = -1, NVLINK_PEER_NONE = -2 };
int nvlink_counter(const Device *device, unsigned link, const char *direction, double *bytes);
int nvlink_error(const Device *device, unsigned link, const char *counter, double *count);
void events_notice(const State *next, const State *previous); /* api_event.c; lock held */

#endif
