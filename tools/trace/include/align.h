/* SPDX-License-Identifier: Apache-2.0 */
/*
 * align.h - several sources on one axis, and how that was found out.
 *
 * The axis is that of the first source that knows when its times were. Each
 * other one is placed by a method that is reported, with a bound on its error
 * where there is one. A source that no method places is refused: a picture
 * that is plausible and wrong is worse than none.
 */
#ifndef ALIGN_H
#define ALIGN_H

#include "trace_source.h"

#define ALIGN_SHIFTS_MAX 256

struct align_options {
    const char *method;  /* NULL: auto */
    const char *offsets; /* a file */
    const char *shifts[ALIGN_SHIFTS_MAX];
    unsigned shift_count;
    bool force;
    bool whole_job; /* of several files: nodes that have none are reported */
    bool no_clocks; /* comparisons with other nodes' clocks are not used */
    bool quiet;     /* how files came onto one axis is not reported */
};
extern const struct option align_option_table[]; /* of struct align_options */

struct alignment {
    bool placed;
    const char *method;
    struct trace_axis axis;
    struct trace_axis_point *points; /* of the axis, the alignment's own; NULL: none */
    bool bounded;
    uint64_t error_ns;
};

/* Fills one alignment a source, and reports how when there are several; to be freed in each case.
 * False with the message given
 * when they cannot belong together; *usage_out when an option is the reason. */
bool align_sources(const struct trace_source *sources, int count,
                   const struct align_options *options, struct alignment *alignments,
                   bool *usage_out);
void align_free(struct alignment *alignments, int count);
/* Stores it. */
void align_add_facts(struct trace *trace, const struct trace_source *sources, int count,
                     const struct alignment *alignments);

#endif /* ALIGN_H */
