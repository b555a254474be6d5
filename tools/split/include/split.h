/* SPDX-License-Identifier: Apache-2.0 */
/*
 * split.h - one RBWP file into several.
 *
 * A part is a window of time, a thread, or all that the filter takes; it is
 * a whole RBWP file with the names, threads, losses and session of the
 * original. Records keep their times and threads. A span that lies across a
 * boundary is cut: it ends at the boundary in the earlier part and begins
 * there in the later one, with all that is open around it, so no part has
 * half a span that the original had whole, and the parts' times add up.
 * GPU work goes where it was recorded, whole.
 *
 * A thread that goes back in time stays in the part that it has reached.
 * Of tables each part has all schemas and names, and the rows of its time or thread, as far as the
 * roles of columns tell (row_place.h, part_file.h). Other opaque blocks have no time or thread
 * and are left out; so is the index of the original, as each part has its own.
 *
 * One encoder serves all: a block of the original gives at least one block in
 * each part it has records for, and none is held.
 */
#ifndef SPLIT_H
#define SPLIT_H

#include "filter.h"
#include "input.h"
#include "part_file.h"

#define SPLIT_PARTS_MAX 10000u
#define SPLIT_PASSED_MAX 1000u /* of those, for a span alone that was open all the time */

struct split_options {
    struct filter_options filter; /* min-duration and halves of pairs are refused before */
    int64_t every_ns;             /* 0: one window */
    bool by_thread;
    bool live;          /* with the records that only FILE.live has */
    const char *output; /* NULL: beside the input */
    bool force;
};

struct split_result {
    struct part_file *parts; /* by number; those without a name were not needed */
    uint32_t count;
    uint64_t opaque_blocks; /* left out: no time, no thread */
    uint64_t broken_blocks; /* of tables, left out; they were told */
    uint64_t cuts;          /* spans that were cut, each time */
};

/* The parts are written, or, on EXIT_BAD_DATA with the message given, none is left. */
enum exit_code split_file(const struct split_options *options, struct input *input,
                          struct split_result *result_out);
void split_free(struct split_result *result);

#endif /* SPLIT_H */
