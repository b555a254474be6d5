/* SPDX-License-Identifier: Apache-2.0 */
/* Join first, sort then: spans are known when their facts are. */
#include "rbwp_gpu.h"

#include "message.h"
#include "sorted.h"
#include "table_bind.h"
#include "trace_span.h"
#include "window.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- GPU work and what the file says of it beside its record --------------------------------- */
/*
 * Records and facts come in any order, however far apart; when all have come,
 * each record has found its fact: the first that is left of those with the
 * same processor, start, stop and, if the fact has it, slot. Memory is
 * bounded.
 *
 * Sorted by processor, start and stop, facts first: those of one group are held until the records
 * of the group have come.
 */

enum { GROUP_FACTS = 256 }; /* of works with one start and stop; further ones stand for none */

/* Most items are works, many millions of them, so a fact lies behind its item. */
struct rbwp_gpu_item {
    struct gpu_work work; /* of a fact only processor, start and stop */
    uint64_t order;       /* of coming; facts have the top bit clear */
    uint32_t payload;     /* the sorter's: of a fact there is one */
    uint32_t unused;
};
#define IS_WORK (UINT64_C(1) << 63)

struct fact_payload {
    _Alignas(8) uint32_t words; /* whole words also where 64 bits need no alignment to 64 */
    uint32_t unused;
    struct gpu_fact fact;
};
_Static_assert(sizeof(struct fact_payload) % sizeof(uint64_t) == 0, "it is whole words");

struct group {
    void (*found)(void *context, const struct gpu_work *work, const struct gpu_fact *fact);
    void *context;
    struct gpu_work first; /* whose processor and times it has */
    bool any;
    struct gpu_fact facts[GROUP_FACTS];
    bool taken[GROUP_FACTS];
    uint32_t fact_count, taken_count; /* taken_count: the first that may be left */
};

static int compare_works(const struct gpu_work *a, const struct gpu_work *b)
{
    SORTED_BY(a, b, proc_id);
    SORTED_BY(a, b, start_ns);
    return (a->stop_ns > b->stop_ns) - (a->stop_ns < b->stop_ns);
}

static int rbwp_gpu_compare(const void *left, const void *right)
{
    const struct rbwp_gpu_item *a = left, *b = right;
    int order = compare_works(&a->work, &b->work);
    return order ? order : (a->order > b->order) - (a->order < b->order);
}

static const struct merge_order items_order = {"GPU spans", sizeof(struct rbwp_gpu_item),
                                               offsetof(struct rbwp_gpu_item, payload),
                                               rbwp_gpu_compare};

static void gpu_join_start(struct gpu_join *join)
{
    *join = (struct gpu_join){0};
    merge_sorter_start(&join->items, &items_order);
}

static void gpu_join_stop(struct gpu_join *join)
{
    merge_sorter_stop(&join->items);
}

static void gpu_join_work(struct gpu_join *join, const struct gpu_work *work)
{
    const struct rbwp_gpu_item item = {.work = *work, .order = join->next++ | IS_WORK};
    merge_sorter_add(&join->items, &item, NULL);
}

static void gpu_join_fact(struct gpu_join *join, const struct gpu_fact *fact)
{
    const struct rbwp_gpu_item item = {
        .work = {.proc_id = fact->proc_id, .start_ns = fact->start_ns, .stop_ns = fact->stop_ns},
        .order = join->next++};
    const struct fact_payload payload = {.words = sizeof payload / sizeof(uint64_t), .fact = *fact};
    merge_sorter_add(&join->items, &item, (const void *)&payload);
}

/* Rows that found no record are work all the same. */
static void end_group(struct group *group)
{
    for (uint32_t i = group->taken_count; i < group->fact_count; i++)
        if (!group->taken[i] && group->facts[i].is_row)
            group->found(group->context, NULL, &group->facts[i]);
    group->fact_count = group->taken_count = 0;
}

