/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From blocks to parts. Each thread is in one part at a time and knows what
 * is open on it, which is all that a boundary needs.
 */
#include "split.h"
#include "message.h"
#include "reorder.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

struct split_thread {
    bool begun;
    uint32_t part;
};

struct split {
    const struct split_options *options;
    struct input *input;
    struct split_result *result;
    struct names names;
    struct filter filter; /* without its times: they are a window */
    struct filter_options records;
    int64_t anchor_ns, to_ns;
    bool resolved, failed;
    struct rbwp_block_encoder *encoder;
    struct filter_found found;
    struct reorder reorder;
    struct table_parts tables;
    struct pair_builder pairs; /* what is open; its numbers of threads are ours */
    struct split_thread *threads;
    uint32_t thread_room;
    uint32_t encoded; /* records in the encoder */
    uint32_t passed;  /* parts that were not there when a span that is open led on */

    /* Of the block that is being split. */
    struct split_thread *thread;
    uint32_t thread_number;
};

static void split_fail(struct split *split)
{
    message_once(&split->failed, "out of memory");
}

/* ---- windows --------------------------------------------------------------------------- */

static void resolve(struct split *split, int64_t first_ns)
{
    struct filter window;
    if (split->resolved)
        return;
    filter_start(&window, &split->options->filter, split->input->reader, NULL);
    filter_resolve(&window, first_ns);
    int64_t zero_ns = rbwp_reader_header(split->input->reader)->zero_time_ns;
    split->anchor_ns = split->options->filter.from.set ? window.from_ns
                       : zero_ns                       ? zero_ns
                                                       : first_ns;
    split->to_ns = window.to_ns;
    split->resolved = true;
    filter_stop(&window);
}

/* The number of the part that a time is in. */
static uint64_t part_of(const struct split *split, int64_t time_ns)
{
    if (split->options->by_thread)
        return split->thread_number;
    if (split->options->every_ns == 0 || time_ns <= split->anchor_ns)
        return 0;
    return ((uint64_t)time_ns - (uint64_t)split->anchor_ns) / (uint64_t)split->options->every_ns;
}

static int64_t part_start_ns(const struct split *split, uint32_t part)
{
    int64_t ns;
    if (__builtin_mul_overflow(split->options->every_ns, (int64_t)part, &ns) ||
        __builtin_add_overflow(ns, split->anchor_ns, &ns))
        return INT64_MAX;
    return ns;
}

/* ---- parts ----------------------------------------------------------------------------- */

/* "a.bin" becomes "a.0007.bin", or "a.part.bin" where there is just one. */
static char *part_path(const struct split *split, uint32_t part)
{
    const struct split_options *options = split->options;
    const char *path = options->output ? options->output : split->input->path;
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    const char *dot = strrchr(base, '.');
    size_t stem = dot && dot != base ? (size_t)(dot - path) : strlen(path);
    bool single = !options->by_thread && options->every_ns == 0;
    char number[16], *made = malloc(strlen(path) + sizeof number + 2);
    snprintf(number, sizeof number, "%04" PRIu32, part);
    if (made && single && options->output)
        strcpy(made, path);
    else if (made)
        sprintf(made, "%.*s.%s%s", (int)stem, path, single ? "part" : number, path + stem);
    return made;
}

static struct part_file *find_part(struct split *split, uint32_t part)
{
    struct split_result *result = split->result;
    result->count = part < result->count ? result->count : part + 1;
    if (result->parts[part].path)
        return &result->parts[part];
    char *path = part_path(split, part);
    if (!path)
        split_fail(split);
    else if (!part_file_begin(&result->parts[part], path, split->options->force,
                              split->input->reader, split->input->fd))
        split->failed = true;
    return split->failed ? NULL : &result->parts[part];
}

/* Hands what was encoded to the part of the thread. */
static void split_seal(struct split *split)
{
    struct rbwp_sealed_block block;
    struct part_file *part = NULL;
    if (!split->failed && split->encoded)
        part = find_part(split, split->thread->part);
    split->encoded = 0;
    if (!part || rbwp_block_encoder_seal(split->encoder, split->pairs.map.ids[split->thread_number],
                                         part->sequence, &block) != RBWP_OK)
        return;
    part->sequence++;
    if (!part_file_add(part, split->thread_number, &block))
        split->failed = true;
}

