/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rbwp_annotate.h - when did the GPU work that belongs to a range of the program run?
 *
 * A program gives names to intervals of its threads' time (ranges). What was launched in one runs
 * later, on some streams of some GPUs. For each (device, stream, range) there is one annotation:
 * from the first start to the last stop of the range's kernels, copies and sets on that stream.
 *
 *     struct rbwp_annotator_config config = {.size = sizeof config,
 *                                            .requested = RBWP_ACTIVITIES_ANNOTATED};
 *     rbwp_annotator_new(&config, &annotator);
 *     rbwp_annotator_correlate(annotator, RBWP_EXTERNAL_USER, 77, 1234);     in any order
 *     rbwp_annotator_activity(annotator, &kernel);
 *     rbwp_annotator_range(annotator, &(struct rbwp_annotate_range){.id = 1234, .name = name});
 *     rbwp_annotator_finish(annotator, &annotations, &count);
 *
 * It knows no GPU, no file and no clock: records come in, annotations go out. The tools make
 * annotations of a file's ranges by it.
 *
 * Nothing that comes in fails: what there is no room for is dropped and counted by cause. Memory is
 * bounded by entries_max.
 *
 * Threads: an annotator is used by one thread at a time.
 */
#ifndef RBWP_ANNOTATE_H
#define RBWP_ANNOTATE_H

#include "rbwp_format.h"

RBWP_C_BEGIN_

enum rbwp_activity_kind {
    RBWP_ACTIVITY_KERNEL = 0,
    RBWP_ACTIVITY_COPY = 1,
    RBWP_ACTIVITY_SET = 2,
    /* Of the host, or no work: these never make an annotation. */
    RBWP_ACTIVITY_RUNTIME = 3,
    RBWP_ACTIVITY_DRIVER = 4,
    RBWP_ACTIVITY_SYNC = 5,
    /* In `requested` alone: the annotations themselves. */
    RBWP_ACTIVITY_ANNOTATION = 6
};
#define RBWP_ACTIVITY_BIT(kind) (1u << (kind))
/* Annotations of all work of GPUs. */
#define RBWP_ACTIVITIES_ANNOTATED                                                                  \
    (RBWP_ACTIVITY_BIT(RBWP_ACTIVITY_KERNEL) | RBWP_ACTIVITY_BIT(RBWP_ACTIVITY_COPY) |             \
     RBWP_ACTIVITY_BIT(RBWP_ACTIVITY_SET) | RBWP_ACTIVITY_BIT(RBWP_ACTIVITY_ANNOTATION))

/* A range, as far as an annotation needs it. */
struct rbwp_annotate_range {
    uint64_t id;
    uint64_t parent;    /* the range around it, 0 none */
    uint64_t name, tag; /* whatever the caller wants back */
};

/* Times on one line, whichever; start <= stop. */
struct rbwp_annotate_activity {
    uint32_t kind; /* enum rbwp_activity_kind */
    uint64_t device, stream;
    uint64_t correlation; /* of the call that launched it */
    uint64_t range; /* in which it was launched; 0: not known, the correlation's record has it */
    int64_t start_ns, stop_ns;
};

/* Zero in a field means its default. */
struct rbwp_annotator_config {
    size_t size; /* sizeof(struct rbwp_annotator_config) */
    /* RBWP_ACTIVITY_BIT of what is wanted; others make no annotation, and without
     * RBWP_ACTIVITY_ANNOTATION there are none. */
    uint32_t requested;
    /*
     * Default: a range may become known after its activities, and none of them is lost. Strict, as
     * in profilers that ask for the range when an activity comes: those that come before it is
     * known do not count.
     */
    bool strict;
    /* Ranges around a range have annotations of what was launched in it, too. Default: the
     * innermost alone. */
    bool outer;
    uint32_t entries_max; /* of correlations, activities that wait for theirs, ranges, and
                             annotations each; default 1 048 576 */
    /*
     * Asked for a range that rbwp_annotator_range did not say; again and again until it is known.
     * False: not known yet. Inside a call of the annotator; must call none of them.
     */
    bool (*find)(void *context, uint64_t id, struct rbwp_annotate_range *range_out);
    void *context;
};

