/* SPDX-License-Identifier: Apache-2.0 */
/* Code lengths that are a whole prefix code within the limit, and codes that no other one begins.
 */
#include "deflate_code.h"

#include "unit.h"

#include <stdlib.h>
#include <string.h>

static uint64_t random_state = 1;

static uint32_t next_number(void)
{
    random_state = random_state * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (uint32_t)(random_state >> 33);
}

/* Total bits of the code that Huffman's own algorithm gives, without a limit: the least there is.
 */
static uint64_t least_bits(const uint32_t *frequency, unsigned count)
{
    uint64_t heap[HUFFMAN_SYMBOLS_MAX], total = 0;
    unsigned used = 0;
    for (unsigned i = 0; i < count; i++)
        if (frequency[i])
            heap[used++] = frequency[i];
    while (used > 1) {
        for (int pick = 0; pick < 2; pick++) { /* the two smallest to the end */
            unsigned smallest = 0, last = used - 1 - (unsigned)pick;
            for (unsigned i = 1; i <= last; i++)
                if (heap[i] < heap[smallest])
                    smallest = i;
            uint64_t weight = heap[smallest];
            heap[smallest] = heap[last];
            heap[last] = weight;
        }
        heap[used - 2] += heap[used - 1];
        used--;
        total += heap[used - 1];
    }
    return total;
}

/* Checks lengths and codes of these counts; returns the longest length. */
static unsigned check(const uint32_t *frequency, unsigned count, unsigned bits_max)
{
    uint8_t length[HUFFMAN_SYMBOLS_MAX];
    uint16_t code[HUFFMAN_SYMBOLS_MAX];
    unsigned used = 0, longest = 0;
    uint64_t kraft = 0, bits = 0;
    memset(length, 0xff, sizeof length);
    unsigned longest_code = huffman_lengths(frequency, count, bits_max, length);
    for (unsigned i = 0; i < count; i++) {
        assert_int_equal(length[i] != 0, frequency[i] != 0);
        if (length[i] == 0)
            continue;
        used++;
        assert_true(length[i] <= bits_max);
        kraft += UINT64_C(1) << (HUFFMAN_BITS_MAX - length[i]);
        bits += (uint64_t)frequency[i] * length[i];
        longest = length[i] > longest ? length[i] : longest;
    }
    assert_int_equal(longest_code, used);
    if (used >= 2)
        assert_int_equal(kraft, 1 << HUFFMAN_BITS_MAX); /* inflate refuses any other */
    if (used == 1)
        assert_int_equal(longest, 1);
    for (unsigned i = 0; i < count; i++)
        for (unsigned j = 0; j < count; j++)
            if (frequency[i] && frequency[j] && frequency[i] > frequency[j])
                assert_true(length[i] <= length[j]);
    uint64_t least = least_bits(frequency, count);
    if (longest < bits_max && used >= 2)
        assert_int_equal(bits, least);
    else if (used >= 2)
        assert_true(bits >= least);

    huffman_codes(length, count, code);
    static uint8_t taken[1 << HUFFMAN_BITS_MAX];
    memset(taken, 0, sizeof taken);
    for (unsigned i = 0; i < count;
         i++) { /* all words that begin with the code, first bit lowest */
        if (length[i])
            assert_int_equal(code[i] >> length[i], 0);
        for (uint32_t rest = 0; length[i] && rest < 1u << (HUFFMAN_BITS_MAX - length[i]); rest++)
            assert_int_equal(taken[rest << length[i] | code[i]]++, 0);
    }
    return longest;
}

/* Counts that grow like Fibonacci's numbers give the longest codes: cut to the limit. */
static void test_skewed(void **state)
{
    (void)state;
    uint32_t frequency[32];
    for (unsigned count = 2; count <= 31; count++) {
        frequency[0] = frequency[1] = 1;
        for (unsigned i = 2; i < count; i++)
            frequency[i] = frequency[i - 1] + frequency[i - 2];
        for (unsigned bits_max = 7; bits_max <= HUFFMAN_BITS_MAX; bits_max += 8) {
            unsigned longest = check(frequency, count, bits_max);
            assert_int_equal(longest, count - 1 < bits_max ? count - 1 : bits_max);
        }
    }
    uint32_t powers[23];
    for (unsigned i = 0; i < 23; i++)
        powers[i] = i == 22 ? (1u << 22) : 1u << i;
    assert_int_equal(check(powers, 23, HUFFMAN_BITS_MAX), HUFFMAN_BITS_MAX);
}

static void test_few_symbols(void **state)
{
    (void)state;
    uint32_t frequency[HUFFMAN_SYMBOLS_MAX] = {0};
    assert_int_equal(check(frequency, HUFFMAN_SYMBOLS_MAX, 15), 0);
    for (unsigned i = 0; i < HUFFMAN_SYMBOLS_MAX; i += 41) {
        memset(frequency, 0, sizeof frequency);
        frequency[i] = 8000000;
        assert_int_equal(check(frequency, HUFFMAN_SYMBOLS_MAX, 15), 1);
        frequency[(i + 1) % HUFFMAN_SYMBOLS_MAX] = 1;
        assert_int_equal(check(frequency, HUFFMAN_SYMBOLS_MAX, 15), 1);
    }
}

static void test_equal_counts(void **state)
{
    (void)state;
    uint32_t frequency[HUFFMAN_SYMBOLS_MAX];
    for (unsigned i = 0; i < HUFFMAN_SYMBOLS_MAX; i++)
        frequency[i] = (1u << 23) - 1; /* the largest there may be */
    assert_int_equal(check(frequency, 256, 15), 8);
    assert_int_equal(check(frequency, HUFFMAN_SYMBOLS_MAX, 15), 9);
    assert_int_equal(check(frequency, 128, 7), 7); /* just fits */
}

static void test_random(void **state)
{
    (void)state;
    uint32_t frequency[HUFFMAN_SYMBOLS_MAX];
    for (unsigned turn = 0; turn < 300; turn++) {
        unsigned count = turn % 3 ? 19 : 1 + next_number() % HUFFMAN_SYMBOLS_MAX;
        unsigned shift = next_number() % 23;
        for (unsigned i = 0; i < count; i++)
            frequency[i] =
                next_number() % 3 ? (next_number() & 0x7fffff) >> next_number() % (shift + 1) : 0;
        check(frequency, count, turn % 3 ? 7 : 15);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_skewed),
        cmocka_unit_test(test_few_symbols),
        cmocka_unit_test(test_equal_counts),
        cmocka_unit_test(test_random),
    };
    return cmocka_run_group_tests_name("huffman", tests, NULL, NULL);
}
