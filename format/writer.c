/* SPDX-License-Identifier: Apache-2.0 */
/*
 * writer.c - the order of a file: header, blocks, tables, trailer, and at last
 * the patched header, which says that the file is whole.
 *
 * Each call is one write of the sink, which leaves nothing behind when it
 * fails. So a block that did not fit leaves the writer as it was: smaller ones
 * may follow, and the file can be finished without it. Only a header that was
 * not patched is remembered. What blocks hold is not checked; the encoder
 * answers for it.
 */
#include "crc32c.h"

#include "block.h"
#include "descriptor.h"
#include "header.h"
#include "marks.h"
#include "failure.h"
#include "index.h"
#include "trailer.h"
#include "writer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

/* Below, the head of a zlib stream and its code are most of it. */
#define PACKED_BYTES_MIN 256u

struct rbwp_writer {
    struct rbwp_sink sink;
    struct rbwp_file_header header;
    struct block_index index;
    struct table_index tables;
    struct mark_index marks;
    struct block_decoder decoder; /* for a look into blocks of tables */
    uint64_t bytes, blocks, records;
    enum rbwp_status failed;
    bool finished;
};

/* The state that forbids further writing, RBWP_OK if none. */
static enum rbwp_status refusal(const struct rbwp_writer *writer)
{
    return writer->failed != RBWP_OK ? writer->failed : writer->finished ? RBWP_E_STATE : RBWP_OK;
}

static enum rbwp_status writer_put(struct rbwp_writer *writer, const void *bytes, size_t count)
{
    if (count == 0)
        return RBWP_OK;
    enum rbwp_status status = writer->sink.write(writer->sink.context, bytes, count);
    if (status == RBWP_OK)
        writer->bytes += count;
    return status;
}

enum rbwp_status rbwp_writer_new(const struct rbwp_sink *sink, uint32_t node, int64_t zero_time_ns,
                                 bool level2, struct rbwp_writer **writer_out)
{
    *writer_out = NULL;
    struct rbwp_writer *writer = calloc(1, sizeof *writer);
    if (!writer || index_init(&writer->index) != RBWP_OK) {
        free(writer);
        return RBWP_E_MEMORY;
    }
    mark_index_begin(&writer->marks);
    writer->sink = *sink;
    writer->header = (struct rbwp_file_header){
        .version = RBWP_FILE_VERSION,
        .flags = level2 ? RBWP_FLAG_LEVEL2 : 0,
        .node = node,
        .zero_time_ns = zero_time_ns,
    };
    uint8_t bytes[RBWP_FILE_HEADER_BYTES];
    header_encode(&writer->header, bytes);
    enum rbwp_status status = writer_put(writer, bytes, sizeof(bytes));
    if (status != RBWP_OK) {
        rbwp_writer_free(writer);
        return status;
    }
    *writer_out = writer;
    return RBWP_OK;
}

void rbwp_writer_free(struct rbwp_writer *writer)
{
    if (!writer)
        return;
    index_free(&writer->index);
    table_index_free(&writer->tables);
    mark_index_free(&writer->marks);
    block_decoder_free(&writer->decoder);
    free(writer);
}

/* Notes a block without records that begins at offset, if it is one of a table. */
static bool note_table(struct rbwp_writer *writer, uint64_t offset, const uint8_t *bytes,
                       size_t count)
{
    struct rbwp_block_header header;
    struct rbwp_table_range range;
    uint8_t begin[TABLE_LOOK_BYTES];
    if (count < RBWP_BLOCK_HEADER_BYTES)
        return false;
    block_header_decode(bytes, &header);
    int got = block_begin(&writer->decoder, &header, bytes + RBWP_BLOCK_HEADER_BYTES,
                          count - RBWP_BLOCK_HEADER_BYTES, begin, sizeof begin);
    if (got < 0 || !table_range_of(&header, begin, (size_t)got, &range))
        return false;
    range.offset = offset;
    range.bytes = range.block_bytes = count;
    table_index_add(&writer->tables, &range);
    return true;
}

static void note_block(struct rbwp_writer *writer, const struct rbwp_index_range *block)
{
    const uint32_t blocks_per_range = writer->index.blocks_per_range;
    index_add(&writer->index, block);
    if (writer->index.blocks_per_range != blocks_per_range)
        mark_index_joined(&writer->marks, &writer->index);
    const struct rbwp_index_range *last = &writer->index.ranges[writer->index.count - 1];
    mark_index_block(&writer->marks, block, last->offset == block->offset);
}

