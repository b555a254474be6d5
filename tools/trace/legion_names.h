/* SPDX-License-Identifier: Apache-2.0 */
/*
 * legion_names.h - what a Legion Prof log calls its tasks, calls and memories.
 *
 * Descriptions may stand anywhere in the log, so all are taken before a row is named.
 */
#ifndef LEGION_NAMES_H
#define LEGION_NAMES_H

#include "id_texts.h"
#include "legion_log.h"

struct legion_names {
    struct id_texts texts;
};

/* Takes the record if it describes something. */
void legion_names_note(struct legion_names *names, const struct legion_record *record);
/* The number of a row's name. */
uint32_t legion_names_row(const struct legion_names *names, struct trace *trace,
                          const struct legion_record *record);
/* A task that our own log says is a call of a work item. */
bool legion_names_is_call(const struct legion_names *names, const struct legion_record *record);
/* "System 3.0"; room for what is made up if the log does not say. */
struct trace_text legion_names_memory(const struct legion_names *names, uint64_t id, char *made,
                                      size_t room);
void legion_names_free(struct legion_names *names);

#endif /* LEGION_NAMES_H */
