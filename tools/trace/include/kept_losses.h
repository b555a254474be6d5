/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kept_losses.h - losses that are found while spans are read, told when all are known, so that
 * every track has been told before. Beyond KEPT_LOSSES_MAX they are put together in the last one.
 */
#ifndef KEPT_LOSSES_H
#define KEPT_LOSSES_H

#include "trace.h"

enum { KEPT_LOSSES_MAX = 4096 };

/* Zero is none. */
struct kept_losses {
    struct kept_loss *list;
    uint32_t count, room;
    bool failed; /* out of memory: some are missing */
};

/* The cause is copied. */
void kept_losses_add(struct kept_losses *kept, const struct trace_loss *loss);
/* name: what trace_loss_name made of the loss, whose cause it has. */
void kept_losses_add_named(struct kept_losses *kept, struct trace_loss loss,
                           struct trace_text name);
void kept_losses_tell(const struct kept_losses *kept, struct trace *trace);
void kept_losses_free(struct kept_losses *kept);

#endif /* KEPT_LOSSES_H */