static const struct gpu_fact *fact_of(struct group *group, const struct gpu_work *work)
{
    while (group->taken_count < group->fact_count && group->taken[group->taken_count])
        group->taken_count++;
    for (uint32_t i = group->taken_count; i < group->fact_count; i++) {
        const struct gpu_fact *fact = &group->facts[i];
        if (group->taken[i] || (fact->slot != GPU_ANY_SLOT && fact->slot != work->slot))
            continue;
        group->taken[i] = true;
        return fact;
    }
    return NULL;
}

static bool rbwp_gpu_take(void *context, const void *sorted, const uint64_t *payload)
{
    struct group *group = context;
    const struct rbwp_gpu_item *item = sorted;
    if (!group->any || compare_works(&group->first, &item->work) != 0)
        end_group(group);
    group->any = true;
    group->first = item->work;
    if (item->order & IS_WORK) {
        group->found(group->context, &item->work, fact_of(group, &item->work));
    } else if (group->fact_count < GROUP_FACTS) {
        group->taken[group->fact_count] = false;
        group->facts[group->fact_count++] =
            ((const struct fact_payload *)(const void *)payload)->fact;
    }
    return true;
}

/* found: of each record, fact NULL if it has none; of each row without a record, work NULL. In the
 * order of processors and starts. False if some are missing, with a message. */
static bool gpu_join_finish(struct gpu_join *join,
                            void (*found)(void *context, const struct gpu_work *work,
                                          const struct gpu_fact *fact),
                            void *context)
{
    struct group *group = calloc(1, sizeof *group);
    if (!group)
        return message_fail("GPU spans are missing: out of memory");
    group->found = found;
    group->context = context;
    merge_sorter_finish(&join->items, rbwp_gpu_take, group);
    end_group(group);
    free(group);
    return !join->items.failed;
}

/* ---- the ways in which kernels were launched ------------------------------------------------- */
/* Rows of gpu_shape (SPEC.md, appendix A). */

/* False if they are rows of another table. *failed: no memory. */
static bool gpu_shapes_take(struct gpu_shapes *shapes, const struct rbwp_rows *rows, bool *failed)
{
    const uint64_t *cells[COLUMNS_gpu_shape];
    if (!table_bind_rows(rows, KNOWN_gpu_shape, cells))
        return false;
#define CELL(name) table_cell(cells[AT_gpu_shape_##name], i)
    for (uint32_t i = 0; i < rows->rows; i++) {
        uint64_t number = CELL(shape);
        if (number == 0 || number >= GPU_SHAPES_MAX)
            continue;
        if (!GROW_ZEROED(shapes->list, shapes->room, (uint32_t)number + 1)) {
            *failed = true;
            return true;
        }
        shapes->list[number] =
            (struct gpu_shape){.known = true,
                               .grid = {CELL(grid_x), CELL(grid_y), CELL(grid_z)},
                               .block = {CELL(block_x), CELL(block_y), CELL(block_z)},
                               .registers = CELL(registers),
                               .shared = CELL(shared)};
    }
#undef CELL
    return true;
}

/* NULL: not known. */
static const struct gpu_shape *gpu_shapes_get(const struct gpu_shapes *shapes, uint64_t number)
{
    return number && number < shapes->room && shapes->list[number].known ? &shapes->list[number]
                                                                         : NULL;
}

/* ---- rbwp gpu -------------------------------------------------------------------------------- */

static void rbwp_gpu_on_fact(void *context, const struct gpu_fact *fact)
{
    struct rbwp_gpu *gpu = context;
    gpu_join_fact(&gpu->join, fact);
}

static void want_calls(struct rbwp_gpu *gpu)
{
    if (!gpu->calls && !(gpu->calls = launch_calls_new(rbwp_gpu_on_fact, gpu)))
        gpu->failed = true;
}

void rbwp_gpu_start(struct rbwp_gpu *gpu, bool expected)
{
    gpu_join_start(&gpu->join);
    span_sorter_start(&gpu->spans);
    if (expected)
        want_calls(gpu);
}

void rbwp_gpu_stop(struct rbwp_gpu *gpu)
{
    for (int i = 0; i < RBWP_SLOTS_MAX; i++)
        free(gpu->launches[i]);
    launch_calls_free(gpu->calls);
    gpu_devices_free(&gpu->devices);
    free(gpu->shapes.list);
    gpu->shapes = (struct gpu_shapes){0};
    gpu_join_stop(&gpu->join);
    span_sorter_stop(&gpu->spans);
    span_detail_free(&gpu->detail);
}

