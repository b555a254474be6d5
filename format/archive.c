/* SPDX-License-Identifier: Apache-2.0 */
/*
 * archive.c - see archive.h.
 *
 * Both ways are one walk: a reader hands out the blocks, jobs take some at a time and make a chunk
 * of them, or compress them again, and what jobs made is written in its order, with the places and
 * sums of now in the tail.
 */
#include "archive.h"

#include "archive_job.h"
#include "archive_source.h"
#include "crc32c.h"
#include "grow.h"
#include "header.h"
#include "reader.h"
#include "reader_error.h"
#include "index.h"

#include <stdlib.h>
#include <unistd.h>

/* ---- moved file ------------------------------------------------------------------------------ */
/*
 * What a trailer says of places and sums, when all blocks of the file get others (SPEC.md,
 * sections 10.1, 10.8 and 10.13).
 *
 * Blocks stay the same and in their order, only their stored sizes change; so the ranges of both
 * indexes stay what they are, and no byte of the tail but places, sizes and sums.
 */

struct moved_range; /* of TIDX */

struct moved_file {
    uint8_t *tail; /* tables and trailer, to be written behind the blocks */
    size_t tail_bytes;
    uint64_t offset; /* of the next block, now */

    uint8_t *index; /* entries of INDX in the tail; NULL: there are none */
    uint32_t index_bytes, index_count, index_next;
    uint64_t range_offset; /* of the range that is being gone through, now */
    uint32_t crc_before, crc_now;

    struct moved_range *ranges; /* by table and offset */
    uint32_t range_count;
    uint8_t *tables;  /* of TABL; NULL: there is none */
    uint8_t *footer;  /* NULL: there is no trailer */
    uint8_t *trailer; /* its sections */
};

#define SECTION_HEAD_BYTES 16u
#define TABLE_HEAD_BYTES 8u

struct moved_range {
    uint8_t *entry;
    uint64_t offset, end; /* before */
    uint64_t bytes;       /* of its own blocks, those seen so far */
    uint64_t offset_now, end_now, bytes_now;
    uint32_t table;
};

static struct place archive_place_of(uint64_t offset, enum rule rule)
{
    return (struct place){"trailer", offset, rule};
}

/* ---- the tail -------------------------------------------------------------------------------- */

static int archive_by_table_and_offset(const void *left, const void *right)
{
    const struct moved_range *a = left, *b = right;
    if (a->table != b->table)
        return a->table < b->table ? -1 : 1;
    return a->offset < b->offset ? -1 : a->offset > b->offset;
}

static bool take_ranges(struct moved_file *moved, uint8_t *entries, uint32_t entry_bytes,
                        uint32_t count)
{
    moved->ranges = calloc(count ? count : 1, sizeof *moved->ranges);
    if (!moved->ranges)
        return false;
    moved->range_count = count;
    for (uint32_t i = 0; i < count; i++) {
        uint8_t *entry = entries + (size_t)i * entry_bytes;
        moved->ranges[i] = (struct moved_range){
            .entry = entry,
            .offset = load_le64(entry),
            .end = load_le64(entry) + load_le64(entry + 8),
            .table = load_le32(entry + 24),
        };
    }
    qsort(moved->ranges, count, sizeof *moved->ranges, archive_by_table_and_offset);
    return true;
}

/* A section of a trailer that was decoded, so it fills what it says (R55, R57, R58). */
static bool archive_take_section(struct moved_file *moved, const uint8_t *tag, uint8_t *payload)
{
    bool index = memcmp(tag, "INDX", 4) == 0, ranges = memcmp(tag, "TIDX", 4) == 0;
    if (memcmp(tag, "TABL", 4) == 0)
        moved->tables = payload;
    if (!index && !ranges)
        return true;
    uint32_t entry_bytes = load_le32(payload), count = load_le32(payload + 4);
    if (ranges)
        return take_ranges(moved, payload + TABLE_HEAD_BYTES, entry_bytes, count);
    moved->index = payload + TABLE_HEAD_BYTES;
    moved->index_bytes = entry_bytes;
    moved->index_count = count;
    return true;
}

