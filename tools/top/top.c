/* SPDX-License-Identifier: Apache-2.0 */
#include "top.h"
#include "controlled.h"
#include "live_path.h"
#include "message.h"
#include "quantity.h"
#include "read_clock.h"
#include "stacks.h"
#include "stalls.h"
#include "text_name.h"
#include "trace_span.h"
#include "why_view.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

/* ---- who waits for whom ---------------------------------------------------------------------- */
/*
 * The lines that say who waits for whom, and why calls were slow.
 *
 * A look that is older than the window says nothing alone: what its thread did between both was not
 * seen.
 */

struct search {
    struct stalls stalls;
    char *found;
};

static void search_on_track(void *context, const struct trace_track *track)
{
    stalls_on_track(&((struct search *)context)->stalls, track);
}

static void search_on_spans(void *context, const struct trace_span *spans, size_t count,
                            const struct trace_details *details)
{
    (void)details;
    stalls_on_spans(&((struct search *)context)->stalls, spans, count);
}

static void search_on_stack(void *context, const struct trace_stack *stack)
{
    stalls_on_stack(&((struct search *)context)->stalls, stack);
}

static bool search_begin(struct trace_pass *pass)
{
    pass->sink = (struct trace_sink){.context = (void *)(uintptr_t)pass->asked,
                                     .track = search_on_track,
                                     .spans = search_on_spans,
                                     .stack = search_on_stack};
    return true;
}

/* Into memory; a line that is longer than the buffer is none. */
static enum exit_code search_end(struct trace_pass *pass)
{
    struct search *search = (void *)(uintptr_t)pass->asked;
    struct out line = {.fd = -1, .buffer = malloc(OUT_BUFFER_BYTES)};
    stalls_finish(&search->stalls);
    if (line.buffer && pass->trace && !search->stalls.failed &&
        stalls_write_worst(&line, &search->stalls, pass->trace) && !out_failed(&line))
        search->found = strndup(line.buffer, line.used);
    if (!line.buffer || search->stalls.failed)
        message("out of memory; who waits is not shown");
    free(line.buffer);
    return EXIT_GOOD;
}

/*
 * Behind a pass over a window of the file, with what it saw, finished: the worst wait that is open,
 * as text that the caller frees; NULL: there is none. Looks from before the window lead to a pass
 * from them on.
 */
static char *top_stalls_worst(const struct stalls *seen, const char *file)
{
    static const struct trace_maker maker = {
        .own_output = true, .empty_is_good = true, .begin = search_begin, .end = search_end};
    struct search search = {.stalls.any_look = true};
    struct reading_options reading = {.live = true, .threads = 1};
    char *words[] = {(char *)(uintptr_t)file};
    int64_t from_ns = INT64_MAX;
    for (uint32_t i = 0; i < seen->count; i++)
        if (seen->list[i].open && seen->list[i].stack.time_ns < from_ns)
            from_ns = seen->list[i].stack.time_ns;
    if (from_ns == INT64_MAX)
        return NULL;
    reading.filter.from = (struct filter_time){.set = true, .ns = from_ns};
    (void)trace_pass(&maker, &search, &reading, (struct operands){words, 1});
    stalls_free(&search.stalls);
    return search.found;
}

static enum exit_code take_cause(const struct why_view *view, void *context)
{
    const struct why_split *split = view->split;
    const double share = view->name && split->count
                             ? 100 * (double)split->list[0].excess_ns / (double)split->excess_ns
                             : 0;
    if (view->further)
        return EXIT_GOOD;
    struct out line = {.fd = -1, .buffer = share > 0 ? malloc(OUT_BUFFER_BYTES) : NULL};
    if (!line.buffer)
        return EXIT_GOOD;
    text_name(&line, view->name->name.text, view->name->name.bytes);
    const struct trace_text text = view->texts[0].text;
    out_format(&line, ": %" PRIu32 " of %" PRIu64 " took %s longer each: %.0f %% ", split->slow,
               view->name->own.values.total, ROUGH(split->excess_ns / split->slow, 3), share);
    out_bytes(&line, text.text, text.bytes);
    *(char **)context = out_failed(&line) ? NULL : strndup(line.buffer, line.used);
    free(line.buffer);
    return EXIT_GOOD;
}

