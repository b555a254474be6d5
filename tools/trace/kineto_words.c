/* SPDX-License-Identifier: Apache-2.0 */
#include "kineto_words.h"
#include "trace_category.h"

#include <string.h>

const char *const kineto_made_key[KINETO_MADE_KEYS] = {"External id", "device", "stream",
                                                       "correlation", "finished"};

static const struct {
    const char *word;
    enum trace_category category;
} categories[] = {
    {"cpu_op", TRACE_OTHER},
    {"user_annotation", TRACE_RANGE},
    {"gpu_user_annotation", TRACE_ANNOTATION},
    {"gpu_memcpy", TRACE_COPY},
    {"gpu_memset", TRACE_COPY},
    {"kernel", TRACE_GPU_WORK},
    {"cuda_runtime", TRACE_CALLED},
    {"cuda_driver", TRACE_CALLED},
    {"hip_runtime", TRACE_CALLED},
    {"xpu_runtime", TRACE_CALLED},
    {"xpu_driver", TRACE_CALLED},
    {"mtia_runtime", TRACE_CALLED},
    {"glow_runtime", TRACE_CALLED},
    {"privateuse1_runtime", TRACE_CALLED},
    {"privateuse1_driver", TRACE_CALLED},
    {"cpu_instant_event", TRACE_OTHER},
    {"python_function", TRACE_OTHER},
    {"overhead", TRACE_OTHER},
    {"mtia_ccp_events", TRACE_OTHER},
    {"mtia_insight", TRACE_OTHER},
    {"cuda_sync", TRACE_OTHER},
    {"cuda_event", TRACE_OTHER},
    {"cuda_profiler_range", TRACE_OTHER},
    {"hpu_op", TRACE_OTHER},
    {"collective_comm", TRACE_OTHER},
    {"xpu_sync", TRACE_OTHER},
    {"Trace", TRACE_OTHER},
};
enum { CATEGORIES = sizeof categories / sizeof categories[0] };

static int kineto_words_find(struct trace_text category)
{
    int i = 0;
    while (i < CATEGORIES && !trace_text_is(category, categories[i].word))
        i++;
    return i;
}

bool kineto_is_category(struct trace_text category)
{
    return kineto_words_find(category) < CATEGORIES;
}

uint8_t kineto_category(struct trace_text category)
{
    int known = kineto_words_find(category);
    if (known < CATEGORIES)
        return (uint8_t)categories[known].category;
    bool is_call = trace_text_ends(category, "_runtime") || trace_text_ends(category, "_driver");
    return is_call ? TRACE_CALLED : TRACE_OTHER;
}
