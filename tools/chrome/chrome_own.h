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
    uint32_t made;         /* as in struct chrome_kineto */
};
/* What an event of theirs in Kineto's form says of itself (kineto_words.h). */
struct chrome_kineto {
    bool shadow;  /* none of the trace */
    bool own;     /* its category is the source's own word */
    bool clamped; /* it begins at start_ns, whatever its time is */
    uint8_t category;
    uint32_t made;  /* bits of enum kineto_made: arguments that the trace has not */
    uint32_t track; /* on which it is, by its number in the export; TRACE_NONE: where it stands */
    int64_t start_ns;
};
void chrome_own_kineto(const struct chrome_event *event, struct chrome_kineto *kineto_out);
/* The source's own category. */
struct trace_text chrome_own_label(const struct chrome_event *event,
                                   const struct chrome_kineto *kineto);

/* True when the argument was one of ours, and taken. context: a struct chrome_own. */
bool chrome_own_arg(void *context, uint32_t arg);

#endif /* CHROME_OWN_H */
