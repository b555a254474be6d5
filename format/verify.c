/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verify.c - every rule of SPEC.md that can be checked, in one pass.
 *
 * What a reader cannot live with (R1 to R19, R30, R31, R35, R40 to R59) is
 * noted by the reader and passed on. Here are the rules about blocks together,
 * and about what the trailer says of them: a line is kept for each block, up to
 * a bound, since a stream has its index only at the end.
 */
#include "crc32c.h"
#include "rbwp_verify.h"

#include "reader_error.h"
#include "block.h"
#include "marks.h"
#include "reader.h"
#include "rbwp_table.h"
#include "index.h"
#include "failure.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define LOGGED_MAX (1u << 20)

/* A block that was seen. */
struct logged {
    struct rbwp_index_range range;
    uint64_t thread_id;
    uint32_t sequence;
};

struct verify {
    struct rbwp_reader *reader;
    rbwp_verify_callback *callback;
    void *context;
    struct rbwp_verify_result result;
    bool stopped;
    uint64_t passed_on; /* problems of the reader */

    struct logged *blocks;
    size_t block_count, block_capacity;
    struct rbwp_table_range *table_blocks; /* those of tables, each as a range */
    size_t table_block_count, table_block_capacity;
    bool memory_failed;

    uint64_t turns_broken, turns_offset; /* blocks that break R21, and the first one */
    uint64_t fine_broken, fine_offset;   /* R22 */

    struct rbwp_catalog *catalog; /* NULL before the first opaque block */
    struct mark_checker *marks;   /* NULL: there are none, or it is a stream */
};

/* ---- reporting ---------------------------------------------------------------------- */

static void verify_report(struct verify *verify, const struct rbwp_problem *problem)
{
    if (problem->cut_tail)
        verify->result.cut = true;
    else
        verify->result.breaks++;
    if (!verify->stopped && verify->callback && !verify->callback(verify->context, problem))
        verify->stopped = true;
}

static void report_error(struct verify *verify, const struct rbwp_error *error)
{
    struct rbwp_problem problem = {.error = *error};
    verify_report(verify, &problem);
}

#define REPORT(verify, section, offset, rule, ...)                                                 \
    do {                                                                                           \
        struct rbwp_error error_;                                                                  \
        error_set(&error_, RBWP_E_CORRUPT, (struct place){section, offset, rule}, __VA_ARGS__);    \
        report_error(verify, &error_);                                                             \
    } while (0)

static void pass_on_problems(struct verify *verify)
{
    uint64_t count = rbwp_reader_problem_count(verify->reader);
    for (; verify->passed_on < count && !verify->stopped; verify->passed_on++) {
        const struct rbwp_problem *problem = rbwp_reader_problem(verify->reader, verify->passed_on);
        if (problem)
            verify_report(verify, problem);
        else
            verify->result.breaks++; /* beyond those the reader keeps */
    }
}

/* ---- one block ------------------------------------------------------------------------ */

/* Room for one more in the array that *lines points to. False: nothing is logged any more. */
static bool log_room(struct verify *verify, void *lines, size_t line_bytes, size_t count,
                     size_t *capacity)
{
    if (count == LOGGED_MAX || verify->memory_failed) {
        verify->result.blocks_checked = false;
        return false;
    }
    if (grow_array(lines, capacity, count + 1, line_bytes))
        return true;
    verify->memory_failed = true;
    verify->result.blocks_checked = false;
    return false;
}

/* Behind log_block. */
static void log_table_block(struct verify *verify, const struct rbwp_block *block)
{
    struct rbwp_table_range range;
    if (!table_range_of(&block->header, block->data, block->header.data_bytes, &range) ||
        !log_room(verify, &verify->table_blocks, sizeof *verify->table_blocks,
                  verify->table_block_count, &verify->table_block_capacity))
        return;
    range.offset = block->offset;
    range.bytes = range.block_bytes = RBWP_BLOCK_HEADER_BYTES + block_payload_bytes(&block->header);
    verify->table_blocks[verify->table_block_count++] = range;
}

