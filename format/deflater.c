/* SPDX-License-Identifier: Apache-2.0 */
/*
 * deflater.c - a stream, piece by piece.
 *
 * Data are cut into pieces of at most 64 KiB, each one DEFLATE block with its
 * own dynamic code and no match across pieces. A parser turns a piece into
 * tokens (deflate_parse.c), the code turns tokens into bits
 * (deflate_code.c).
 */
#include "deflater.h"

#include "deflate_code.h"
#include "inflater.h"

#include <stdlib.h>
#include <string.h>

struct deflater *deflater_new(bool greedy)
{
    struct deflater *state = calloc(1, sizeof *state);
    if (!state)
        return NULL;
    state->greedy = greedy;
    code_first_costs(state);
    return state;
}

void deflater_forget(struct deflater *state)
{
    code_first_costs(state);
}

void deflater_free(struct deflater *state)
{
    free(state);
}

void deflater_hurry(struct deflater *state, bool hurries)
{
    state->hurries = hurries && !state->greedy;
}

void deflater_yield_by(struct deflater *state, struct yield_hook *yield_hook)
{
    state->yield_hook = yield_hook;
}

/* Turns a piece into tokens, or counts its bytes. state->unit holds its units. */
static void parse(struct deflater *state, const uint8_t *data, uint32_t size, size_t units)
{
    memset(state->literal_count, 0, sizeof state->literal_count);
    memset(state->distance_count, 0, sizeof state->distance_count);
    state->tokens = 0;
    state->unit[units] = size;
    if (units == 0)
        code_count_literals(state, data, size); /* nothing recurs */
    else if (state->greedy || state->hurries)
        parse_greedy(state, data, size, units);
    else
        parse_best(state, data, size, units);
    state->literal_count[END_SYMBOL] = 1;
}

size_t deflater_run(struct deflater *state, const uint8_t *data, size_t size, const uint32_t *unit,
                    size_t units, uint8_t *out)
{
    const size_t frame_bytes = 2 + 4; /* zlib header and check sum */
    if (size <= frame_bytes)
        return 0;
    struct bit_writer writer = {out, 0, 0};
    put_bits(&writer, 0x5e78, 16); /* RFC 1950: deflate, 32 KiB window, fast */
    for (size_t from = 0, u = 0; from < size;) {
        size_t piece = size - from < PIECE_BYTES ? size - from : PIECE_BYTES, count = 0;
        for (; u < units && unit[u] < from + piece; u++)
            state->unit[count++] = (uint32_t)(unit[u] - from);
        const uint8_t *bytes = data + from;
        parse(state, bytes, (uint32_t)piece, count);
        yield_hook_run(state->yield_hook);
        struct piece_code code;
        code_build(state, &code);
        uint64_t bits = code_piece_bits(state, &code) + writer.count;
        if ((size_t)(writer.next - out) + bits / 8 + 1 + frame_bytes > size)
            return 0;
        if (!state->greedy)
            code_take_costs(state, &code);
        from += piece;
        code_put(&writer, &code, from == size);
        if (count == 0)
            code_put_literals(&code, bytes, (uint32_t)piece, &writer);
        else
            code_put_tokens(state, &code, &writer);
    }
    if (writer.count)
        put_bits(&writer, 0, 8 - writer.count);
    uint32_t check = adler_of(data, size);
    for (int shift = 24; shift >= 0; shift -= 8)
        *writer.next++ = (uint8_t)(check >> shift);
    return (size_t)(writer.next - out);
}