/* ---- coming in -------------------------------------------------------------- */

void rbwp_gpu_call(struct rbwp_gpu *gpu, const struct record_pair *call, int64_t begin_ns,
                   uint32_t track)
{
    struct launch_ring **launches = &gpu->launches[call->slot];
    if (gpu->calls)
        launch_calls_add(gpu->calls, call);
    if (*launches || (*launches = calloc(1, sizeof **launches)))
        launch_ring_add(*launches, begin_ns, track);
    else
        gpu->failed = true;
}

/* The launch is the latest call that had begun by then. */
static void infer_launch(struct launch_ring *launches, int64_t time_ns, struct gpu_work *work)
{
    uint32_t at = launches ? launch_ring_find(launches, time_ns) : LAUNCH_RING_NONE;
    if (at == LAUNCH_RING_NONE)
        return;
    work->inferred_ns = launches->begin_ns[at];
    work->inferred_track = launches->tracks[at];
}

void rbwp_gpu_work(struct rbwp_gpu *gpu, const struct record_pair *pair)
{
    struct gpu_work work = {.proc_id = pair->proc_id,
                            .thread_id = pair->thread_id,
                            .start_ns = pair->begin_ns,
                            .stop_ns = pair->end_ns,
                            .record_ns = pair->record_ns,
                            .id = pair->id,
                            .slot = pair->slot,
                            .inferred_track = TRACE_NONE};
    int64_t time_ns = trace_on_axis(&gpu->options->axis, pair->begin_ns);
    infer_launch(gpu->launches[pair->slot], time_ns, &work);
    want_calls(gpu);
    gpu_join_work(&gpu->join, &work);
}

static void come_to_call(void *context, const struct gpu_fact *fact)
{
    struct rbwp_gpu *gpu = context;
    if (gpu->limited && (fact->stop_ns < gpu->from_ns || fact->start_ns >= gpu->to_ns))
        return;
    want_calls(gpu);
    if (gpu->calls)
        launch_calls_fact(gpu->calls, fact);
}

void rbwp_gpu_limit(struct rbwp_gpu *gpu, int64_t from_ns, int64_t to_ns)
{
    gpu->limited = true;
    gpu->from_ns = from_ns - WINDOW_BIAS_NS;
    gpu->to_ns = to_ns;
}

/* Of several with the same processor the last one counts. */
static struct rbwp_gpu_described *described_gpu(struct rbwp_gpu *gpu, uint64_t proc_id)
{
    uint32_t i = 0;
    while (i < gpu->described_count && gpu->described[i].properties.proc_id != proc_id)
        i++;
    if (i == RBWP_GPUS_DESCRIBED)
        return NULL;
    gpu->described_count += i == gpu->described_count;
    return &gpu->described[i];
}

/* The name now: another file's names have other numbers. */
static void take_properties(void *context, const struct gpu_properties *properties)
{
    struct rbwp_gpu *gpu = context;
    struct rbwp_gpu_described *described = described_gpu(gpu, properties->proc_id);
    if (!described)
        return;
    struct rbwp_text name = {"", 0};
    if (properties->name)
        name = gpu->host.name(gpu->host.context, properties->name);
    described->properties = *properties;
    if (name.bytes)
        described->label = trace_add_label(gpu->trace, name.text, name.bytes);
}

bool rbwp_gpu_devices(struct rbwp_gpu *gpu, const struct rbwp_gpu_info *gpus, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        struct rbwp_gpu_described *described = described_gpu(gpu, gpus[i].proc_id);
        if (!described)
            break;
        described->properties.proc_id = gpus[i].proc_id;
        if (gpus[i].name_bytes)
            described->label = trace_add_label(gpu->trace, gpus[i].name, gpus[i].name_bytes);
    }
    return gpu_devices_add(&gpu->devices, gpus, count);
}

