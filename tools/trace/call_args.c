/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments lie by thread, in the order of their calls, which is that of the file. */
#include "call_args.h"
#include "catalog_join.h"
#include "grow.h"
#include "message.h"
#include "table_bind.h"

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

/* Where rows are read from. */
struct loading {
    struct call_args *args;
    struct rbwp_reader *reader;
    uint16_t columns[COLUMNS_argument];
    uint64_t dropped;
    uint64_t before; /* how many there were */
    int64_t from_ns, until_ns;
};

/* ---- one row --------------------------------------------------------------------------- */

static struct thread_args *thread_of(struct call_args *args, uint64_t thread_id)
{
    uint32_t number = thread_map_place(&args->map, thread_id, &args->threads, &args->thread_room,
                                       sizeof *args->threads);
    return number == THREAD_NONE ? NULL : &args->threads[number];
}

static bool call_args_add(struct call_args *args, uint64_t thread_id, struct argument argument,
                          unsigned type)
{
    struct thread_args *thread = thread_of(args, thread_id);
    if (!thread ||
        !grow_array32(&thread->list, &thread->room, thread->count + 1, sizeof *thread->list))
        return false;
    argument.order = thread->count << TYPE_BITS | type;
    thread->jumbled |=
        thread->count && argument.begun_ns < thread->list[thread->count - 1].begun_ns;
    thread->list[thread->count++] = argument;
    return true;
}

static void call_args_on_rows(struct loading *loading, const struct rbwp_rows *rows)
{
    struct call_args *args = loading->args;
    const uint16_t *at = loading->columns;
    for (uint32_t i = 0; i < rows->rows && !args->failed; i++) {
        uint64_t type = rows->cells[at[AT_argument_type]][i],
                 key = rows->cells[at[AT_argument_key]][i];
        int64_t begun_ns = (int64_t)rows->cells[at[AT_argument_begun]][i];
        if (type < U64 || type > TEXT_MORE || begun_ns < loading->from_ns ||
            begun_ns >= loading->until_ns)
            continue; /* of a later version, or of another file */
        if (args->count == CALL_ARGS_MAX) {
            loading->dropped++;
            continue;
        }
        args->failed =
            !call_args_add(args, rows->cells[at[AT_argument_thread]][i],
                           (struct argument){.begun_ns = begun_ns,
                                             .value = rows->cells[at[AT_argument_value]][i],
                                             .key = key < UINT32_MAX ? (uint32_t)key : 0},
                           (unsigned)type);
        args->count++;
    }
}

/* ---- which blocks ------------------------------------------------------------------------ */

static bool has_all_columns(const uint16_t *columns)
{
    unsigned found = 0;
    while (found < COLUMNS_argument && columns[found] != TABLE_NO_COLUMN)
        found++;
    return found == COLUMNS_argument;
}

/* Of a table: its number; else 0. */
static uint32_t table_of(const struct rbwp_block *block)
{
    struct rbwp_text tag = {(const char *)block->data, 4};
    if (block->header.records || block->header.data_bytes < 8 ||
        (memcmp(tag.text, RBWP_ROWS_TAG, 4) != 0 && memcmp(tag.text, RBWP_SCHEMA_TAG, 4) != 0))
        return 0;
    const uint8_t *number = block->data + tag.bytes;
    return number[0] | (uint32_t)number[1] << 8 | (uint32_t)number[2] << 16 |
           (uint32_t)number[3] << 24;
}

/* What breaks a rule is told when the file is read for its spans. */
static void call_args_on_block(struct loading *loading, const struct rbwp_block *block)
{
    struct call_args *args = loading->args;
    struct rbwp_rows rows;
    struct rbwp_error error;
    uint32_t table = table_of(block);
    if (block->header.records || (args->table && table && table != args->table))
        return;
    enum rbwp_status status = rbwp_catalog_take(args->catalog, block, &rows, &error);
    args->failed |= status == RBWP_E_MEMORY;
    uint32_t known = rbwp_catalog_schema_count(args->catalog);
    for (uint32_t i = 0; !args->table && table && i < known; i++) {
        const struct rbwp_schema *schema = rbwp_catalog_schema(args->catalog, i);
        if (table_bind(schema, KNOWN_argument, loading->columns) &&
            has_all_columns(loading->columns))
            args->table = schema->table;
    }
    if (status == RBWP_OK && rows.schema->table == args->table)
        call_args_on_rows(loading, &rows);
}