static void log_block(struct verify *verify, const struct rbwp_block *block)
{
    if (!log_room(verify, &verify->blocks, sizeof *verify->blocks, verify->block_count,
                  &verify->block_capacity))
        return;
    struct view stored = reader_stored_block(verify->reader);
    verify->blocks[verify->block_count++] = (struct logged){
        .range = {.offset = block->offset,
                  .bytes = stored.count,
                  .records = block->header.records,
                  .first_ns = block->first_ns,
                  .last_ns = block->last_ns,
                  .thread_id = block->header.records ? block->header.thread_id : 0,
                  .blocks = 1,
                  .crc32c = crc32c(0, stored.bytes, stored.count)},
        .thread_id = block->header.thread_id,
        .sequence = block->header.sequence,
    };
}

/* R21 and R22. */
static void verify_check_records(struct verify *verify, const struct rbwp_block *block)
{
    struct rbwp_record_iterator iterator;
    struct rbwp_record record;
    unsigned before = 0;
    bool turns = true, fine = false;
    rbwp_record_first(block, &iterator);
    while (rbwp_record_next(&iterator, &record)) {
        if (record.kind == RBWP_COARSE_BEGIN || record.kind == RBWP_COARSE_END) {
            turns = turns && record.kind != before;
            before = record.kind;
        }
        fine = fine || record.kind == RBWP_FINE_BEGIN || record.kind == RBWP_FINE_END;
    }
    if (!turns && verify->turns_broken++ == 0)
        verify->turns_offset = block->offset;
    if (fine && !(rbwp_reader_header(verify->reader)->flags & RBWP_FLAG_LEVEL2) &&
        verify->fine_broken++ == 0)
        verify->fine_offset = block->offset;
}

/* R44 to R49. */
static void check_table(struct verify *verify, const struct rbwp_block *block)
{
    struct rbwp_rows rows;
    struct rbwp_error error;
    if (!verify->catalog && !(verify->catalog = rbwp_catalog_new()))
        verify->memory_failed = true;
    if (verify->memory_failed) /* rows without the schema that found no room break no rule */
        return;
    enum rbwp_status status = rbwp_catalog_take(verify->catalog, block, &rows, &error);
    if (status == RBWP_OK)
        verify->result.table_rows += rows.rows;
    else if (status == RBWP_E_CORRUPT)
        report_error(verify, &error);
    else if (status == RBWP_E_MEMORY)
        verify->memory_failed = true;
}

static void check_block(struct verify *verify, const struct rbwp_block *block)
{
    log_block(verify, block);
    mark_checker_block(verify->marks, block);
    if (block->header.records == 0) {
        verify->result.opaque_blocks++;
        log_table_block(verify, block);
        check_table(verify, block);
        return;
    }
    verify->result.blocks++;
    verify->result.records += block->header.records;
    verify_check_records(verify, block);
}

/* ---- blocks together ------------------------------------------------------------------- */

static int by_thread_and_sequence(const void *left, const void *right)
{
    const struct logged *a = left, *b = right;
    if (a->thread_id != b->thread_id)
        return a->thread_id < b->thread_id ? -1 : 1;
    if (a->sequence != b->sequence)
        return a->sequence < b->sequence ? -1 : 1;
    return a->range.offset < b->range.offset ? -1 : a->range.offset > b->range.offset;
}

/* R20; expects the log sorted. */
static void check_sequences(struct verify *verify)
{
    const struct logged *before = NULL;
    for (size_t i = 0; i < verify->block_count && !verify->stopped; i++) {
        const struct logged *block = &verify->blocks[i];
        if (block->range.records == 0)
            continue;
        if (before && before->thread_id == block->thread_id && before->sequence == block->sequence)
            REPORT(verify, "block", block->range.offset, RULE_SEQUENCE_ONCE,
                   "thread %" PRIu64 " has sequence %" PRIu32 " twice, first at %" PRIu64,
                   block->thread_id, block->sequence, before->range.offset);
        before = block;
    }
}

