/* SPDX-License-Identifier: Apache-2.0 */
/*
 * archive.c - see archive.h.
 *
 * Both ways are one walk: a reader hands out the blocks, each is stored in another way, and the
 * tail follows with the places and sums of now. The archive's way holds blocks until they make a
 * chunk; the other compresses those that were.
 */
#include "archive.h"

#include "archive_file.h"
#include "chunk_code.h"
#include "crc32c.h"
#include "header.h"
#include "moved_file.h"
#include "reader_error.h"
#include "record.h"

#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>
#include <zlib.h>

#include "archive_source.h"
#include "grow.h"

#define CHUNK_RECORDS 65536u   /* a chunk ends behind the block that brings it there */
#define CHUNK_BYTES (1u << 20) /* the same of bytes */
#define COMPRESS_BYTES_MIN 64u /* smaller data are stored as they are */

/* One walk. */
struct walk {
    const struct rbwp_sink *sink;
    struct rbwp_reader *reader;
    struct moved_file moved;
    struct archive_result *result;
    struct rbwp_error *error;

    /* to an archive */
    struct chunk_encoder encoder;
    struct chunk_decoder decoder;
    struct buffer plain; /* the blocks of the chunk, as the decoder has to give them */
    struct buffer chunk, decoded;
    struct archive_place *places;
    size_t place_count, place_room;
    uint64_t chunk_place;

    /* from it */
    struct deflater *of_records, *of_tables;
    uint32_t *unit;
    size_t unit_room;
    struct buffer packed;
};

static enum rbwp_status no_memory(struct walk *walk)
{
    return error_set_memory(walk->error, "archive");
}

static enum rbwp_status put(struct walk *walk, const void *bytes, size_t count)
{
    enum rbwp_status status = walk->sink->write(walk->sink->context, bytes, count);
    walk->result->bytes += count;
    if (status != RBWP_OK)
        return error_set_os(walk->error, "file", "write the result");
    return RBWP_OK;
}

/* ---- to an archive --------------------------------------------------------------------------- */

/* Head and payload of walk->chunk, whose place is taken down. */
static enum rbwp_status put_chunk(struct walk *walk, struct archive_chunk chunk)
{
    uint8_t head[ARCHIVE_CHUNK_HEAD_BYTES];
    if (chunk.tag != ARCHIVE_INDEX) {
        if (!grow_array(&walk->places, &walk->place_room, walk->place_count + 1,
                        sizeof *walk->places))
            return no_memory(walk);
        walk->places[walk->place_count++] =
            (struct archive_place){walk->result->bytes, chunk.place};
    }
    chunk.payload_bytes = (uint32_t)walk->chunk.count;
    archive_chunk_encode(&chunk, walk->chunk.bytes, head);
    enum rbwp_status status = put(walk, head, sizeof head);
    return status == RBWP_OK ? put(walk, walk->chunk.bytes, walk->chunk.count) : status;
}

/* The chunk gives just these blocks again, or the archive is not written. */
static enum rbwp_status check_chunk(struct walk *walk)
{
    walk->decoded.count = 0;
    uint8_t *to = buffer_reserve(&walk->decoded, walk->plain.count + CHUNK_SLACK);
    if (!to)
        return no_memory(walk);
    const char *wrong =
        chunk_decode(&walk->decoder, walk->chunk.bytes, walk->chunk.count, to, walk->plain.count);
    if (wrong == chunk_no_memory)
        return no_memory(walk);
    if (!wrong && memcmp(to, walk->plain.bytes, walk->plain.count) == 0)
        return RBWP_OK;
    return error_set(walk->error, RBWP_E_CORRUPT,
                     (struct place){"archive", walk->chunk_place, RULE_ARCHIVE_COLUMNS},
                     "blocks do not come back as they are from their columns: a defect of this "
                     "program; no archive is made");
}

