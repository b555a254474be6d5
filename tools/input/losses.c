/* SPDX-License-Identifier: Apache-2.0 */
/* Totals of a trailer's losses. */
#include "losses.h"
#include "loss_text.h"
#include "message.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

bool losses_are_records(uint32_t cause)
{
    return cause == RBWP_LOSS_DROPPED || cause == RBWP_LOSS_STALLED || cause == RBWP_LOSS_IO ||
           cause == RBWP_LOSS_MEMORY || cause == RBWP_LOSS_GPU_PENDING ||
           cause == RBWP_LOSS_GPU_FAILED || cause == RBWP_LOSS_GPU_CAPTURE ||
           cause == RBWP_LOSS_GPU_STOPPING || cause == RBWP_LOSS_ROWS || cause == RBWP_LOSS_ROWS_IO;
}

bool losses_are_at_most(uint32_t cause)
{
    return cause == RBWP_LOSS_UNPROTECTED || cause == RBWP_LOSS_OVERWRITTEN;
}

bool losses_are_known(uint32_t cause)
{
    return losses_are_records(cause) || losses_are_at_most(cause) || loss_is_refused(cause);
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
        else if (losses_are_known(loss->cause))
            losses.refused_calls += loss->count;
        else
            losses.unknown += loss->count;
        if (loss_is_refused(loss->cause))
            losses.refused[loss->cause] += loss->count;
    }
    for (uint32_t i = 0; trailer && i < trailer->left_count; i++)
        losses.dropped += trailer->left[i].entries;
    return losses;
}

/* The causes for which records were lost, each once: "dropped, io". Returns text. */
static const char *losses_causes(const struct rbwp_trailer *trailer, char *text, size_t room)
{
    uint64_t listed = 0;
    text[0] = '\0';
    for (uint32_t i = 0; trailer && i < trailer->loss_count; i++) {
        uint32_t cause = trailer->losses[i].cause;
        size_t used = strlen(text);
        if (!losses_are_records(cause) || listed >> cause & 1)
            continue;
        listed |= UINT64_C(1) << cause;
        snprintf(text + used, room - used, "%s%s", used ? ", " : "", rbwp_loss_cause_name(cause));
    }
    return text;
}

void losses_each_refused(const uint64_t *refused, void (*line)(void *context, const char *text),
                         void *context)
{
    char text[LOSS_TEXT_BYTES];
    for (uint32_t cause = 0; cause <= RBWP_LOSS_CAUSE_MAX; cause++)
        if (refused[cause])
            line(context, loss_refused_text(text, cause, refused[cause]));
}

static void report_refused(void *name, const char *text)
{
    message_plain("%s: %s", (const char *)name, text);
}

void losses_report(const char *name, const struct rbwp_trailer *trailer)
{
    char causes[128];
    struct losses lost = losses_total(trailer);
    if (lost.records)
        message_plain("%s: %" PRIu64 " records are missing (%s): rbwp info tells which", name,
                      lost.records, losses_causes(trailer, causes, sizeof causes));
    if (lost.records_most)
        message_plain("%s: up to %" PRIu64 " records were lost with the program's memory", name,
                      lost.records_most);
    losses_each_refused(lost.refused, report_refused, (void *)(uintptr_t)name);
    if (lost.unknown)
        message_plain("%s: %" PRIu64 " losses of causes that this version does not know", name,
                      lost.unknown);
    if (lost.dropped) {
        for (uint32_t i = 0; i < trailer->left_count; i++)
            if (trailer->left[i].entries)
                message_plain("%s: %" PRIu64 " %s had no room in its tables", name,
                              trailer->left[i].entries, rbwp_left_kind_name(trailer->left[i].kind));
    }
    if (trailer && trailer->kept_count && trailer->kept->from_ns &&
        trailer->kept->why != RBWP_KEPT_SPLIT)
        message_plain("%s: has the newest part of a recording; %" PRIu64
                      " records before it were not kept: rbwp info tells from when on",
                      name, trailer->kept->dropped_records);
}
