/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last moment of a file: spans that had not ended then, thread by thread, from the outermost
 * to the innermost; of a thread in none, since when, and what it did last. Of a thread that was
 * looked at because it took long: what it waits for, who holds that, and its stack.
 */
#include "stacks.h"
#include "sorted.h"

#include "live_memory.h"
#include "message.h"
#include "progress.h"
#include "quantity.h"
#include "stalls.h"
#include "text_name.h"
#include "trace_span.h"
#include "track_order.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A process that records has FILE.live in its memory, so the kernel's list of what is mapped names
 * it, or what it is a link to: then FILE is among the descriptors. */

/* Takes the suffix off a path. False: it has another one, or is no more than that. */
static bool process_file_cut(char *path, size_t *bytes, const char *suffix)
{
    size_t less = strlen(suffix);
    if (*bytes <= less || memcmp(path + *bytes - less, suffix, less) != 0)
        return false;
    *bytes -= less;
    path[*bytes] = '\0';
    return true;
}

/* True if the descriptor is a file whose FILE.live is a link to that memory. */
static bool is_file_of(const char *descriptor, const char *memory, char file_out[PATH_MAX])
{
    char live[PATH_MAX + 8], leads_to[LIVE_MEMORY_PATH_BYTES_MAX];
    ssize_t bytes = readlink(descriptor, file_out, PATH_MAX - 1);
    if (bytes < 0)
        return false;
    file_out[bytes] = '\0';
    snprintf(live, sizeof live, "%s.live", file_out);
    bytes = readlink(live, leads_to, sizeof leads_to);
    return bytes == (ssize_t)strlen(memory) && memcmp(leads_to, memory, (size_t)bytes) == 0;
}

static char *file_of_memory(const char *pid, const char *memory)
{
    char path[PATH_MAX], file[PATH_MAX];
    snprintf(path, sizeof path, "/proc/%s/fd", pid);
    DIR *folder = opendir(path);
    bool found = false;
    for (struct dirent *entry; folder && !found && (entry = readdir(folder)) != NULL;) {
        snprintf(path, sizeof path, "/proc/%s/fd/%s", pid, entry->d_name);
        found = is_file_of(path, memory, file);
    }
    if (folder)
        closedir(folder);
    return found ? strdup(file) : NULL;
}

/* FILE of a line that ends in the path of FILE.live, or of its memory; NULL: it does not. */
static char *file_of_line(const char *pid, char *line, bool *removed_out)
{
    char *path = strchr(line, '/');
    size_t bytes = path ? strcspn(path, "\n") : 0;
    *removed_out = path && process_file_cut(path, &bytes, " (deleted)");
    if (path && strncmp(path, LIVE_MEMORY_PREFIX, strlen(LIVE_MEMORY_PREFIX)) == 0) {
        path[bytes] = '\0';
        return file_of_memory(pid, path);
    }
    return path && process_file_cut(path, &bytes, ".live") ? strdup(path) : NULL;
}

/* What a process has mapped is what it says: another user's may lead to what is never read to its
 * end. */
static bool is_readable(const char *pid, const char *file, bool removed)
{
    struct stat status;
    if (removed)
        message("process %s records to \"%s\", which somebody removed: nothing of it can be read",
                pid, file);
    else if (stat(file, &status) == 0 && !S_ISREG(status.st_mode))
        message("process %s says that it records to \"%s\", which is no regular file", pid, file);
    else
        return true;
    return false;
}

bool stacks_is_pid(const char *word)
{
    return word[0] && word[strspn(word, "0123456789")] == '\0' && access(word, F_OK) != 0;
}

char *stacks_file_of(const char *pid)
{
    char maps[64], *line = NULL, *file = NULL;
    size_t room = 0;
    bool removed = false;
    snprintf(maps, sizeof maps, "/proc/%s/maps", pid);
    FILE *list = fopen(maps, "re");
    if (!list) {
        message(errno == ENOENT ? "%s: no such file, and no such process"
                                : "process %s may not be looked at: run as its user",
                pid);
        return NULL;
    }
    while (!file && getline(&line, &room, list) > 0)
        file = file_of_line(pid, line, &removed);
    if (!file)
        message(ferror(list) ? "process %s may not be looked at: run as its user"
                             : "process %s records nothing now (-bgworkprofile 1 in RBWP_FLAGS "
                               "starts it)",
                pid);
    else if (!is_readable(pid, file, removed)) {
        free(file);
        file = NULL;
    }
    free(line);
    fclose(list);
    return file;
}

