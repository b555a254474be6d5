/* SPDX-License-Identifier: Apache-2.0 */
#include "deflate_code.h"

/* RFC 1951, 3.2.5. */
static const uint16_t length_base[LENGTH_CODES] = {3,  4,  5,  6,   7,   8,   9,   10,  11, 13,
                                                   15, 17, 19, 23,  27,  31,  35,  43,  51, 59,
                                                   67, 83, 99, 115, 131, 163, 195, 227, 258};
static const uint8_t length_extra[LENGTH_CODES] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2,
                                                   2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0};

/* A code word with its extra bits, ready to write. */
struct deflate_code_bits {
    uint32_t value;
    uint32_t count;
};

void code_first_costs(struct deflater *state)
{
    unsigned code = 0;
    for (unsigned length = MATCH_BYTES_MIN; length <= MATCH_BYTES_MAX; length++) {
        while (code < LENGTH_CODES - 1 && length_base[code + 1] <= length)
            code++;
        state->length_code[length] = (uint8_t)code;
        state->length_cost[length] = (uint8_t)((length < 12 ? 4 : 6) + length_extra[code]);
    }
    /* A first guess: kinds, slots and high bytes of times are small numbers. */
    for (unsigned value = 0; value < 256; value++)
        state->literal_cost[value] = value < 16 ? 4 : 9;
    for (unsigned d = 0; d < DISTANCES; d++)
        state->distance_cost[d] = (uint8_t)(4 + distance_extra(d));
}

static const uint8_t meta_order[19] = {16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                       11, 4,  12, 3, 13, 2, 14, 1, 15};
static const uint8_t meta_extra[19] = {[16] = 2, [17] = 3, [18] = 7};

static void send_run(struct piece_code *code, uint32_t *meta_count, unsigned value, unsigned run)
{
    while (run > 0) {
        unsigned symbol = value, extra = 0, covers = 1;
        if (value == 0 && run >= 3) {
            symbol = run >= 11 ? 18 : 17;
            covers = run > 138 ? 138 : run;
            extra = covers - (symbol == 18 ? 11 : 3);
        }
        code->sent_symbol[code->sent] = (uint8_t)symbol;
        code->sent_extra[code->sent++] = (uint8_t)extra;
        meta_count[symbol]++;
        run -= covers;
        if (value != 0 && run >= 3) { /* "repeat the one before" */
            covers = run > 6 ? 6 : run;
            code->sent_symbol[code->sent] = 16;
            code->sent_extra[code->sent++] = (uint8_t)(covers - 3);
            meta_count[16]++;
            run -= covers;
        }
    }
}

/* The lengths of the code's own words, as runs, and the code for those. */
static void build_meta_code(struct piece_code *code)
{
    uint8_t all[LITERALS + DISTANCES];
    memcpy(all, code->length, code->literals);
    memcpy(all + code->literals, code->length + LITERALS, code->distances);
    unsigned total = code->literals + code->distances;
    uint32_t meta_count[19] = {0};
    code->sent = 0;
    for (unsigned i = 0, run; i < total; i += run) {
        for (run = 1; i + run < total && all[i + run] == all[i];)
            run++;
        send_run(code, meta_count, all[i], run);
    }
    huffman_lengths(meta_count, 19, 7, code->meta_length);
    huffman_codes(code->meta_length, 19, code->meta_word);
    code->meta_lengths = 19;
    while (code->meta_lengths > 4 && code->meta_length[meta_order[code->meta_lengths - 1]] == 0)
        code->meta_lengths--;
    code->header_bits = 3 + 14 + 3 * code->meta_lengths;
    for (unsigned symbol = 0; symbol < 19; symbol++)
        code->header_bits +=
            (uint64_t)meta_count[symbol] * (code->meta_length[symbol] + meta_extra[symbol]);
}

