/* SPDX-License-Identifier: Apache-2.0 */
#include "record_summary.h"
#include "message.h"
#include "record.h"
#include "stats_load.h"

#include <inttypes.h>
#include <stdio.h>

enum { LONGEST_SHOWN = 5 };

/* Rows of one kind. */
static uint64_t count_rows(const struct stats *stats, unsigned category)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < stats->row_count; i++)
        count += stats->rows[i].category == category ? stats->rows[i].count : 0;
    return count;
}

static void say_all(const char *shown, const struct stats *stats, unsigned asked)
{
    const bool gpu = gpu_summary_any(stats), calls = count_rows(stats, TRACE_CALL) > 0;
    const uint64_t ranges = count_rows(stats, TRACE_RANGE);
    if (gpu)
        gpu_summary_say(shown, stats);
    else if (asked & RECORD_GPU)
        message("no GPU was used");
    if (calls)
        threads_summary_say(shown, stats);
    else if (ranges && !gpu)
        ranges_summary_say(shown, stats, ranges);
    if (stats->lost_records)
        message_plain("%" PRIu64 " records found no room", stats->lost_records);
    if (!gpu && !calls && !ranges)
        message_plain("%s: nothing happened in it", shown);
}

bool record_summary_say(struct operands files, unsigned asked)
{
    struct stats_load load = {.options = {.top = LONGEST_SHOWN, .no_concurrency = true}};
    char shown[512];
    load.reading.terminal.no_progress = true;
    load.reading.align.quiet = true;
    enum exit_code code = stats_load(&load, files);
    if (!load.loaded)
        return false;
    if (files.count > 1)
        snprintf(shown, sizeof shown, "%.400s and %d more", files.words[0], files.count - 1);
    else
        snprintf(shown, sizeof shown, "%.500s", files.words[0]);
    say_all(shown, &load.stats, asked);
    stats_free(&load.stats);
    return code != EXIT_BAD_DATA;
}
