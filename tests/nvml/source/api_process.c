/*
 * Processes on a GPU, from lines like
 *     gpu.0.process.1 = pid=1234 memory=70GiB type=compute sm=90 mem=30 mig=0
 */
#include "sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COMPUTE = 1, GRAPHICS = 2, MPS = 4, MAX_PROCESSES = 256 };

typedef struct {
    unsigned pid;
    int types, mig;
    unsigned long long memory;
    Wave use[6]; /* sm, mem, enc, dec, jpg, ofa */
} Process;

static const char *const use_names[] = {"sm", "mem", "enc", "dec", "jpg", "ofa"};

static void parse_word(char *word, Process *process)
{
    char *value = strchr(word, '=');
    if (!value)
        return;
    *value++ = '\0';
    double number = 0;
    bool numeric = wave_parse_number(value, &number);
    if (strcmp(word, "pid") == 0)
        process->pid = to_u32(number);
    else if (strcmp(word, "memory") == 0)
        process->memory = numeric ? to_u64(number) : SIM_UNAVAILABLE_U64;
    else if (strcmp(word, "mig") == 0)
        process->mig = (int)number;
    else if (strcmp(word, "type") == 0)
        process->types = (strstr(value, "compute") ? COMPUTE : 0) |
                         (strstr(value, "graphics") ? GRAPHICS : 0) |
                         (strstr(value, "mps") ? MPS : 0);
    for (int i = 0; i < 6; i++)
        if (strcmp(word, use_names[i]) == 0)
            wave_parse(value, 0, &process->use[i]);
}

/* Words are separated by blanks; a wave must be written without any. */
static bool parse_process(char *text, Process *process)
{
    *process = (Process){.types = COMPUTE, .mig = PHYSICAL, .memory = SIM_UNAVAILABLE_U64};
    char *rest = NULL;
    for (char *word = strtok_r(text, " \t", &rest); word; word = strtok_r(NULL, " \t", &rest))
        parse_word(word, process);
    return process->pid != 0;
}

static unsigned list_processes(const Device *device, int types, Process *list)
{
    const Device *gpu = device_handle(device->gpu, PHYSICAL);
    state_lock();
    int slots = state_current() ? state_current()->process_slots[device->gpu] : 0;
    state_unlock();
    unsigned count = 0;
    for (int i = 0; i < slots && count < MAX_PROCESSES; i++) {
        char text[512];
        if (read_text(gpu, text, sizeof text, "process.%d", i) == SIM_SUCCESS &&
            parse_process(text, &list[count]) && (list[count].types & types) &&
            (device->mig == PHYSICAL || device->mig == list[count].mig))
            count++;
    }
    return count;
}

static unsigned instance_id(const Device *device, const Process *process, const char *kind)
{
    if (process->mig == PHYSICAL)
        return SIM_NO_INSTANCE;
    return to_u32(number_or(device_handle(device->gpu, process->mig), SIM_NO_INSTANCE, "%s", kind));
}

/*
 * The size protocol of every list: too small an array says how many there are and fails; the list
 * of an idle GPU succeeds with no array at all.
 */
static int fit(unsigned *count, unsigned found, const void *array)
{
    REQUIRE(count != NULL);
    unsigned room = *count;
    *count = found;
    if (found == 0)
        return SIM_SUCCESS;
    if (room < found)
        return SIM_ERROR_INSUFFICIENT_SIZE;
    REQUIRE(array != NULL);
    return SIM_SUCCESS;
}

static int running_v1(const Device *device, int types, unsigned *count, SimProcessInfo_v1 *infos)
{
    Process list[MAX_PROCESSES];
    unsigned found = list_processes(device, types, list);
    RETURN_IF_ERROR(fit(count, found, infos));
    for (unsigned i = 0; i < found; i++)
        infos[i] = (SimProcessInfo_v1){list[i].pid, list[i].memory};
    return SIM_SUCCESS;
}

static int running_v2(const Device *device, int types, unsigned *count, SimProcessInfo_v2 *infos)
{
    Process list[MAX_PROCESSES];
    unsigned found = list_processes(device, types, list);
    RETURN_IF_ERROR(fit(count, found, infos));
    for (unsigned i = 0; i < found; i++)
        infos[i] = (SimProcessInfo_v2){list[i].pid, list[i].memory,
                                       instance_id(device, &list[i], "gpu_instance"),
                                       instance_id(device, &list[i], "compute_instance")};
    return SIM_SUCCESS;
}

#define RUNNING(visibility, function, types, layout, list)                             \
    visibility int function(const Device *device, unsigned *count, layout *infos)      \
    {                                                                                  \
        DEVICE_CALL(device);                                                           \
        return list(device, types, count, infos);                                      \
    }

