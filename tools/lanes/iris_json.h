/* SPDX-License-Identifier: Apache-2.0 */
/*
 * iris_json.h - device events as the JSON of iris, member by member in its order.
 *
 * With raw cycles it is iris's: times are ticks, overlapping events of a unit stay on one thread,
 * and the clocks of ranks are taken to be one. Without, times are microseconds on the ranks' common
 * clock, and events that overlap get threads of their own.
 */
#ifndef IRIS_JSON_H
#define IRIS_JSON_H

#include "event_source.h"
#include "id_names.h"

struct iris_job {
    const struct events_options *options;
    const struct id_names *names;
    struct event_file *files; /* in the order of ranks */
    int count;
    struct operands inputs; /* that no output may replace */
};

/* Writes a file for each rank, and with merge the one of all. */
enum exit_code iris_json_write(const struct iris_job *job);

/* "trace.json" of rank 3 is "trace_rank3.json", "trace" "trace_rank3". Free it; NULL without
 * memory. */
char *iris_json_rank_path(const char *path, uint32_t rank);

#endif /* IRIS_JSON_H */
