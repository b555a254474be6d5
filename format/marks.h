/* SPDX-License-Identifier: Apache-2.0 */
/*
 * marks.h - the writer's marks: what threads have open at some places between blocks (SPEC.md,
 * 10.18).
 *
 * Known only while whoever adds blocks says it; one silence, and the file has no marks. Their
 * bytes are bounded by a part of the blocks'.
 */
#ifndef MARKS_H
#define MARKS_H

#include "index.h"
#include "rbwp_reader.h"
#include "rbwp_writer.h"
#include "thread_table.h"

#define MARKS_MAX 1024u
#define MARKS_PART 512u /* of the blocks' bytes: so much marks may take */

struct mark_thread {
    struct rbwp_first_block first;
    struct rbwp_open_item *open;
    uint32_t open_count, room;
};

struct mark_index {
    bool off;                    /* nothing is known, or not any more */
    uint32_t untold;             /* 1 + number of the thread whose state is to be given, 0 none */
    struct thread_table threads; /* in the order of their first blocks */
    struct mark_thread *states;  /* by number */
    uint32_t state_room;
    uint32_t crc32c;         /* of the blocks so far */
    uint64_t due_offset;     /* of the next mark, or behind that */
    struct rbwp_mark *marks; /* MARKS_MAX and one */
    uint32_t count;
    struct rbwp_open_item *items; /* of all marks */
    uint32_t item_count, item_room;
    struct rbwp_first_block *first_blocks; /* when it is finished */
};

/* Some record is not in the file (SPEC.md, R21). */
static inline bool loss_is_of_records(uint32_t cause)
{
    return cause <= RBWP_LOSS_NOT_ATTACHED || cause == RBWP_LOSS_SIGNAL ||
           cause == RBWP_LOSS_UNPROTECTED || cause == RBWP_LOSS_OVERWRITTEN;
}

/* None yet. Their memory is had now: whoever adds blocks may be a thread that must not wait for
 * malloc's lock then. */
void mark_index_begin(struct mark_index *marks);
void mark_index_free(struct mark_index *marks);
/* A block was added to the index of blocks; it begins a range of it, or not. */
void mark_index_block(struct mark_index *marks, const struct rbwp_index_range *block,
                      bool begins_range);
/* One that marks know nothing of: there are none. */
void mark_index_give_up(struct mark_index *marks);
void mark_index_tell(struct mark_index *marks, const struct rbwp_thread_state *state);
/* Ranges of the index were joined: marks stand where ranges begin. */
void mark_index_joined(struct mark_index *marks, const struct block_index *index);
/* The blocks end here. Fills what values says of marks; valid as long as they are. */
void mark_index_finish(struct mark_index *marks, uint64_t end_offset, struct rbwp_trailer *values);

/* ---- checking them --------------------------------------------------------------------------- */

/*
 * Whether what the trailer says of open items is so: R68 to R72.
 *
 * Begins and ends are paired while blocks pass; what is found is reported at the end, for a file in
 * which nothing else is wrong.
 */

struct mark_checker;

/* NULL without memory, or where the trailer has no marks. */
struct mark_checker *mark_checker_new(const struct rbwp_trailer *trailer);
void mark_checker_free(struct mark_checker *checker);
/* The next block of the file. */
void mark_checker_block(struct mark_checker *checker, const struct rbwp_block *block);

typedef void mark_broken_fn(void *context, const struct rbwp_error *error);
/* The blocks end there. Reports the first break of each rule. */
void mark_checker_finish(struct mark_checker *checker, uint64_t end_offset, mark_broken_fn *broken,
                         void *context);

#endif /* MARKS_H */
