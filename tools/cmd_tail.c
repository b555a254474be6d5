/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rbwp tail: the last spans or records of a file, and those that come.
 *
 * A file that is written is read as it grows; its names come from FILE.live.
 * It is polled: a writer adds a block every few milliseconds at most, and a
 * poll costs two reads. It ends when the file is finalised, removed, or its
 * program died; a file of the same name that replaces it is followed instead.
 */
#include "input.h"
#include "message.h"
#include "reorder.h"
#include "tail_lines.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

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

static bool store_count(void *value, const char *text, struct option_error *error)
{
    struct tail_count *count = value;
    char *end;
    errno = 0;
    unsigned long long lines = strtoull(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end || errno || lines > TAIL_LINES_MAX) {
        snprintf(error->text, sizeof error->text, "is not a number up to %u", TAIL_LINES_MAX);
        return false;
    }
    *count = (struct tail_count){true, (uint32_t)lines};
    return true;
}

static const struct option tail_option_table[] = {
    {"lines", 'n', "N", NULL, "the last N (default 10)", offsetof(struct tail_options, count),
     store_count},
    {"follow", 'f', NULL, NULL, "go on with what comes until the file is finalised",
     offsetof(struct tail_options, follow), option_store_true},
    {"live", 0, NULL, NULL, INPUT_LIVE_HELP, offsetof(struct tail_options, live),
     option_store_true},
    {"records", 0, NULL, NULL, "records instead of spans", offsetof(struct tail_options, records),
     option_store_true},
    {"ndjson", 0, NULL, NULL, "one JSON object a line, as rbwp dump",
     offsetof(struct tail_options, ndjson), option_store_true},
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
    struct span_builder builder;
    struct tail_lines lines;
    uint64_t named_blocks; /* names are as of the time when so many had been read */
    uint64_t problems;
    bool failed; /* out of memory: blocks were left out */
};

/* ---- stopping --------------------------------------------------------------------------- */

static volatile sig_atomic_t interrupted;

static void on_signal(int number)
{
    (void)number;
    interrupted = 1;
}

static void catch_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

/* ---- from blocks to lines ----------------------------------------------------------------- */

static void add_span(void *context, const struct span *span)
{
    struct tail *tail = context;
    tail_lines_add(&tail->lines, &(struct tail_line){.span = *span});
}

/* As they are by now: items and threads come while the file is followed. */
static void renew_names(struct tail *tail)
{
    names_free(&tail->names);
    input_find_live(&tail->input);
    tail->failed |= !names_load(&tail->names, tail->input.reader);
    tail->named_blocks = tail->input.blocks;
}

static void add_block(void *context, const struct rbwp_block *block, bool late)
{
    struct tail *tail = context;
    (void)late; /* it is shown where it came */
    if (!tail->lines.ring && block->index >= tail->named_blocks)
        renew_names(tail);
    if (!tail->options->records) {
        span_builder_block(&tail->builder, block);
        return;
    }
    struct tail_line line = {.is_record = true, .thread_id = block->header.thread_id};
    struct rbwp_record_iterator iterator;
    rbwp_record_first(block, &iterator);
    while (rbwp_record_next(&iterator, &line.record))
        tail_lines_add(&tail->lines, &line);
}

/* Nothing is paired across damage. */
static void break_at_damage(struct tail *tail)
{
    uint64_t problems = rbwp_reader_problem_count(tail->input.reader);
    if (problems == tail->problems)
        return;
    tail->problems = problems;
    reorder_flush(&tail->reorder);
    span_builder_break(&tail->builder);
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

/* ---- one file --------------------------------------------------------------------------- */

static bool start(struct tail *tail, const char *path, uint32_t most)
{
    bool snapshot = tail->options->live && !tail->options->follow;
    if (!(snapshot ? input_open_live(&tail->input, path) : input_open_follow(&tail->input, path)))
        return false;
    tail->problems = tail->named_blocks = 0;
    tail->lines.file = path;
    tail->lines.names = &tail->names;
    tail->lines.zero_ns = rbwp_reader_header(tail->input.reader)->zero_time_ns;
    reorder_start(&tail->reorder, add_block, tail);
    span_builder_start(&tail->builder, add_span, tail);
    if (names_load(&tail->names, tail->input.reader) && tail_lines_start(&tail->lines, most))
        return true;
    message("out of memory");
    return false;
}

static enum exit_code stop(struct tail *tail)
{
    reorder_stop(&tail->reorder);
    span_builder_stop(&tail->builder);
    tail_lines_free(&tail->lines);
    names_free(&tail->names);
    return input_close(&tail->input);
}

/* What became of the file under its name. */
enum fate { SAME, REMOVED, REPLACED };

static enum fate look(const struct tail *tail)
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
        bool any = take_blocks(tail);
        if (tail->input.end_status != RBWP_AGAIN) {
            renew_names(tail);
            return tail->input.end_status == RBWP_E_TRUNCATED ? REPLACED : SAME;
        }
        out_flush(tail->lines.out);
        enum fate fate = look(tail);
        bool dead = tail->input.live && !rbwp_live_is_written(tail->input.live);
        if (last_look && !any)
            return fate;
        last_look = fate != SAME || dead;
        if (!last_look)
            pause_shortly();
    }
    return SAME;
}

static void tell_end(const struct tail *tail, enum fate fate)
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
        if (!start(tail, path, most))
            return EXIT_BAD_DATA;
        take_blocks(tail);
        bool goes_on = tail->options->follow && tail->input.end_status == RBWP_AGAIN;
        if (!goes_on)
            span_builder_break(&tail->builder);
        if (tail->input.follow)
            renew_names(tail);
        tail_lines_print(&tail->lines);
        if (goes_on) {
            fate = follow(tail);
            span_builder_break(&tail->builder);
        }
        if (tail->options->follow)
            tell_end(tail, fate);
        if (tail->failed)
            message_plain("%s: not all blocks could be held in memory; lines are missing", path);
        enum exit_code ended = stop(tail);
        code = exit_worse(code, fate == REPLACED ? EXIT_GOOD : ended);
        most = TAIL_LINES_MAX;
    } while (fate == REPLACED && await_header(path));
    return code;
}

static enum exit_code run(void *config, struct operands files)
{
    const struct tail_options *options = config;
    struct out out;
    if (files.count != 1) {
        message_usage("give one FILE");
        return EXIT_USAGE;
    }
    if (options->follow && options->live) {
        message_usage("--live shows one moment and -f what comes to the file: give one of them");
        return EXIT_USAGE;
    }
    if (!out_open(&out, &(struct out_options){0}, files))
        return EXIT_BAD_DATA;
    if (options->follow)
        catch_signals();
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
        "the program's zero, how long it took, thread, name. With -f what is added as well,\n"
        "until the file is finalised or removed, or its program dies. rbwp stats --live sums up\n"
        "what a running program did so far, and rbwp repair makes a whole file of it.\n"
        "Exit status: 0 good, 1 bad data, 2 usage, 3 partly read.",
    .groups = tail_groups,
    .config_bytes = sizeof(struct tail_options),
    .run = run,
};