/* Why calls of that time were slow: the first cause of `rbwp why`, likewise. */
static char *top_why(const char *file, int64_t from_ns, int64_t to_ns)
{
    const struct why_options options = {.reading = {.live = true,
                                                    .threads = 1,
                                                    .filter = {.from = {.set = true, .ns = from_ns},
                                                               .to = {.set = true, .ns = to_ns}}}};
    char *words[] = {(char *)(uintptr_t)file}, *found = NULL;
    (void)why_find(&options, (struct operands){words, 1}, take_cause, &found);
    return found;
}

/* ---- the list -------------------------------------------------------------------------------- */
/*
 * Looks again and again. A terminal is written over, a pipe gets one block after the other. A
 * program that begins is found at the next look, and one that ended is missing there.
 */

/* ---- what the programs of some files did in a window of time, item by item ------------------- */
/*
 * A pass over a file, from the window's beginning on. Spans that reach into the window are whole:
 * how long they took is theirs, how busy they kept their thread is the part in the window.
 */

#define TOP_NAME_BYTES 256

struct top_item {
    char name[TOP_NAME_BYTES];
    uint32_t program;          /* its place in the sample */
    bool is_call;              /* else a sub-item, or GPU work */
    uint8_t category;          /* enum trace_category */
    uint64_t ended;            /* in the window */
    uint64_t total_ns, max_ns; /* of those */
    uint64_t busy_ns;          /* in the window, what is open with it, waiting not */
    uint64_t waits_ns;         /* likewise, in what waits: itself, or what it encloses */
    uint32_t open;             /* now */
    uint64_t open_ns;          /* the longest of them, so far */
};

struct top_program {
    char name[TOP_NAME_BYTES];
    const char *file;
    char *worst;      /* who waits for whom in the file; of its first program, NULL: nobody */
    char *why;        /* why calls were slow in it; likewise */
    uint32_t threads; /* with calls in the window */
    uint64_t busy_ns; /* of all threads, in calls; waiting not */
};

struct top_sample {
    int64_t from_ns, to_ns;
    struct top_item *items;
    struct top_program *programs;
    uint32_t item_count, item_room, program_count, program_room;
    struct result_rows shown; /* items */
};

/* What is around a span that comes next: by depth, in the first row. */
enum { AROUND_MAX = 64 };
struct top_track {
    bool has_calls;
    bool calls_work[AROUND_MAX], waits[AROUND_MAX]; /* a call that is work is around it; a wait */
    uint32_t items[AROUND_MAX];
};

struct gathering {
    struct top_sample *sample;
    struct trace_pass *pass;
    uint32_t *item_of; /* by number of the name, twice: of calls, of others; place + 1 */
    uint32_t item_of_room;
    uint32_t *program_of; /* by number of the process; place + 1 */
    uint32_t program_of_room;
    uint32_t *process_of; /* by number of the track: its process + 1 */
    uint32_t process_of_room;
    struct top_track *tracks; /* by number */
    uint32_t track_room;
    struct stalls stalls;
    const char *file;
    bool failed;
};

static void copy_name(char *name, struct trace_text text)
{
    size_t bytes = text.bytes < TOP_NAME_BYTES - 1 ? text.bytes : TOP_NAME_BYTES - 1;
    memcpy(name, text.text, bytes);
    name[bytes] = '\0';
}

/* ---- programs and items ------------------------------------------------------------------- */

static struct top_program *program_of(struct gathering *gathering, uint32_t process)
{
    struct top_sample *sample = gathering->sample;
    if (!GROW_ZEROED(gathering->program_of, gathering->program_of_room, process + 1))
        return NULL;
    uint32_t *place = &gathering->program_of[process];
    if (*place == 0) {
        if (!GROW_ZEROED(sample->programs, sample->program_room, sample->program_count + 1))
            return NULL;
        struct top_program *fresh = &sample->programs[sample->program_count++];
        *fresh = (struct top_program){.file = gathering->file};
        copy_name(fresh->name, trace_process_of(gathering->pass->trace, process)->name);
        *place = sample->program_count;
    }
    return &sample->programs[*place - 1];
}