static enum rbwp_status flush_chunk(struct walk *walk)
{
    if (walk->plain.count == 0)
        return RBWP_OK;
    struct archive_chunk chunk = {.tag = ARCHIVE_BLOCKS,
                                  .place = walk->chunk_place,
                                  .bytes = (uint32_t)walk->plain.count,
                                  .records = walk->encoder.records};
    walk->chunk.count = 0;
    if (!chunk_encoder_finish(&walk->encoder, &walk->chunk))
        return no_memory(walk);
    enum rbwp_status status = check_chunk(walk);
    if (status == RBWP_OK)
        status = put_chunk(walk, chunk);
    walk->chunk_place += walk->plain.count;
    walk->plain.count = 0;
    return status;
}

static enum rbwp_status pack_block(struct walk *walk, const struct rbwp_block *block)
{
    uint8_t head[RBWP_BLOCK_HEADER_BYTES];
    struct rbwp_block_header header = block->header;
    struct view data = {block->data, header.data_bytes};
    bool packed = header.stored_bytes != 0;
    header.stored_bytes = 0;
    block_header_encode(&header, head);
    enum rbwp_status status = moved_file_block(
        &walk->moved, block, reader_stored_block(walk->reader), head, data, walk->error);
    if (status != RBWP_OK)
        return status;
    buffer_append(&walk->plain, head, sizeof head);
    buffer_append(&walk->plain, data.bytes, data.count);
    if (walk->plain.failed || !chunk_encoder_add(&walk->encoder, &header, data.bytes, packed))
        return no_memory(walk);
    walk->result->packed_blocks += packed;
    bool full = walk->encoder.records >= CHUNK_RECORDS || walk->plain.count >= CHUNK_BYTES;
    return full ? flush_chunk(walk) : RBWP_OK;
}

/* What stands behind the blocks: as bytes, in pieces. */
static enum rbwp_status pack_tail(struct walk *walk)
{
    const struct moved_file *moved = &walk->moved;
    enum rbwp_status status = flush_chunk(walk);
    for (size_t at = 0, some; at < moved->tail_bytes && status == RBWP_OK; at += some) {
        some = moved->tail_bytes - at < CHUNK_BYTES ? moved->tail_bytes - at : CHUNK_BYTES;
        struct archive_chunk chunk = {
            .tag = ARCHIVE_BYTES, .place = moved->offset + at, .bytes = (uint32_t)some};
        walk->chunk.count = walk->plain.count = 0;
        buffer_append(&walk->plain, moved->tail + at, some);
        if (!buffer_reserve(&walk->plain, DEFLATER_SLACK))
            return no_memory(walk);
        stream_pack(&walk->encoder.packer, walk->plain.bytes, some, STREAM_TEXT, &walk->chunk);
        status = walk->chunk.failed ? no_memory(walk) : put_chunk(walk, chunk);
    }
    return status;
}

static enum rbwp_status pack_end(struct walk *walk)
{
    uint8_t bytes[ARCHIVE_FOOTER_BYTES];
    struct archive_footer footer = {.index_offset = walk->result->bytes,
                                    .bytes = walk->moved.offset + walk->moved.tail_bytes,
                                    .chunks = (uint32_t)walk->place_count};
    struct archive_chunk chunk = {.tag = ARCHIVE_INDEX, .place = footer.bytes};
    walk->chunk.count = 0;
    for (size_t i = 0; i < walk->place_count; i++) {
        uint8_t place[ARCHIVE_PLACE_BYTES];
        store_le64(place, walk->places[i].offset);
        store_le64(place + 8, walk->places[i].place);
        buffer_append(&walk->chunk, place, sizeof place);
    }
    if (walk->chunk.failed || !buffer_reserve(&walk->chunk, 1))
        return no_memory(walk);
    enum rbwp_status status = put_chunk(walk, chunk);
    archive_footer_encode(&footer, bytes);
    return status == RBWP_OK ? put(walk, bytes, sizeof bytes) : status;
}