static void split_put(struct split *split, const struct rbwp_record *record)
{
    if (!split->failed && rbwp_block_encoder_add(split->encoder, record) == RBWP_AGAIN) {
        split_seal(split);
        if (rbwp_block_encoder_add(split->encoder, record) != RBWP_OK)
            split_fail(split);
    }
    split->encoded++;
}

/* ---- what is open ---------------------------------------------------------------------- */

/* Of the thread. */
static struct pair_thread open_of(const struct split *split)
{
    return split->thread_number < split->pairs.thread_capacity
               ? split->pairs.threads[split->thread_number]
               : (struct pair_thread){0};
}

static void follow(struct split *split, const struct rbwp_record *record)
{
    pair_builder_record(&split->pairs, split->pairs.map.ids[split->thread_number], record);
    if (split->pairs.failed)
        split_fail(split);
}

/* A pair that ended is in its part. */
static void split_pair(void *context, const struct record_pair *pair)
{
    (void)context, (void)pair;
}

static void end_open(struct split *split, int64_t time_ns)
{
    const struct pair_thread open = open_of(split);
    split->result->cuts += open.depth;
    for (uint32_t i = open.depth; i-- > 0;)
        split_put(split, &(struct rbwp_record){.time_ns = time_ns,
                                               .kind = i + 1 == open.call ? RBWP_COARSE_END
                                                                          : RBWP_FINE_END});
}

static void begin_open(struct split *split, int64_t time_ns)
{
    const struct pair_thread open = open_of(split);
    for (uint32_t i = 0; i < open.depth; i++)
        split_put(split, &(struct rbwp_record){.time_ns = time_ns,
                                               .kind = i + 1 == open.call ? RBWP_COARSE_BEGIN
                                                                          : RBWP_FINE_BEGIN,
                                               .slot = (uint8_t)open.open[i].item,
                                               .sub_item = open.open[i].item});
}

/* Of two records and a day between them would come as many files as there are boundaries. */
static bool may_pass(struct split *split, uint32_t part)
{
    for (uint32_t i = split->thread->part + 1; open_of(split).depth && i < part; i++)
        split->passed += !split->result->parts[i].path;
    if (split->passed > SPLIT_PASSED_MAX) {
        message("%s: spans lie across more than %u parts in which nothing begins or ends; give a "
                "longer --every, or filters",
                split->input->name, SPLIT_PASSED_MAX);
        split->failed = true;
    }
    return !split->failed;
}

/* Leads the thread into a later part; what is open on it lies in all parts between. */
static void go_to_part(struct split *split, uint32_t part)
{
    if (!may_pass(split, part))
        return;
    while (split->thread->part < part && !split->failed) {
        uint32_t next = open_of(split).depth ? split->thread->part + 1 : part;
        int64_t boundary_ns = part_start_ns(split, next);
        end_open(split, boundary_ns);
        split_seal(split);
        split->thread->part = next;
        begin_open(split, boundary_ns);
    }
}

/* ---- records --------------------------------------------------------------------------- */

static bool is_part(struct split *split, uint64_t part)
{
    if (part >= SPLIT_PARTS_MAX) {
        message("%s: more than %u parts; give a longer --every, or filters", split->input->name,
                SPLIT_PARTS_MAX);
        split->failed = true;
    }
    return !split->failed;
}

static void split_take(struct split *split, const struct rbwp_record *record)
{
    const struct filter_options *filter = &split->options->filter;
    bool is_end = record->kind == RBWP_COARSE_END || record->kind == RBWP_FINE_END;
    int64_t time_ns = record->time_ns - is_end; /* what ends at a boundary is before it */
    if (filter->from.set && !split->thread->begun && time_ns < split->anchor_ns) {
        follow(split, record); /* what is open is known when the window begins */
        return;
    }
    bool past = filter->to.set && time_ns >= split->to_ns;
    if (past && open_of(split).depth == 0)
        return;
    uint64_t part = part_of(split, past ? split->to_ns - 1 : time_ns);
    if (!is_part(split, part))
        return;
    if (!split->thread->begun) {
        split->thread->part = split->options->by_thread ? (uint32_t)part : 0;
        split->thread->begun = true;
        if (split->options->filter.from.set) {
            split->result->cuts += open_of(split).depth;
            begin_open(split, split->anchor_ns);
        }
    }
    if (part > split->thread->part)
        go_to_part(split, (uint32_t)part);
    if (past) {
        end_open(split, split->to_ns);
        pair_builder_break_thread(&split->pairs, split->thread_number);
        return;
    }
    split_put(split, record);
    follow(split, record);
}