void code_build(const struct deflater *state, struct piece_code *code)
{
    uint8_t distance_length[DISTANCES];
    huffman_lengths(state->literal_count, LITERALS, HUFFMAN_BITS_MAX, code->length);
    if (huffman_lengths(state->distance_count, DISTANCES, HUFFMAN_BITS_MAX, distance_length) == 0)
        distance_length[0] = 1; /* a code must have one word; it is not used */
    huffman_codes(code->length, LITERALS, code->literal_word);
    huffman_codes(distance_length, DISTANCES, code->distance_word);

    code->literals = LITERALS;
    while (code->literals > LENGTH_SYMBOL && code->length[code->literals - 1] == 0)
        code->literals--;
    code->distances = DISTANCES;
    while (code->distances > 1 && distance_length[code->distances - 1] == 0)
        code->distances--;
    memmove(code->length + LITERALS, distance_length, DISTANCES);
    build_meta_code(code);
}

/* The costs for the next piece are this piece's code; what did not occur gets a high price. */
void code_take_costs(struct deflater *state, const struct piece_code *code)
{
    const uint8_t *distance_length = code->length + LITERALS;
    for (unsigned value = 0; value < 256; value++)
        state->literal_cost[value] = code->length[value] ? code->length[value] : 12;
    for (unsigned length = MATCH_BYTES_MIN; length <= MATCH_BYTES_MAX; length++) {
        unsigned c = state->length_code[length], bits = code->length[LENGTH_SYMBOL + c];
        state->length_cost[length] = (uint8_t)((bits ? bits : 12) + length_extra[c]);
    }
    for (unsigned d = 0; d < DISTANCES; d++)
        state->distance_cost[d] =
            (uint8_t)((distance_length[d] ? distance_length[d] : 9) + distance_extra(d));
}

uint64_t code_piece_bits(const struct deflater *state, const struct piece_code *code)
{
    uint64_t bits = code->header_bits;
    for (unsigned symbol = 0; symbol < LITERALS; symbol++) {
        unsigned extra = symbol >= LENGTH_SYMBOL ? length_extra[symbol - LENGTH_SYMBOL] : 0;
        bits += (uint64_t)state->literal_count[symbol] * (code->length[symbol] + extra);
    }
    for (unsigned d = 0; d < DISTANCES; d++)
        bits +=
            (uint64_t)state->distance_count[d] * (code->length[LITERALS + d] + distance_extra(d));
    return bits;
}

void code_put(struct bit_writer *out, const struct piece_code *code, int final)
{
    put_bits(out, (unsigned) final | 2u << 1, 3);
    put_bits(out,
             (code->literals - 257) | (code->distances - 1) << 5 | (code->meta_lengths - 4) << 10,
             14);
    for (unsigned i = 0; i < code->meta_lengths; i++)
        put_bits(out, code->meta_length[meta_order[i]], 3);
    for (unsigned i = 0; i < code->sent; i++) {
        unsigned symbol = code->sent_symbol[i];
        put_bits(out, code->meta_word[symbol], code->meta_length[symbol]);
        put_bits(out, code->sent_extra[i], meta_extra[symbol]);
    }
}

/* Four counts, since a byte often is the one before. */
void code_count_literals(struct deflater *state, const uint8_t *data, uint32_t size)
{
    uint32_t count[4][256] = {{0}};
    uint32_t i = 0;
    for (; i + 4 <= size; i += 4)
        for (uint32_t k = 0; k < 4; k++)
            count[k][data[i + k]]++;
    for (; i < size; i++)
        count[0][data[i]]++;
    for (unsigned value = 0; value < 256; value++)
        state->literal_count[value] =
            count[0][value] + count[1][value] + count[2][value] + count[3][value];
}