static struct top_item *item_of(struct gathering *gathering, const struct trace_span *span,
                                const struct top_program *program)
{
    struct top_sample *sample = gathering->sample;
    bool is_call = span->category == TRACE_CALL;
    uint32_t key = 2 * span->name + is_call;
    if (!GROW_ZEROED(gathering->item_of, gathering->item_of_room, key + 1))
        return NULL;
    uint32_t *place = &gathering->item_of[key];
    if (*place == 0) {
        if (!GROW_ZEROED(sample->items, sample->item_room, sample->item_count + 1))
            return NULL;
        struct top_item *fresh = &sample->items[sample->item_count++];
        *fresh = (struct top_item){.program = (uint32_t)(program - sample->programs),
                                   .is_call = is_call,
                                   .category = span->category};
        copy_name(fresh->name, trace_name_of(gathering->pass->trace, span->name));
        *place = sample->item_count;
    }
    return &sample->items[*place - 1];
}

/* ---- spans ---------------------------------------------------------------------------------- */

/* One that records counts, also while it does nothing. */
static void top_on_process(void *context, const struct trace_process *process)
{
    struct gathering *gathering = context;
    gathering->failed |= !program_of(gathering, process->number);
}

static void top_on_track(void *context, const struct trace_track *track)
{
    struct gathering *gathering = context;
    stalls_on_track(&gathering->stalls, track);
    if (GROW_ZEROED(gathering->process_of, gathering->process_of_room, track->number + 1) &&
        GROW_ZEROED(gathering->tracks, gathering->track_room, track->number + 1))
        gathering->process_of[track->number] = track->process + 1;
    else
        gathering->failed = true;
}

static uint64_t inside(const struct top_sample *sample, const struct trace_span *span)
{
    int64_t start = span->start_ns > sample->from_ns ? span->start_ns : sample->from_ns;
    int64_t stop = span->stop_ns < sample->to_ns ? span->stop_ns : sample->to_ns;
    return stop > start ? (uint64_t)(stop - start) : 0;
}

static void count_span(const struct top_sample *sample, struct top_item *item,
                       const struct trace_span *span)
{
    uint64_t lasted = trace_duration_ns(span);
    *(trace_is_waiting(span) ? &item->waits_ns : &item->busy_ns) += inside(sample, span);
    if (span->flags & TRACE_OPEN) {
        item->open++;
        item->open_ns = lasted > item->open_ns ? lasted : item->open_ns;
    } else if (span->stop_ns >= sample->from_ns) {
        item->ended++;
        item->total_ns += lasted;
        item->max_ns = lasted > item->max_ns ? lasted : item->max_ns;
    }
}

/* Of the time in a wait nobody is busy with what is around it; a wait in a wait is the same time.
 */
static void wait_inside(struct gathering *gathering, const struct top_track *track,
                        struct top_program *program, const struct trace_span *span)
{
    uint64_t waited_ns = inside(gathering->sample, span);
    for (uint32_t depth = 0; depth < span->depth; depth++) {
        struct top_item *around = &gathering->sample->items[track->items[depth]];
        around->busy_ns -= waited_ns < around->busy_ns ? waited_ns : around->busy_ns;
        around->waits_ns += waited_ns;
    }
    if (track->calls_work[span->depth - 1])
        program->busy_ns -= waited_ns < program->busy_ns ? waited_ns : program->busy_ns;
}

static void nest(struct gathering *gathering, struct top_track *track, struct top_program *program,
                 const struct trace_span *span, uint32_t item)
{
    uint32_t depth = span->depth;
    if (span->row || span->flags & TRACE_LATE || depth >= AROUND_MAX)
        return;
    bool waits = trace_is_waiting(span), waited = depth && track->waits[depth - 1];
    bool work = span->category == TRACE_CALL && !waits;
    if (waits && !waited && depth)
        wait_inside(gathering, track, program, span);
    track->items[depth] = item;
    track->waits[depth] = waits || waited;
    track->calls_work[depth] = work || (depth && track->calls_work[depth - 1]);
}