struct rbwp_annotator; /* opaque */

/* RBWP_E_INVALID (config), RBWP_E_MEMORY. Free takes NULL. */
RBWP_API RBWP_MUST_USE enum rbwp_status
rbwp_annotator_new(const struct rbwp_annotator_config *config,
                   struct rbwp_annotator **annotator_out);
RBWP_API void rbwp_annotator_free(struct rbwp_annotator *annotator);

/* A session begins: all that came before is forgotten, counts too. Activities that do not lie
 * between start and stop (both belong to it) are dropped. A new annotator has begun one without
 * bounds. */
RBWP_API void rbwp_annotator_begin(struct rbwp_annotator *annotator, int64_t start_ns,
                                   int64_t stop_ns);

/* Makes a range known, or changes what is known of it. */
RBWP_API void rbwp_annotator_range(struct rbwp_annotator *annotator,
                                   const struct rbwp_annotate_range *range);

/* Whose id a correlation record has. */
enum rbwp_external_kind {
    RBWP_EXTERNAL_OPERATOR = 0, /* of an operator: kept, no annotation */
    RBWP_EXTERNAL_USER = 1      /* of the innermost range in which the call was made */
};
/* A later record of the same kind and correlation replaces the earlier one. */
RBWP_API void rbwp_annotator_correlate(struct rbwp_annotator *annotator, unsigned kind,
                                       uint64_t correlation, uint64_t id);
/* What was given; false: nothing. */
RBWP_API RBWP_MUST_USE bool rbwp_annotator_external(const struct rbwp_annotator *annotator,
                                                    unsigned kind, uint64_t correlation,
                                                    uint64_t *id_out);

/* Its correlation's record may come before or after it. */
RBWP_API void rbwp_annotator_activity(struct rbwp_annotator *annotator,
                                      const struct rbwp_annotate_activity *activity);

/*
 * Counts the activities whose correlation is known by now to their ranges, in the order in which
 * they came; the others wait on. Called when there is no more room, and by finish; who reads
 * buffers of records calls it after each one, then what waits stays small.
 */
RBWP_API void rbwp_annotator_settle(struct rbwp_annotator *annotator);

struct rbwp_annotation {
    uint64_t device, stream, range;
    uint64_t name, tag; /* of the range */
    int64_t start_ns, stop_ns;
    uint64_t activities; /* how many it spans */
};

/*
 * Annotations of the session so far, by device, stream and range ascending; valid until the next
 * call. May be called again when more has come. Ranges that are not known have none (counted).
 * RBWP_E_MEMORY: *count_out is 0.
 */
RBWP_API RBWP_MUST_USE enum rbwp_status
rbwp_annotator_finish(struct rbwp_annotator *annotator,
                      const struct rbwp_annotation **annotations_out, size_t *count_out);

/* Of the session. May grow at its end. */
struct rbwp_annotate_counts {
    uint64_t out_of_window;     /* activities */
    uint64_t backwards;         /* activities that stop before they start: dropped */
    uint64_t unknown_kind;      /* correlation records of neither kind, and activities: ignored */
    uint64_t unclaimed;         /* activities whose correlation never came: outside all ranges */
    uint64_t too_early;         /* strict: before their range was known */
    uint64_t unresolved;        /* annotations of ranges that are not known; set by finish */
    uint64_t lost_correlations; /* no room for */
    uint64_t lost_ranges;
    uint64_t lost_annotations; /* activities of annotations that there was no room for */
};
/* counts_bytes: the struct's size where the caller was compiled. */
RBWP_API void rbwp_annotator_counts_sized(const struct rbwp_annotator *annotator,
                                          struct rbwp_annotate_counts *counts_out,
                                          size_t counts_bytes);
static inline void rbwp_annotator_counts(const struct rbwp_annotator *annotator,
                                         struct rbwp_annotate_counts *counts_out)
{
    rbwp_annotator_counts_sized(annotator, counts_out, sizeof *counts_out);
}

RBWP_C_END_
#endif /* RBWP_ANNOTATE_H */
