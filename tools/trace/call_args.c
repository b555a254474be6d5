/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments lie by thread, in the order of their calls, which is that of the file. */
#include "call_args.h"
#include "message.h"
#include "sorted.h"

#include <stdlib.h>
#include <string.h>

enum { U64 = 1, I64 = 2, F64 = 3, NAME = 4, TEXT = 5, TEXT_MORE = 6 }; /* column "type" */
enum { TYPE_BITS = 3, PIECE_BYTES = 8, KEPT_NAMES = 1 << 20 };
#define ROUNDING_NS 1 /* of a call's begin, in its record and in the row */

struct argument {
    int64_t begun_ns;
    uint64_t value;
    uint32_t key;
    uint32_t order; /* of coming, and below that the type */
};

struct thread_args {
    struct argument *list;
    uint32_t count, room;
    uint32_t next;   /* behind those of the call before */
    uint32_t before; /* of earlier files */
    bool jumbled;    /* the clock was set back */
};

/* ---- one row --------------------------------------------------------------------------- */

static bool call_args_add(struct call_args *args, uint64_t thread_id, struct argument argument,
                          unsigned type)
{
    uint32_t number = thread_map_place(&args->map, thread_id, &args->threads, &args->thread_room,
                                       sizeof *args->threads);
    struct thread_args *thread = number == THREAD_NONE ? NULL : &args->threads[number];
    if (!thread || !GROW_ARRAY(thread->list, thread->room, thread->count + 1))
        return false;
    argument.order = thread->count << TYPE_BITS | type;
    thread->jumbled |=
        thread->count && argument.begun_ns < thread->list[thread->count - 1].begun_ns;
    thread->list[thread->count++] = argument;
    return true;
}

bool call_args_add_rows(struct call_args *args, const uint64_t *const *cells, uint32_t rows)
{
    for (uint32_t i = 0; i < rows && !args->failed; i++) {
        uint64_t type = cells[AT_argument_type][i], key = cells[AT_argument_key][i];
        int64_t begun_ns = (int64_t)cells[AT_argument_begun][i];
        if (type < U64 || type > TEXT_MORE || begun_ns < args->from_ns ||
            begun_ns >= args->until_ns)
            continue; /* of a later version, or of another file */
        if (args->count == CALL_ARGS_MAX) {
            args->dropped++;
            continue;
        }
        args->failed =
            !call_args_add(args, cells[AT_argument_thread][i],
                           (struct argument){.begun_ns = begun_ns,
                                             .value = cells[AT_argument_value][i],
                                             .key = key < UINT32_MAX ? (uint32_t)key : 0},
                           (unsigned)type);
        args->count++;
    }
    return !args->failed;
}

/* ---- all of them --------------------------------------------------------------------------- */

static int by_call(const void *left, const void *right)
{
    const struct argument *a = left, *b = right;
    SORTED_BY(a, b, begun_ns);
    return a->order < b->order ? -1 : a->order > b->order;
}

void call_args_forget(struct call_args *args)
{
    for (uint32_t i = 0; i < args->map.count && i < args->thread_room; i++)
        args->threads[i].count = args->threads[i].before;
    args->count = args->before;
    args->dropped = 0;
}

void call_args_start(struct call_args *args, struct trace *trace, const struct early_rows *early)
{
    *args = (struct call_args){.trace = trace, .early = early};
}

void call_args_begin_file(struct call_args *args, int64_t from_ns, int64_t until_ns)
{
    args->from_ns = from_ns;
    args->until_ns = until_ns;
    args->before = args->count;
    args->dropped = 0;
    for (uint32_t i = 0; i < args->map.count && i < args->thread_room; i++)
        args->threads[i].before = args->threads[i].count;
}

void call_args_end_file(struct call_args *args, const char *name)
{
    for (uint32_t i = 0; i < args->map.count && i < args->thread_room; i++)
        if (args->threads[i].jumbled)
            qsort(args->threads[i].list, args->threads[i].count, sizeof *args->threads[i].list,
                  by_call);
    if (args->dropped)
        message("%s: arguments beyond %u are dropped", name, CALL_ARGS_MAX);
    if (args->failed)
        message("%s: out of memory; arguments of calls are missing", name);
}

void call_args_free(struct call_args *args)
{
    for (uint32_t i = 0; i < args->map.count && i < args->thread_room; i++)
        free(args->threads[i].list);
    free(args->threads);
    thread_map_free(&args->map);
    free(args->names);
    span_detail_free(&args->detail);
}

