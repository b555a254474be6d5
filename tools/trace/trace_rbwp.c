/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RBWP files as a source of a trace.
 *
 * The spans of threads are passed on block by block, GPU work at the end
 * (rbwp_gpu.h).
 */
#include "call_args.h"
#include "call_cpu.h"
#include "catalog_join.h"
#include "file_facts.h"
#include "event_spans.h"
#include "importers.h"
#include "loss_text.h"
#include "losses.h"
#include "message.h"
#include "range_rows.h"
#include "rbwp_gpu.h"
#include "recordings.h"
#include "stack_rows.h"
#include "pair_walk.h"
#include "track_batch.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TITLE_BYTES_MAX = 64 };
/* A row costs a file a few bits and can name a new thread each time, a block or an entry of the
 * thread table costs it tens of bytes: of threads that only rows name, so many are shown. */
enum { ROW_THREADS_MAX = 4096 };
#define SHIFT_MAX (INT64_C(1) << 61)

struct rbwp_thread {
    bool known;
    struct track_batch batch; /* its track is TRACE_NONE while nothing of the thread is wanted */
    int64_t last_ns;          /* latest time seen on it */
};

struct rbwp_source {
    struct input own_input;
    struct names own_names;

    /* While it is read. */
    struct input *input; /* of this file, or of one of the same recording before it */
    struct names *names;
    bool has_earlier;          /* there is such a file */
    int64_t from_ns, until_ns; /* of rows of this file that are not taken from another one */
    uint64_t records, lost, problems, discarded; /* of all files so far */
    struct trace *trace;
    const struct trace_read_options *options;
    struct filter_options wanted; /* on the file's own axis */
    struct filter filter;
    bool filtered; /* else all spans are wanted */
    uint32_t process;
    uint64_t first_id; /* of the trace, less one */
    uint64_t last_id;  /* of the file's spans */
    struct thread_map map;
    struct rbwp_thread *threads;
    uint32_t thread_room;
    uint32_t row_threads; /* that only rows of tables name, so far */
    bool threads_left_out;
    struct thread_infos thread_infos;
    struct rbwp_thread *thread;                                    /* of the block */
    uint64_t thread_id;                                            /* of thread, unless NULL */
    uint32_t slots[RBWP_SLOTS_MAX], sub_items[RBWP_SUB_ITEMS_MAX]; /* see name_of */
    uint8_t categories[RBWP_SUB_ITEMS_MAX]; /* of sub-items that have just one name */
    bool slot_waits[RBWP_SLOTS_MAX];
    uint32_t slot_kinds[RBWP_SLOTS_MAX]; /* see slot_kind */
    uint32_t kinds[RBWP_SUB_ITEMS_MAX];  /* labels: what the program calls theirs, 0 nothing */
    struct rbwp_catalog *catalog;        /* NULL: no table has come */
    uint64_t broken_tables;              /* blocks that were dropped */
    struct rbwp_gpu gpu;
    struct table_rows tables;
    struct early_rows early;
    struct call_args args;
    struct call_cpu cpu;
    struct stack_rows stacks;
    int64_t died_ns; /* of a file that was recovered: what ends then was ended for it */
    struct range_rows ranges;
    struct deferred_losses losses, damages;
    struct pair_walk *walk;
    bool failed;
};

static bool recognises(const uint8_t *head, size_t bytes)
{
    return bytes >= 4 && memcmp(head, RBWP_MAGIC, 4) == 0;
}

static void rbwp_fail(struct rbwp_source *source)
{
    message_once(&source->failed, "%s: out of memory; spans are missing", source->input->name);
}

static void leave_out_threads(struct rbwp_source *source, uint32_t most, const char *where)
{
    if (!source->threads_left_out)
        message("%s: more than %" PRIu32 " threads%s: the others are dropped", source->input->name,
                most, where);
    source->threads_left_out = true;
}

/* ---- opening ---------------------------------------------------------------- */

static int64_t realtime_of(const struct rbwp_clock_sample *sample)
{
    return sample->realtime_ns;
}

static int64_t monotonic_of(const struct rbwp_clock_sample *sample)
{
    return sample->monotonic_ns;
}

/* How far a clock of the system was from record times, in the middle of all samples. False if it
 * was never read. */
static bool compare_clock(const struct rbwp_trailer *trailer,
                          int64_t (*clock_of)(const struct rbwp_clock_sample *sample),
                          int64_t *shift_ns_out, uint64_t *error_ns_out)
{
    int64_t least_ns = INT64_MAX, most_ns = INT64_MIN, ns;
    for (uint32_t i = 0; i < trailer->sample_count; i++) {
        const struct rbwp_clock_sample *sample = &trailer->samples[i];
        if (clock_of(sample) == 0 ||
            __builtin_sub_overflow(clock_of(sample), sample->time_ns, &ns) || ns < -SHIFT_MAX ||
            ns > SHIFT_MAX)
            continue;
        least_ns = ns < least_ns ? ns : least_ns;
        most_ns = ns > most_ns ? ns : most_ns;
    }
    if (least_ns > most_ns)
        return false;
    *error_ns_out = (uint64_t)(most_ns - least_ns + 1) / 2;
    *shift_ns_out = least_ns + (int64_t)*error_ns_out;
    return true;
}

static void fill_identity(struct trace_identity *identity, const struct rbwp_trailer *trailer)
{
    static const uint8_t unknown[sizeof identity->boot_id];
    if (trailer->process_count == 0)
        return;
    const struct rbwp_process_info *process = &trailer->processes[0];
    memcpy(identity->boot_id, process->boot_id, sizeof identity->boot_id);
    identity->has_boot = memcmp(identity->boot_id, unknown, sizeof unknown) != 0;
    identity->start_ns = process->start_ns;
}

/* Made of other files, which did not say the process: then the node is nobody's either. */
static bool is_of_nobody(const struct rbwp_trailer *trailer)
{
    return trailer && trailer->process_id == 0 && trailer->process_count &&
           trailer->processes[0].title_bytes;
}

static struct trace_text job_text(const struct rbwp_trailer *trailer, uint32_t what)
{
    for (uint32_t i = 0; i < trailer->job_fact_count; i++)
        if (trailer->job_facts[i].what == what)
            return (struct trace_text){trailer->job_facts[i].text,
                                       trailer->job_facts[i].text_bytes};
    return (struct trace_text){"", 0};
}

/* A number that is no rank is none. */
static uint32_t job_number(const struct rbwp_trailer *trailer, uint32_t what)
{
    for (uint32_t i = 0; i < trailer->job_fact_count; i++)
        if (trailer->job_facts[i].what == what)
            return trailer->job_facts[i].number > 0 && trailer->job_facts[i].number < UINT32_MAX
                       ? (uint32_t)trailer->job_facts[i].number
                       : 0;
    return 0;
}

