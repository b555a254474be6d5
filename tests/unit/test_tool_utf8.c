/* SPDX-License-Identifier: Apache-2.0 */
/* utf8.h and terminal_text.h: what is text, and what a terminal gets to see. */
#include "utf8.h"
#include "terminal_text.h"
#include "unit.h"

#include <string.h>

/* Exactly the sequences of Unicode scalar values are valid: counted over all byte combinations. */
static void counts_of_valid_sequences(void **state)
{
    (void)state;
    unsigned counts[5] = {0};
    for (uint32_t word = 0; word < 1u << 24; word++) {
        unsigned char bytes[3] = {(unsigned char)(word >> 16), (unsigned char)(word >> 8),
                                  (unsigned char)word};
        size_t length = utf8_length(bytes, 3);
        assert_true(length <= 3);
        counts[length]++;
    }
    assert_int_equal(counts[1], 128 << 16);
    assert_int_equal(counts[2], (0x800 - 0x80) << 8);
    assert_int_equal(counts[3], 0x10000 - 0x800 - 0x800);
    for (uint32_t word = 0; word < 1u << 27; word++) {
        unsigned char bytes[4] = {(unsigned char)(0xf0 | word >> 24), (unsigned char)(word >> 16),
                                  (unsigned char)(word >> 8), (unsigned char)word};
        if (!utf8_continues(bytes[1]) || !utf8_continues(bytes[2])) {
            word |= utf8_continues(bytes[1]) ? 0xff : 0xffff;
            continue;
        }
        counts[4] += utf8_length(bytes, 4) == 4;
    }
    assert_int_equal(counts[4], 0x100000);
}

/* A sequence that the end of the name cuts off is not valid, and nothing behind the end is read. */
static void cut_sequences(void **state)
{
    (void)state;
    static const char *const texts[] = {"\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80"};
    for (size_t i = 0; i < 3; i++)
        for (size_t count = 1; count <= strlen(texts[i]); count++)
            assert_int_equal(utf8_length((const unsigned char *)texts[i], count),
                             count == strlen(texts[i]) ? count : 0);
}

/* No byte string gets a control character through, and two never look the same. */
static void nothing_invisible(void **state)
{
    (void)state;
    char shown[64];
    size_t used = terminal_text("a\x1b[\x7f\xc2\x9b\\\xff\xc3\xa9", 10, shown, sizeof shown);
    static const char want[] = "a\\x1b[\\x7f\\xc2\\x9b\\\\\\xff\xc3\xa9";
    assert_int_equal(used, sizeof want - 1);
    assert_memory_equal(shown, want, used);
    for (unsigned byte = 0; byte < 256; byte++) {
        char one = (char)byte;
        used = terminal_text(&one, 1, shown, sizeof shown);
        for (size_t i = 0; i < used; i++)
            assert_true(shown[i] >= 0x20 && shown[i] < 0x7f);
    }
}

/* A character that has no room is dropped whole. */
static void room_is_kept(void **state)
{
    (void)state;
    char shown[8];
    for (size_t room = 0; room < 8; room++) {
        memset(shown, '#', sizeof shown);
        size_t used = terminal_text("\x01\x02", 2, shown, room);
        assert_int_equal(used, room < 4 ? 0 : 4);
        for (size_t i = used; i < sizeof shown; i++)
            assert_int_equal(shown[i], '#');
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_of_valid_sequences), cmocka_unit_test(cut_sequences),
        cmocka_unit_test(nothing_invisible), cmocka_unit_test(room_is_kept)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