static void take_blocks(struct loading *loading, uint64_t end)
{
    struct rbwp_block block;
    while (!loading->args->failed && rbwp_reader_next_block(loading->reader, &block) == RBWP_OK &&
           block.offset < end)
        call_args_on_block(loading, &block);
}

/* The first range of a table begins with its schema. False if the index is wrong. */
static bool see_schema(struct loading *loading, const struct rbwp_table_range *range)
{
    struct rbwp_block block;
    if (rbwp_reader_seek(loading->reader, range->offset) != RBWP_OK ||
        rbwp_reader_next_block(loading->reader, &block) != RBWP_OK || block.offset != range->offset)
        return false;
    call_args_on_block(loading, &block);
    return true;
}

static int by_offset(const void *left, const void *right)
{
    const struct rbwp_table_range *a = left, *b = right;
    return a->offset < b->offset ? -1 : a->offset > b->offset;
}

/* The blocks of names and of the table in the order of the file: ranges may lie in each other. */
static void take_ranges(struct loading *loading, const struct rbwp_table_range *ranges,
                        uint32_t count)
{
    uint64_t end = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct rbwp_table_range *range = &ranges[i];
        if (range->table && range->table != loading->args->table)
            continue;
        uint64_t from = range->offset < end ? end : range->offset;
        uint64_t to =
            range->bytes < UINT64_MAX - range->offset ? range->offset + range->bytes : UINT64_MAX;
        if (to <= from || rbwp_reader_seek(loading->reader, from) != RBWP_OK)
            continue;
        take_blocks(loading, to);
        end = to;
    }
}

/* False if the index is wrong. */
static bool find_table(struct loading *loading, const struct rbwp_table_range *ranges,
                       uint32_t count)
{
    uint8_t *seen = calloc(RBWP_TABLES_MAX + 1, 1);
    bool good = seen;
    loading->args->failed |= !seen;
    for (uint32_t i = 0; good && i < count && !loading->args->table; i++) {
        uint32_t table = ranges[i].table;
        if (table == 0 || (table <= RBWP_TABLES_MAX && seen[table]))
            continue;
        good = table <= RBWP_TABLES_MAX && see_schema(loading, &ranges[i]);
        if (good)
            seen[table] = 1;
    }
    free(seen);
    return good;
}

/* False if the index is wrong: then nothing was taken. */
static bool load_by_index(struct loading *loading, const struct rbwp_trailer *trailer)
{
    uint32_t count = trailer->table_range_count;
    struct rbwp_table_range *ranges = calloc(count, sizeof *ranges);
    if (!ranges) {
        loading->args->failed = true;
        return true;
    }
    memcpy(ranges, trailer->table_ranges, count * sizeof *ranges);
    qsort(ranges, count, sizeof *ranges, by_offset);
    bool good = find_table(loading, ranges, count);
    if (good && loading->args->table)
        take_ranges(loading, ranges, count);
    free(ranges);
    return good;
}

static bool start_catalog(struct call_args *args)
{
    rbwp_catalog_free(args->catalog);
    args->table = 0;
    args->catalog = rbwp_catalog_new();
    args->failed |= !args->catalog;
    return args->catalog;
}

/* ---- all of them --------------------------------------------------------------------------- */

