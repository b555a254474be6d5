/* SPDX-License-Identifier: Apache-2.0 */
/*
 * column_code.c - see column_code.h.
 *
 * Which code is the smallest is judged by a few runs of neighbouring cells,
 * not by all of them: trying each code on each cell would take longer than
 * writing it. A dictionary that turns out too small is given up half way.
 */
#include "column_code.h"

#define SAMPLE_RUNS 8u
#define SAMPLE_CELLS 32u /* of a run */
#define DICTIONARY_MAX 256u
#define HASH_BITS 10

static inline uint64_t column_code_unzigzag(uint64_t value)
{
    return value >> 1 ^ (0 - (value & 1));
}

static inline unsigned varint_bytes(uint64_t value)
{
    return (70u - (unsigned)__builtin_clzll(value | 1)) / 7;
}

/* ---- writing ------------------------------------------------------------------- */

static bool is_constant(const uint64_t *cells, uint32_t rows)
{
    uint64_t differing = 0;
    for (uint32_t i = 1; i < rows; i++)
        differing |= cells[i] ^ cells[0];
    return differing == 0;
}

static inline uint32_t column_code_hash_of(uint64_t value)
{
    return (uint32_t)(value * UINT64_C(0x9e3779b97f4a7c15) >> (64 - HASH_BITS));
}

/* The different ones among the cells of a sample. */
struct distinct {
    uint64_t value[SAMPLE_RUNS * SAMPLE_CELLS];
    uint16_t place[2 * SAMPLE_RUNS * SAMPLE_CELLS]; /* number + 1 */
    uint32_t count;
};

static void see(struct distinct *seen, uint64_t value)
{
    const uint32_t places = sizeof seen->place / sizeof seen->place[0];
    uint32_t at = column_code_hash_of(value) % places;
    for (; seen->place[at]; at = (at + 1) % places)
        if (seen->value[seen->place[at] - 1] == value)
            return;
    seen->value[seen->count++] = value;
    seen->place[at] = (uint16_t)seen->count;
}

/* Sums over the sample. */
struct sample {
    uint32_t cells, distinct;
    uint64_t varint_bytes, delta_bytes;
};

/* Values, for a dictionary of so many cells. */
static uint32_t too_many(uint32_t cells)
{
    return cells / 4;
}

static struct sample column_code_take_sample(const uint64_t *cells, uint32_t rows)
{
    struct sample sample = {0};
    struct distinct seen;
    uint32_t runs = rows <= SAMPLE_RUNS * SAMPLE_CELLS ? 1 : SAMPLE_RUNS;
    uint32_t length = runs == 1 ? rows : SAMPLE_CELLS;
    seen.count = 0;
    memset(seen.place, 0, sizeof seen.place);
    for (uint32_t run = 0; run < runs; run++) {
        uint32_t from = (uint32_t)((uint64_t)(rows - length) * run / SAMPLE_RUNS);
        for (uint32_t i = from; i < from + length; i++) {
            sample.cells++;
            sample.varint_bytes += varint_bytes(cells[i]);
            sample.delta_bytes +=
                varint_bytes(zigzag((int64_t)(cells[i] - (i ? cells[i - 1] : 0))));
            see(&seen, cells[i]);
        }
    }
    sample.distinct = seen.count;
    return sample;
}

static uint8_t *put_varints(const uint64_t *cells, uint32_t rows, uint8_t *out)
{
    for (uint32_t i = 0; i < rows; i++)
        out = store_varint(out, cells[i]);
    return out;
}

static uint8_t *put_deltas(const uint64_t *cells, uint32_t rows, uint8_t *out)
{
    uint64_t before = 0;
    for (uint32_t i = 0; i < rows; i++) {
        out = store_varint(out, zigzag((int64_t)(cells[i] - before)));
        before = cells[i];
    }
    return out;
}

static uint8_t *put_plain(const uint64_t *cells, uint32_t rows, uint8_t *out)
{
    for (uint32_t i = 0; i < rows; i++, out += 8)
        store_le64(out, cells[i]);
    return out;
}