static void top_on_span(struct gathering *gathering, const struct trace_span *span)
{
    if (span->track >= gathering->process_of_room || gathering->process_of[span->track] == 0 ||
        span->category > TRACE_GPU_WORK)
        return;
    struct top_program *program = program_of(gathering, gathering->process_of[span->track] - 1);
    struct top_item *item = program ? item_of(gathering, span, program) : NULL;
    if (!item) {
        gathering->failed = true;
        return;
    }
    count_span(gathering->sample, item, span);
    struct top_track *track = &gathering->tracks[span->track];
    if (item->is_call) {
        program->busy_ns += trace_is_waiting(span) ? 0 : inside(gathering->sample, span);
        program->threads += !track->has_calls;
        track->has_calls = true;
    }
    nest(gathering, track, program, span, (uint32_t)(item - gathering->sample->items));
}

static void top_on_spans(void *context, const struct trace_span *spans, size_t count,
                         const struct trace_details *details)
{
    struct gathering *gathering = context;
    (void)details;
    stalls_on_spans(&gathering->stalls, spans, count);
    for (size_t i = 0; i < count; i++)
        top_on_span(context, &spans[i]);
}

static void top_on_stack(void *context, const struct trace_stack *stack)
{
    struct gathering *gathering = context;
    stalls_on_stack(&gathering->stalls, stack);
}

/* ---- the pass ----------------------------------------------------------------------------- */

static bool top_begin(struct trace_pass *pass)
{
    struct gathering *gathering = (void *)(uintptr_t)pass->asked;
    gathering->pass = pass;
    pass->sink = (struct trace_sink){.context = gathering,
                                     .process = top_on_process,
                                     .track = top_on_track,
                                     .spans = top_on_spans,
                                     .stack = top_on_stack};
    return true;
}

static enum exit_code top_end(struct trace_pass *pass)
{
    struct gathering *gathering = (void *)(uintptr_t)pass->asked;
    stalls_finish(&gathering->stalls); /* what they are called is the trace's */
    const bool failed = gathering->failed || gathering->stalls.failed;
    if (failed)
        message("out of memory");
    return failed ? EXIT_BAD_DATA : EXIT_GOOD;
}

/* Adds what is in the file. False, with the message given: it could not be read. says: there is
 * text. */
static bool top_sample_add(struct top_sample *sample, const char *file, bool says)
{
    static const struct trace_maker maker = {
        .own_output = true, .empty_is_good = true, .begin = top_begin, .end = top_end};
    struct gathering gathering = {.sample = sample, .file = file, .stalls.any_look = true};
    const uint32_t before = sample->program_count;
    struct reading_options reading = {
        .live = true, .threads = 1, .filter.from = {.set = true, .ns = sample->from_ns}};
    char *words[] = {(char *)(uintptr_t)file};
    enum exit_code code = trace_pass(&maker, &gathering, &reading, (struct operands){words, 1});
    free(gathering.item_of);
    free(gathering.program_of);
    free(gathering.process_of);
    free(gathering.tracks);
    if (sample->program_count > before) {
        sample->programs[before].worst = top_stalls_worst(&gathering.stalls, file);
        if (says)
            sample->programs[before].why = top_why(file, sample->from_ns, sample->to_ns);
    }
    stalls_free(&gathering.stalls);
    return code == EXIT_GOOD || code == EXIT_PARTIAL;
}

static void top_sample_free(struct top_sample *sample)
{
    for (uint32_t i = 0; i < sample->program_count; i++) {
        free(sample->programs[i].worst);
        free(sample->programs[i].why);
    }
    free(sample->items);
    free(sample->programs);
    *sample = (struct top_sample){0};
}

/* ---- top ------------------------------------------------------------------------------------- */