/* ---- of a call ------------------------------------------------------------------------------- */

/* The first that belongs to a call that began then, or later. */
static uint32_t call_args_find(const struct thread_args *thread, int64_t begin_ns)
{
    uint32_t at;
    SORTED_FIND(at, thread->count, thread->list[at].begun_ns < begin_ns);
    return at;
}

/* The same, where calls mostly come in order. */
static uint32_t find_from_last(const struct thread_args *thread, int64_t begin_ns)
{
    uint32_t at = thread->next;
    bool before = at == 0 || thread->list[at - 1].begun_ns < begin_ns;
    bool after = at == thread->count || thread->list[at].begun_ns >= begin_ns;
    return before && after ? at : call_args_find(thread, begin_ns);
}

static uint32_t call_args_look_up_name(const struct call_args *args, uint64_t number)
{
    struct rbwp_text text = rbwp_catalog_name(args->early->catalog, number);
    return text.bytes ? trace_add_name(args->trace, text.text, text.bytes)
                      : trace_add_name(args->trace, "?", 1);
}

/* Of a name of the file. Numbers of strangers may be anything. */
static uint32_t call_args_name_of(struct call_args *args, uint64_t number)
{
    if (number >= KEPT_NAMES || !GROW_ZEROED(args->names, args->name_room, (uint32_t)number + 1))
        return call_args_look_up_name(args, number);
    uint32_t *name = &args->names[number];
    if (!*name)
        *name = 1 + call_args_look_up_name(args, number);
    return *name - 1;
}

static unsigned type_of(const struct argument *argument)
{
    return argument->order & ((1u << TYPE_BITS) - 1);
}

/* The text that begins there; how many rows it has. Where its first pieces were not kept it says
 * so. */
static uint32_t call_args_put_text(struct call_args *args, const struct argument *first,
                                   uint32_t left)
{
    static const char cut[] = "\u2026";
    uint32_t rows = 0, bytes = type_of(first) == TEXT_MORE ? sizeof cut - 1 : 0;
    memcpy(args->text, cut, bytes);
    do {
        for (unsigned i = 0; i < PIECE_BYTES && bytes < CALL_ARG_TEXT_MAX; i++)
            args->text[bytes++] = (char)(first[rows].value >> 8 * i);
        rows++;
    } while (rows < left && type_of(&first[rows]) == TEXT_MORE && first[rows].key == first->key);
    while (bytes && args->text[bytes - 1] == '\0')
        bytes--;
    span_detail_text(&args->detail, call_args_name_of(args, first->key), TRACE_ARG_TEXT,
                     (struct trace_text){args->text, bytes});
    return rows;
}

/* The argument that begins there; how many rows it has. */
static uint32_t call_args_put(struct call_args *args, const struct argument *first, uint32_t left)
{
    static const uint8_t types[] = {
        [U64] = TRACE_ARG_U64, [I64] = TRACE_ARG_I64, [F64] = TRACE_ARG_F64};
    unsigned type = type_of(first);
    if (type == TEXT || type == TEXT_MORE)
        return call_args_put_text(args, first, left);
    if (type == NAME)
        span_detail_arg(&args->detail, call_args_name_of(args, first->key), TRACE_ARG_NAME,
                        call_args_name_of(args, first->value));
    else
        span_detail_arg(&args->detail, call_args_name_of(args, first->key), types[type],
                        first->value);
    return 1;
}

const struct trace_detail *call_args_of(struct call_args *args, uint64_t thread_id,
                                        int64_t begin_ns, const struct trace_detail *head)
{
    uint32_t number = args->count ? thread_map_find(&args->map, thread_id) : THREAD_NONE;
    if (number == THREAD_NONE || number >= args->thread_room)
        return NULL;
    struct thread_args *thread = &args->threads[number];
    int64_t least_ns = begin_ns > INT64_MIN ? begin_ns - ROUNDING_NS : begin_ns;
    uint32_t from = find_from_last(thread, least_ns), end = from;
    while (end < thread->count &&
           (uint64_t)thread->list[end].begun_ns - (uint64_t)least_ns <= 2 * ROUNDING_NS)
        end++;
    thread->next = end;
    if (from == end)
        return NULL;
    span_detail_continue(&args->detail, head);
    while (from < end)
        from += call_args_put(args, &thread->list[from], end - from);
    args->failed |= args->detail.failed;
    return span_detail_finish(&args->detail);
}