/* Of a reader that is no stream, before its first block. RBWP_E_MEMORY. End it in each case. */
static enum rbwp_status moved_file_begin(struct moved_file *moved, const struct rbwp_reader *reader,
                                         struct rbwp_error *error)
{
    const struct tail *tail = reader_tail(reader);
    *moved = (struct moved_file){.offset = RBWP_FILE_HEADER_BYTES};
    moved->tail = malloc(tail->buffer.count ? tail->buffer.count : 1);
    if (!moved->tail)
        return error_set_memory(error, "trailer");
    if (tail->buffer.count)
        memcpy(moved->tail, tail->buffer.bytes, tail->buffer.count);
    moved->tail_bytes = tail->buffer.count;
    if (!tail->has_trailer)
        return RBWP_OK;
    moved->footer = moved->tail + moved->tail_bytes - FOOTER_BYTES;
    moved->trailer = moved->tail + (load_le64(moved->footer) - tail->offset);
    for (uint8_t *section = moved->trailer; section < moved->footer;) {
        if (!archive_take_section(moved, section, section + SECTION_HEAD_BYTES))
            return error_set_memory(error, "trailer");
        section += SECTION_HEAD_BYTES + load_le64(section + 8);
    }
    if (moved->tables && load_le64(moved->tables) != tail->offset)
        return error_set(error, RBWP_E_CORRUPT, archive_place_of(tail->offset, RULE_TABLES_TWICE),
                         "header and trailer disagree about the descriptor tables");
    return RBWP_OK;
}

static void moved_file_end(struct moved_file *moved)
{
    free(moved->tail);
    free(moved->ranges);
    *moved = (struct moved_file){0};
}

/* ---- blocks ---------------------------------------------------------------------------------- */

/* INDX: its ranges follow each other, so the next block is of the next one. */
static enum rbwp_status move_in_index(struct moved_file *moved, uint64_t offset, struct view before,
                                      struct view head, struct view payload,
                                      struct rbwp_error *error)
{
    if (!moved->index)
        return RBWP_OK;
    struct place misfit = archive_place_of(offset, RULE_INDEX_RANGES);
    if (moved->index_next == moved->index_count)
        return error_set(error, RBWP_E_CORRUPT, misfit, "the index of blocks ends before they do");
    uint8_t *entry = moved->index + (size_t)moved->index_next * moved->index_bytes;
    uint64_t from = load_le64(entry), bytes = load_le64(entry + 8), end = offset + before.count;
    bool first = moved->range_offset == 0;
    if ((first ? offset != from : offset < from) || end - from > bytes)
        return error_set(error, RBWP_E_CORRUPT, misfit,
                         "the index of blocks does not fit the blocks");
    if (first) {
        moved->range_offset = moved->offset;
        moved->crc_before = moved->crc_now = 0;
    }
    moved->crc_before = crc32c(moved->crc_before, before.bytes, before.count);
    moved->crc_now = crc32c(moved->crc_now, head.bytes, head.count);
    moved->crc_now = crc32c(moved->crc_now, payload.bytes, payload.count);
    if (end - from < bytes)
        return RBWP_OK;
    if (moved->crc_before != load_le32(entry + 52))
        return error_set(error, RBWP_E_CORRUPT, archive_place_of(from, RULE_INDEX_SUM),
                         "the sum of a range of blocks is wrong: a block in it was changed");
    store_le64(entry, moved->range_offset);
    store_le64(entry + 8, moved->offset + head.count + payload.count - moved->range_offset);
    store_le32(entry + 52, moved->crc_now);
    moved->range_offset = 0;
    moved->index_next++;
    return RBWP_OK;
}

