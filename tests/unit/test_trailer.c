/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of trailer.c: every value there and back, growth, and every rule from R51 to R59. */
#include "format_support.h"
#include "trailer.h"
#include "unit.h"

#include <stdlib.h>
#include <string.h>

static struct rbwp_error error;

static const struct rbwp_thread_info threads[] = {
    {UINT64_MAX, 4711, -5, INT64_MAX, 12, 6, "worker"},
    {2, 0, 3, 0, UINT64_MAX, 0, ""},
};
static const struct rbwp_loss losses[] = {{9, 3, 17, INT64_C(1) << 50, -7}};
static const struct rbwp_clock_sample samples[] = {{1, -2, 3, -4}, {5, 6, 7, 8}, {9, 10, 11, 12}};
static const struct rbwp_slot_use slot_uses[] = {{255, -1, 0, 3, "a\0b"}};
static const struct rbwp_left left[] = {{RBWP_LEFT_THREADS, UINT64_C(1) << 40, 5}, {99, 1, 0}};
static const struct rbwp_index_range ranges[] = {{36, 55, 4, -9, 9, 77, 1, 0xe49630ca}};
static const struct rbwp_job_fact job_facts[] = {
    {RBWP_JOB_ID, 0, 5, "12\0[3]"}, {RBWP_JOB_RANK, INT64_MIN, 0, ""}, {99, 7, 1, "x"}};
static const struct rbwp_node_clock node_clocks[] = {{-1, INT64_MIN, UINT64_MAX, UINT32_MAX},
                                                     {INT64_MAX, 2, 3, 0}};
static const struct rbwp_kept newest = {
    -3,    UINT64_C(1) << 63, 7, UINT64_MAX, 64 << 20, UINT64_C(1) << 40, RBWP_KEPT_RULE, 9, 4,
    "slow"};
static const struct rbwp_section sections[] = {
    {"xQED", 3, "a\0b"}, {"xQED", 0, ""}, {"Q\n\0\xff", 1, "z"}};
static const struct trailer_tables tables = {91, 18, 1, 2, 0x8df9ca61, true};

static struct rbwp_trailer full_trailer(void)
{
    return (struct rbwp_trailer){
        .host = "node17",
        .host_bytes = 6,
        .command = "bgpack\0-r",
        .command_bytes = 9,
        .writer = "librbwp",
        .writer_bytes = 7,
        .process_id = UINT64_C(1) << 40,
        .nodes = 3,
        .level = 2,
        .start_ns = -1,
        .stop_ns = INT64_MAX,
        .clock_kind = RBWP_CLOCK_TSC,
        .clock_flags = RBWP_CLOCK_DOUBTED | 64u,
        .clock_hz = 2300000001,
        .clock_error_ns = 77,
        .cap_bytes = UINT64_C(1) << 30,
        .peak_bytes = 12345,
        .discarded = 6,
        .threads = threads,
        .losses = losses,
        .samples = samples,
        .slot_uses = slot_uses,
        .left = left,
        .index = ranges,
        .sections = sections,
        .section_count = 3,
        .thread_count = 2,
        .loss_count = 1,
        .sample_count = 3,
        .slot_use_count = 1,
        .left_count = 2,
        .index_count = 1,
        .job_facts = job_facts,
        .node_clocks = node_clocks,
        .job_fact_count = 3,
        .node_clock_count = 2,
        .kept = &newest,
        .kept_count = 1,
    };
}

/* A trailer as bytes, with its footer; it begins at file offset 109. */
static struct bytes encode_full(void)
{
    struct buffer buffer = {0};
    struct bytes bytes = {0};
    struct rbwp_trailer values = full_trailer();
    assert_int_equal(trailer_encode(&values, &tables, 109, &buffer), RBWP_OK);
    put(&bytes, buffer.bytes, buffer.count);
    buffer_free(&buffer);
    return bytes;
}

