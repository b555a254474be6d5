/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chunk_decode.c - columns to blocks.
 *
 * All streams are unpacked first, into one allocation that the output's size bounds. Then records
 * are put together one after another; each stream's end is looked at before a byte of it is used,
 * and the end of the block behind each record.
 */
#include "chunk_code.h"

#include "block.h"
#include "rules.h"

#include <stdlib.h>

const char chunk_no_memory[] = "out of memory";
static const char bad_streams[] = "its columns do not fill it";
static const char bad_column[] = "a column cannot be unpacked";
static const char bad_heads[] = "its blocks do not come to its size";
static const char bad_records[] = "its columns do not make its records";

/* Columns have so much behind them that whole words can be read at their end. */
#define COLUMN_SLACK 16u
/* A record's columns are less than twice its bytes, so all are less than this and twice the
 * output; nothing is allocated for a payload that says otherwise. */
#define ROOM_BYTES_MORE 4096u

struct giving {
    const uint8_t *next[CHUNK_STREAMS], *end[CHUNK_STREAMS];
    const uint8_t *bits; /* of STREAM_BITS */
    uint64_t bit;        /* taken so far */
    unsigned before;
    uint64_t time_ns, processor;
    uint8_t *out;
    bool bad;
};

/* What a symbol stands for. */
struct number_entry {
    uint64_t base;
    uint8_t bits;
};
struct number_table {
    struct number_entry entry[256];
};

static void make_numbers(struct number_table *table)
{
    for (unsigned symbol = 0; symbol < NUMBER_SYMBOLS; symbol++) {
        unsigned bits;
        table->entry[symbol].base = number_base(symbol, &bits);
        table->entry[symbol].bits = (uint8_t)bits;
    }
}

void chunk_decoder_free(struct chunk_decoder *decoder)
{
    free(decoder->inflater);
    free(decoder->columns);
    *decoder = (struct chunk_decoder){0};
}

/* ---- streams --------------------------------------------------------------------------------- */

/* Bytes of a column in memory: a byte of kinds becomes CHUNK_TUPLE. */
static size_t column_bytes(unsigned i, const struct stream_view *stream)
{
    bool kinds = i >= STREAM_KINDS && i < STREAM_KINDS + CHUNK_KINDS;
    return (size_t)stream->bytes * (kinds ? CHUNK_TUPLE : 1) + COLUMN_SLACK;
}

static const char *take_streams(const uint8_t *payload, size_t payload_bytes, size_t out_bytes,
                                struct stream_view stream[CHUNK_STREAMS], size_t *room_out)
{
    struct cursor cursor = {payload, payload_bytes};
    size_t room = 0;
    for (unsigned i = 0; i < CHUNK_STREAMS; i++) {
        if (!stream_next(&cursor, &stream[i]) || stream[i].bytes > out_bytes)
            return bad_streams;
        room += column_bytes(i, &stream[i]);
    }
    *room_out = room;
    return cursor.left || room > 2 * out_bytes + ROOM_BYTES_MORE ? bad_streams : NULL;
}

static bool chunk_decode_reserve(struct chunk_decoder *decoder, size_t room)
{
    if (!decoder->inflater)
        decoder->inflater = malloc(sizeof *decoder->inflater);
    if (room > decoder->room) {
        free(decoder->columns);
        decoder->columns = malloc(room);
        decoder->room = decoder->columns ? room : 0;
    }
    return decoder->inflater && decoder->columns;
}

/* Makes kinds of the tuples that stand at the end of room for them. False: one is none. */
static bool spread_kinds(uint8_t *kinds, const uint8_t *tuples, size_t count)
{
    for (size_t i = 0; i < count; i++, kinds += CHUNK_TUPLE) {
        unsigned tuple = tuples[i];
        if (tuple >= CHUNK_TUPLES)
            return false;
        kinds[0] = (uint8_t)(tuple % CHUNK_KINDS);
        kinds[1] = (uint8_t)(tuple / CHUNK_KINDS % CHUNK_KINDS);
        kinds[2] = (uint8_t)(tuple / (CHUNK_KINDS * CHUNK_KINDS));
    }
    return true;
}

static const char *unpack_streams(struct chunk_decoder *decoder,
                                  const struct stream_view stream[CHUNK_STREAMS],
                                  struct giving *giving)
{
    uint8_t *at = decoder->columns;
    for (unsigned i = 0; i < CHUNK_STREAMS; i++) {
        size_t bytes = column_bytes(i, &stream[i]) - COLUMN_SLACK;
        uint8_t *packed = at + bytes - stream[i].bytes;
        if (!stream_unpack(&stream[i], decoder->inflater, packed))
            return bad_column;
        if (bytes != stream[i].bytes && !spread_kinds(at, packed, stream[i].bytes))
            return bad_records;
        memset(at + bytes, 0, COLUMN_SLACK);
        giving->next[i] = at;
        giving->end[i] = at + bytes;
        at += bytes + COLUMN_SLACK;
    }
    giving->bits = giving->next[STREAM_BITS];
    return NULL;
}

