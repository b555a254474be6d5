/* SPDX-License-Identifier: Apache-2.0 */
#include "stats_tables.h"
#include "sorted.h"
#include "wide.h"

#include <stdlib.h>

static void node_sums_add_track(struct node_sum *node, const struct stats_track *track)
{
    node->lost_records += track->lost_records;
    if (!stats_is_worker(track))
        return;
    node->workers++;
    node->busy_ns += track->busy.busy_ns;
    node->calls += track->calls;
    if (track->busy.longest_gap_ns > node->longest_gap_ns)
        node->longest_gap_ns = track->busy.longest_gap_ns;
}

static int by_node(const void *a, const void *b)
{
    const struct node_sum *left = a, *right = b;
    SORTED_BY(left, right, node);
    return left->process < right->process ? -1 : left->process > right->process;
}

static int by_share(const void *a, const void *b)
{
    const struct node_sum *left = a, *right = b;
    SORTED_BY(right, left, share);
    return by_node(a, b);
}

static void keep_workers(struct node_sums *sums, const struct stats *stats)
{
    uint32_t kept = 0;
    double most = 0, extent_ns = (double)stats_extent_ns(stats);
    for (uint32_t i = 0; i < sums->count; i++) {
        struct node_sum node = sums->list[i];
        if (node.workers == 0)
            continue;
        node.share = extent_ns > 0 ? (double)node.busy_ns / extent_ns / node.workers : 0;
        most = node.share > most ? node.share : most;
        sums->mean += node.share;
        sums->list[kept++] = node;
    }
    sums->count = kept;
    sums->mean = kept ? sums->mean / kept : 0;
    sums->imbalance = sums->mean > 0 ? most / sums->mean : 0;
}

bool node_sums_make(struct node_sums *sums, const struct stats *stats)
{
    *sums = (struct node_sums){.count = stats->process_count};
    sums->list = calloc(stats->process_count + (size_t)1, sizeof *sums->list);
    if (!sums->list) {
        sums->count = 0;
        return false;
    }
    for (uint32_t i = 0; i < stats->process_count; i++) {
        sums->list[i].process = i;
        sums->list[i].node = stats->processes[i].node;
    }
    for (uint32_t i = 0; i < stats->track_count; i++)
        node_sums_add_track(&sums->list[stats->tracks[i].track.process], &stats->tracks[i]);
    keep_workers(sums, stats);
    qsort(sums->list, sums->count, sizeof *sums->list, by_node);
    return true;
}

void node_sums_order(struct node_sums *sums)
{
    qsort(sums->list, sums->count, sizeof *sums->list, by_share);
}

void node_sums_free(struct node_sums *sums)
{
    free(sums->list);
    *sums = (struct node_sums){0};
}

double node_share_at(const struct stats *stats, const struct node_sum *node, uint32_t part,
                     uint32_t parts)
{
    uint64_t extent_ns = stats_extent_ns(stats);
    uint64_t from_ns = wide_quotient(wide_product(extent_ns, part), parts);
    uint64_t to_ns = wide_quotient(wide_product(extent_ns, part + 1), parts);
    uint64_t busy_ns = busy_cells_between(&stats->processes[node->process].cells,
                                          (int64_t)((uint64_t)stats->run_first_ns + from_ns),
                                          (int64_t)((uint64_t)stats->run_first_ns + to_ns));
    return to_ns > from_ns ? (double)busy_ns / (double)(to_ns - from_ns) / node->workers : 0;
}
