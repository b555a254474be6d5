/* SPDX-License-Identifier: Apache-2.0 */
/* chrome_own.h - what our own exports say of a span by its category and by some of its args. */
#ifndef CHROME_OWN_H
#define CHROME_OWN_H

#include "chrome_event.h"

/* rest_out: the source's own category, behind ours; may be NULL. */
uint8_t chrome_own_category(const struct chrome_event *event, struct trace_text *rest_out);

struct chrome_own {
    const struct chrome_args *args;
    struct trace_detail *head;
    struct trace_span *span;
    uint32_t launch_track; /* its number in the export; TRACE_NONE none */
};
/* True when the argument was one of ours, and taken. context: a struct chrome_own. */
bool chrome_own_arg(void *context, uint32_t arg);

#endif /* CHROME_OWN_H */