struct dictionary {
    uint64_t value[DICTIONARY_MAX];
    uint16_t place[1u << HASH_BITS]; /* number + 1 */
    uint32_t count;
};

/* The value's number; DICTIONARY_MAX if there is no room for another. */
static inline uint32_t dictionary_number(struct dictionary *dictionary, uint64_t value)
{
    uint32_t at = column_code_hash_of(value);
    for (;; at = (at + 1) & ((1u << HASH_BITS) - 1)) {
        uint32_t number = dictionary->place[at];
        if (number && dictionary->value[number - 1] == value)
            return number - 1;
        if (number)
            continue;
        if (dictionary->count == DICTIONARY_MAX)
            return DICTIONARY_MAX;
        dictionary->value[dictionary->count] = value;
        dictionary->place[at] = (uint16_t)(dictionary->count + 1);
        return dictionary->count++;
    }
}

/* NULL when there are too many values. The numbers are written behind the room for the values. */
static uint8_t *put_dictionary(const uint64_t *cells, uint32_t rows, uint8_t *out)
{
    struct dictionary dictionary = {.count = 0};
    uint8_t *numbers = out + VARINT_BYTES_MAX * (DICTIONARY_MAX + 1);
    if (column_bytes_max(rows) < (size_t)(numbers - out) + rows)
        return NULL;
    for (uint32_t i = 0; i < rows; i++) {
        uint32_t number = dictionary_number(&dictionary, cells[i]);
        if (number == DICTIONARY_MAX)
            return NULL;
        numbers[i] = (uint8_t)number;
    }
    out = store_varint(out, dictionary.count);
    out = put_varints(dictionary.value, dictionary.count, out);
    memmove(out, numbers, rows);
    return out + rows;
}

size_t column_encode(const uint64_t *cells, uint32_t rows, uint8_t *out, enum column_code *code_out)
{
    if (is_constant(cells, rows)) {
        *code_out = COLUMN_CONSTANT;
        return (size_t)(store_varint(out, cells[0]) - out);
    }
    struct sample sample = column_code_take_sample(cells, rows);
    uint64_t least =
        sample.varint_bytes < sample.delta_bytes ? sample.varint_bytes : sample.delta_bytes;
    if (sample.distinct < too_many(sample.cells) && least > sample.cells + sample.cells / 2) {
        uint8_t *end = put_dictionary(cells, rows, out);
        *code_out = COLUMN_DICTIONARY;
        if (end)
            return (size_t)(end - out);
    }
    if (least >= 8u * sample.cells) {
        *code_out = COLUMN_PLAIN;
        return (size_t)(put_plain(cells, rows, out) - out);
    }
    *code_out = sample.varint_bytes <= sample.delta_bytes ? COLUMN_VARINT : COLUMN_DELTA;
    return (size_t)((*code_out == COLUMN_VARINT ? put_varints : put_deltas)(cells, rows, out) -
                    out);
}

size_t column_encode_bytes(const uint64_t *cells, uint32_t rows, const uint8_t *bytes, uint8_t *out)
{
    uint8_t *next = out;
    for (uint32_t i = 0; i < rows; i++)
        next = store_varint(next, (uint32_t)cells[i]);
    for (uint32_t i = 0; i < rows; i++) {
        uint32_t count = (uint32_t)cells[i];
        memcpy(next, bytes + (cells[i] >> 32), count);
        next += count;
    }
    return (size_t)(next - out);
}

/* ---- reading ------------------------------------------------------------------- */

/* False at the end of the bytes, and for a varint of more than 64 bits. */
static inline bool column_code_take_varint(struct cursor *cursor, uint64_t *value_out)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < VARINT_BYTES_MAX && i < cursor->left; i++) {
        uint64_t byte = cursor->next[i];
        value |= (byte & 0x7f) << 7 * i;
        if (byte < 0x80) {
            cursor->next += i + 1;
            cursor->left -= i + 1;
            *value_out = value;
            return i < VARINT_BYTES_MAX - 1 || byte <= 1;
        }
    }
    return false;
}

