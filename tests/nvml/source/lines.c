/* Reads a state file and the profiles it includes into key/value lines, lowest priority first. */
#include "sim.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_INCLUDE_DEPTH = 8 };

static char *trimmed(char *text)
{
    while (isspace((unsigned char)*text))
        text++;
    for (size_t n = strlen(text); n && isspace((unsigned char)text[n - 1]);)
        text[--n] = '\0';
    return text;
}

static void lines_add(Lines *lines, const char *key, const char *value, int layer)
{
    if (lines->count == lines->capacity) {
        lines->capacity = lines->capacity ? lines->capacity * 2 : 128;
        lines->items = realloc(lines->items, lines->capacity * sizeof *lines->items);
    }
    int stars = 0;
    for (const char *c = key; *c; c++)
        stars += *c == '*';
    lines->items[lines->count] = (Line){strdup(key), strdup(value), layer, stars, (int)lines->count};
    lines->count++;
}

static void path_beside(const char *file, const char *name, char *path, size_t size)
{
    const char *slash = strrchr(file, '/');
    if (name[0] == '/' || !slash)
        snprintf(path, size, "%s", name);
    else
        snprintf(path, size, "%.*s/%s", (int)(slash - file), file, name);
}

static bool read_file(const char *path, int depth, Lines *lines, char *problem, size_t size)
{
    FILE *file = depth <= MAX_INCLUDE_DEPTH ? fopen(path, "re") : NULL;
    if (!file) {
        snprintf(problem, size, "%s: %s", path,
                 depth <= MAX_INCLUDE_DEPTH ? strerror(errno) : "included too deeply");
        return false;
    }
    char text[4096], other[4096];
    int number = 0;
    bool fine = true;
    while (fine && fgets(text, sizeof text, file)) {
        number++;
        char *key = trimmed(text), *equals = strchr(key, '=');
        if (*key == '\0' || *key == '#')
            continue;
        if (!equals || equals == key) {
            snprintf(problem, size, "%s:%d: not a \"key = value\" line", path, number);
            fine = false;
            break;
        }
        *equals = '\0';
        char *value = trimmed(equals + 1);
        key = trimmed(key);
        char *comment = strstr(value, " #"); /* a bare '#' may be part of a value */
        if (comment) {
            *comment = '\0';
            value = trimmed(value);
        }
        if (strcmp(key, "include") == 0) {
            path_beside(path, value, other, sizeof other);
            fine = read_file(other, depth + 1, lines, problem, size);
        } else {
            lines_add(lines, key, value, -depth);
        }
    }
    fclose(file);
    return fine;
}

/*
 * The including file beats what it includes; within one file the line with fewer wildcards beats
 * the one with more, and among equals the later one wins.
 */
static int by_priority(const void *left, const void *right)
{
    const Line *a = left, *b = right;
    if (a->layer != b->layer)
        return a->layer - b->layer;
    if (a->stars != b->stars)
        return b->stars - a->stars;
    return a->order - b->order;
}

bool lines_read(const char *path, Lines *lines, char *problem, size_t problem_size)
{
    if (!read_file(path, 0, lines, problem, problem_size))
        return false;
    qsort(lines->items, lines->count, sizeof *lines->items, by_priority);
    return true;
}

void lines_free(Lines *lines)
{
    for (size_t i = 0; i < lines->count; i++) {
        free(lines->items[i].key);
        free(lines->items[i].value);
    }
    free(lines->items);
    *lines = (Lines){0};
}