static void fill_job(struct trace_facts *facts, const struct rbwp_trailer *trailer)
{
    facts->job = (struct trace_job){
        .id = job_text(trailer, RBWP_JOB_ID),
        .step = job_text(trailer, RBWP_JOB_STEP),
        .launcher = job_text(trailer, RBWP_JOB_LAUNCHER),
        .command = {trailer->command, trailer->command_bytes},
        .rank = job_number(trailer, RBWP_JOB_RANK),
        .ranks = job_number(trailer, RBWP_JOB_RANKS),
    };
    facts->clocks = trailer->node_clocks;
    facts->clock_count = trailer->node_clock_count;
}

static void fill_facts(struct trace_source *source, const struct rbwp_reader *reader)
{
    const struct rbwp_file_header *header = rbwp_reader_header(reader);
    const struct rbwp_trailer *trailer = rbwp_reader_trailer(reader);
    source->facts = (struct trace_facts){
        .has_node = !is_of_nobody(trailer),
        .node = header->node,
        .has_zero = true, /* record times are since 1970 themselves */
        .zero_ns = 0,
        .run_zero_ns = header->zero_time_ns,
        .first_ns = header->zero_time_ns,
    };
    if (!trailer)
        return;
    source->facts.nodes = trailer->nodes;
    source->facts.error_ns = trailer->clock_error_ns;
    source->facts.last_ns = trailer->stop_ns;
    source->facts.host = (struct trace_text){trailer->host, trailer->host_bytes};
    source->facts.identity = (struct trace_identity){.os_id = trailer->process_id,
                                                     .session_ns = trailer->start_ns,
                                                     .kept = trailer->kept_count > 0};
    if (trailer->kept_count) {
        source->facts.identity.part = trailer->kept->part;
        source->facts.identity.why = trailer->kept->why;
        source->facts.identity.from_ns = trailer->kept->from_ns;
    }
    source->facts.identity.parent = job_number(trailer, RBWP_JOB_PARENT);
    fill_identity(&source->facts.identity, trailer);
    fill_job(&source->facts, trailer);
    struct trace_facts *facts = &source->facts;
    facts->has_realtime =
        compare_clock(trailer, realtime_of, &facts->realtime_shift_ns, &facts->realtime_error_ns);
    facts->has_monotonic = compare_clock(trailer, monotonic_of, &facts->monotonic_shift_ns,
                                         &facts->monotonic_error_ns);
}

static bool open_input(struct input *input, const struct trace_source *source)
{
    if (!source->path)
        return input_open_fd(input, dup(source->fd), source->name);
    return source->live ? input_open_live(input, source->path)
                        : input_open(input, source->path, true);
}

static bool open_rbwp(struct trace_source *source)
{
    struct rbwp_source *state = calloc(1, sizeof *state);
    if (!state) {
        message("out of memory");
    } else if (open_input(&state->own_input, source)) {
        if (names_load(&state->own_names, state->own_input.reader)) {
            source->state = state;
            fill_facts(source, state->own_input.reader);
            source->facts.knows_cpu = early_rows_indexed(&state->own_input, EARLY_THREAD_CPU);
            return true;
        }
        message("out of memory");
        input_close(&state->own_input);
    }
    free(state);
    return false;
}

static enum exit_code close_rbwp(struct trace_source *source)
{
    struct rbwp_source *state = source->state;
    names_free(&state->own_names);
    enum exit_code code = input_close(&state->own_input);
    free(state);
    return code;
}

static void leave_rbwp(struct trace_source *source)
{
    struct rbwp_source *state = source->state;
    names_free(&state->own_names);
    input_leave(&state->own_input);
    free(state);
}

/* ---- names ------------------------------------------------------------------ */

enum { NOT_LOOKED = 0, SEVERAL = UINT32_MAX };

static uint32_t add_name(struct rbwp_source *source, const char *kind, uint64_t id,
                         const struct name *name)
{
    char made[64];
    if (name && name->bytes)
        return trace_add_name(source->trace, name->text, name->bytes);
    int bytes = snprintf(made, sizeof made, "%s %" PRIu64, kind, id);
    return trace_add_name(source->trace, made, (uint32_t)bytes);
}

/* True when the id has more than one name in the set. */
static bool has_several(const struct name_set *set, const struct name *name)
{
    size_t at = name ? (size_t)(name - set->names) : 0;
    return name && ((at > 0 && set->names[at - 1].id == name->id) ||
                    (at + 1 < set->count && set->names[at + 1].id == name->id));
}

static uint32_t rbwp_look_up_name(struct rbwp_source *source, const struct name_set *set,
                                  uint32_t *cache, const char *kind, uint32_t id, int64_t time_ns)
{
    const struct name *name = names_find(set, id, time_ns);
    uint32_t number = add_name(source, kind, id, name);
    cache[id] = has_several(set, name) ? SEVERAL : number + 1;
    return number;
}

/* The number of an id's name. cache has number + 1 of ids with one name, SEVERAL where time
 * decides. */
static inline uint32_t rbwp_name_of(struct rbwp_source *source, const struct name_set *set,
                                    uint32_t *cache, const char *kind, uint32_t id, int64_t time_ns)
{
    if (cache[id] != NOT_LOOKED && cache[id] != SEVERAL)
        return cache[id] - 1;
    return rbwp_look_up_name(source, set, cache, kind, id, time_ns);
}

static uint8_t sub_item_category(const struct name *name)
{
    static const uint8_t categories[] = {[RBWP_AM_HANDLER] = TRACE_AM,
                                         [RBWP_XFER_CHANNEL] = TRACE_XFER,
                                         [RBWP_DEPPART_OP] = TRACE_DEPPART,
                                         [RBWP_GPU_REAP] = TRACE_REAP};
    if (name && (name->waits || name->kind_bytes))
        return name->waits ? TRACE_WAITING : TRACE_SUB_ITEM;
    return name && name->type < sizeof categories ? categories[name->type] : TRACE_SUB_ITEM;
}

static inline void name_sub_item(struct rbwp_source *source, struct trace_span *span, uint16_t id,
                                 int64_t time_ns)
{
    const struct name_set *set = &source->names->sub_items;
    bool known = source->sub_items[id] != NOT_LOOKED && source->sub_items[id] != SEVERAL;
    if (!known) {
        const struct name *name = names_find(set, id, time_ns);
        source->categories[id] = sub_item_category(name);
        source->kinds[id] = name ? trace_add_label(source->trace, name->kind, name->kind_bytes) : 0;
    }
    span->category = source->categories[id];
    span->item = id;
    span->name = rbwp_name_of(source, set, source->sub_items, "sub-item", id, time_ns);
}

/* ---- tracks ----------------------------------------------------------------- */

static uint32_t add_thread_track(struct rbwp_source *source, uint64_t thread_id, int64_t time_ns)
{
    char made[64];
    const struct rbwp_thread_info *info = thread_infos_first(&source->thread_infos, thread_id);
    const struct name *name = names_find(&source->names->threads, thread_id, time_ns);
    struct trace_text text = {name ? name->text : "", name ? name->bytes : 0};
    if (text.bytes == 0) {
        snprintf(made, sizeof made, "thread 0x%" PRIx64, thread_id);
        text = trace_text(made);
    }
    struct trace_track track = {.process = source->process,
                                .kind = TRACE_THREAD,
                                .id = thread_id,
                                .os_id = info ? info->os_id : 0,
                                .name = text};
    if (!source->filtered) { /* of a part of its calls, or of its time, only those are summed up */
        track.sum = call_cpu_sum(&source->cpu, thread_id);
        track.sum.from_ns = trace_on_axis(&source->options->axis, track.sum.from_ns);
        track.sum.to_ns = trace_on_axis(&source->options->axis, track.sum.to_ns);
    }
    return trace_add_track(source->trace, track);
}