/* Puts size and sum of the sections right, then decodes. The memory of the sections is exact. */
static enum rbwp_status decode_with_sum(struct bytes *bytes, struct trailer *trailer)
{
    size_t size = bytes->size - FOOTER_BYTES;
    struct footer footer;
    set_le(bytes, size, 109, 8);
    set_le(bytes, size + 8, size, 8);
    set_le(bytes, size + 16, slow_crc32c(bytes->data, size), 4);
    assert_int_equal(footer_decode(bytes->data + size, &footer), RBWP_OK);
    assert_int_equal(footer_check(&footer, 109 + size, &error), RBWP_OK);
    uint8_t *exact = malloc(size + !size);
    memcpy(exact, bytes->data, size);
    enum rbwp_status status = trailer_decode(exact, &footer, trailer, &error);
    if (status == RBWP_OK) { /* strings point into it: give them memory that stays */
        trailer_free(trailer);
        status = trailer_decode(bytes->data, &footer, trailer, &error);
    }
    free(exact);
    return status;
}

/* One section with its header. */
static void put_section(struct bytes *bytes, const char *tag, uint32_t flags,
                        const struct bytes *payload)
{
    put(bytes, tag, 4);
    put_le(bytes, flags, 4);
    put_le(bytes, payload->size, 8);
    put(bytes, payload->data, payload->size);
}

static void put_footer(struct bytes *bytes)
{
    put_le(bytes, 0, 8);
    put_le(bytes, 0, 8);
    put_le(bytes, 0, 8);
    put(bytes, "RBWP.END", 8);
}

/* Sections of other tags: the same, in the same order. */
static void assert_same_sections(const struct rbwp_trailer *got,
                                 const struct rbwp_trailer *expected)
{
    assert_int_equal(got->section_count, expected->section_count);
    for (uint32_t i = 0; i < got->section_count; i++) {
        assert_memory_equal(got->sections[i].tag, expected->sections[i].tag, 4);
        assert_int_equal(got->sections[i].bytes, expected->sections[i].bytes);
        assert_memory_equal(got->sections[i].data, expected->sections[i].data,
                            expected->sections[i].bytes);
    }
}

/* Guards: every value of struct rbwp_trailer comes back, names with zero bytes included, and so do
 * sections that the format does not name. */
static void all_values_round_trip(void **state)
{
    (void)state;
    struct bytes bytes = encode_full();
    struct trailer trailer;
    struct rbwp_trailer expected = full_trailer();
    assert_int_equal(decode_with_sum(&bytes, &trailer), RBWP_OK);
    struct rbwp_trailer *got = &trailer.values;
    assert_int_equal(got->host_bytes, 6);
    assert_memory_equal(got->host, "node17", 6);
    assert_int_equal(got->command_bytes, 9);
    assert_memory_equal(got->command, "bgpack\0-r", 9);
    assert_memory_equal(got->writer, "librbwp", 7);
    assert_int_equal(got->process_id, expected.process_id);
    assert_int_equal(got->nodes, 3);
    assert_int_equal(got->level, 2);
    assert_int_equal(got->start_ns, -1);
    assert_int_equal(got->stop_ns, INT64_MAX);
    assert_int_equal(got->clock_kind, RBWP_CLOCK_TSC);
    assert_int_equal(got->clock_flags, RBWP_CLOCK_DOUBTED | 64u);
    assert_int_equal(got->clock_hz, 2300000001);
    assert_int_equal(got->clock_error_ns, 77);
    assert_int_equal(got->cap_bytes, UINT64_C(1) << 30);
    assert_int_equal(got->peak_bytes, 12345);
    assert_int_equal(got->discarded, 6);
    assert_int_equal(got->thread_count, 2);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(got->threads[i].thread_id, threads[i].thread_id);
        assert_int_equal(got->threads[i].os_id, threads[i].os_id);
        assert_int_equal(got->threads[i].attached_ns, threads[i].attached_ns);
        assert_int_equal(got->threads[i].detached_ns, threads[i].detached_ns);
        assert_int_equal(got->threads[i].records, threads[i].records);
        assert_int_equal(got->threads[i].name_bytes, threads[i].name_bytes);
    }
    assert_memory_equal(got->threads[0].name, "worker", 6);
    assert_int_equal(got->loss_count, 1);
    assert_int_equal(got->losses[0].thread_id, 9);
    assert_int_equal(got->losses[0].cause, 3);
    assert_int_equal(got->losses[0].count, 17);
    assert_int_equal(got->losses[0].first_ns, INT64_C(1) << 50);
    assert_int_equal(got->losses[0].last_ns, -7);
    assert_int_equal(got->sample_count, 3);
    assert_memory_equal(got->samples, samples, sizeof(samples));
    assert_int_equal(got->slot_use_count, 1);
    assert_int_equal(got->slot_uses[0].slot, 255);
    assert_int_equal(got->slot_uses[0].from_ns, -1);
    assert_memory_equal(got->slot_uses[0].name, "a\0b", 3);
    assert_int_equal(got->left_count, 2);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(got->left[i].kind, left[i].kind);
        assert_int_equal(got->left[i].entries, left[i].entries);
        assert_int_equal(got->left[i].records, left[i].records);
    }
    assert_int_equal(got->index_count, 1);
    assert_memory_equal(got->index, ranges, sizeof(ranges));
    assert_int_equal(got->job_fact_count, 3);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(got->job_facts[i].what, job_facts[i].what);
        assert_true(got->job_facts[i].number == job_facts[i].number);
        assert_int_equal(got->job_facts[i].text_bytes, job_facts[i].text_bytes);
        assert_memory_equal(got->job_facts[i].text, job_facts[i].text, job_facts[i].text_bytes);
    }
    assert_int_equal(got->node_clock_count, 2);
    for (unsigned i = 0; i < 2; i++) {
        assert_true(got->node_clocks[i].time_ns == node_clocks[i].time_ns);
        assert_true(got->node_clocks[i].offset_ns == node_clocks[i].offset_ns);
        assert_true(got->node_clocks[i].bound_ns == node_clocks[i].bound_ns);
        assert_int_equal(got->node_clocks[i].reference, node_clocks[i].reference);
    }
    assert_int_equal(got->kept_count, 1);
    assert_int_equal(got->kept->from_ns, -3);
    assert_int_equal(got->kept->dropped_records, newest.dropped_records);
    assert_int_equal(got->kept->dropped_rows, 7);
    assert_int_equal(got->kept->dropped_bytes, newest.dropped_bytes);
    assert_int_equal(got->kept->keep_bytes, 64 << 20);
    assert_int_equal(got->kept->keep_ns, newest.keep_ns);
    assert_int_equal(got->kept->why, RBWP_KEPT_RULE);
    assert_int_equal(got->kept->part, 9);
    assert_int_equal(got->kept->text_bytes, 4);
    assert_memory_equal(got->kept->text, "slow", 4);
    assert_same_sections(got, &expected);
    assert_memory_equal(&trailer.tables, &tables, sizeof(tables));
    trailer_free(&trailer);
    bytes_free(&bytes);
}