enum { NAME_COLUMNS = 28, FRAMES_SHOWN = 8 };

struct stack_track {
    struct trace_track track; /* first: track_order_all */
    bool any;                 /* it has spans */
    int64_t last_ns;          /* when the last one ended */
    uint32_t last_name;
    uint64_t last_length_ns;
    struct trace_cpu last_cpu;
    struct trace_span *open;
    uint32_t open_count, open_room;
    const struct stall *wait, *call; /* that are open; NULL: none was looked at */
    const struct trace_stack *look;  /* the newer one of both; NULL: none */
};

struct stacks {
    struct trace_pass *pass;
    bool failed;
    int64_t now_ns; /* the last moment of which anything is known */
    struct stack_track *tracks;
    uint32_t track_count, track_room;
    struct stalls stalls;
    struct result_rows shown; /* tracks */
    struct colors colors;
};

/* ---- gathering -------------------------------------------------------------------- */

static void stacks_on_track(void *context, const struct trace_track *track)
{
    struct stacks *stacks = context;
    if (!GROW_ZEROED(stacks->tracks, stacks->track_room, track->number + 1)) {
        stacks->failed = true;
        return;
    }
    stalls_on_track(&stacks->stalls, track);
    stacks->tracks[track->number].track = *track;
    if (stacks->track_count <= track->number)
        stacks->track_count = track->number + 1;
}

static void stacks_on_span(struct stacks *stacks, struct stack_track *track,
                           const struct trace_span *span, const struct trace_detail *detail)
{
    if (stacks->now_ns < span->stop_ns)
        stacks->now_ns = span->stop_ns;
    if (span->flags & TRACE_OPEN) {
        if (GROW_ARRAY(track->open, track->open_room, track->open_count + 1))
            track->open[track->open_count++] = *span;
        else
            stacks->failed = true;
    } else if (!track->any || span->stop_ns >= track->last_ns) {
        track->last_ns = span->stop_ns;
        track->last_name = span->name;
        track->last_length_ns = trace_duration_ns(span);
        track->last_cpu = trace_cpu_of(span, detail);
    }
    track->any = true;
}

static void stacks_on_spans(void *context, const struct trace_span *spans, size_t count,
                            const struct trace_details *details)
{
    struct stacks *stacks = context;
    stalls_on_spans(&stacks->stalls, spans, count);
    for (size_t i = 0; i < count; i++)
        if (spans[i].track < stacks->track_count)
            stacks_on_span(stacks, &stacks->tracks[spans[i].track], &spans[i],
                           trace_detail_of(details, &spans[i]));
}

static void stacks_on_stack(void *context, const struct trace_stack *stack)
{
    struct stacks *stacks = context;
    stalls_on_stack(&stacks->stalls, stack);
    if (stacks->now_ns < stack->alive_ns)
        stacks->now_ns = stack->alive_ns;
}

/* The newer look, unless the other one alone has a stack. */
static const struct trace_stack *newer(const struct stall *call, const struct stall *wait)
{
    if (!call || !wait)
        return call ? &call->stack : wait ? &wait->stack : NULL;
    const bool has = call->stack.frame_count, other_has = wait->stack.frame_count;
    const bool is_newer = call->stack.time_ns > wait->stack.time_ns;
    return (has != other_has ? has : is_newer) ? &call->stack : &wait->stack;
}

static void take_stalls(struct stacks *stacks)
{
    stalls_finish(&stacks->stalls);
    for (uint32_t i = 0; i < stacks->track_count; i++) {
        struct stack_track *track = &stacks->tracks[i];
        track->wait = stalls_of(&stacks->stalls, i, STALL_WAIT);
        track->call = stalls_of(&stacks->stalls, i, STALL_CALL);
        track->look = newer(track->call, track->wait);
    }
}

/* ---- reporting --------------------------------------------------------------------- */

static struct out *out_of(const struct stacks *stacks)
{
    return &stacks->pass->out;
}

/* The outermost first: it began before those inside of it. */
static int compare_starts(const void *left, const void *right)
{
    const struct trace_span *a = left, *b = right;
    SORTED_BY(a, b, start_ns);
    return (a->depth > b->depth) - (a->depth < b->depth);
}

