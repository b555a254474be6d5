/* SPDX-License-Identifier: Apache-2.0 */
/*
 * findings.h - what stands out in the sums: sentences for people, each with the place to look at.
 *
 * They say what is so; of calls that are far slower than others of their name also why, by the
 * engine of rbwp why, where the files may be read again. A finding needs a least amount of the run,
 * so that short and ordinary things do not hide the others (the limits stand in findings.c and in
 * rbwp-stats(1)).
 */
#ifndef FINDINGS_H
#define FINDINGS_H

#include "stats.h"
#include "trace_pass.h"

enum finding_what {
    FINDING_LOST,
    FINDING_REFUSED,
    FINDING_RULE,
    FINDING_HUNG,
    FINDING_IDLE_AT_END,
    FINDING_LATE_START,
    FINDING_IDLE,
    FINDING_SLOW,
    FINDING_IN_TURN,
    FINDING_QUEUED,
    FINDING_UNEVEN,
    FINDING_ALL_IDLE,
    FINDING_ALL_BUSY,
    FINDING_GPU_IDLE,
    FINDING_POLLS,
    FINDING_KINDS
};
/* Nobody needed them, as far as it is known. */
static inline bool finding_is_idle(enum finding_what what)
{
    return what == FINDING_IDLE_AT_END || what == FINDING_LATE_START || what == FINDING_IDLE ||
           what == FINDING_ALL_IDLE;
}
/* "lost", "rule", "hung" ... */
extern const char *const finding_name[FINDING_KINDS];

struct finding {
    enum finding_what what;
    const char *cause;      /* a word of rbwp why; NULL: not known, or it says no cause */
    uint32_t track, row;    /* TRACE_NONE: of none, or several */
    bool placed;            /* the times are known */
    int64_t from_ns, to_ns; /* where to look */
    bool work;              /* slow, but maybe what the program is for: in their order an eighth */
    double weight;          /* about: the part of the run that it concerns; more of what is worse */
    char *text;             /* may hold any bytes that names have */
    size_t bytes;
};
struct findings {
    struct finding *list; /* what is wrong first, idle workers last; the heaviest of each */
    uint32_t count, room;
    bool failed; /* out of memory; some are missing */
};

/* Where the sums are from. */
struct findings_files {
    const struct reading_options *reading;
    struct operands files;
    uint64_t spans_most; /* of more they are not read again; 0: never */
};
/* filtered: the sums are of a choice of slots, threads or kinds, of which nobody can say who was
 * idle. Slots that workers serve in turn are found if stats->options.turns was set. */
void findings_make(struct findings *findings, const struct stats *stats, bool filtered,
                   const struct findings_files *from);
void findings_free(struct findings *findings);

#endif /* FINDINGS_H */