/* Guards: the layout is that of SPEC.md: its example decodes to the values its table lists. */
static void example_of_the_spec_decodes(void **state)
{
    (void)state;
    struct bytes file = load_example();
    struct footer footer;
    struct trailer trailer;
    assert_int_equal(file.size, 289);
    assert_int_equal(footer_decode(file.data + 257, &footer), RBWP_OK);
    assert_int_equal(footer.offset, 109);
    assert_int_equal(footer.bytes, 148);
    assert_int_equal(footer.crc32c, 0x4ab22272);
    assert_int_equal(footer_check(&footer, 257, &error), RBWP_OK);
    assert_int_equal(trailer_decode(file.data + 109, &footer, &trailer, &error), RBWP_OK);
    assert_int_equal(trailer.values.writer_bytes, 4);
    assert_memory_equal(trailer.values.writer, "demo", 4);
    assert_int_equal(trailer.tables.offset, 91);
    assert_int_equal(trailer.tables.crc32c, 0x8df9ca61);
    assert_int_equal(trailer.values.index_count, 1);
    assert_int_equal(trailer.values.index[0].crc32c, 0xe49630ca);
    assert_int_equal(trailer.values.index[0].last_ns, INT64_C(1700000000000065785));
    trailer_free(&trailer);
    bytes_free(&file);
}

/* Guards: a later version may lengthen sections and entries and add sections; what we know of them
 * is read (growth is why entries carry their size). */
