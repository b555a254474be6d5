/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table_names.c - see table_names.h. A block of names is kept as it came, with
 * where each name begins; numbers are found by halving among the blocks.
 */
#include "table_names.h"

#include "buffer.h"
#include "bytes.h"
#include "grow.h"
#include "writer.h"

#include <stdlib.h>
#include <string.h>

#define NAMES_HEAD_BYTES 8u

struct names_run {
    uint64_t first;
    uint32_t count;
    uint32_t *ends; /* of each name in text; text follows in the same memory */
    const char *text;
};

void table_names_free(struct table_names *names)
{
    for (uint32_t i = 0; i < names->run_count; i++)
        free(names->runs[i].ends);
    free(names->runs);
    *names = (struct table_names){0};
}

/* R47 but for the numbers. The bytes of the names, or -1. */
static int64_t text_bytes(const uint8_t *lengths, uint32_t count, size_t left)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < count; i++)
        sum += load_le32(lengths + (size_t)i * 4);
    return sum == left ? (int64_t)sum : -1;
}

static bool room_for_run(struct table_names *names)
{
    return grow_array32(&names->runs, &names->run_room, names->run_count + 1, sizeof *names->runs);
}

/* Names of an earlier file of the recording come again; behind them run has what is new. False if
 * one is another than it was. */
static bool pass_known(struct table_names *names, struct names_run *run, const uint8_t **lengths,
                       struct cursor *texts)
{
    for (; run->count && run->first <= names->last; run->first++, run->count--, *lengths += 4) {
        struct rbwp_text known = table_names_get(names, run->first);
        uint32_t bytes = load_le32(*lengths);
        const uint8_t *text = cursor_take(texts, bytes);
        if (known.bytes && (known.bytes != bytes || memcmp(known.text, text, bytes) != 0))
            return false;
        names->file_last = run->first;
    }
    return true;
}

enum rbwp_status table_names_add(struct table_names *names, const uint8_t *data, size_t count)
{
    struct cursor cursor = {data, count};
    const uint8_t *head = cursor_take(&cursor, NAMES_HEAD_BYTES);
    if (!head)
        return RBWP_E_CORRUPT;
    struct names_run run = {.first = load_le32(head), .count = load_le32(head + 4)};
    const uint8_t *lengths = cursor_take(&cursor, (uint64_t)run.count * 4);
    int64_t bytes = lengths ? text_bytes(lengths, run.count, cursor.left) : -1;
    if (bytes < 0 || run.count == 0 || run.first <= names->file_last)
        return RBWP_E_CORRUPT;
    if (run.first <= names->last) {
        if (!pass_known(names, &run, &lengths, &cursor))
            return RBWP_E_CORRUPT;
        bytes = (int64_t)cursor.left;
    }
    if (run.count == 0)
        return RBWP_OK;
    size_t kept = (size_t)run.count * sizeof *run.ends + (size_t)bytes;
    if (names->bytes + kept > NAMES_KEPT_MAX)
        return RBWP_E_LIMIT;
    run.ends = malloc(kept);
    if (!run.ends || !room_for_run(names)) {
        free(run.ends);
        return RBWP_E_MEMORY;
    }
    uint32_t end = 0;
    for (uint32_t i = 0; i < run.count; i++)
        run.ends[i] = end += load_le32(lengths + (size_t)i * 4);
    run.text = memcpy(run.ends + run.count, cursor.next, (size_t)bytes);
    names->runs[names->run_count++] = run;
    names->last = names->file_last = run.first + run.count - 1;
    names->bytes += kept;
    return RBWP_OK;
}

struct rbwp_text table_names_get(const struct table_names *names, uint64_t number)
{
    uint32_t low = 0, high = names->run_count; /* the run is in [low, high) */
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (names->runs[middle].first <= number)
            low = middle;
        else
            high = middle;
    }
    const struct names_run *run = low < high ? &names->runs[low] : NULL;
    if (!run || number < run->first || number - run->first >= run->count)
        return (struct rbwp_text){"", 0};
    uint64_t i = number - run->first;
    uint32_t begin = i ? run->ends[i - 1] : 0;
    return (struct rbwp_text){run->text + begin, run->ends[i] - begin};
}

enum rbwp_status rbwp_writer_add_names(struct rbwp_writer *writer, uint32_t first,
                                       const struct rbwp_text *names, uint32_t count)
{
    struct buffer buffer = {0};
    uint8_t number[4];
    if (first == 0 || count == 0 || count > UINT32_MAX - first)
        return RBWP_E_INVALID;
    store_le32(number, first);
    buffer_append(&buffer, number, sizeof number);
    store_le32(number, count);
    buffer_append(&buffer, number, sizeof number);
    for (uint32_t i = 0; i < count; i++) {
        store_le32(number, names[i].bytes);
        buffer_append(&buffer, number, sizeof number);
    }
    for (uint32_t i = 0; i < count; i++)
        buffer_append(&buffer, names[i].text, names[i].bytes);
    enum rbwp_status status = buffer.failed                         ? RBWP_E_MEMORY
                              : buffer.count > RBWP_BLOCK_BYTES_MAX ? RBWP_E_LIMIT
                                                                    : RBWP_OK;
    if (status == RBWP_OK)
        status = writer_add_packed(writer, RBWP_NAMES_TAG, buffer.bytes, (uint32_t)buffer.count);
    buffer_free(&buffer);
    return status;
}
