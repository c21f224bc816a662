/* Numbers over time: constant, sine, square and ramp, each with its closed-form integral. */
#include "sim.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double TWO_PI = 6.283185307179586476925286766559;

static bool unit_factor(const char *unit, double *factor)
{
    static const struct {
        const char *name;
        double factor;
    } units[] = {
        {"", 1},      {"KiB", 1024.0}, {"MiB", 1048576.0}, {"GiB", 1073741824.0},
        {"TiB", 1099511627776.0},      {"k", 1e3},         {"M", 1e6},
        {"G", 1e9},   {"kB", 1e3},     {"MB", 1e6},        {"GB", 1e9},
    };
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(unit, units[i].name) == 0) {
            *factor = units[i].factor;
            return true;
        }
    return false;
}

bool wave_parse_number(const char *text, double *number)
{
    if (strcmp(text, "true") == 0 || strcmp(text, "false") == 0) {
        *number = text[0] == 't';
        return true;
    }
    if (!isdigit((unsigned char)text[0]) && !strchr("+-.", text[0]))
        return false; /* strtod would take "inf" and "nan" for numbers */
    char *end;
    double factor, value = strtod(text, &end);
    if (end == text)
        return false;
    while (*end == ' ')
        end++;
    if (!unit_factor(end, &factor))
        return false;
    *number = value * factor;
    return true;
}

/* The form of each wave: the names of its arguments in order, the first `required` must be given. */
static const struct Form {
    const char *name;
    WaveKind kind;
    int required;
    const char *arguments[6];
} forms[] = {
    {"sine", WAVE_SINE, 3, {"mean", "amplitude", "period", "phase", "spread"}},
    {"square", WAVE_SQUARE, 3, {"low", "high", "period", "duty", "phase", "spread"}},
    {"ramp", WAVE_RAMP, 4, {"from", "to", "begin", "seconds"}},
};

static bool parse_arguments(const struct Form *form, char *list, double values[6], bool given[6])
{
    char *rest = NULL;
    int position = 0;
    for (char *item = strtok_r(list, ",", &rest); item; item = strtok_r(NULL, ",", &rest)) {
        while (*item == ' ')
            item++;
        for (size_t n = strlen(item); n && item[n - 1] == ' ';)
            item[--n] = '\0';
        int slot = position++;
        char *equals = strchr(item, '=');
        if (equals) {
            *equals = '\0';
            for (slot = 0; slot < 6; slot++)
                if (form->arguments[slot] && strcmp(form->arguments[slot], item) == 0)
                    break;
            item = equals + 1;
        }
        if (slot >= 6 || !form->arguments[slot] || !wave_parse_number(item, &values[slot]))
            return false;
        given[slot] = true;
    }
    for (int i = 0; i < form->required; i++)
        if (!given[i])
            return false;
    return true;
}

WaveParse wave_parse(const char *text, int gpu, Wave *wave)
{
    *wave = (Wave){.kind = WAVE_CONSTANT};
    if (wave_parse_number(text, &wave->first))
        return PARSED_WAVE;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        const struct Form *form = &forms[i];
        size_t length = strlen(form->name);
        if (strncmp(text, form->name, length) != 0 || text[length] != '(')
            continue;
        char list[256];
        double v[6] = {0};
        bool given[6] = {false};
        size_t size = strlen(text + length + 1);
        if (size == 0 || size >= sizeof list || text[length + size] != ')')
            return PARSED_WRONGLY;
        memcpy(list, text + length + 1, size - 1);
        list[size - 1] = '\0';
        if (!parse_arguments(form, list, v, given))
            return PARSED_WRONGLY;
        int gpu_or_zero = gpu > 0 ? gpu : 0;
        *wave = (Wave){.kind = form->kind, .first = v[0], .second = v[1], .period = v[2]};
        if (form->kind == WAVE_SINE) {
            wave->phase = v[3] + v[4] * gpu_or_zero;
        } else if (form->kind == WAVE_SQUARE) {
            wave->duty = given[3] ? v[3] : 0.5;
            wave->phase = v[4] + v[5] * gpu_or_zero;
        } else {
            wave->begin = v[2];
            wave->period = v[3];
        }
        return wave->period > 0 ? PARSED_WAVE : PARSED_WRONGLY;
    }
    return PARSED_TEXT;
}

double wave_value(const Wave *w, double time)
{
    double turns = w->period > 0 ? time / w->period + w->phase : 0;
    switch (w->kind) {
    case WAVE_SINE:
        return w->first + w->second * sin(TWO_PI * turns);
    case WAVE_SQUARE:
        return turns - floor(turns) < w->duty ? w->second : w->first;
    case WAVE_RAMP: {
        double done = (time - w->begin) / w->period;
        done = done < 0 ? 0 : done > 1 ? 1 : done;
        return w->first + (w->second - w->first) * done;
    }
    default:
        return w->first;
    }
}

/* An antiderivative of the periodic or piecewise part; differences of it are exact. */
static double primitive(const Wave *w, double time)
{
    if (w->kind == WAVE_SQUARE) {
        double turns = time / w->period + w->phase, whole = floor(turns), part = turns - whole;
        double high = part < w->duty ? part : w->duty;
        return w->period * ((whole * w->duty + high) * (w->second - w->first));
    }
    /* Ramp: the area above `first`. */
    double inside = time - w->begin;
    if (inside <= 0)
        return 0;
    double rise = w->second - w->first;
    if (inside >= w->period)
        return rise * (inside - w->period / 2);
    return rise * inside * inside / (2 * w->period);
}

double wave_integral(const Wave *w, double from, double to)
{
    double flat = w->first * (to - from);
    if (w->kind == WAVE_CONSTANT)
        return flat;
    if (w->kind == WAVE_SINE) {
        double scale = w->second * w->period / TWO_PI;
        return flat - scale * (cos(TWO_PI * (to / w->period + w->phase)) -
                               cos(TWO_PI * (from / w->period + w->phase)));
    }
    return flat + primitive(w, to) - primitive(w, from);
}
