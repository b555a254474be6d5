/* SPDX-License-Identifier: Apache-2.0 */
/*
 * deferred_losses.h - losses that are found while spans are read, and emitted when all are known,
 * behind every track. Beyond KEPT_LOSSES_MAX they are added to the last one.
 */
#ifndef DEFERRED_LOSSES_H
#define DEFERRED_LOSSES_H

#include "trace.h"

enum { KEPT_LOSSES_MAX = 4096 };

/* Zero is none. */
struct deferred_losses {
    struct kept_loss *list;
    uint32_t count, room;
    bool failed; /* out of memory: some are missing */
};

/* The cause is copied. */
void deferred_losses_add(struct deferred_losses *kept, const struct trace_loss *loss);
/* name: what trace_loss_name made of the loss, whose cause it has. */
void deferred_losses_add_named(struct deferred_losses *kept, struct trace_loss loss,
                               struct trace_text name);
void deferred_losses_emit(const struct deferred_losses *kept, struct trace *trace);
void deferred_losses_free(struct deferred_losses *kept);

#endif /* DEFERRED_LOSSES_H */