static void later_versions_are_read(void **state)
{
    (void)state;
    struct bytes bytes = {0}, info = {0}, samples_of_40 = {0}, unknown = {0};
    for (unsigned i = 0; i < 8; i++)
        put_le(&info, i + 1, 8);
    put_le(&samples_of_40, 40, 4);
    put_le(&samples_of_40, 2, 4);
    for (unsigned i = 0; i < 10; i++)
        put_le(&samples_of_40, i, 8);
    put(&unknown, "??", 2);
    put_section(&bytes, "SAMP", 0xfffe, &samples_of_40); /* bits that a reader ignores */
    put_section(&bytes, "ZZZZ", 0, &unknown);
    put_section(&bytes, "ZZZZ", 0, &unknown);
    put_section(&bytes, "INFO", 1, &info); /* must understand, and is */
    put_footer(&bytes);
    struct trailer trailer;
    assert_int_equal(decode_with_sum(&bytes, &trailer), RBWP_OK);
    assert_int_equal(trailer.values.process_id, 1);
    assert_int_equal(trailer.values.discarded, 7);
    assert_int_equal(trailer.values.sample_count, 2);
    assert_int_equal(trailer.values.samples[1].ticks, 5);
    assert_int_equal(trailer.values.samples[1].realtime_ns, 8);
    assert_null(trailer.values.threads);
    trailer_free(&trailer);
    bytes_free(&bytes);
    bytes_free(&info);
    bytes_free(&samples_of_40);
    bytes_free(&unknown);
}

/* Guards: nobody writes a section past the fields that are there for it: it would be there twice.
 */
static void known_tags_are_no_sections(void **state)
{
    static const char tags[][5] = {"INFO", "TABL", "WRIT", "THRD", "INDX"};
    (void)state;
    for (unsigned i = 0; i < sizeof tags / sizeof tags[0]; i++) {
        struct buffer buffer = {0};
        struct rbwp_section known = {.data = ""};
        memcpy(known.tag, tags[i], sizeof known.tag);
        struct rbwp_trailer values = {.sections = &known, .section_count = 1};
        assert_int_equal(trailer_encode(&values, &tables, 109, &buffer), RBWP_E_INVALID);
        buffer_free(&buffer);
    }
}

/* A trailer of one section, decoded; the rule it breaks. */
static unsigned rule_of(const char *tag, uint32_t flags, const struct bytes *payload,
                        enum rbwp_status expected)
{
    struct bytes bytes = {0};
    struct trailer trailer;
    put_section(&bytes, tag, flags, payload);
    put_footer(&bytes);
    assert_int_equal(decode_with_sum(&bytes, &trailer), expected);
    bytes_free(&bytes);
    return error.rule;
}

/* Guards: R54: unknown and must be understood; and the flags that are refused with any tag. */
static void parts_that_must_be_understood_are_refused(void **state)
{
    (void)state;
    struct bytes none = {0};
    assert_int_equal(rule_of("ZZZZ", 1, &none, RBWP_E_VERSION), 54);
    for (unsigned bit = 16; bit < 32; bit++) {
        assert_int_equal(rule_of("ZZZZ", UINT32_C(1) << bit, &none, RBWP_E_VERSION), 54);
        assert_int_equal(rule_of("HOST", UINT32_C(1) << bit, &none, RBWP_E_VERSION), 54);
    }
}

/* Guards: R57: fixed sections one byte too short. */
static void short_sections_are_refused(void **state)
{
    (void)state;
    struct bytes payload = {0};
    put(&payload, (char[56]){0}, 56);
    payload.size = 55;
    assert_int_equal(rule_of("INFO", 0, &payload, RBWP_E_CORRUPT), 57);
    payload.size = 23;
    assert_int_equal(rule_of("CLCK", 0, &payload, RBWP_E_CORRUPT), 57);
    payload.size = 31;
    assert_int_equal(rule_of("TABL", 0, &payload, RBWP_E_CORRUPT), 57);
    bytes_free(&payload);
}

static unsigned rule_of_table(const char *tag, uint32_t entry_bytes, uint32_t count, size_t bytes)
{
    struct bytes payload = {0};
    put_le(&payload, entry_bytes, 4);
    put_le(&payload, count, 4);
    for (size_t i = 0; i < bytes; i++)
        put_le(&payload, 0, 1);
    unsigned rule = rule_of(tag, 0, &payload, RBWP_E_CORRUPT);
    bytes_free(&payload);
    return rule;
}

