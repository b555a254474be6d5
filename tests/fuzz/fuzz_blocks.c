/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Round trip: records made of the input are written at any level and block size and read back
 * equal, and the verifier finds nothing to say of the file but what the records themselves break.
 * The recorder's way into a block (block_cursor_put) leaves the same bytes as everybody's.
 */
#include "fuzz.h"
#include "rbwp_verify.h"
#include "rbwp_writer.h"
#include "rules.h"
#include "sealed_block.h"

#include <stdlib.h>
#include <string.h>

#define RECORDS_MAX 65536
#define THREAD 7

/* Steps of every size, so that each form of time is met; now and then any time at all. */
static struct rbwp_record take_record(struct supply *supply, int64_t before_ns)
{
    static const uint8_t kinds[] = {RBWP_COARSE_BEGIN, RBWP_COARSE_END, RBWP_FINE_BEGIN,
                                    RBWP_FINE_END};
    uint8_t how = (uint8_t)supply_number(supply, 1);
    struct rbwp_record record = {.kind = how < 8 ? RBWP_GPU_WORK : kinds[how & 3]};
    uint64_t step = supply_number(supply, how >> 2 & 7);
    record.time_ns = how & 0x20 ? (int64_t)step : (int64_t)((uint64_t)before_ns + step);
    if (record.kind == RBWP_COARSE_BEGIN || record.kind == RBWP_GPU_WORK)
        record.slot = (uint8_t)supply_number(supply, 1);
    if (record.kind == RBWP_FINE_BEGIN)
        record.sub_item = (uint16_t)supply_number(supply, 2);
    if (record.kind == RBWP_GPU_WORK) {
        record.proc_id = supply_number(supply, 8);
        record.start_ns = (int64_t)supply_number(supply, 8);
        record.stop_ns = (int64_t)supply_number(supply, 8);
    }
    return record;
}

struct recorded {
    struct rbwp_record *records;
    size_t count;
};

/* The same records by both ways. */
struct twins {
    struct rbwp_block_encoder *plain, *quick;
};

static void seal(const struct twins *twins, struct rbwp_writer *writer, uint32_t sequence)
{
    struct rbwp_sealed_block block, quick;
    enum rbwp_status status = rbwp_block_encoder_seal(twins->plain, THREAD, sequence, &block);
    REQUIRE(rbwp_block_encoder_seal(twins->quick, THREAD, sequence, &quick) == status);
    if (status != RBWP_OK) {
        REQUIRE(status == RBWP_END);
        return;
    }
    REQUIRE(quick.bytes_count == block.bytes_count && quick.records == block.records &&
            quick.first_ns == block.first_ns && quick.last_ns == block.last_ns &&
            memcmp(quick.bytes, block.bytes, block.bytes_count) == 0);
    REQUIRE(rbwp_writer_add_block(writer, &block) == RBWP_OK);
}

static enum rbwp_status add_quickly(struct rbwp_block_encoder *encoder,
                                    const struct rbwp_record *record)
{
    struct block_cursor cursor;
    bool begin = record->kind == RBWP_COARSE_BEGIN, put = record->kind != RBWP_GPU_WORK;
    unsigned payload = begin ? 1 : record->kind == RBWP_FINE_BEGIN ? 2 : 0;
    block_cursor_open(encoder, &cursor);
    put = put && block_cursor_put(&cursor, record->time_ns, record->kind, payload,
                                  begin ? record->slot : record->sub_item);
    block_cursor_close(&cursor, encoder);
    return put ? RBWP_OK : rbwp_block_encoder_add(encoder, record);
}

static enum rbwp_status add(const struct twins *twins, const struct rbwp_record *record)
{
    enum rbwp_status status = rbwp_block_encoder_add(twins->plain, record);
    REQUIRE(add_quickly(twins->quick, record) == status);
    return status;
}