/* NULL when there is no room. */
static struct rbwp_thread *look_up_thread(struct rbwp_source *source, uint64_t thread_id,
                                          int64_t time_ns)
{
    uint32_t number = thread_map_place(&source->map, thread_id, &source->threads,
                                       &source->thread_room, sizeof *source->threads);
    if (number == THREAD_NONE) {
        if (source->map.count == THREAD_MAP_MAX)
            leave_out_threads(source, THREAD_MAP_MAX, "");
        else
            rbwp_fail(source);
        return NULL;
    }
    struct rbwp_thread *thread = &source->threads[number];
    if (!thread->known) {
        bool wanted = filter_takes_thread(&source->filter, thread_id, time_ns);
        track_batch_start(&thread->batch,
                          wanted ? add_thread_track(source, thread_id, time_ns) : TRACE_NONE);
        thread->known = true;
        thread->last_ns = time_ns;
    }
    return thread;
}

/* The same; nearly always it is the one of the span before. */
static inline struct rbwp_thread *rbwp_find_thread(struct rbwp_source *source, uint64_t thread_id,
                                                   int64_t time_ns)
{
    if (!source->thread || source->thread_id != thread_id) {
        source->thread = look_up_thread(source, thread_id, time_ns);
        source->thread_id = thread_id;
    }
    return source->thread;
}

/* ---- times ------------------------------------------------------------------- */

static int64_t at_least(int64_t time_ns, int64_t least_ns)
{
    return time_ns < least_ns ? least_ns : time_ns;
}

/* ---- spans ------------------------------------------------------------------ */

/* Field by field, where it is going to stay: this is done for each span of a file. Lane, depth and
 * track are not known yet. Names are for those that are wanted: their order is that of a file that
 * has no others. */
static inline void rbwp_make_span(struct rbwp_source *source, const struct record_pair *pair,
                                  struct trace_span *made)
{
    const struct trace_axis *axis = &source->options->axis;
    const uint8_t flags =
        (uint8_t)((pair->has_end ? 0 : TRACE_UNFINISHED) | (pair->open ? TRACE_OPEN : 0));
    int64_t end_ns = flags == TRACE_UNFINISHED ? source->thread->last_ns : pair->end_ns;
    made->start_ns = trace_on_axis(axis, pair->begin_ns);
    made->stop_ns = trace_on_axis(axis, at_least(end_ns, pair->begin_ns));
    made->id = source->first_id + pair->id;
    made->parent = pair->parent ? source->first_id + pair->parent : 0;
    made->track = made->detail = 0;
    made->row = made->depth = 0;
    made->flags = flags;
}

__attribute__((always_inline)) static inline void
name_span(struct rbwp_source *source, const struct record_pair *pair, struct trace_span *made)
{
    int64_t name_ns = pair_name_time_ns(pair);
    if (pair->kind == PAIR_FINE) {
        name_sub_item(source, made, pair->sub_item, name_ns);
    } else {
        made->category = pair->kind == PAIR_GPU ? TRACE_GPU_WORK : TRACE_CALL;
        if (pair->kind == PAIR_COARSE && source->slot_waits[pair->slot])
            made->flags |= TRACE_WAITS;
        made->item = (uint32_t)pair->slot;
        made->name =
            rbwp_name_of(source, &source->names->slots, source->slots, "slot", made->item, name_ns);
    }
}

static bool clip(const struct rbwp_source *source, struct trace_span *made)
{
    const struct trace_axis *axis = &source->options->axis;
    return !source->options->clip || trace_clip(made, trace_on_axis(axis, source->filter.from_ns),
                                                trace_on_axis(axis, source->filter.to_ns));
}

/* What the program calls the kind of a work item, a label. */
static inline uint32_t slot_kind(struct rbwp_source *source, uint8_t slot)
{
    uint32_t *known = &source->slot_kinds[slot];
    if (*known == NOT_LOOKED) {
        const struct name *name = names_find(&source->names->slots, slot, INT64_MIN);
        *known = 1 + (name ? trace_add_label(source->trace, name->kind, name->kind_bytes) : 0);
    }
    return *known - 1;
}

/* Whether the span's call ran. True with a row of it, which is in head then. */
static bool note_cpu(struct rbwp_source *source, const struct record_pair *pair,
                     struct trace_span *span, struct trace_detail *head)
{
    if (pair->end_ns >= source->died_ns || span->flags & TRACE_CUT)
        return false;
    const enum call_ran ran = call_cpu_of(&source->cpu, pair->thread_id, pair->begin_ns, head);
    if (ran == CALL_RAN && !(span->flags & TRACE_UNFINISHED))
        span->flags |= TRACE_RAN;
    return ran == CALL_HAS_ROW;
}

/* What was made of it, with what there is more to say: nearly always nothing. */
static inline bool rbwp_add_span(struct rbwp_source *source, const struct record_pair *pair,
                                 struct track_batch *batch)
{
    const bool is_call = pair->kind == PAIR_COARSE, outermost = pair->parent == 0;
    const uint32_t label =
        is_call ? slot_kind(source, (uint8_t)pair->slot) : source->kinds[pair->sub_item];
    bool has_detail = label;
    if (!label && !(is_call && source->early.catalog))
        return track_batch_add(batch, NULL, outermost);
    struct trace_detail head = {
        .words = sizeof head / sizeof(uint64_t), .category = label, .launch_track = TRACE_NONE};
    const struct trace_detail *detail = NULL;
    if (is_call)
        has_detail |= note_cpu(source, pair, &batch->spans[batch->count], &head);
    if (is_call && source->args.count)
        detail = call_args_of(&source->args, pair->thread_id, pair->begin_ns, &head);
    return track_batch_add(batch, detail || !has_detail ? detail : &head, outermost);
}

static void rbwp_on_pair(void *context, const struct record_pair *pair)
{
    struct rbwp_source *source = context;
    /* Pairs that are given up come with their thread, not in a block of it. */
    (void)rbwp_find_thread(source, pair->thread_id, pair_name_time_ns(pair));
    source->last_id = pair->id > source->last_id ? pair->id : source->last_id;
    if (!source->thread || !pair->has_begin)
        return;
    if (pair->kind == PAIR_GPU) {
        rbwp_gpu_work(&source->gpu, pair);
        return;
    }
    struct track_batch *batch = &source->thread->batch;
    struct trace_span *made = track_batch_next(batch, source->trace);
    if (!made) {
        rbwp_fail(source);
        return;
    }
    rbwp_make_span(source, pair, made);
    if (pair->kind == PAIR_COARSE)
        rbwp_gpu_call(&source->gpu, pair, made->start_ns, batch->track);
    source->thread->last_ns =
        at_least(source->thread->last_ns, trace_off_axis(&source->options->axis, made->stop_ns));
    if (source->filtered && !(filter_takes_pair(&source->filter, pair) && clip(source, made)))
        return;
    name_span(source, pair, made);
    if (batch->track == TRACE_NONE) /* its thread got the name that is wanted later */
        batch->track = add_thread_track(source, pair->thread_id, pair_name_time_ns(pair));
    if (!rbwp_add_span(source, pair, batch))
        rbwp_fail(source);
}

