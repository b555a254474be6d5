/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rbwp tail: the last spans or records of a file, and those that come.
 *
 * A file that is written is followed together with FILE.live, which has its
 * names and the records that are not in blocks yet. Both are polled. Each look
 * takes the records of FILE.live of one moment, then the new blocks of FILE,
 * then what of those records was not shown. It ends when the
 * file is finalised, removed, or its program died; a file of the same name that
 * replaces it is followed instead.
 */
#include "input.h"
#include "json_line.h"
#include "message.h"
#include "quantity.h"
#include "reorder.h"
#include "text_name.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

/* ---- the lines of rbwp tail ------------------------------------------------------------------ */
/*
 * The last ones kept, later ones printed at once.
 *
 * Lines of rbwp tail. In text each has the time since the program's zero (of a
 * span: of its end, since that is when it is known), the thread, how long it took, and what it was,
 * indented by depth.
 */

#define TAIL_LINES_MAX (1u << 20)

/* A line: a pair, or a record with its thread. */
struct tail_line {
    bool is_record;
    struct record_pair pair;
    uint64_t thread_id;
    struct rbwp_record record;
};

struct tail_lines {
    struct out *out;
    const char *file;
    const struct names *names; /* may change between calls */
    int64_t zero_ns;           /* times are shown relative to it */
    bool ndjson;
    struct tail_line *ring; /* room for `most`; NULL once lines are printed at once */
    uint32_t most, next, count;
};

/* most may be 0: nothing is kept. False when out of memory. */
static bool tail_lines_start(struct tail_lines *lines, uint32_t most)
{
    lines->ring = malloc(((size_t)most + 1) * sizeof *lines->ring);
    lines->most = most;
    lines->next = lines->count = 0;
    return lines->ring;
}

static void tail_lines_free(struct tail_lines *lines)
{
    free(lines->ring);
    lines->ring = NULL;
}

/* ---- text ------------------------------------------------------------------------------- */

static void text_time(struct out *out, int64_t time_ns, int64_t zero_ns)
{
    out_format(out, "%18s  ", SINCE_ZERO(time_ns, zero_ns));
}

static void text_known(struct out *out, const struct name *name, const char *what, uint64_t id)
{
    if (name && name->bytes)
        text_name(out, name->text, name->bytes);
    else
        out_format(out, "%s %" PRIu64, what, id);
}

static void text_thread(struct tail_lines *lines, uint64_t thread_id, int64_t time_ns)
{
    text_known(lines->out, names_find(&lines->names->threads, thread_id, time_ns), "thread",
               thread_id);
    out_text(lines->out, "  ");
}

static void text_slot(struct tail_lines *lines, int slot, int64_t time_ns)
{
    if (slot < 0)
        out_text(lines->out, "(slot not known)");
    else
        text_known(lines->out, names_find(&lines->names->slots, (uint64_t)slot, time_ns), "slot",
                   (uint64_t)slot);
}

static void text_sub_item(struct tail_lines *lines, unsigned id, int64_t time_ns)
{
    text_known(lines->out, names_find(&lines->names->sub_items, id, time_ns), "sub-item", id);
}

static void text_duration(struct out *out, const struct record_pair *pair)
{
    char text[QUANTITY_BYTES];
    const char *shown = pair->has_end ? "no begin" : "not ended";
    if (pair_has_duration(pair))
        shown = quantity_duration(text, pair_duration_ns(pair));
    out_format(out, "%13s  ", shown);
}

static void text_pair(struct tail_lines *lines, const struct record_pair *pair)
{
    struct out *out = lines->out;
    int64_t time_ns = pair_name_time_ns(pair);
    text_time(out, pair->has_end ? pair->end_ns : pair->begin_ns, lines->zero_ns);
    text_duration(out, pair);
    text_thread(lines, pair->thread_id, time_ns);
    for (uint32_t i = 0; i < pair->depth && i < 20; i++)
        out_text(out, "  ");
    if (pair->kind == PAIR_FINE && pair->has_begin)
        text_sub_item(lines, pair->sub_item, time_ns);
    else if (pair->kind == PAIR_FINE)
        out_text(out, "(sub-item not known)");
    else
        text_slot(lines, pair->has_begin ? pair->slot : -1, time_ns);
    if (pair->kind == PAIR_GPU)
        out_format(out, " on GPU processor %" PRIx64, pair->proc_id);
    out_text(out, "\n");
}