static bool has_lost_records(const struct rbwp_trailer *trailer)
{
    for (uint32_t i = 0; trailer && i < trailer->loss_count; i++)
        if (loss_is_of_records(trailer->losses[i].cause))
            return true;
    return false;
}

static void check_gathered(struct verify *verify)
{
    if (verify->turns_broken && !has_lost_records(rbwp_reader_trailer(verify->reader)))
        REPORT(verify, "record", verify->turns_offset, RULE_TURNS,
               "%" PRIu64 " blocks have two COARSE_BEGIN or two COARSE_END in a row, the first",
               verify->turns_broken);
    if (verify->fine_broken)
        REPORT(verify, "record", verify->fine_offset, RULE_FINE_LEVEL,
               "%" PRIu64 " blocks of a level-1 file have fine records, the first",
               verify->fine_broken);
}

/* ---- the trailer's word ------------------------------------------------------------------ */

/* R61. */
static void check_tables_twice(struct verify *verify)
{
    const struct tail *tail = reader_tail(verify->reader);
    const struct rbwp_file_header *header = rbwp_reader_header(verify->reader);
    const struct trailer_tables *tables = &tail->trailer.tables;
    if (!tables->present)
        return;
    if (header->descriptor_offset &&
        (tables->offset != header->descriptor_offset || tables->work_items != header->work_items ||
         tables->sub_items != header->sub_items))
        REPORT(verify, "trailer", tail->offset, RULE_TABLES_TWICE,
               "header and trailer disagree about the descriptor tables");
    else if (tables->bytes != tail->descriptors.bytes ||
             tables->crc32c != crc32c(0, tail->buffer.bytes, tail->descriptors.bytes))
        REPORT(verify, "descriptors", tail->offset, RULE_TABLES_TWICE,
               "the sum or size of the descriptor tables is not what the trailer says");
}

/* Joins the logged blocks that fill the range from its beginning; *next moves behind them. */
static struct rbwp_index_range verify_gather(const struct verify *verify,
                                             const struct rbwp_index_range *range, size_t *next)
{
    struct rbwp_index_range found = {.offset = range->offset};
    for (; *next < verify->block_count; ++*next) {
        const struct rbwp_index_range *block = &verify->blocks[*next].range;
        if (block->offset != found.offset + found.bytes ||
            block->bytes > range->bytes - found.bytes)
            break;
        index_join(&found, block);
    }
    return found;
}

static void check_range(struct verify *verify, const struct rbwp_index_range *range,
                        const struct rbwp_index_range *found)
{
    if (range->bytes == 0 || found->bytes != range->bytes)
        REPORT(verify, "trailer", range->offset, RULE_INDEX_RANGES,
               "an index range of %" PRIu64 " bytes has %" PRIu64 " bytes of whole, good blocks",
               range->bytes, found->bytes);
    else if (found->records != range->records || found->first_ns != range->first_ns ||
             found->last_ns != range->last_ns || found->thread_id != range->thread_id ||
             found->blocks != range->blocks)
        REPORT(verify, "trailer", range->offset, RULE_INDEX_VALUES,
               "an index range says %" PRIu64 " records in %" PRIu32
               " blocks; its values are not those of its blocks",
               range->records, range->blocks);
    else if (found->crc32c != range->crc32c)
        REPORT(verify, "trailer", range->offset, RULE_INDEX_SUM,
               "the sum of an index range is %08" PRIx32 " and should be %08" PRIx32, found->crc32c,
               range->crc32c);
}

/* R62 to R64; expects the log in file order. */
static void check_index(struct verify *verify, const struct rbwp_trailer *trailer)
{
    uint64_t offset = RBWP_FILE_HEADER_BYTES;
    size_t next = 0;
    if (!trailer->index)
        return;
    for (uint32_t i = 0; i < trailer->index_count && !verify->stopped; i++) {
        const struct rbwp_index_range *range = &trailer->index[i];
        if (range->offset != offset || range->bytes > UINT64_MAX - offset) {
            REPORT(verify, "trailer", range->offset, RULE_INDEX_RANGES,
                   "index range %" PRIu32 " should begin at %" PRIu64, i, offset);
            return;
        }
        while (next < verify->block_count && verify->blocks[next].range.offset < offset)
            next++;
        struct rbwp_index_range found = verify_gather(verify, range, &next);
        check_range(verify, range, &found);
        offset += range->bytes;
    }
    uint64_t end = reader_tail(verify->reader)->offset;
    if (offset != end)
        REPORT(verify, "trailer", offset, RULE_INDEX_RANGES,
               "the index ends here and the blocks at %" PRIu64, end);
}