/* Three at once: a word of the code has at most HUFFMAN_BITS_MAX bits, held ones are below 8. */
void code_put_literals(const struct piece_code *code, const uint8_t *data, uint32_t size,
                       struct bit_writer *writer)
{
    struct deflate_code_bits literal[256];
    for (unsigned value = 0; value < 256; value++)
        literal[value] = (struct deflate_code_bits){code->literal_word[value], code->length[value]};
    struct bit_writer out = *writer;
    uint32_t i = 0;
    for (; i + 3 <= size; i += 3) {
        struct deflate_code_bits a = literal[data[i]], b = literal[data[i + 1]],
                                 c = literal[data[i + 2]];
        uint64_t value =
            a.value | (uint64_t)b.value << a.count | (uint64_t)c.value << (a.count + b.count);
        put_bits(&out, value, a.count + b.count + c.count);
    }
    for (; i < size; i++)
        put_bits(&out, literal[data[i]].value, literal[data[i]].count);
    put_bits(&out, code->literal_word[END_SYMBOL], code->length[END_SYMBOL]);
    *writer = out;
}

#define TOKENS_PER_YIELD 4096u

void code_put_tokens(const struct deflater *state, const struct piece_code *code,
                     struct bit_writer *writer)
{
    struct deflate_code_bits length_bits[MATCH_BYTES_MAX + 1];
    for (unsigned length = MATCH_BYTES_MIN; length <= MATCH_BYTES_MAX; length++) {
        unsigned c = state->length_code[length], symbol = LENGTH_SYMBOL + c;
        length_bits[length].value = code->literal_word[symbol] | (uint32_t)(length - length_base[c])
                                                                     << code->length[symbol];
        length_bits[length].count = code->length[symbol] + length_extra[c];
    }
    struct bit_writer out = *writer;
    for (size_t i = 0; i < state->tokens; i++) {
        uint32_t token = state->token[i];
        if (i % TOKENS_PER_YIELD == TOKENS_PER_YIELD - 1)
            yield_hook_run(state->yield_hook);
        if (token < MATCH_FLAG) {
            put_bits(&out, code->literal_word[token], code->length[token]);
            continue;
        }
        struct deflate_code_bits length = length_bits[token >> 16 & 0x7fff];
        uint32_t distance = (token & 0xffff) + 1;
        unsigned d = distance_code(distance), word_bits = code->length[LITERALS + d];
        uint64_t bits = code->distance_word[d] | (uint64_t)(distance - distance_base(d))
                                                     << word_bits;
        put_bits(&out, length.value | bits << length.count,
                 length.count + word_bits + distance_extra(d));
    }
    put_bits(&out, code->literal_word[END_SYMBOL], code->length[END_SYMBOL]);
    *writer = out;
}

/* Huffman code lengths in place after Moffat and Katajainen ("In-place
 * calculation of minimum-redundancy codes", 1995): one array holds weights,
 * then parents, then depths. Lengths over the limit are cut and the Kraft sum
 * repaired; that costs a fraction of a percent at worst and never occurs with
 * the few hundred symbols of one block in practice. */

#define SYMBOL_BITS 9 /* room for HUFFMAN_SYMBOLS_MAX in the low bits of a sort key */

static void sort_keys(uint32_t *key, unsigned count)
{
    static const unsigned gaps[] = {132, 57, 23, 10, 4, 1};
    for (unsigned g = 0; g < sizeof gaps / sizeof gaps[0]; g++) {
        unsigned gap = gaps[g];
        for (unsigned i = gap; i < count; i++) {
            uint32_t k = key[i];
            unsigned j = i;
            for (; j >= gap && key[j - gap] > k; j -= gap)
                key[j] = key[j - gap];
            key[j] = k;
        }
    }
}

