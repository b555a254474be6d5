/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event_source.h - the buffers of one rank's device events, in whatever file they came: our dump,
 * NumPy's array of records, or the arrays one after another.
 */
#ifndef EVENT_SOURCE_H
#define EVENT_SOURCE_H

#include "dump_bytes.h"
#include "kernel_dumps.h"
#include "rbwp_events.h"

struct event_file {
    struct dump_bytes dump;
    uint8_t *columns; /* taken out of records, where they came so; else NULL */
    struct rbwp_events_source source;
    struct rbwp_events_stats stats;
    uint32_t rank, ranks;
    uint64_t max_events; /* as the device had them */
    uint64_t missing;    /* of those stored, as the file is cut */
    uint64_t bound_ns;   /* of the offset */
    bool has_offset;
};

/* Reads a file, and what the command line says of it. number: of the file. False with the message
 * given. */
bool event_file_open(struct event_file *file, const char *path, uint32_t number,
                     const struct events_options *options);
void event_file_close(struct event_file *file);

#endif /* EVENT_SOURCE_H */
