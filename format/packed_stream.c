/* SPDX-License-Identifier: Apache-2.0 */
/* packed_stream.c - see chunk_code.h. */
#include "chunk_code.h"

#include "rules.h"

#include <zlib.h>

bool stream_packer_begin(struct stream_packer *packer)
{
    *packer = (struct stream_packer){.deflater = deflater_new(true)};
    packer->zlib_ready = deflateInit(&packer->zlib, 1) == Z_OK;
    return packer->deflater && packer->zlib_ready;
}

void stream_packer_end(struct stream_packer *packer)
{
    if (packer->zlib_ready)
        deflateEnd(&packer->zlib);
    deflater_free(packer->deflater);
    buffer_free(&packer->scratch);
}

static void packed_stream_put_varint(struct buffer *out, uint32_t value)
{
    uint8_t bytes[5];
    size_t count = 0;
    for (; value > 0x7f; value >>= 7)
        bytes[count++] = (uint8_t)(value | 0x80);
    bytes[count++] = (uint8_t)value;
    buffer_append(out, bytes, count);
}

static bool is_run(const uint8_t *bytes, size_t count)
{
    return count && memcmp(bytes, bytes + 1, count - 1) == 0;
}

/* What looks for repetitions takes four times as long as what does not. So it is asked only where
 * an eighth of the first bytes repeat others, eight or more at once: shorter ones save little. */
#define SAMPLE_BYTES 4096u
#define SAMPLE_PART 8u
#define REPEATED_BYTES 8u
#define SEEN_BITS 11

static bool has_repetitions(const uint8_t *bytes, size_t count)
{
    uint16_t seen[1u << SEEN_BITS] = {0}; /* where such bytes were last; else the first ones */
    size_t size = count < SAMPLE_BYTES ? count : SAMPLE_BYTES, repeated = 0;
    for (size_t at = 1, step; at + REPEATED_BYTES <= size; at += step) {
        uint64_t word = load_le64(bytes + at);
        uint16_t *entry = &seen[(uint32_t)word * 0x9e3779b1u >> (32 - SEEN_BITS)];
        bool same = load_le64(bytes + *entry) == word;
        *entry = (uint16_t)at;
        step = same ? REPEATED_BYTES : 1;
        repeated += same ? REPEATED_BYTES : 0;
    }
    return repeated > size / SAMPLE_PART;
}

static int zlib_level(enum stream_effort effort)
{
    return effort == STREAM_TEXT ? 9 : 1;
}

/* Each: the stream's bytes at out; 0 if they are not fewer. */
static size_t with_repetitions(struct stream_packer *packer, const uint8_t *bytes, size_t count,
                               int level, uint8_t *out)
{
    z_stream *zlib = &packer->zlib;
    if (deflateReset(zlib) != Z_OK || deflateParams(zlib, level, Z_DEFAULT_STRATEGY) != Z_OK)
        return 0;
    zlib->next_in = (Bytef *)(uintptr_t)bytes;
    zlib->avail_in = (uInt)count;
    zlib->next_out = out;
    zlib->avail_out = (uInt)count;
    bool done = deflate(zlib, Z_FINISH) == Z_STREAM_END;
    return done && zlib->total_out < count ? zlib->total_out : 0;
}

static size_t without(struct stream_packer *packer, const uint8_t *bytes, size_t count,
                      uint8_t *out)
{
    return deflater_run(packer->deflater, bytes, count, NULL, 0, out);
}

static bool is_smaller(size_t a, size_t b)
{
    return a && (b == 0 || a < b);
}

/* The smaller of both ways in packer->scratch, at *at; 0 if none is smaller than the bytes. */
static size_t zlib_stream(struct stream_packer *packer, const uint8_t *bytes, size_t count,
                          enum stream_effort effort, const uint8_t **at)
{
    size_t room = count + DEFLATER_SLACK;
    packer->scratch.count = 0;
    uint8_t *noise = buffer_reserve(&packer->scratch, 2 * room);
    if (!noise)
        return 0;
    uint8_t *repeated = noise + room;
    bool tried =
        effort == STREAM_TEXT || (effort == STREAM_PATTERNS && has_repetitions(bytes, count));
    size_t best = without(packer, bytes, count, noise);
    size_t other = tried ? with_repetitions(packer, bytes, count, zlib_level(effort), repeated) : 0;
    *at = is_smaller(other, best) ? repeated : noise;
    return is_smaller(other, best) ? other : best;
}

void stream_pack(struct stream_packer *packer, const uint8_t *bytes, size_t count,
                 enum stream_effort effort, struct buffer *out)
{
    enum stream_form form = STREAM_STORED;
    const uint8_t *packed = bytes;
    size_t size = count;
    if (is_run(bytes, count)) {
        form = STREAM_RUN;
        size = 1;
    } else if (count) {
        const uint8_t *stream;
        size_t less = zlib_stream(packer, bytes, count, effort, &stream);
        out->failed = out->failed || packer->scratch.failed;
        if (less) {
            form = STREAM_ZLIB;
            packed = stream;
            size = less;
        }
    }
    uint8_t head = (uint8_t)form;
    buffer_append(out, &head, 1);
    packed_stream_put_varint(out, (uint32_t)count);
    if (form == STREAM_ZLIB)
        packed_stream_put_varint(out, (uint32_t)size);
    buffer_append(out, packed, size);
}

static bool packed_stream_take_varint(struct cursor *cursor, uint32_t *value_out)
{
    uint32_t value = 0;
    for (unsigned shift = 0; shift < 32; shift += 7) {
        const uint8_t *byte = cursor_take(cursor, 1);
        if (!byte || (shift == 28 && *byte > 0x0f))
            return false;
        value |= (uint32_t)(*byte & 0x7f) << shift;
        if (*byte < 0x80) {
            *value_out = value;
            return true;
        }
    }
    return false;
}

bool stream_next(struct cursor *cursor, struct stream_view *stream_out)
{
    struct stream_view stream = {0};
    const uint8_t *form = cursor_take(cursor, 1);
    if (!form || *form > STREAM_ZLIB || !packed_stream_take_varint(cursor, &stream.bytes))
        return false;
    stream.form = (enum stream_form) * form;
    stream.packed_bytes = stream.form == STREAM_RUN ? 1 : stream.bytes;
    if (stream.form == STREAM_ZLIB &&
        (!packed_stream_take_varint(cursor, &stream.packed_bytes) ||
         stream.bytes > (uint64_t)stream.packed_bytes * ZLIB_EXPANSION_MAX))
        return false;
    stream.packed = cursor_take(cursor, stream.packed_bytes);
    *stream_out = stream;
    return stream.packed;
}

bool stream_unpack(const struct stream_view *stream, struct inflater *inflater, uint8_t *to)
{
    if (stream->bytes == 0)
        return true;
    if (stream->form == STREAM_STORED) {
        memcpy(to, stream->packed, stream->bytes);
        return true;
    }
    if (stream->form == STREAM_RUN) {
        memset(to, *stream->packed, stream->bytes);
        return true;
    }
    if (inflater_run(inflater, stream->packed, stream->packed_bytes, to, stream->bytes))
        return true;
    uLongf size = stream->bytes;
    uLong used = stream->packed_bytes;
    return uncompress2(to, &size, stream->packed, &used) == Z_OK && size == stream->bytes &&
           used == stream->packed_bytes;
}