static void text_record(struct tail_lines *lines, uint64_t thread_id,
                        const struct rbwp_record *record)
{
    struct out *out = lines->out;
    text_time(out, record->time_ns, lines->zero_ns);
    out_format(out, "%-12s  ", rbwp_kind_name(record->kind));
    text_thread(lines, thread_id, record->time_ns);
    if (record->kind == RBWP_COARSE_BEGIN || record->kind == RBWP_GPU_WORK)
        text_slot(lines, record->slot, record->time_ns);
    if (record->kind == RBWP_FINE_BEGIN)
        text_sub_item(lines, record->sub_item, record->time_ns);
    out_text(out, "\n");
}

/* ---- any line --------------------------------------------------------------------------- */

static void print(struct tail_lines *lines, const struct tail_line *line)
{
    if (line->is_record && lines->ndjson) {
        json_record_line(lines->out, lines->file, lines->names, line->thread_id,
                         line->record.time_ns, &line->record);
    } else if (line->is_record) {
        text_record(lines, line->thread_id, &line->record);
    } else if (lines->ndjson) {
        json_span(lines->out, lines->file, lines->names, &line->pair, NULL,
                  (struct rbwp_text){"", 0});
        out_text(lines->out, "\n");
    } else {
        text_pair(lines, &line->pair);
    }
}

static void tail_lines_add(struct tail_lines *lines, const struct tail_line *line)
{
    if (!lines->ring) {
        print(lines, line);
        return;
    }
    if (lines->most == 0)
        return;
    lines->ring[lines->next] = *line;
    lines->next = (lines->next + 1) % lines->most;
    lines->count += lines->count < lines->most;
}

/* Prints what was kept; from here on lines are printed at once. */
static void tail_lines_print(struct tail_lines *lines)
{
    if (!lines->ring)
        return;
    uint32_t at = lines->count < lines->most ? 0 : lines->next;
    for (uint32_t i = 0; i < lines->count; i++)
        print(lines, &lines->ring[(at + i) % lines->most]);
    tail_lines_free(lines);
}

/* ---- how far rbwp tail -f has shown each thread, so that no record comes twice --------------- */
/*
 * A record is first in FILE.live and later in FILE. The records of a thread are counted: those of
 * its blocks in FILE, in order, and behind them those that only FILE.live has. What has a lower
 * number than was shown by then is passed over. FILE is read farther than its program has committed
 * it; what is in such blocks is in FILE.live, too.
 *
 * Should the program be unable to write FILE, the numbers are wrong: those shown last are then
 * known by their ticks (recount).
 */

struct shown_thread {
    uint64_t in_file; /* records in the blocks of FILE so far */
    uint64_t at;      /* number of the next one in FILE.live */
    uint64_t shown;
    uint64_t last_ticks; /* of the last one shown from FILE.live */
    int64_t floor_ns;    /* its time */
};

/* A block of FILE beyond the committed bytes. */
struct shown_ahead {
    uint64_t offset;
    uint32_t thread, records;
};

struct tail_shown {
    struct thread_map map;
    struct shown_thread *threads;
    struct shown_ahead *ahead;
    uint32_t thread_capacity, ahead_capacity, ahead_count;
    uint64_t committed; /* bytes of FILE */
    bool recounts;
};

static struct shown_thread *tail_find_thread(struct tail_shown *shown, uint64_t thread_id)
{
    uint32_t number = thread_map_number(&shown->map, thread_id);
    if (number == THREAD_NONE || !GROW_ZEROED(shown->threads, shown->thread_capacity, number + 1))
        return NULL;
    return &shown->threads[number];
}

static bool note_ahead(struct tail_shown *shown, const struct rbwp_block *block)
{
    if (block->offset < shown->committed)
        return true;
    if (!GROW_ZEROED(shown->ahead, shown->ahead_capacity, shown->ahead_count + 1))
        return false;
    shown->ahead[shown->ahead_count++] =
        (struct shown_ahead){.offset = block->offset,
                             .thread = thread_map_find(&shown->map, block->header.thread_id),
                             .records = block->header.records};
    return true;
}

/* The thread's next block in FILE; the first *skip_out of its records were shown. Its thread, valid
 * until the next call; NULL without memory. */
