/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inflater.c - see inflater.h; the format is RFC 1950 and 1951.
 *
 * Bits are taken from a word that is filled up eight bytes at a time, without a branch. Past the
 * end of the input it has zeros, which are counted: who used one of them has read too far.
 */
#include "inflater.h"

#include "bytes.h"

#include <string.h>
#include <zlib.h>

enum { LENGTH_BITS_MAX = 15, ORDERS = 19, CODES_MAX = 286, DISTANCES_MAX = 30, END_CODE = 256 };
enum { MATCH_MAX = 258, FAST_ROOM = MATCH_MAX + 8, COPY_STEP = 16, ADLER_BYTES = 4 };
enum { LOOKS_A_FILL = 56 / INFLATER_CODES_BITS };
enum { JOINED_BYTES_MIN = 4096 }; /* of output that is left, to look for pairs of literals */

/* An entry of a table: bits 0 to 4 how many bits it takes, 5 to 7 its kind, 8 to 15 the bits that
 * follow it, 16 to 31 its value. Of literals, of which it has one or two: 8 to 15 how many, and
 * the first one in the lower byte of the value. */
enum kind { LITERAL, BASE, END, LONGER, WRONG };
#define ENTRY(kind, bits, extra, value)                                                            \
    ((uint32_t)(bits) | (uint32_t)(kind) << 5 | (uint32_t)(extra) << 8 | (uint32_t)(value) << 16)
#define INFLATER_BITS_OF(entry) ((entry)&31)
#define KIND_OF(entry) ((entry) >> 5 & 7)
#define EXTRA_OF(entry) ((entry) >> 8 & 255)
#define VALUE_OF(entry) ((entry) >> 16)

/* ---- bits ------------------------------------------------------------------------------ */

struct inflater_bits {
    uint64_t word;
    unsigned count; /* of them that are valid */
    unsigned zeros; /* that were made up behind the end */
    const uint8_t *next, *end;
};

static inline void inflater_fill(struct inflater_bits *bits)
{
    if (bits->end - bits->next >= 8) {
        bits->word |= load_le64(bits->next) << bits->count;
        bits->next += (63 - bits->count) >> 3;
        bits->count |= 56;
        return;
    }
    for (; bits->count <= 56; bits->count += 8) {
        if (bits->next < bits->end)
            bits->word |= (uint64_t)*bits->next++ << bits->count;
        else
            bits->zeros += 8;
    }
}

static inline uint32_t inflater_take(struct inflater_bits *bits, unsigned count)
{
    uint32_t value = (uint32_t)(bits->word & ((UINT64_C(1) << count) - 1));
    bits->word >>= count;
    bits->count -= count;
    return value;
}

static bool read_too_far(const struct inflater_bits *bits)
{
    return bits->zeros > bits->count;
}

/* ---- tables ---------------------------------------------------------------------------- */

static uint32_t inflater_reversed(uint32_t code, unsigned bits)
{
    code = (code & 0x5555) << 1 | (code >> 1 & 0x5555);
    code = (code & 0x3333) << 2 | (code >> 2 & 0x3333);
    code = (code & 0x0f0f) << 4 | (code >> 4 & 0x0f0f);
    code = (code & 0x00ff) << 8 | (code >> 8 & 0x00ff);
    return code >> (16 - bits);
}

/* The first code of each length. False where codes are too many, or too few: where one may be
 * alone it has one bit, or there is none. */
static bool first_codes(const uint8_t *lengths, unsigned count, bool alone, uint32_t *first,
                        unsigned *longest)
{
    uint32_t counts[LENGTH_BITS_MAX + 1] = {0}, code = 0;
    int32_t left = 1;
    *longest = 0;
    for (unsigned i = 0; i < count; i++)
        counts[lengths[i]]++;
    counts[0] = 0;
    for (unsigned bits = 1; bits <= LENGTH_BITS_MAX; bits++) {
        left = left * 2 - (int32_t)counts[bits];
        if (left < 0)
            return false;
        code = (code + counts[bits - 1]) << 1;
        first[bits] = code;
        *longest = counts[bits] ? bits : *longest;
    }
    return left == 0 || (alone && *longest <= 1);
}