bool rbwp_gpu_rows(struct rbwp_gpu *gpu, const struct rbwp_rows *rows)
{
    if (gpu_facts_of_rows(rows, come_to_call, gpu) ||
        gpu_shapes_take(&gpu->shapes, rows, &gpu->failed))
        return true;
    if (!table_is(rows->schema, KNOWN_gpu_device))
        return false;
    (void)gpu_properties_of_rows(rows, take_properties, gpu);
    gpu->failed |= !gpu_devices_take(&gpu->devices, rows, NULL);
    return true;
}

bool rbwp_gpu_block(struct rbwp_gpu *gpu, const struct rbwp_block *block)
{
    return gpu_facts_of_block(block, come_to_call, gpu);
}

/* ---- tracks ----------------------------------------------------------------- */

enum { APIS = 3 };

/* Of an id of librbwp's: API (of three) and number, else 0. OpenCL may have the same GPUs as CUDA
 * or HIP, and number them otherwise. */
static unsigned api_of(uint64_t proc_id)
{
    return proc_id >> 32 <= APIS ? (unsigned)(proc_id >> 32) : 0;
}

/* A Realm processor id has tag, node and index; others are shown as they are. */
static uint32_t rbwp_gpu_add_track(struct rbwp_gpu *gpu, uint64_t proc_id)
{
    static const char *const apis[APIS + 1] = {"", "", "", " (OpenCL)"};
    char name[64];
    if (proc_id >> 56 == 0x1d)
        snprintf(name, sizeof name, "GPU %u.%u", (unsigned)(proc_id >> 40 & 0xffff),
                 (unsigned)(proc_id & 0xfff));
    else if (api_of(proc_id))
        snprintf(name, sizeof name, "GPU %" PRIu32 "%s", (uint32_t)proc_id, apis[api_of(proc_id)]);
    else
        snprintf(name, sizeof name, "GPU 0x%" PRIx64, proc_id);
    return trace_add_track(gpu->trace, (struct trace_track){.process = gpu->process,
                                                            .kind = TRACE_GPU,
                                                            .id = proc_id,
                                                            .name = trace_text(name)});
}

uint32_t rbwp_gpu_track(struct rbwp_gpu *gpu, uint64_t proc_id)
{
    uint32_t i = 0;
    while (i < gpu->gpu_count && gpu->gpus[i].proc_id != proc_id)
        i++;
    if (i == RBWP_GPUS_MAX) /* a hostile file: the last one takes them all */
        return gpu->gpus[RBWP_GPUS_MAX - 1].track;
    if (i == gpu->gpu_count) {
        gpu->gpus[i].proc_id = proc_id;
        gpu->gpus[i].track = rbwp_gpu_add_track(gpu, proc_id);
        gpu->gpu_count++;
    }
    return gpu->gpus[i].track;
}

void rbwp_gpu_add_facts(struct rbwp_gpu *gpu)
{
    for (uint32_t i = 0; i < gpu->described_count; i++) {
        const struct gpu_properties *properties = &gpu->described[i].properties;
        const struct trace_text name = trace_label_of(gpu->trace, gpu->described[i].label);
        const uint64_t proc_id = properties->proc_id;
        static const char *const apis[APIS + 1] = {"", "", "", "opencl_"};
        const unsigned api = api_of(proc_id);
        const uint32_t ordinal = api ? (uint32_t)proc_id : i;
        char key[64];
#define FACT(what, ...)                                                                            \
    do {                                                                                           \
        snprintf(key, sizeof key, "process.%" PRIu32 ".gpu.%s%" PRIu32 "." what, gpu->process,     \
                 apis[api], ordinal);                                                              \
        trace_add_fact(gpu->trace, key, __VA_ARGS__);                                              \
    } while (0)
        if (name.bytes)
            FACT("name", "%.*s", (int)name.bytes, name.text);
        if (properties->multiprocessors)
            FACT("multiprocessors", "%" PRIu64, properties->multiprocessors);
        if (properties->memory_bytes)
            FACT("memory_bytes", "%" PRIu64, properties->memory_bytes);
#undef FACT
    }
}

/* ---- going out -------------------------------------------------------------- */