static struct recorded write_records(struct supply *supply, const struct twins *twins,
                                     struct rbwp_writer *writer)
{
    struct recorded recorded = {.records = malloc(RECORDS_MAX * sizeof(struct rbwp_record))};
    uint32_t sequence = 0;
    int64_t time_ns = 1700000000000000000;
    REQUIRE(recorded.records);
    while (supply->left && recorded.count < RECORDS_MAX) {
        struct rbwp_record record = take_record(supply, time_ns);
        time_ns = record.time_ns;
        enum rbwp_status status = add(twins, &record);
        if (status == RBWP_AGAIN) {
            seal(twins, writer, sequence++);
            status = add(twins, &record);
        }
        REQUIRE(status == RBWP_OK);
        recorded.records[recorded.count++] = record;
    }
    seal(twins, writer, sequence);
    return recorded;
}

static void same_record(const struct rbwp_record *read, const struct rbwp_record *written)
{
    REQUIRE(((uint64_t)(read->time_ns ^ written->time_ns) & TIME_MASK) == 0);
    REQUIRE(read->kind == written->kind && read->slot == written->slot);
    REQUIRE(read->sub_item == written->sub_item && read->proc_id == written->proc_id);
    REQUIRE(read->start_ns == written->start_ns && read->stop_ns == written->stop_ns);
}

static void read_back(const struct memory *file, const struct recorded *recorded)
{
    struct rbwp_reader *reader;
    struct rbwp_block block;
    enum rbwp_status status;
    size_t count = 0;
    REQUIRE(rbwp_reader_open_memory(file->bytes, file->size, NULL, &reader, NULL) == RBWP_OK);
    while ((status = rbwp_reader_next_block(reader, &block)) == RBWP_OK) {
        struct rbwp_record_iterator iterator;
        struct rbwp_record record;
        rbwp_record_first(&block, &iterator);
        while (rbwp_record_next(&iterator, &record)) {
            REQUIRE(count < recorded->count);
            same_record(&record, &recorded->records[count++]);
        }
    }
    REQUIRE(status == RBWP_END && count == recorded->count);
    REQUIRE(rbwp_reader_problem_count(reader) == 0);
    rbwp_reader_close(reader);
}

static bool only_turns(void *context, const struct rbwp_problem *problem)
{
    (void)context;
    REQUIRE(problem->error.rule == RULE_TURNS); /* the records do as they like */
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint32_t sizes[] = {64, 65, 97, 128, 1000, 4096, 65536, 0};
    struct supply supply = {data, size};
    uint8_t how = (uint8_t)supply_number(&supply, 1);
    int level = (int)(supply_number(&supply, 1) % 11) - 1;
    struct memory file = {0};
    struct rbwp_sink sink = memory_sink(&file);
    struct twins twins;
    struct rbwp_writer *writer;
    struct rbwp_verify_result result;
    if (size > INPUT_BYTES_MAX)
        return 0;
    REQUIRE(rbwp_block_encoder_new(sizes[how & 7], level, &twins.plain) == RBWP_OK);
    REQUIRE(rbwp_block_encoder_new(sizes[how & 7], level, &twins.quick) == RBWP_OK);
    REQUIRE(rbwp_writer_new(&sink, 3, 0, true, &writer) == RBWP_OK);
    struct recorded recorded = write_records(&supply, &twins, writer);
    if (how & 8)
        REQUIRE(rbwp_writer_add_opaque(writer, "xfuz", data, (uint32_t)size) == RBWP_OK);
    struct rbwp_work_item_name name = {.slot = how, .name = "name", .name_bytes = how >> 6};
    struct rbwp_trailer trailer = {.level = 2};
    REQUIRE(rbwp_writer_finish(writer, &name, 1, NULL, 0, how & 16 ? &trailer : NULL) == RBWP_OK);
    read_back(&file, &recorded);
    REQUIRE(rbwp_verify_memory(file.bytes, file.size, only_turns, NULL, &result, NULL) == RBWP_OK);
    REQUIRE(result.records == recorded.count && result.finalised && !result.cut);
    rbwp_writer_free(writer);
    rbwp_block_encoder_free(twins.plain);
    rbwp_block_encoder_free(twins.quick);
    free(recorded.records);
    free(file.bytes);
    return 0;
}