/* ---- from an archive ------------------------------------------------------------------------- */

/* Where a record's kind stands, for each. NULL without memory. */
static const uint32_t *find_units(struct walk *walk, const struct rbwp_block *block)
{
    struct rbwp_record_iterator iterator;
    struct rbwp_record record;
    uint32_t count = 0;
    if (!grow_array(&walk->unit, &walk->unit_room, block->header.records, sizeof *walk->unit))
        return NULL;
    rbwp_record_first(block, &iterator);
    while (rbwp_record_next(&iterator, &record))
        walk->unit[count++] = record.offset + record.time_bytes;
    return walk->unit;
}

/* The compressed data in walk->packed; none if they do not get smaller. */
static enum rbwp_status compress_block(struct walk *walk, const struct rbwp_block *block)
{
    uint32_t bytes = block->header.data_bytes, records = block->header.records;
    walk->packed.count = 0;
    uint8_t *to = buffer_reserve(&walk->packed, (size_t)bytes + DEFLATER_SLACK);
    const uint32_t *unit = records ? find_units(walk, block) : NULL;
    if (!to || (records && !unit))
        return no_memory(walk);
    if (bytes >= COMPRESS_BYTES_MIN)
        walk->packed.count = deflater_run(records ? walk->of_records : walk->of_tables, block->data,
                                          bytes, unit, records, to);
    return RBWP_OK;
}

static enum rbwp_status unpack_block(struct walk *walk, const struct rbwp_block *block)
{
    uint8_t head[RBWP_BLOCK_HEADER_BYTES];
    struct rbwp_block_header header = block->header;
    struct view payload = {block->data, header.data_bytes};
    enum rbwp_status status = RBWP_OK;
    walk->packed.count = 0;
    if (reader_block_packed(walk->reader, block)) {
        status = compress_block(walk, block);
        walk->result->packed_blocks++;
    }
    if (walk->packed.count)
        payload = (struct view){walk->packed.bytes, walk->packed.count};
    header.stored_bytes = (uint32_t)walk->packed.count;
    block_header_encode(&header, head);
    if (status == RBWP_OK)
        status = moved_file_block(&walk->moved, block, reader_stored_block(walk->reader), head,
                                  payload, walk->error);
    if (status == RBWP_OK)
        status = put(walk, head, sizeof head);
    return status == RBWP_OK ? put(walk, payload.bytes, payload.count) : status;
}

static enum rbwp_status unpack_tail(struct walk *walk)
{
    return put(walk, walk->moved.tail, walk->moved.tail_bytes);
}

/* ---- the walk -------------------------------------------------------------------------------- */

/* The first thing that the reader found wrong. */
static enum rbwp_status first_problem(struct walk *walk)
{
    const struct rbwp_problem *problem = rbwp_reader_problem(walk->reader, 0);
    if (!problem)
        return RBWP_OK;
    *walk->error = problem->error;
    return problem->error.status == RBWP_E_VERSION ? RBWP_E_VERSION : RBWP_E_CORRUPT;
}

static void count_block(struct walk *walk, const struct rbwp_block *block)
{
    walk->result->blocks += block->header.records != 0;
    walk->result->opaque_blocks += block->header.records == 0;
    walk->result->records += block->header.records;
}

static enum rbwp_status walk_blocks(struct walk *walk, bool pack)
{
    struct rbwp_block block;
    enum rbwp_status status;
    while ((status = rbwp_reader_next_block(walk->reader, &block)) == RBWP_OK) {
        count_block(walk, &block);
        status = pack ? pack_block(walk, &block) : unpack_block(walk, &block);
        if (status != RBWP_OK)
            return status;
        if (rbwp_reader_problem_count(walk->reader))
            break;
    }
    if (rbwp_reader_problem_count(walk->reader))
        return first_problem(walk);
    return status == RBWP_END ? moved_file_finish(&walk->moved, walk->error) : status;
}

