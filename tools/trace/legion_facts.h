/* SPDX-License-Identifier: Apache-2.0 */
/*
 * legion_facts.h - when and where a Legion Prof log was made, and how quick its messages were.
 */
#ifndef LEGION_FACTS_H
#define LEGION_FACTS_H

#include "legion_log.h"
#include "trace_source.h"

#define LEGION_TIME_MAX (UINT64_C(1) << 61) /* 73 years: a later one is no time */

enum { LEGION_LATENCIES_MAX = 4096 };

struct legion_facts {
    uint64_t os_id;
    char host[256];
    int64_t calibration_error_ns;
    struct trace_latency latencies[LEGION_LATENCIES_MAX];
    uint32_t latency_count;
    uint64_t first, last; /* times in the file; first > last without */
};

void legion_facts_start(struct legion_facts *noted);
void legion_facts_note(struct legion_facts *noted, struct trace_facts *facts,
                       const struct legion_record *record);
/* What noted has is facts' as long as it lasts. */
void legion_facts_finish(struct legion_facts *noted, struct trace_facts *facts, const char *name);

#endif /* LEGION_FACTS_H */
