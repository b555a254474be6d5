/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_line.h - a record or a span as one JSON object, names resolved.
 *
 * Shared by what prints them one a line. The object repeats file and thread,
 * so that a line stands for itself.
 */
#ifndef JSON_LINE_H
#define JSON_LINE_H

#include "gpu_activity.h"
#include "name_lookup.h"
#include "out.h"
#include "record_pairs.h"

/* "thread_id" and "thread"; null of a name that is not known. */
void json_thread_members(struct out *out, const struct names *names, uint64_t thread_id,
                         int64_t time_ns);
/* {...} with a line feed. block_ns is the time of the block's first record. */
void json_record_line(struct out *out, const char *file, const struct names *names,
                      uint64_t thread_id, int64_t block_ns, const struct rbwp_record *record);

/* {...} without a line feed. gpu: what is known of GPU work beside its times, NULL for nothing;
 * work: its name. */
void json_span(struct out *out, const char *file, const struct names *names,
               const struct record_pair *pair, const struct gpu_fact *gpu, struct rbwp_text work);

#endif /* JSON_LINE_H */
