/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of header.c: the 36 bytes, and what is refused (R1 to R4, erratum E3). */
#include "format_support.h"
#include "header.h"
#include "unit.h"

#include <string.h>

static struct rbwp_error error;

static enum rbwp_status decode(const struct bytes *bytes, uint64_t file_bytes,
                               struct rbwp_file_header *header)
{
    return header_decode(bytes->data, bytes->size, file_bytes, header, &error);
}

/* Guards: each field stands where SPEC.md says; compared with bytes put together by hand. */
static void fields_are_where_the_spec_says(void **state)
{
    (void)state;
    struct rbwp_file_header header = {.version = 1,
                                      .flags = 1,
                                      .node = 0x04030201,
                                      .zero_time_ns = -2,
                                      .work_items = 0x0d0c0b0a,
                                      .sub_items = 0x11100f0e,
                                      .descriptor_offset = UINT64_C(0x1918171615141312)};
    struct bytes expected = {0};
    put(&expected, "RBWP", 4);
    put_le(&expected, 1, 2);
    put_le(&expected, 1, 2);
    put_le(&expected, header.node, 4);
    put_le(&expected, UINT64_MAX - 1, 8);
    put_le(&expected, header.work_items, 4);
    put_le(&expected, header.sub_items, 4);
    put_le(&expected, header.descriptor_offset, 8);
    uint8_t bytes[RBWP_FILE_HEADER_BYTES], patch[HEADER_PATCH_BYTES];
    header_encode(&header, bytes);
    assert_memory_equal(bytes, expected.data, 36);
    header_encode_patch(&header, patch);
    assert_memory_equal(patch, expected.data + HEADER_PATCH_OFFSET, HEADER_PATCH_BYTES);

    struct rbwp_file_header decoded;
    assert_int_equal(decode(&expected, UINT64_MAX, &decoded), RBWP_OK);
    assert_memory_equal(&decoded, &header, sizeof(header));
    bytes_free(&expected);
}

/* Guards: every length below 36 is distinguished from a file of another kind. */
static void short_and_foreign_files_are_refused(void **state)
{
    (void)state;
    struct rbwp_file_header header;
    struct bytes bytes = {0};
    put_header(&bytes, 0, 0, 0);
    assert_int_equal(decode(&bytes, 36, &header), RBWP_OK);
    for (bytes.size = 35; bytes.size > 0; bytes.size--) {
        assert_int_equal(decode(&bytes, bytes.size, &header), RBWP_E_TRUNCATED);
        assert_int_equal(error.rule, 1);
    }
    assert_int_equal(decode(&bytes, 0, &header), RBWP_E_NOT_RBWP);
    bytes.size = 36;
    for (unsigned i = 0; i < 4; i++) {
        bytes.data[i] ^= 1;
        assert_int_equal(decode(&bytes, 36, &header), RBWP_E_NOT_RBWP);
        assert_int_equal(error.rule, 2);
        bytes.data[i] ^= 1;
    }
    bytes_free(&bytes);
}

/* Guards: R3 and R4, and that the bits a reader ignores do not refuse. */
static void versions_and_flags_are_refused_or_ignored(void **state)
{
    (void)state;
    struct rbwp_file_header header;
    struct bytes bytes = {0};
    put_header(&bytes, 0, 0, 0);
    for (unsigned version = 0; version < 70000; version += 1 + version / 3) {
        set_le(&bytes, 4, version, 2);
        assert_int_equal(decode(&bytes, 36, &header),
                         version % 65536 == 1 ? RBWP_OK : RBWP_E_VERSION);
    }
    set_le(&bytes, 4, 1, 2);
    for (unsigned bit = 0; bit < 16; bit++) {
        set_le(&bytes, 6, 1u << bit, 2);
        assert_int_equal(decode(&bytes, 36, &header), bit < 8 ? RBWP_OK : RBWP_E_VERSION);
        if (bit >= 8)
            assert_int_equal(error.rule, 4);
    }
    bytes_free(&bytes);
}

/* Guards: the 28-byte layout with the same version is refused by name, in files and streams, and
 * an ordinary file whose end is missing is not mistaken for it. */
static void older_layout_is_recognised(void **state)
{
    (void)state;
    struct rbwp_file_header header;
    struct bytes bytes = {0};
    put_header(&bytes, 2, 0, 0);
    bytes.size = 28;
    put_le(&bytes, 3, 2);
    put_le(&bytes, 6, 2);
    put(&bytes, "worker", 4);
    assert_int_equal(decode(&bytes, 4000, &header), RBWP_E_VERSION);
    assert_non_null(strstr(error.text, "28-byte"));
    assert_int_equal(decode(&bytes, UINT64_MAX, &header), RBWP_E_VERSION);
    set_le(&bytes, 28, 5000, 8);
    assert_int_equal(decode(&bytes, 4000, &header), RBWP_OK);
    bytes_free(&bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_are_where_the_spec_says),
        cmocka_unit_test(short_and_foreign_files_are_refused),
        cmocka_unit_test(versions_and_flags_are_refused_or_ignored),
        cmocka_unit_test(older_layout_is_recognised),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
