/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From records to finished blocks. Knows the encoding of a record and of a
 * block header; leaves compression to the deflater (level 1) or zlib
 * (levels 2 to 9). A block whose payload does not shrink is stored as it is.
 */
#include "sealed_block.h"

#include "deflater.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define BLOCK_BYTES_DEFAULT 65536u
#define LEVEL_DEFAULT 1
/* From 1 up to this level the own parsers, which on records are smaller and faster than zlib at
 * these levels; only the first may hurry. */
#define OWN_LEVEL_MAX 5
/* Below this a zlib stream's own frame and code eat what it could save. */
#define BLOCK_ENCODER_COMPRESS_BYTES_MIN 64u

struct rbwp_block_encoder {
    uint8_t *data; /* the payload being built; DEFLATER_SLACK bytes beyond capacity */
    uint32_t size, capacity;
    uint32_t records;
    int64_t previous_ns; /* 0 at the start of a block: the first delta is taken to 0 */
    int64_t base_ns, first_ns, last_ns;

    uint32_t *unit; /* where each record's kind byte stands, for the deflater */

    uint8_t *sealed; /* header and stored payload of the last finished block */
    int level;
    struct deflater *fast;
    z_stream zlib;
};

void rbwp_block_encoder_free(struct rbwp_block_encoder *encoder)
{
    if (!encoder)
        return;
    deflater_free(encoder->fast);
    if (encoder->level > OWN_LEVEL_MAX)
        deflateEnd(&encoder->zlib);
    free(encoder->sealed);
    free(encoder->unit);
    free(encoder->data);
    free(encoder);
}

static bool open_compressor(struct rbwp_block_encoder *encoder, int level)
{
    if (level >= 1 && level <= OWN_LEVEL_MAX) {
        encoder->fast = deflater_new(false);
        if (!encoder->fast)
            return false;
    } else if (level > 0 && deflateInit(&encoder->zlib, level) != Z_OK) {
        return false;
    }
    encoder->level = level;
    return true;
}

enum rbwp_status rbwp_block_encoder_new(uint32_t block_bytes, int level,
                                        struct rbwp_block_encoder **encoder_out)
{
    *encoder_out = NULL;
    if (block_bytes == 0)
        block_bytes = BLOCK_BYTES_DEFAULT;
    if (level == -1)
        level = LEVEL_DEFAULT;
    if (block_bytes < 64 || block_bytes > RBWP_BLOCK_BYTES_MAX || level < 0 || level > 9)
        return RBWP_E_INVALID;
    struct rbwp_block_encoder *encoder = calloc(1, sizeof *encoder);
    if (!encoder)
        return RBWP_E_MEMORY;
    encoder->capacity = block_bytes;
    encoder->data = calloc(1, (size_t)block_bytes + DEFLATER_SLACK);
    encoder->unit = malloc((block_bytes / RBWP_RECORD_BYTES_MIN + 1) * sizeof *encoder->unit);
    encoder->sealed = malloc((size_t)block_bytes + RBWP_BLOCK_HEADER_BYTES + DEFLATER_SLACK);
    if (!encoder->data || !encoder->unit || !encoder->sealed || !open_compressor(encoder, level)) {
        rbwp_block_encoder_free(encoder);
        return RBWP_E_MEMORY;
    }
    *encoder_out = encoder;
    return RBWP_OK;
}

/* SPEC.md, "Timestamp": the shortest form that holds the delta; absolute if it is negative. */
static uint8_t *block_encoder_put_time(uint8_t *next, int64_t time_ns, int64_t previous_ns)
{
    uint64_t delta = (uint64_t)time_ns - (uint64_t)previous_ns; /* a negative one is huge */
    if (delta < 1u << 15) {
        store_be16(next, (uint16_t)delta);
        return next + 2;
    }
    if (delta < 1u << 30) {
        store_be32(next, (uint32_t)delta | 2u << 30);
        return next + 4;
    }
    store_be64(next, (uint64_t)time_ns | 3ull << 62);
    return next + 8;
}

/* Writes time and kind; the caller adds the payload at the returned place. NULL when full. */
static uint8_t *block_encoder_put_head(struct rbwp_block_encoder *encoder, int64_t time_ns,
                                       unsigned kind, uint32_t payload_bytes)
{
    uint8_t *start = encoder->data + encoder->size;
    if (encoder->capacity - encoder->size < 8 + 1 + payload_bytes)
        return NULL;
    time_ns &= (int64_t)((UINT64_C(1) << RBWP_TIME_BITS) - 1);
    if (encoder->records == 0) {
        encoder->previous_ns = 0;
        encoder->base_ns = encoder->first_ns = encoder->last_ns = time_ns;
    } else if (time_ns > encoder->last_ns) {
        encoder->last_ns = time_ns;
    } else if (time_ns < encoder->first_ns) {
        encoder->first_ns = time_ns;
    }
    uint8_t *next = block_encoder_put_time(start, time_ns, encoder->previous_ns);
    encoder->previous_ns = time_ns;
    encoder->unit[encoder->records++] = (uint32_t)(next - encoder->data);
    *next++ = (uint8_t)kind;
    encoder->size += (uint32_t)(next - start) + payload_bytes;
    return next;
}