static const struct shown_thread *
tail_shown_block(struct tail_shown *shown, const struct rbwp_block *block, uint32_t *skip_out)
{
    uint32_t records = block->header.records;
    *skip_out = 0;
    struct shown_thread *thread = tail_find_thread(shown, block->header.thread_id);
    if (!thread || !note_ahead(shown, block))
        return NULL;
    if (thread->shown > thread->in_file) {
        uint64_t before = thread->shown - thread->in_file;
        *skip_out = before < records ? (uint32_t)before : records;
    }
    thread->in_file += records;
    if (thread->shown < thread->in_file)
        thread->shown = thread->in_file;
    return thread;
}

/* Before records of FILE.live: FILE is read, and committed up to here. */
static void tail_shown_begin_live(struct tail_shown *shown, uint64_t committed, bool recounts)
{
    uint32_t kept = 0;
    shown->committed = committed;
    shown->recounts = recounts;
    for (uint32_t i = 0; i < shown->map.count && i < shown->thread_capacity; i++)
        shown->threads[i].at = shown->threads[i].in_file;
    for (uint32_t i = 0; i < shown->ahead_count; i++) {
        struct shown_ahead ahead = shown->ahead[i];
        if (ahead.offset < committed)
            continue;
        shown->threads[ahead.thread].at -= ahead.records;
        shown->ahead[kept++] = ahead;
    }
    shown->ahead_count = kept;
    for (uint32_t i = 0; recounts && i < shown->map.count && i < shown->thread_capacity; i++)
        shown->threads[i].shown = shown->threads[i].in_file;
}

/* The thread's next record in FILE.live; true if it was shown. Otherwise *thread_out is its thread,
 * NULL without memory. */
static bool tail_shown_has(struct tail_shown *shown, const struct rbwp_live_record *live,
                           struct shown_thread **thread_out)
{
    struct shown_thread *thread = tail_find_thread(shown, live->thread_id);
    *thread_out = thread;
    if (!thread)
        return false;
    bool has = thread->at++ < thread->shown;
    if (!has && shown->recounts && live->ticks <= thread->last_ticks) {
        thread->shown = thread->at;
        has = true;
    }
    return has;
}

/* It is shown, at that time or the last one's. */
static void tail_shown_add(struct shown_thread *thread, const struct rbwp_live_record *live,
                           int64_t *time_ns)
{
    thread->shown = thread->at;
    thread->last_ticks = live->ticks;
    if (*time_ns < thread->floor_ns)
        *time_ns = thread->floor_ns;
    thread->floor_ns = *time_ns;
}

/* ---- cmd tail -------------------------------------------------------------------------------- */

#define POLL_NS 100000000
#define LINES_DEFAULT 10u

struct tail_count {
    bool set;
    uint32_t lines;
};

struct tail_options {
    bool follow, live, records, ndjson;
    struct tail_count count;
};

static bool tail_store_count(void *value, const char *text, struct option_error *error)
{
    struct tail_count *count = value;
    char *end;
    errno = 0;
    unsigned long long lines = strtoull(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end || errno || lines > TAIL_LINES_MAX)
        return option_wrong(error, "is not a number up to %u", TAIL_LINES_MAX);
    *count = (struct tail_count){true, (uint32_t)lines};
    return true;
}

static const struct option tail_option_table[] = {
    {"lines", 'n', "N", NULL, "the last N (default 10)", offsetof(struct tail_options, count),
     tail_store_count},
    {"follow", 'f', NULL, NULL, "go on with what comes, also to FILE.live, until the program stops",
     offsetof(struct tail_options, follow), NULL},
    {"live", 0, NULL, NULL, INPUT_LIVE_HELP, offsetof(struct tail_options, live), NULL},
    {"records", 0, NULL, NULL, "records instead of spans", offsetof(struct tail_options, records),
     NULL},
    {"ndjson", 0, NULL, NULL, "one JSON object a line, as rbwp dump",
     offsetof(struct tail_options, ndjson), NULL},
    {0},
};

static const struct option_group tail_groups[] = {
    {"Tail", tail_option_table, 0},
    {0},
};

struct tail {
    const struct tail_options *options;
    struct input input;
    struct names names;
    struct reorder reorder;
    struct pair_builder builder;
    struct tail_lines lines;
    struct tail_shown shown;
    bool alone;            /* FILE.live gives no records; a message was given */
    bool died;             /* the program; nothing is elided any more */
    uint64_t named_blocks; /* names are as of the time when so many had been read */
    uint64_t problems;
    uint64_t counted_problems, unwritten; /* as of the last count of records */
    bool failed;                          /* out of memory: blocks were dropped */
};

