/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chunk_encode.c - blocks to columns.
 *
 * A block's records are taken apart in one pass. Room for the most that they can become is taken
 * before, so that the pass only stores; what it stored is forgotten again where the block turns out
 * to have records in other bytes than the decoder would give them.
 */
#include "chunk_code.h"

#include "block.h"
#include "number_code.h"
#include "record.h"

/* Where a block's pass is. */
struct taking {
    uint8_t *next[CHUNK_STREAMS];
    uint64_t held;
    unsigned held_bits;
    uint8_t tuple[CHUNK_KINDS], tuple_count[CHUNK_KINDS];
    unsigned before;    /* index of the kind before */
    int64_t time_ns;    /* of the record before */
    uint64_t processor; /* of the GPU_WORK before */
};

static const uint8_t kind_index[256] = {
    [RBWP_COARSE_END] = 1, [RBWP_FINE_BEGIN] = 2, [RBWP_FINE_END] = 3, [RBWP_GPU_WORK] = 4};

bool chunk_encoder_begin(struct chunk_encoder *encoder)
{
    *encoder = (struct chunk_encoder){0};
    return stream_packer_begin(&encoder->packer);
}

void chunk_encoder_end(struct chunk_encoder *encoder)
{
    for (unsigned i = 0; i < CHUNK_STREAMS; i++)
        buffer_free(&encoder->column[i]);
    stream_packer_end(&encoder->packer);
}

/* ---- a block --------------------------------------------------------------------------------- */

static void put_bits(struct taking *taking, uint64_t bits, unsigned count)
{
    taking->held |= bits << taking->held_bits;
    taking->held_bits += count;
    store_le64(taking->next[STREAM_BITS], taking->held);
    taking->next[STREAM_BITS] += taking->held_bits >> 3;
    taking->held >>= taking->held_bits & ~7u;
    taking->held_bits &= 7;
}

static void put_number(struct taking *taking, enum chunk_stream stream, uint64_t number)
{
    unsigned bits;
    *taking->next[stream]++ = (uint8_t)number_symbol(number, &bits);
    uint64_t rest = number & ((UINT64_C(1) << bits) - 1);
    if (bits > 32) {
        put_bits(taking, rest & 0xffffffff, 32);
        rest >>= 32;
        bits -= 32;
    }
    put_bits(taking, rest, bits);
}

static void put_kind(struct taking *taking, unsigned kind)
{
    static const uint8_t weight[CHUNK_TUPLE] = {1, CHUNK_KINDS, CHUNK_KINDS * CHUNK_KINDS};
    unsigned before = taking->before, count = taking->tuple_count[before];
    unsigned tuple = taking->tuple[before] + kind * weight[count];
    taking->before = kind;
    if (++count == CHUNK_TUPLE) {
        *taking->next[STREAM_KINDS + before]++ = (uint8_t)tuple;
        count = tuple = 0;
    }
    taking->tuple[before] = (uint8_t)tuple;
    taking->tuple_count[before] = (uint8_t)count;
}

/* Of a time of this form. False: a writer would have chosen another. */
static bool put_time(struct taking *taking, unsigned kind, unsigned form_bytes, int64_t before_ns)
{
    uint64_t difference = (uint64_t)taking->time_ns - (uint64_t)before_ns;
    if (difference < UINT64_C(1) << 30) {
        put_number(taking, STREAM_TIMES + kind, difference);
        return form_bytes == (difference < 1u << 15 ? 2 : 4);
    }
    *taking->next[STREAM_TIMES + kind]++ = TIME_SYMBOL_WIDE;
    store_le64(taking->next[STREAM_WIDE], (uint64_t)taking->time_ns);
    taking->next[STREAM_WIDE] += 8;
    return form_bytes == 8;
}

static uint64_t zigzag(uint64_t difference)
{
    return difference << 1 ^ (uint64_t) - (int64_t)(difference >> 63);
}

static void put_gpu_work(struct taking *taking, const uint8_t *body)
{
    uint64_t processor = load_le64(body + 1), start = load_le64(body + 10),
             stop = load_le64(body + 18);
    *taking->next[STREAM_GPU_SLOTS]++ = body[9];
    put_number(taking, STREAM_GPU_PROCESSORS, zigzag(processor - taking->processor));
    put_number(taking, STREAM_GPU_STOPS, zigzag((uint64_t)taking->time_ns - stop));
    put_number(taking, STREAM_GPU_STARTS, zigzag(stop - start));
    taking->processor = processor;
}

static bool put_record(struct taking *taking, const uint8_t *bytes, uint32_t *bytes_out)
{
    int64_t before_ns = taking->time_ns;
    uint32_t form_bytes = record_time(bytes, &taking->time_ns);
    const uint8_t *body = bytes + form_bytes;
    unsigned kind = kind_index[body[0]];
    *bytes_out = form_bytes + record_body_bytes[body[0]];
    put_kind(taking, kind);
    if (!put_time(taking, kind, form_bytes, before_ns))
        return false;
    if (body[0] == RBWP_COARSE_BEGIN) {
        *taking->next[STREAM_SLOTS]++ = body[1];
    } else if (body[0] == RBWP_FINE_BEGIN) {
        *taking->next[STREAM_SUBS_LOW]++ = body[1];
        *taking->next[STREAM_SUBS_HIGH]++ = body[2];
    } else if (body[0] == RBWP_GPU_WORK) {
        put_gpu_work(taking, body);
    }
    return true;
}

