/*
 * GPU performance monitoring: a sample holds the integral of every metric's wave, so the difference
 * of two samples over their time is the exact mean between them. Two samples of the same instant
 * (a frozen clock) give the present value.
 */
#include "sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    unsigned id;
    const char *key, *short_name, *unit;
    double scale;
} Metric;

#define PERCENT(id, key, name) {id, "gpm." key, name, "%", 1}
#define MIB(id, key, name) {id, key, name, "MiB/s", 1 / 1048576.0}

static const Metric metrics[] = {
    PERCENT(1, "graphics", "Graphics Util"),
    PERCENT(2, "sm", "SM Util"),
    PERCENT(3, "occupancy", "SM Occupancy"),
    PERCENT(4, "integer", "Integer Util"),
    PERCENT(5, "tensor", "Any Tensor Util"),
    PERCENT(6, "tensor.dfma", "DFMA Tensor Util"),
    PERCENT(7, "tensor.hmma", "HMMA Tensor Util"),
    PERCENT(8, "tensor.dmma", "DMMA Tensor Util"),
    PERCENT(9, "tensor.imma", "IMMA Tensor Util"),
    PERCENT(10, "dram", "DRAM BW Util"),
    PERCENT(11, "fp64", "FP64 Util"),
    PERCENT(12, "fp32", "FP32 Util"),
    PERCENT(13, "fp16", "FP16 Util"),
    MIB(20, "pcie.tx", "PCIe TX"),
    MIB(21, "pcie.rx", "PCIe RX"),
    PERCENT(30, "nvdec.0", "NVDEC 0 Util"),
    PERCENT(40, "nvjpg.0", "NVJPG 0 Util"),
    PERCENT(50, "nvofa.0", "NVOFA 0 Util"),
};

enum {
    METRICS = sizeof metrics / sizeof *metrics,
    TOTAL_RX = 60, /* NVLink of all links: RX, TX; then RX, TX of each link from L0_RX on */
    L0_RX = 62,
    GPM_LINKS = 18,
    SAMPLE_MAGIC = 0x47504D31,
};

typedef struct {
    double integral, now;
    bool known;
} Reading;

struct GpmSample {
    unsigned magic;
    const Device *device;
    double time;
    Reading metrics[METRICS];
    Reading links[GPM_LINKS][2]; /* rx, tx */
};

NEWER_API int nvmlGpmQueryDeviceSupport(const Device *device, SimGpmSupport *support)
{
    DEVICE_CALL(device);
    REQUIRE(support != NULL);
    if (support->version != 1) /* GPM numbers its structures plainly */
        return SIM_ERROR_ARGUMENT_VERSION_MISMATCH;
    support->isSupportedDevice = number_or(device, 0, "gpm.supported") != 0;
    return SIM_SUCCESS;
}

NEWER_API int nvmlGpmSampleAlloc(struct GpmSample **sample)
{
    SYSTEM_CALL();
    REQUIRE(sample != NULL);
    *sample = calloc(1, sizeof **sample);
    (*sample)->magic = SAMPLE_MAGIC;
    return SIM_SUCCESS;
}

NEWER_API int nvmlGpmSampleFree(struct GpmSample *sample)
{
    SYSTEM_CALL();
    REQUIRE(sample != NULL && sample->magic == SAMPLE_MAGIC);
    sample->magic = 0;
    free(sample);
    return SIM_SUCCESS;
}

static void take(Reading *reading, const State *state, const Device *device, const char *key)
{
    const Entry *entry = state_find(state, device->gpu, key);
    reading->known = entry && entry->form == PARSED_WAVE && entry->error == SIM_SUCCESS;
    if (!reading->known)
        return;
    reading->integral = counter_of(entry, clock_of(state));
    reading->now = wave_value(&entry->wave, clock_of(state));
}

static void link_key(char *key, size_t size, unsigned link, bool tx)
{
    snprintf(key, size, "nvlink.%u.%s", link, tx ? "tx" : "rx");
}

/* All under one lock, so that one sample is one instant of one state. */
static int sample_get(const Device *device, const Device *scope, struct GpmSample *sample)
{
    REQUIRE(sample != NULL && sample->magic == SAMPLE_MAGIC);
    if (number_or(device_handle(device->gpu, PHYSICAL), 0, "gpm.supported") == 0)
        return SIM_ERROR_NOT_SUPPORTED;
    char key[64];
    state_lock();
    const State *state = state_current();
    sample->device = scope;
    sample->time = clock_of(state);
    for (unsigned i = 0; i < METRICS; i++) {
        if (scope->mig == PHYSICAL)
            snprintf(key, sizeof key, "%s", metrics[i].key);
        else
            snprintf(key, sizeof key, "mig.%d.%s", scope->mig, metrics[i].key);
        take(&sample->metrics[i], state, device, key);
    }
    for (unsigned i = 0; i < GPM_LINKS * 2 && scope->mig == PHYSICAL; i++) {
        link_key(key, sizeof key, i / 2, i % 2);
        take(&sample->links[i / 2][i % 2], state, device, key);
    }
    state_unlock();
    return SIM_SUCCESS;
}

