/* SPDX-License-Identifier: Apache-2.0 */
#include "stack_rows.h"
#include "grow.h"
#include "message.h"
#include "sorted.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What rows of a look begin with. */
struct look_row {
    uint64_t thread;
    int64_t time_ns;
    uint64_t place; /* of a word; or a frame's depth */
};
struct word_row {
    struct look_row look;
    uint64_t word;
};
struct python_row {
    struct look_row look;
    uint64_t function, file, line, entry; /* the first two: names of the file */
};
enum { PYTHON_NOT_KNOWN = 2 }; /* an entry: instead of a function it says what Python it is */
struct file_row {
    uint64_t start, end, offset, path, build_id; /* the last two: names of the file */
};

/* ---- coming in ------------------------------------------------------------------------------- */

void stack_rows_begin_file(struct stack_rows *rows, int64_t from_ns, int64_t until_ns)
{
    rows->from_ns = from_ns;
    rows->until_ns = until_ns;
    rows->calls.before = rows->calls.count;
    rows->words.before = rows->words.count;
    rows->files.before = rows->files.count;
    rows->python.before = rows->python.count;
    rows->dropped = false;
}

void stack_rows_forget(struct stack_rows *rows)
{
    rows->calls.count = rows->calls.before;
    rows->words.count = rows->words.before;
    rows->files.count = rows->files.before;
    rows->python.count = rows->python.before;
}

static uint64_t optional_cell(const uint64_t *column, uint32_t row)
{
    return column ? column[row] : 0;
}

static void put_row(enum early_table table, const uint64_t *const *cells, uint32_t i, void *row)
{
    if (table == EARLY_OPEN_CALL)
        *(struct open_call *)row = (struct open_call){
            .time_ns = (int64_t)cells[AT_open_call_time][i],
            .since_ns = (int64_t)cells[AT_open_call_since][i],
            .thread = cells[AT_open_call_thread][i],
            .kind = cells[AT_open_call_kind][i],
            .object = cells[AT_open_call_object][i],
            .holder = cells[AT_open_call_holder][i],
            .system_call = cells[AT_open_call_system_call][i],
            .system_call_name = optional_cell(cells[AT_open_call_system_call_name], i)};
    else if (table == EARLY_STACK_WORD)
        *(struct word_row *)row = (struct word_row){{cells[AT_stack_word_thread][i],
                                                     (int64_t)cells[AT_stack_word_time][i],
                                                     cells[AT_stack_word_place][i]},
                                                    cells[AT_stack_word_word][i]};
    else if (table == EARLY_PYTHON_FRAME)
        *(struct python_row *)row = (struct python_row){
            {cells[AT_python_frame_thread][i], (int64_t)cells[AT_python_frame_time][i],
             cells[AT_python_frame_depth][i]},
            .function = cells[AT_python_frame_function][i],
            .file = cells[AT_python_frame_file][i],
            .line = cells[AT_python_frame_line][i],
            .entry = cells[AT_python_frame_entry][i]};
    else
        *(struct file_row *)row = (struct file_row){.start = cells[AT_code_file_start][i],
                                                    .end = cells[AT_code_file_end][i],
                                                    .offset = cells[AT_code_file_offset][i],
                                                    .path = cells[AT_code_file_path][i],
                                                    .build_id = cells[AT_code_file_build_id][i]};
}

bool stack_rows_add(struct stack_rows *rows, enum early_table table, const uint64_t *const *cells,
                    uint32_t count)
{
    const size_t bytes = table == EARLY_OPEN_CALL    ? sizeof(struct open_call)
                         : table == EARLY_STACK_WORD ? sizeof(struct word_row)
                         : table == EARLY_CODE_FILE  ? sizeof(struct file_row)
                                                     : sizeof(struct python_row);
    struct stack_list *list = table == EARLY_OPEN_CALL    ? &rows->calls
                              : table == EARLY_STACK_WORD ? &rows->words
                              : table == EARLY_CODE_FILE  ? &rows->files
                                                          : &rows->python;
    const uint64_t *times = table == EARLY_OPEN_CALL      ? cells[AT_open_call_time]
                            : table == EARLY_STACK_WORD   ? cells[AT_stack_word_time]
                            : table == EARLY_PYTHON_FRAME ? cells[AT_python_frame_time]
                                                          : NULL;
    for (uint32_t i = 0; i < count && !rows->failed; i++) {
        if (times && ((int64_t)times[i] < rows->from_ns || (int64_t)times[i] >= rows->until_ns))
            continue; /* of another file */
        if (list->count == STACK_ROWS_MAX)
            rows->dropped = true;
        else if (!grow_array32(&list->rows, &list->room, list->count + 1, bytes))
            rows->failed = true;
        else
            put_row(table, cells, i, (char *)list->rows + list->count++ * bytes);
    }
    return !rows->failed;
}

