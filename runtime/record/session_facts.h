/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_facts.h - what the file says of its session: the tables of names and the trailer's facts.
 *
 * Gathered once, when recording has ended and all chunks are written, from the registries of
 * threads and names, the time line and the drain's totals.
 */
#ifndef SESSION_FACTS_H
#define SESSION_FACTS_H

#include "drain.h"
#include "job.h"
#include "names.h"
#include "process.h"
#include "rbwp_format.h"
#include "session_config.h"

struct chunk_pool;

#define LEFT_KINDS 4u

/* The session, as far as its facts depend on it. */
struct facts_source {
    const struct session_settings *settings;
    const struct timeline *line;
    const struct chunk_pool *pool;
    const struct drain_totals *totals;
    int64_t start_ns, stop_ns;
    uint32_t nodes;
    const struct rbwp_job_facts *job;
};

/* The trailer and what it points to. */
struct session_facts {
    struct rbwp_trailer trailer;
    struct rbwp_thread_info *threads;
    struct rbwp_loss *losses;
    struct rbwp_clock_sample *samples;
    struct rbwp_left left[LEFT_KINDS];
    struct rbwp_job_fact job_facts[JOB_WHATS];
    struct rbwp_node_clock node_clocks[NODE_CLOCKS_MAX];
    char **names_copied; /* of threads; the other names are the registries' */
    size_t names_copied_count;
    struct names_snapshot names;
    bool names_taken;
    uint64_t lost_records, misuse_calls; /* the losses' sums */
    char host[256];
    struct process_facts process;
};

/* RBWP_E_MEMORY; *facts_out is NULL then. Takes the registry's lock. Free before the registries end
 * their session. */
enum rbwp_status session_facts_gather(const struct facts_source *source,
                                      struct session_facts **facts_out);
/* For a file that has no room for the names as they are: cuts them. */
void session_facts_cut_names(struct session_facts *facts);
void session_facts_free(struct session_facts *facts);

#endif /* SESSION_FACTS_H */