static int verify_by_table_and_offset(const void *left, const void *right)
{
    const struct rbwp_table_range *a = left, *b = right;
    if (a->table != b->table)
        return a->table < b->table ? -1 : 1;
    return a->offset < b->offset ? -1 : a->offset > b->offset;
}

/* Joins the logged blocks of the range's table that lie in it; *next moves behind them. */
static struct rbwp_table_range gather_table(const struct verify *verify,
                                            const struct rbwp_table_range *range, size_t *next)
{
    struct rbwp_table_range found = {.table = range->table};
    for (; *next < verify->table_block_count; ++*next) {
        const struct rbwp_table_range *block = &verify->table_blocks[*next];
        if (block->table != range->table || block->offset < range->offset ||
            block->offset - range->offset >= range->bytes)
            break;
        if (found.blocks)
            table_range_join(&found, block);
        else
            found = *block;
    }
    return found;
}

static void check_table_range(struct verify *verify, const struct rbwp_table_range *range,
                              size_t *next)
{
    struct rbwp_table_range found = gather_table(verify, range, next);
    if (found.blocks == 0 || found.offset != range->offset || found.bytes != range->bytes)
        REPORT(verify, "trailer", range->offset, RULE_TABLE_RANGES,
               "a range of %" PRIu64 " bytes does not begin and end with blocks of table %" PRIu32,
               range->bytes, range->table);
    else if (!trailer_entries_equal("TIDX", range, &found))
        REPORT(verify, "trailer", range->offset, RULE_TABLE_RANGE_VALUES,
               "a range of table %" PRIu32 " says %" PRIu64 " rows in %" PRIu32
               " blocks; its values are not those of its blocks",
               range->table, range->rows, range->blocks);
}

/* R65 and R66. An index that is empty is one; a file need not have any. */
static void check_table_index(struct verify *verify, const struct rbwp_trailer *trailer)
{
    uint32_t count = trailer->table_range_count;
    struct rbwp_table_range *ranges =
        trailer->table_ranges ? malloc((count + 1) * sizeof *ranges) : NULL;
    size_t next = 0;
    if (!ranges)
        return;
    memcpy(ranges, trailer->table_ranges, count * sizeof *ranges);
    qsort(ranges, count, sizeof *ranges, verify_by_table_and_offset);
    if (verify->table_block_count)
        qsort(verify->table_blocks, verify->table_block_count, sizeof *verify->table_blocks,
              verify_by_table_and_offset);
    for (uint32_t i = 0; i <= count && !verify->stopped; i++) {
        size_t left_out = next;
        while (
            next < verify->table_block_count &&
            (i == count || verify_by_table_and_offset(&verify->table_blocks[next], &ranges[i]) < 0))
            next++;
        if (next > left_out)
            REPORT(verify, "trailer", verify->table_blocks[left_out].offset, RULE_TABLE_RANGES,
                   "a block of table %" PRIu32 " is in no range of the index of tables",
                   verify->table_blocks[left_out].table);
        if (i < count)
            check_table_range(verify, &ranges[i], &next);
    }
    free(ranges);
}

struct thread_records {
    uint64_t thread_id, records;
};

static int by_thread(const void *left, const void *right)
{
    const struct thread_records *a = left, *b = right;
    return a->thread_id < b->thread_id ? -1 : a->thread_id > b->thread_id;
}