/* ---- what the GPUs need ------------------------------------------------------ */

static bool make_gpu_span(void *context, const struct record_pair *pair,
                          struct trace_span *made_out)
{
    struct rbwp_source *source = context;
    rbwp_make_span(source, pair, made_out);
    if (source->filtered && !(filter_takes_pair(&source->filter, pair) && clip(source, made_out)))
        return false;
    name_span(source, pair, made_out);
    return true;
}

static uint32_t track_of_thread(void *context, uint64_t thread_id)
{
    const struct rbwp_source *source = context;
    uint32_t number = thread_map_find(&source->map, thread_id);
    bool known = number != THREAD_NONE && number < source->thread_room;
    return known && source->threads[number].known ? source->threads[number].batch.track
                                                  : TRACE_NONE;
}

static struct rbwp_text name_of_table(void *context, uint32_t number)
{
    const struct rbwp_source *source = context;
    return rbwp_catalog_name(source->catalog, number);
}

static void see_gpu_work(void *context, const struct gpu_fact *fact, const struct trace_span *made)
{
    struct rbwp_source *source = context;
    range_rows_work(&source->ranges, fact, made);
}

static bool finish_gpus(struct rbwp_source *source)
{
    if (source->options->clip)
        source->gpu.cut_ns = trace_on_axis(&source->options->axis, source->filter.from_ns);
    bool good = rbwp_gpu_finish(&source->gpu, &source->last_id);
    source->walk->builder.next_id = source->last_id; /* behind those of the GPUs */
    return good;
}

/* ---- what the tables need ---------------------------------------------------- */

/* From the counter of the file's spans. */
static uint64_t new_ids(void *context, uint32_t count)
{
    struct rbwp_source *source = context;
    uint64_t first = source->first_id + source->walk->builder.next_id + 1;
    source->last_id = source->walk->builder.next_id += count;
    return first;
}

static uint32_t make_thread_track(void *context, uint64_t thread_id, int64_t time_ns)
{
    struct rbwp_source *source = context;
    bool fresh = thread_map_find(&source->map, thread_id) == THREAD_NONE &&
                 !thread_infos_first(&source->thread_infos, thread_id);
    if (fresh && source->row_threads == ROW_THREADS_MAX) {
        leave_out_threads(source, ROW_THREADS_MAX, " in rows of tables alone");
        return TRACE_NONE;
    }
    source->row_threads += fresh;
    const struct rbwp_thread *thread = rbwp_find_thread(source, thread_id, time_ns);
    return thread ? thread->batch.track : TRACE_NONE;
}

static struct trace_text stack_of(void *context, uint64_t thread_id, int64_t time_ns)
{
    struct rbwp_source *source = context;
    const struct trace_text none = {0};
    const struct trace_text stack = source->options->stacks == TRACE_STACK_ARGUMENTS
                                        ? stack_rows_folded(&source->stacks, thread_id, time_ns)
                                        : none;
    source->tables.failed |= source->stacks.failed;
    return stack;
}

static uint32_t gpu_track(void *context, uint64_t processor)
{
    struct rbwp_source *source = context;
    return rbwp_gpu_track(&source->gpu, processor);
}

static uint32_t slot_name(void *context, uint32_t slot, int64_t time_ns)
{
    struct rbwp_source *source = context;
    return rbwp_name_of(source, &source->names->slots, source->slots, "slot", slot, time_ns);
}

static bool is_row_wanted(void *context, uint64_t thread_id, int64_t start_ns, int64_t stop_ns)
{
    struct rbwp_source *source = context;
    return filter_takes_row(&source->filter, thread_id, start_ns, stop_ns);
}

static bool clip_row(void *context, struct trace_span *span)
{
    return clip(context, span);
}

static void start_tables(struct rbwp_source *source)
{
    const struct rbwp_trailer *trailer = rbwp_reader_trailer(source->input->reader);
    source->tables = (struct table_rows){.host = {.context = source,
                                                  .new_ids = new_ids,
                                                  .thread_track = make_thread_track,
                                                  .stack = stack_of,
                                                  .gpu_track = gpu_track,
                                                  .slot_name = slot_name,
                                                  .wanted = is_row_wanted,
                                                  .clip = clip_row},
                                         .trace = source->trace,
                                         .options = source->options,
                                         .trailer = source->has_earlier ? NULL : trailer,
                                         .process = source->process,
                                         .filtered = source->filtered};
    table_rows_start(&source->tables);
    source->ranges = (struct range_rows){.host = source->tables.host,
                                         .trace = source->trace,
                                         .options = source->options,
                                         .process = source->process,
                                         .filtered = source->filtered,
                                         .last_ns = trailer ? trailer->stop_ns : 0,
                                         .unsure_ns = INT64_MIN};
    range_rows_start(&source->ranges);
}

static void start_gpus(struct rbwp_source *source)
{
    const struct rbwp_trailer *trailer = rbwp_reader_trailer(source->input->reader);
    source->gpu.host = (struct rbwp_gpu_host){.context = source,
                                              .make = make_gpu_span,
                                              .thread_track = track_of_thread,
                                              .name = name_of_table,
                                              .work = see_gpu_work};
    source->gpu.trace = source->trace;
    source->gpu.options = source->options;
    source->gpu.process = source->process;
    source->gpu.first_id = source->first_id;
    source->gpu.cut_ns = INT64_MIN;
    rbwp_gpu_start(&source->gpu, source->has_earlier ||
                                     (trailer && trailer->gpu_count + trailer->table_range_count));
}

/* ---- blocks ------------------------------------------------------------------ */

static void rbwp_on_rows(struct rbwp_source *source, const struct rbwp_rows *rows)
{
    filter_resolve(&source->filter, rows->first_ns);
    source->ranges.last_ns = at_least(source->ranges.last_ns, rows->last_ns);
    if (early_rows_has(&source->early, rows->schema))
        return;
    if (!rbwp_gpu_rows(&source->gpu, rows) &&
        !range_rows_take(&source->ranges, source->catalog, rows))
        table_rows_take(&source->tables, source->catalog, rows);
}

static void take_opaque(void *context, const struct rbwp_block *block)
{
    struct rbwp_source *source = context;
    struct rbwp_rows rows;
    struct rbwp_error error;
    if (rbwp_gpu_block(&source->gpu, block))
        return;
    if (!source->catalog && !(source->catalog = rbwp_catalog_new())) {
        rbwp_fail(source);
        return;
    }
    enum rbwp_status status = rbwp_catalog_take(source->catalog, block, &rows, &error);
    if (status == RBWP_OK && (source->from_ns != INT64_MIN || source->until_ns != INT64_MAX))
        catalog_keep_rows(source->catalog, &rows, source->from_ns, source->until_ns);
    if (status == RBWP_OK && rows.rows)
        rbwp_on_rows(source, &rows);
    else if (status < 0 && source->broken_tables++ < INPUT_PROBLEM_LINES)
        message("%s: %s", source->input->name, error.text);
}