#define INTERVAL_NS UINT64_C(2000000000)
#define NAME_COLUMNS 31

static volatile sig_atomic_t interrupted;

static void on_signal(int number)
{
    (void)number;
    interrupted = 1;
}

/* ---- which files ---------------------------------------------------------------------- */

struct files {
    char **list;
    uint32_t count, room;
};

static bool add_file(struct files *files, char *file)
{
    bool good = file && grow_array32(&files->list, &files->room, files->count + 1, sizeof file);
    if (good)
        files->list[files->count++] = file;
    else
        free(file);
    return good;
}

static bool is_live(const char *file)
{
    char *live = live_path(file);
    bool there = live && access(live, F_OK) == 0;
    free(live);
    return there;
}

/* A file as it is; of a folder those that are written. */
static bool add_named(struct files *files, char *word)
{
    const struct input_options none = {0};
    struct operands found;
    bool usage, whole = input_list_open(&none, (struct operands){&word, 1}, &found, &usage);
    for (int i = 0; whole && i < found.count; i++)
        if (found.count == 1 || is_live(found.words[i]))
            whole = add_file(files, strdup(found.words[i]));
    input_list_close(&found);
    return whole;
}

/* All that this user may see: those that listen, as far as they record. */
static bool add_all(struct files *files)
{
    struct controlled *list;
    size_t count;
    if (!controlled_list(&list, &count))
        return false;
    for (size_t i = 0; i < count; i++) {
        char pid[24];
        struct message_held held = {0};
        snprintf(pid, sizeof pid, "%ld", list[i].pid);
        if (i > 0 && list[i].pid == list[i - 1].pid)
            continue;
        message_hold(&held); /* it records nothing now, or has gone */
        (void)add_file(files, stacks_file_of(pid));
        message_hold(NULL);
        free(held.text);
    }
    free(list);
    if (files->count == 0)
        message("no process of this user records now");
    return true;
}

static bool find_files(struct files *files, struct operands words)
{
    bool whole = words.count > 0 || add_all(files);
    for (int i = 0; i < words.count; i++)
        whole &= stacks_is_pid(words.words[i]) ? add_file(files, stacks_file_of(words.words[i]))
                                               : add_named(files, words.words[i]);
    return whole;
}

/* ---- columns ----------------------------------------------------------------------------- */

#define SAMPLE(at) ((const struct top_sample *)(at)->all)

static double seconds(const struct top_sample *sample)
{
    return (double)(sample->to_ns - sample->from_ns) / 1e9;
}

static struct result_cell known_ns(bool known, uint64_t ns)
{
    return (struct result_cell){.kind = RESULT_U64, .hidden = !known, .u64 = ns};
}

RESULT_MAKES(item_window, top_item, result_i64(what ? SAMPLE(at)->to_ns : SAMPLE(at)->from_ns))
RESULT_MAKES(item_program, top_item, result_word(SAMPLE(at)->programs[row->program].name))
RESULT_MAKES(item_file, top_item, result_word(SAMPLE(at)->programs[row->program].file))
RESULT_MAKES(item_name, top_item, result_word(row->name))
RESULT_MAKES(item_time, top_item, result_u64(row->busy_ns + row->waits_ns))
RESULT_MAKES(item_share, top_item,
             result_f64((double)(what ? row->waits_ns : row->busy_ns) / 1e9 / seconds(SAMPLE(at))))
RESULT_MAKES(item_mean, top_item, known_ns(row->ended, row->ended ? row->total_ns / row->ended : 0))
RESULT_MAKES(item_max, top_item, known_ns(row->ended, row->max_ns))
RESULT_MAKES(item_open, top_item, known_ns(row->open, row->open_ns))

static void show_rate(struct out *out, const struct result_at *at)
{
    const struct top_item *item = at->row;
    out_format(out, " %10.1f", (double)item->ended / seconds(SAMPLE(at)));
}

static void show_item(struct out *out, const struct result_at *at)
{
    const struct top_item *item = at->row;
    unsigned indent = item->is_call ? 0 : 2;
    out_format(out, "%*s", (int)indent, "");
    text_name_column(out, item->name, strlen(item->name), NAME_COLUMNS - indent);
}