/* Puts a whole block behind the others and notes it; of an opaque one place and sum alone. */
static enum rbwp_status writer_put_block(struct rbwp_writer *writer,
                                         const struct rbwp_sealed_block *block, uint32_t sum)
{
    struct rbwp_index_range range = {
        .offset = writer->bytes,
        .bytes = block->bytes_count,
        .blocks = 1,
        .crc32c = sum,
    };
    if (block->records) {
        range.records = block->records;
        range.first_ns = block->first_ns;
        range.last_ns = block->last_ns;
        range.thread_id = block->thread_id;
    }
    enum rbwp_status status = writer_put(writer, block->bytes, block->bytes_count);
    if (status != RBWP_OK)
        return status;
    note_block(writer, &range);
    if (block->records == 0 && !note_table(writer, range.offset, block->bytes, block->bytes_count))
        mark_index_give_up(&writer->marks);
    writer->blocks++;
    writer->records += block->records;
    return RBWP_OK;
}

enum rbwp_status writer_add_summed(struct rbwp_writer *writer,
                                   const struct rbwp_sealed_block *block, uint32_t sum)
{
    enum rbwp_status status = refusal(writer);
    return status == RBWP_OK ? writer_put_block(writer, block, sum) : status;
}

enum rbwp_status rbwp_writer_add_block(struct rbwp_writer *writer,
                                       const struct rbwp_sealed_block *block)
{
    return writer_add_summed(writer, block, crc32c(0, block->bytes, block->bytes_count));
}

void rbwp_writer_tell_state(struct rbwp_writer *writer, const struct rbwp_thread_state *state)
{
    struct rbwp_thread_state own = {0};
    if (sized_take(&own, sizeof own, state, "rbwp_thread_state", NULL) == RBWP_OK)
        mark_index_tell(&writer->marks, &own);
    else
        mark_index_give_up(&writer->marks);
}

/* Header, tag and data of an opaque block, uncompressed. */
static void opaque_block(const char tag[4], const void *data, uint32_t size_bytes,
                         struct buffer *whole)
{
    uint8_t head[RBWP_BLOCK_HEADER_BYTES];
    struct rbwp_block_header header = {.data_bytes = size_bytes + 4};
    block_header_encode(&header, head);
    buffer_append(whole, head, sizeof(head));
    buffer_append(whole, tag, 4);
    buffer_append(whole, data, size_bytes);
}

/* Puts a zlib stream in place of the block's data if that is smaller, and there is memory. */
static void writer_pack(struct buffer *whole)
{
    struct buffer packed = {0};
    struct rbwp_block_header header;
    block_header_decode(whole->bytes, &header);
    uLongf bytes = compressBound(header.data_bytes);
    uint8_t *room = buffer_reserve(&packed, RBWP_BLOCK_HEADER_BYTES + bytes);
    if (!room ||
        compress2(room + RBWP_BLOCK_HEADER_BYTES, &bytes, whole->bytes + RBWP_BLOCK_HEADER_BYTES,
                  header.data_bytes, Z_DEFAULT_COMPRESSION) != Z_OK ||
        bytes >= header.data_bytes) {
        buffer_free(&packed);
        return;
    }
    header.stored_bytes = (uint32_t)bytes;
    block_header_encode(&header, room);
    packed.count = RBWP_BLOCK_HEADER_BYTES + bytes;
    buffer_free(whole);
    *whole = packed;
}

static enum rbwp_status add_opaque(struct rbwp_writer *writer, const char tag[4], const void *data,
                                   uint32_t size_bytes, bool packed)
{
    if (!block_tag_valid((const uint8_t *)tag))
        return RBWP_E_INVALID;
    if (size_bytes > RBWP_BLOCK_BYTES_MAX - 4)
        return RBWP_E_LIMIT;
    enum rbwp_status status = refusal(writer);
    if (status != RBWP_OK)
        return status;
    struct buffer whole = {0};
    opaque_block(tag, data, size_bytes, &whole);
    if (packed && !whole.failed)
        writer_pack(&whole);
    struct rbwp_sealed_block block = {.bytes = whole.bytes, .bytes_count = (uint32_t)whole.count};
    status = whole.failed ? RBWP_E_MEMORY : rbwp_writer_add_block(writer, &block);
    buffer_free(&whole);
    return status;
}

enum rbwp_status rbwp_writer_add_opaque(struct rbwp_writer *writer, const char tag[4],
                                        const void *data, uint32_t size_bytes)
{
    return add_opaque(writer, tag, data, size_bytes, false);
}