/* What lies in the window counts as the run, whether its spans are wanted or not. */
static void see_block(struct rbwp_source *source, const struct rbwp_block *block)
{
    const struct filter *filter = &source->filter;
    const struct trace_axis *axis = &source->options->axis;
    int64_t first_ns = at_least(block->first_ns, filter->from_ns);
    int64_t last_ns = block->last_ns < filter->to_ns ? block->last_ns : filter->to_ns;
    filter_see_block(&source->filter, block);
    trace_saw(source->trace, trace_on_axis(axis, first_ns), trace_on_axis(axis, last_ns));
}

static void rbwp_begin_block(void *context, const struct rbwp_block *block)
{
    struct rbwp_source *source = context;
    filter_resolve(&source->filter, block->first_ns);
    if (source->filtered)
        see_block(source, block);
    (void)rbwp_find_thread(source, block->header.thread_id, block->first_ns);
}

static void end_block(void *context, const struct rbwp_block *block)
{
    struct rbwp_source *source = context;
    struct rbwp_thread *thread = rbwp_find_thread(source, block->header.thread_id, block->first_ns);
    if (!thread)
        return;
    thread->last_ns = at_least(thread->last_ns, block->last_ns);
    source->ranges.last_ns = at_least(source->ranges.last_ns, block->last_ns);
    track_batch_pass(&thread->batch, source->trace);
}

static void take_damage(void *context, const struct file_damage *damage)
{
    struct rbwp_source *source = context;
    const struct trace_axis *axis = &source->options->axis;
    bool timed = damage->first_ns || damage->last_ns, one = damage->has_block;
    deferred_losses_add(&source->damages,
                        &(struct trace_loss){
                            .process = source->process,
                            .track = one ? track_of_thread(source, damage->thread_id) : TRACE_NONE,
                            .cause = trace_text("damaged"),
                            .count = damage->records,
                            .bytes = damage->bytes,
                            .first_ns = timed ? trace_on_axis(axis, damage->first_ns) : 0,
                            .last_ns = timed ? trace_on_axis(axis, damage->last_ns) : 0,
                        });
}

static bool rbwp_is_full(void *context)
{
    const struct rbwp_source *source = context;
    return trace_is_full(source->trace);
}

/* ---- what stands around the spans ------------------------------------------- */

/* What the process calls itself; of files that do not say, the program's name without its folder.
 */
static struct trace_text title_of(const struct rbwp_trailer *trailer)
{
    if (trailer->process_count && trailer->processes[0].title_bytes)
        return (struct trace_text){trailer->processes[0].title, trailer->processes[0].title_bytes};
    if (!trailer->command_bytes)
        return (struct trace_text){0};
    uint32_t bytes = (uint32_t)strnlen(trailer->command, trailer->command_bytes);
    const char *slash = memrchr(trailer->command, '/', bytes);
    const char *title = slash ? slash + 1 : trailer->command;
    return (struct trace_text){title, bytes - (uint32_t)(title - trailer->command)};
}

/* "redis-server 4711", "bench 4711, node 3"; without a process what it calls itself, as a profile
 * that was made of other files does; "node 3" if nothing else is known. */
static void name_process(char *name, size_t room, const struct rbwp_trailer *trailer, uint32_t node)
{
    if (is_of_nobody(trailer)) {
        int bytes = trailer->processes[0].title_bytes;
        snprintf(name, room, "%.*s", bytes < TITLE_BYTES_MAX ? bytes : TITLE_BYTES_MAX,
                 trailer->processes[0].title);
        return;
    }
    if (!trailer || trailer->process_id == 0) {
        snprintf(name, room, "node %" PRIu32, node);
        return;
    }
    struct trace_text title = title_of(trailer);
    if (title.bytes == 0)
        title = trace_text("process");
    int bytes = title.bytes < TITLE_BYTES_MAX ? (int)title.bytes : TITLE_BYTES_MAX;
    int used = snprintf(name, room, "%.*s %" PRIu64, bytes, title.text, trailer->process_id);
    if (trailer->nodes > 1 || node > 0)
        snprintf(name + used, room - (size_t)used, ", node %" PRIu32, node);
}

/* first: the recording's first file that is here. */
static void add_process(struct rbwp_source *source, const struct trace_source *first, bool has_gap)
{
    char name[TITLE_BYTES_MAX + 64];
    const struct rbwp_trailer *trailer = rbwp_reader_trailer(source->input->reader);
    uint32_t node = rbwp_reader_header(source->input->reader)->node;
    name_process(name, sizeof name, trailer, node);
    struct trace_process process = {.node = node,
                                    .name = trace_text(name),
                                    .source = trace_text(first->name),
                                    .has_gap = has_gap,
                                    .began_before = recordings_began_before(&first->facts.identity),
                                    .clock_bounded = source->options->clock_bounded,
                                    .clock_error_ns = source->options->clock_error_ns};
    if (trailer) {
        process.ended = input_is_finished(source->input) &&
                        (!trailer->kept_count || trailer->kept->why == RBWP_KEPT_STOP);
        process.os_id = trailer->process_id;
        process.host = (struct trace_text){trailer->host, trailer->host_bytes};
        process.command = (struct trace_text){trailer->command, trailer->command_bytes};
    }
    source->process = trace_add_process(source->trace, process);
}

/* Marks are in the window, or not wanted. first: of the recording's files; the input is the last
 * one. */
static void add_life(struct rbwp_source *source, const struct trace_identity *first)
{
    const struct input *input = source->input;
    const struct rbwp_trailer *trailer = rbwp_reader_trailer(input->reader);
    const struct trace_axis *axis = &source->options->axis;
    if (!trailer)
        return;
    const bool last = !trailer->kept_count || trailer->kept->why != RBWP_KEPT_ROTATED;
    struct life life = {
        .process = source->process,
        .os_id = trailer->process_id,
        .parent = job_number(trailer, RBWP_JOB_PARENT),
        .start_ns = trace_on_axis(axis, trailer->start_ns),
        .last_ns = trace_on_axis(axis, trailer->stop_ns),
        .has_start =
            first->part <= 1 && is_row_wanted(source, 0, trailer->start_ns, trailer->start_ns),
        .has_last = last && is_row_wanted(source, 0, trailer->stop_ns, trailer->stop_ns),
        .end = input_has_died(input)      ? TRACE_LIFE_DIED
               : input_is_finished(input) ? TRACE_LIFE_ENDS
                                          : TRACE_LIFE_RUNS,
    };
    source->failed |= !life_marks_add(source->trace, &life);
}