static int by_stack(const void *left, const void *right)
{
    const struct look_row *a = left, *b = right;
    SORTED_BY(a, b, thread);
    SORTED_BY(a, b, time_ns);
    return (a->place > b->place) - (a->place < b->place);
}

SORTED_COMPARE(by_look_time, struct open_call, it->time_ns)

void stack_rows_end_file(struct stack_rows *rows, const char *name)
{
    if (rows->calls.count)
        qsort(rows->calls.rows, rows->calls.count, sizeof(struct open_call), by_look_time);
    if (rows->words.count)
        qsort(rows->words.rows, rows->words.count, sizeof(struct word_row), by_stack);
    if (rows->python.count)
        qsort(rows->python.rows, rows->python.count, sizeof(struct python_row), by_stack);
    if (rows->dropped)
        message("%s: stacks and long calls beyond %u rows are dropped", name, STACK_ROWS_MAX);
    if (rows->failed)
        message("%s: out of memory; stacks are missing", name);
}

void stack_rows_free(struct stack_rows *rows)
{
    free(rows->calls.rows);
    free(rows->words.rows);
    free(rows->files.rows);
    free(rows->python.rows);
    free(rows->of_stack);
    index_map_free(&rows->by_os_id);
    unwind_free(rows->unwind);
}

/* ---- threads --------------------------------------------------------------------------------- */

/* Its place in the trailer; INDEX_NONE: it is not there. */
static uint32_t find_os_id(const struct stack_rows *rows, const struct rbwp_trailer *trailer,
                           uint64_t os_id)
{
    for (uint32_t step = 0, i;
         (i = index_map_next(&rows->by_os_id, id_hash(os_id), &step)) != INDEX_NONE;)
        if (trailer->threads[i].os_id == os_id)
            return i;
    return INDEX_NONE;
}

uint64_t stack_rows_thread(struct stack_rows *rows, const struct rbwp_trailer *trailer,
                           uint64_t os_id)
{
    if (!trailer || !os_id)
        return 0;
    /* From the last on: a number that was given again is that of the later thread. */
    if (!rows->by_os_id.count) {
        for (uint32_t i = trailer->thread_count; i-- > 0 && !rows->failed;)
            if (trailer->threads[i].os_id &&
                find_os_id(rows, trailer, trailer->threads[i].os_id) == INDEX_NONE)
                rows->failed =
                    !index_map_add(&rows->by_os_id, id_hash(trailer->threads[i].os_id), i);
    }
    const uint32_t found = find_os_id(rows, trailer, os_id);
    return found == INDEX_NONE ? 0 : trailer->threads[found].thread_id;
}

/* ---- stacks ---------------------------------------------------------------------------------- */

/* The first row of a look, or of a later one. */
static uint32_t first_row(const struct stack_list *list, size_t bytes, uint64_t thread,
                          int64_t time_ns)
{
    const struct look_row key = {.thread = thread, .time_ns = time_ns};
    uint32_t at;
    SORTED_FIND(at, list->count, by_stack((const char *)list->rows + at * bytes, &key) < 0);
    return at;
}

static bool is_of_look(const struct look_row *row, uint64_t thread, int64_t time_ns)
{
    return row->thread == thread && row->time_ns == time_ns;
}

static int by_thread(const void *left, const void *right)
{
    const struct open_call *const *a = left, *const *b = right;
    SORTED_BY((*a), (*b), thread);
    SORTED_BY((*a), (*b), kind);
    return (*a < *b) - (*a > *b); /* the last one first */
}

void stack_rows_mark_last(struct stack_rows *rows)
{
    struct open_call *calls = rows->calls.rows;
    const struct word_row *words = rows->words.rows;
    struct open_call **order = calloc((size_t)rows->calls.count + 1, sizeof *order);
    const struct open_call *marked = NULL;
    rows->failed |= !order;
    for (uint32_t i = 0; order && i < rows->calls.count; i++)
        order[i] = &calls[i];
    if (order && rows->calls.count)
        qsort(order, rows->calls.count, sizeof *order, by_thread);
    for (uint32_t i = 0; order && i < rows->calls.count; i++) {
        const uint32_t at =
            first_row(&rows->words, sizeof *words, order[i]->thread, order[i]->time_ns);
        const bool known =
            marked && marked->thread == order[i]->thread && marked->kind == order[i]->kind;
        order[i]->last = !known && at < rows->words.count &&
                         is_of_look(&words[at].look, order[i]->thread, order[i]->time_ns);
        marked = order[i]->last ? order[i] : marked;
    }
    free(order);
}

