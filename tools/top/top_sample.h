/* SPDX-License-Identifier: Apache-2.0 */
/* top_sample.h - what the programs of some files did in a window of time, item by item. */
#ifndef TOP_SAMPLE_H
#define TOP_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TOP_NAME_BYTES 256

struct top_item {
    char name[TOP_NAME_BYTES];
    uint32_t program;          /* its place in the sample */
    bool is_call;              /* else a sub-item, or GPU work */
    uint8_t category;          /* enum trace_category */
    uint64_t ended;            /* in the window */
    uint64_t total_ns, max_ns; /* of those */
    uint64_t busy_ns;          /* in the window, what is open with it, waiting not */
    uint64_t waits_ns;         /* likewise, in what waits: itself, or what it encloses */
    uint32_t open;             /* now */
    uint64_t open_ns;          /* the longest of them, so far */
};

struct top_program {
    char name[TOP_NAME_BYTES];
    const char *file;
    uint32_t threads; /* with calls in the window */
    uint64_t busy_ns; /* of all threads, in calls; waiting not */
};

struct top_sample {
    int64_t from_ns, to_ns;
    struct top_item *items;
    struct top_program *programs;
    uint32_t item_count, item_room, program_count, program_room;
    uint32_t running; /* files of programs that run */
};

/* Adds what is in the file. False: it could not be read, and the user was told. */
bool top_sample_add(struct top_sample *sample, const char *file);
void top_sample_free(struct top_sample *sample);

#endif /* TOP_SAMPLE_H */