#define ITEM(field) RESULT_FIELD(struct top_item, field)
static const struct result_column item_columns[] = {
    {NULL, "busy", 7, RESULT_SHARE, RESULT_MADE(item_share, 0)},
    {NULL, "waits", 8, RESULT_SHARE, RESULT_MADE(item_share, 1)},
    {NULL, "ended/s", 11, RESULT_OWN, .show = show_rate},
    {NULL, "mean", 11, RESULT_ROUGH_NS, RESULT_MADE(item_mean, 0)},
    {NULL, "for", 11, RESULT_ROUGH_NS, RESULT_MADE(item_open, 0)},
    RESULT_PLAIN_MADE("from", RESULT_TIME, item_window, 0),
    RESULT_PLAIN_MADE("to", RESULT_TIME, item_window, 1),
    {"program", "program", 0, RESULT_TEXT, RESULT_MADE(item_program, 0)},
    RESULT_PLAIN_MADE("file", RESULT_TEXT, item_file, 0),
    {"name", "name", -NAME_COLUMNS, RESULT_TEXT, RESULT_MADE(item_name, 0), .show = show_item},
    RESULT_PLAIN("call", RESULT_BOOL, struct top_item, is_call),
    RESULT_PLAIN("ended", RESULT_COUNT, struct top_item, ended),
    RESULT_PLAIN("total", RESULT_NS, struct top_item, total_ns),
    {"max", "max", 11, RESULT_ROUGH_NS, RESULT_MADE(item_max, 0)},
    RESULT_PLAIN("busy", RESULT_NS, struct top_item, busy_ns),
    RESULT_PLAIN("waiting", RESULT_NS, struct top_item, waits_ns),
    {"open", "open", 6, RESULT_ID, ITEM(open)},
    RESULT_PLAIN("open_for", RESULT_NS, struct top_item, open_ns),
    RESULT_LAST};
static const struct result_table items_table = {
    "items", NULL, item_columns, "busy,waits,ended/s,mean,max,open,for,name,program", NULL, 0};

const struct result_column top_columns[] = {
    {"items", NULL, 0, RESULT_LIST, .list = &items_table, RESULT_ROWS(struct top_sample, shown)},
    RESULT_LAST};

/* By enum top_order. */
static const struct result_column sort_columns[] = {
    [TOP_BUSY] = {.unit = RESULT_NS, RESULT_MADE(item_time, 0)},
    [TOP_CALLS] = {.unit = RESULT_COUNT, ITEM(ended)},
    [TOP_MEAN] = {.unit = RESULT_NS, RESULT_MADE(item_mean, 0)},
    [TOP_MAX] = {.unit = RESULT_NS, ITEM(max_ns)},
    [TOP_OPEN] = {.unit = RESULT_NS, ITEM(open_ns)},
    [TOP_NAME] = {.unit = RESULT_TEXT, RESULT_MADE(item_name, 0)},
};

static int by_name(const void *left, const void *right)
{
    const struct top_item *a = left, *b = right;
    int order = strcmp(a->name, b->name);
    return order ? order : (a->program > b->program) - (a->program < b->program);
}

/* ---- a look ------------------------------------------------------------------------------- */

static void line_of(struct out *out, const struct top_program *program, const char *text,
                    const char *command, const struct colors *colors)
{
    if (!text)
        return;
    out_text(out, colors->red);
    out_text(out, text);
    out_format(out, "%s (rbwp %s ", colors->off, command);
    text_name(out, program->file, strlen(program->file));
    out_text(out, ")\n");
}

