/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contexts and dumps of device events: whatever they say, reading stays in the bytes that there
 * are, each slot is handed out or counted, and what was taken apart is put together the same. The
 * first byte of an input says which of the two it is.
 */
#include "fuzz.h"
#include "rbwp_durations.h"

#include <stdlib.h>
#include <string.h>

static bool take(void *context, const struct rbwp_device_event *events, size_t count)
{
    for (size_t i = 0; i < count; i++)
        REQUIRE(events[i].start_ns <= events[i].stop_ns && events[i].start_ticks != 0);
    *(uint64_t *)context += count;
    return true;
}

static void check_context(const int64_t *words, size_t count)
{
    struct rbwp_events_context context = {.size = sizeof context};
    struct rbwp_error error;
    if (rbwp_events_decode_context(words, count, &context, &error) != RBWP_OK) {
        REQUIRE(error.text[0]);
        return;
    }
    size_t room = RBWP_EVENTS_CONTEXT_WORDS(context.ranks);
    int64_t *again = malloc(room * sizeof *again);
    REQUIRE(again && rbwp_events_encode_context(&context, again, room, &error) == RBWP_OK);
    REQUIRE(memcmp(again, words, (2 + (size_t)context.ranks) * sizeof *again) == 0);
    REQUIRE(context.enabled == (again[2 + context.ranks] != 0));
    if (context.enabled)
        REQUIRE(memcmp(again + 3 + context.ranks, words + 3 + context.ranks,
                       (room - 3 - context.ranks) * sizeof *again) == 0);
    free(again);
}

static void check_dump(const uint8_t *bytes, size_t count, bool any_rank)
{
    struct rbwp_events_dump dump = {.size = sizeof dump};
    struct rbwp_events_source source = {.size = sizeof source};
    struct rbwp_events_stats stats;
    struct rbwp_error error;
    uint64_t taken = 0;
    if (rbwp_events_decode_dump(bytes, count, &dump, &source, &error) != RBWP_OK) {
        REQUIRE(error.text[0]);
        return;
    }
    if (any_rank)
        source.rank = -1;
    uint8_t header[RBWP_EVENTS_DUMP_HEADER_BYTES];
    REQUIRE(rbwp_events_encode_dump(&dump, header, NULL) == RBWP_OK);
    REQUIRE(memcmp(header, bytes, 88) == 0);
    REQUIRE(rbwp_events_decode(&source, take, &taken, &stats, &error) == RBWP_OK);
    REQUIRE(taken == stats.events);
    REQUIRE(stats.events + stats.unwritten + stats.unused + stats.dropped == stats.counted);
    REQUIRE(stats.spans + stats.unended <= stats.events);
    struct rbwp_durations *durations = rbwp_durations_new();
    size_t rows;
    REQUIRE(durations && rbwp_events_decode(&source, rbwp_durations_take_events, durations, &stats,
                                            NULL) == RBWP_OK);
    (void)rbwp_durations_rows(durations, &rows);
    REQUIRE(rows <= taken);
    rbwp_durations_free(durations);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1 || size > INPUT_BYTES_MAX)
        return 0;
    uint8_t *copy = malloc(size - 1 ? size - 1 : 1);
    REQUIRE(copy);
    memcpy(copy, data + 1, size - 1);
    if (data[0] & 1)
        check_dump(copy, size - 1, data[0] & 2);
    else
        check_context((const int64_t *)(const void *)copy, (size - 1) / 8);
    free(copy);
    return 0;
}