/* The last range of the table that begins at this offset or before. */
static struct moved_range *find_range(const struct moved_file *moved, uint32_t table,
                                      uint64_t offset)
{
    struct moved_range *found = NULL;
    for (uint32_t low = 0, high = moved->range_count; low < high;) {
        uint32_t middle = low + (high - low) / 2;
        struct moved_range *range = &moved->ranges[middle];
        bool before = range->table < table || (range->table == table && range->offset <= offset);
        if (before) {
            found = range;
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return found && found->table == table ? found : NULL;
}

/* TIDX: ranges of several tables lie in each other. */
static enum rbwp_status move_in_tables(struct moved_file *moved, const struct rbwp_block *block,
                                       uint64_t end, uint64_t bytes_now, struct rbwp_error *error)
{
    struct rbwp_table_range of_block;
    if (!moved->range_count || block->header.records ||
        !table_range_of(&block->header, block->data, block->header.data_bytes, &of_block))
        return RBWP_OK;
    struct moved_range *range = find_range(moved, of_block.table, block->offset);
    if (!range || end > range->end || (range->bytes_now == 0) != (block->offset == range->offset))
        return error_set(error, RBWP_E_CORRUPT, archive_place_of(block->offset, RULE_TABLE_RANGES),
                         "the index of tables does not fit the blocks");
    if (range->bytes_now == 0)
        range->offset_now = moved->offset;
    range->bytes += end - block->offset;
    range->bytes_now += bytes_now;
    range->end_now = end == range->end ? moved->offset + bytes_now : 0;
    return RBWP_OK;
}

/* The next block, as it was stored and as it is to be: head and payload. RBWP_E_CORRUPT: the
 * trailer does not fit the blocks, or the sum of a range is wrong. */
static enum rbwp_status moved_file_block(struct moved_file *moved, const struct rbwp_block *block,
                                         struct view before,
                                         const uint8_t head[RBWP_BLOCK_HEADER_BYTES],
                                         struct view payload, struct rbwp_error *error)
{
    struct view head_view = {head, RBWP_BLOCK_HEADER_BYTES};
    uint64_t bytes_now = RBWP_BLOCK_HEADER_BYTES + payload.count;
    enum rbwp_status status =
        move_in_index(moved, block->offset, before, head_view, payload, error);
    if (status == RBWP_OK)
        status = move_in_tables(moved, block, block->offset + before.count, bytes_now, error);
    moved->offset += bytes_now;
    return status;
}

/* Behind the last block: the tail is then as it is to be written at moved->offset. */
static enum rbwp_status moved_file_finish(struct moved_file *moved, struct rbwp_error *error)
{
    if (moved->index && moved->index_next != moved->index_count)
        return error_set(error, RBWP_E_CORRUPT, archive_place_of(NOWHERE, RULE_INDEX_RANGES),
                         "the index of blocks has ranges without blocks");
    for (uint32_t i = 0; i < moved->range_count; i++) {
        const struct moved_range *range = &moved->ranges[i];
        if (!range->end_now || range->bytes != load_le64(range->entry + 16))
            return error_set(error, RBWP_E_CORRUPT,
                             archive_place_of(range->offset, RULE_TABLE_RANGES),
                             "a range of the index of tables is not that of the blocks of its "
                             "table");
        store_le64(range->entry, range->offset_now);
        store_le64(range->entry + 8, range->end_now - range->offset_now);
        store_le64(range->entry + 16, range->bytes_now);
    }
    if (moved->tables)
        store_le64(moved->tables, moved->offset);
    if (moved->footer) {
        size_t bytes = (size_t)(moved->footer - moved->trailer);
        store_le64(moved->footer, moved->offset + (size_t)(moved->trailer - moved->tail));
        store_le32(moved->footer + 16, crc32c(0, moved->trailer, bytes));
    }
    return RBWP_OK;
}

/* ---- archive --------------------------------------------------------------------------------- */

#define TAIL_BYTES (1u << 20) /* of a chunk of what stands behind the blocks */

/* One walk. */
struct archive_walk {
    bool pack; /* to an archive */
    const struct rbwp_sink *sink;
    const struct archive_help *help;
    const struct job_queues *queues;
    struct rbwp_reader *reader;
    struct moved_file moved;
    struct archive_result *result;
    struct rbwp_error *error;
    void *queue;             /* of struct archive_job */
    struct archive_job *job; /* being filled */

    /* to an archive */
    struct archive_place *places;
    size_t place_count, place_room;
};

static enum rbwp_status no_memory(struct archive_walk *walk)
{
    return error_set_memory(walk->error, "archive");
}

static enum rbwp_status archive_put(struct archive_walk *walk, const void *bytes, size_t count)
{
    enum rbwp_status status = walk->sink->write(walk->sink->context, bytes, count);
    walk->result->bytes += count;
    if (status != RBWP_OK)
        return error_set_os(walk->error, "file", "write the result");
    return RBWP_OK;
}

/* ---- to an archive --------------------------------------------------------------------------- */

/* Head and payload, whose place is taken down. */
static enum rbwp_status put_chunk(struct archive_walk *walk, struct archive_chunk chunk,
                                  const struct buffer *payload)
{
    uint8_t head[ARCHIVE_CHUNK_HEAD_BYTES];
    if (chunk.tag != ARCHIVE_INDEX) {
        if (!grow_array(&walk->places, &walk->place_room, walk->place_count + 1,
                        sizeof *walk->places))
            return no_memory(walk);
        walk->places[walk->place_count++] =
            (struct archive_place){walk->result->bytes, chunk.place};
    }
    chunk.payload_bytes = (uint32_t)payload->count;
    archive_chunk_encode(&chunk, payload->bytes, head);
    enum rbwp_status status = archive_put(walk, head, sizeof head);
    return status == RBWP_OK ? archive_put(walk, payload->bytes, payload->count) : status;
}

static enum rbwp_status put_packed(struct archive_walk *walk, const struct archive_job *job)
{
    struct archive_chunk chunk = {.tag = ARCHIVE_BLOCKS,
                                  .place = job->place,
                                  .bytes = (uint32_t)job->plain.count,
                                  .records = job->records};
    if (job->status == ARCHIVE_JOB_DIFFERS)
        return error_set(walk->error, RBWP_E_CORRUPT,
                         (struct place){"archive", job->place, RULE_ARCHIVE_COLUMNS},
                         "blocks do not come back as they are from their columns: a defect of this "
                         "program; no archive is made");
    return put_chunk(walk, chunk, &job->out);
}

/* Places and sums of a block that is stored as it is from now on. */
static enum rbwp_status move_plain(struct archive_walk *walk, const struct rbwp_block *block)
{
    uint8_t head[RBWP_BLOCK_HEADER_BYTES];
    struct rbwp_block_header header = block->header;
    struct view data = {block->data, header.data_bytes};
    header.stored_bytes = 0;
    block_header_encode(&header, head);
    return moved_file_block(&walk->moved, block, reader_stored_block(walk->reader), head, data,
                            walk->error);
}

static enum rbwp_status pack_piece(struct archive_walk *walk, struct stream_packer *packer,
                                   size_t at, size_t bytes)
{
    struct buffer plain = {0}, payload = {0};
    struct archive_chunk chunk = {
        .tag = ARCHIVE_BYTES, .place = walk->moved.offset + at, .bytes = (uint32_t)bytes};
    buffer_append(&plain, walk->moved.tail + at, bytes);
    if (buffer_reserve(&plain, DEFLATER_SLACK))
        stream_pack(packer, plain.bytes, bytes, STREAM_TEXT, &payload);
    bool failed = plain.failed || payload.failed;
    enum rbwp_status status = failed ? no_memory(walk) : put_chunk(walk, chunk, &payload);
    buffer_free(&plain);
    buffer_free(&payload);
    return status;
}

/* What stands behind the blocks: as bytes, in pieces. */
static enum rbwp_status pack_tail(struct archive_walk *walk)
{
    struct stream_packer packer;
    size_t all = walk->moved.tail_bytes;
    enum rbwp_status status = stream_packer_begin(&packer) ? RBWP_OK : no_memory(walk);
    for (size_t at = 0, some; at < all && status == RBWP_OK; at += some) {
        some = all - at < TAIL_BYTES ? all - at : TAIL_BYTES;
        status = pack_piece(walk, &packer, at, some);
    }
    stream_packer_end(&packer);
    return status;
}

static enum rbwp_status pack_end(struct archive_walk *walk)
{
    uint8_t bytes[ARCHIVE_FOOTER_BYTES];
    struct archive_footer footer = {.index_offset = walk->result->bytes,
                                    .bytes = walk->moved.offset + walk->moved.tail_bytes,
                                    .chunks = (uint32_t)walk->place_count};
    struct archive_chunk chunk = {.tag = ARCHIVE_INDEX, .place = footer.bytes};
    struct buffer payload = {0};
    for (size_t i = 0; i < walk->place_count; i++) {
        uint8_t place[ARCHIVE_PLACE_BYTES];
        store_le64(place, walk->places[i].offset);
        store_le64(place + 8, walk->places[i].place);
        buffer_append(&payload, place, sizeof place);
    }
    bool good = buffer_reserve(&payload, 1);
    enum rbwp_status status = good ? put_chunk(walk, chunk, &payload) : no_memory(walk);
    buffer_free(&payload);
    archive_footer_encode(&footer, bytes);
    return status == RBWP_OK ? archive_put(walk, bytes, sizeof bytes) : status;
}

/* ---- from an archive ------------------------------------------------------------------------- */

/* Before and now: both have the same header but for the stored size, and lie in buffers. */
static enum rbwp_status move_block(struct archive_walk *walk, const struct archive_job *job,
                                   size_t from, const uint8_t *now)
{
    struct rbwp_block block = {.offset = job->place + from};
    struct rbwp_block_header header;
    const uint8_t *plain = job->plain.bytes + from;
    block_header_decode(plain, &block.header);
    block_header_decode(now, &header);
    block.data = plain + RBWP_BLOCK_HEADER_BYTES;
    struct view before = {plain, RBWP_BLOCK_HEADER_BYTES + (size_t)block.header.data_bytes};
    struct view payload = {now + RBWP_BLOCK_HEADER_BYTES, block_payload_bytes(&header)};
    return moved_file_block(&walk->moved, &block, before, now, payload, walk->error);
}

static enum rbwp_status put_unpacked(struct archive_walk *walk, const struct archive_job *job)
{
    enum rbwp_status status = RBWP_OK;
    struct rbwp_block_header header;
    size_t from = 0;
    for (size_t at = 0; at < job->out.count && status == RBWP_OK;) {
        const uint8_t *now = job->out.bytes + at;
        status = move_block(walk, job, from, now);
        block_header_decode(now, &header);
        at += RBWP_BLOCK_HEADER_BYTES + (size_t)block_payload_bytes(&header);
        from += RBWP_BLOCK_HEADER_BYTES + (size_t)header.data_bytes;
    }
    return status == RBWP_OK ? archive_put(walk, job->out.bytes, job->out.count) : status;
}

/* ---- the walk -------------------------------------------------------------------------------- */

/* The first thing that the reader found wrong. */
static enum rbwp_status first_problem(struct archive_walk *walk)
{
    const struct rbwp_problem *problem = rbwp_reader_problem(walk->reader, 0);
    if (!problem)
        return RBWP_OK;
    *walk->error = problem->error;
    return problem->error.status == RBWP_E_VERSION ? RBWP_E_VERSION : RBWP_E_CORRUPT;
}

static void count_block(struct archive_walk *walk, const struct rbwp_block *block, bool packed)
{
    walk->result->packed_blocks += packed;
    walk->result->blocks += block->header.records != 0;
    walk->result->opaque_blocks += block->header.records == 0;
    walk->result->records += block->header.records;
}

/* ---- jobs ------------------------------------------------------------------------------------ */

static enum rbwp_status put_job(struct archive_walk *walk, const struct archive_job *job)
{
    if (job->status == ARCHIVE_JOB_NO_MEMORY)
        return no_memory(walk);
    return walk->pack ? put_packed(walk, job) : put_unpacked(walk, job);
}

/* The job that takes the next block, which stands here. */
static enum rbwp_status reach_job(struct archive_walk *walk, uint64_t place)
{
    if (walk->job)
        return RBWP_OK;
    while (!(walk->job = walk->queues->next(walk->queue))) {
        enum rbwp_status status = put_job(walk, walk->queues->take(walk->queue));
        if (status != RBWP_OK)
            return status;
    }
    archive_job_begin(walk->job, place);
    return RBWP_OK;
}

static void submit_job(struct archive_walk *walk)
{
    if (walk->job)
        walk->queues->submit(walk->queue);
    walk->job = NULL;
}

static enum rbwp_status finish_jobs(struct archive_walk *walk)
{
    const struct archive_job *job;
    enum rbwp_status status = RBWP_OK;
    submit_job(walk);
    while (status == RBWP_OK && (job = walk->queues->take(walk->queue)))
        status = put_job(walk, job);
    return status;
}

static enum rbwp_status archive_on_block(struct archive_walk *walk, const struct rbwp_block *block)
{
    bool packed = reader_block_packed(walk->reader, block);
    enum rbwp_status status = reach_job(walk, walk->pack ? walk->moved.offset : block->offset);
    if (status == RBWP_OK && walk->pack)
        status = move_plain(walk, block);
    if (status != RBWP_OK)
        return status;
    count_block(walk, block, packed);
    if (!archive_job_add(walk->job, block, packed))
        return no_memory(walk);
    if (archive_job_is_full(walk->job, walk->pack ? 1 : ARCHIVE_JOB_UNPACKS))
        submit_job(walk);
    return RBWP_OK;
}

static enum rbwp_status walk_blocks(struct archive_walk *walk)
{
    struct rbwp_block block;
    enum rbwp_status status;
    while ((status = rbwp_reader_next_block(walk->reader, &block)) == RBWP_OK) {
        status = archive_on_block(walk, &block);
        if (status != RBWP_OK)
            return status;
        if (rbwp_reader_problem_count(walk->reader))
            break;
    }
    if (rbwp_reader_problem_count(walk->reader))
        return first_problem(walk);
    if (status != RBWP_END)
        return status;
    status = finish_jobs(walk);
    return status == RBWP_OK ? moved_file_finish(&walk->moved, walk->error) : status;
}

/* The header as it was, but for the version that it is to have and where the tables are. */
static void make_header(const struct archive_walk *walk, uint8_t bytes[RBWP_FILE_HEADER_BYTES])
{
    struct rbwp_file_header header = *rbwp_reader_header(walk->reader);
    header.version = walk->pack ? ARCHIVE_VERSION : RBWP_FILE_VERSION;
    header.descriptor_offset = walk->moved.offset;
    header_encode(&header, bytes);
}

static enum rbwp_status walk_file(struct archive_walk *walk)
{
    uint8_t header[RBWP_FILE_HEADER_BYTES];
    make_header(walk, header);
    enum rbwp_status status = moved_file_begin(&walk->moved, walk->reader, walk->error);
    if (status == RBWP_OK)
        status = archive_put(walk, header, sizeof header);
    if (status == RBWP_OK)
        status = walk_blocks(walk);
    if (status == RBWP_OK)
        status = walk->pack ? pack_tail(walk)
                            : archive_put(walk, walk->moved.tail, walk->moved.tail_bytes);
    if (status == RBWP_OK && walk->pack)
        status = pack_end(walk);
    if (status != RBWP_OK)
        return status;
    make_header(walk, header);
    if (walk->sink->patch(walk->sink->context, 0, header, sizeof header) != RBWP_OK)
        return error_set_os(walk->error, "file", "write the header of the result");
    return RBWP_OK;
}

/* With who helps. */
static enum rbwp_status walk_helped(struct archive_walk *walk, int fd)
{
    const struct archive_help *help = walk->help;
    walk->queue = walk->queues->open(walk->queues->context, sizeof(struct archive_job),
                                     walk->pack ? archive_job_pack : archive_job_unpack);
    if (!walk->queue)
        return no_memory(walk);
    if (help && help->begin)
        help->begin(help->context, walk->reader, fd);
    enum rbwp_status status = walk_file(walk);
    if (help && help->end)
        help->end(help->context);
    walk->queues->close(walk->queue, archive_job_stop);
    return status;
}

static void archive_end(struct archive_walk *walk)
{
    rbwp_reader_close(walk->reader);
    moved_file_end(&walk->moved);
    free(walk->places);
}

/* What is known before the first block. */
static enum rbwp_status check_file(struct archive_walk *walk)
{
    bool pack = walk->pack;
    const struct rbwp_file_header *header = rbwp_reader_header(walk->reader);
    struct place place = {"file", NOWHERE, 0};
    if (rbwp_reader_is_stream(walk->reader))
        return error_set(walk->error, RBWP_E_INVALID, place, "it is no regular file");
    if (rbwp_reader_is_archive(walk->reader) == pack)
        return error_set(walk->error, RBWP_E_INVALID, place,
                         pack ? "it is an archive already" : "it is no archive");
    if (header->descriptor_offset < RBWP_FILE_HEADER_BYTES)
        return error_set(walk->error, RBWP_E_STATE, place,
                         "it was not finalised: its program still runs, or died");
    return RBWP_OK;
}

static enum rbwp_status walk_fd(int fd, const struct rbwp_sink *sink,
                                const struct archive_help *help, bool pack,
                                struct archive_result *result_out, struct rbwp_error *error)
{
    struct rbwp_error unasked;
    struct archive_walk walk = {.pack = pack,
                                .sink = sink,
                                .help = help,
                                .queues = help && help->queues ? help->queues : &job_queues_own,
                                .result = result_out,
                                .error = error ? error : &unasked};
    *result_out = (struct archive_result){0};
    enum rbwp_status status = rbwp_reader_open_fd(fd, NULL, &walk.reader, walk.error);
    if (status == RBWP_OK)
        status = check_file(&walk);
    if (status == RBWP_OK) {
        off_t size = lseek(fd, 0, SEEK_END);
        result_out->bytes_before = size > 0 ? (uint64_t)size : 0;
        status = walk_helped(&walk, fd);
    }
    archive_end(&walk);
    return status;
}

enum rbwp_status archive_pack(int fd, const struct rbwp_sink *sink, const struct archive_help *help,
                              struct archive_result *result_out, struct rbwp_error *error)
{
    return walk_fd(fd, sink, help, true, result_out, error);
}

enum rbwp_status archive_unpack(int fd, const struct rbwp_sink *sink,
                                const struct archive_help *help, struct archive_result *result_out,
                                struct rbwp_error *error)
{
    return walk_fd(fd, sink, help, false, result_out, error);
}

bool archive_is(int fd)
{
    uint8_t bytes[RBWP_FILE_HEADER_BYTES];
    ssize_t count = pread(fd, bytes, sizeof bytes, 0);
    return count > 0 && archive_begins(bytes, (size_t)count);
}