/* The words of a stack, each place once; their number. */
static uint32_t words_of(struct stack_rows *rows, uint64_t thread, int64_t time_ns)
{
    const struct word_row *all = rows->words.rows;
    uint32_t low = first_row(&rows->words, sizeof *all, thread, time_ns), count = 0;
    for (; low < rows->words.count && is_of_look(&all[low].look, thread, time_ns); low++) {
        if (count && rows->of_stack[count - 1].place == all[low].look.place)
            continue;
        if (!GROW_ARRAY(rows->of_stack, rows->of_stack_room, count + 1)) {
            rows->failed = true;
            return 0;
        }
        rows->of_stack[count++] = (struct stack_word){all[low].look.place, all[low].word};
    }
    return count;
}

/* False without memory. */
static bool make_unwind(struct stack_rows *rows)
{
    const struct file_row *files = rows->files.rows;
    const struct open_call *calls = rows->calls.rows;
    struct code_file *code = calloc((size_t)rows->files.count + 1, sizeof *code);
    for (uint32_t i = 0; code && i < rows->files.count; i++)
        code[i] = (struct code_file){files[i].start, files[i].end, files[i].offset,
                                     rbwp_catalog_name(rows->early->catalog, files[i].path),
                                     rbwp_catalog_name(rows->early->catalog, files[i].build_id)};
    if (code)
        rows->unwind =
            unwind_new(code, rows->files.count, rows->calls.count ? calls[0].time_ns : 0);
    free(code);
    return rows->unwind;
}

/* As long as the trace; up to one of these characters, as before the version of a symbol. */
static struct trace_text kept(struct trace *trace, const char *text, const char *until)
{
    const uint32_t label = text ? trace_add_label(trace, text, (uint32_t)strcspn(text, until)) : 0;
    return label ? trace_label_of(trace, label) : (struct trace_text){0};
}

static struct trace_text kept_name(struct stack_rows *rows, uint64_t number)
{
    const struct rbwp_text name = rbwp_catalog_name(rows->early->catalog, number);
    const uint32_t label = name.bytes ? trace_add_label(rows->trace, name.text, name.bytes) : 0;
    return label ? trace_label_of(rows->trace, label) : (struct trace_text){0};
}

static void put_frame(struct stack_rows *rows, struct trace_stack *stack, struct trace_frame frame)
{
    if (stack->frame_count < sizeof rows->frames / sizeof *rows->frames)
        rows->frames[stack->frame_count++] = frame;
}

/* Those from *next on up to one that C has called: a C frame of the interpreter, at this address,
 * begins with it. False: there is none, so the C frame stands for others. */
static bool put_python(struct stack_rows *rows, struct trace_stack *stack, uint32_t *next,
                       uint32_t end, uint64_t address)
{
    const struct python_row *all = rows->python.rows;
    uint64_t entry = 0;
    while (!entry && *next < end) {
        const struct python_row *row = &all[(*next)++];
        entry = row->entry;
        if (entry != PYTHON_NOT_KNOWN || address)
            put_frame(rows, stack,
                      (struct trace_frame){.address = address,
                                           .function = kept_name(rows, row->function),
                                           .source = kept_name(rows, row->file),
                                           .line = (uint32_t)row->line,
                                           .python = true});
    }
    return entry && entry != PYTHON_NOT_KNOWN;
}

/* Both kinds of frames. Where C frames of the interpreter are missing, as nothing is known of its
 * file or the stack is cut, the Python frames that are left are the outermost ones. */
