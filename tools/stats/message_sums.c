/* SPDX-License-Identifier: Apache-2.0 */
#include "message_sums.h"
#include "grow.h"
#include "stats_row.h"
#include "trace_link.h"

#include <stdlib.h>
#include <string.h>

static bool message_time_add(struct message_time *time, uint64_t ns)
{
    time->total_ns = stats_sum(time->total_ns, ns);
    time->max_ns = ns > time->max_ns ? ns : time->max_ns;
    return histogram_add(&time->times, ns);
}

/* NULL without memory. */
static struct message_sum *sum_of(struct message_sums *sums, uint32_t name)
{
    if (!grow_zeroed32(&sums->of_name, &sums->name_room, name + 1, sizeof *sums->of_name))
        return NULL;
    uint32_t *place = &sums->of_name[name];
    if (*place)
        return &sums->list[*place - 1];
    if (!grow_zeroed32(&sums->list, &sums->room, sums->count + 1, sizeof *sums->list))
        return NULL;
    sums->list[sums->count].name = name;
    *place = ++sums->count;
    return &sums->list[*place - 1];
}

bool message_sums_add(struct message_sums *sums, const struct trace_message *message)
{
    const struct trace_message_end *sent = &message->sent, *handled = &message->handled;
    struct message_sum *sum = sum_of(sums, handled->name);
    if (!sum)
        return false;
    sum->count++;
    sum->bytes += handled->bytes;
    sum->early += handled->arrived_ns < sent->start_ns;
    return message_time_add(&sum->network, stats_between_ns(sent->start_ns, handled->arrived_ns)) &&
           message_time_add(&sum->queue,
                            stats_between_ns(handled->arrived_ns, handled->start_ns)) &&
           message_time_add(&sum->handling, stats_between_ns(handled->start_ns, handled->stop_ns));
}

static int message_sums_compare(const void *left, const void *right)
{
    const struct message_sum *a = left, *b = right;
    if (a->count != b->count)
        return a->count > b->count ? -1 : 1;
    return trace_text_compare(a->handler, b->handler);
}

bool message_sums_finish(struct message_sums *sums, const struct trace_text *names,
                         uint32_t name_count)
{
    for (uint32_t i = 0; i < sums->count; i++) {
        struct message_sum *sum = &sums->list[i];
        struct trace_text name =
            sum->name < name_count ? names[sum->name] : (struct trace_text){"", 0};
        char *copy = strndup(name.bytes ? name.text : "", name.bytes);
        if (!copy) {
            sums->count = i;
            return false;
        }
        sum->handler = (struct trace_text){copy, (uint32_t)strlen(copy)};
    }
    if (sums->count)
        qsort(sums->list, sums->count, sizeof *sums->list, message_sums_compare);
    return true;
}

void message_sums_free(struct message_sums *sums)
{
    for (uint32_t i = 0; i < sums->room; i++) {
        struct message_sum *sum = &sums->list[i];
        free((char *)(uintptr_t)sum->handler.text);
        histogram_free(&sum->network.times);
        histogram_free(&sum->queue.times);
        histogram_free(&sum->handling.times);
    }
    free(sums->list);
    free(sums->of_name);
    *sums = (struct message_sums){0};
}

uint64_t message_time_quantile_ns(const struct message_time *time, unsigned permille)
{
    uint64_t ns = histogram_quantile(&time->times, permille);
    return ns < time->max_ns ? ns : time->max_ns;
}
