/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of bytes.h, buffer.h and status.c: the order of bytes, and nothing beyond an end. */
#include "bytes.h"
#include "buffer.h"
#include "reader_error.h"
#include "unit.h"

#include <errno.h>
#include <stdlib.h>

/* Guards: little-endian and big-endian mean the bytes of the file, on any host, at any address. */
static void loads_and_stores_have_a_fixed_order(void **state)
{
    (void)state;
    uint8_t bytes[16] = {0xff, 1, 2, 3, 4, 5, 6, 7, 0x88};
    assert_int_equal(load_le16(bytes + 1), 0x0201);
    assert_int_equal(load_le32(bytes + 1), 0x04030201);
    assert_int_equal(load_le64(bytes + 1), UINT64_C(0x8807060504030201));
    assert_int_equal(load_be16(bytes + 1), 0x0102);
    assert_int_equal(load_be32(bytes + 1), 0x01020304);
    assert_int_equal(load_be64(bytes + 1), UINT64_C(0x0102030405060788));
    assert_true(load_le_i64(bytes + 1) < 0);

    uint8_t out[9] = {0};
    store_le64(out + 1, UINT64_C(0x8807060504030201));
    assert_memory_equal(out + 1, bytes + 1, 8);
    store_be64(out + 1, UINT64_C(0x0102030405060788));
    assert_memory_equal(out + 1, bytes + 1, 8);
    store_le16(out, 0x1234);
    assert_int_equal(out[0], 0x34);
    store_be32(out, 0x12345678);
    assert_int_equal(out[0], 0x12);
}

/* Guards: a cursor refuses a step over the end, also one that would wrap, and stays where it was.
 */
static void cursor_stays_inside(void **state)
{
    (void)state;
    uint8_t bytes[4] = {0};
    struct cursor cursor = {bytes, sizeof(bytes)};
    assert_ptr_equal(cursor_take(&cursor, 3), bytes);
    assert_null(cursor_take(&cursor, 2));
    assert_null(cursor_take(&cursor, UINT64_MAX));
    assert_ptr_equal(cursor_take(&cursor, 1), bytes + 3);
    assert_non_null(cursor_take(&cursor, 0));
    assert_null(cursor_take(&cursor, 1));
}

/* Guards: a buffer keeps what was appended over many growths, and refuses absurd sizes for good. */
static void buffer_grows_and_remembers_failure(void **state)
{
    (void)state;
    struct buffer buffer = {0};
    for (unsigned i = 0; i < 5000; i++)
        buffer_append(&buffer, &(uint8_t){(uint8_t)i}, 1);
    assert_int_equal(buffer.count, 5000);
    for (unsigned i = 0; i < 5000; i++)
        assert_int_equal(buffer.bytes[i], (uint8_t)i);
    buffer_append(&buffer, NULL, 0);
    assert_false(buffer.failed);
    assert_null(buffer_reserve(&buffer, SIZE_MAX));
    assert_true(buffer.failed);
    buffer_append(&buffer, "x", 1);
    assert_int_equal(buffer.count, 5000);
    buffer_free(&buffer);
    assert_null(buffer.bytes);
}

/* Guards: an error says place and rule, fits its field, and may be dropped by the caller. */
static void errors_carry_place_and_rule(void **state)
{
    (void)state;
    struct rbwp_error error;
    char longer[400];
    memset(longer, 'x', sizeof(longer) - 1);
    longer[sizeof(longer) - 1] = 0;
    assert_int_equal(error_set(&error, RBWP_E_CORRUPT,
                               (struct place){"block", 36, RULE_BLOCK_BYTES}, "too %s", "large"),
                     RBWP_E_CORRUPT);
    assert_string_equal(error.text, "too large, at file offset 36 (SPEC.md R12)");
    assert_string_equal(error.section, "block");
    assert_int_equal(error.offset, 36);
    assert_int_equal(error.rule, 12);
    error_set(&error, RBWP_E_IO, (struct place){"", NOWHERE, 0}, "%s", longer);
    assert_int_equal(strlen(error.text), sizeof(error.text) - 1);
    errno = ENOENT;
    assert_int_equal(error_set_os(&error, "file", "open the file"), RBWP_E_IO);
    assert_int_equal(error.os_errno, ENOENT);
    assert_non_null(strstr(error.text, "open the file"));
    assert_int_equal(error_set(NULL, RBWP_E_LIMIT, (struct place){"", 0, 0}, "x"), RBWP_E_LIMIT);
    assert_int_equal(error_set_memory(NULL, "block"), RBWP_E_MEMORY);
}

/* Guards: every name function answers every value, and no two values of an enum share a name. */
static void names_are_total_and_distinct(void **state)
{
    (void)state;
    for (unsigned a = 1; a <= RBWP_LOSS_CAUSE_MAX; a++) /* numbers not in use have no name */
        for (unsigned b = 0; b < a && strcmp(rbwp_loss_cause_name(a), "unknown") != 0; b++)
            assert_string_not_equal(rbwp_loss_cause_name(a), rbwp_loss_cause_name(b));
    for (unsigned a = 1; a <= RBWP_LOSS_GPU_FAILED; a++)
        assert_string_not_equal(rbwp_loss_cause_name(a), "unknown");
    assert_string_equal(rbwp_loss_cause_name(RBWP_LOSS_CAUSE_MAX + 1), "unknown");
    assert_string_equal(rbwp_kind_name(0x13), "UNKNOWN");
    assert_string_equal(rbwp_sub_item_type_name(4), "UNKNOWN");
    for (int a = RBWP_AGAIN; a >= RBWP_E_UNSUPPORTED; a--)
        for (int b = RBWP_AGAIN; b > a; b--)
            assert_string_not_equal(rbwp_status_text(a), rbwp_status_text(b));
    assert_string_equal(rbwp_status_text(-99), "unknown status");
    assert_string_equal(rbwp_version(), RBWP_VERSION_STRING);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loads_and_stores_have_a_fixed_order),
        cmocka_unit_test(cursor_stays_inside),
        cmocka_unit_test(buffer_grows_and_remembers_failure),
        cmocka_unit_test(errors_carry_place_and_rule),
        cmocka_unit_test(names_are_total_and_distinct),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