/* ---- stopping --------------------------------------------------------------------------- */

static volatile sig_atomic_t interrupted;

static void on_signal(int number)
{
    (void)number;
    interrupted = 1;
}

/* ---- from blocks to lines ----------------------------------------------------------------- */

static void tail_add_pair(void *context, const struct record_pair *pair)
{
    struct tail *tail = context;
    tail_lines_add(&tail->lines, &(struct tail_line){.pair = *pair});
}

/* As they are by now: items and threads come while the file is followed. */
static void renew_names(struct tail *tail)
{
    names_free(&tail->names);
    input_find_live(&tail->input);
    tail->failed |= !names_load(&tail->names, tail->input.reader);
    tail->named_blocks = tail->input.blocks;
}

static void add_record(struct tail *tail, uint64_t thread_id, const struct rbwp_record *record)
{
    if (tail->options->records)
        tail_lines_add(
            &tail->lines,
            &(struct tail_line){.is_record = true, .thread_id = thread_id, .record = *record});
    else
        pair_builder_record(&tail->builder, thread_id, record);
}

/* Those behind the first `skip`, which were shown; none before what was shown last. */
static void add_records(struct tail *tail, const struct rbwp_block *block, uint32_t skip,
                        int64_t floor_ns)
{
    struct rbwp_record_iterator iterator;
    struct rbwp_record record;
    rbwp_record_first(block, &iterator);
    for (uint32_t i = 0; rbwp_record_next(&iterator, &record); i++) {
        if (i < skip)
            continue;
        if (record.time_ns < floor_ns)
            record.time_ns = floor_ns;
        add_record(tail, block->header.thread_id, &record);
    }
}

static void add_block(void *context, const struct rbwp_block *block, bool late)
{
    struct tail *tail = context;
    uint32_t skip = 0;
    int64_t floor_ns = INT64_MIN;
    (void)late; /* it is shown where it came */
    if (tail->options->follow) {
        const struct shown_thread *thread = tail_shown_block(&tail->shown, block, &skip);
        tail->failed |= !thread;
        if (thread && thread->last_ticks)
            floor_ns = thread->floor_ns;
    }
    if (skip == block->header.records)
        return;
    if (!tail->lines.ring && block->index >= tail->named_blocks)
        renew_names(tail);
    if (tail->options->records || floor_ns != INT64_MIN)
        add_records(tail, block, skip, floor_ns);
    else
        pair_builder_block(&tail->builder, block);
}

/* Nothing is paired across damage. */
static void break_at_damage(struct tail *tail)
{
    uint64_t problems = rbwp_reader_problem_count(tail->input.reader);
    if (problems == tail->problems)
        return;
    tail->problems = problems;
    reorder_flush(&tail->reorder);
    pair_builder_break(&tail->builder);
}

/* Takes what is there. True if that was anything. */
static bool take_blocks(struct tail *tail)
{
    struct rbwp_block block;
    bool any = false;
    while (!interrupted && !out_failed(tail->lines.out) && input_next(&tail->input, &block)) {
        break_at_damage(tail);
        any = true;
        if (block.header.records > 0 && !reorder_push(&tail->reorder, &block))
            tail->failed = true;
    }
    reorder_flush(&tail->reorder);
    return any;
}

/* ---- what FILE.live has ------------------------------------------------------------------- */

static void report_alone(struct tail *tail, const char *why)
{
    if (!tail->alone)
        message_plain("%s.live: %s; records are shown when they come to the file in blocks, after "
                      "minutes where there are few",
                      tail->input.name, why);
    tail->alone = true;
    tail->input.tailed = false;
}

/* Those of this moment; NULL if there are none to be had. */
static struct rbwp_live_records *take_records(struct tail *tail)
{
    struct rbwp_live_records *records;
    struct rbwp_error error;
    if (!tail->input.live)
        input_find_live(&tail->input);
    if (!tail->input.live) {
        tail->shown.committed = UINT64_MAX;
        return NULL;
    }
    enum rbwp_status status = rbwp_live_records_take(tail->input.live, &records, &error);
    if (status == RBWP_OK)
        tail->shown.committed = rbwp_live_records_file_bytes(records);
    else if (status != RBWP_AGAIN) /* the next look may find a moment */
        report_alone(tail, error.text);
    tail->input.tailed = !tail->alone;
    return status == RBWP_OK ? records : NULL;
}

