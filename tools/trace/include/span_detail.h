/* SPDX-License-Identifier: Apache-2.0 */
/*
 * span_detail.h - makes and copies what only some spans have (struct trace_detail).
 *
 * A maker is started for each span; what is set is packed into one record,
 * which lives until the maker is started again. Records are copied
 * as they are, into the details of a batch or through a sorter.
 */
#ifndef SPAN_DETAIL_H
#define SPAN_DETAIL_H

#include "trace_detail.h"

#define DETAIL_ARGS_MAX 4096u
#define DETAIL_TEXT_MAX (512u << 10) /* bytes of all texts of a span; longer ones are cut */

/* Zero is an empty one. */
struct detail_maker {
    struct trace_detail
        head; /* set its fields after span_detail_start, but for words and arg_count */
    char *texts;
    uint32_t text_bytes, text_room;
    uint64_t *packed; /* room for the head, then the arguments */
    uint32_t packed_room;
    bool has_texts;
    bool set;     /* something of head was set, or an argument */
    uint64_t cut; /* arguments that were dropped or cut, of all spans */
    bool failed;  /* out of memory, once: the span had none, and those after it have none */
};

void span_detail_start(struct detail_maker *maker);
void span_detail_arg(struct detail_maker *maker, uint32_t key, enum trace_arg_type type,
                     uint64_t bits);
/* type: TRACE_ARG_TEXT or TRACE_ARG_JSON. What is longer than fits is cut; JSON is dropped. */
void span_detail_text(struct detail_maker *maker, uint32_t key, enum trace_arg_type type,
                      struct trace_text text);
/* Starts it with what a span has so far. */
void span_detail_continue(struct detail_maker *maker, const struct trace_detail *detail);
/* NULL if nothing was set, or without memory. */
const struct trace_detail *span_detail_finish(struct detail_maker *maker);
void span_detail_free(struct detail_maker *maker);

/* A place for span.detail; 0 for NULL, or when out of memory: *failed is true then. */
uint32_t span_details_add(struct trace_details *details, const struct trace_detail *detail,
                          bool *failed);
static inline void span_details_clear(struct trace_details *details)
{
    details->count = 0;
}
void span_details_free(struct trace_details *details);

#endif /* SPAN_DETAIL_H */
