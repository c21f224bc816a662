/* Memory errors, retired pages and remapped rows. */
#include "sim.h"

#include <stdlib.h>
#include <string.h>

static const char *const kinds[] = {"corrected", "uncorrected"};
static const char *const spans[] = {"volatile", "aggregate"};

static int count_at(const Device *device, unsigned kind, unsigned span, const char *place,
                    unsigned long long *count)
{
    double errors = 0;
    int code = read_count(device, &errors, "ecc.%s.%s%s", kinds[kind], spans[span], place);
    /* A place without a line of its own has had no errors; without ECC nothing is supported. */
    if (code == SIM_ERROR_NOT_SUPPORTED && *place && number_or(device, 0, "ecc.mode") != 0)
        code = SIM_SUCCESS;
    *count = to_u64(errors);
    return code;
}

API int nvmlDeviceGetTotalEccErrors(const Device *device, unsigned kind, unsigned span,
                                    unsigned long long *count)
{
    DEVICE_CALL(device);
    REQUIRE(kind < 2 && span < 2 && count != NULL);
    return count_at(device, kind, span, "", count);
}

API int nvmlDeviceGetDetailedEccErrors(const Device *device, unsigned kind, unsigned span,
                                       SimEccErrorCounts *counts)
{
    DEVICE_CALL(device);
    REQUIRE(kind < 2 && span < 2 && counts != NULL);
    RETURN_IF_ERROR(count_at(device, kind, span, ".l1", &counts->l1Cache));
    RETURN_IF_ERROR(count_at(device, kind, span, ".l2", &counts->l2Cache));
    RETURN_IF_ERROR(count_at(device, kind, span, ".memory", &counts->deviceMemory));
    return count_at(device, kind, span, ".register_file", &counts->registerFile);
}

API int nvmlDeviceGetMemoryErrorCounter(const Device *device, unsigned kind, unsigned span,
                                        unsigned place, unsigned long long *count)
{
    static const char *const places[] = {".l1",      ".l2",          ".memory", ".register_file",
                                         ".texture", ".texture_shm", ".cbu",    ".sram"};
    DEVICE_CALL(device);
    REQUIRE(kind < 2 && span < 2 && place < 8 && count != NULL);
    return count_at(device, kind, span, places[place], count);
}

API int nvmlDeviceGetDefaultEccMode(const Device *device, unsigned *mode)
{
    DEVICE_CALL(device);
    return read_u32(device, mode, 1, "ecc.mode.default");
}

API int nvmlDeviceGetRemappedRows(const Device *device, unsigned *corrected, unsigned *uncorrected,
                                  unsigned *pending, unsigned *failure)
{
    DEVICE_CALL(device);
    double count;
    REQUIRE(corrected && uncorrected);
    RETURN_IF_ERROR(read_count(device, &count, "remapped.corrected"));
    *corrected = to_u32(count);
    RETURN_IF_ERROR(read_count(device, &count, "remapped.uncorrected"));
    *uncorrected = to_u32(count);
    RETURN_IF_ERROR(read_u32(device, pending, 1, "remapped.pending"));
    return read_u32(device, failure, 1, "remapped.failure");
}

API int nvmlDeviceGetRowRemapperHistogram(const Device *device, SimRowRemapperHistogram *histogram)
{
    DEVICE_CALL(device);
    REQUIRE(histogram != NULL);
    RETURN_IF_ERROR(read_u32(device, &histogram->max, 1, "remapped.banks.max"));
    RETURN_IF_ERROR(read_u32(device, &histogram->high, 1, "remapped.banks.high"));
    RETURN_IF_ERROR(read_u32(device, &histogram->partial, 1, "remapped.banks.partial"));
    RETURN_IF_ERROR(read_u32(device, &histogram->low, 1, "remapped.banks.low"));
    return read_u32(device, &histogram->none, 1, "remapped.banks.none");
}

/* `retired.pages.corrected = 0x1000 0x2000`: the addresses, in the order they were retired. */
static int retired_pages(const Device *device, unsigned cause, unsigned *count,
                         unsigned long long *addresses, unsigned long long *timestamps)
{
    char text[1024], *rest = NULL;
    REQUIRE(cause < 2 && count != NULL);
    RETURN_IF_ERROR(read_text(device, text, sizeof text, "retired.pages.%s", kinds[cause]));
    unsigned room = *count, found = 0;
    for (char *word = strtok_r(text, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        if (strcmp(word, "none") == 0)
            break;
        if (found < room && addresses)
            addresses[found] = strtoull(word, NULL, 0);
        if (found < room && timestamps)
            timestamps[found] = 0;
        found++;
    }
    *count = found;
    return found > room ? SIM_ERROR_INSUFFICIENT_SIZE : SIM_SUCCESS;
}

API int nvmlDeviceGetRetiredPages(const Device *device, unsigned cause, unsigned *count,
                                  unsigned long long *addresses)
{
    DEVICE_CALL(device);
    return retired_pages(device, cause, count, addresses, NULL);
}

API int nvmlDeviceGetRetiredPages_v2(const Device *device, unsigned cause, unsigned *count,
                                     unsigned long long *addresses, unsigned long long *timestamps)
{
    DEVICE_CALL(device);
    return retired_pages(device, cause, count, addresses, timestamps);
}