/* Adds one that was not shown. False when its time is no longer known: FILE has it by now. */
static bool add_live(struct tail *tail, struct shown_thread *thread, struct rbwp_live_record *live)
{
    if (!tail->input.live)
        return false;
    live->record.time_ns = rbwp_live_time_ns(tail->input.live, live->ticks);
    tail_shown_add(thread, live, &live->record.time_ns);
    add_record(tail, live->thread_id, &live->record);
    return true;
}

/* FILE is read. True if there was anything new. */
static bool add_records_of_live(struct tail *tail, struct rbwp_live_records *records)
{
    uint64_t unwritten = rbwp_live_records_unwritten(records);
    bool recounts = tail->unwritten != unwritten || tail->counted_problems != tail->problems;
    bool any = false, more = true;
    struct rbwp_live_record live;
    tail->unwritten = unwritten;
    tail->counted_problems = tail->problems;
    tail_shown_begin_live(&tail->shown, rbwp_live_records_file_bytes(records), recounts);
    while (more && !interrupted && rbwp_live_records_next(records, &live)) {
        struct shown_thread *thread;
        bool shown = tail_shown_has(&tail->shown, &live, &thread);
        tail->failed |= !thread;
        if (!thread || shown || (live.open && !tail->died))
            continue;
        if (!any)
            renew_names(tail); /* and the clock */
        any = true;
        more = add_live(tail, thread, &live);
    }
    return any;
}

/* One look at both. True if there was anything new. */
static bool take_new(struct tail *tail)
{
    if (!tail->options->follow)
        return take_blocks(tail);
    struct rbwp_live_records *records = take_records(tail);
    bool any = take_blocks(tail);
    if (records && tail->input.end_status == RBWP_AGAIN)
        any |= add_records_of_live(tail, records);
    rbwp_live_records_free(records);
    return any;
}

/* ---- one file --------------------------------------------------------------------------- */

static enum exit_code tail_stop(struct tail *tail)
{
    reorder_stop(&tail->reorder);
    pair_builder_stop(&tail->builder);
    /* Zero is a start. */
    thread_map_free(&tail->shown.map);
    free(tail->shown.threads);
    free(tail->shown.ahead);
    tail->shown = (struct tail_shown){0};
    tail_lines_free(&tail->lines);
    names_free(&tail->names);
    return input_close(&tail->input);
}

static bool tail_start(struct tail *tail, const char *path, uint32_t most)
{
    bool snapshot = tail->options->live && !tail->options->follow;
    if (!(snapshot ? input_open_live(&tail->input, path) : input_open_follow(&tail->input, path)))
        return false;
    tail->named_blocks = tail->problems = tail->unwritten = tail->counted_problems = 0;
    tail->alone = tail->died = tail->failed = false;
    tail->lines.file = path;
    tail->lines.names = &tail->names;
    tail->lines.zero_ns = rbwp_reader_header(tail->input.reader)->zero_time_ns;
    reorder_start(&tail->reorder, add_block, tail);
    pair_builder_start(&tail->builder, tail_add_pair, tail);
    if (names_load(&tail->names, tail->input.reader) && tail_lines_start(&tail->lines, most))
        return true;
    message("out of memory");
    (void)tail_stop(tail);
    return false;
}

/* What became of the file under its name. */
enum fate { SAME, REMOVED, REPLACED };

static enum fate tail_look(const struct tail *tail)
{
    struct stat now, then;
    if (fstat(tail->input.fd, &then) != 0)
        return REMOVED;
    if (stat(tail->input.path, &now) != 0)
        return REMOVED;
    return now.st_dev == then.st_dev && now.st_ino == then.st_ino ? SAME : REPLACED;
}

static void pause_shortly(void)
{
    struct timespec pause = {0, POLL_NS};
    nanosleep(&pause, NULL);
}

