/*
 * nvmlDeviceGetFieldValues: many readings in one call, each with its own code and timestamp.
 *
 * One table line per field. KEY: a plain number. COUNT: a number of events. COUNTER: the integral
 * of a rate. LINK_*: the same of one NVLink, which the field's scope names; ALL_LINKS sums.
 */
#include "sim.h"

#include <stdlib.h>

typedef enum { KEY, COUNT, COUNTER, LINK_KEY, LINK_STATE, LINK_COUNTER, LINK_ERROR } Source;

typedef struct {
    Source source;
    const char *key;
    double scale;
    enum SimValueType type;
    int link; /* BY_SCOPE, ALL, or a fixed link */
} Field;

enum { BY_SCOPE = -1, ALL = -2 };
static const unsigned ALL_LINKS = UINT32_MAX;

#define PER_LINK_ERRORS(first, name)                                                   \
    [first] = {LINK_ERROR, name, 1, SIM_TYPE_ULONGLONG, 0},                            \
    [first + 1] = {LINK_ERROR, name, 1, SIM_TYPE_ULONGLONG, 1},                        \
    [first + 2] = {LINK_ERROR, name, 1, SIM_TYPE_ULONGLONG, 2},                        \
    [first + 3] = {LINK_ERROR, name, 1, SIM_TYPE_ULONGLONG, 3},                        \
    [first + 4] = {LINK_ERROR, name, 1, SIM_TYPE_ULONGLONG, 4},                        \
    [first + 5] = {LINK_ERROR, name, 1, SIM_TYPE_ULONGLONG, 5},                        \
    [first + 6] = {LINK_ERROR, name, 1, SIM_TYPE_ULONGLONG, ALL}
#define SPEED(id, link) [id] = {LINK_KEY, "speed", 1, SIM_TYPE_UINT, link}
#define U32(key) {KEY, key, 1, SIM_TYPE_UINT, 0}
#define U64(key) {KEY, key, 1, SIM_TYPE_ULONGLONG, 0}
#define EVENTS(key) {COUNT, key, 1, SIM_TYPE_ULONGLONG, 0}

