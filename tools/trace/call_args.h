/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call_args.h - what programs noted of calls: the rows of the table argument (SPEC.md, section
 * 9.3), brought to the calls that they belong to.
 *
 * They are read beforehand (early_rows.h): 24 bytes of memory each, for files that have them.
 */
#ifndef CALL_ARGS_H
#define CALL_ARGS_H

#include "early_rows.h"
#include "span_detail.h"
#include "thread_map.h"
#include "trace.h"

#define CALL_ARGS_MAX (64u << 20) /* of a file; what is beyond is dropped and reported */
#define CALL_ARG_TEXT_MAX 4096u   /* bytes; longer texts are cut */

struct call_args {
    struct trace *trace;
    struct thread_map map;
    struct thread_args *threads;
    uint32_t thread_room;
    uint64_t count;
    const struct early_rows *early; /* has the file's names */
    int64_t from_ns, until_ns;      /* of the file that is read: its calls */
    uint64_t before, dropped;       /* how many there were before it; of its own */
    uint32_t *names, name_room;     /* numbers of the trace's + 1, by number of the file's */
    struct detail_maker detail;
    char text[CALL_ARG_TEXT_MAX]; /* that is put together */
    bool failed;                  /* out of memory; some are missing */
};

void call_args_start(struct call_args *args, struct trace *trace, const struct early_rows *early);
/* Of the files of one recording each: rows from from_ns on and before until_ns. */
void call_args_begin_file(struct call_args *args, int64_t from_ns, int64_t until_ns);
/* Cells as in struct early_rows_user. False without memory. */
bool call_args_add_rows(struct call_args *args, const uint64_t *const *cells, uint32_t rows);
/* Those of this file come again. */
void call_args_forget(struct call_args *args);
void call_args_end_file(struct call_args *args, const char *name);
void call_args_free(struct call_args *args);

/* Of the call of the thread that began then, on the file's axis, with what else it has; NULL: none.
 * Until the next call. */
const struct trace_detail *call_args_of(struct call_args *args, uint64_t thread_id,
                                        int64_t begin_ns, const struct trace_detail *head);

#endif /* CALL_ARGS_H */
