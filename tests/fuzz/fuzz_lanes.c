/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Buffers of lanes, and NumPy's files of them: whatever is in one, the decoder stays in it, hands
 * out spans of lanes that there are, which end no earlier than they start, and accounts for every
 * record; rows keep apart what overlaps. An input is four bytes that say what is wanted of it, and
 * the file.
 */
#include "dump_bytes.h"
#include "fuzz.h"
#include "rbwp_durations.h"

#include <string.h>

#define SPANS_MAX 2048

struct seen {
    struct rbwp_lanes_layout layout;
    uint64_t spans, others, unended, strays;
    uint64_t tracks[SPANS_MAX];
    int64_t starts[SPANS_MAX], stops[SPANS_MAX];
    size_t kept;
};

static bool take(void *context, const struct rbwp_lane_span *spans, size_t count)
{
    struct seen *seen = context;
    for (size_t i = 0; i < count; i++) {
        const struct rbwp_lane_span *span = &spans[i];
        REQUIRE(span->start_ns <= span->stop_ns && span->kind <= RBWP_LANE_STRAY_END);
        REQUIRE(span->block < seen->layout.num_blocks && span->group < seen->layout.num_groups);
        REQUIRE(span->event < RBWP_LANES_EVENTS);
        seen->spans += span->kind == RBWP_LANE_SPAN;
        seen->unended += span->kind == RBWP_LANE_UNENDED;
        seen->strays += span->kind == RBWP_LANE_STRAY_END;
        if (span->kind == RBWP_LANE_SPAN && seen->kept < SPANS_MAX) {
            seen->tracks[seen->kept] = span->block;
            seen->starts[seen->kept] = span->start_ns;
            seen->stops[seen->kept++] = span->stop_ns;
        }
    }
    return true;
}

static void check_rows(const struct seen *seen)
{
    static uint16_t rows[SPANS_MAX];
    enum rbwp_status status =
        rbwp_overlap_rows(seen->tracks, seen->starts, seen->stops, seen->kept, rows);
    size_t count = status == RBWP_OK ? seen->kept : 0;
    count = count < 64 ? count : 64;
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < count; k++)
            REQUIRE(seen->tracks[i] != seen->tracks[k] || rows[i] != rows[k] ||
                    !(seen->starts[i] < seen->starts[k] && seen->starts[k] < seen->stops[i] &&
                      seen->stops[i] < seen->stops[k]));
}

static void decode(const uint8_t *bytes, size_t count, const struct rbwp_lanes_layout *wanted)
{
    static struct seen seen;
    struct rbwp_lanes_stats stats;
    struct rbwp_error error;
    memset(&seen, 0, sizeof seen);
    seen.layout.size = sizeof seen.layout;
    if (rbwp_lanes_find_layout(bytes, count, wanted, &seen.layout, &error) != RBWP_OK) {
        REQUIRE(error.text[0]);
        return;
    }
    REQUIRE(rbwp_lanes_decode(bytes, count, wanted, take, &seen, &stats, &error) == RBWP_OK);
    REQUIRE(seen.spans == stats.spans && seen.unended == stats.unended);
    REQUIRE(seen.strays == stats.stray_ends);
    REQUIRE(stats.records == 2 * stats.spans + stats.unended + stats.stray_ends + stats.instants +
                                 stats.heartbeats + stats.finalized + stats.after_finalize);
    check_rows(&seen);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct dump_bytes dump = {0};
    const char *reason = NULL;
    if (size < 4 || size > INPUT_BYTES_MAX)
        return 0;
    struct rbwp_lanes_layout wanted = {.size = sizeof wanted,
                                       .dialect = data[0] % 6,
                                       .num_blocks = data[1] >> 4,
                                       .num_groups = data[1] & 15,
                                       .stride = data[2],
                                       .max_records = data[3] >> 1,
                                       .anchor_device = data[3] & 1 ? INT64_MAX : 0};
    const uint8_t *copy = guarded_copy(data + 4, size - 4);
    REQUIRE(copy);
    if (dump_bytes_take(&dump, copy, size - 4, &reason))
        decode(dump.bytes, dump.count, &wanted);
    else
        REQUIRE(reason);
    return 0;
}