static uint64_t since(const struct stacks *stacks, int64_t start_ns)
{
    return (uint64_t)stacks->now_ns - (uint64_t)start_ns;
}

static void name_lines(const struct stacks *stacks, const struct trace_process *process)
{
    struct out *out = out_of(stacks);
    out_text(out, stacks->colors.bold);
    text_name(out, process->name.text, process->name.bytes);
    if (process->os_id)
        out_format(out, ", process %" PRIu64, process->os_id);
    out_format(out, ", at %s%s\n", SINCE_ZERO(stacks->now_ns, trace_origin_ns(stacks->pass->trace)),
               stacks->colors.off);
}

static void open_line(const struct stacks *stacks, const struct trace_span *span, uint32_t depth)
{
    struct out *out = out_of(stacks);
    struct trace_text name = trace_name_of(stacks->pass->trace, span->name);
    if (depth)
        out_format(out, "%*s", NAME_COLUMNS + (int)(depth < 10 ? 2 * depth : 20), "");
    text_name(out, name.text, name.bytes);
    out_format(out, "  for %s\n", DURATION(since(stacks, span->start_ns)));
}

static uint64_t last_not_known_ns(const struct stack_track *track)
{
    const struct trace_cpu *cpu = &track->last_cpu;
    return track->last_length_ns - cpu->running_ns - cpu->runnable_ns - cpu->waiting_ns;
}

/* Whether its last call ran, unless that did all the time or nothing is known of it. */
static void cpu_words(struct out *out, const struct stack_track *track)
{
    const struct trace_cpu *cpu = &track->last_cpu;
    const struct {
        const char *word;
        uint64_t ns;
    } parts[] = {{"running", cpu->running_ns},
                 {"runnable", cpu->runnable_ns},
                 {"waiting", cpu->waiting_ns},
                 {"not known", last_not_known_ns(track)}};
    const char *before = ": ";
    if (!trace_cpu_is_known(cpu) || cpu->running_ns == track->last_length_ns)
        return;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (parts[i].ns) {
            out_format(out, "%s%s %s", before, parts[i].word, DURATION(parts[i].ns));
            before = ", ";
        }
}

static void idle_line(const struct stacks *stacks, const struct stack_track *track)
{
    struct out *out = out_of(stacks);
    struct trace_text name = trace_name_of(stacks->pass->trace, track->last_name);
    out_format(out, "%sidle for %s, last: ", stacks->colors.dim,
               DURATION(since(stacks, track->last_ns)));
    text_name(out, name.text, name.bytes);
    out_format(out, ", %s", DURATION(track->last_length_ns));
    cpu_words(out, track);
    out_format(out, "%s\n", stacks->colors.off);
}

static void wait_words(const struct stacks *stacks, const struct stall *wait)
{
    out_text(out_of(stacks), "waits for ");
    stalls_write_object(out_of(stacks), &wait->stack);
    out_format(out_of(stacks), " for %s", DURATION(stall_for_ns(wait)));
}

static void holder_words(const struct stacks *stacks, const struct stall *wait)
{
    struct out *out = out_of(stacks);
    out_text(out, ", held by ");
    if (wait->holder == TRACE_NONE) {
        out_format(out, "thread %" PRIu64 ", of which nothing is recorded", wait->stack.holder);
        return;
    }
    const struct stack_track *holder = &stacks->tracks[wait->holder];
    text_name(out, holder->track.name.text, holder->track.name.bytes);
    out_format(out, " (%" PRIu64 "), which ", wait->stack.holder);
    if (holder->wait) {
        wait_words(stacks, holder->wait);
    } else if (holder->open_count) {
        const struct trace_span *span = &holder->open[holder->open_count - 1];
        const struct trace_text name = trace_name_of(stacks->pass->trace, span->name);
        out_text(out, "is in ");
        text_name(out, name.text, name.bytes);
        out_format(out, " for %s", DURATION(since(stacks, span->start_ns)));
    } else if (holder->any) {
        out_format(out, "is in no call for %s", DURATION(since(stacks, holder->last_ns)));
    } else {
        out_text(out, "has recorded nothing");
    }
}