/* ---- records --------------------------------------------------------------------------------- */

/* False at the end of the stream. */
static inline bool take_byte(struct giving *giving, unsigned stream, unsigned *byte_out)
{
    if (giving->next[stream] == giving->end[stream])
        return false;
    *byte_out = *giving->next[stream]++;
    return true;
}

/* At most 56 bits; zeros behind the end, which is looked at when all are taken. */
static inline uint64_t take_bits(struct giving *giving, unsigned count)
{
    const uint8_t *at = giving->bits + (giving->bit >> 3);
    if (at > giving->end[STREAM_BITS])
        at = giving->end[STREAM_BITS];
    uint64_t word = load_le64(at) >> (giving->bit & 7);
    giving->bit += count;
    return word & ((UINT64_C(1) << count) - 1);
}

static inline uint64_t chunk_decode_number_of(struct giving *giving,
                                              const struct number_entry *entry)
{
    unsigned bits = entry->bits;
    if (bits <= 32)
        return entry->base + take_bits(giving, bits);
    uint64_t low = take_bits(giving, 32);
    return entry->base + (low | take_bits(giving, bits - 32) << 32);
}

/* False: the stream ends, or has no such symbol. */
static bool chunk_decode_take_number(struct giving *giving, const struct number_table *numbers,
                                     unsigned stream, uint64_t *number_out)
{
    unsigned symbol;
    if (!take_byte(giving, stream, &symbol) || symbol >= NUMBER_SYMBOLS)
        return false;
    *number_out = chunk_decode_number_of(giving, &numbers->entry[symbol]);
    return true;
}

static uint64_t chunk_decode_unzigzag(uint64_t number)
{
    return number >> 1 ^ (uint64_t) - (int64_t)(number & 1);
}

/* Writes the time of a record of this kind. */
static inline bool give_time(struct giving *giving, const struct number_table *numbers,
                             unsigned kind)
{
    unsigned symbol;
    if (!take_byte(giving, STREAM_TIMES + kind, &symbol))
        return false;
    if (symbol < NUMBER_SYMBOLS) {
        uint64_t difference = chunk_decode_number_of(giving, &numbers->entry[symbol]);
        giving->time_ns += difference;
        if (difference < 1u << 15) {
            store_be16(giving->out, (uint16_t)difference);
            giving->out += 2;
            return true;
        }
        store_be32(giving->out, (uint32_t)difference | 2u << 30);
        giving->out += 4;
        return difference < 1u << 30;
    }
    const uint8_t *wide = giving->next[STREAM_WIDE];
    if (symbol != TIME_SYMBOL_WIDE || giving->end[STREAM_WIDE] - wide < 8)
        return false;
    giving->next[STREAM_WIDE] += 8;
    giving->time_ns = load_le64(wide);
    store_be64(giving->out, giving->time_ns | UINT64_C(3) << 62);
    giving->out += 8;
    return giving->time_ns <= TIME_MASK;
}

static bool give_gpu_work(struct giving *giving, const struct number_table *numbers)
{
    unsigned slot;
    uint64_t processor, stop, start;
    if (!take_byte(giving, STREAM_GPU_SLOTS, &slot) ||
        !chunk_decode_take_number(giving, numbers, STREAM_GPU_PROCESSORS, &processor) ||
        !chunk_decode_take_number(giving, numbers, STREAM_GPU_STOPS, &stop) ||
        !chunk_decode_take_number(giving, numbers, STREAM_GPU_STARTS, &start))
        return false;
    giving->processor += chunk_decode_unzigzag(processor);
    stop = giving->time_ns - chunk_decode_unzigzag(stop);
    start = stop - chunk_decode_unzigzag(start);
    store_le64(giving->out, giving->processor);
    giving->out[8] = (uint8_t)slot;
    store_le64(giving->out + 9, start);
    store_le64(giving->out + 17, stop);
    giving->out += 25;
    return true;
}

static const uint8_t kind_of[CHUNK_KINDS] = {RBWP_COARSE_BEGIN, RBWP_COARSE_END, RBWP_FINE_BEGIN,
                                             RBWP_FINE_END, RBWP_GPU_WORK};

/* Slot or sub-item: stored whatever the kind is, as what kind comes next cannot be foreseen. */
static inline bool give_id(struct giving *giving, unsigned kind)
{
    bool item = kind == 2, any = kind == 0 || item;
    unsigned stream = STREAM_SLOTS + item;
    _Static_assert(STREAM_SUBS_LOW == STREAM_SLOTS + 1, "chosen by a sum");
    if (giving->end[stream] - giving->next[stream] < any ||
        giving->end[STREAM_SUBS_HIGH] - giving->next[STREAM_SUBS_HIGH] < item)
        return false;
    giving->out[0] = *giving->next[stream];
    giving->out[1] = *giving->next[STREAM_SUBS_HIGH];
    giving->next[stream] += any;
    giving->next[STREAM_SUBS_HIGH] += item;
    giving->out += any + item;
    return true;
}