/* One entry to all places of a table of so many bits that end in the code. */
static void inflater_spread(uint32_t *table, uint32_t code, unsigned code_bits, unsigned table_bits,
                            uint32_t entry)
{
    for (uint32_t at = code; at < 1u << table_bits; at += 1u << code_bits)
        table[at] = entry;
}

struct code_lengths {
    const uint8_t *lengths;
    unsigned count;
    bool alone; /* there may be just one */
};

/* entries: of each symbol, without its bits. */
static bool inflater_make_table(uint32_t *table, unsigned table_bits, struct code_lengths of,
                                const uint32_t *entries)
{
    uint32_t next[LENGTH_BITS_MAX + 1], used = 1u << table_bits;
    unsigned longest;
    if (!first_codes(of.lengths, of.count, of.alone, next, &longest))
        return false;
    unsigned more = longest > table_bits ? longest - table_bits : 0;
    for (uint32_t i = 0; i < 1u << table_bits; i++)
        table[i] = ENTRY(WRONG, 0, 0, 0);
    for (unsigned i = 0; i < of.count; i++) {
        unsigned bits = of.lengths[i];
        if (bits == 0)
            continue;
        uint32_t code = inflater_reversed(next[bits]++, bits), entry = entries[i] | bits;
        if (bits <= table_bits) {
            inflater_spread(table, code, bits, table_bits, entry);
            continue;
        }
        uint32_t *direct = &table[code & ((1u << table_bits) - 1)];
        if (KIND_OF(*direct) != LONGER) {
            *direct = ENTRY(LONGER, table_bits, more, used);
            used += 1u << more;
        }
        inflater_spread(table + VALUE_OF(*direct), code >> table_bits, bits - table_bits, more,
                        entry);
    }
    return true;
}

/* Where what a look shows has a second literal whole, both become one entry. What follows a code
 * is a smaller index, so entries that are still single are found behind the one at work. */
static void join_literals(uint32_t *table, unsigned table_bits)
{
    for (uint32_t at = 1u << table_bits; at-- > 0;) {
        uint32_t entry = table[at], next = table[at >> INFLATER_BITS_OF(entry)];
        bool both = KIND_OF(entry) == LITERAL && KIND_OF(next) == LITERAL;
        unsigned bits = INFLATER_BITS_OF(entry) + INFLATER_BITS_OF(next);
        if (both && bits <= table_bits)
            table[at] = ENTRY(LITERAL, bits, 2, VALUE_OF(entry) | VALUE_OF(next) << 8);
    }
}

/* ---- codes of a block ------------------------------------------------------------------ */

static void code_entries(uint32_t entries[288])
{
    static const uint16_t bases[] = {3,  4,  5,  6,   7,   8,   9,   10,  11, 13,
                                     15, 17, 19, 23,  27,  31,  35,  43,  51, 59,
                                     67, 83, 99, 115, 131, 163, 195, 227, 258};
    static const uint8_t extras[] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2,
                                     2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0};
    for (unsigned i = 0; i < END_CODE; i++)
        entries[i] = ENTRY(LITERAL, 0, 1, i);
    entries[END_CODE] = ENTRY(END, 0, 0, 0);
    for (unsigned i = END_CODE + 1; i < CODES_MAX; i++)
        entries[i] = ENTRY(BASE, 0, extras[i - END_CODE - 1], bases[i - END_CODE - 1]);
    entries[286] = entries[287] = ENTRY(WRONG, 0, 0, 0);
}

static void distance_entries(uint32_t entries[32])
{
    for (unsigned i = 0; i < 4; i++)
        entries[i] = ENTRY(BASE, 0, 0, i + 1);
    for (unsigned i = 4; i < DISTANCES_MAX; i++)
        entries[i] = ENTRY(BASE, 0, i / 2 - 1, ((2 + i % 2) << (i / 2 - 1)) + 1);
    entries[30] = entries[31] = ENTRY(WRONG, 0, 0, 0);
}

static bool inflater_make_tables(struct inflater *inflater, const uint8_t *lengths, unsigned codes,
                                 unsigned distances)
{
    uint32_t of_codes[288], of_distances[32];
    code_entries(of_codes);
    distance_entries(of_distances);
    return lengths[END_CODE] &&
           inflater_make_table(inflater->codes, INFLATER_CODES_BITS,
                               (struct code_lengths){lengths, codes, true}, of_codes) &&
           inflater_make_table(inflater->distances, INFLATER_DISTANCE_BITS,
                               (struct code_lengths){lengths + codes, distances, true},
                               of_distances);
}

