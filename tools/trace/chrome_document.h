/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chrome_document.h - the whole text of Chrome JSON: an array of events, or an object with one.
 *
 * Other programs write JSON, too. What has no events is not taken for a trace
 * without any, but told for what it looks like.
 */
#ifndef CHROME_DOCUMENT_H
#define CHROME_DOCUMENT_H

#include "chrome_clock.h"
#include "chrome_gpus.h"

struct chrome_document {
    struct chrome_clock *clock;
    struct trace_facts *facts; /* filled from what stands beside the events; NULL: they are known */
    struct chrome_gpus *gpus;  /* the same */
    /* False when no more is wanted. */
    bool (*take)(void *context, const struct chrome_event *event);
    void *context;
    struct chrome_args args; /* of one event; chrome_document_free frees them */

    /* What was seen. */
    bool has_events;         /* an array for them, empty or not */
    uint64_t events, others; /* others: elements of it that are no objects */
    uint64_t phases;         /* events that have one */
    uint32_t signs;          /* of other programs' JSON, bits */
    bool enough;
};

bool chrome_document_recognises(const uint8_t *head, size_t bytes);
void chrome_document_free(struct chrome_document *document);
void chrome_document_read(struct chrome_document *document, struct json_scan *scan);
/* After reading: whether it is Chrome JSON, or nothing is wrong with it. Else the message is given.
 */
bool chrome_document_is_trace(const struct chrome_document *document, const struct json_scan *scan,
                              const char *name);

#endif /* CHROME_DOCUMENT_H */
