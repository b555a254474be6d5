/* SPDX-License-Identifier: Apache-2.0 */
/*
 * made_of.h - which recordings are in an export of ours, so that a recording is not merged with
 * what was made of it: all of it would count twice.
 *
 * An export has a fact "recording.PROCESS.BEGAN.PART" for each of them, whose value is its file. A
 * recording without a trailer has its zero time, and as part its node. So has what an export cannot
 * say more of, as a Legion log.
 */
#ifndef MADE_OF_H
#define MADE_OF_H

#include <stdbool.h>
#include <stdint.h>

struct recording_id {
    uint64_t os_id; /* of the process; 0 unknown */
    int64_t
        began_ns;  /* when the session did; of an unknown process, the run's zero time; 0: none */
    uint32_t part; /* of a recording that was cut into files; of an unknown process, its node */
};

struct made_of {
    struct recording_id *list;
    uint32_t count, room;
};

struct trace;
struct trace_facts;
struct trace_text;
void made_of_add(struct made_of *made, struct recording_id id);
/* A fact of an export; nothing happens if it is another one. */
void made_of_note(struct made_of *made, struct trace_text key);
/* Tells a trace that the recordings are in it. */
void made_of_add_facts(struct trace *trace, const struct made_of *made, const char *file);
struct recording_id recording_id_of(const struct trace_facts *facts);
/* Whether one of both is an export that has what the other one is, or has. */
bool made_of_same(const struct trace_facts *a, const struct trace_facts *b);

#endif /* MADE_OF_H */
