/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recordings.h - the files of one recording as one source.
 *
 * A recording may be cut into files while it is made, a flight recorder dumped
 * several times, a file split. What such files have is one process's, so all
 * but the last one become `earlier` ones of that. Files that do not say that
 * they have a part are left alone.
 */
#ifndef RECORDINGS_H
#define RECORDINGS_H

#include "trace_source.h"

/* EXIT_PARTIAL where a part is missing between two that are there; that is reported. */
enum exit_code recordings_join(struct trace_source *sources, int *count);

/* Of one recording, both of which say so. */
bool recordings_same(const struct trace_facts *a, const struct trace_facts *b);

/* Whether the recording began in an earlier part than this one. A part that was split off is
 * complete in itself. */
bool recordings_began_before(const struct trace_identity *first);

/* How a file of a recording follows on those before, which lasted until until_ns. */
enum pair_join recordings_follow(const struct trace_identity *before, int64_t until_ns,
                                 const struct trace_identity *next);

#endif /* RECORDINGS_H */