static void wait_line(const struct stacks *stacks, const struct stack_track *track)
{
    struct out *out = out_of(stacks);
    const struct stall *wait = track->wait;
    if (track->open_count)
        out_format(out, "%*s", NAME_COLUMNS + 2, "");
    out_text(out, wait->cycle ? stacks->colors.red : "");
    wait_words(stacks, wait);
    if (wait->stack.holder)
        holder_words(stacks, wait);
    out_format(out, "%s\n", wait->cycle ? stacks->colors.off : "");
}

/* "mutex_lock  lock.c:12" */
static void frame_lines(const struct stacks *stacks, const struct stack_track *track)
{
    const struct stacks_options *options = stacks->pass->asked;
    struct out *out = out_of(stacks);
    char text[TRACE_FRAME_BYTES];
    const uint32_t count = track->look ? track->look->frame_count : 0;
    uint32_t python = 0; /* a Python function is what the C frames before it were called for */
    while (python < count && !track->look->frames[python].python)
        python++;
    const uint32_t most = (python < count ? python : 0) + FRAMES_SHOWN;
    const uint32_t shown = options->native || count < most ? count : most;
    for (uint32_t i = 0; i < shown; i++) {
        const struct trace_frame *frame = &track->look->frames[i];
        const struct trace_text name = trace_frame_name(frame, text);
        const struct trace_text source = trace_path_end(frame->source);
        out_format(out, "%s%*s", stacks->colors.dim, NAME_COLUMNS + 4, "");
        text_name(out, name.text, name.bytes);
        if (source.bytes && !frame->python) {
            out_text(out, "  ");
            text_name(out, source.text, source.bytes);
            out_format(out, ":%" PRIu32, frame->line);
        }
        out_format(out, "%s\n", stacks->colors.off);
    }
    if (shown < count)
        out_format(out, "%*s... and %" PRIu32 " more (--native has all)\n", NAME_COLUMNS + 4, "",
                   count - shown);
    else if (shown && !track->look->whole)
        out_format(out, "%*s... the rest is not known\n", NAME_COLUMNS + 4, "");
}

static void track_lines(const struct stacks *stacks, const struct stack_track *track)
{
    struct out *out = out_of(stacks);
    text_name_column(out, track->track.name.text, track->track.name.bytes, NAME_COLUMNS - 2);
    out_text(out, "  ");
    for (uint32_t i = 0; i < track->open_count; i++)
        open_line(stacks, &track->open[i], i);
    if (track->wait)
        wait_line(stacks, track);
    else if (!track->open_count)
        idle_line(stacks, track);
    frame_lines(stacks, track);
}

static void stacks_text(const struct stacks *stacks)
{
    uint32_t process = TRACE_NONE;
    for (uint32_t i = 0; i < stacks->shown.count; i++) {
        const struct stack_track *track = &stacks->tracks[stacks->shown.order[i]];
        if (track->track.process != process)
            name_lines(stacks, trace_process_of(stacks->pass->trace, track->track.process));
        process = track->track.process;
        track_lines(stacks, track);
    }
    if (process == TRACE_NONE)
        out_text(out_of(stacks), "no spans\n");
    for (uint32_t i = 1; i <= stacks->stalls.cycles; i++) {
        out_text(out_of(stacks), stacks->colors.red);
        stalls_write_cycle(out_of(stacks), &stacks->stalls, stacks->pass->trace, i);
        out_format(out_of(stacks), "%s\n", stacks->colors.off);
    }
}

/* ---- columns ----------------------------------------------------------------------- */

#define STACKS(at) ((const struct stacks *)(at)->all)
#define TRACE(at) (STACKS(at)->pass->trace)
enum { IDLE_SINCE, IDLE_LAST, LAST_RUNNING, LAST_RUNNABLE, LAST_WAITING, LAST_NOT_KNOWN };
RESULT_MAKES(frame_name, trace_span, result_bytes(trace_name_of(TRACE(at), row->name)))
RESULT_MAKES(frame_for, trace_span, result_u64(since(STACKS(at), row->start_ns)))
RESULT_MAKES(stack_process, stack_track,
             result_bytes(trace_process_of(TRACE(at), row->track.process)->name))
RESULT_MAKES(stack_now, stack_track, result_i64(STACKS(at)->now_ns))
RESULT_MAKES(stack_idle, stack_track,
             row->open_count || !row->any ? result_nothing()
             : what == IDLE_SINCE         ? result_u64(since(STACKS(at), row->last_ns))
                                          : result_bytes(trace_name_of(TRACE(at), row->last_name)))