static const Field fields[SIM_FIELD_MAX] = {
    [1] = U32("ecc.mode"),
    [2] = U32("ecc.mode.pending"),
    [3] = EVENTS("ecc.corrected.volatile"),
    [4] = EVENTS("ecc.uncorrected.volatile"),
    [5] = EVENTS("ecc.corrected.aggregate"),
    [6] = EVENTS("ecc.uncorrected.aggregate"),
    [29] = EVENTS("retired.corrected"),
    [30] = EVENTS("retired.uncorrected"),
    [31] = U32("retired.pending"),
    PER_LINK_ERRORS(32, "crc_flit"),
    PER_LINK_ERRORS(39, "crc_data"),
    PER_LINK_ERRORS(46, "replay"),
    PER_LINK_ERRORS(53, "recovery"),
    [74] = {COUNTER, "violation.power", 1e9, SIM_TYPE_ULONGLONG, 0},
    [75] = {COUNTER, "violation.thermal", 1e9, SIM_TYPE_ULONGLONG, 0},
    [76] = {COUNTER, "violation.sync_boost", 1e9, SIM_TYPE_ULONGLONG, 0},
    [77] = {COUNTER, "violation.board_limit", 1e9, SIM_TYPE_ULONGLONG, 0},
    [78] = {COUNTER, "violation.low_utilization", 1e9, SIM_TYPE_ULONGLONG, 0},
    [79] = {COUNTER, "violation.reliability", 1e9, SIM_TYPE_ULONGLONG, 0},
    [80] = {COUNTER, "violation.app_clocks", 1e9, SIM_TYPE_ULONGLONG, 0},
    [81] = {COUNTER, "violation.base_clocks", 1e9, SIM_TYPE_ULONGLONG, 0},
    [82] = U32("temperature.memory"),
    [83] = {COUNTER, "power", 1000, SIM_TYPE_ULONGLONG, 0},
    SPEED(84, 0), SPEED(85, 1), SPEED(86, 2), SPEED(87, 3), SPEED(88, 4), SPEED(89, 5),
    [90] = {KEY, "nvlink.0.speed", 1, SIM_TYPE_UINT, 0},
    [91] = U32("nvlink.count"),
    [94] = EVENTS("pcie.replay"),
    [95] = EVENTS("pcie.replay_rollover"),
    SPEED(132, 6), SPEED(133, 7), SPEED(134, 8), SPEED(135, 9), SPEED(136, 10), SPEED(137, 11),
    [138] = {LINK_COUNTER, "tx", 1 / 1024.0, SIM_TYPE_ULONGLONG, BY_SCOPE},
    [139] = {LINK_COUNTER, "rx", 1 / 1024.0, SIM_TYPE_ULONGLONG, BY_SCOPE},
    [140] = {LINK_COUNTER, "tx.raw", 1 / 1024.0, SIM_TYPE_ULONGLONG, BY_SCOPE},
    [141] = {LINK_COUNTER, "rx.raw", 1 / 1024.0, SIM_TYPE_ULONGLONG, BY_SCOPE},
    [142] = EVENTS("remapped.corrected"),
    [143] = EVENTS("remapped.uncorrected"),
    [144] = U32("remapped.pending"),
    [145] = U32("remapped.failure"),
    [160] = {LINK_ERROR, "ecc_data", 1, SIM_TYPE_ULONGLONG, ALL},
    [161] = {LINK_ERROR, "replay", 1, SIM_TYPE_ULONGLONG, BY_SCOPE},
    [162] = {LINK_ERROR, "recovery", 1, SIM_TYPE_ULONGLONG, BY_SCOPE},
    [163] = {LINK_ERROR, "crc_flit", 1, SIM_TYPE_ULONGLONG, BY_SCOPE},
    [164] = {LINK_KEY, "speed", 1, SIM_TYPE_UINT, BY_SCOPE},
    [165] = {LINK_STATE, "state", 1, SIM_TYPE_UINT, BY_SCOPE},
    [166] = {KEY, "nvlink.version", 1, SIM_TYPE_UINT, 0},
    [169] = EVENTS("pcie.recovery"),
    [170] = U32("c2c.count"),
    [172] = U32("c2c.speed"),
    [173] = EVENTS("pcie.error.correctable"),
    [174] = EVENTS("pcie.error.naks_received"),
    [175] = EVENTS("pcie.error.receiver"),
    [176] = EVENTS("pcie.error.bad_tlp"),
    [177] = EVENTS("pcie.error.naks_sent"),
    [178] = EVENTS("pcie.error.bad_dllp"),
    [179] = EVENTS("pcie.error.non_fatal"),
    [180] = EVENTS("pcie.error.fatal"),
    [181] = EVENTS("pcie.error.unsupported_request"),
    [182] = EVENTS("pcie.error.lcrc"),
    [183] = EVENTS("pcie.error.lane"),
    [185] = {KEY, "power", 1000, SIM_TYPE_UINT, 0},
    [186] = {KEY, "power.instant", 1000, SIM_TYPE_UINT, 0},
    [187] = {KEY, "power.limit.min", 1000, SIM_TYPE_UINT, 0},
    [188] = {KEY, "power.limit.max", 1000, SIM_TYPE_UINT, 0},
    [189] = {KEY, "power.limit.default", 1000, SIM_TYPE_UINT, 0},
    [190] = {KEY, "power.limit.enforced", 1000, SIM_TYPE_UINT, 0},
    [191] = {COUNTER, "power", 1000, SIM_TYPE_ULONGLONG, 0},
    [192] = {KEY, "power.limit", 1000, SIM_TYPE_UINT, 0},
    [193] = {KEY, "temperature.margin.shutdown", 1, SIM_TYPE_INT, 0},
    [194] = {KEY, "temperature.margin.slowdown", 1, SIM_TYPE_INT, 0},
    [195] = {KEY, "temperature.margin.memory_max", 1, SIM_TYPE_INT, 0},
    [196] = {KEY, "temperature.margin.gpu_max", 1, SIM_TYPE_INT, 0},
    [197] = {COUNTER, "pcie.tx", 1, SIM_TYPE_ULONGLONG, 0},
    [198] = {COUNTER, "pcie.rx", 1, SIM_TYPE_ULONGLONG, 0},
    [202] = {LINK_COUNTER, "tx.bytes", 1, SIM_TYPE_ULONGLONG, BY_SCOPE},
    [204] = {LINK_COUNTER, "rx.bytes", 1, SIM_TYPE_ULONGLONG, BY_SCOPE},
    [208] = {LINK_ERROR, "received", 1, SIM_TYPE_ULONGLONG, BY_SCOPE},
    [211] = {LINK_ERROR, "integrity", 1, SIM_TYPE_ULONGLONG, BY_SCOPE},
    [215] = {LINK_ERROR, "recovery", 1, SIM_TYPE_ULONGLONG, BY_SCOPE},
    [219] = {LINK_ERROR, "effective", 1, SIM_TYPE_ULONGLONG, BY_SCOPE},
    [221] = {LINK_ERROR, "symbol", 1, SIM_TYPE_ULONGLONG, BY_SCOPE},
    [230] = U32("recovery_action"),
    [269] = {COUNTER, "violation.sw_thermal", 1e9, SIM_TYPE_ULONGLONG, 0},
    [270] = {COUNTER, "violation.hw_thermal", 1e9, SIM_TYPE_ULONGLONG, 0},
    [307] = U32("remapped.banks.pending"),
    [271] = {COUNTER, "violation.power_brake", 1e9, SIM_TYPE_ULONGLONG, 0},
};