static void top_head(struct out *out, const struct top_sample *sample, const struct colors *colors)
{
    uint64_t busy_ns = 0;
    uint32_t threads = 0;
    for (uint32_t i = 0; i < sample->program_count; i++) {
        busy_ns += sample->programs[i].busy_ns;
        threads += sample->programs[i].threads;
    }
    out_format(out, "%s%u program%s, %u thread%s with calls, %.2f busy, last %.1f s%s\n",
               colors->bold, sample->program_count, sample->program_count == 1 ? "" : "s", threads,
               threads == 1 ? "" : "s", (double)busy_ns / 1e9 / seconds(sample), seconds(sample),
               colors->off);
    for (uint32_t i = 0; i < sample->program_count; i++) {
        const struct top_program *program = &sample->programs[i];
        line_of(out, program, program->worst, "stacks", colors);
        line_of(out, program, program->why, "why", colors);
    }
}

/* Rows of the terminal; 0: it is none. */
static uint32_t rows_of(int fd)
{
    struct winsize size;
    return isatty(fd) && ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_row : 0;
}

static void top_text(const struct top_options *options, struct out *out,
                     const struct top_sample *sample, bool over)
{
    const struct result_view view = {
        out, terminal_colors(&options->terminal, out->fd), UINT16_MAX, false, 0, NULL};
    const struct result_layout layout = result_layout(&view, &items_table, NULL, 0);
    if (over)
        out_text(out, "\033[H\033[2J");
    top_head(out, sample, &view.colors);
    result_text_titles(&view, &layout);
    result_text_rows(&view, &layout, &sample->shown, sample, NULL, NULL);
    if (!over && !options->once)
        out_text(out, "\n");
}

static void top_report(const struct top_options *options, struct out *out,
                       struct top_sample *sample, bool first)
{
    uint32_t rows = options->once ? 0 : rows_of(out->fd), most = options->lines;
    if (!most)
        most = rows > 4 ? rows - 3 : UINT32_MAX;
    sample->shown = result_ordered(sample->items, sizeof *sample->items, sample->item_count);
    if (!sample->shown.order ||
        !result_sort(&sample->shown, &sort_columns[options->order], sample, by_name))
        out_give_up(out, ENOMEM);
    sample->shown.count = most < sample->shown.count ? most : sample->shown.count;
    if (options->json || options->csv)
        result_lines(out, top_columns, options->csv, first, sample);
    else
        top_text(options, out, sample, rows);
    free(sample->shown.order);
    out_flush(out);
}

/* ---- again and again ---------------------------------------------------------------------- */

/* Only a first look that finds nothing at all is a failure: programs come and go. */
static bool top_look(const struct top_options *options, struct operands words, struct out *out,
                     bool first)
{
    struct files files = {0};
    struct top_sample sample = {.to_ns = read_clock_ns(CLOCK_REALTIME)};
    sample.from_ns = sample.to_ns - (int64_t)options->interval_ns;
    bool whole = find_files(&files, words);
    for (size_t i = 0; i < files.count; i++)
        whole &= top_sample_add(&sample, files.list[i], !options->json && !options->csv);
    if (whole || sample.program_count > 0)
        top_report(options, out, &sample, first);
    top_sample_free(&sample);
    for (size_t i = 0; i < files.count; i++)
        free(files.list[i]);
    free(files.list);
    files = (struct files){0};
    return whole;
}

enum exit_code top_show(const struct top_options *asked, struct operands words)
{
    struct sigaction action = {.sa_handler = on_signal};
    struct top_options options = *asked;
    struct out out;
    options.interval_ns = options.interval_ns ? options.interval_ns : INTERVAL_NS;
    options.times = options.once ? 1 : options.times;
    if (!out_open(&out, &(struct out_options){0}, (struct operands){0}))
        return EXIT_BAD_DATA;
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    enum exit_code code = top_look(&options, words, &out, true) ? EXIT_GOOD : EXIT_BAD_DATA;
    for (uint32_t i = 1; code == EXIT_GOOD && i != options.times && !out_failed(&out); i++) {
        struct timespec left = {(time_t)(options.interval_ns / 1000000000),
                                (long)(options.interval_ns % 1000000000)};
        while (!interrupted && nanosleep(&left, &left) != 0)
            ;
        if (interrupted || !top_look(&options, words, &out, false))
            break;
    }
    return exit_worse(code, out_close(&out));
}
