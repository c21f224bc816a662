/*
 * Call counts in a file that GPUTOP_SIM_COUNTS names, mapped shared so that a test can read it at
 * any moment. Several processes may share one file: each claims records of its own and the reader
 * adds up those of the same function and GPU.
 *
 * Layout: an 80-byte header whose first 8 bytes count the claimed records, then records of 80
 * bytes: name[64], GPU as int32 (-1: no GPU), 4 bytes unused, calls as uint64.
 */
#include "sim.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { RECORDS = 8192 };

typedef struct {
    char name[64];
    int32_t gpu, unused;
    uint64_t calls;
} Record;

static struct {
    uint64_t claimed;
    char unused[sizeof(Record) - sizeof(uint64_t)];
    Record records[RECORDS];
} *table;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void open_table(void)
{
    const char *path = getenv("GPUTOP_SIM_COUNTS");
    int file = path ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;
    if (file < 0)
        return;
    if (ftruncate(file, sizeof *table) == 0) {
        void *map = mmap(NULL, sizeof *table, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        table = map == MAP_FAILED ? NULL : map;
    }
    close(file);
}

static uint64_t *claim(const char *function, int gpu)
{
    uint64_t number = __atomic_fetch_add(&table->claimed, 1, __ATOMIC_RELAXED);
    if (number >= RECORDS)
        return NULL;
    Record *record = &table->records[number];
    record->gpu = gpu;
    snprintf(record->name, sizeof record->name, "%s", function);
    return &record->calls;
}

void counts_add(CallSite *site, const char *function, int gpu)
{
    pthread_once(&once, open_table);
    if (!table || gpu < SYSTEM_SCOPE || gpu >= MAX_GPUS)
        return;
    uint64_t **cell = &site->cells[gpu + 1];
    uint64_t *calls = __atomic_load_n(cell, __ATOMIC_ACQUIRE);
    if (!calls) {
        uint64_t *none = NULL, *mine = claim(function, gpu);
        if (!mine)
            return;
        /* A second thread may have claimed one too: the loser's record stays at zero. */
        calls = __atomic_compare_exchange_n(cell, &none, mine, false, __ATOMIC_ACQ_REL,
                                            __ATOMIC_ACQUIRE)
                    ? mine
                    : none;
    }
    __atomic_fetch_add(calls, 1, __ATOMIC_RELAXED);
}