RESULT_MAKES(stack_last, stack_track,
             row->open_count || !trace_cpu_is_known(&row->last_cpu) ? result_nothing()
             : what == LAST_RUNNING  ? result_u64(row->last_cpu.running_ns)
             : what == LAST_RUNNABLE ? result_u64(row->last_cpu.runnable_ns)
             : what == LAST_WAITING  ? result_u64(row->last_cpu.waiting_ns)
                                     : result_u64(last_not_known_ns(row)))
#define LAST_PART(name, what)                                                                      \
    {                                                                                              \
        "last_" name "_ns", NULL, 0, RESULT_NS, RESULT_MADE(stack_last, what), .optional = true    \
    }

RESULT_MAKES(wait_for, stall, result_u64(stall_for_ns(row)))
RESULT_MAKES(wait_holder, stall,
             row->holder == TRACE_NONE ? result_nothing()
                                       : result_bytes(trace_track_of(TRACE(at), row->holder)->name))

#define STALL_OPTIONAL(key, unit, field)                                                           \
    {                                                                                              \
        key, NULL, 0, unit, RESULT_FIELD(struct stall, field), .optional = true                    \
    }
static const struct result_column wait_columns[] = {
    RESULT_PLAIN("kind", RESULT_TEXT, struct stall, stack.kind),
    STALL_OPTIONAL("object", RESULT_ID, stack.object),
    STALL_OPTIONAL("object_name", RESULT_TEXT, stack.object_name),
    RESULT_PLAIN("since", RESULT_TIME, struct stall, stack.since_ns),
    RESULT_PLAIN_MADE("for_ns", RESULT_NS, wait_for, 0),
    RESULT_PLAIN("looked_at", RESULT_TIME, struct stall, stack.time_ns),
    STALL_OPTIONAL("system_call", RESULT_ID, stack.system_call),
    STALL_OPTIONAL("system_call_name", RESULT_TEXT, stack.system_call_name),
    STALL_OPTIONAL("holder", RESULT_ID, stack.holder),
    {"held_by", NULL, 0, RESULT_TEXT, RESULT_MADE(wait_holder, 0), .optional = true},
    STALL_OPTIONAL("deadlock", RESULT_ID, cycle),
    RESULT_LAST};

#define FRAME_OPTIONAL(key, unit, field)                                                           \
    {                                                                                              \
        key, NULL, 0, unit, RESULT_FIELD(struct trace_frame, field), .optional = true              \
    }
static const struct result_column native_columns[] = {
    RESULT_PLAIN("address", RESULT_ID, struct trace_frame, address),
    FRAME_OPTIONAL("function", RESULT_TEXT, function),
    FRAME_OPTIONAL("file", RESULT_TEXT, file),
    RESULT_PLAIN("offset", RESULT_ID, struct trace_frame, offset),
    FRAME_OPTIONAL("source", RESULT_TEXT, source),
    FRAME_OPTIONAL("line", RESULT_ID, line),
    RESULT_PLAIN("guessed", RESULT_BOOL, struct trace_frame, guessed),
    FRAME_OPTIONAL("python", RESULT_BOOL, python),
    RESULT_LAST};
static const struct result_table native_table = {"stack_frames", NULL, native_columns, "", NULL, 0};

static const struct result_column look_columns[] = {
    {"stack_frames", NULL, 0, RESULT_LIST, .list = &native_table,
     RESULT_LIST_OF(struct trace_stack, frames, frame_count), .one_line = true},
    RESULT_PLAIN("whole", RESULT_BOOL, struct trace_stack, whole),
    RESULT_LAST};

static const struct result_column frame_columns[] = {
    RESULT_PLAIN_MADE("name", RESULT_TEXT, frame_name, 0),
    RESULT_PLAIN("begin", RESULT_TIME, struct trace_span, start_ns),
    RESULT_PLAIN_MADE("for_ns", RESULT_NS, frame_for, 0), RESULT_LAST};
static const struct result_table stack_table = {"stack", NULL, frame_columns, "", NULL, 0};