/* R60; expects the log sorted. */
static void check_threads(struct verify *verify, const struct rbwp_trailer *trailer)
{
    uint32_t count = trailer->thread_count;
    struct thread_records *threads = count ? malloc(count * sizeof *threads) : NULL;
    if (!threads)
        return;
    for (uint32_t i = 0; i < count; i++)
        threads[i] =
            (struct thread_records){trailer->threads[i].thread_id, trailer->threads[i].records};
    qsort(threads, count, sizeof *threads, by_thread);
    size_t at = 0; /* of the log, which is NULL when it is empty */
    for (uint32_t i = 0; i < count && !verify->stopped;) {
        uint64_t thread_id = threads[i].thread_id, said = 0, found = 0;
        for (; i < count && threads[i].thread_id == thread_id; i++)
            said += threads[i].records;
        while (at < verify->block_count && verify->blocks[at].thread_id < thread_id)
            at++;
        for (; at < verify->block_count && verify->blocks[at].thread_id == thread_id; at++)
            found += verify->blocks[at].range.records;
        if (said != found)
            REPORT(verify, "trailer", NOWHERE, RULE_THREAD_RECORDS,
                   "thread %" PRIu64 " has %" PRIu64 " records; the trailer says %" PRIu64,
                   thread_id, found, said);
    }
    free(threads);
}

/* ---- the whole file ------------------------------------------------------------------------ */

static void check_header_and_tables(struct verify *verify)
{
    const struct rbwp_file_header *header = rbwp_reader_header(verify->reader);
    struct rbwp_error error;
    if (header->descriptor_offset == 0 && (header->work_items || header->sub_items))
        REPORT(verify, "header", 20, RULE_COUNTS_UNFINALISED,
               "counts %" PRIu32 " and %" PRIu32 " without a descriptor offset", header->work_items,
               header->sub_items);
    if (descriptor_check(rbwp_reader_tables(verify->reader), header->descriptor_offset, &error) !=
        RBWP_OK)
        report_error(verify, &error);
}

static void list_tables(struct verify *verify)
{
    struct rbwp_verify_result *result = &verify->result;
    if (!verify->catalog)
        return;
    result->table_count = rbwp_catalog_schema_count(verify->catalog);
    for (uint32_t i = 0; i < result->table_count && i < RBWP_VERIFY_TABLES; i++) {
        const struct rbwp_schema *schema = rbwp_catalog_schema(verify->catalog, i);
        struct rbwp_verify_table *table = &result->tables[i];
        table->table = schema->table;
        table->rows = rbwp_catalog_row_count(verify->catalog, i);
        table->name_bytes =
            schema->name_bytes < sizeof table->name ? schema->name_bytes : sizeof table->name;
        memcpy(table->name, schema->name, table->name_bytes);
    }
}

/* R67. */
static void check_node_clocks(struct verify *verify, const struct rbwp_trailer *trailer)
{
    for (uint32_t i = 1; i < trailer->node_clock_count && !verify->stopped; i++)
        if (trailer->node_clocks[i].time_ns <= trailer->node_clocks[i - 1].time_ns)
            REPORT(verify, "trailer", NOWHERE, RULE_NODE_CLOCKS,
                   "comparison %" PRIu32 " with another node's clock, at %" PRId64
                   ", is not behind the one before, at %" PRId64,
                   i, trailer->node_clocks[i].time_ns, trailer->node_clocks[i - 1].time_ns);
}

static void report_mark(void *context, const struct rbwp_error *error)
{
    report_error(context, error);
}

static void check_end(struct verify *verify)
{
    const struct rbwp_trailer *trailer = rbwp_reader_trailer(verify->reader);
    bool damaged = verify->result.breaks || verify->result.cut;
    verify->result.has_trailer = trailer;
    verify->result.finalised = rbwp_reader_header(verify->reader)->descriptor_offset != 0;
    check_gathered(verify);
    check_header_and_tables(verify);
    if (trailer) {
        check_tables_twice(verify);
        check_node_clocks(verify, trailer);
    }
    if (!verify->result.blocks_checked)
        return;
    if (trailer)
        check_index(verify, trailer);
    if (verify->block_count)
        qsort(verify->blocks, verify->block_count, sizeof *verify->blocks, by_thread_and_sequence);
    check_sequences(verify);
    if (trailer && !damaged) { /* otherwise the damaged blocks explain it */
        check_threads(verify, trailer);
        check_table_index(verify, trailer);
        mark_checker_finish(verify->marks, reader_tail(verify->reader)->offset, report_mark,
                            verify);
    }
}

