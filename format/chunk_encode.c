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
#include "record_bytes.h"

/* The end of STREAM_BITS. Handed over by value but where it is inlined: so the compiler knows that
 * no store of a byte changes it, and keeps it in registers. */
struct chunk_encode_bits {
    uint8_t *next;
    uint64_t held;
    unsigned count; /* of bits held */
};

/* Where a block's pass is. */
struct taking {
    uint8_t *next[CHUNK_STREAMS];
    struct chunk_encode_bits bits;
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

static inline void chunk_put_bits(struct chunk_encode_bits *bits, uint64_t value, unsigned count)
{
    bits->held |= value << bits->count;
    bits->count += count;
    store_le64(bits->next, bits->held);
    bits->next += bits->count >> 3;
    bits->held >>= bits->count & ~7u;
    bits->count &= 7;
}

static inline void chunk_encode_put_number(struct taking *taking, struct chunk_encode_bits *bits,
                                           unsigned stream, uint64_t number)
{
    unsigned count;
    *taking->next[stream]++ = (uint8_t)number_symbol(number, &count);
    uint64_t rest = number & ((UINT64_C(1) << count) - 1);
    if (count > 32) {
        chunk_put_bits(bits, rest & 0xffffffff, 32);
        rest >>= 32;
        count -= 32;
    }
    chunk_put_bits(bits, rest, count);
}

/* Of a time of this form. False: a writer would have chosen another. */
static inline bool chunk_encode_put_time(struct taking *taking, struct chunk_encode_bits *bits,
                                         unsigned kind, unsigned form_bytes, int64_t before_ns,
                                         int64_t time_ns)
{
    uint64_t difference = (uint64_t)time_ns - (uint64_t)before_ns;
    if (difference < UINT64_C(1) << 30) {
        chunk_encode_put_number(taking, bits, STREAM_TIMES + kind, difference);
        return form_bytes == (difference < 1u << 15 ? 2 : 4);
    }
    *taking->next[STREAM_TIMES + kind]++ = TIME_SYMBOL_WIDE;
    store_le64(taking->next[STREAM_WIDE], (uint64_t)time_ns);
    taking->next[STREAM_WIDE] += 8;
    return form_bytes == 8;
}

static uint64_t chunk_encode_zigzag(uint64_t difference)
{
    return difference << 1 ^ (uint64_t) - (int64_t)(difference >> 63);
}

static __attribute__((noinline)) struct chunk_encode_bits
put_gpu_work(struct taking *taking, struct chunk_encode_bits bits, const uint8_t *body,
             int64_t time_ns)
{
    uint64_t processor = load_le64(body + 1), start = load_le64(body + 10),
             stop = load_le64(body + 18);
    *taking->next[STREAM_GPU_SLOTS]++ = body[9];
    chunk_encode_put_number(taking, &bits, STREAM_GPU_PROCESSORS,
                            chunk_encode_zigzag(processor - taking->processor));
    chunk_encode_put_number(taking, &bits, STREAM_GPU_STOPS,
                            chunk_encode_zigzag((uint64_t)time_ns - stop));
    chunk_encode_put_number(taking, &bits, STREAM_GPU_STARTS, chunk_encode_zigzag(stop - start));
    taking->processor = processor;
    return bits;
}

/* Slot or sub-item. Stored whatever the kind is, and kept where it is one that has it: what kind
 * comes next cannot be foreseen, so there is no branch on it. */
static inline void put_id(struct taking *taking, unsigned kind, const uint8_t *body)
{
    bool call = kind == 0, item = kind == 2;
    *taking->next[STREAM_SLOTS] = *taking->next[STREAM_SUBS_LOW] = body[1];
    *taking->next[STREAM_SUBS_HIGH] = body[2];
    taking->next[STREAM_SLOTS] += call;
    taking->next[STREAM_SUBS_LOW] += item;
    taking->next[STREAM_SUBS_HIGH] += item;
}

static bool put_records(struct taking *taking, const uint8_t *data, uint32_t bytes)
{
    struct chunk_encode_bits bits = taking->bits;
    unsigned before = 1;
    int64_t time_ns = 0;
    for (uint32_t next = 0; next < bytes;) {
        struct record_tail tail;
        const uint8_t *at = data + next;
        if (bytes - next < RBWP_RECORD_BYTES_MAX)
            at = record_pad(&tail, at, bytes - next);
        int64_t before_ns = time_ns;
        uint32_t form_bytes = record_time(at, &time_ns);
        const uint8_t *body = at + form_bytes;
        unsigned kind = kind_index[body[0]];
        *taking->next[STREAM_KINDS + before]++ = (uint8_t)kind;
        if (!chunk_encode_put_time(taking, &bits, kind, form_bytes, before_ns, time_ns))
            return false;
        put_id(taking, kind, body);
        if (body[0] == RBWP_GPU_WORK)
            bits = put_gpu_work(taking, bits, body, time_ns);
        before = kind;
        next += form_bytes + record_body_bytes[body[0]];
    }
    taking->bits = bits;
    return true;
}

/* Of what a record becomes, bits and absolute times are no more than the record, and other streams
 * have a byte of it at most. */
static size_t block_most(unsigned stream, const struct rbwp_block_header *header)
{
    return stream == STREAM_BITS || stream == STREAM_WIDE ? header->data_bytes : header->records;
}

static bool chunk_encode_begin_block(struct chunk_encoder *encoder,
                                     const struct rbwp_block_header *header,
                                     struct taking *taking_out)
{
    struct taking taking = {.bits.held = encoder->held, .bits.count = encoder->held_bits};
    for (unsigned i = STREAM_KINDS; i < CHUNK_STREAMS; i++) {
        taking.next[i] = buffer_reserve(&encoder->column[i], block_most(i, header) + 16);
        if (!taking.next[i])
            return false;
    }
    taking.bits.next = taking.next[STREAM_BITS];
    *taking_out = taking;
    return true;
}

static void end_block(struct chunk_encoder *encoder, struct taking *taking)
{
    encoder->held = taking->bits.held;
    encoder->held_bits = taking->bits.count;
    taking->next[STREAM_BITS] = taking->bits.next;
    for (unsigned i = STREAM_KINDS; i < CHUNK_STREAMS; i++)
        encoder->column[i].count = (size_t)(taking->next[i] - encoder->column[i].bytes);
}

static bool chunk_encode_put_head(struct chunk_encoder *encoder,
                                  const struct rbwp_block_header *header, unsigned flags)
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
    if (columns && !chunk_encode_begin_block(encoder, header, &taking))
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
    return chunk_encode_put_head(encoder, header, flags);
}

/* ---- the end --------------------------------------------------------------------------------- */

/* Several kinds to a byte, which stand there one by one. */
static void join_kinds(struct buffer *column)
{
    size_t tuples = column->count / CHUNK_TUPLE;
    const uint8_t *kinds = column->bytes;
    for (size_t i = 0; i < tuples; i++, kinds += CHUNK_TUPLE)
        column->bytes[i] =
            (uint8_t)(kinds[0] + CHUNK_KINDS * kinds[1] + CHUNK_KINDS * CHUNK_KINDS * kinds[2]);
    size_t left = column->count - tuples * CHUNK_TUPLE;
    if (left)
        column->bytes[tuples] = (uint8_t)(kinds[0] + (left > 1 ? CHUNK_KINDS * kinds[1] : 0));
    column->count = tuples + (left != 0);
}

static void put_rests(struct chunk_encoder *encoder)
{
    for (unsigned i = 0; i < CHUNK_KINDS; i++)
        join_kinds(&encoder->column[STREAM_KINDS + i]);
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
    encoder->records = 0;
    encoder->bytes = 0;
    return !out->failed;
}
