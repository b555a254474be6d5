/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whatever the data and wherever its units begin, zlib's inflate gives the data
 * back, and a stream is never larger than what it replaces. What the inflater
 * takes zlib takes too, with the same bytes, and it takes all that zlib and the
 * deflater make.
 */
#include "yield_hook.h"
#include "deflater.h"
#include "inflater.h"

#include "unit.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

static uint64_t random_state = 7;

static uint32_t next_number(void)
{
    random_state = random_state * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (uint32_t)(random_state >> 33);
}

/* Where units begin, at least 3 bytes apart. */
enum units { NO_UNITS, LAST_BYTE, FIRST_BYTE, EVERY_THIRD, EVERY_300TH, RANDOM_UNITS, UNITS_KINDS };

static size_t make_units(enum units kind, size_t size, uint32_t *unit)
{
    size_t count = 0;
    if (kind == FIRST_BYTE && size)
        unit[count++] = 0;
    if (kind == LAST_BYTE && size)
        unit[count++] = (uint32_t)size - 1;
    if (kind == EVERY_THIRD || kind == EVERY_300TH || kind == RANDOM_UNITS)
        for (size_t at = kind == RANDOM_UNITS ? next_number() % 9 : 0; at < size;
             at += kind == EVERY_THIRD   ? 3
                   : kind == EVERY_300TH ? 300
                                         : 3 + next_number() % 30)
            unit[count++] = (uint32_t)at;
    return count;
}

/* Runs it; returns the stream's size, after inflate has given the data back. */
static size_t run(struct deflater *state, const uint8_t *data, size_t size, const uint32_t *unit,
                  size_t units)
{
    /* Own allocations of just the promised size, so that a step beyond is seen. */
    uint8_t *in = malloc(size + DEFLATER_SLACK), *out = malloc(size + DEFLATER_SLACK);
    uint8_t *back = malloc(size + 1);
    memcpy(in, data, size);
    memset(in + size, 0xa5, DEFLATER_SLACK);
    size_t stream = deflater_run(state, in, size, unit, units, out);
    assert_true(stream < size || stream == 0);
    if (stream) {
        uLongf got = size + 1;
        assert_int_equal(uncompress(back, &got, out, stream), Z_OK);
        assert_int_equal(got, size);
        assert_memory_equal(back, data, size);
    }
    free(in);
    free(out);
    free(back);
    return stream;
}

enum parser { CHEAPEST, HURRIED, GREEDY, PARSERS };

static struct deflater *make(enum parser parser)
{
    struct deflater *state = deflater_new(parser == GREEDY);
    deflater_hurry(state, parser != CHEAPEST); /* which greedy ones do not care for */
    return state;
}

enum data { ZEROS, REPEATED, NOISE, FEW_VALUES, RECORDS, ONE_OF_EACH, DATA_KINDS };

static void make_data(enum data kind, uint8_t *data, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        unsigned at = (unsigned)i, value = 0;
        if (kind == REPEATED)
            value = at % 23 * 7;
        else if (kind == NOISE)
            value = next_number();
        else if (kind == FEW_VALUES)
            value = next_number() % 4;
        else if (kind == ONE_OF_EACH)
            value = at * 167;
        else if (kind == RECORDS)
            value = at % 4 == 3 ? next_number() % 50 : 1 + at % 4;
        data[i] = (uint8_t)value;
    }
}

/* All data against all units and many sizes, those around the edges of a piece among them. */
static void test_everything(void **state)
{
    const enum parser parser = *(enum parser *)*state;
    static const size_t sizes[] = {0,     1,     2,     3,     6,     7,      8,      9,     16,
                                   17,    63,    64,    258,   259,   1000,   32768,  32770, 65535,
                                   65536, 65537, 65539, 70000, 98304, 131072, 131073, 200001};
    uint8_t *data = malloc(200001 + DEFLATER_SLACK);
    uint32_t *unit = malloc((200001 / 3 + 2) * sizeof *unit);
    struct deflater *records = make(parser); /* one for all: it remembers costs */
    for (int kind = 0; kind < DATA_KINDS; kind++) {
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
            make_data((enum data)kind, data, sizes[i]);
            for (int units = 0; units < UNITS_KINDS; units++) {
                size_t count = make_units((enum units)units, sizes[i], unit);
                size_t stream = run(records, data, sizes[i], unit, count);
                if (kind == NOISE)
                    assert_int_equal(stream, 0);
                if (kind == FEW_VALUES && sizes[i] >= 1000)
                    assert_true(stream > 0 && stream < sizes[i] / 2);
            }
        }
    }
    deflater_free(records);
    deflater_free(NULL);
    free(unit);
    free(data);
}