static int read_link(const Device *device, const Field *field, unsigned link, double *number)
{
    switch (field->source) {
    case LINK_KEY:
        return read_number(device, number, "nvlink.%u.%s", link, field->key);
    case LINK_STATE:
        *number = number_or(device, 1, "nvlink.%u.state", link);
        return SIM_SUCCESS;
    case LINK_COUNTER:
        return nvlink_counter(device, link, field->key, number);
    default:
        return nvlink_error(device, link, field->key, number);
    }
}

static int read_links(const Device *device, const Field *field, unsigned scope, double *number)
{
    unsigned count, link = field->link == BY_SCOPE ? scope : (unsigned)field->link;
    RETURN_IF_ERROR(nvlink_count(device, &count));
    if (field->link != ALL && link != ALL_LINKS) {
        REQUIRE(link < count);
        return read_link(device, field, link, number);
    }
    double sum = 0;
    for (link = 0; link < count; link++) {
        RETURN_IF_ERROR(read_link(device, field, link, number));
        sum += *number;
    }
    *number = sum;
    return SIM_SUCCESS;
}

static int read_field(const Device *device, const Field *field, unsigned scope, double *number)
{
    switch (field->source) {
    case KEY:
        return read_number(device, number, "%s", field->key);
    case COUNT:
        return read_count(device, number, "%s", field->key);
    case COUNTER:
        return read_counter(device, number, "%s", field->key);
    default:
        return read_links(device, field, scope, number);
    }
}

static void store(SimFieldValue *answer, const Field *field, double number)
{
    answer->value.ullVal = 0;
    answer->valueType = field->type;
    if (field->type == SIM_TYPE_ULONGLONG)
        answer->value.ullVal = to_u64(number * field->scale);
    else if (field->type == SIM_TYPE_INT)
        answer->value.siVal = (int)(number * field->scale);
    else
        answer->value.uiVal = to_u32(number * field->scale);
}

/*
 * What a broken driver stores: `field.ID.type` is the type it claims, whatever is in the union, and
 * `field.ID.raw` are the union's eight bytes.
 */
static void falsify(const Device *device, SimFieldValue *answer)
{
    char raw[64];
    double type;
    if (read_text(device, raw, sizeof raw, "field.%u.raw", answer->fieldId) == SIM_SUCCESS)
        answer->value.ullVal = strtoull(raw, NULL, 0);
    if (read_number(device, &type, "field.%u.type", answer->fieldId) == SIM_SUCCESS)
        answer->valueType = (unsigned)type;
}

static bool is_known(unsigned id)
{
    enum { FIRST_FIELD_AFTER_R470 = 161 };
    return id < SIM_FIELD_MAX && fields[id].key && !(OLD_DRIVER && id >= FIRST_FIELD_AFTER_R470);
}

static void answer_field(const Device *device, SimFieldValue *answer)
{
    double number = 0, code;
    answer->timestamp = clock_timestamp();
    answer->latencyUsec = 0;
    answer->nvmlReturn = SIM_ERROR_NOT_SUPPORTED;
    if (!is_known(answer->fieldId))
        return;
    const Field *field = &fields[answer->fieldId];
    if (read_number(device, &code, "field.%u.error", answer->fieldId) == SIM_SUCCESS)
        answer->nvmlReturn = (int)code;
    else
        answer->nvmlReturn = read_field(device, field, answer->scopeId, &number);
    if (answer->nvmlReturn == SIM_SUCCESS)
        store(answer, field, number);
    if (answer->nvmlReturn == SIM_SUCCESS)
        falsify(device, answer);
}

API int nvmlDeviceGetFieldValues(const Device *device, int count, SimFieldValue *values)
{
    DEVICE_CALL(device);
    REQUIRE(count > 0 && values != NULL);
    for (int i = 0; i < count; i++)
        answer_field(device, &values[i]);
    return SIM_SUCCESS;
}