static const struct result_column stack_columns[] = {
    RESULT_PLAIN_MADE("process", RESULT_TEXT, stack_process, 0),
    RESULT_PLAIN("track", RESULT_TEXT, struct stack_track, track.name),
    RESULT_PLAIN("thread", RESULT_ID, struct stack_track, track.os_id),
    RESULT_PLAIN_MADE("now", RESULT_TIME, stack_now, 0),
    {"idle_ns", NULL, 0, RESULT_NS, RESULT_MADE(stack_idle, IDLE_SINCE), .optional = true},
    {"last", NULL, 0, RESULT_TEXT, RESULT_MADE(stack_idle, IDLE_LAST), .optional = true},
    LAST_PART("running", LAST_RUNNING),
    LAST_PART("runnable", LAST_RUNNABLE),
    LAST_PART("waiting", LAST_WAITING),
    LAST_PART("not_known", LAST_NOT_KNOWN),
    {"stack", NULL, 0, RESULT_LIST, .list = &stack_table,
     RESULT_LIST_OF(struct stack_track, open, open_count), .one_line = true},
    {"waits", NULL, 0, RESULT_PART_AT, .part = wait_columns,
     RESULT_POINTER(struct stack_track, wait)},
    {"call", NULL, 0, RESULT_PART_AT, .part = wait_columns,
     RESULT_POINTER(struct stack_track, call)},
    {NULL, NULL, 0, RESULT_PART_AT, .part = look_columns, RESULT_POINTER(struct stack_track, look)},
    RESULT_LAST};
static const struct result_table tracks_table = {"tracks", NULL, stack_columns, "", NULL, 0};

const struct result_column stacks_columns[] = {
    {"tracks", NULL, 0, RESULT_LIST, .list = &tracks_table, RESULT_ROWS(struct stacks, shown)},
    RESULT_LAST};

/* False without memory. */
static bool show(struct stacks *stacks, const struct stacks_options *options)
{
    uint32_t *order = track_order_all(stacks->tracks, sizeof *stacks->tracks, stacks->track_count);
    stacks->shown = (struct result_rows){
        .first = (const char *)stacks->tracks, .stride = sizeof *stacks->tracks, .order = order};
    take_stalls(stacks);
    for (uint32_t i = 0; order && i < stacks->track_count; i++) {
        const struct stack_track *track = &stacks->tracks[order[i]];
        if (track->open_count)
            qsort(track->open, track->open_count, sizeof *track->open, compare_starts);
        if (track->wait || (track->any && (track->track.kind == TRACE_THREAD || track->open_count)))
            order[stacks->shown.count++] = order[i];
    }
    if (options->json || options->csv)
        result_lines(out_of(stacks), stacks_columns, options->csv, true, stacks);
    else
        stacks_text(stacks);
    free(order);
    return order || !stacks->track_count;
}

/* ---- the frame ---------------------------------------------------------------------- */

static bool stacks_begin(struct trace_pass *pass)
{
    const struct stacks_options *options = pass->asked;
    struct stacks *stacks = calloc(1, sizeof *stacks);
    if (!stacks)
        return message_fail("out of memory");
    stacks->pass = pass;
    stacks->now_ns = INT64_MIN;
    stacks->colors = terminal_colors(&options->reading.terminal, pass->out.fd);
    pass->sink = (struct trace_sink){.context = stacks,
                                     .track = stacks_on_track,
                                     .spans = stacks_on_spans,
                                     .stack = stacks_on_stack};
    pass->state = stacks;
    return true;
}

static enum exit_code stacks_end(struct trace_pass *pass)
{
    struct stacks *stacks = pass->state;
    bool whole = !stacks->failed && !stacks->stalls.failed && pass->trace && !pass->nothing &&
                 show(stacks, pass->asked);
    if (!whole && !pass->nothing)
        message("out of memory");
    for (uint32_t i = 0; i < stacks->track_count; i++)
        free(stacks->tracks[i].open);
    free(stacks->tracks);
    stalls_free(&stacks->stalls);
    free(stacks);
    return whole || pass->nothing ? EXIT_GOOD : EXIT_PARTIAL;
}

enum exit_code stacks_show(const struct stacks_options *options, struct operands files)
{
    static const struct trace_maker maker = {
        .stacks = TRACE_LAST_STACKS, .begin = stacks_begin, .end = stacks_end};
    progress_allow(&options->reading.terminal);
    return trace_pass(&maker, options, &options->reading, files);
}
