/* SPDX-License-Identifier: Apache-2.0 */
/* The sums of nodes, in both forms. Of many nodes people see the busiest and the idlest. */
#include "json_text.h"
#include "node_sums.h"
#include "quantity.h"
#include "stats_forms.h"
#include "text_name.h"

#include <errno.h>
#include <inttypes.h>

enum { NODES_SHOWN = 40, NODES_AT_EACH_END = 12, PARTS_SHOWN = 40 };

/* ---- text ------------------------------------------------------------------------------ */

struct look {
    struct out *out;
    const struct stats *stats;
    struct colors colors;
};

/* How busy it was over time: a character a part of the run. */
static void course(const struct look *look, const struct node_sum *node)
{
    static const char *const blocks[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    static const char *const letters[] = {" ", ".", ":", "-", "=", "+", "*", "#", "@"};
    const char *const *levels = terminal_is_utf8() ? blocks : letters;
    for (uint32_t part = 0; part < PARTS_SHOWN; part++) {
        double share = node_share_at(look->stats, node, part, PARTS_SHOWN);
        out_text(look->out, levels[share >= 1 ? 8 : share > 0 ? (int)(share * 8 + 0.5) : 0]);
    }
}

static void line(const struct look *look, const struct node_sum *node)
{
    char busy[QUANTITY_BYTES], gap[QUANTITY_BYTES];
    out_format(look->out, "%7" PRIu32 " %6.1f%% %9s %11s  ", node->workers, 100 * node->share,
               quantity_rough(busy, node->busy_ns, 4),
               quantity_rough(gap, node->longest_gap_ns, 4));
    course(look, node);
    out_text(look->out, "  ");
    struct trace_text name = look->stats->processes[node->process].name;
    text_name(look->out, name.text, name.bytes);
    if (node->lost_records)
        out_format(look->out, " %s(%" PRIu64 " records lost)%s", look->colors.red,
                   node->lost_records, look->colors.off);
    out_text(look->out, "\n");
}

static void table(const struct look *look, struct node_sums *sums)
{
    char part[QUANTITY_BYTES];
    bool all = sums->count <= NODES_SHOWN;
    if (!all)
        node_sums_order(sums);
    out_format(look->out,
               "\n%sNodes%s: %" PRIu32 ", busy for %.1f %% on average, the busiest %.2f "
               "times as much; a column of time is %s\n",
               look->colors.bold, look->colors.off, sums->count, 100 * sums->mean, sums->imbalance,
               quantity_duration(part, stats_extent_ns(look->stats) / PARTS_SHOWN));
    out_format(look->out, "%sworkers   share      busy longest gap  %-*s  process%s\n",
               look->colors.dim, PARTS_SHOWN, "over time", look->colors.off);
    for (uint32_t i = 0; i < sums->count; i++) {
        if (!all && i == NODES_AT_EACH_END) {
            i = sums->count - NODES_AT_EACH_END;
            out_format(look->out, "  ... and %" PRIu32 " between (--json has all)\n",
                       sums->count - 2 * NODES_AT_EACH_END);
        }
        line(look, &sums->list[i]);
    }
}

void stats_nodes_text(struct out *out, const struct stats *stats, struct colors colors)
{
    struct node_sums sums;
    if (!node_sums_make(&sums, stats))
        out_give_up(out, ENOMEM);
    else if (sums.count > 0)
        table(&(struct look){out, stats, colors}, &sums);
    node_sums_free(&sums);
}

/* ---- JSON ------------------------------------------------------------------------------ */

static void real(struct out *out, const char *key, double value)
{
    out_text(out, ",");
    json_key(out, key);
    out_format(out, "%.6f", value);
}

static void object(struct out *out, const struct stats *stats, const struct node_sum *node)
{
    struct trace_text name = stats->processes[node->process].name;
    out_text(out, "{");
    json_u64(out, "node", node->node);
    out_text(out, ",");
    json_name(out, "process", name.text, name.bytes);
    out_text(out, ",");
    json_u64(out, "workers", node->workers);
    out_text(out, ",");
    json_u64(out, "busy", node->busy_ns);
    real(out, "share", node->share);
    out_text(out, ",");
    json_u64(out, "calls", node->calls);
    out_text(out, ",");
    json_u64(out, "longest_gap", node->longest_gap_ns);
    out_text(out, ",");
    json_u64(out, "lost_records", node->lost_records);
    out_text(out, ",");
    json_key(out, "shares");
    out_text(out, "[");
    for (uint32_t part = 0; part < CONCURRENCY_STEPS; part++)
        out_format(out, part ? ",%.4f" : "%.4f",
                   node_share_at(stats, node, part, CONCURRENCY_STEPS));
    out_text(out, "]}");
}

void stats_nodes_json(struct out *out, const struct stats *stats)
{
    struct node_sums sums;
    if (!node_sums_make(&sums, stats)) {
        out_give_up(out, ENOMEM);
        return;
    }
    out_text(out, ",\n");
    json_key(out, "nodes");
    out_text(out, "{");
    json_u64(out, "count", sums.count);
    real(out, "mean", sums.mean);
    real(out, "imbalance", sums.imbalance);
    out_text(out, ",");
    json_key(out, "list");
    out_text(out, "[");
    for (uint32_t i = 0; i < sums.count; i++) {
        out_text(out, i ? ",\n" : "\n");
        object(out, stats, &sums.list[i]);
    }
    out_text(out, "]}");
    node_sums_free(&sums);
}