static bool put_records(struct taking *taking, const uint8_t *data, uint32_t bytes)
{
    for (uint32_t next = 0, record_bytes; next < bytes; next += record_bytes) {
        struct record_tail tail;
        const uint8_t *at = data + next;
        if (bytes - next < RBWP_RECORD_BYTES_MAX)
            at = record_pad(&tail, at, bytes - next);
        if (!put_record(taking, at, &record_bytes))
            return false;
    }
    return true;
}

/* Of what a record becomes, bits and absolute times are no more than the record, and other streams
 * have a byte of it at most. */
static size_t block_most(unsigned stream, const struct rbwp_block_header *header)
{
    return stream == STREAM_BITS || stream == STREAM_WIDE ? header->data_bytes : header->records;
}

static bool begin_block(struct chunk_encoder *encoder, const struct rbwp_block_header *header,
                        struct taking *taking_out)
{
    struct taking taking = {.held = encoder->held, .held_bits = encoder->held_bits, .before = 1};
    memcpy(taking.tuple, encoder->tuple, sizeof taking.tuple);
    memcpy(taking.tuple_count, encoder->tuple_count, sizeof taking.tuple_count);
    for (unsigned i = STREAM_KINDS; i < CHUNK_STREAMS; i++) {
        taking.next[i] = buffer_reserve(&encoder->column[i], block_most(i, header) + 16);
        if (!taking.next[i])
            return false;
    }
    *taking_out = taking;
    return true;
}

static void end_block(struct chunk_encoder *encoder, const struct taking *taking)
{
    encoder->held = taking->held;
    encoder->held_bits = taking->held_bits;
    memcpy(encoder->tuple, taking->tuple, sizeof taking->tuple);
    memcpy(encoder->tuple_count, taking->tuple_count, sizeof taking->tuple_count);
    for (unsigned i = STREAM_KINDS; i < CHUNK_STREAMS; i++)
        encoder->column[i].count = (size_t)(taking->next[i] - encoder->column[i].bytes);
}

static bool put_head(struct chunk_encoder *encoder, const struct rbwp_block_header *header,
                     unsigned flags)
{
    uint8_t bytes[RBWP_BLOCK_HEADER_BYTES];
    block_header_encode(header, bytes);
    bytes[CHUNK_HEAD_FLAGS] = (uint8_t)flags; /* in place of the stored size */
    buffer_append(&encoder->column[STREAM_HEADS], bytes, CHUNK_HEAD_BYTES);
    return !encoder->column[STREAM_HEADS].failed;
}

bool chunk_encoder_add(struct chunk_encoder *encoder, const struct rbwp_block_header *header,
                       const uint8_t *data, bool packed)
{
    struct taking taking;
    unsigned flags = packed ? CHUNK_BLOCK_PACKED : 0;
    bool columns = header->records != 0;
    if (columns && !begin_block(encoder, header, &taking))
        return false;
    if (columns && put_records(&taking, data, header->data_bytes)) {
        end_block(encoder, &taking);
    } else {
        flags |= CHUNK_BLOCK_BYTES;
        buffer_append(&encoder->column[STREAM_BYTES], data, header->data_bytes);
        if (encoder->column[STREAM_BYTES].failed)
            return false;
    }
    encoder->records += header->records;
    encoder->bytes += RBWP_BLOCK_HEADER_BYTES + (uint64_t)header->data_bytes;
    return put_head(encoder, header, flags);
}

/* ---- the end --------------------------------------------------------------------------------- */

static void put_rests(struct chunk_encoder *encoder)
{
    for (unsigned i = 0; i < CHUNK_KINDS; i++)
        if (encoder->tuple_count[i])
            buffer_append(&encoder->column[STREAM_KINDS + i], &encoder->tuple[i], 1);
    uint8_t byte = (uint8_t)encoder->held;
    if (encoder->held_bits)
        buffer_append(&encoder->column[STREAM_BITS], &byte, 1);
}

static enum stream_effort effort_of(unsigned stream)
{
    if (stream == STREAM_HEADS || stream == STREAM_BYTES)
        return STREAM_TEXT;
    bool noise = stream >= STREAM_TIMES && stream <= STREAM_BITS;
    return noise ? STREAM_NOISE : STREAM_PATTERNS;
}

bool chunk_encoder_finish(struct chunk_encoder *encoder, struct buffer *out)
{
    put_rests(encoder);
    for (unsigned i = 0; i < CHUNK_STREAMS; i++) {
        struct buffer *column = &encoder->column[i];
        if (!buffer_reserve(column, DEFLATER_SLACK) || column->failed)
            return false;
        stream_pack(&encoder->packer, column->bytes, column->count, effort_of(i), out);
        column->count = 0;
    }
    encoder->held = encoder->held_bits = 0;
    memset(encoder->tuple, 0, sizeof encoder->tuple);
    memset(encoder->tuple_count, 0, sizeof encoder->tuple_count);
    encoder->records = 0;
    encoder->bytes = 0;
    return !out->failed;
}
