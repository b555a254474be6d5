/* SPDX-License-Identifier: Apache-2.0 */
/*
 * open_spans.h - begins that wait for their ends, by a key.
 *
 * The newest begin of a key is closed first. Memory holds what is open, at
 * most OPEN_SPANS_MAX with OPEN_SPANS_DETAIL_BYTES_MAX of details; more are
 * turned away.
 */
#ifndef OPEN_SPANS_H
#define OPEN_SPANS_H

#include <stdbool.h>
#include <stdint.h>

struct open_entry;
struct trace_detail;
struct trace_span;

#define OPEN_SPANS_MAX (1u << 20)
#define OPEN_SPANS_CELLS (1u << 12)
#define OPEN_SPANS_DETAIL_BYTES_MAX (64u << 20)

struct open_spans {
    struct open_entry *entries;
    uint32_t cells[OPEN_SPANS_CELLS]; /* newest entry of each hash, index + 1 */
    uint32_t first;                   /* cells before it are empty */
    uint32_t count, room;             /* entries ever used */
    uint32_t free;                    /* list of those that are free, index + 1 */
    uint64_t detail_bytes;            /* of all that are open */
    uint64_t cut;                     /* details for which there was no room */
    bool failed;                      /* out of memory: details are missing */
    uint64_t crowded;                 /* begins that found no room */
    uint64_t strays;                  /* ends without a begin */
    uint64_t backwards;               /* that end before they begin */
};

/* detail: what more the span has, NULL for nothing; it is copied. False when there is no room. Zero
 * is none open. */
bool open_spans_push(struct open_spans *open, uint64_t key, const struct trace_span *span,
                     const struct trace_detail *detail);
/* *detail_out is to be freed; NULL: it has none. */
bool open_spans_pop(struct open_spans *open, uint64_t key, struct trace_span *span_out,
                    struct trace_detail **detail_out);
/* The same for an end at that time: *span_out ends there, or where it begins. */
bool open_spans_end(struct open_spans *open, uint64_t key, int64_t stop_ns,
                    struct trace_span *span_out, struct trace_detail **detail_out);
/* Any one of those that are left; false when none is. */
bool open_spans_pop_any(struct open_spans *open, struct trace_span *span_out,
                        struct trace_detail **detail_out);
/* Says what was dropped or cut, with other arguments of that file that were; whether it was
 * nothing. */
bool open_spans_report(const struct open_spans *open, const char *name, uint64_t cut);
void open_spans_free(struct open_spans *open);

#endif /* OPEN_SPANS_H */
