/* SPDX-License-Identifier: Apache-2.0 */
/*
 * align_offsets.h - offsets of clocks that somebody measured.
 *
 * A text file of lines "NODE TIME [ERROR]": the clock of the node is ahead of
 * the reference by TIME (1500, +20us, -1.5ms), at most ERROR wrong. Blank
 * lines and what follows # are comments.
 */
#ifndef ALIGN_OFFSETS_H
#define ALIGN_OFFSETS_H

#include "options.h"

#include <stdint.h>

struct align_offset {
    uint32_t node;
    bool has_error;
    int64_t ahead_ns;
    uint64_t error_ns;
};
struct align_offsets {
    struct align_offset *list;
    uint32_t count, room;
};

/* False with the message given. */
bool align_offsets_read(struct align_offsets *offsets, const char *path);
/* NULL if none is given. */
const struct align_offset *align_offset_of(const struct align_offsets *offsets, uint32_t node);
void align_offsets_free(struct align_offsets *offsets);

/* A time with or without sign, at most 2^60 ns (36 years). */
bool align_parse_time(const char *text, int64_t *ns_out, struct option_error *error);

#endif /* ALIGN_OFFSETS_H */
