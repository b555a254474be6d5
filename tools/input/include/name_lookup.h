/* SPDX-License-Identifier: Apache-2.0 */
/*
 * name_lookup.h - what slots, sub-items and threads were called, at a given time.
 *
 * Joins the descriptor tables and the trailer. A slot can be released and
 * used again, and other writers use a thread id again for a later thread, so
 * a name is looked up with a time. The names belong to the reader, which
 * must stay open; they are complete only when the reader has its tables (at
 * once for a file, at the end of a stream).
 */
#ifndef NAME_LOOKUP_H
#define NAME_LOOKUP_H

#include "rbwp_reader.h"

/* A name and from when on it is meant. */
struct name {
    uint64_t id;
    int64_t from_ns;
    const char *text; /* not terminated */
    uint32_t bytes;
    uint8_t type;  /* of a sub-item */
    bool selected; /* for filter.c: the filter takes it */
    /* Of a sub-item or slot of a kind of the program's own; without bytes it has none, and a
     * sub-item's type says it. */
    bool waits;
    uint16_t kind_bytes;
    const char *kind;
};

/* Names of one kind, ordered by id, then time. */
struct name_set {
    struct name *names;
    size_t count;
};

/* A function that threads were started with, as the file names it. */
struct thread_start {
    const char *text;
    uint32_t bytes;
    char *function; /* NULL: its name is not known */
};

struct names {
    struct name_set slots, sub_items, threads;
    struct thread_start *starts;
    uint32_t start_count;
};

/* False when out of memory. */
bool names_load(struct names *names, const struct rbwp_reader *reader);
void names_free(struct names *names);

/* The latest name of id that was in use by then, else its first one; NULL if it has none. */
struct name *names_find(const struct name_set *set, uint64_t id, int64_t time_ns);

#endif /* NAME_LOOKUP_H */
