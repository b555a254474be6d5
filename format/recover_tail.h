/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recover_tail.h - tables and trailer of a recovered file.
 *
 * Takes what FILE's own tables and trailer say if it has any, else what the
 * live file says, adds what was seen in the blocks, and drops what breaks
 * a rule.
 */
#ifndef RECOVER_TAIL_H
#define RECOVER_TAIL_H

#include "recover_part.h"
#include "thread_table.h"

/* Zeros are a valid start. */
struct recover_tail {
    struct thread_table seen;  /* in blocks: records and times */
    int64_t first_ns, last_ns; /* of all records */
    int64_t alive_ns;          /* see recover_tail_alive; 0 unknown */
    bool any;
    bool memory_failed;      /* a thread of a block is missing in `seen` */
    struct rbwp_loss damage; /* records of damaged blocks */
    /* Between the part before and this one, while no file could be written. */
    uint64_t dropped_records, dropped_rows;

    struct rbwp_tables tables;
    struct rbwp_trailer trailer;
    bool names_unknown;
    uint64_t dropped;
    struct rbwp_work_item_name *work_items;
    struct rbwp_sub_item_name *sub_items;
    struct rbwp_thread_info *threads;
    struct rbwp_loss *losses;
};

/* A block with records is in the result. */
void recover_tail_block(struct recover_tail *tail, const struct rbwp_sealed_block *block);
/* A block with this header is not. */
void recover_tail_damage(struct recover_tail *tail, const struct rbwp_block_header *header);
/* The time of a thread's last record in the result; 0 if it has none. */
int64_t recover_tail_last_ns(const struct recover_tail *tail, uint64_t thread_id);

/* The program gives a sign of life then (CLOCK_MONOTONIC), before its records are looked at: what
 * they leave open was open then. What comes behind that, the writing of a dump, is no part of the
 * session. */
void recover_tail_alive(struct recover_tail *tail, const struct live_head *head,
                        int64_t monotonic_ns);

/* Fills tables, trailer and what follows. reader, live and part may be NULL. What is said of the
 * part that the result is (trailer.kept) is set before, or none. RBWP_E_MEMORY. */
enum rbwp_status recover_tail_make(struct recover_tail *tail, const struct rbwp_reader *reader,
                                   const struct rbwp_live *live, const struct recover_part *part);
void recover_tail_free(struct recover_tail *tail);

#endif /* RECOVER_TAIL_H */
