/* The present state: loaded from the file that GPUTOP_SIM_STATE names, again whenever it changes. */
#include "sim.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static State *current;
static struct stat loaded; /* the version last looked at, good or bad */
static bool missing_reported;

void state_lock(void)
{
    pthread_mutex_lock(&lock);
}

void state_unlock(void)
{
    pthread_mutex_unlock(&lock);
}

const State *state_current(void)
{
    return current;
}

const char *state_path(void)
{
    return getenv("GPUTOP_SIM_STATE");
}

static bool same_version(const struct stat *a, const struct stat *b)
{
    return a->st_ino == b->st_ino && a->st_dev == b->st_dev && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static void complain(const char *problem)
{
    fprintf(stderr, "simulated NVML: %s%s\n", problem,
            current ? "; the previous state stays" : "");
}

static void load(const char *path)
{
    char problem[512] = "";
    Lines lines = {0};
    State *next = NULL;
    if (lines_read(path, &lines, problem, sizeof problem))
        next = state_build(&lines, problem, sizeof problem);
    lines_free(&lines);
    if (!next) {
        complain(problem);
        return;
    }
    counters_carry(next, current);
    events_notice(next, current);
    state_free(current);
    current = next;
}

/*
 * One stat per API call: cheap beside the call itself, and a test that replaces the file sees the
 * new state in the very next call.
 */
int state_refresh(void)
{
    const char *path = state_path();
    struct stat now;
    state_lock();
    if (!path || stat(path, &now) != 0) {
        if (!missing_reported)
            complain(path ? "the state file is missing" : "GPUTOP_SIM_STATE names no state file");
        missing_reported = true;
    } else if (!same_version(&now, &loaded)) {
        /* Read after stat: a file replaced in between is noticed again by the next call. */
        loaded = now;
        missing_reported = false;
        load(path);
    }
    int code = current ? SIM_SUCCESS : SIM_ERROR_DRIVER_NOT_LOADED;
    state_unlock();
    return code;
}