/* What repeats by units shrinks, at the full distance of the window too, and not beyond it. */
static void test_finds_repetitions(void **state)
{
    const enum parser parser = *(enum parser *)*state;
    enum { SIZE = 65536, UNIT = 16 };
    static const size_t periods[] = {16, 1024, 32768, 32784};
    uint8_t *data = malloc(SIZE + DEFLATER_SLACK);
    uint32_t *unit = malloc((SIZE / UNIT) * sizeof *unit);
    for (size_t i = 0; i < SIZE / UNIT; i++)
        unit[i] = (uint32_t)(i * UNIT);
    for (size_t p = 0; p < 4; p++) {
        for (size_t i = 0; i < SIZE; i++)
            data[i] = i < periods[p] ? (uint8_t)next_number() : data[i - periods[p]];
        struct deflater *records = make(parser);
        size_t stream = run(records, data, SIZE, unit, SIZE / UNIT);
        if (periods[p] <= 32768)
            assert_in_range(stream, 1, SIZE * 3 / 4);
        else
            assert_int_equal(stream, 0);
        deflater_free(records);
    }
    free(unit);
    free(data);
}

/* As a thread's records are: a few kinds of items, each with its own units and about its own time.
 */
static size_t make_records(uint8_t *data, size_t room, uint32_t *unit)
{
    size_t units = 0, size = 0;
    while (size + 64 < room) {
        const unsigned item = next_number() % 5, inside = item * 3;
        for (unsigned i = 0; i <= inside; i++) {
            unit[units++] = (uint32_t)size;
            data[size++] = (uint8_t)(0x10 + (i ? 2 + i % 2 : 0));
            data[size++] = (uint8_t)(i ? 7 * i : item);
            data[size++] = (uint8_t)(40 * item + next_number() % 6);
            if (i % 3 == 0)
                data[size++] = (uint8_t)(next_number() % 2);
        }
    }
    return units;
}

/* What is found in records stays found: no stream is larger than it was. (How much is looked up,
 * and by what, shows nowhere else.) */
static void test_records_shrink_as_ever(void **state)
{
    enum { ROOM = 120000 };
    const enum parser parser = *(enum parser *)*state;
    uint8_t *data = malloc(ROOM + DEFLATER_SLACK);
    uint32_t *unit = malloc((ROOM / 3) * sizeof *unit);
    struct deflater *records = make(parser);
    random_state = 11;
    const size_t units = make_records(data, ROOM, unit), size = unit[units - 1];
    const size_t stream = run(records, data, size, unit, units - 1);
    assert_int_equal(size, 119968);
    static const size_t most[PARSERS] = {37475, 55690, 56056};
    assert_in_range(stream, 1, most[parser]);
    deflater_free(records);
    free(unit);
    free(data);
}

/* Long runs of small random inputs with one state: what it remembers never breaks a stream. */
static void test_remembered_costs(void **state)
{
    const enum parser parser = *(enum parser *)*state;
    uint8_t data[3000 + DEFLATER_SLACK];
    uint32_t unit[1001];
    struct deflater *records = make(parser);
    for (unsigned turn = 0; turn < 2000; turn++) {
        size_t size = next_number() % 3000;
        make_data((enum data)(next_number() % DATA_KINDS), data, size);
        run(records, data, size, unit,
            make_units((enum units)(next_number() % UNITS_KINDS), size, unit));
    }
    deflater_free(records);
}

static unsigned yields;

static void count_yield(struct yield_hook *yield_hook)
{
    (void)yield_hook;
    yields++;
}

/* Who gives way while it compresses can do so every some ten microseconds, whatever the parse. */
static void test_yields(void **state)
{
    enum { ROOM = 60000 };
    struct yield_hook yield_hook = {count_yield};
    uint8_t *data = malloc(ROOM + DEFLATER_SLACK);
    uint32_t *unit = malloc((ROOM / 3) * sizeof *unit);
    struct deflater *records = make(*(enum parser *)*state);
    const size_t units = make_records(data, ROOM, unit), size = unit[units - 1];
    yields = 0;
    deflater_yield_by(records, &yield_hook);
    run(records, data, size, unit, units - 1);
    assert_in_range(yields, units / 512, units / 128);
    deflater_yield_by(records, NULL);
    run(records, data, size, unit, units - 1);
    assert_in_range(yields, units / 512, units / 128);
    deflater_free(records);
    free(unit);
    free(data);
}