static void split_block(void *context, const struct rbwp_block *block, bool late)
{
    struct split *split = context;
    struct rbwp_record_iterator iterator;
    struct rbwp_record record;
    (void)late;
    filter_resolve(&split->filter, block->first_ns);
    filter_see_block(&split->filter, block);
    if (split->failed || !filter_block(&split->filter, block))
        return;
    resolve(split, block->first_ns);
    if (split->options->filter.to.set && split->anchor_ns >= split->to_ns)
        return; /* an empty window */
    split->thread_number =
        thread_map_place(&split->pairs.map, block->header.thread_id, &split->threads,
                         &split->thread_room, sizeof *split->threads);
    if (split->thread_number == THREAD_NONE) {
        split_fail(split);
        return;
    }
    split->thread = &split->threads[split->thread_number];
    rbwp_record_first(block, &iterator);
    while (!split->failed && rbwp_record_next(&iterator, &record))
        if (filter_record(&split->filter, &record))
            split_take(split, &record);
    split_seal(split);
}

/* ---- rows of tables -------------------------------------------------------------------- */

/* Of the conditions, those of time and thread are for rows, too. What has no time is in the first
 * window. */
static bool place_row(void *context, uint64_t thread_id, const int64_t *time_ns, uint32_t *part_out)
{
    struct split *split = context;
    const struct filter_options *filter = &split->options->filter;
    if (split->failed || (filter->threads.count && thread_id == 0) ||
        !filter_takes_thread(&split->filter, thread_id, time_ns ? *time_ns : 0))
        return false;
    if (time_ns) {
        filter_resolve(&split->filter, *time_ns);
        resolve(split, *time_ns);
        if ((filter->from.set && *time_ns < split->anchor_ns) ||
            (filter->to.set && *time_ns >= split->to_ns))
            return false;
    }
    if (split->options->by_thread)
        split->thread_number = thread_map_place(&split->pairs.map, thread_id, &split->threads,
                                                &split->thread_room, sizeof *split->threads);
    if (split->options->by_thread && split->thread_number == THREAD_NONE) {
        split_fail(split);
        return false;
    }
    uint64_t part =
        time_ns || split->options->by_thread ? part_of(split, time_ns ? *time_ns : 0) : 0;
    *part_out = (uint32_t)part;
    return is_part(split, part);
}

static struct part_file *part_of_rows(void *context, uint32_t part)
{
    struct split *split = context;
    return split->failed ? NULL : find_part(split, part);
}

static void split_opaque(struct split *split, const struct rbwp_block *block)
{
    bool of_table;
    if (!table_parts_take(&split->tables, block, &of_table))
        split->failed = true;
    split->result->opaque_blocks += !of_table;
}

/* ---- blocks ---------------------------------------------------------------------------- */

static void split_blocks(struct split *split)
{
    struct rbwp_block block;
    uint64_t problems = 0;
    while (!split->failed && input_next(split->input, &block)) {
        uint64_t problems_now = rbwp_reader_problem_count(split->input->reader);
        /* Data are missing here: nothing that is open is known to be open behind it. */
        if (problems_now != problems) {
            reorder_flush(&split->reorder);
            pair_builder_break(&split->pairs);
        }
        problems = problems_now;
        if (block.header.records == 0)
            split_opaque(split, &block);
        else if (!reorder_push(&split->reorder, &block))
            split_fail(split);
    }
    reorder_flush(&split->reorder);
}

/* ---- all together ---------------------------------------------------------------------- */