enum {
    KEY_LAUNCHED,
    KEY_STREAM,
    KEY_BYTES,
    KEY_NODE,
    KEY_GRID,
    KEY_BLOCK,
    KEY_REGISTERS,
    KEY_SHARED,
    KEY_CALL
};
/* Where PyTorch's profiler has the same, as it calls them. */
static const char *const rbwp_gpu_key_names[RBWP_GPU_KEYS] = {
    "launched",      "stream", "bytes", "graph node id", "grid", "block", "registers per thread",
    "shared memory", "call"};

static uint32_t rbwp_gpu_key(struct rbwp_gpu *gpu, unsigned which)
{
    uint32_t *known = &gpu->keys[which];
    if (!*known)
        *known = trace_add_label(gpu->trace, rbwp_gpu_key_names[which],
                                 (uint32_t)strlen(rbwp_gpu_key_names[which]));
    return *known - 1;
}

static void emit_number(struct rbwp_gpu *gpu, unsigned which, uint64_t value)
{
    if (value)
        span_detail_arg(&gpu->detail, rbwp_gpu_key(gpu, which), TRACE_ARG_U64, value);
}

static void emit_sizes(struct rbwp_gpu *gpu, unsigned which, const uint64_t sizes[3])
{
    char text[80];
    snprintf(text, sizeof text, "[%" PRIu64 ",%" PRIu64 ",%" PRIu64 "]", sizes[0], sizes[1],
             sizes[2]);
    span_detail_text(&gpu->detail, rbwp_gpu_key(gpu, which), TRACE_ARG_JSON, trace_text(text));
}

static void emit_name(struct rbwp_gpu *gpu, unsigned which, uint32_t name)
{
    struct rbwp_text text = {NULL, 0};
    if (name)
        text = gpu->host.name(gpu->host.context, name);
    if (text.bytes)
        span_detail_text(&gpu->detail, rbwp_gpu_key(gpu, which), TRACE_ARG_TEXT,
                         (struct trace_text){text.text, text.bytes});
}

/* What work this was. */
static void emit_kind(struct rbwp_gpu *gpu, const struct gpu_fact *fact)
{
    static const char *const words[] = {[GPU_COPY] = "gpu_memcpy", [GPU_SET] = "gpu_memset"};
    const struct gpu_shape *shape = gpu_shapes_get(&gpu->shapes, fact->shape);
    if (fact->kind != GPU_KERNEL)
        gpu->detail.head.category =
            trace_add_label(gpu->trace, words[fact->kind], (uint32_t)strlen(words[fact->kind]));
    emit_number(gpu, KEY_BYTES, fact->bytes);
    emit_number(gpu, KEY_NODE, fact->graph_node);
    if (!shape)
        return;
    emit_sizes(gpu, KEY_GRID, shape->grid);
    emit_sizes(gpu, KEY_BLOCK, shape->block);
    emit_number(gpu, KEY_REGISTERS, shape->registers);
    emit_number(gpu, KEY_SHARED, shape->shared);
}

static void emit_fact(struct rbwp_gpu *gpu, const struct trace_span *made,
                      const struct gpu_fact *fact)
{
    struct trace_detail *head = &gpu->detail.head;
    const struct trace_axis *axis = &gpu->options->axis;
    head->correlation = fact->correlation;
    head->thread_id = fact->thread_id;
    if (fact->thread_id)
        head->launch_track = gpu->host.thread_track(gpu->host.context, fact->thread_id);
    if (fact->launch_ns) {
        head->flags |= TRACE_HAS_LAUNCH;
        head->launch_ns = trace_on_axis(axis, fact->launch_ns);
        head->launch_span = fact->call ? gpu->first_id + fact->call : 0;
    }
    if (!(made->flags & TRACE_CUT)) {
        head->flags |= TRACE_HAS_BOUNDS;
        head->start_uncertain_ns = fact->start_bound_ns + fact->launching_ns;
        head->stop_uncertain_ns = fact->stop_bound_ns;
        head->certain_ns = gpu_fact_least_ns(fact, trace_duration_ns(made));
    }
    if (fact->launched_ns)
        span_detail_arg(&gpu->detail, rbwp_gpu_key(gpu, KEY_LAUNCHED), TRACE_ARG_TIME,
                        (uint64_t)trace_on_axis(axis, fact->launched_ns));
    emit_number(gpu, KEY_STREAM, fact->stream);
    emit_name(gpu, KEY_CALL, fact->call_name);
    emit_kind(gpu, fact);
}