/* By SIMD and without it the same, of bytes that make sums as large as they can be, too, and at
 * lengths around those of a step and of a run of steps. */
static void test_check_sum(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 1, 31, 32, 33, 4095, 4096, 4097, 65536, 200001};
    uint8_t *data = malloc(200001);
    for (unsigned noise = 0; noise < 2; noise++) {
        for (size_t i = 0; i < 200001; i++)
            data[i] = (uint8_t)(noise ? next_number() : 255);
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
            for (size_t from = 0; from < 3 && from <= sizes[i]; from++)
                assert_int_equal(adler_of(data + from, sizes[i] - from),
                                 adler_portable(data + from, sizes[i] - from));
    }
    free(data);
}

/* ---- the inflater ------------------------------------------------------------------ */

/* Of memory of just the sizes given, so that a step beyond is seen. True: both take it. */
static bool agree(struct inflater *inflater, const uint8_t *stream, size_t size, size_t data_size)
{
    uint8_t *in = malloc(size + !size), *out = malloc(data_size + !data_size);
    uint8_t *expected = malloc(data_size + !data_size);
    z_stream zlib = {0};
    memcpy(in, stream, size);
    bool taken = inflater_run(inflater, in, size, out, data_size);
    assert_int_equal(inflateInit(&zlib), Z_OK);
    zlib.next_in = in;
    zlib.avail_in = (uInt)size;
    zlib.next_out = expected;
    zlib.avail_out = (uInt)data_size;
    bool valid = inflate(&zlib, Z_FINISH) == Z_STREAM_END && !zlib.avail_in && !zlib.avail_out;
    inflateEnd(&zlib);
    assert_true(valid || !taken);
    if (taken)
        assert_memory_equal(out, expected, data_size);
    free(in);
    free(out);
    free(expected);
    return taken && valid;
}

static size_t compressed(const uint8_t *data, size_t size, int level, int strategy, uint8_t *out,
                         size_t room)
{
    z_stream zlib = {0};
    assert_int_equal(deflateInit2(&zlib, level, Z_DEFLATED, 15, 9, strategy), Z_OK);
    zlib.next_in = (Bytef *)(uintptr_t)data;
    zlib.avail_in = (uInt)size;
    zlib.next_out = out;
    zlib.avail_out = (uInt)room;
    assert_int_equal(deflate(&zlib, Z_FINISH), Z_STREAM_END);
    size_t stream = zlib.total_out;
    deflateEnd(&zlib);
    return stream;
}

/* A bit is turned over, the end is cut off, or a byte is put in its place. */
static void damage(uint8_t *stream, size_t *size)
{
    uint32_t kind = next_number() % 3, at = next_number() % (uint32_t)*size;
    if (kind == 0)
        stream[at] ^= (uint8_t)(1 << next_number() % 8);
    else if (kind == 1)
        stream[at] = (uint8_t)next_number();
    else
        *size = at;
}

static void test_inflater_and_zlib_agree(void **state)
{
    static const int strategies[] = {Z_DEFAULT_STRATEGY, Z_FILTERED, Z_HUFFMAN_ONLY, Z_RLE,
                                     Z_FIXED};
    enum { SIZE_MAX_HERE = 70000, ROOM = 90000, TURNS = 400, DAMAGES = 20 };
    struct inflater *inflater = malloc(sizeof *inflater);
    uint8_t *data = malloc(SIZE_MAX_HERE), *stream = malloc(ROOM), *bad = malloc(ROOM);
    (void)state;
    random_state = 3;
    for (unsigned turn = 0; turn < TURNS; turn++) {
        size_t size = next_number() % (turn % 10 ? 600 : SIZE_MAX_HERE);
        make_data((enum data)(next_number() % DATA_KINDS), data, size);
        size_t made = compressed(data, size, (int)(next_number() % 10),
                                 strategies[next_number() % 5], stream, ROOM);
        assert_true(agree(inflater, stream, made, size));
        assert_false(agree(inflater, stream, made, size + 1));
        assert_false(size && agree(inflater, stream, made, size - 1));
        for (unsigned i = 0; i < DAMAGES; i++) {
            size_t left = made;
            memcpy(bad, stream, made);
            damage(bad, &left);
            agree(inflater, bad, left, size);
        }
    }
    free(bad);
    free(stream);
    free(data);
    free(inflater);
}

