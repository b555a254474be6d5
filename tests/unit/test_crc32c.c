/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of crc32c.c against the published check value and a bit-by-bit sum. */
#include "crc32c.h"
#include "format_support.h"
#include "rbwp_writer.h"
#include "unit.h"

static void fill_random(uint8_t *bytes, size_t count)
{
    uint64_t state = 7;
    for (size_t i = 0; i < count; i++)
        bytes[i] = (uint8_t)next_random(&state);
}

/* Guards: it is CRC-32C and no other: the check value that SPEC.md names. */
static void check_value_is_right(void **state)
{
    (void)state;
    assert_int_equal(crc32c(0, "123456789", 9), 0xe3069283);
    assert_int_equal(~crc32c_portable(~0u, (const uint8_t *)"123456789", 9), 0xe3069283);
    assert_int_equal(crc32c(0, NULL, 0), 0);
}

/* Guards: both loops agree with the slow sum at every length around their step, unaligned too. */
static void loops_agree_at_every_length(void **state)
{
    (void)state;
    uint8_t bytes[300];
    fill_random(bytes, sizeof(bytes));
    for (size_t skip = 0; skip < 9; skip++)
        for (size_t count = 0; count < 280; count++) {
            uint32_t slow = slow_crc32c(bytes + skip, count);
            assert_int_equal(crc32c(0, bytes + skip, count), slow);
            assert_int_equal(~crc32c_portable(~0u, bytes + skip, count), slow);
        }
}

/* Guards: going on with the last result is the sum of the whole. */
static void sums_go_on(void **state)
{
    (void)state;
    uint8_t bytes[300];
    fill_random(bytes, sizeof(bytes));
    for (size_t cut = 0; cut <= sizeof(bytes); cut += 7)
        assert_int_equal(crc32c(crc32c(0, bytes, cut), bytes + cut, sizeof(bytes) - cut),
                         slow_crc32c(bytes, sizeof(bytes)));
}

/* Guards: sums of two pieces combine to that of both, for empty, short and long second pieces. */
static void sums_combine(void **state)
{
    (void)state;
    static uint8_t bytes[100000];
    fill_random(bytes, sizeof(bytes));
    const size_t cuts[] = {0, 1, 7, 64, 4096, 34463, sizeof(bytes) - 1, sizeof(bytes)};
    uint32_t whole = slow_crc32c(bytes, sizeof(bytes));
    for (size_t i = 0; i < sizeof(cuts) / sizeof(cuts[0]); i++) {
        size_t rest = sizeof(bytes) - cuts[i];
        assert_int_equal(
            crc32c_combine(slow_crc32c(bytes, cuts[i]), slow_crc32c(bytes + cuts[i], rest), rest),
            whole);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(check_value_is_right),
        cmocka_unit_test(loops_agree_at_every_length),
        cmocka_unit_test(sums_go_on),
        cmocka_unit_test(sums_combine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
