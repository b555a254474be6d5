/* SPDX-License-Identifier: Apache-2.0 */
/* Of several ends that say the same the first one counts: a key is used once. */
#include "message_join.h"

#include <stdlib.h>

struct message_join {
    struct merge_sorter ends;
    struct trace_message_end sent; /* of its key, that has no other end yet */
    bool waits;
    uint64_t sent_alone, handled_alone;
    void (*found)(void *context, const struct trace_message_end *sent,
                  const struct trace_message_end *handled);
    void *context;
};

static int compare_numbers(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int compare(const void *left, const void *right)
{
    const struct trace_message_end *a = left, *b = right;
    int order = compare_numbers(a->key, b->key);
    order = order ? order : (int)a->handled - (int)b->handled;
    if (order == 0 && a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns ? -1 : 1;
    order = order ? order : compare_numbers(a->track, b->track);
    return order ? order : compare_numbers(a->span, b->span);
}

static const struct merge_order ends_order = {.what = "messages",
                                              .item_bytes = sizeof(struct trace_message_end),
                                              .payload_at = MERGE_SORTER_NO_PAYLOAD,
                                              .compare = compare};

struct message_join *message_join_new(void)
{
    struct message_join *join = calloc(1, sizeof *join);
    if (join)
        merge_sorter_start(&join->ends, &ends_order);
    return join;
}

void message_join_free(struct message_join *join)
{
    if (join)
        merge_sorter_stop(&join->ends);
    free(join);
}

void message_join_add(struct message_join *join, const struct trace_message_end *end)
{
    merge_sorter_add(&join->ends, end, NULL);
}

static bool take(void *context, const void *item, const uint64_t *payload)
{
    struct message_join *join = context;
    const struct trace_message_end *end = item;
    (void)payload;
    if (!end->handled) {
        bool again = join->waits && join->sent.key == end->key;
        join->sent_alone += join->waits;
        if (!again)
            join->sent = *end;
        join->waits = true;
    } else if (join->waits && join->sent.key == end->key) {
        join->found(join->context, &join->sent, end);
        join->waits = false;
    } else {
        join->handled_alone++;
    }
    return true;
}

bool message_join_finish(struct message_join *join,
                         void (*found)(void *context, const struct trace_message_end *sent,
                                       const struct trace_message_end *handled),
                         void *context, uint64_t *sent_alone_out, uint64_t *handled_alone_out)
{
    join->found = found;
    join->context = context;
    merge_sorter_finish(&join->ends, take, join);
    *sent_alone_out = join->sent_alone + join->waits;
    *handled_alone_out = join->handled_alone;
    return !join->ends.failed;
}
