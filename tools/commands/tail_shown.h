/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tail_shown.h - how far rbwp tail -f has shown each thread, so that no record comes twice.
 *
 * A record is first in FILE.live and later in FILE. The records of a thread are counted: those of
 * its blocks in FILE, in order, and behind them those that only FILE.live has. What has a lower
 * number than was shown by then is passed over. FILE is read farther than its program has committed
 * it; what is in such blocks is in FILE.live, too.
 *
 * Should the program be unable to write FILE, the numbers are wrong: those shown last are then
 * known by their ticks (recount).
 */
#ifndef TAIL_SHOWN_H
#define TAIL_SHOWN_H

#include "rbwp_recover.h"
#include "thread_map.h"

struct shown_thread {
    uint64_t in_file; /* records in the blocks of FILE so far */
    uint64_t at;      /* number of the next one in FILE.live */
    uint64_t shown;
    uint64_t last_ticks; /* of the last one shown from FILE.live */
    int64_t floor_ns;    /* its time */
};

/* A block of FILE beyond the committed bytes. */
struct shown_ahead {
    uint64_t offset;
    uint32_t thread, records;
};

struct tail_shown {
    struct thread_map map;
    struct shown_thread *threads;
    struct shown_ahead *ahead;
    uint32_t thread_capacity, ahead_capacity, ahead_count;
    uint64_t committed; /* bytes of FILE */
    bool recounts;
};

/* Zero is a start. */
void tail_shown_free(struct tail_shown *shown);

/* The thread's next block in FILE; the first *skip_out of its records were shown. Its thread, valid
 * until the next call; NULL without memory. */
const struct shown_thread *tail_shown_block(struct tail_shown *shown,
                                            const struct rbwp_block *block, uint32_t *skip_out);

/* Before records of FILE.live: FILE is read, and committed up to here. */
void tail_shown_begin_live(struct tail_shown *shown, uint64_t committed, bool recounts);
/* The thread's next record in FILE.live; true if it was shown. Otherwise *thread_out is its thread,
 * NULL without memory. */
bool tail_shown_has(struct tail_shown *shown, const struct rbwp_live_record *live,
                    struct shown_thread **thread_out);
/* It is shown, at that time or the last one's. */
void tail_shown_add(struct shown_thread *thread, const struct rbwp_live_record *live,
                    int64_t *time_ns);

#endif /* TAIL_SHOWN_H */