RUNNING(API, nvmlDeviceGetComputeRunningProcesses, COMPUTE, SimProcessInfo_v1, running_v1)
RUNNING(API, nvmlDeviceGetGraphicsRunningProcesses, GRAPHICS, SimProcessInfo_v1, running_v1)
RUNNING(API, nvmlDeviceGetMPSComputeRunningProcesses, MPS, SimProcessInfo_v1, running_v1)
RUNNING(API, nvmlDeviceGetComputeRunningProcesses_v2, COMPUTE, SimProcessInfo_v2, running_v2)
RUNNING(API, nvmlDeviceGetGraphicsRunningProcesses_v2, GRAPHICS, SimProcessInfo_v2, running_v2)
RUNNING(API, nvmlDeviceGetMPSComputeRunningProcesses_v2, MPS, SimProcessInfo_v2, running_v2)
RUNNING(NEWER_API, nvmlDeviceGetComputeRunningProcesses_v3, COMPUTE, SimProcessInfo_v2, running_v2)
RUNNING(NEWER_API, nvmlDeviceGetGraphicsRunningProcesses_v3, GRAPHICS, SimProcessInfo_v2, running_v2)
RUNNING(NEWER_API, nvmlDeviceGetMPSComputeRunningProcesses_v3, MPS, SimProcessInfo_v2, running_v2)

NEWER_API int nvmlDeviceGetRunningProcessDetailList(const Device *device, SimProcessDetailList *details)
{
    static const int types[] = {COMPUTE, GRAPHICS, MPS};
    DEVICE_CALL(device);
    REQUIRE_VERSION(details, SimProcessDetailList, 1);
    REQUIRE(details->mode < 3);
    Process list[MAX_PROCESSES];
    unsigned found = list_processes(device, types[details->mode], list);
    RETURN_IF_ERROR(fit(&details->numProcArrayEntries, found, details->procArray));
    for (unsigned i = 0; i < found; i++)
        details->procArray[i] = (SimProcessDetail){
            list[i].pid, list[i].memory, instance_id(device, &list[i], "gpu_instance"),
            instance_id(device, &list[i], "compute_instance"), SIM_UNAVAILABLE_U64};
    return SIM_SUCCESS;
}

/* Each process's use since `last_seen` (a timestamp in microseconds), at most over one second. */
static double mean_use(const Process *process, int use, unsigned long long last_seen)
{
    double age = ((double)clock_timestamp() - (double)last_seen) / 1e6, now = clock_now();
    double span = age > 0 && age < 1 ? age : 1;
    return wave_integral(&process->use[use], now - span, now) / span;
}

static int used_since(const Device *device, unsigned long long last_seen, Process *list, unsigned *found)
{
    if (device->mig != PHYSICAL || mig_is_on(device))
        return SIM_ERROR_NOT_SUPPORTED;
    *found = list_processes(device, COMPUTE | GRAPHICS | MPS, list);
    /* Nothing newer than what the caller has seen is an error of its own, not an empty list. */
    bool nothing = *found == 0 || last_seen >= (unsigned long long)clock_timestamp();
    return nothing ? SIM_ERROR_NOT_FOUND : SIM_SUCCESS;
}

API int nvmlDeviceGetProcessUtilization(const Device *device, SimProcessUtilizationSample *samples,
                                        unsigned *count, unsigned long long last_seen)
{
    DEVICE_CALL(device);
    Process list[MAX_PROCESSES];
    unsigned found;
    RETURN_IF_ERROR(used_since(device, last_seen, list, &found));
    REQUIRE(count != NULL);
    if (!samples) {
        *count = found;
        return SIM_ERROR_INSUFFICIENT_SIZE;
    }
    RETURN_IF_ERROR(fit(count, found, samples));
    for (unsigned i = 0; i < found; i++)
        samples[i] = (SimProcessUtilizationSample){
            list[i].pid,
            (unsigned long long)clock_timestamp(),
            to_u32(mean_use(&list[i], 0, last_seen)),
            to_u32(mean_use(&list[i], 1, last_seen)),
            to_u32(mean_use(&list[i], 2, last_seen)),
            to_u32(mean_use(&list[i], 3, last_seen)),
        };
    return SIM_SUCCESS;
}

NEWER_API int nvmlDeviceGetProcessesUtilizationInfo(const Device *device,
                                                    SimProcessesUtilizationInfo *info)
{
    DEVICE_CALL(device);
    REQUIRE_VERSION(info, SimProcessesUtilizationInfo, 1);
    Process list[MAX_PROCESSES];
    unsigned found;
    unsigned long long last_seen = info->lastSeenTimeStamp;
    RETURN_IF_ERROR(used_since(device, last_seen, list, &found));
    if (!info->procUtilArray) {
        info->processSamplesCount = found;
        return SIM_ERROR_INSUFFICIENT_SIZE;
    }
    RETURN_IF_ERROR(fit(&info->processSamplesCount, found, info->procUtilArray));
    for (unsigned i = 0; i < found; i++) {
        unsigned use[6];
        for (int u = 0; u < 6; u++)
            use[u] = to_u32(mean_use(&list[i], u, last_seen));
        info->procUtilArray[i] =
            (SimProcessUtilizationInfo){(unsigned long long)clock_timestamp(), list[i].pid, use[0],
                                        use[1], use[2], use[3], use[4], use[5]};
    }
    return SIM_SUCCESS;
}