/* Bits of a stream, from the lowest of the first byte on. */
struct bits {
    uint8_t bytes[64];
    size_t count;
};

static void put_bit(struct bits *bits, unsigned bit)
{
    bits->bytes[bits->count / 8] |= (uint8_t)(bit << bits->count % 8);
    bits->count++;
}

/* The code of a symbol of a block with fixed codes, which are stored from their highest bit on. */
static void put_fixed(struct bits *bits, unsigned symbol)
{
    const unsigned length = symbol < 144 ? 8 : symbol < 256 ? 9 : symbol < 280 ? 7 : 8;
    const unsigned code = symbol < 144   ? 0x30 + symbol
                          : symbol < 256 ? 0x190 + symbol - 144
                          : symbol < 280 ? symbol - 256
                                         : 0xc0 + symbol - 280;
    for (unsigned i = length; i-- > 0;)
        put_bit(bits, code >> i & 1);
}

/* What behaves as if a code that stands for nothing were the end of the block finds all the rest in
 * order: the check sum is where it would be then. Other streams with such a code are noticed by
 * what is behind it. True: taken. */
static bool takes_as_end(struct inflater *inflater, unsigned symbol, uint8_t literal, size_t count)
{
    struct bits bits = {.bytes = {0x78, 0x9c}, .count = 16};
    uint8_t data[16], sum[4];
    memset(data, literal, count);
    const uint32_t adler = (uint32_t)adler32(1, data, (uInt)count);
    put_bit(&bits, 1);
    put_bit(&bits, 1);
    put_bit(&bits, 0);
    for (size_t i = 0; i < count; i++)
        put_fixed(&bits, literal);
    if (symbol == 256)
        put_fixed(&bits, symbol);
    const size_t end = (bits.count + 7) / 8;
    if (symbol != 256)
        put_fixed(&bits, symbol);
    for (int i = 0; i < 4; i++)
        sum[i] = (uint8_t)(adler >> (24 - 8 * i));
    const uint8_t shared = (uint8_t)((1u << bits.count % 8) - 1);
    if (bits.count > 8 * end && (sum[0] & shared) != bits.bytes[end])
        return false; /* the code and the sum cannot both stand there */
    memcpy(bits.bytes + end, sum, sizeof sum);
    return agree(inflater, bits.bytes, end + sizeof sum, count);
}

/* A code that stands for nothing ends no block. */
static void test_codes_that_stand_for_nothing(void **state)
{
    struct inflater *inflater = malloc(sizeof *inflater);
    (void)state;
    for (unsigned literal = 0; literal < 256; literal++)
        for (size_t count = 0; count <= 16; count++) {
            assert_true(takes_as_end(inflater, 256, (uint8_t)literal, count));
            assert_false(takes_as_end(inflater, 286, (uint8_t)literal, count));
            assert_false(takes_as_end(inflater, 287, (uint8_t)literal, count));
        }
    free(inflater);
}

int main(void)
{
    static enum parser parsers[PARSERS] = {CHEAPEST, HURRIED, GREEDY};
    const struct CMUnitTest tests[] = {
#define WITH(parser)                                                                               \
    cmocka_unit_test_prestate(test_everything, &parsers[parser]),                                  \
        cmocka_unit_test_prestate(test_finds_repetitions, &parsers[parser]),                       \
        cmocka_unit_test_prestate(test_remembered_costs, &parsers[parser]),                        \
        cmocka_unit_test_prestate(test_yields, &parsers[parser]),                                  \
        cmocka_unit_test_prestate(test_records_shrink_as_ever, &parsers[parser])
        WITH(CHEAPEST),
        WITH(HURRIED),
        WITH(GREEDY),
        cmocka_unit_test(test_check_sum),
        cmocka_unit_test(test_inflater_and_zlib_agree),
        cmocka_unit_test(test_codes_that_stand_for_nothing),
    };
    return cmocka_run_group_tests_name("deflater", tests, NULL, NULL);
}