static void add_losses(struct rbwp_source *source)
{
    const struct rbwp_trailer *trailer = rbwp_reader_trailer(source->input->reader);
    const struct trace_axis *axis = &source->options->axis;
    for (uint32_t i = 0; trailer && i < trailer->loss_count; i++) {
        const struct rbwp_loss *loss = &trailer->losses[i];
        bool refused = loss_is_refused(loss->cause);
        if (!refused && !losses_are_records(loss->cause))
            continue;
        struct rbwp_thread *thread =
            loss->thread_id ? rbwp_find_thread(source, loss->thread_id, loss->first_ns) : NULL;
        bool timed = loss->first_ns || loss->last_ns;
        deferred_losses_add(&source->losses,
                            &(struct trace_loss){
                                .process = source->process,
                                .track = thread ? thread->batch.track : TRACE_NONE,
                                .cause = trace_text(rbwp_loss_cause_name(loss->cause)),
                                .refused = refused ? loss->cause : 0,
                                .count = loss->count,
                                .first_ns = timed ? trace_on_axis(axis, loss->first_ns) : 0,
                                .last_ns = timed ? trace_on_axis(axis, loss->last_ns) : 0,
                            });
    }
}

/* Which recording, or part of one, is in what is made of this. */
static void add_recording_fact(struct rbwp_source *source, const struct trace_facts *facts)
{
    struct recording_id id = recording_id_of(facts);
    made_of_add_facts(source->trace, &(struct made_of){&id, id.began_ns != 0, 1},
                      source->input->name);
}

static void rbwp_add_facts(struct rbwp_source *source, const struct trace_facts *facts,
                           const struct pair_walk *walk)
{
    const struct rbwp_reader *reader = source->input->reader;
    const struct rbwp_trailer *trailer = rbwp_reader_trailer(reader);
    struct trace *trace = source->trace;
    add_recording_fact(source, facts);
#define FACT(...) trace_add_process_fact(trace, source->process, __VA_ARGS__)
    FACT("file", "%s", source->input->name);
    FACT("zero_time_ns", "%" PRId64, rbwp_reader_header(reader)->zero_time_ns);
    FACT("shift_ns", "%" PRId64, source->options->axis.shift_ns);
    FACT("records", "%" PRIu64, source->records);
    FACT("unfinished_spans", "%" PRIu64, walk->builder.unfinished);
    FACT("open_spans", "%" PRIu64, walk->builder.open);
    FACT("ends_without_begin", "%" PRIu64, walk->builder.strays);
    FACT("lost_records", "%" PRIu64, source->lost);
    FACT("problems", "%" PRIu64, source->problems);
    if (trailer) {
        FACT("writer", "%.*s", (int)trailer->writer_bytes, trailer->writer);
        FACT("level", "%" PRIu32, trailer->level);
        FACT("clock_error_ns", "%" PRIu64, trailer->clock_error_ns);
        FACT("discarded", "%" PRIu64, source->discarded);
        file_facts_add(trace, source->process, trailer);
    }
#undef FACT
    rbwp_gpu_add_facts(&source->gpu);
}

static void free_reading(struct rbwp_source *source)
{
    for (uint32_t i = 0; i < source->map.count && i < source->thread_room; i++)
        track_batch_free(&source->threads[i].batch);
    free(source->threads);
    thread_map_free(&source->map);
    thread_infos_stop(&source->thread_infos);
    rbwp_gpu_stop(&source->gpu);
    table_rows_stop(&source->tables);
    range_rows_stop(&source->ranges);
    early_rows_free(&source->early);
    call_args_free(&source->args);
    call_cpu_free(&source->cpu);
    stack_rows_free(&source->stacks);
    rbwp_catalog_free(source->catalog);
    deferred_losses_free(&source->losses);
    deferred_losses_free(&source->damages);
    filter_stop(&source->filter);
}

/* Absolute times on the command line are on the trace's axis. */
static void shift_filter(struct rbwp_source *source, const struct trace_read_options *options)
{
    if (!options->filter)
        return;
    source->wanted = *options->filter;
    if (source->wanted.from.set && !source->wanted.from.relative)
        source->wanted.from.ns = trace_off_axis(&options->axis, source->wanted.from.ns);
    if (source->wanted.to.set && !source->wanted.to.relative)
        source->wanted.to.ns = trace_off_axis(&options->axis, source->wanted.to.ns);
}

/* A flight recorder's dump has some of what was before it is complete: nobody can say who was idle
 * then, so sums and pictures begin where it is. */
static void begin_complete(struct rbwp_source *source, const struct trace_identity *first)
{
    struct filter_time *from = &source->wanted.from;
    const bool is_dump = first->kept && first->why != RBWP_KEPT_SPLIT && first->from_ns;
    if (!is_dump || !source->options->clip ||
        (from->set && !from->relative && from->ns >= first->from_ns))
        return;
    *from = (struct filter_time){.set = true, .ns = first->from_ns};
    source->filtered = true;
}

/* Of a part that is not read. */
static void track_for_thread(void *context, uint64_t thread_id, int64_t time_ns)
{
    struct rbwp_thread *thread = rbwp_find_thread(context, thread_id, time_ns);
    if (thread)
        thread->last_ns = at_least(thread->last_ns, time_ns);
}

/* Whether the file's marks lead to a time window that is asked for. */
static bool find_window(struct rbwp_source *source, struct window *window)
{
    const struct filter_options *wanted = &source->wanted;
    const struct rbwp_reader *reader = source->input->reader;
    int64_t zero_ns = rbwp_reader_header(reader)->zero_time_ns;
    if (!source->filtered || !(wanted->from.set || wanted->to.set) || !zero_ns)
        return false;
    filter_resolve(&source->filter, zero_ns);
    if (!window_find(window, source->input, source->filter.from_ns, source->filter.to_ns))
        return false;
    rbwp_gpu_limit(&source->gpu, window->from_ns, window->to_ns);
    for (uint32_t i = 0; i < window->trailer->index_count; i++) {
        const struct rbwp_index_range *range = &window->trailer->index[i];
        if (range->records)
            filter_see_times(&source->filter, range->first_ns, range->last_ns);
    }
    return true;
}

/* ---- the files of a recording ------------------------------------------------- */

static bool is_split(const struct trace_source *file)
{
    return file->facts.identity.kept && file->facts.identity.why == RBWP_KEPT_SPLIT;
}

/* From here on blocks are of this file. */
static void begin_file(struct rbwp_source *source, struct trace_source *file, bool is_first)
{
    struct rbwp_source *state = file->state;
    const struct rbwp_trailer *trailer = rbwp_reader_trailer(state->own_input.reader);
    source->input = &state->own_input;
    source->names = &state->own_names;
    filter_use_names(&source->filter, source->names);
    for (size_t i = 0; i < source->names->slots.count; i++)
        if (source->names->slots.names[i].id < RBWP_SLOTS_MAX)
            source->slot_waits[source->names->slots.names[i].id] |=
                source->names->slots.names[i].waits;
    if (!is_first) {
        memset(source->slots, 0, sizeof source->slots); /* NOT_LOOKED */
        memset(source->sub_items, 0, sizeof source->sub_items);
        memset(source->slot_kinds, 0, sizeof source->slot_kinds);
        thread_infos_stop(&source->thread_infos);
    }
    if (!is_first && source->catalog)
        catalog_next_file(source->catalog);
    thread_infos_start(&source->thread_infos, trailer);
    source->died_ns = trailer && input_has_died(source->input) ? trailer->stop_ns : INT64_MAX;
    if (trailer && !rbwp_gpu_devices(&source->gpu, trailer->gpus, trailer->gpu_count))
        rbwp_fail(source);
    if (source->options->threads)
        input_decode_ahead(source->input, source->options->threads);
}

