/* SPDX-License-Identifier: Apache-2.0 */
/* What is used of OpenMP's tool interface (omp-tools.h), so that no header of it is needed. */
#ifndef OMPT_ABI_H
#define OMPT_ABI_H

#include <stdint.h>

enum {
    OMPT_OLDEST = 201611,
    OMPT_NEWEST = 202199
}; /* versions of OpenMP: 5.0 with its drafts to 5.2 */

union ompt_data {
    uint64_t value;
    void *pointer;
};

enum ompt_event {
    OMPT_THREAD_BEGIN = 1,
    OMPT_THREAD_END = 2,
    OMPT_PARALLEL_BEGIN = 3,
    OMPT_PARALLEL_END = 4,
    OMPT_TASK_CREATE = 5,
    OMPT_TASK_SCHEDULE = 6,
    OMPT_IMPLICIT_TASK = 7,
    OMPT_SYNC_REGION_WAIT = 16,
    OMPT_MUTEX_ACQUIRE = 26,
    OMPT_MUTEX_ACQUIRED = 27
};
enum { OMPT_SOMETIMES = 3 }; /* of set_callback's results: less is never */
enum { OMPT_BEGIN = 1, OMPT_END = 2 };
enum { OMPT_TASK_INITIAL = 0x1, OMPT_TASK_EXPLICIT = 0x4 };
enum { OMPT_YIELD = 2, OMPT_SWITCH = 7 }; /* statuses with which the task before goes on later */

typedef void (*ompt_function)(void);
typedef ompt_function (*ompt_lookup)(const char *name);
typedef int (*ompt_set_callback)(int event, ompt_function callback);

struct ompt_start_result {
    int (*initialize)(ompt_lookup lookup, int device, union ompt_data *tool);
    void (*finalize)(union ompt_data *tool);
    union ompt_data tool;
};

#endif /* OMPT_ABI_H */
