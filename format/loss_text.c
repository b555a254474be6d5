/* SPDX-License-Identifier: Apache-2.0 */
#include "loss_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

uint32_t loss_refused_cause(const char *name, size_t bytes)
{
    for (uint32_t cause = 0; cause <= RBWP_LOSS_CAUSE_MAX; cause++) {
        const char *own = rbwp_loss_cause_name(cause);
        if (loss_is_refused(cause) && strlen(own) == bytes && memcmp(own, name, bytes) == 0)
            return cause;
    }
    return 0;
}

const char *loss_refused_text(char text[LOSS_TEXT_BYTES], uint32_t cause, uint64_t count)
{
    static const char *const reasons[] = {
        [RBWP_LOSS_NOT_ATTACHED] = "not recorded: the thread was not attached; call "
                                   "rbwp_thread_attach in each thread that records",
        [RBWP_LOSS_NESTED_BEGIN] = "not recorded: an item was open already; end it first, or begin "
                                   "a sub-item (rbwp_fine_begin)",
        [RBWP_LOSS_STRAY_END] = "not recorded: an end without its begin; begin and end on the same "
                                "thread, as often",
        [RBWP_LOSS_UNCLOSED_FINE] = "with sub-items left open, which were closed there; call "
                                    "rbwp_fine_end before rbwp_end",
        [RBWP_LOSS_SIGNAL] = "not recorded: a signal handler made them during another recording "
                             "call",
        [RBWP_LOSS_RANGE] = "not recorded: slot, id or time out of range; use what the register "
                            "functions returned",
        [RBWP_LOSS_KEPT_EMPTY] = "recorded though they did no work: memory was at its cap; raise "
                                 "-bgworkprofile_bufsize",
    };
    snprintf(text, LOSS_TEXT_BYTES, "%" PRIu64 " call%s %s", count, count == 1 ? "" : "s",
             loss_is_refused(cause) ? reasons[cause] : "refused");
    return text;
}
