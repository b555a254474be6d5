/* SPDX-License-Identifier: Apache-2.0 */
/* Totals of a trailer's losses. */
#include "losses.h"

bool losses_are_records(uint32_t cause)
{
    return cause == RBWP_LOSS_DROPPED || cause == RBWP_LOSS_STALLED || cause == RBWP_LOSS_IO ||
           cause == RBWP_LOSS_MEMORY;
}

bool losses_are_at_most(uint32_t cause)
{
    return cause == RBWP_LOSS_UNPROTECTED || cause == RBWP_LOSS_OVERWRITTEN;
}

struct losses losses_total(const struct rbwp_trailer *trailer)
{
    struct losses losses = {0};
    for (uint32_t i = 0; trailer && i < trailer->loss_count; i++) {
        const struct rbwp_loss *loss = &trailer->losses[i];
        if (losses_are_records(loss->cause))
            losses.records += loss->count;
        else if (losses_are_at_most(loss->cause))
            losses.records_most += loss->count;
        else
            losses.refused_calls += loss->count;
    }
    return losses;
}