/* Parts have losses and empty calls of their own, a flight recorder's dump all since the beginning:
 * then the last one counts. */
static void end_file(struct rbwp_source *source, const struct trace_source *file, bool is_last)
{
    const struct rbwp_trailer *trailer = rbwp_reader_trailer(source->input->reader);
    source->records += source->input->records;
    source->problems += rbwp_reader_problem_count(source->input->reader);
    if (!is_last && file->facts.identity.part == 0)
        return;
    source->lost += losses_total(trailer).records;
    source->discarded += trailer ? trailer->discarded : 0;
    add_losses(source);
}

/* How the at-th file of a recording follows on those before it. */
static enum pair_join follows(const struct trace_source *opened, uint32_t at, int64_t *until_ns_out)
{
    *until_ns_out = INT64_MIN;
    for (uint32_t i = 0; i < at; i++)
        *until_ns_out = at_least(opened->earlier[i].facts.last_ns, *until_ns_out);
    const struct trace_source *file = at < opened->earlier_count ? &opened->earlier[at] : opened;
    return at == 0 ? PAIR_JOIN_NEXT
                   : recordings_follow(&opened->earlier[at - 1].facts.identity, *until_ns_out,
                                       &file->facts.identity);
}

/* Of dumps with the same data the later one counts: what had not been written yet when the other
 * one was made has got its place since. */
static void limit_rows(struct rbwp_source *source, const struct trace_source *opened, uint32_t at)
{
    int64_t until_ns;
    const struct trace_source *file = at < opened->earlier_count ? &opened->earlier[at] : opened;
    const struct trace_source *next = at + 1 < opened->earlier_count ? file + 1 : opened;
    source->from_ns = INT64_MIN;
    source->until_ns = INT64_MAX;
    if (follows(opened, at, &until_ns) == PAIR_JOIN_OVERLAP && !is_split(file))
        source->from_ns = file->facts.identity.from_ns;
    if (at < opened->earlier_count && !is_split(file) &&
        follows(opened, at + 1, &until_ns) == PAIR_JOIN_OVERLAP)
        source->until_ns = next->facts.identity.from_ns;
}

static bool on_early_rows(void *context, enum early_table table, const uint64_t *const *cells,
                          uint32_t rows)
{
    struct rbwp_source *source = context;
    if (table == EARLY_ARGUMENT)
        return call_args_add_rows(&source->args, cells, rows);
    return table < EARLY_STACK_WORD ? call_cpu_add_rows(&source->cpu, table, cells, rows)
                                    : stack_rows_add(&source->stacks, table, cells, rows);
}

static void forget_early_rows(void *context)
{
    struct rbwp_source *source = context;
    call_args_forget(&source->args);
    call_cpu_forget(&source->cpu);
    stack_rows_forget(&source->stacks);
}

/* Of limits that are set. */
static void load_early_rows(struct rbwp_source *source, struct input *input)
{
    const struct early_rows_user user = {source, on_early_rows, forget_early_rows};
    call_args_begin_file(&source->args, source->from_ns, source->until_ns);
    call_cpu_begin_file(&source->cpu, source->from_ns, source->until_ns);
    stack_rows_begin_file(&source->stacks, source->from_ns, source->until_ns);
    early_rows_load(&source->early, input, &user);
    source->args.failed |= source->early.failed;
    call_args_end_file(&source->args, input->name);
    stack_rows_end_file(&source->stacks, input->name);
    call_cpu_end_file(&source->cpu, losses_total(rbwp_reader_trailer(input->reader)).records > 0);
}

/* Of all files; those that rest are opened for it. False when one cannot be; that was reported. */
static bool load_all_early_rows(struct rbwp_source *source, struct trace_source *opened)
{
    bool good = true;
    const struct trace_source *first = opened->earlier_count ? opened->earlier : opened;
    call_args_start(&source->args, source->trace, &source->early);
    /* What a thread ran is not known where a part is missing, nor from before the first one on. */
    source->cpu.sums_from_ns = opened->has_gap              ? INT64_MAX
                               : first->facts.identity.kept ? first->facts.identity.from_ns
                                                            : INT64_MIN;
    source->stacks.trace = source->trace;
    source->stacks.early = &source->early;
    for (uint32_t i = 0; i <= opened->earlier_count && good; i++) {
        struct trace_source *file = i < opened->earlier_count ? &opened->earlier[i] : opened;
        const bool rested = !file->state;
        good = trace_source_wake(file);
        limit_rows(source, opened, i);
        if (good)
            load_early_rows(source, &((struct rbwp_source *)file->state)->own_input);
        if (good && rested)
            trace_source_rest(file);
    }
    return good;
}

/* A look at a long call or wait, on the file's axis. A call that is longer than the window is of
 * it, too. */
static void pass_stack(struct rbwp_source *source, const struct open_call *look)
{
    const struct trace_axis *axis = &source->options->axis;
    const struct rbwp_trailer *trailer = rbwp_reader_trailer(source->input->reader);
    const int64_t alive_ns = at_least(trailer ? trailer->stop_ns : 0, look->time_ns);
    const struct rbwp_text kind = rbwp_catalog_name(source->early.catalog, look->kind);
    const uint32_t label = trace_add_label(source->trace, kind.text, kind.bytes);
    const struct rbwp_text called =
        rbwp_catalog_name(source->early.catalog, look->system_call_name);
    const uint32_t call_label = trace_add_label(source->trace, called.text, called.bytes);
    if (source->filtered &&
        (look->time_ns >= source->filter.to_ns ||
         !filter_takes_row(&source->filter, look->thread, look->since_ns, INT64_MAX)))
        return;
    struct trace_stack stack = {
        .track = make_thread_track(source, look->thread, look->time_ns),
        .time_ns = trace_on_axis(axis, look->time_ns),
        .since_ns = trace_on_axis(axis, look->since_ns),
        .alive_ns = trace_on_axis(axis, alive_ns),
        .before = source->filtered && look->time_ns < source->filter.from_ns,
        .kind = label ? trace_label_of(source->trace, label) : trace_text("wait"),
        .object = look->object,
        .holder = look->holder,
        .object_name = stack_rows_object(&source->stacks, look->object),
        .system_call = look->system_call,
        .system_call_name =
            call_label ? trace_label_of(source->trace, call_label) : (struct trace_text){0}};
    const uint64_t holder = stack_rows_thread(&source->stacks, trailer, look->holder);
    if (stack.track == TRACE_NONE)
        return;
    if (holder) /* it has a name, though it may have recorded nothing */
        (void)make_thread_track(source, holder, look->time_ns);
    if ((source->options->stacks == TRACE_ALL_STACKS ||
         (source->options->stacks == TRACE_LAST_STACKS && look->last)) &&
        trace_wants_frames(source->trace, &stack))
        stack_rows_unwind(&source->stacks, look->thread, look->time_ns, &stack);
    trace_add_stack(source->trace, &stack);
}