static bool fixed_codes(struct inflater *inflater)
{
    uint8_t lengths[288 + 32];
    for (unsigned i = 0; i < sizeof lengths; i++)
        lengths[i] = i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : i < 288 ? 8 : 5;
    return inflater_make_tables(inflater, lengths, 288, 32);
}

/* The lengths of a block's codes, coded themselves. */
static bool read_lengths(struct inflater_bits *bits, const uint32_t *table, uint8_t *lengths,
                         unsigned count)
{
    unsigned at = 0;
    while (at < count) {
        inflater_fill(bits);
        uint32_t entry = table[bits->word & 127], symbol = VALUE_OF(entry);
        if (KIND_OF(entry) == WRONG)
            return false;
        (void)inflater_take(bits, INFLATER_BITS_OF(entry));
        unsigned repeats = 1;
        uint8_t length = (uint8_t)(symbol < 16 ? symbol : 0);
        if (symbol == 16) {
            if (at == 0)
                return false;
            length = lengths[at - 1];
            repeats = 3 + inflater_take(bits, 2);
        } else if (symbol > 16) {
            repeats = symbol == 17 ? 3 + inflater_take(bits, 3) : 11 + inflater_take(bits, 7);
        }
        if (repeats > count - at || read_too_far(bits))
            return false;
        memset(lengths + at, length, repeats);
        at += repeats;
    }
    return true;
}

static bool dynamic_codes(struct inflater *inflater, struct inflater_bits *bits)
{
    static const uint8_t order[ORDERS] = {16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                          11, 4,  12, 3, 13, 2, 14, 1, 15};
    uint8_t of_lengths[ORDERS] = {0}, lengths[CODES_MAX + DISTANCES_MAX];
    uint32_t entries[ORDERS], table[128];
    inflater_fill(bits);
    unsigned codes = 257 + inflater_take(bits, 5), distances = 1 + inflater_take(bits, 5),
             given = 4 + inflater_take(bits, 4);
    if (codes > CODES_MAX || distances > DISTANCES_MAX)
        return false;
    for (unsigned i = 0; i < given; i++) {
        inflater_fill(bits);
        of_lengths[order[i]] = (uint8_t)inflater_take(bits, 3);
    }
    for (unsigned i = 0; i < ORDERS; i++)
        entries[i] = ENTRY(LITERAL, 0, 0, i);
    return inflater_make_table(table, 7, (struct code_lengths){of_lengths, ORDERS, false},
                               entries) &&
           read_lengths(bits, table, lengths, codes + distances) &&
           inflater_make_tables(inflater, lengths, codes, distances);
}

/* ---- a block's data -------------------------------------------------------------------- */

struct output {
    uint8_t *begin, *next, *end;
};

static inline uint32_t look_up(const uint32_t *table, unsigned table_bits,
                               const struct inflater_bits *bits)
{
    uint32_t entry = table[bits->word & ((1u << table_bits) - 1)];
    if (KIND_OF(entry) == LONGER)
        entry = table[VALUE_OF(entry) + (bits->word >> table_bits & ((1u << EXTRA_OF(entry)) - 1))];
    return entry;
}

static inline uint32_t take_base(struct inflater_bits *bits, uint32_t entry)
{
    (void)inflater_take(bits, INFLATER_BITS_OF(entry));
    return VALUE_OF(entry) + inflater_take(bits, EXTRA_OF(entry));
}

/* Steps of words, which may write behind the match, where output has room and no step reads what
 * it writes. */
static inline void copy_back(struct output *output, uint32_t distance, uint32_t length)
{
    uint8_t *to = output->next;
    const uint8_t *from = to - distance;
    if (distance >= COPY_STEP && output->end - to >= MATCH_MAX + COPY_STEP) {
        for (uint32_t i = 0; i < length; i += COPY_STEP)
            memcpy(to + i, from + i, COPY_STEP);
        return;
    }
    for (uint32_t i = 0; i < length; i++)
        to[i] = from[i];
}

