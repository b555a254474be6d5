/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Huffman code lengths in place after Moffat and Katajainen ("In-place
 * calculation of minimum-redundancy codes", 1995): one array holds weights,
 * then parents, then depths. Lengths over the limit are cut and the Kraft sum
 * repaired; that costs a fraction of a percent at worst and never occurs with
 * the few hundred symbols of one block in practice.
 */
#include "huffman.h"

#include <string.h>

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