static void emit_inferred(struct rbwp_gpu *gpu, const struct gpu_work *work)
{
    struct trace_detail *head = &gpu->detail.head;
    if (work->inferred_track == TRACE_NONE)
        return;
    head->flags |= TRACE_HAS_LAUNCH | TRACE_INFERRED;
    head->launch_ns = work->inferred_ns;
    head->launch_track = work->inferred_track;
}

static void add_link(struct rbwp_gpu *gpu, const struct trace_span *made)
{
    const struct trace_detail *head = &gpu->detail.head;
    if (!(head->flags & TRACE_HAS_LAUNCH) || head->launch_track == TRACE_NONE ||
        head->launch_ns < gpu->cut_ns)
        return;
    trace_add_link(gpu->trace, (struct trace_link){.kind = TRACE_LAUNCH,
                                                   .from_track = head->launch_track,
                                                   .from_ns = head->launch_ns,
                                                   .from_span = head->launch_span,
                                                   .to_track = made->track,
                                                   .to_ns = made->start_ns,
                                                   .to_span = made->id});
}

/* Without a record: the row has all. */
static struct record_pair pair_of(struct rbwp_gpu *gpu, const struct gpu_work *work,
                                  const struct gpu_fact *fact)
{
    struct record_pair pair = {.kind = PAIR_GPU, .has_begin = true, .has_end = true};
    if (work) {
        pair.id = work->id;
        pair.thread_id = work->thread_id;
        pair.slot = work->slot;
        pair.proc_id = work->proc_id;
        pair.begin_ns = work->start_ns;
        pair.end_ns = work->stop_ns;
        pair.record_ns = work->record_ns;
    } else {
        pair.id = ++gpu->next_id;
        pair.thread_id = fact->thread_id;
        pair.slot = fact->slot;
        pair.proc_id = fact->proc_id;
        pair.begin_ns = fact->start_ns;
        pair.end_ns = pair.record_ns = fact->stop_ns;
    }
    if (!gpu->options->raw_times)
        pair.end_ns = gpu_devices_stop(&gpu->devices, pair.proc_id, pair.begin_ns, pair.end_ns,
                                       fact && fact->idle);
    return pair;
}

static void found(void *context, const struct gpu_work *work, const struct gpu_fact *fact)
{
    struct rbwp_gpu *gpu = context;
    struct trace_span made;
    struct record_pair pair = pair_of(gpu, work, fact);
    if (!gpu->host.make(gpu->host.context, &pair, &made))
        return;
    made.track = rbwp_gpu_track(gpu, pair.proc_id);
    if (fact)
        gpu->host.work(gpu->host.context, fact, &made);
    if (fact && fact->name) {
        struct rbwp_text name = gpu->host.name(gpu->host.context, fact->name);
        if (name.bytes)
            made.name = trace_add_name(gpu->trace, name.text, name.bytes);
    }
    span_detail_start(&gpu->detail);
    if (fact)
        emit_fact(gpu, &made, fact);
    else
        emit_inferred(gpu, work);
    add_link(gpu, &made);
    span_sorter_add(&gpu->spans, &made, span_detail_finish(&gpu->detail));
    gpu->failed |= gpu->detail.failed;
}

bool rbwp_gpu_finish(struct rbwp_gpu *gpu, uint64_t *last_id)
{
    if (gpu->calls)
        launch_calls_finish(gpu->calls);
    gpu->failed |= gpu->calls && launch_calls_failed(gpu->calls);
    gpu->next_id = *last_id;
    bool good = gpu_join_finish(&gpu->join, found, gpu);
    *last_id = gpu->next_id;
    span_sorter_finish(&gpu->spans, gpu->trace);
    return good && !gpu->spans.failed;
}