/* weight[0..count-1], ascending, at least two of them, becomes each leaf's depth. */
static void depths_in_place(uint32_t *weight, unsigned count)
{
    unsigned root = 0, leaf = 2;
    weight[0] += weight[1];
    for (unsigned next = 1; next < count - 1; next++) {
        uint32_t sum = 0;
        for (int child = 0; child < 2; child++) {
            if (leaf >= count || (root < next && weight[root] < weight[leaf])) {
                sum += weight[root];
                weight[root++] = next; /* becomes the parent's index */
            } else {
                sum += weight[leaf++];
            }
        }
        weight[next] = sum;
    }
    weight[count - 2] = 0;
    for (int next = (int)count - 3; next >= 0; next--)
        weight[next] = weight[weight[next]] + 1;

    int inner = (int)count - 2, out = (int)count - 1;
    for (unsigned available = 1, depth = 0; available > 0; depth++) {
        unsigned used = 0;
        for (; inner >= 0 && weight[inner] == depth; inner--)
            used++;
        for (; available > used; available--)
            weight[out--] = depth;
        available = 2 * used;
    }
}

/* How many codes of each length, none above bits_max, Kraft sum exactly one. */
static void limited_counts(const uint32_t *depth, unsigned count, unsigned bits_max,
                           unsigned *codes_of)
{
    memset(codes_of, 0, (HUFFMAN_BITS_MAX + 1) * sizeof *codes_of);
    uint32_t kraft = 0;
    for (unsigned i = 0; i < count; i++) {
        unsigned bits = depth[i] < bits_max ? (unsigned)depth[i] : bits_max;
        codes_of[bits]++;
        kraft += 1u << (bits_max - bits);
    }
    for (; kraft > 1u << bits_max; kraft--) {
        unsigned bits = bits_max - 1;
        while (codes_of[bits] == 0)
            bits--;
        codes_of[bits]--; /* this leaf becomes a node over itself and one of the longest */
        codes_of[bits + 1] += 2;
        codes_of[bits_max]--;
    }
}

unsigned huffman_lengths(const uint32_t *frequency, unsigned count, unsigned bits_max,
                         uint8_t *length_out)
{
    uint32_t key[HUFFMAN_SYMBOLS_MAX], depth[HUFFMAN_SYMBOLS_MAX];
    unsigned used = 0;
    memset(length_out, 0, count);
    for (unsigned symbol = 0; symbol < count; symbol++)
        if (frequency[symbol])
            key[used++] = frequency[symbol] << SYMBOL_BITS | symbol;
    if (used < 2) {
        if (used == 1)
            length_out[key[0] & ((1u << SYMBOL_BITS) - 1)] = 1;
        return used;
    }
    sort_keys(key, used);
    for (unsigned i = 0; i < used; i++)
        depth[i] = key[i] >> SYMBOL_BITS;
    depths_in_place(depth, used);

    unsigned codes_of[HUFFMAN_BITS_MAX + 1], i = 0;
    limited_counts(depth, used, bits_max, codes_of);
    for (unsigned bits = bits_max; bits > 0; bits--)
        for (unsigned n = codes_of[bits]; n > 0; n--)
            length_out[key[i++] & ((1u << SYMBOL_BITS) - 1)] = (uint8_t)bits;
    return used;
}

static unsigned huffman_reversed(unsigned code, unsigned bits)
{
    unsigned out = 0;
    for (unsigned bit = 0; bit < bits; bit++)
        out = out << 1 | (code >> bit & 1);
    return out;
}

void huffman_codes(const uint8_t *length, unsigned count, uint16_t *code_out)
{
    unsigned codes_of[HUFFMAN_BITS_MAX + 1] = {0}, next[HUFFMAN_BITS_MAX + 1] = {0}, code = 0;
    for (unsigned symbol = 0; symbol < count; symbol++)
        codes_of[length[symbol]]++;
    codes_of[0] = 0;
    for (unsigned bits = 1; bits <= HUFFMAN_BITS_MAX; bits++) {
        code = (code + codes_of[bits - 1]) << 1;
        next[bits] = code;
    }
    for (unsigned symbol = 0; symbol < count; symbol++)
        code_out[symbol] =
            (uint16_t)(length[symbol] ? huffman_reversed(next[length[symbol]]++, length[symbol])
                                      : 0);
}
