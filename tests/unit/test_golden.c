/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The golden files, recorded and decoded by others: every key of NAME.json is
 * what our reader finds in NAME.bin, read from memory, as a file and as a
 * stream. And they hold against the verifier.
 */
#include "format_support.h"
#include "json_tree.h"
#include "rbwp_verify.h"
#include "unit.h"

#include <stdlib.h>
#include <string.h>

static struct json *load_json(const char *name)
{
    char path[256];
    snprintf(path, sizeof(path), "tests/golden/%s.json", name);
    struct bytes text = load(path);
    text.data[text.size] = 0;
    struct json *json = json_parse((const char *)text.data, text.size);
    bytes_free(&text);
    return json;
}

static void compare_header(const struct rbwp_file_header *header, const struct json *json)
{
    assert_string_equal(json_text(json, "magic"), RBWP_MAGIC);
    assert_int_equal(header->version, json_u64(json, "version"));
    assert_int_equal(header->flags, json_u64(json, "flags"));
    assert_int_equal(header->node, json_u64(json, "node_id"));
    assert_int_equal(header->zero_time_ns, json_i64(json, "zero_time"));
    assert_int_equal(header->work_items, json_u64(json, "work_item_count"));
    assert_int_equal(header->sub_items, json_u64(json, "sub_item_count"));
    assert_int_equal(header->descriptor_offset, json_u64(json, "descriptor_offset"));
    assert_int_equal(json->count, 8);
}

static void compare_name(const char *name, unsigned name_bytes, const char *expected)
{
    assert_int_equal(name_bytes, strlen(expected));
    assert_memory_equal(name, expected, name_bytes);
}

static void compare_tables(const struct rbwp_tables *tables, const struct json *json)
{
    const struct json *work_items = json_must_get(json, "work_items");
    const struct json *sub_items = json_must_get(json, "sub_items");
    assert_int_equal(tables->work_item_count, work_items->count);
    for (uint32_t i = 0; i < work_items->count; i++) {
        const struct rbwp_work_item_name *item = &tables->work_items[i];
        assert_int_equal(item->slot, json_u64(&work_items->children[i], "slot"));
        compare_name(item->name, item->name_bytes, json_text(&work_items->children[i], "name"));
        assert_int_equal(work_items->children[i].count, 2);
    }
    assert_int_equal(tables->sub_item_count, sub_items->count);
    for (uint32_t i = 0; i < sub_items->count; i++) {
        const struct rbwp_sub_item_name *item = &tables->sub_items[i];
        const struct json *expected = &sub_items->children[i];
        assert_int_equal(item->id, json_u64(expected, "id"));
        assert_int_equal(item->type, json_u64(expected, "type"));
        assert_string_equal(rbwp_sub_item_type_name(item->type), json_text(expected, "type_name"));
        compare_name(item->name, item->name_bytes, json_text(expected, "name"));
        assert_int_equal(expected->count, 4);
    }
}

static void compare_record(const struct rbwp_record *record, const struct json *json)
{
    size_t keys = 4;
    assert_int_equal(record->time_ns, json_i64(json, "ts"));
    assert_int_equal(record->time_bytes, json_u64(json, "ts_bytes"));
    assert_int_equal(record->offset, json_u64(json, "offset"));
    assert_string_equal(rbwp_kind_name(record->kind), json_text(json, "type"));
    if (record->kind == RBWP_COARSE_BEGIN || record->kind == RBWP_GPU_WORK) {
        assert_int_equal(record->slot, json_u64(json, "slot"));
        keys++;
    }
    if (record->kind == RBWP_FINE_BEGIN) {
        assert_int_equal(record->sub_item, json_u64(json, "sub_item"));
        keys++;
    }
    if (record->kind == RBWP_GPU_WORK) {
        assert_int_equal(record->proc_id, json_u64(json, "proc_id"));
        assert_int_equal(record->start_ns, json_i64(json, "start"));
        assert_int_equal(record->stop_ns, json_i64(json, "stop"));
        keys += 3;
    }
    assert_int_equal(json->count, keys);
}

static void compare_block_header(const struct rbwp_block_header *header, uint64_t offset,
                                 const struct json *json)
{
    assert_int_equal(offset, json_u64(json, "offset"));
    assert_int_equal(header->thread_id, json_u64(json, "thread_id"));
    assert_int_equal(header->sequence, json_u64(json, "sequence"));
    assert_int_equal(header->records, json_u64(json, "record_count"));
    assert_int_equal(header->base_time_ns, json_i64(json, "base_timestamp"));
    assert_int_equal(header->data_bytes, json_u64(json, "data_size"));
    assert_int_equal(header->stored_bytes, json_u64(json, "compressed_size"));
}