/* Where the part after this one begins; the parts between have no records and are not there. */
static int64_t next_start_ns(const struct split *split, uint32_t part)
{
    if (split->options->every_ns)
        for (uint32_t next = part + 1; next < split->result->count; next++)
            if (split->result->parts[next].path)
                return part_start_ns(split, next);
    return split->to_ns;
}

/* number: of the part, from 1. */
static bool finish_part(struct split *split, uint32_t part, uint32_t number)
{
    const struct split_options *options = split->options;
    const struct filter_options *filter = &options->filter;
    struct part_file_facts facts = {
        .is_first = number == 1,
        .takes_rest =
            number == 1 && !(options->by_thread ? filter->threads.count : filter->from.set),
        .from_ns = part_start_ns(split, part),
        .to_ns = next_start_ns(split, part),
        .by_thread = options->by_thread,
        .thread_id = options->by_thread ? split->pairs.map.ids[part] : 0,
        .part = options->by_thread || options->every_ns ? number : 0,
        .complete_from_ns = filter->from.set || (number > 1 && !options->by_thread)
                                ? part_start_ns(split, part)
                                : 0,
        .threads = split->pairs.map.ids,
        .thread_count = split->pairs.map.count,
    };
    return table_parts_end(&split->tables, &split->result->parts[part]) &&
           part_file_finish(&split->result->parts[part], split->input->reader, &facts);
}

static void finish_parts(struct split *split)
{
    struct split_result *result = split->result;
    uint32_t number = 0;
    for (uint32_t i = 0; i < result->count && !split->failed; i++) {
        if (!result->parts[i].path)
            continue;
        split->failed = !finish_part(split, i, ++number);
    }
    for (uint32_t i = number = 0; i < result->count; i++) {
        part_file_close(&result->parts[i], split->failed);
        if (result->parts[i].path)
            result->parts[number++] = result->parts[i];
    }
    result->count = number;
}

static bool split_start(struct split *split)
{
    split->records = split->options->filter;
    split->records.from.set = split->records.to.set = false;
    split->records.found = &split->found;
    if (!table_parts_start(&split->tables, split->input, place_row, part_of_rows, split) ||
        !names_load(&split->names, split->input->reader) ||
        rbwp_block_encoder_new(0, -1, &split->encoder) != RBWP_OK) {
        split_fail(split);
        return false;
    }
    filter_start(&split->filter, &split->records, split->input->reader, &split->names);
    reorder_start(&split->reorder, split_block, split);
    pair_builder_start(&split->pairs, split_pair, split);
    return true;
}

/* True, with the message given, when the filters left no part. */
static bool left_nothing(const struct split *split)
{
    struct filter_options filter = split->options->filter;
    if (split->result->count)
        return false;
    filter.found = (struct filter_found *)(uintptr_t)&split->found;
    if (filter_is_set(&filter))
        filter_tell_nothing(&filter, split->input->name);
    return filter_is_set(&filter);
}

enum exit_code split_file(const struct split_options *options, struct input *input,
                          struct split_result *result_out)
{
    struct split *split = calloc(1, sizeof *split);
    /* All at once: writers keep pointers to their parts' descriptors. */
    *result_out = (struct split_result){.parts = calloc(SPLIT_PARTS_MAX, sizeof(struct part_file))};
    if (!split || !result_out->parts) {
        free(split);
        return message_bad_data("out of memory");
    }
    split->options = options;
    split->input = input;
    split->result = result_out;
    /* Each part is an open file. */
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit); /* what is missing shows when a part is opened */
    }
    if (split_start(split)) {
        split_blocks(split);
        finish_parts(split);
        reorder_stop(&split->reorder);
        filter_stop(&split->filter);
    }
    rbwp_block_encoder_free(split->encoder);
    names_free(&split->names);
    free(split->threads);
    pair_builder_stop(&split->pairs);
    result_out->broken_blocks = split->tables.broken;
    table_parts_stop(&split->tables);
    bool failed = split->failed || left_nothing(split);
    free(split);
    return failed ? EXIT_BAD_DATA : EXIT_GOOD;
}

void split_free(struct split_result *result)
{
    for (uint32_t i = 0; i < result->count; i++)
        free(result->parts[i].path);
    free(result->parts);
}