enum rbwp_status writer_add_packed(struct rbwp_writer *writer, const char tag[4], const void *data,
                                   uint32_t size_bytes)
{
    return add_opaque(writer, tag, data, size_bytes, size_bytes >= PACKED_BYTES_MIN);
}

/* Puts tables, trailer and footer into buffer. */
static enum rbwp_status encode_tail(struct rbwp_writer *writer, const struct rbwp_tables *tables,
                                    const struct rbwp_trailer *trailer, struct buffer *buffer)
{
    enum rbwp_status status = descriptor_encode(tables, buffer);
    if (status != RBWP_OK || !trailer)
        return status;
    struct rbwp_trailer values = *trailer;
    values.index = writer->index.ranges;
    values.index_count = writer->index.count;
    values.table_ranges = writer->tables.ranges;
    values.table_range_count = writer->tables.count;
    mark_index_finish(&writer->marks, writer->bytes, &values);
    struct trailer_tables place = {
        .offset = writer->bytes,
        .bytes = buffer->count,
        .work_items = tables->work_item_count,
        .sub_items = tables->sub_item_count,
        .crc32c = crc32c(0, buffer->bytes, buffer->count),
    };
    return trailer_encode(&values, &place, writer->bytes + buffer->count, buffer);
}

enum rbwp_status rbwp_writer_finish_sized(struct rbwp_writer *writer,
                                          const struct rbwp_work_item_name *work_items,
                                          uint32_t work_item_count,
                                          const struct rbwp_sub_item_name *sub_items,
                                          uint32_t sub_item_count,
                                          const struct rbwp_trailer *trailer, size_t trailer_bytes)
{
    struct rbwp_trailer own;
    enum rbwp_status status = refusal(writer);
    if (status == RBWP_OK && trailer)
        status = sized_copy(&own, sizeof own, trailer, trailer_bytes, "rbwp_trailer", NULL);
    if (status != RBWP_OK)
        return status;
    struct rbwp_tables tables = {work_items, sub_items, work_item_count, sub_item_count};
    struct buffer buffer = {0};
    status = encode_tail(writer, &tables, trailer ? &own : NULL, &buffer);
    if (status == RBWP_OK) {
        writer->header.work_items = work_item_count;
        writer->header.sub_items = sub_item_count;
        writer->header.descriptor_offset = writer->bytes;
        status = writer_put(writer, buffer.bytes, buffer.count);
    }
    buffer_free(&buffer);
    if (status != RBWP_OK)
        return status;
    writer->finished = true;
    uint8_t patch[HEADER_PATCH_BYTES];
    header_encode_patch(&writer->header, patch);
    writer->failed =
        writer->sink.patch(writer->sink.context, HEADER_PATCH_OFFSET, patch, sizeof(patch));
    return writer->failed;
}

void rbwp_writer_totals(const struct rbwp_writer *writer, uint64_t *bytes_out, uint64_t *blocks_out,
                        uint64_t *records_out)
{
    if (bytes_out)
        *bytes_out = writer->bytes;
    if (blocks_out)
        *blocks_out = writer->blocks;
    if (records_out)
        *records_out = writer->records;
}

/* The ready-made sink: write(2) and pwrite(2) over a descriptor.
 *
 * Short writes and EINTR are gone on with. errno is left as the system set it. */

/* offset: -1 for the descriptor's own place. */
static enum rbwp_status write_whole(int fd, const char *next, size_t count, off_t offset)
{
    while (count) {
        ssize_t written = offset < 0 ? write(fd, next, count) : pwrite(fd, next, count, offset);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return RBWP_E_IO;
        next += written;
        offset += offset < 0 ? 0 : written;
        count -= (size_t)written;
    }
    return RBWP_OK;
}

static enum rbwp_status sink_fd_write(void *context, const void *bytes, size_t count)
{
    return write_whole(*(const int *)context, bytes, count, -1);
}

static enum rbwp_status sink_fd_patch(void *context, uint64_t offset, const void *bytes,
                                      size_t count)
{
    int fd = *(const int *)context;
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0)
        return RBWP_E_IO;
    if (flags & O_APPEND || offset > INT64_MAX) { /* pwrite would append, whatever the offset */
        errno = EINVAL;
        return RBWP_E_UNSUPPORTED;
    }
    return write_whole(fd, bytes, count, (off_t)offset);
}

struct rbwp_sink rbwp_sink_fd(int *fd)
{
    return (struct rbwp_sink){.context = fd, .write = sink_fd_write, .patch = sink_fd_patch};
}