enum rbwp_status rbwp_block_encoder_put(struct rbwp_block_encoder *encoder, int64_t time_ns,
                                        unsigned kind, unsigned id)
{
    uint8_t *next;
    switch (kind) {
    case RBWP_COARSE_BEGIN:
        next = block_encoder_put_head(encoder, time_ns, kind, 1);
        if (next)
            next[0] = (uint8_t)id;
        break;
    case RBWP_FINE_BEGIN:
        next = block_encoder_put_head(encoder, time_ns, kind, 2);
        if (next)
            store_le16(next, (uint16_t)id);
        break;
    case RBWP_COARSE_END:
    case RBWP_FINE_END:
        next = block_encoder_put_head(encoder, time_ns, kind, 0);
        break;
    default:
        return RBWP_E_INVALID;
    }
    return next ? RBWP_OK : RBWP_AGAIN;
}

enum rbwp_status rbwp_block_encoder_add(struct rbwp_block_encoder *encoder,
                                        const struct rbwp_record *record)
{
    if (record->kind != RBWP_GPU_WORK)
        return rbwp_block_encoder_put(encoder, record->time_ns, record->kind,
                                      record->kind == RBWP_COARSE_BEGIN ? record->slot
                                                                        : record->sub_item);
    uint8_t *next = block_encoder_put_head(encoder, record->time_ns, record->kind, 25);
    if (!next)
        return RBWP_AGAIN;
    store_le64(next, record->proc_id);
    next[8] = record->slot;
    store_le64(next + 9, (uint64_t)record->start_ns);
    store_le64(next + 17, (uint64_t)record->stop_ns);
    return RBWP_OK;
}

/* A block's first record says where it begins: none is put here before that. */
void block_cursor_open(const struct rbwp_block_encoder *encoder, struct block_cursor *cursor_out)
{
    const uint32_t most = 8 + 2; /* of a time and of what follows the kind */
    _Static_assert(DEFLATER_SLACK >= sizeof(uint64_t), "stored at once");
    *cursor_out = (struct block_cursor){
        .data = encoder->data,
        .at = encoder->size,
        .limit = encoder->records ? encoder->capacity - most : 0,
        .unit = encoder->unit + encoder->records,
        .previous_ns = (uint64_t)encoder->previous_ns,
    };
}

/* Times that were put ascend. */
void block_cursor_close(const struct block_cursor *cursor, struct rbwp_block_encoder *encoder)
{
    encoder->size = (uint32_t)cursor->at;
    encoder->records = (uint32_t)(cursor->unit - encoder->unit);
    encoder->previous_ns = (int64_t)cursor->previous_ns;
    if (encoder->previous_ns > encoder->last_ns)
        encoder->last_ns = encoder->previous_ns;
}

/* The size of the compressed payload at out, or 0 when it does not shrink. */
static size_t compress_payload(struct rbwp_block_encoder *encoder, uint8_t *out)
{
    if (encoder->level == 0 || encoder->size < BLOCK_ENCODER_COMPRESS_BYTES_MIN)
        return 0;
    if (encoder->fast)
        return deflater_run(encoder->fast, encoder->data, encoder->size, encoder->unit,
                            encoder->records, out);
    z_stream *z = &encoder->zlib;
    deflateReset(z);
    z->next_in = encoder->data;
    z->avail_in = encoder->size;
    z->next_out = out;
    z->avail_out = encoder->size - 1;
    return deflate(z, Z_FINISH) == Z_STREAM_END ? z->total_out : 0;
}

enum rbwp_status rbwp_block_encoder_seal(struct rbwp_block_encoder *encoder, uint64_t thread_id,
                                         uint32_t sequence, struct rbwp_sealed_block *block_out)
{
    if (encoder->records == 0)
        return RBWP_END;
    uint8_t *header = encoder->sealed, *payload = header + RBWP_BLOCK_HEADER_BYTES;
    uint32_t compressed = (uint32_t)compress_payload(encoder, payload);
    if (compressed == 0)
        memcpy(payload, encoder->data, encoder->size);
    store_le64(header, thread_id);
    store_le32(header + 8, sequence);
    store_le32(header + 12, encoder->records);
    store_le64(header + 16, (uint64_t)encoder->base_ns);
    store_le32(header + 24, encoder->size);
    store_le32(header + 28, compressed);
    *block_out = (struct rbwp_sealed_block){
        .bytes = header,
        .bytes_count = RBWP_BLOCK_HEADER_BYTES + (compressed ? compressed : encoder->size),
        .records = encoder->records,
        .thread_id = thread_id,
        .first_ns = encoder->first_ns,
        .last_ns = encoder->last_ns,
    };
    encoder->size = 0;
    encoder->records = 0;
    return RBWP_OK;
}

void block_encoder_hurry(struct rbwp_block_encoder *encoder, bool hurries)
{
    if (encoder->level == 1)
        deflater_hurry(encoder->fast, hurries);
}

void block_encoder_yield_by(struct rbwp_block_encoder *encoder, struct yield_hook *yield_hook)
{
    if (encoder->fast)
        deflater_yield_by(encoder->fast, yield_hook);
}

void sealed_block_renumber(uint8_t *bytes, uint32_t sequence)
{
    store_le32(bytes + 8, sequence);
}
