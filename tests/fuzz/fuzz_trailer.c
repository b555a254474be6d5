/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The trailer's sections behind a footer that is right: what decodes, encodes and decodes again to
 * the same. The input is the sections; its last bytes are also looked at as a footer.
 */
#include "crc32c.h"
#include "fuzz.h"
#include "rbwp_writer.h"
#include "trailer.h"

#include <stdlib.h>
#include <string.h>

#define OFFSET 36 /* of the first section, in a file */

static void footer_alone(const uint8_t *data, size_t size)
{
    struct footer footer;
    struct rbwp_error error;
    if (size >= FOOTER_BYTES && footer_decode(data + size - FOOTER_BYTES, &footer) == RBWP_OK &&
        footer_check(&footer, OFFSET + size - FOOTER_BYTES, &error) == RBWP_OK)
        REQUIRE(footer.offset + footer.bytes == OFFSET + size - FOOTER_BYTES);
}

static void same_bytes(const char *a, uint32_t a_bytes, const char *b, uint32_t b_bytes)
{
    REQUIRE(a_bytes == b_bytes && (a_bytes == 0 || memcmp(a, b, a_bytes) == 0));
}

static void same_threads(const struct rbwp_trailer *a, const struct rbwp_trailer *b)
{
    REQUIRE(a->thread_count == b->thread_count);
    for (uint32_t i = 0; i < a->thread_count; i++) {
        const struct rbwp_thread_info *one = &a->threads[i], *other = &b->threads[i];
        REQUIRE(one->thread_id == other->thread_id && one->os_id == other->os_id);
        REQUIRE(one->attached_ns == other->attached_ns && one->records == other->records);
        REQUIRE(one->detached_ns == other->detached_ns);
        same_bytes(one->name, one->name_bytes, other->name, other->name_bytes);
    }
}

static void same_slot_uses(const struct rbwp_trailer *a, const struct rbwp_trailer *b)
{
    REQUIRE(a->slot_use_count == b->slot_use_count);
    for (uint32_t i = 0; i < a->slot_use_count; i++) {
        const struct rbwp_slot_use *one = &a->slot_uses[i], *other = &b->slot_uses[i];
        REQUIRE(one->slot == other->slot && one->from_ns == other->from_ns);
        REQUIRE(one->to_ns == other->to_ns);
        same_bytes(one->name, one->name_bytes, other->name, other->name_bytes);
    }
}

static void same_job(const struct rbwp_trailer *a, const struct rbwp_trailer *b)
{
    REQUIRE(a->job_fact_count == b->job_fact_count && a->node_clock_count == b->node_clock_count);
    for (uint32_t i = 0; i < a->job_fact_count; i++) {
        const struct rbwp_job_fact *one = &a->job_facts[i], *other = &b->job_facts[i];
        REQUIRE(one->what == other->what && one->number == other->number);
        same_bytes(one->text, one->text_bytes, other->text, other->text_bytes);
    }
    for (uint32_t i = 0; i < a->node_clock_count; i++) {
        const struct rbwp_node_clock *one = &a->node_clocks[i], *other = &b->node_clocks[i];
        REQUIRE(one->time_ns == other->time_ns && one->offset_ns == other->offset_ns);
        REQUIRE(one->bound_ns == other->bound_ns && one->reference == other->reference);
    }
}

static void same_kept(const struct rbwp_trailer *a, const struct rbwp_trailer *b)
{
    REQUIRE(a->kept_count == b->kept_count);
    for (uint32_t i = 0; i < a->kept_count; i++) {
        const struct rbwp_kept *one = &a->kept[i], *other = &b->kept[i];
        REQUIRE(one->from_ns == other->from_ns && one->why == other->why);
        REQUIRE(one->dropped_records == other->dropped_records);
        REQUIRE(one->dropped_rows == other->dropped_rows && one->part == other->part);
        REQUIRE(one->dropped_bytes == other->dropped_bytes);
        REQUIRE(one->keep_bytes == other->keep_bytes && one->keep_ns == other->keep_ns);
        same_bytes(one->text, one->text_bytes, other->text, other->text_bytes);
    }
}