/* Copies what came so many bytes before. */
static bool copy_match(struct inflater *inflater, struct inflater_bits *bits, struct output *output,
                       uint32_t entry)
{
    inflater_fill(bits);
    uint32_t length = take_base(bits, entry);
    uint32_t far = look_up(inflater->distances, INFLATER_DISTANCE_BITS, bits);
    if (KIND_OF(far) != BASE)
        return false;
    uint32_t distance = take_base(bits, far);
    if (distance > (size_t)(output->next - output->begin) ||
        length > (size_t)(output->end - output->next))
        return false;
    copy_back(output, distance, length);
    output->next += length;
    return true;
}

/* Five looks at the direct table fit into what fill gives, each for a literal or two; a second byte
 * is stored where there is only one, too. The entry that is no such one is whole in what is left,
 * to be taken by the caller. */
static inline uint32_t take_literals(const struct inflater *inflater, struct inflater_bits *bits,
                                     struct output *output)
{
    struct inflater_bits here = *bits;
    uint8_t *next = output->next;
    uint32_t entry = 0;
    do {
        inflater_fill(&here);
        for (int i = 0; i < LOOKS_A_FILL; i++) {
            entry = inflater->codes[here.word & ((1u << INFLATER_CODES_BITS) - 1)];
            if (KIND_OF(entry) != LITERAL)
                break;
            here.word >>= entry & 63; /* the kind is 0 */
            here.count -= entry & 63;
            store_le16(next, (uint16_t)VALUE_OF(entry));
            next += EXTRA_OF(entry);
        }
    } while (KIND_OF(entry) == LITERAL && output->end - next >= FAST_ROOM);
    inflater_fill(&here);
    *bits = here;
    output->next = next;
    return look_up(inflater->codes, INFLATER_CODES_BITS, bits);
}

/* False: there is no room for so many. */
static bool inflate_literals(struct output *output, uint32_t entry)
{
    uint32_t count = EXTRA_OF(entry);
    if ((size_t)(output->end - output->next) < count)
        return false;
    for (uint32_t i = 0; i < count; i++)
        *output->next++ = (uint8_t)(VALUE_OF(entry) >> 8 * i);
    return true;
}

static bool read_coded(struct inflater *inflater, struct inflater_bits *bits, struct output *output)
{
    while (!read_too_far(bits)) {
        uint32_t entry;
        inflater_fill(bits);
        if (output->end - output->next >= FAST_ROOM)
            entry = take_literals(inflater, bits, output);
        else
            entry = look_up(inflater->codes, INFLATER_CODES_BITS, bits);
        switch (KIND_OF(entry)) {
        case LITERAL:
            if (!inflate_literals(output, entry))
                return false;
            (void)inflater_take(bits, INFLATER_BITS_OF(entry));
            break;
        case BASE:
            if (!copy_match(inflater, bits, output, entry))
                return false;
            break;
        case END:
            (void)inflater_take(bits, INFLATER_BITS_OF(entry));
            return !read_too_far(bits);
        default:
            return false;
        }
    }
    return false;
}

/* Gives whole bytes of the word back to the input. */
static bool align(struct inflater_bits *bits)
{
    (void)inflater_take(bits, bits->count % 8);
    if (read_too_far(bits))
        return false;
    bits->next -= (bits->count - bits->zeros) / 8;
    bits->word = 0;
    bits->count = bits->zeros = 0;
    return true;
}

static bool read_stored(struct inflater_bits *bits, struct output *output)
{
    if (!align(bits) || bits->end - bits->next < 4)
        return false;
    size_t count = load_le16(bits->next), inverse = load_le16(bits->next + 2);
    bits->next += 4;
    if ((count ^ inverse) != 0xffff || count > (size_t)(bits->end - bits->next) ||
        count > (size_t)(output->end - output->next))
        return false;
    memcpy(output->next, bits->next, count);
    output->next += count;
    bits->next += count;
    return true;
}

static bool read_block(struct inflater *inflater, struct inflater_bits *bits, struct output *output,
                       bool *last_out)
{
    inflater_fill(bits);
    *last_out = inflater_take(bits, 1);
    uint32_t how = inflater_take(bits, 2);
    if (how == 0)
        return read_stored(bits, output);
    bool good = how == 1 ? fixed_codes(inflater) : how == 2 && dynamic_codes(inflater, bits);
    if (good && output->end - output->next >= JOINED_BYTES_MIN)
        join_literals(inflater->codes, INFLATER_CODES_BITS);
    return good && read_coded(inflater, bits, output);
}

