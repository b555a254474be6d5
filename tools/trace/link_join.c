/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sorted by key, then time: the departure to which an arrival belongs is the one that came last, or
 * if none has come, the next one. So one departure is kept, and the arrivals that
 * wait for the first.
 */
#include "link_join.h"
#include "sorted.h"
#include "trace_link.h"
#include "trace_track.h"

#include <stdlib.h>

enum { WAITING_MAX = 4096 }; /* arrivals of a key before its first departure */

struct link_join {
    struct merge_sorter ends;
    struct trace_link_end departure, waiting[WAITING_MAX];
    uint32_t waiting_count;
    bool departed; /* departure is of the present key */
    bool used;     /* it has a link */
    bool any;
    struct trace_link_end last; /* whose key is the present one */
    uint64_t lone;
    void (*found)(void *context, const struct trace_link *link);
    void *context;
};

static int compare_keys(const struct trace_link_end *a, const struct trace_link_end *b)
{
    SORTED_BY(a, b, space);
    SORTED_BY(a, b, process);
    if (a->space != TRACE_NONE)
        SORTED_BY(a, b, kind);
    return (a->key > b->key) - (a->key < b->key);
}

/* At one time, what departs comes before what passes by, and that before what arrives. */
static int rank(const struct trace_link_end *end)
{
    return !end->arrives ? 0 : end->passes_on ? 1 : 2;
}

/* Of equals by time that order of coming does not decide, so that the result is the same. */
static int link_join_compare(const void *left, const void *right)
{
    const struct trace_link_end *a = left, *b = right;
    int order = compare_keys(a, b);
    if (order)
        return order;
    SORTED_BY(a, b, time_ns);
    order = rank(a) - rank(b);
    if (order)
        return order;
    SORTED_BY(a, b, track);
    return (a->span > b->span) - (a->span < b->span);
}

static const struct merge_order link_join_ends_order = {"links", sizeof(struct trace_link_end),
                                                        MERGE_SORTER_NO_PAYLOAD, link_join_compare};

struct link_join *link_join_new(void)
{
    struct link_join *join = calloc(1, sizeof *join);
    if (join)
        merge_sorter_start(&join->ends, &link_join_ends_order);
    return join;
}

void link_join_free(struct link_join *join)
{
    if (join)
        merge_sorter_stop(&join->ends);
    free(join);
}

void link_join_add(struct link_join *join, const struct trace_link_end *end)
{
    merge_sorter_add(&join->ends, end, NULL);
}

static void link_join_pass(struct link_join *join, const struct trace_link_end *to)
{
    const struct trace_link_end *from = &join->departure;
    const unsigned meant = from->meant ? from->meant : to->meant;
    const unsigned kind = from->kind == TRACE_FLOW ? to->kind : from->kind;
    join->found(join->context, &(struct trace_link){.kind = meant ? meant - 1 : kind,
                                                    .label = to->label ? to->label : from->label,
                                                    .from_track = from->track,
                                                    .to_track = to->track,
                                                    .from_ns = from->time_ns,
                                                    .to_ns = to->time_ns,
                                                    .from_span = from->span,
                                                    .to_span = to->span});
    join->used = true;
}

static void end_key(struct link_join *join)
{
    join->lone += join->waiting_count;
    join->lone += join->departed && !join->used;
    join->departed = join->used = false;
    join->waiting_count = 0;
}

static void depart(struct link_join *join, const struct trace_link_end *from)
{
    join->lone += join->departed && !join->used;
    join->departure = *from;
    join->departed = true;
    join->used = false;
    for (uint32_t i = 0; i < join->waiting_count; i++)
        link_join_pass(join, &join->waiting[i]);
    join->waiting_count = 0;
}

static void arrive(struct link_join *join, const struct trace_link_end *end)
{
    link_join_pass(join, end);
    if (!end->passes_on)
        return;
    join->departure = *end; /* its link is used: it came */
}

static bool link_join_take(void *context, const void *item, const uint64_t *payload)
{
    struct link_join *join = context;
    const struct trace_link_end *end = item;
    (void)payload;
    if (join->any && compare_keys(&join->last, end) != 0)
        end_key(join);
    join->last = *end;
    join->any = true;
    bool itself = join->departed && end->span && join->departure.span == end->span;
    if (!end->arrives)
        depart(join, end);
    else if (end->passes_on && !join->departed)
        depart(join, end);
    else if (join->departed && !itself)
        arrive(join, end);
    else if (!itself && join->waiting_count < WAITING_MAX)
        join->waiting[join->waiting_count++] = *end;
    else
        join->lone += !itself;
    return true;
}

uint64_t link_join_finish(struct link_join *join,
                          void (*found)(void *context, const struct trace_link *link),
                          void *context, bool *failed_out)
{
    join->found = found;
    join->context = context;
    merge_sorter_finish(&join->ends, link_join_take, join);
    end_key(join);
    *failed_out = join->ends.failed;
    return join->lone;
}