static void compare_block(const struct rbwp_block *block, const struct json *json)
{
    compare_block_header(&block->header, block->offset, json);
    const struct json *records = json_get(json, "records");
    if (!records) /* the list of good blocks of an invalid file has none */
        return;
    struct rbwp_record_iterator iterator;
    struct rbwp_record record;
    rbwp_record_first(block, &iterator);
    for (size_t i = 0; i < records->count; i++) {
        assert_true(rbwp_record_next(&iterator, &record));
        compare_record(&record, &records->children[i]);
    }
    assert_false(rbwp_record_next(&iterator, &record));
}

static void compare_cut(const struct rbwp_reader *reader, const struct json *cut)
{
    if (cut->type == 'n') {
        assert_int_equal(rbwp_reader_problem_count(reader), 0);
        return;
    }
    assert_int_equal(rbwp_reader_problem_count(reader), 1);
    const struct rbwp_problem *problem = rbwp_reader_problem(reader, 0);
    assert_true(problem->cut_tail);
    assert_true(problem->has_block);
    assert_int_equal(problem->skipped_bytes, json_u64(cut, "bytes"));
    compare_block_header(&problem->block, problem->error.offset, cut);
}

static void compare_first_bad(const struct rbwp_reader *reader, const struct json *bad)
{
    assert_true(rbwp_reader_problem_count(reader) >= 1);
    const struct rbwp_problem *problem = rbwp_reader_problem(reader, 0);
    assert_int_equal(problem->error.offset, json_u64(bad, "offset"));
    assert_int_equal(problem->error.rule, 17);
    unsigned record, kind;
    char expected[80];
    assert_int_equal(
        sscanf(json_text(bad, "reason"), "record %u has unknown type 0x%x", &record, &kind), 2);
    snprintf(expected, sizeof(expected), "record %u has unknown kind 0x%02x", record, kind);
    assert_non_null(strstr(problem->error.text, expected));
    assert_false(problem->cut_tail);
}

static void compare_golden(const char *name, enum way way)
{
    struct bytes file = load_golden(name);
    struct json *json = load_json(name);
    struct opened opened = open_way(&file, way, NULL);
    assert_int_equal(opened.status, RBWP_OK);
    const struct rbwp_file_header *header = rbwp_reader_header(opened.reader);
    compare_header(header, json_must_get(json, "header"));

    bool invalid = json_get(json, "valid");
    const struct json *blocks = json_must_get(json, invalid ? "good_blocks_before" : "blocks");
    uint64_t records = 0;
    struct rbwp_block block;
    for (size_t i = 0; i < blocks->count; i++) {
        assert_int_equal(rbwp_reader_next_block(opened.reader, &block), RBWP_OK);
        assert_int_equal(block.index, i);
        compare_block(&block, &blocks->children[i]);
        records += block.header.records;
    }
    assert_int_equal(rbwp_reader_next_block(opened.reader, &block), RBWP_END);
    assert_int_equal(rbwp_reader_next_block(opened.reader, &block), RBWP_END);
    assert_int_equal(rbwp_reader_size(opened.reader), json_u64(json, "file_size"));
    compare_tables(rbwp_reader_tables(opened.reader), json);
    if (invalid) {
        compare_first_bad(opened.reader, json_must_get(json, "first_bad_block"));
    } else {
        assert_int_equal(blocks->count, json_u64(json, "block_count"));
        assert_int_equal(records, json_u64(json, "record_count"));
        assert_int_equal(header->descriptor_offset != 0,
                         json_must_get(json, "finalized")->type == 't');
        compare_cut(opened.reader, json_must_get(json, "incomplete_tail"));
    }
    assert_null(rbwp_reader_trailer(opened.reader));
    close_way(&opened);
    json_free(json);
    bytes_free(&file);
}

/* Guards: every decoded field, for every golden file, however it is read. */
static void each_way_equals_json(void **state)
{
    (void)state;
    static const enum way ways[] = {BY_MEMORY, BY_FILE, BY_STREAM};
    for (size_t way = 0; way < sizeof ways / sizeof ways[0]; way++)
        for (size_t i = 0; i < golden_count; i++)
            compare_golden(golden_names[i], ways[way]);
}

/* Guards: no rule of SPEC.md is one that the upstream recorder breaks in good files. */
static void golden_files_keep_the_rules(void **state)
{
    (void)state;
    for (size_t i = 0; i < golden_count; i++) {
        struct bytes file = load_golden(golden_names[i]);
        struct rbwp_verify_result result;
        struct rbwp_error error;
        assert_int_equal(rbwp_verify_memory(file.data, file.size, NULL, NULL, &result, &error),
                         RBWP_OK);
        bool defect = !strncmp(golden_names[i], "defect", 6);
        bool cut = !strcmp(golden_names[i], "crash_cut_in_data");
        assert_int_equal(result.breaks != 0, defect);
        assert_int_equal(result.cut, cut);
        assert_int_equal(result.bytes, file.size);
        bytes_free(&file);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_way_equals_json),
        cmocka_unit_test(golden_files_keep_the_rules),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