/* Guards: R58 and R59: entries too short, too many, wrapping sums, names too long or left over. */
static void lying_tables_are_refused(void **state)
{
    (void)state;
    struct bytes seven = {0};
    put(&seven, "1234567", 7);
    assert_int_equal(rule_of("SAMP", 0, &seven, RBWP_E_CORRUPT), 58);
    assert_int_equal(rule_of_table("SAMP", 31, 1, 31), 58);
    assert_int_equal(rule_of_table("SAMP", 32, 2, 63), 58);
    assert_int_equal(rule_of_table("SAMP", 0, UINT32_MAX, 0), 58);
    assert_int_equal(rule_of_table("SAMP", UINT32_MAX, UINT32_MAX, 100), 58);
    assert_int_equal(rule_of_table("SAMP", 32, 1, 33), 59);
    assert_int_equal(rule_of_table("THRD", 48, 1, 49), 59);
    bytes_free(&seven);

    struct bytes thread = {0};
    put_le(&thread, 48, 4);
    put_le(&thread, 1, 4);
    put(&thread, (char[40]){0}, 40);
    put_le(&thread, 3, 8); /* a name of 3 bytes, and 2 are there */
    put(&thread, "ab", 2);
    assert_int_equal(rule_of("THRD", 0, &thread, RBWP_E_CORRUPT), 59);
    bytes_free(&thread);
}

/* Guards: R51, R55 and R56: any changed byte, any cut, and a section that is there twice. */
static void damaged_trailers_are_refused(void **state)
{
    (void)state;
    struct bytes bytes = encode_full(), twice = {0}, none = {0};
    struct trailer trailer;
    struct footer footer;
    size_t size = bytes.size - FOOTER_BYTES;
    assert_int_equal(footer_decode(bytes.data + size, &footer), RBWP_OK);
    for (size_t i = 0; i < size; i += 3) {
        bytes.data[i] ^= 4;
        assert_int_equal(trailer_decode(bytes.data, &footer, &trailer, &error), RBWP_E_CORRUPT);
        assert_int_equal(error.rule, 51);
        bytes.data[i] ^= 4;
    }
    for (size_t kept = 1; kept < 16; kept++) { /* INFO's header, cut */
        struct bytes cut = {0};
        put(&cut, bytes.data, kept);
        put_footer(&cut);
        assert_int_equal(decode_with_sum(&cut, &trailer), RBWP_E_CORRUPT);
        assert_int_equal(error.rule, 55);
        bytes_free(&cut);
    }
    put_section(&twice, "WRIT", 0, &none);
    put_section(&twice, "WRIT", 0, &none);
    put_footer(&twice);
    assert_int_equal(decode_with_sum(&twice, &trailer), RBWP_E_CORRUPT);
    assert_int_equal(error.rule, 56);
    bytes_free(&twice);
    bytes_free(&bytes);
}

/* Guards: R50, R52, R53 and the end magic. */
static void footers_are_checked(void **state)
{
    (void)state;
    struct footer footer = {.offset = 109, .bytes = 50};
    assert_int_equal(footer_check(&footer, 159, &error), RBWP_OK);
    assert_int_equal(footer_check(&footer, 160, &error), RBWP_E_CORRUPT);
    assert_int_equal(error.rule, 50);
    footer.offset = UINT64_MAX - 10; /* offset + bytes wraps to what fits */
    footer.bytes = 170;
    assert_int_equal(footer_check(&footer, 159, &error), RBWP_E_CORRUPT);
    footer = (struct footer){.offset = 0, .bytes = (64u << 20) + 1};
    assert_int_equal(footer_check(&footer, footer.bytes, &error), RBWP_E_LIMIT);
    assert_int_equal(error.rule, 52);
    for (unsigned bit = 0; bit < 32; bit++) {
        footer = (struct footer){.offset = 9, .bytes = 50, .flags = UINT32_C(1) << bit};
        assert_int_equal(footer_check(&footer, 59, &error), bit < 16 ? RBWP_OK : RBWP_E_VERSION);
    }
    assert_int_equal(error.rule, 53);
    struct bytes bytes = encode_full();
    bytes.data[bytes.size - 1] ^= 1;
    assert_int_equal(footer_decode(bytes.data + bytes.size - FOOTER_BYTES, &footer), RBWP_END);
    bytes_free(&bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_values_round_trip),
        cmocka_unit_test(example_of_the_spec_decodes),
        cmocka_unit_test(later_versions_are_read),
        cmocka_unit_test(parts_that_must_be_understood_are_refused),
        cmocka_unit_test(short_sections_are_refused),
        cmocka_unit_test(known_tags_are_no_sections),
        cmocka_unit_test(lying_tables_are_refused),
        cmocka_unit_test(damaged_trailers_are_refused),
        cmocka_unit_test(footers_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