/* Where no varint can reach the end of the bytes those of up to three bytes are taken without
 * asking for it: nearly all are. How many came before the first that is longer. */
static uint32_t take_short_varints(struct cursor *cursor, uint32_t rows, uint64_t *cells)
{
    const uint8_t *next = cursor->next, *end = next + cursor->left;
    uint32_t done = 0;
    for (; done < rows && end - next >= 3; done++) {
        uint32_t first = next[0], second = next[1], third = next[2];
        if (first < 0x80) {
            cells[done] = first;
            next++;
        } else if (second < 0x80) {
            cells[done] = (first & 0x7f) | second << 7;
            next += 2;
        } else if (third < 0x80) {
            cells[done] = (first & 0x7f) | (second & 0x7f) << 7 | third << 14;
            next += 3;
        } else {
            break;
        }
    }
    cursor->next = next;
    cursor->left = (size_t)(end - next);
    return done;
}

static bool take_varints(struct cursor *cursor, uint32_t rows, uint64_t *cells)
{
    for (uint32_t i = 0; i < rows; i++) {
        i += take_short_varints(cursor, rows - i, cells + i);
        if (i < rows && !column_code_take_varint(cursor, &cells[i]))
            return false;
    }
    return true;
}

static void add_up(uint32_t rows, uint64_t *cells)
{
    uint64_t before = 0;
    for (uint32_t i = 0; i < rows; i++)
        cells[i] = before += column_code_unzigzag(cells[i]);
}

static bool take_constant(struct cursor *cursor, uint32_t rows, uint64_t *cells)
{
    uint64_t value;
    if (!column_code_take_varint(cursor, &value))
        return false;
    for (uint32_t i = 0; i < rows; i++)
        cells[i] = value;
    return true;
}

static bool take_plain(struct cursor *cursor, uint32_t rows, uint64_t *cells)
{
    const uint8_t *bytes = cursor_take(cursor, (uint64_t)rows * 8);
    for (uint32_t i = 0; bytes && i < rows; i++)
        cells[i] = load_le64(bytes + (size_t)i * 8);
    return bytes;
}

static bool take_dictionary(struct cursor *cursor, uint32_t rows, uint64_t *cells)
{
    uint64_t value[DICTIONARY_MAX], count;
    if (!column_code_take_varint(cursor, &count) || count < 1 || count > DICTIONARY_MAX ||
        !take_varints(cursor, (uint32_t)count, value))
        return false;
    const uint8_t *numbers = cursor_take(cursor, rows);
    if (!numbers)
        return false;
    for (uint32_t i = 0; i < rows; i++) {
        if (numbers[i] >= count)
            return false;
        cells[i] = value[numbers[i]];
    }
    return true;
}

bool column_decode(unsigned code, const uint8_t *bytes, size_t count, uint32_t rows,
                   uint64_t *cells_out)
{
    struct cursor cursor = {bytes, count};
    bool whole = false;
    switch (code) {
    case COLUMN_PLAIN:
        whole = take_plain(&cursor, rows, cells_out);
        break;
    case COLUMN_VARINT:
    case COLUMN_DELTA:
        whole = take_varints(&cursor, rows, cells_out);
        break;
    case COLUMN_CONSTANT:
        whole = take_constant(&cursor, rows, cells_out);
        break;
    case COLUMN_DICTIONARY:
        whole = take_dictionary(&cursor, rows, cells_out);
        break;
    }
    if (!whole || cursor.left)
        return false;
    if (code == COLUMN_DELTA)
        add_up(rows, cells_out);
    return true;
}

bool column_decode_bytes(const uint8_t *bytes, size_t count, uint32_t rows, uint32_t base,
                         uint64_t *cells_out)
{
    struct cursor cursor = {bytes, count};
    if (!take_varints(&cursor, rows, cells_out))
        return false;
    uint64_t at = base + (count - cursor.left), end = base + count;
    for (uint32_t i = 0; i < rows; i++) {
        uint64_t length = cells_out[i];
        if (length > end - at)
            return false;
        cells_out[i] = at << 32 | length;
        at += length;
    }
    return at == end;
}
