/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of descriptor.c: both tables there and back, and every way in which they break. */
#include "descriptor.h"
#include "format_support.h"
#include "unit.h"

#include <stdlib.h>
#include <string.h>

static struct rbwp_error error;

/* Two work items (one with an empty name, one with a zero byte in it) and one sub-item. */
static const struct rbwp_work_item_name work_items[] = {{255, 0, ""}, {0, 3, "a\0b"}};
static const struct rbwp_sub_item_name sub_items[] = {{65535, 9, 4, "copy"}};
static const struct rbwp_tables tables = {work_items, sub_items, 2, 1};

static struct bytes encoded_by_hand(void)
{
    struct bytes bytes = {0};
    put_le(&bytes, 255, 2);
    put_le(&bytes, 0, 2);
    put_le(&bytes, 0, 2);
    put_le(&bytes, 3, 2);
    put(&bytes, "a\0b", 3);
    put_le(&bytes, 65535, 2);
    put_le(&bytes, 9, 1);
    put_le(&bytes, 4, 2);
    put(&bytes, "copy", 4);
    return bytes;
}

/* Guards: the bytes are those of SPEC.md, section 7, and come back as they were. */
static void tables_round_trip(void **state)
{
    (void)state;
    struct bytes expected = encoded_by_hand();
    struct buffer buffer = {0};
    assert_int_equal(descriptor_encode(&tables, &buffer), RBWP_OK);
    assert_int_equal(buffer.count, expected.size);
    assert_memory_equal(buffer.bytes, expected.data, expected.size);

    struct descriptor_tables decoded;
    struct descriptor_counts counts = {2, 1};
    assert_int_equal(descriptor_decode(buffer.bytes, buffer.count, 100, counts, &decoded, &error),
                     RBWP_OK);
    assert_int_equal(decoded.bytes, expected.size);
    assert_int_equal(decoded.work_item_count, 2);
    assert_int_equal(decoded.work_items[0].slot, 255);
    assert_int_equal(decoded.work_items[0].name_bytes, 0);
    assert_memory_equal(decoded.work_items[1].name, "a\0b", 3);
    assert_int_equal(decoded.sub_items[0].id, 65535);
    assert_int_equal(decoded.sub_items[0].type, 9);
    assert_memory_equal(decoded.sub_items[0].name, "copy", 4);
    descriptor_free(&decoded);
    buffer_free(&buffer);
    bytes_free(&expected);
}

/* Guards: cut anywhere, the tables keep the entries before the cut and say where it is (R30). */
static void cut_tables_keep_whole_entries(void **state)
{
    (void)state;
    struct bytes bytes = encoded_by_hand();
    struct descriptor_counts counts = {2, 1};
    for (size_t size = 0; size < bytes.size; size++) {
        uint8_t *exact = malloc(size + !size);
        memcpy(exact, bytes.data, size);
        struct descriptor_tables decoded;
        assert_int_equal(descriptor_decode(exact, size, 100, counts, &decoded, &error),
                         RBWP_E_TRUNCATED);
        assert_int_equal(error.rule, 30);
        assert_int_equal(decoded.work_item_count, (size >= 4) + (size >= 11));
        assert_int_equal(decoded.sub_item_count, 0);
        assert_int_equal(error.offset, 100 + (size < 4 ? 0 : size < 11 ? 4 : 11));
        descriptor_free(&decoded);
        free(exact);
    }
    bytes_free(&bytes);
}

/* Guards: R31: a count of thousands of millions is refused, one that only lies allocates little. */
static void lying_counts_allocate_nothing(void **state)
{
    (void)state;
    struct bytes bytes = encoded_by_hand();
    struct descriptor_tables decoded;
    assert_int_equal(descriptor_decode(bytes.data, bytes.size, 0,
                                       (struct descriptor_counts){UINT32_MAX, 1}, &decoded, &error),
                     RBWP_E_LIMIT);
    assert_int_equal(error.rule, 31);
    assert_int_equal(decoded.work_item_count, 2); /* the third, of other bytes, is cut */
    descriptor_free(&decoded);
    assert_int_equal(descriptor_decode(bytes.data, bytes.size, 0,
                                       (struct descriptor_counts){2, 65537}, &decoded, &error),
                     RBWP_E_LIMIT);
    descriptor_free(&decoded);
    assert_int_equal(descriptor_decode(bytes.data, bytes.size, 0,
                                       (struct descriptor_counts){2, 65536}, &decoded, &error),
                     RBWP_E_TRUNCATED);
    assert_int_equal(decoded.sub_item_count, 1);
    descriptor_free(&decoded);
    bytes_free(&bytes);
}

static unsigned broken_rule(const struct rbwp_tables *checked)
{
    error.rule = 0;
    enum rbwp_status status = descriptor_check(checked, 36, &error);
    assert_int_equal(status, error.rule ? RBWP_E_CORRUPT : RBWP_OK);
    return error.rule;
}

/* Guards: R32 to R34, and that the same number in both tables is none of them. */
static void numbers_are_checked(void **state)
{
    (void)state;
    const struct rbwp_work_item_name high[] = {{7, 0, ""}, {256, 0, ""}};
    const struct rbwp_work_item_name twice[] = {{7, 0, ""}, {8, 0, ""}, {7, 0, ""}};
    const struct rbwp_sub_item_name ids[] = {{7, 0, 0, ""}, {65535, 0, 0, ""}, {7, 1, 0, ""}};
    assert_int_equal(broken_rule(&(struct rbwp_tables){high, ids, 1, 2}), 0);
    assert_int_equal(broken_rule(&(struct rbwp_tables){high, ids, 2, 2}), 32);
    assert_int_equal(broken_rule(&(struct rbwp_tables){twice, ids, 2, 2}), 0);
    assert_int_equal(broken_rule(&(struct rbwp_tables){twice, ids, 3, 2}), 33);
    assert_int_equal(broken_rule(&(struct rbwp_tables){twice, ids, 2, 3}), 34);
}

/* Guards: a writer cannot be made to write tables that a reader refuses. */
static void encoder_keeps_the_limits(void **state)
{
    (void)state;
    struct buffer buffer = {0};
    struct rbwp_tables huge = {work_items, sub_items, 65537, 0};
    assert_int_equal(descriptor_encode(&huge, &buffer), RBWP_E_LIMIT);
    static struct rbwp_sub_item_name many[1100];
    char *name = calloc(1, 65535);
    for (unsigned i = 0; i < 1100; i++)
        many[i] = (struct rbwp_sub_item_name){(uint16_t)i, 0, 65535, name};
    assert_int_equal(descriptor_encode(&(struct rbwp_tables){NULL, many, 0, 1100}, &buffer),
                     RBWP_E_LIMIT);
    buffer.count = 0;
    assert_int_equal(descriptor_encode(&(struct rbwp_tables){NULL, many, 0, 1000}, &buffer),
                     RBWP_OK);
    free(name);
    buffer_free(&buffer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_round_trip),
        cmocka_unit_test(cut_tables_keep_whole_entries),
        cmocka_unit_test(lying_counts_allocate_nothing),
        cmocka_unit_test(numbers_are_checked),
        cmocka_unit_test(encoder_keeps_the_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