/* Before any span, so that sinks know which of them matter. Where some of a thread's spans are not
 * wanted, they do not show whether it has left a call. */
static void pass_stacks(struct rbwp_source *source)
{
    const struct rbwp_reader *reader = source->input->reader;
    const int64_t zero_ns = rbwp_reader_header(reader)->zero_time_ns;
    const struct filter_options *wanted = &source->wanted;
    const bool is_choice =
        wanted->slots.count || wanted->kinds || wanted->duration.set || wanted->labels.count;
    if (!trace_wants_stacks(source->trace) || is_choice || (source->filtered && !zero_ns))
        return; /* times may count from a first record that was not seen yet */
    if (source->options->stacks == TRACE_LAST_STACKS)
        stack_rows_mark_last(&source->stacks);
    thread_infos_start(&source->thread_infos, rbwp_reader_trailer(reader));
    if (zero_ns)
        filter_resolve(&source->filter, zero_ns);
    for (uint32_t i = 0; i < source->stacks.calls.count && !source->stacks.failed; i++)
        pass_stack(source, (const struct open_call *)source->stacks.calls.rows + i);
    source->tables.failed |= source->stacks.failed || source->thread_infos.map.full;
    thread_infos_stop(&source->thread_infos);
}

/* A file before the last one; what is open at its end goes on in the next. */
static enum exit_code read_earlier(struct rbwp_source *source, struct trace_source *opened,
                                   uint32_t at, enum pair_join join)
{
    struct trace_source *file = &opened->earlier[at];
    const struct trace_source *next = at + 1 < opened->earlier_count ? file + 1 : opened;
    const bool cut = is_split(file) && is_split(next) && next->facts.identity.from_ns;
    const bool rested = !file->state;
    if (!trace_source_wake(file))
        return EXIT_BAD_DATA;
    begin_file(source, file, at == 0);
    limit_rows(source, opened, at);
    pair_walk_part(source->walk, source->input, join,
                   cut ? next->facts.identity.from_ns : PAIR_NO_CUT, source->until_ns);
    end_file(source, file, false);
    source->input = &source->own_input;
    source->names = &source->own_names;
    return rested ? trace_source_close(file) : EXIT_GOOD;
}

/* All but the last. How that follows on them in *join. */
static enum exit_code read_all_earlier(struct rbwp_source *source, struct trace_source *opened,
                                       enum pair_join *join)
{
    enum exit_code code = EXIT_GOOD;
    for (uint32_t i = 0; i < opened->earlier_count && !rbwp_is_full(source); i++) {
        const uint64_t lost = source->lost;
        int64_t until_ns;
        enum exit_code read = read_earlier(source, opened, i, *join);
        *join = follows(opened, i + 1, &until_ns);
        if (read == EXIT_BAD_DATA || source->lost > lost)
            *join = PAIR_JOIN_GAP;
        if (*join == PAIR_JOIN_GAP)
            source->ranges.unsure_ns = until_ns;
        code = exit_worse(code, read);
    }
    return code;
}

static enum exit_code rbwp_read_files(struct rbwp_source *source, struct trace_source *opened)
{
    enum exit_code code = load_all_early_rows(source, opened) ? EXIT_GOOD : EXIT_BAD_DATA;
    enum pair_join join = PAIR_JOIN_NEXT;
    struct window window = {0};
    pass_stacks(source);
    if (source->has_earlier)
        code = exit_worse(code, read_all_earlier(source, opened, &join));
    begin_file(source, opened, !source->has_earlier);
    limit_rows(source, opened, opened->earlier_count);
    if (!source->has_earlier && find_window(source, &window)) {
        source->walk->window = &window;
        source->walk->thread = track_for_thread;
    }
    if (source->has_earlier)
        pair_walk_part(source->walk, source->input, join, PAIR_NO_CUT, INT64_MAX);
    code = exit_worse(code, source->has_earlier ? pair_walk_finish(source->walk)
                                                : pair_walk(source->walk, source->input));
    end_file(source, opened, true);
    window_free(&window);
    return code;
}

static enum exit_code read_rbwp(struct trace_source *opened, struct trace *trace,
                                const struct trace_read_options *options)
{
    struct rbwp_source *source = opened->state;
    struct pair_walk walk = {.context = source,
                             .pair = rbwp_on_pair,
                             .block_begins = rbwp_begin_block,
                             .block_ended = end_block,
                             .damaged = take_damage,
                             .opaque = take_opaque,
                             .enough = rbwp_is_full};
    source->input = &source->own_input;
    source->names = &source->own_names;
    source->has_earlier = opened->earlier_count > 0;
    source->trace = trace;
    source->options = options;
    source->filtered = options->filter && filter_is_set(options->filter);
    shift_filter(source, options);
    begin_complete(source, source->has_earlier ? &opened->earlier->facts.identity
                                               : &opened->facts.identity);
    filter_start(&source->filter, &source->wanted, source->input->reader, source->names);
    source->filter.shift_ns = options->axis.shift_ns;
    const struct trace_source *first = source->has_earlier ? opened->earlier : opened;
    add_process(source, first, opened->has_gap);
    if (opened->facts.identity.has_family)
        add_life(source, &first->facts.identity);
    source->first_id = trace_new_ids(trace, 0) - 1;
    start_gpus(source);
    start_tables(source);
    source->walk = &walk;
    if (source->has_earlier)
        pair_walk_start(&walk);
    enum exit_code code = rbwp_read_files(source, opened);
    for (uint32_t i = 0; i < source->map.count && i < source->thread_room; i++)
        track_batch_finish(&source->threads[i].batch, trace);
    bool good = finish_gpus(source);
    good &= table_rows_finish(&source->tables);
    good &= range_rows_finish(&source->ranges);
    (void)trace_new_ids(trace, source->last_id);
    deferred_losses_emit(&source->losses, trace);
    deferred_losses_emit(&source->damages, trace);
    for (uint32_t i = 0; i < opened->earlier_count; i++)
        add_recording_fact(source, &opened->earlier[i].facts);
    rbwp_add_facts(source, &opened->facts, &walk);
    if (source->gpu.failed || source->args.failed || source->tables.failed ||
        source->ranges.failed || source->losses.failed || source->damages.failed)
        rbwp_fail(source);
    if (source->failed || source->threads_left_out || !good || source->broken_tables ||
        trace_failed(trace))
        code = exit_worse(code, EXIT_PARTIAL);
    free_reading(source);
    return code;
}

const struct trace_format trace_format_rbwp = {
    .name = "RBWP",
    .files = "RBWP files",
    .recognises = recognises,
    .open = open_rbwp,
    .read = read_rbwp,
    .close = close_rbwp,
    .leave = leave_rbwp,
};