static int by_call(const void *left, const void *right)
{
    const struct argument *a = left, *b = right;
    if (a->begun_ns != b->begun_ns)
        return a->begun_ns < b->begun_ns ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

static void call_args_report(const struct loading *loading, const char *name)
{
    if (loading->dropped)
        message("%s: arguments beyond %u are dropped", name, CALL_ARGS_MAX);
    if (loading->args->failed)
        message("%s: out of memory; arguments of calls are missing", name);
}

/* Records have no arguments in them: their blocks are passed over by their headers. */
static bool pass_over_records(void *context, struct rbwp_block *block)
{
    (void)context;
    return block->header.records > 0;
}

static void forget_rows(struct loading *loading)
{
    struct call_args *args = loading->args;
    for (uint32_t i = 0; i < args->map.count && i < args->thread_room; i++)
        args->threads[i].count = args->threads[i].before;
    args->count = loading->before;
    loading->dropped = 0;
}

static void load_all(struct loading *loading, const struct rbwp_trailer *trailer)
{
    struct call_args *args = loading->args;
    /* A file may have tables without TIDX: then nothing says that it has none. */
    bool by_index = trailer && trailer->table_range_count && start_catalog(args) &&
                    load_by_index(loading, trailer);
    if (by_index || args->failed)
        return;
    args->failed |= rbwp_reader_rewind(loading->reader) != RBWP_OK;
    if (!args->failed && start_catalog(args))
        take_blocks(loading, UINT64_MAX);
}

static bool rewind_after(struct loading *loading)
{
    uint64_t problems = rbwp_reader_problem_count(loading->reader);
    loading->args->failed |= rbwp_reader_rewind(loading->reader) != RBWP_OK;
    return problems > 0;
}

/* Of the names of two files those of the one that has more: the same names have the same numbers.
 */
static void keep_names(struct call_args *args, struct rbwp_catalog *earlier, uint32_t table)
{
    struct rbwp_catalog *later = args->catalog;
    if (earlier && (!later || catalog_last_name(later) < catalog_last_name(earlier))) {
        args->catalog = earlier;
        earlier = later;
    }
    rbwp_catalog_free(earlier);
    args->table = args->table ? args->table : table;
}

void call_args_start(struct call_args *args, struct trace *trace)
{
    *args = (struct call_args){.trace = trace};
}

void call_args_load(struct call_args *args, struct input *input, int64_t from_ns, int64_t until_ns)
{
    const struct rbwp_trailer *trailer = rbwp_reader_trailer(input->reader);
    struct rbwp_catalog *earlier = args->catalog;
    const uint32_t table = args->table;
    struct loading loading = {.args = args,
                              .reader = input->reader,
                              .before = args->count,
                              .from_ns = from_ns,
                              .until_ns = until_ns};
    if (rbwp_reader_is_stream(input->reader) || input->follow)
        return;
    args->catalog = NULL;
    for (uint32_t i = 0; i < args->map.count && i < args->thread_room; i++)
        args->threads[i].before = args->threads[i].count;
    rbwp_reader_set_decoded(input->reader, pass_over_records, NULL);
    load_all(&loading, trailer);
    rbwp_reader_set_decoded(input->reader, NULL, NULL);
    /* A header that is damaged leads past the blocks behind it. */
    if (rewind_after(&loading) && !args->failed) {
        forget_rows(&loading);
        load_all(&loading, trailer);
        (void)rewind_after(&loading);
    }
    for (uint32_t i = 0; i < args->map.count && i < args->thread_room; i++)
        if (args->threads[i].jumbled)
            qsort(args->threads[i].list, args->threads[i].count, sizeof *args->threads[i].list,
                  by_call);
    keep_names(args, earlier, table);
    call_args_report(&loading, input->name);
}

void call_args_free(struct call_args *args)
{
    for (uint32_t i = 0; i < args->map.count && i < args->thread_room; i++)
        free(args->threads[i].list);
    free(args->threads);
    thread_map_free(&args->map);
    rbwp_catalog_free(args->catalog);
    free(args->names);
    span_detail_free(&args->detail);
}

/* ---- of a call ------------------------------------------------------------------------------- */

/* The first that belongs to a call that began then, or later. */
static uint32_t call_args_find(const struct thread_args *thread, int64_t begin_ns)
{
    uint32_t low = 0, end = thread->count;
    while (low < end) {
        uint32_t middle = low + (end - low) / 2;
        if (thread->list[middle].begun_ns < begin_ns)
            low = middle + 1;
        else
            end = middle;
    }
    return low;
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
    struct rbwp_text text = rbwp_catalog_name(args->catalog, number);
    return text.bytes ? trace_add_name(args->trace, text.text, text.bytes)
                      : trace_add_name(args->trace, "?", 1);
}

/* Of a name of the file. Numbers of strangers may be anything. */
static uint32_t call_args_name_of(struct call_args *args, uint64_t number)
{
    if (number >= KEPT_NAMES ||
        !grow_zeroed32(&args->names, &args->name_room, (uint32_t)number + 1, sizeof *args->names))
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
                                        int64_t begin_ns, uint32_t category)
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
    span_detail_start(&args->detail);
    args->detail.head.category = category;
    while (from < end)
        from += call_args_put(args, &thread->list[from], end - from);
    args->failed |= args->detail.failed;
    return span_detail_finish(&args->detail);
}
