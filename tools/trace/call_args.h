/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call_args.h - what programs noted of calls: the rows of the table argument (SPEC.md, section
 * 9.3), brought to the calls that they belong to.
 *
 * Rows and records come in blocks of their own, in no order between them, and a call goes on its
 * way as soon as it has ended. So the rows are read beforehand: 24 bytes of memory each, for files
 * that have them.
 */
#ifndef CALL_ARGS_H
#define CALL_ARGS_H

#include "input.h"
#include "rbwp_table.h"
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
    struct rbwp_catalog *catalog; /* NULL: the file has none, or was not looked at */
    uint32_t table;               /* number of the file's table */
    uint32_t *names, name_room;   /* numbers of the trace's + 1, by number of the file's */
    struct detail_maker detail;
    char text[CALL_ARG_TEXT_MAX]; /* that is put together */
    bool failed;                  /* out of memory; some are missing */
};

void call_args_start(struct call_args *args, struct trace *trace);
/* Reads them, then goes back to the input's first block. Of the files of one recording each: those
 * from from_ns on and before until_ns. */
void call_args_load(struct call_args *args, struct input *input, int64_t from_ns, int64_t until_ns);
void call_args_free(struct call_args *args);

/* Rows of that table belong to calls: they are shown as nothing else. */
static inline bool call_args_has(const struct call_args *args, const struct rbwp_schema *schema)
{
    return args->catalog && schema->table == args->table;
}

/* Of the call of the thread that began then, on the file's axis; NULL: none. Until the next call.
 */
const struct trace_detail *call_args_of(struct call_args *args, uint64_t thread_id,
                                        int64_t begin_ns, uint32_t category);

#endif /* CALL_ARGS_H */