static inline bool give_record(struct giving *giving, const struct number_table *numbers)
{
    unsigned kind;
    if (!take_byte(giving, STREAM_KINDS + giving->before, &kind) ||
        !give_time(giving, numbers, kind))
        return false;
    giving->before = kind;
    *giving->out++ = kind_of[kind];
    return kind == 4 ? give_gpu_work(giving, numbers) : give_id(giving, kind);
}

/* ---- blocks ---------------------------------------------------------------------------------- */

/* The data of a block, to giving->out. A record that runs over the end stays within the slack. */
static bool give_data(struct giving *all, const struct number_table *numbers,
                      const struct rbwp_block_header *header)
{
    struct giving giving = *all;
    const uint8_t *end = giving.out + header->data_bytes;
    giving.before = 1;
    giving.time_ns = giving.processor = 0;
    for (uint32_t i = 0; i < header->records; i++)
        if (giving.out >= end || !give_record(&giving, numbers))
            return false;
    *all = giving;
    return giving.out == end;
}

static bool give_bytes(struct giving *giving, uint32_t bytes)
{
    const uint8_t **next = &giving->next[STREAM_BYTES];
    if (bytes > (size_t)(giving->end[STREAM_BYTES] - *next))
        return false;
    memcpy(giving->out, *next, bytes);
    *next += bytes;
    giving->out += bytes;
    return true;
}

/* All is used up, but for what fills the last bytes. */
static bool is_used_up(const struct giving *giving)
{
    for (unsigned i = 0; i < CHUNK_STREAMS; i++) {
        size_t left = (size_t)(giving->end[i] - giving->next[i]);
        bool kinds = i >= STREAM_KINDS && i < STREAM_KINDS + CHUNK_KINDS;
        if (i != STREAM_BITS && left >= (kinds ? CHUNK_TUPLE : 1))
            return false;
    }
    return giving->bit / 8 + (giving->bit % 8 != 0) ==
           (size_t)(giving->end[STREAM_BITS] - giving->bits);
}

static const char *give_blocks(struct giving *giving, size_t head_count, size_t out_bytes)
{
    struct number_table numbers = {0};
    make_numbers(&numbers);
    for (size_t i = 0; i < head_count; i++) {
        uint8_t bytes[RBWP_BLOCK_HEADER_BYTES] = {0};
        memcpy(bytes, giving->next[STREAM_HEADS], CHUNK_HEAD_FLAGS);
        unsigned flags = giving->next[STREAM_HEADS][CHUNK_HEAD_FLAGS];
        giving->next[STREAM_HEADS] += CHUNK_HEAD_BYTES;
        struct rbwp_block_header header;
        block_header_decode(bytes, &header);
        if (out_bytes < RBWP_BLOCK_HEADER_BYTES ||
            header.data_bytes > out_bytes - RBWP_BLOCK_HEADER_BYTES || flags & ~CHUNK_FLAGS)
            return bad_heads;
        out_bytes -= RBWP_BLOCK_HEADER_BYTES + (size_t)header.data_bytes;
        memcpy(giving->out, bytes, sizeof bytes);
        giving->out += sizeof bytes;
        if (flags & CHUNK_BLOCK_BYTES ? !give_bytes(giving, header.data_bytes)
                                      : !give_data(giving, &numbers, &header))
            return bad_records;
    }
    return out_bytes ? bad_heads : is_used_up(giving) ? NULL : bad_records;
}

const char *chunk_decode(struct chunk_decoder *decoder, const uint8_t *payload,
                         size_t payload_bytes, uint8_t *out, size_t out_bytes)
{
    struct stream_view stream[CHUNK_STREAMS];
    struct giving giving = {.out = out};
    size_t room;
    decoder->head_count = 0;
    const char *wrong = take_streams(payload, payload_bytes, out_bytes, stream, &room);
    if (wrong)
        return wrong;
    if (!chunk_decode_reserve(decoder, room))
        return chunk_no_memory;
    wrong = unpack_streams(decoder, stream, &giving);
    if (wrong)
        return wrong;
    size_t head_count = stream[STREAM_HEADS].bytes / CHUNK_HEAD_BYTES;
    decoder->heads = giving.next[STREAM_HEADS];
    if (head_count * CHUNK_HEAD_BYTES != stream[STREAM_HEADS].bytes)
        return bad_heads;
    wrong = give_blocks(&giving, head_count, out_bytes);
    decoder->head_count = wrong ? 0 : head_count;
    return wrong;
}
