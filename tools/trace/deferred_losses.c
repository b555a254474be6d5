/* SPDX-License-Identifier: Apache-2.0 */
#include "deferred_losses.h"
#include "loss_text.h"
#include "thread_map.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CAUSE_BYTES = 128 };

struct kept_loss {
    struct trace_loss loss;
    char cause[CAUSE_BYTES];
};

static void put_together(struct trace_loss *last, const struct trace_loss *loss)
{
    last->count += loss->count;
    last->bytes += loss->bytes;
    last->track = last->track == loss->track ? last->track : TRACE_NONE;
    last->last_ns = last->last_ns > loss->last_ns ? last->last_ns : loss->last_ns;
}

void deferred_losses_add(struct deferred_losses *kept, const struct trace_loss *loss)
{
    if (kept->count == KEPT_LOSSES_MAX) {
        put_together(&kept->list[kept->count - 1].loss, loss);
        return;
    }
    if (!grow_zeroed32(&kept->list, &kept->room, kept->count + 1, sizeof *kept->list)) {
        kept->failed = true;
        return;
    }
    struct kept_loss *made = &kept->list[kept->count++];
    made->loss = *loss;
    snprintf(made->cause, sizeof made->cause, "%.*s", (int)loss->cause.bytes, loss->cause.text);
}

void deferred_losses_add_named(struct deferred_losses *kept, struct trace_loss loss,
                               struct trace_text name)
{
    const char *colon = name.bytes ? memchr(name.text, ':', name.bytes) : NULL;
    const char *end = name.text + name.bytes;
    const char *cause = colon && colon + 2 <= end ? colon + 2 : name.text;
    loss.cause = (struct trace_text){cause, (uint32_t)(end - cause)};
    loss.refused = loss_refused_cause(cause, loss.cause.bytes);
    deferred_losses_add(kept, &loss);
}

void deferred_losses_emit(const struct deferred_losses *kept, struct trace *trace)
{
    for (uint32_t i = 0; i < kept->count; i++) {
        struct trace_loss loss = kept->list[i].loss;
        loss.cause = trace_text(kept->list[i].cause);
        trace_add_loss(trace, loss);
    }
}

void deferred_losses_free(struct deferred_losses *kept)
{
    free(kept->list);
    *kept = (struct deferred_losses){0};
}