/* Verifies what an open call came to; closes the reader. */
static enum rbwp_status verify_opened(enum rbwp_status status, struct verify *verify,
                                      struct rbwp_verify_result *result_out, size_t result_bytes,
                                      struct rbwp_error *error)
{
    struct rbwp_block block;
    verify->result.blocks_checked = true;
    if (status != RBWP_OK) {
        if (status != RBWP_E_IO && status != RBWP_E_MEMORY)
            report_error(verify, error);
        sized_give(result_out, result_bytes, &verify->result, sizeof verify->result);
        return status;
    }
    if (!rbwp_reader_is_stream(verify->reader) && !rbwp_reader_is_archive(verify->reader))
        verify->marks = mark_checker_new(rbwp_reader_trailer(verify->reader));
    while (!verify->stopped &&
           (status = rbwp_reader_next_block(verify->reader, &block)) == RBWP_OK) {
        check_block(verify, &block);
        pass_on_problems(verify);
    }
    pass_on_problems(verify);
    list_tables(verify);
    if (status == RBWP_END && !verify->stopped)
        check_end(verify);
    verify->result.bytes = rbwp_reader_size(verify->reader);
    sized_give(result_out, result_bytes, &verify->result, sizeof verify->result);
    if (status < 0) {
        uint64_t last = rbwp_reader_problem_count(verify->reader) - 1;
        const struct rbwp_problem *problem = rbwp_reader_problem(verify->reader, last);
        if (problem)
            *error = problem->error;
        else
            error_set(error, status, (struct place){"file", NOWHERE, 0}, "%s",
                      rbwp_status_text(status));
    } else if (verify->memory_failed) {
        status = error_set_memory(error, "file");
    }
    free(verify->blocks);
    free(verify->table_blocks);
    rbwp_catalog_free(verify->catalog);
    mark_checker_free(verify->marks);
    rbwp_reader_close(verify->reader);
    return verify->stopped ? RBWP_END : status < 0 ? status : RBWP_OK;
}

enum rbwp_status rbwp_verify_fd_sized(int fd, rbwp_verify_callback *callback, void *context,
                                      struct rbwp_verify_result *result_out, size_t result_bytes,
                                      struct rbwp_error *error)
{
    struct verify verify = {.callback = callback, .context = context};
    struct rbwp_error reason, *wrong = error ? error : &reason;
    enum rbwp_status status = rbwp_reader_open_fd(fd, NULL, &verify.reader, wrong);
    return verify_opened(status, &verify, result_out, result_bytes, wrong);
}

enum rbwp_status rbwp_verify_sized(const char *path, rbwp_verify_callback *callback, void *context,
                                   struct rbwp_verify_result *result_out, size_t result_bytes,
                                   struct rbwp_error *error)
{
    struct verify verify = {.callback = callback, .context = context};
    struct rbwp_error reason, *wrong = error ? error : &reason;
    enum rbwp_status status = rbwp_reader_open(path, NULL, &verify.reader, wrong);
    return verify_opened(status, &verify, result_out, result_bytes, wrong);
}

enum rbwp_status rbwp_verify_memory_sized(const void *data, size_t size_bytes,
                                          rbwp_verify_callback *callback, void *context,
                                          struct rbwp_verify_result *result_out,
                                          size_t result_bytes, struct rbwp_error *error)
{
    struct verify verify = {.callback = callback, .context = context};
    struct rbwp_error reason, *wrong = error ? error : &reason;
    enum rbwp_status status =
        rbwp_reader_open_memory(data, size_bytes, NULL, &verify.reader, wrong);
    return verify_opened(status, &verify, result_out, result_bytes, wrong);
}