/* Follows the file until something ends it. */
static enum fate follow(struct tail *tail)
{
    for (bool last_look = false; !interrupted && !out_failed(tail->lines.out);) {
        bool any = take_new(tail);
        if (tail->input.end_status != RBWP_AGAIN) {
            renew_names(tail);
            return tail->input.end_status == RBWP_E_TRUNCATED ? REPLACED : SAME;
        }
        if (!tail->input.live && !tail->input.tailed)
            report_alone(tail, tail->input.live_refused ? "is not read" : "is not there");
        out_flush(tail->lines.out);
        enum fate fate = tail_look(tail);
        if (last_look && !any)
            return fate;
        tail->died = tail->input.live && !rbwp_live_is_written(tail->input.live);
        last_look = fate != SAME || tail->died;
        if (!last_look)
            pause_shortly();
    }
    return SAME;
}

static void report_end(const struct tail *tail, enum fate fate)
{
    const struct input *input = &tail->input;
    if (interrupted || out_failed(tail->lines.out))
        return;
    if (fate == REMOVED)
        message_plain("%s: was removed", input->name);
    else if (fate == REPLACED)
        message_plain("%s: was replaced; following the new file", input->name);
    else if (input->end_status == RBWP_END)
        message_plain("%s: finalised: %" PRIu64 " blocks, %" PRIu64 " records", input->name,
                      input->blocks, input->records);
    else if (tail->died && input->tailed)
        message_plain("%s: its program died; rbwp repair makes a whole file of it and %s.live",
                      input->name, input->name);
}

static enum exit_code report_missing(const struct tail *tail, const char *path)
{
    if (!tail->failed && !tail->builder.failed)
        return EXIT_GOOD;
    message_plain("%s: not all blocks could be held in memory; lines are missing", path);
    return EXIT_PARTIAL;
}

/* A file that was just made may not have its header yet. */
static bool await_header(const char *path)
{
    struct stat status;
    while (!interrupted && stat(path, &status) == 0) {
        if (!S_ISREG(status.st_mode) || status.st_size >= RBWP_FILE_HEADER_BYTES)
            return true;
        pause_shortly();
    }
    return false;
}

static enum exit_code tail_file(struct tail *tail, const char *path, uint32_t most)
{
    enum exit_code code = EXIT_GOOD;
    enum fate fate;
    do {
        fate = SAME;
        if (!tail_start(tail, path, most))
            return EXIT_BAD_DATA;
        take_new(tail);
        bool goes_on = tail->options->follow && tail->input.end_status == RBWP_AGAIN;
        if (!goes_on)
            pair_builder_break(&tail->builder);
        if (tail->input.follow)
            renew_names(tail);
        tail_lines_print(&tail->lines);
        if (goes_on) {
            fate = follow(tail);
            pair_builder_break(&tail->builder);
        }
        if (tail->options->follow)
            report_end(tail, fate);
        code = exit_worse(code, report_missing(tail, path));
        enum exit_code ended = tail_stop(tail);
        code = exit_worse(code, fate == REPLACED ? EXIT_GOOD : ended);
        most = TAIL_LINES_MAX;
    } while (fate == REPLACED && await_header(path));
    return code;
}

static enum exit_code tail_run(void *config, struct operands files)
{
    const struct tail_options *options = config;
    struct out out;
    if (files.count != 1)
        return message_usage("give one FILE");
    if (options->follow && options->live)
        return message_usage(
            "--live shows one moment and -f what comes, of FILE.live too: give one of them");
    if (!out_open(&out, &(struct out_options){0}, files))
        return EXIT_BAD_DATA;
    if (options->follow) {
        struct sigaction action = {.sa_handler = on_signal};
        sigaction(SIGINT, &action, NULL);
        sigaction(SIGTERM, &action, NULL);
    }
    struct tail tail = {.options = options, .lines = {.out = &out, .ndjson = options->ndjson}};
    enum exit_code code =
        tail_file(&tail, files.words[0], options->count.set ? options->count.lines : LINES_DEFAULT);
    return exit_worse(code, out_close(&out));
}

const struct command command_tail = {
    .name = "tail",
    .summary = "show the end of a file, and what is added to it",
    .operands = "FILE",
    .description =
        "Shows the last spans of an RBWP file, or its last records, one a line: seconds since\n"
        "the program's zero, how long it took, thread, name. With -f what comes as well, as soon\n"
        "as its call has ended, until the file is finalised or removed, or its program dies.\n"
        "rbwp stats --live sums up what a running program did so far, and rbwp repair makes a\n"
        "whole file of it.\n"
        "Exit status: 0 good, 1 bad data, 2 usage, 3 partly read.",
    .groups = tail_groups,
    .config_bytes = sizeof(struct tail_options),
    .run = tail_run,
};