static void merge_frames(struct stack_rows *rows, const struct unwound *unwound, uint64_t thread,
                         int64_t time_ns, struct trace_stack *stack)
{
    static const char interprets[] = "_PyEval_EvalFrameDefault";
    const struct python_row *all = rows->python.rows;
    uint32_t next = first_row(&rows->python, sizeof *all, thread, time_ns), end = next;
    while (end < rows->python.count && is_of_look(&all[end].look, thread, time_ns))
        end++;
    for (uint32_t i = 0; i < unwound->count; i++) {
        const struct unwound_frame *frame = &unwound->frames[i];
        if (frame->function && !strncmp(frame->function, interprets, sizeof interprets - 1) &&
            put_python(rows, stack, &next, end, frame->address))
            continue;
        put_frame(rows, stack,
                  (struct trace_frame){.address = frame->address,
                                       .function = kept(rows->trace, frame->function, "@"),
                                       .offset = frame->offset,
                                       .file = kept(rows->trace, frame->file, ""),
                                       .source = kept(rows->trace, frame->source, ""),
                                       .line = frame->line,
                                       .guessed = frame->guessed});
    }
    while (next < end)
        (void)put_python(rows, stack, &next, end, 0);
}

void stack_rows_unwind(struct stack_rows *rows, uint64_t thread, int64_t time_ns,
                       struct trace_stack *stack)
{
    stack->frame_count = 0;
    const uint32_t count = words_of(rows, thread, time_ns);
    if (!count)
        return;
    if (!rows->unwind && !make_unwind(rows)) {
        rows->failed = true;
        return;
    }
    const struct unwound unwound = unwind_stack(rows->unwind, rows->of_stack, count);
    stack->frames = rows->frames;
    merge_frames(rows, &unwound, thread, time_ns, stack);
    stack->whole = unwound.whole;
}

/* Numbers of descriptors and processes are no addresses. */
struct trace_text stack_rows_object(struct stack_rows *rows, uint64_t address)
{
    enum { LEAST_ADDRESS = 1 << 16 };
    char text[TRACE_FRAME_BYTES];
    struct stack_object *object = &rows->objects[id_hash(address) % 64];
    if (address < LEAST_ADDRESS || rows->failed || object->address == address)
        return address < LEAST_ADDRESS ? (struct trace_text){0} : object->name;
    rows->failed = !rows->unwind && !make_unwind(rows);
    const bool known = !rows->failed && unwind_object(rows->unwind, address, text, sizeof text);
    *object = (struct stack_object){address, kept(rows->trace, known ? text : NULL, "")};
    return object->name;
}

static void python_frame_name(const struct trace_frame *frame, char name[TRACE_FRAME_BYTES])
{
    const struct trace_text file = trace_path_end(frame->source);
    const struct trace_text function =
        frame->function.bytes ? frame->function : (struct trace_text){"?", 1};
    const uint32_t most = TRACE_FRAME_BYTES / 2 - 16;
    char line[16] = "";
    if (frame->line)
        snprintf(line, sizeof line, ":%" PRIu32, frame->line);
    snprintf(name, TRACE_FRAME_BYTES, "%.*s (%.*s%s)",
             (int)(function.bytes < most ? function.bytes : most), function.text,
             (int)(file.bytes < most ? file.bytes : most), file.text, line);
}

struct trace_text trace_frame_name(const struct trace_frame *frame, char name[TRACE_FRAME_BYTES])
{
    const struct trace_text file = trace_path_end(frame->file);
    const char *mark = frame->guessed ? "?" : "";
    const int most = TRACE_FRAME_BYTES - 32;
    if (frame->python && frame->source.bytes)
        python_frame_name(frame, name);
    else if (frame->function.bytes)
        snprintf(name, TRACE_FRAME_BYTES, "%.*s%s",
                 frame->function.bytes < (uint32_t)most ? (int)frame->function.bytes : most,
                 frame->function.text, mark);
    else if (file.bytes)
        snprintf(name, TRACE_FRAME_BYTES, "%.*s+0x%" PRIx64 "%s",
                 file.bytes < (uint32_t)most ? (int)file.bytes : most, file.text, frame->offset,
                 mark);
    else
        snprintf(name, TRACE_FRAME_BYTES, "0x%" PRIx64 "%s", frame->address, mark);
    return trace_text(name);
}

struct trace_text stack_rows_folded(struct stack_rows *rows, uint64_t thread, int64_t time_ns)
{
    struct trace_stack stack;
    char name[TRACE_FRAME_BYTES];
    size_t at = sizeof rows->text;
    stack_rows_unwind(rows, thread, time_ns, &stack);
    for (uint32_t i = 0; i < stack.frame_count; i++) {
        const struct trace_text frame = trace_frame_name(&stack.frames[i], name);
        if (frame.bytes + 1 > at)
            break;
        if (i)
            rows->text[--at] = ';';
        at -= frame.bytes;
        memcpy(rows->text + at, frame.text, frame.bytes);
    }
    return (struct trace_text){rows->text + at, (uint32_t)(sizeof rows->text - at)};
}
