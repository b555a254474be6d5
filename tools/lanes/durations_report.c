/* SPDX-License-Identifier: Apache-2.0 */
#include "durations_report.h"
#include "json_text.h"
#include "text_name.h"

#include <inttypes.h>

enum { NAME_COLUMNS = 20, NAME_ROOM = 256 };

/* Microseconds with three decimals, which is all that there is. */
static void put_us(struct out *out, int width, uint64_t ns)
{
    out_format(out, " %*" PRIu64 ".%03u", width - 4, ns / 1000, (unsigned)(ns % 1000));
}

static uint64_t mean_ns(const struct rbwp_duration *row)
{
    return row->count ? (uint64_t)(rbwp_duration_mean_ns(row) + 0.5) : 0;
}

static void put_name(struct out *out, const char *name)
{
    size_t bytes = strlen(name);
    text_name(out, name, bytes);
    for (size_t i = bytes; i < NAME_COLUMNS; i++)
        out_text(out, " ");
    out_text(out, " ");
}

void durations_text(struct out *out, struct rbwp_durations *durations,
                    const struct durations_names *names)
{
    size_t count;
    char text[NAME_ROOM];
    const struct rbwp_duration *rows = rbwp_durations_rows(durations, &count);
    out_text(out, names->by_block ? "   block " : "");
    out_format(out, "%-20s %-20s %10s %14s %11s %11s %11s %11s %11s %9s\n", "group", "event", "n",
               "total us", "mean us", "min us", "p50 us", "p99 us", "max us", "unmatched");
    for (size_t i = 0; i < count; i++) {
        if (names->by_block)
            out_format(out, "%8" PRIu64 " ", rows[i].group >> 32);
        put_name(out, names->group(names->context, rows[i].group & UINT32_MAX, text));
        put_name(out, names->event(names->context, rows[i].event, text));
        out_format(out, "%10" PRIu64, rows[i].count);
        put_us(out, 14, rows[i].total_ns);
        const uint64_t others[] = {mean_ns(&rows[i]), rows[i].min_ns, rows[i].p50_ns,
                                   rows[i].p99_ns, rows[i].max_ns};
        for (size_t k = 0; k < sizeof others / sizeof others[0]; k++)
            put_us(out, 11, others[k]);
        out_format(out, " %9" PRIu64 "\n", rows[i].unmatched);
    }
}

static void put_member(struct out *out, const char *key, uint64_t ns)
{
    out_format(out, ",\"%s_us\":%" PRIu64 ".%03u", key, ns / 1000, (unsigned)(ns % 1000));
}

void durations_json(struct out *out, struct rbwp_durations *durations,
                    const struct durations_names *names)
{
    size_t count;
    char text[NAME_ROOM];
    const struct rbwp_duration *rows = rbwp_durations_rows(durations, &count);
    out_text(out, "{\"durations\":[");
    for (size_t i = 0; i < count; i++) {
        const char *group = names->group(names->context, rows[i].group & UINT32_MAX, text);
        out_text(out, i ? ",\n{" : "\n{");
        if (names->by_block)
            out_format(out, "\"block\":%" PRIu64 ",", rows[i].group >> 32);
        json_name(out, "group", group, strlen(group));
        const char *event = names->event(names->context, rows[i].event, text);
        out_text(out, ",");
        json_name(out, "event", event, strlen(event));
        out_format(out, ",\"n\":%" PRIu64, rows[i].count);
        put_member(out, "total", rows[i].total_ns);
        put_member(out, "mean", mean_ns(&rows[i]));
        put_member(out, "min", rows[i].min_ns);
        put_member(out, "p50", rows[i].p50_ns);
        put_member(out, "p99", rows[i].p99_ns);
        put_member(out, "max", rows[i].max_ns);
        out_format(out, ",\"unmatched\":%" PRIu64 "}", rows[i].unmatched);
    }
    out_text(out, "\n]");
}