/* The header as it was, but for the version that it is to have and where the tables are. */
static void make_header(const struct walk *walk, bool pack, uint8_t bytes[RBWP_FILE_HEADER_BYTES])
{
    struct rbwp_file_header header = *rbwp_reader_header(walk->reader);
    header.version = pack ? ARCHIVE_VERSION : RBWP_FILE_VERSION;
    header.descriptor_offset = walk->moved.offset;
    header_encode(&header, bytes);
}

static enum rbwp_status walk_file(struct walk *walk, bool pack)
{
    uint8_t header[RBWP_FILE_HEADER_BYTES];
    make_header(walk, pack, header);
    enum rbwp_status status = moved_file_begin(&walk->moved, walk->reader, walk->error);
    if (status == RBWP_OK)
        status = put(walk, header, sizeof header);
    walk->chunk_place = walk->moved.offset;
    if (status == RBWP_OK)
        status = walk_blocks(walk, pack);
    if (status == RBWP_OK)
        status = pack ? pack_tail(walk) : unpack_tail(walk);
    if (status == RBWP_OK && pack)
        status = pack_end(walk);
    if (status != RBWP_OK)
        return status;
    make_header(walk, pack, header);
    if (walk->sink->patch(walk->sink->context, 0, header, sizeof header) != RBWP_OK)
        return error_set_os(walk->error, "file", "write the header of the result");
    return RBWP_OK;
}

static enum rbwp_status begin(struct walk *walk, bool pack)
{
    if (pack)
        return chunk_encoder_begin(&walk->encoder) ? RBWP_OK : no_memory(walk);
    walk->of_records = deflater_new(false);
    walk->of_tables = deflater_new(true);
    return walk->of_records && walk->of_tables ? RBWP_OK : no_memory(walk);
}

static void end(struct walk *walk)
{
    rbwp_reader_close(walk->reader);
    moved_file_end(&walk->moved);
    chunk_encoder_end(&walk->encoder);
    chunk_decoder_free(&walk->decoder);
    buffer_free(&walk->plain);
    buffer_free(&walk->chunk);
    buffer_free(&walk->decoded);
    buffer_free(&walk->packed);
    deflater_free(walk->of_records);
    deflater_free(walk->of_tables);
    free(walk->places);
    free(walk->unit);
}

/* What can be told before the first block. */
static enum rbwp_status check_file(struct walk *walk, bool pack)
{
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

static enum rbwp_status walk_fd(int fd, const struct rbwp_sink *sink, bool pack,
                                struct archive_result *result_out, struct rbwp_error *error)
{
    struct rbwp_error unasked;
    struct walk walk = {.sink = sink, .result = result_out, .error = error ? error : &unasked};
    *result_out = (struct archive_result){0};
    enum rbwp_status status = rbwp_reader_open_fd(fd, NULL, &walk.reader, walk.error);
    if (status == RBWP_OK)
        status = check_file(&walk, pack);
    if (status == RBWP_OK)
        status = begin(&walk, pack);
    if (status == RBWP_OK) {
        off_t size = lseek(fd, 0, SEEK_END);
        result_out->bytes_before = size > 0 ? (uint64_t)size : 0;
        status = walk_file(&walk, pack);
    }
    end(&walk);
    return status;
}

enum rbwp_status archive_pack(int fd, const struct rbwp_sink *sink,
                              struct archive_result *result_out, struct rbwp_error *error)
{
    return walk_fd(fd, sink, true, result_out, error);
}

enum rbwp_status archive_unpack(int fd, const struct rbwp_sink *sink,
                                struct archive_result *result_out, struct rbwp_error *error)
{
    return walk_fd(fd, sink, false, result_out, error);
}

bool archive_is(int fd)
{
    uint8_t bytes[RBWP_FILE_HEADER_BYTES];
    ssize_t count = pread(fd, bytes, sizeof bytes, 0);
    return count > 0 && archive_begins(bytes, (size_t)count);
}
