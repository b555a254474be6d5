/* SPDX-License-Identifier: Apache-2.0 */
#include "marks.h"

#include "crc32c.h"
#include "format_fields.h"
#include "reader_error.h"
#include "thread_table.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define OPEN_MAX (1u << 20) /* of all threads together; with more nothing is checked any more */

enum { BROKEN_MARKS, BROKEN_OPEN, BROKEN_GPU, BROKEN_PAIRS, BROKEN_FIRST, BROKEN_RULES };

struct checked_thread {
    struct rbwp_first_block first;
    struct rbwp_open_item *open;
    uint32_t count, room, call; /* call: 1 + where the open one is, 0 none */
};

struct mark_checker {
    const struct rbwp_trailer *trailer;
    struct thread_table known;
    struct checked_thread *threads;
    uint32_t thread_room, open_total;
    uint32_t mark, item;      /* the next ones to compare */
    struct rbwp_mark stretch; /* what was seen of GPU work since the last mark */
    bool gave_up;             /* no memory, or too much is open */
    bool is_broken[BROKEN_RULES];
    struct rbwp_error broken[BROKEN_RULES];
};

#define BREAK(checker, which, at, rule, ...)                                                       \
    do {                                                                                           \
        if (!(checker)->is_broken[which])                                                          \
            error_set(&(checker)->broken[which], RBWP_E_CORRUPT,                                   \
                      (struct place){"trailer", at, rule}, __VA_ARGS__);                           \
        (checker)->is_broken[which] = true;                                                        \
    } while (0)

struct mark_checker *mark_checker_new(const struct rbwp_trailer *trailer)
{
    struct mark_checker *checker = NULL;
    if (trailer && trailer->mark_count)
        checker = calloc(1, sizeof *checker);
    if (checker)
        checker->trailer = trailer;
    return checker;
}

void mark_checker_free(struct mark_checker *checker)
{
    if (!checker)
        return;
    for (uint32_t i = 0; i < checker->known.map.count && i < checker->thread_room; i++)
        free(checker->threads[i].open);
    free(checker->threads);
    thread_table_free(&checker->known);
    free(checker);
}

/* ---- at a mark ----------------------------------------------------------------------------- */

/* R69. */
static bool says_what_is_open(struct mark_checker *checker, const struct rbwp_mark *mark)
{
    const struct rbwp_trailer *trailer = checker->trailer;
    uint32_t at = checker->item;
    if (mark->open_count != checker->open_total || at > trailer->open_item_count ||
        mark->open_count > trailer->open_item_count - at)
        return false;
    for (uint32_t i = 0; i < checker->known.map.count; i++)
        for (uint32_t j = 0; j < checker->threads[i].count; j++)
            if (!trailer_entries_equal("OPEN", &checker->threads[i].open[j],
                                       &trailer->open_items[at++]))
                return false;
    return true;
}

static void pass_mark(struct mark_checker *checker)
{
    const struct rbwp_mark *mark = &checker->trailer->marks[checker->mark];
    const struct rbwp_mark *seen = &checker->stretch;
    if (!says_what_is_open(checker, mark))
        BREAK(checker, BROKEN_OPEN, mark->offset, RULE_MARK_OPEN,
              "a mark says that %" PRIu32 " items are open; it is others, or %" PRIu32,
              mark->open_count, checker->open_total);
    if (checker->mark &&
        (mark[-1].gpu_works != seen->gpu_works || mark[-1].gpu_first_ns != seen->gpu_first_ns ||
         mark[-1].gpu_last_ns != seen->gpu_last_ns))
        BREAK(checker, BROKEN_GPU, mark[-1].offset, RULE_MARK_GPU,
              "a mark says that %" PRIu64 " records of GPU work follow; it is %" PRIu64
              ", or they ran at another time",
              mark[-1].gpu_works, seen->gpu_works);
    checker->stretch = (struct rbwp_mark){0};
    checker->item += mark->open_count;
    checker->mark++;
}

/* ---- records ------------------------------------------------------------------------------- */

static void begin_item(struct mark_checker *checker, struct checked_thread *thread,
                       struct rbwp_open_item item)
{
    if (checker->open_total == OPEN_MAX ||
        !grow_array32(&thread->open, &thread->room, thread->count + 1, sizeof *thread->open)) {
        checker->gave_up = true;
        return;
    }
    thread->open[thread->count++] = item;
    if (item.kind == RBWP_COARSE_BEGIN)
        thread->call = thread->count;
    checker->open_total++;
}

/* False: it is not the innermost item that ends. */
static bool end_item(struct mark_checker *checker, struct checked_thread *thread, unsigned kind)
{
    if (thread->count == 0 || thread->open[thread->count - 1].kind != kind)
        return false;
    thread->count--;
    checker->open_total--;
    if (kind == RBWP_COARSE_BEGIN)
        thread->call = 0;
    return true;
}

static void see_gpu_work(struct rbwp_mark *stretch, const struct rbwp_record *record)
{
    bool first = stretch->gpu_works++ == 0;
    if (first || record->start_ns < stretch->gpu_first_ns)
        stretch->gpu_first_ns = record->start_ns;
    if (first || record->stop_ns > stretch->gpu_last_ns)
        stretch->gpu_last_ns = record->stop_ns;
}

