/* Reading values of a device from the present state, and turning them into what the ABI carries. */
#include "sim.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { KEY_SIZE = 160 };

/* Keys of a MIG device live under its GPU as mig.N.KEY. */
static void full_key(const Device *device, char *full, const char *key, va_list arguments)
{
    int used = device->mig == PHYSICAL ? 0 : snprintf(full, KEY_SIZE, "mig.%d.", device->mig);
    vsnprintf(full + used, (size_t)(KEY_SIZE - used), key, arguments);
}

static Entry *find(const Device *device, const char *key)
{
    return state_current() ? state_find(state_current(), device->gpu, key) : NULL;
}

static int entry_error(const Entry *entry, WaveParse form)
{
    if (!entry)
        return SIM_ERROR_NOT_SUPPORTED;
    if (entry->error != SIM_SUCCESS)
        return entry->error;
    return form == PARSED_WAVE && entry->form != PARSED_WAVE ? SIM_ERROR_NOT_SUPPORTED : SIM_SUCCESS;
}

#define FULL_KEY(key)                                                                  \
    char full[KEY_SIZE];                                                               \
    va_list arguments;                                                                 \
    va_start(arguments, key);                                                          \
    full_key(device, full, key, arguments);                                            \
    va_end(arguments)

static int number_at(const Device *device, const char *full, double *value)
{
    state_lock();
    const Entry *entry = find(device, full);
    int code = entry_error(entry, PARSED_WAVE);
    if (code == SIM_SUCCESS)
        *value = wave_value(&entry->wave, clock_of(state_current()));
    state_unlock();
    return code;
}

int read_number(const Device *device, double *value, const char *key, ...)
{
    FULL_KEY(key);
    return number_at(device, full, value);
}

double number_or(const Device *device, double fallback, const char *key, ...)
{
    FULL_KEY(key);
    double value;
    return number_at(device, full, &value) == SIM_SUCCESS ? value : fallback;
}

int read_u32(const Device *device, unsigned *value, double scale, const char *key, ...)
{
    FULL_KEY(key);
    double number;
    REQUIRE(value != NULL);
    RETURN_IF_ERROR(number_at(device, full, &number));
    *value = to_u32(number * scale);
    return SIM_SUCCESS;
}

int read_text(const Device *device, char *text, size_t size, const char *key, ...)
{
    FULL_KEY(key);
    REQUIRE(text != NULL && size > 0);
    state_lock();
    const Entry *entry = find(device, full);
    int code = entry_error(entry, PARSED_TEXT);
    if (code == SIM_SUCCESS)
        code = copy_text(entry->text, text, (unsigned)size);
    state_unlock();
    return code;
}

/* The mean of a wave since the time `from`; its present value when no time has passed. */
int read_mean(const Device *device, double from, double *value, const char *key, ...)
{
    FULL_KEY(key);
    state_lock();
    const Entry *entry = find(device, full);
    int code = entry_error(entry, PARSED_WAVE);
    double now = clock_of(state_current());
    if (code == SIM_SUCCESS)
        *value = now > from ? wave_integral(&entry->wave, from, now) / (now - from)
                            : wave_value(&entry->wave, now);
    state_unlock();
    return code;
}

int read_counter(const Device *device, double *value, const char *key, ...)
{
    FULL_KEY(key);
    state_lock();
    const Entry *entry = find(device, full);
    int code = entry_error(entry, PARSED_WAVE);
    if (code == SIM_SUCCESS)
        *value = counter_of(entry, clock_of(state_current()));
    state_unlock();
    double offset;
    strncat(full, ".offset", sizeof full - strlen(full) - 1);
    if (code == SIM_SUCCESS && number_at(device, full, &offset) == SIM_SUCCESS)
        *value += offset;
    return code;
}

int read_count(const Device *device, double *value, const char *key, ...)
{
    FULL_KEY(key);
    RETURN_IF_ERROR(number_at(device, full, value));
    strncat(full, ".rate", sizeof full - strlen(full) - 1);
    state_lock();
    const Entry *rate = find(device, full);
    if (rate && rate->form == PARSED_WAVE)
        *value += counter_of(rate, clock_of(state_current()));
    state_unlock();
    return SIM_SUCCESS;
}

unsigned to_u32(double value)
{
    return value <= 0 ? 0 : value >= UINT32_MAX ? UINT32_MAX : (unsigned)(value + 0.5);
}

unsigned long long to_u64(double value)
{
    return value <= 0 ? 0 : value >= 18446744073709549568.0 ? UINT64_MAX
                                                            : (unsigned long long)(value + 0.5);
}

int copy_text(const char *text, char *to, unsigned size)
{
    REQUIRE(to != NULL);
    if (strlen(text) >= size)
        return SIM_ERROR_INSUFFICIENT_SIZE;
    strcpy(to, text);
    return SIM_SUCCESS;
}