static void same_tables(const struct rbwp_trailer *a, const struct rbwp_trailer *b)
{
    same_threads(a, b);
    same_slot_uses(a, b);
    same_job(a, b);
    same_kept(a, b);
    REQUIRE(a->loss_count == b->loss_count && a->sample_count == b->sample_count);
    REQUIRE(a->index_count == b->index_count);
    for (uint32_t i = 0; i < a->loss_count; i++)
        REQUIRE(a->losses[i].thread_id == b->losses[i].thread_id &&
                a->losses[i].cause == b->losses[i].cause &&
                a->losses[i].count == b->losses[i].count &&
                a->losses[i].first_ns == b->losses[i].first_ns &&
                a->losses[i].last_ns == b->losses[i].last_ns);
    REQUIRE(a->left_count == b->left_count);
    for (uint32_t i = 0; i < a->left_count; i++)
        REQUIRE(a->left[i].kind == b->left[i].kind && a->left[i].entries == b->left[i].entries &&
                a->left[i].records == b->left[i].records);
    for (uint32_t i = 0; i < a->sample_count; i++)
        REQUIRE(!memcmp(&a->samples[i], &b->samples[i], sizeof a->samples[i]));
    for (uint32_t i = 0; i < a->index_count; i++)
        REQUIRE(!memcmp(&a->index[i], &b->index[i], sizeof a->index[i]));
    REQUIRE(a->table_range_count == b->table_range_count);
    for (uint32_t i = 0; i < a->table_range_count; i++)
        REQUIRE(!memcmp(&a->table_ranges[i], &b->table_ranges[i], sizeof a->table_ranges[i]));
    REQUIRE(a->section_count == b->section_count);
    for (uint32_t i = 0; i < a->section_count; i++) {
        REQUIRE(!memcmp(a->sections[i].tag, b->sections[i].tag, 4));
        same_bytes(a->sections[i].data, a->sections[i].bytes, b->sections[i].data,
                   b->sections[i].bytes);
    }
}

static void same_values(const struct trailer *left, const struct trailer *right)
{
    const struct rbwp_trailer *a = &left->values, *b = &right->values;
    same_bytes(a->host, a->host_bytes, b->host, b->host_bytes);
    same_bytes(a->command, a->command_bytes, b->command, b->command_bytes);
    same_bytes(a->writer, a->writer_bytes, b->writer, b->writer_bytes);
    REQUIRE(a->process_id == b->process_id && a->nodes == b->nodes && a->level == b->level);
    REQUIRE(a->start_ns == b->start_ns && a->stop_ns == b->stop_ns);
    REQUIRE(a->clock_kind == b->clock_kind && a->clock_hz == b->clock_hz);
    REQUIRE(a->clock_error_ns == b->clock_error_ns && a->cap_bytes == b->cap_bytes);
    REQUIRE(a->peak_bytes == b->peak_bytes && a->discarded == b->discarded);
    REQUIRE(left->tables.offset == right->tables.offset);
    REQUIRE(left->tables.bytes == right->tables.bytes);
    REQUIRE(left->tables.crc32c == right->tables.crc32c);
    same_tables(a, b);
}

static void encode_again(const struct trailer *trailer)
{
    struct buffer buffer = {0};
    struct rbwp_error error;
    struct footer footer;
    struct trailer again;
    REQUIRE(trailer_encode(&trailer->values, &trailer->tables, OFFSET, &buffer) == RBWP_OK);
    size_t end = buffer.count - FOOTER_BYTES;
    REQUIRE(footer_decode(buffer.bytes + end, &footer) == RBWP_OK);
    REQUIRE(footer_check(&footer, OFFSET + end, &error) == RBWP_OK && footer.bytes == end);
    REQUIRE(trailer_decode(buffer.bytes, &footer, &again, &error) == RBWP_OK);
    same_values(trailer, &again);
    trailer_free(&again);
    buffer_free(&buffer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *copy = guarded_copy(data, size);
    if (!copy)
        return 0;
    footer_alone(copy, size);
    struct trailer trailer;
    struct rbwp_error error;
    struct footer footer = {.offset = OFFSET, .bytes = size, .crc32c = crc32c(0, copy, size)};
    if (trailer_decode(copy, &footer, &trailer, &error) != RBWP_OK) {
        REQUIRE(error.rule && error.text[0] && !strchr(error.text, '\n'));
        return 0;
    }
    encode_again(&trailer);
    trailer_free(&trailer);
    return 0;
}
