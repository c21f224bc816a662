/* Starting, ending, and what belongs to no GPU. */
#include "sim.h"

#include <stdio.h>
#include <string.h>

static int initialize(CallSite *site, const char *function)
{
    RETURN_IF_ERROR(call_begin_uninitialized(site, function));
    call_initialized(true);
    return SIM_SUCCESS;
}

API int nvmlInit_v2(void)
{
    static CallSite site;
    return initialize(&site, __func__);
}

API int nvmlInit(void)
{
    static CallSite site;
    return initialize(&site, __func__);
}

API int nvmlInitWithFlags(unsigned flags)
{
    static CallSite site;
    (void)flags;
    return initialize(&site, __func__);
}

API int nvmlShutdown(void)
{
    SYSTEM_CALL();
    call_initialized(false);
    return SIM_SUCCESS;
}

API const char *nvmlErrorString(int code)
{
    switch (code) {
#define SIM_ERROR_TEXT(name, number, text)                                             \
    case number:                                                                       \
        return text;
        SIM_ERRORS(SIM_ERROR_TEXT)
#undef SIM_ERROR_TEXT
    }
    return "Unknown Error";
}

API int nvmlSystemGetDriverVersion(char *version, unsigned length)
{
    SYSTEM_CALL();
    return read_text(&the_system, version, length, "driver_version");
}

API int nvmlSystemGetNVMLVersion(char *version, unsigned length)
{
    SYSTEM_CALL();
    return read_text(&the_system, version, length, "nvml_version");
}

static int cuda_version(int *version)
{
    double number;
    REQUIRE(version != NULL);
    RETURN_IF_ERROR(read_number(&the_system, &number, "cuda_version"));
    *version = (int)number;
    return SIM_SUCCESS;
}

API int nvmlSystemGetCudaDriverVersion(int *version)
{
    SYSTEM_CALL();
    return cuda_version(version);
}

API int nvmlSystemGetCudaDriverVersion_v2(int *version)
{
    SYSTEM_CALL();
    return cuda_version(version);
}

/* The name a process line gives, else what the machine says about that pid. */
API int nvmlSystemGetProcessName(unsigned pid, char *name, unsigned length)
{
    SYSTEM_CALL();
    REQUIRE(name != NULL && length > 0);
    char path[64], text[256] = "";
    if (read_text(&the_system, text, sizeof text, "process_name.%u", pid) != SIM_SUCCESS) {
        snprintf(path, sizeof path, "/proc/%u/cmdline", pid);
        FILE *file = fopen(path, "re");
        if (!file)
            return SIM_ERROR_NOT_FOUND;
        size_t size = fread(text, 1, sizeof text - 1, file);
        text[size] = '\0';
        fclose(file);
    }
    snprintf(name, length, "%s", text); /* the real one shortens silently, too */
    return SIM_SUCCESS;
}

static int count_gpus(unsigned *count)
{
    REQUIRE(count != NULL);
    *count = (unsigned)gpu_count();
    return SIM_SUCCESS;
}

API int nvmlDeviceGetCount_v2(unsigned *count)
{
    SYSTEM_CALL();
    return count_gpus(count);
}

API int nvmlDeviceGetCount(unsigned *count)
{
    SYSTEM_CALL();
    return count_gpus(count);
}

API int nvmlUnitGetCount(unsigned *count)
{
    SYSTEM_CALL();
    REQUIRE(count != NULL);
    *count = 0;
    return SIM_SUCCESS;
}