bool inflater_run(struct inflater *inflater, const uint8_t *in, size_t in_bytes, uint8_t *out,
                  size_t out_bytes)
{
    if (in_bytes < 2 + ADLER_BYTES || load_be16(in) % 31 || (in[0] & 0x8f) != 8 || in[1] & 0x20)
        return false;
    struct inflater_bits bits = {.next = in + 2, .end = in + in_bytes - ADLER_BYTES};
    struct output output = {out, out, out + out_bytes};
    for (bool last = false; !last;)
        if (!read_block(inflater, &bits, &output, &last))
            return false;
    return align(&bits) && bits.next == bits.end && output.next == output.end &&
           load_be32(bits.end) == adler_of(out, out_bytes);
}

/* 32 bytes at a time by SSE2, which each x86-64 has: zlib's, a byte at a time, was a
 * tenth of what deflating takes in a hurry.
 *
 * Of n bytes b: low += sum of b, high += n * low before them + sum of (n - i) * b[i]. */

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define BASE 65521u
/* So many sums stay below 2^32 in each of the four lanes. */
#define STEPS_MAX 128u
#define STEP_BYTES 32u

uint32_t adler_portable(const uint8_t *data, size_t size)
{
    return (uint32_t)adler32_z(1, data, size);
}

#ifdef __SSE2__
/* Four lanes' sum. */
static uint32_t sum_of(__m128i lanes)
{
    lanes = _mm_add_epi32(lanes, _mm_shuffle_epi32(lanes, 0x4e));
    lanes = _mm_add_epi32(lanes, _mm_shuffle_epi32(lanes, 0xb1));
    return (uint32_t)_mm_cvtsi128_si32(lanes);
}

/* Sixteen bytes times weights, the first one's the largest, in eight words each. */
static __m128i weighed(__m128i bytes, __m128i first, __m128i last)
{
    const __m128i zero = _mm_setzero_si128();
    return _mm_add_epi32(_mm_madd_epi16(_mm_unpacklo_epi8(bytes, zero), first),
                         _mm_madd_epi16(_mm_unpackhi_epi8(bytes, zero), last));
}

static void add_steps(const uint8_t *data, size_t steps, uint32_t *low, uint32_t *high)
{
    const __m128i zero = _mm_setzero_si128();
    const __m128i w32 = _mm_set_epi16(25, 26, 27, 28, 29, 30, 31, 32),
                  w24 = _mm_set_epi16(17, 18, 19, 20, 21, 22, 23, 24),
                  w16 = _mm_set_epi16(9, 10, 11, 12, 13, 14, 15, 16),
                  w8 = _mm_set_epi16(1, 2, 3, 4, 5, 6, 7, 8);
    __m128i lows = zero, before = zero, highs = zero;
    for (size_t i = 0; i < steps; i++, data += STEP_BYTES) {
        const __m128i a = _mm_loadu_si128((const __m128i *)(const void *)data),
                      b = _mm_loadu_si128((const __m128i *)(const void *)(data + 16));
        before = _mm_add_epi32(before, lows);
        lows = _mm_add_epi32(lows, _mm_add_epi32(_mm_sad_epu8(a, zero), _mm_sad_epu8(b, zero)));
        highs = _mm_add_epi32(highs, _mm_add_epi32(weighed(a, w32, w24), weighed(b, w16, w8)));
    }
    const uint64_t sum = *high + (uint64_t)*low * steps * STEP_BYTES +
                         (uint64_t)sum_of(before) * STEP_BYTES + sum_of(highs);
    *high = (uint32_t)(sum % BASE);
    *low = (*low + sum_of(lows)) % BASE;
}
#endif

uint32_t adler_of(const uint8_t *data, size_t size)
{
#ifdef __SSE2__
    uint32_t low = 1, high = 0;
    for (size_t steps; (steps = size / STEP_BYTES) > 0; size -= steps * STEP_BYTES) {
        steps = steps < STEPS_MAX ? steps : STEPS_MAX;
        add_steps(data, steps, &low, &high);
        data += steps * STEP_BYTES;
    }
    return (uint32_t)adler32_z(high << 16 | low, data, size);
#else
    return adler_portable(data, size);
#endif
}
