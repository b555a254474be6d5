/* SPDX-License-Identifier: Apache-2.0 */
/*
 * work_flags.c - the work manager's flags.
 *
 * In two of them 0 means none, where in the config it means the default:
 * -bgwork 0 is no_workers, -bgspin 0 is no_spin.
 */
#include "flags.h"
#include "rbwp_work.h"
#include "sized.h"

/* What the flags set. -1: not given. */
struct values {
    int64_t workers;
    int64_t spin_ns;
    struct rbwp_work_config config;
};

#define CONFIG(field) offsetof(struct values, config.field)

static const struct flag table[] = {
    {"bgwork", FLAG_I64, offsetof(struct values, workers), 0, 1024, 1,
     "worker threads per NUMA domain in use"},
    {"bgnuma", FLAG_BOOL, CONFIG(numa), 0, 1, 1, "1: a set of workers for each NUMA domain"},
    {"bgworkpin", FLAG_BOOL, CONFIG(pin), 0, 1, 1, "1: each worker on a CPU of its own"},
    {"bgnumapin", FLAG_BOOL, CONFIG(numa_pin), 0, 1, 1, "1: each worker on the CPUs of its domain"},
    {"bgstack", FLAG_U64, CONFIG(stack_bytes), 64, 4 << 20, 1024, "kilobytes of worker stack"},
    {"bgspin", FLAG_I64, offsetof(struct values, spin_ns), 0, 3600000000, 1000,
     "microseconds an idle worker spins before it sleeps"},
    {"bgslice", FLAG_U64, CONFIG(slice_ns), 1, 3600000000, 1000,
     "microseconds of a work item's time slice"},
};
const struct flag_table work_flags = {table, sizeof table / sizeof table[0], 0, NULL};

enum rbwp_status rbwp_work_parse(struct rbwp_work_config *config, int *argc, char **argv,
                                 struct rbwp_error *error)
{
    struct values values = {.workers = -1, .spin_ns = -1};
    enum rbwp_status status =
        sized_take(&values.config, sizeof values.config, config, "rbwp_work_config", error);
    if (status == RBWP_OK)
        status = flags_apply(&work_flags, &values, sizeof values, argc, argv, error);
    if (status != RBWP_OK)
        return status;
    if (values.workers >= 0) {
        values.config.workers = (uint32_t)values.workers;
        values.config.no_workers = values.workers == 0;
    }
    if (values.spin_ns >= 0) {
        values.config.spin_ns = (uint64_t)values.spin_ns;
        values.config.no_spin = values.spin_ns == 0;
    }
    sized_give(config, config->size, &values.config, sizeof values.config);
    return RBWP_OK;
}