/* R71: false where a begin or end has no partner of its own. */
static bool verify_marks_on_record(struct mark_checker *checker, struct checked_thread *thread,
                                   const struct rbwp_record *record)
{
    struct rbwp_open_item item = {
        .thread_id = thread->first.thread_id, .begin_ns = record->time_ns, .kind = record->kind};
    bool good = true;
    switch (record->kind) {
    case RBWP_COARSE_BEGIN:
        item.id = record->slot;
        good = thread->call == 0;
        begin_item(checker, thread, item);
        break;
    case RBWP_FINE_BEGIN:
        item.id = record->sub_item;
        begin_item(checker, thread, item);
        break;
    case RBWP_COARSE_END:
        good = end_item(checker, thread, RBWP_COARSE_BEGIN);
        break;
    case RBWP_FINE_END:
        good = end_item(checker, thread, RBWP_FINE_BEGIN);
        break;
    default:
        see_gpu_work(&checker->stretch, record);
    }
    return good;
}

static struct checked_thread *verify_marks_find_thread(struct mark_checker *checker,
                                                       const struct rbwp_block *block)
{
    struct thread_entry *entry = thread_table_add(&checker->known, block->header.thread_id);
    if (!entry || !grow_zeroed32(&checker->threads, &checker->thread_room, checker->known.map.count,
                                 sizeof *checker->threads))
        return NULL;
    struct checked_thread *thread = &checker->threads[entry - checker->known.entries];
    if (thread->first.offset == 0)
        thread->first = (struct rbwp_first_block){block->header.thread_id, block->offset,
                                                  block->first_ns, block->last_ns};
    if (block->last_ns > thread->first.last_ns)
        thread->first.last_ns = block->last_ns;
    return thread;
}

void mark_checker_block(struct mark_checker *checker, const struct rbwp_block *block)
{
    if (!checker || checker->gave_up)
        return;
    const struct rbwp_trailer *trailer = checker->trailer;
    if (checker->mark < trailer->mark_count &&
        trailer->marks[checker->mark].offset == block->offset)
        pass_mark(checker);
    if (block->header.records == 0)
        return;
    struct checked_thread *thread = verify_marks_find_thread(checker, block);
    struct rbwp_record_iterator iterator;
    struct rbwp_record record;
    bool good = true;
    checker->gave_up = !thread;
    rbwp_record_first(block, &iterator);
    while (!checker->gave_up && rbwp_record_next(&iterator, &record))
        good &= verify_marks_on_record(checker, thread, &record);
    if (!good)
        BREAK(checker, BROKEN_PAIRS, block->offset, RULE_MARK_PAIRS,
              "a file with marks has a begin in an open call or an end without its begin");
}

/* ---- the end ------------------------------------------------------------------------------- */

/* Marks that were made for the file's blocks end where these do, with their sum. */
static bool are_of_this_file(const struct rbwp_trailer *trailer, uint64_t end_offset)
{
    const struct rbwp_mark *last = &trailer->marks[trailer->mark_count - 1];
    uint32_t sum = 0;
    for (uint32_t i = 0; i < trailer->index_count; i++)
        sum = crc32c_combine(sum, trailer->index[i].crc32c, trailer->index[i].bytes);
    return last->offset == end_offset && last->crc32c == sum;
}

/* R68. */
static bool fit_the_index(const struct rbwp_trailer *trailer)
{
    uint32_t mark = 0, sum = 0;
    for (uint32_t i = 0; i < trailer->index_count; i++) {
        const struct rbwp_index_range *range = &trailer->index[i];
        if (mark < trailer->mark_count && trailer->marks[mark].offset == range->offset) {
            if (trailer->marks[mark].crc32c != sum)
                return false;
            mark++;
        }
        if (mark == 0)
            return false;
        sum = crc32c_combine(sum, range->crc32c, range->bytes);
    }
    return mark + 1 == trailer->mark_count && trailer->marks[0].open_count == 0;
}

/* R72. */
static bool are_first_blocks(const struct mark_checker *checker)
{
    const struct rbwp_trailer *trailer = checker->trailer;
    if (trailer->first_block_count != checker->known.map.count)
        return false;
    for (uint32_t i = 0; i < checker->known.map.count; i++)
        if (!trailer_entries_equal("FRST", &trailer->first_blocks[i], &checker->threads[i].first))
            return false;
    return true;
}

void mark_checker_finish(struct mark_checker *checker, uint64_t end_offset, mark_broken_fn *broken,
                         void *context)
{
    if (!checker || !are_of_this_file(checker->trailer, end_offset))
        return;
    const struct rbwp_trailer *trailer = checker->trailer;
    if (!fit_the_index(trailer))
        BREAK(checker, BROKEN_MARKS, NOWHERE, RULE_MARKS,
              "marks do not stand where ranges of the index begin, or their sums are wrong");
    if (!checker->gave_up && !checker->is_broken[BROKEN_MARKS]) {
        pass_mark(checker);
        if (checker->item != trailer->open_item_count)
            BREAK(checker, BROKEN_OPEN, end_offset, RULE_MARK_OPEN,
                  "%" PRIu32 " open items are of no mark", trailer->open_item_count);
        if (!are_first_blocks(checker))
            BREAK(checker, BROKEN_FIRST, NOWHERE, RULE_FIRST_BLOCKS,
                  "the threads' first blocks are not those that the trailer says");
    }
    for (int i = 0; i < BROKEN_RULES; i++)
        if (checker->is_broken[i])
            broken(context, &checker->broken[i]);
}