NEWER_API int nvmlGpmSampleGet(const Device *device, struct GpmSample *sample)
{
    DEVICE_CALL(device);
    return sample_get(device, device, sample);
}

NEWER_API int nvmlGpmMigSampleGet(const Device *device, unsigned gpu_instance,
                                  struct GpmSample *sample)
{
    DEVICE_CALL(device);
    for (int mig = 0; mig < MAX_MIG_DEVICES; mig++) {
        const Device *instance = device_handle(device->gpu, mig);
        if (number_or(instance, -1, "gpu_instance") == gpu_instance)
            return sample_get(device, instance, sample);
    }
    return SIM_ERROR_NOT_FOUND;
}

static bool mean(const Reading *before, const Reading *after, double seconds, double *value)
{
    *value = seconds != 0 ? (after->integral - before->integral) / seconds : after->now;
    return before->known && after->known;
}

static bool link_mean(const struct GpmSample *a, const struct GpmSample *b, unsigned id,
                      double *value)
{
    double seconds = b->time - a->time, one;
    if (id >= L0_RX) {
        unsigned link = (id - L0_RX) / 2, tx = (id - L0_RX) % 2;
        return mean(&a->links[link][tx], &b->links[link][tx], seconds, value);
    }
    bool any = false;
    *value = 0;
    for (unsigned link = 0; link < GPM_LINKS; link++)
        if (mean(&a->links[link][id - TOTAL_RX], &b->links[link][id - TOTAL_RX], seconds, &one)) {
            *value += one;
            any = true;
        }
    return any;
}

static void answer_metric(const struct GpmSample *a, const struct GpmSample *b, SimGpmMetric *metric)
{
    metric->nvmlReturn = SIM_ERROR_NOT_SUPPORTED;
    metric->value = 0;
    memset(&metric->metricInfo, 0, sizeof metric->metricInfo);
    if (metric->metricId == 0 || metric->metricId >= SIM_GPM_METRIC_MAX)
        metric->nvmlReturn = SIM_ERROR_INVALID_ARGUMENT;
    if (metric->metricId >= TOTAL_RX && metric->metricId < L0_RX + 2 * GPM_LINKS) {
        if (link_mean(a, b, metric->metricId, &metric->value))
            metric->nvmlReturn = SIM_SUCCESS;
        metric->value /= 1048576.0;
        metric->metricInfo.shortName = metric->metricInfo.longName = (char *)"NVLink";
        metric->metricInfo.unit = (char *)"MiB/s";
    }
    for (unsigned i = 0; i < METRICS; i++)
        if (metrics[i].id == metric->metricId) {
            if (mean(&a->metrics[i], &b->metrics[i], b->time - a->time, &metric->value))
                metric->nvmlReturn = SIM_SUCCESS;
            metric->value *= metrics[i].scale;
            metric->metricInfo.shortName = (char *)metrics[i].short_name;
            metric->metricInfo.longName = (char *)metrics[i].short_name;
            metric->metricInfo.unit = (char *)metrics[i].unit;
        }
}

NEWER_API int nvmlGpmMetricsGet(SimGpmMetricsGet *request)
{
    REQUIRE(request != NULL && request->sample1 && request->sample2);
    const struct GpmSample *a = request->sample1, *b = request->sample2;
    REQUIRE(a->magic == SAMPLE_MAGIC && b->magic == SAMPLE_MAGIC);
    static CallSite site;
    /* Reads no hardware, yet belongs to a GPU: faults and counts go by the samples' device. */
    RETURN_IF_ERROR(call_begin(&site, __func__, b->device ? b->device->gpu : SYSTEM_SCOPE));
    if (request->version != 1)
        return SIM_ERROR_ARGUMENT_VERSION_MISMATCH;
    REQUIRE(a->device != NULL && a->device == b->device);
    REQUIRE(b->time >= a->time && request->numMetrics <= SIM_GPM_METRIC_MAX);
    for (unsigned i = 0; i < request->numMetrics; i++)
        answer_metric(a, b, &request->metrics[i]);
    return SIM_SUCCESS;
}
