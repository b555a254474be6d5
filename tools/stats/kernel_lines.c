/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each record goes into two sorters: by line and lane, for sums, and by lane and time, for steps.
 * What these hand out goes into two more, where equal ones stand together and are counted.
 */
#include "inside_kernels.h"
#include "grow.h"
#include "message.h"
#include "sorted.h"
#include "trace_span.h"

#include <stdlib.h>
#include <string.h>

enum { KERNEL, FILE_KEY, LINE, FIRST, LAST, BLOCK, THREAD, CYCLES, KEYS };
static const char *const key_names[KEYS] = {"kernel", "file",  "line",   "first",
                                            "last",   "block", "thread", "cycles"};

struct record {
    uint64_t line, launch, block, thread, cycles;
    int64_t start_ns, stop_ns;
    uint64_t first, last;
    uint32_t kernel, file, place; /* names + 1, 0: none; of place without */
    uint32_t track, gpu, unused;
};

/* Of the numbers of a probe, or of two: how often? */
struct step {
    uint64_t from, to, cycles; /* cycles: of a probe, summed up */
    uint32_t kernel, line;     /* kernel: the name as above */
};

static int by_launch(const struct record *a, const struct record *b)
{
    SORTED_BY(a, b, gpu);
    SORTED_BY(a, b, launch);
    return 0;
}

static int by_lane(const struct record *a, const struct record *b)
{
    int order = by_launch(a, b);
    if (order)
        return order;
    SORTED_BY(a, b, track);
    SORTED_BY(a, b, block);
    SORTED_BY(a, b, thread);
    return 0;
}

static int by_line(const struct record *a, const struct record *b)
{
    SORTED_BY(a, b, kernel);
    SORTED_BY(a, b, file);
    SORTED_BY(a, b, line);
    SORTED_BY(a, b, place);
    return 0;
}

static int order_records(const void *left, const void *right)
{
    const struct record *a = left, *b = right;
    int order = by_line(a, b);
    if (order || (order = by_lane(a, b)))
        return order;
    SORTED_BY(a, b, start_ns);
    return 0;
}

static int order_lanes(const void *left, const void *right)
{
    const struct record *a = left, *b = right;
    SORTED_BY(a, b, kernel);
    int order = by_lane(a, b);
    if (order)
        return order;
    SORTED_BY(a, b, start_ns);
    return 0;
}

static int order_steps(const void *left, const void *right)
{
    const struct step *a = left, *b = right;
    SORTED_BY(a, b, kernel);
    SORTED_BY(a, b, from);
    SORTED_BY(a, b, to);
    SORTED_BY(a, b, line);
    return 0;
}

static const struct merge_order by_lines = {"records of kernels", sizeof(struct record),
                                            MERGE_SORTER_NO_PAYLOAD, order_records};
static const struct merge_order by_lanes = {"records of kernels", sizeof(struct record),
                                            MERGE_SORTER_NO_PAYLOAD, order_lanes};
static const struct merge_order by_steps = {"steps in kernels", sizeof(struct step),
                                            MERGE_SORTER_NO_PAYLOAD, order_steps};

static void kernel_lines_fail(struct kernel_lines *lines)
{
    message_once(&lines->failed, "out of memory; what is known of lines in kernels is not whole");
}

/* ---- coming in --------------------------------------------------------------------------- */

void kernel_lines_start(struct kernel_lines *lines)
{
    *lines = (struct kernel_lines){0};
    merge_sorter_start(&lines->records, &by_lines);
    merge_sorter_start(&lines->lanes, &by_lanes);
}

void kernel_lines_name(struct kernel_lines *lines, uint32_t number, struct trace_text name)
{
    if (trace_text_is(name, "kernel_block"))
        lines->category = number + 1;
    for (int key = 0; key < KEYS; key++)
        if (trace_text_is(name, key_names[key]))
            lines->keys[key] = number + 1;
}

/* The argument's value; names as their number + 1; 0 where it has none. */
static uint64_t value_of(const struct kernel_lines *lines, const struct trace_detail *detail,
                         int key)
{
    const struct trace_arg *args = trace_args_of(detail);
    for (uint32_t i = 0; i < detail->arg_count; i++)
        if (args[i].key + 1 == lines->keys[key])
            return args[i].value.u64 + (args[i].type == TRACE_ARG_NAME);
    return 0;
}

void kernel_lines_span(struct kernel_lines *lines, const struct trace_span *span,
                       const struct trace_detail *detail, uint32_t gpu)
{
    if (!detail || !detail->category || detail->category != lines->category)
        return;
    const struct record record = {.line = value_of(lines, detail, LINE),
                                  .launch = detail->correlation,
                                  .block = value_of(lines, detail, BLOCK),
                                  .thread = value_of(lines, detail, THREAD),
                                  .cycles = value_of(lines, detail, CYCLES),
                                  .start_ns = span->start_ns,
                                  .stop_ns = span->stop_ns,
                                  .first = value_of(lines, detail, FIRST),
                                  .last = value_of(lines, detail, LAST),
                                  .kernel = (uint32_t)value_of(lines, detail, KERNEL),
                                  .file = (uint32_t)value_of(lines, detail, FILE_KEY),
                                  .place = span->name,
                                  .track = span->track,
                                  .gpu = gpu};
    merge_sorter_add(&lines->records, &record, NULL);
    merge_sorter_add(&lines->lanes, &record, NULL);
}

/* ---- lines ------------------------------------------------------------------------------- */

struct kernel_lines_finishing {
    struct kernel_lines *lines;
    const struct trace_text *names;
    uint32_t name_count;
    struct merge_sorter steps, starts;
    bool any;
    struct record last; /* the one before */
    struct kernel_line *line;
    struct histogram cycles;
    uint64_t lane_cycles, launch_cycles, least, greatest; /* of the line in a launch */
    double spread;                                        /* sum over launches, by their cycles */
    struct step step;                                     /* that is counted */
    uint64_t step_count;
    uint32_t kernel; /* whose lines, probes or edges come */
};

static struct trace_text kernel_lines_text_of(struct kernel_lines_finishing *finishing,
                                              uint32_t name)
{
    if (!name || name > finishing->name_count)
        return (struct trace_text){"", 0};
    const struct trace_text text = finishing->names[name - 1];
    char *copy = text.bytes ? malloc(text.bytes) : NULL;
    if (!copy) {
        if (text.bytes)
            kernel_lines_fail(finishing->lines);
        return (struct trace_text){"", 0};
    }
    memcpy(copy, text.text, text.bytes);
    return (struct trace_text){copy, text.bytes};
}

static void end_lane(struct kernel_lines_finishing *finishing)
{
    uint64_t cycles = finishing->lane_cycles;
    if (cycles < finishing->least)
        finishing->least = cycles;
    if (cycles > finishing->greatest)
        finishing->greatest = cycles;
    finishing->launch_cycles += cycles;
    finishing->lane_cycles = 0;
}

static void end_launch(struct kernel_lines_finishing *finishing)
{
    end_lane(finishing);
    if (finishing->greatest)
        finishing->spread += (1 - (double)finishing->least / (double)finishing->greatest) *
                             (double)finishing->launch_cycles;
    finishing->launch_cycles = finishing->greatest = 0;
    finishing->least = UINT64_MAX;
}

static void end_line(struct kernel_lines_finishing *finishing)
{
    struct kernel_line *line = finishing->line;
    if (!line)
        return;
    end_launch(finishing);
    line->p50 = histogram_quantile(&finishing->cycles, 500);
    line->p99 = histogram_quantile(&finishing->cycles, 990);
    line->spread = line->cycles ? finishing->spread / (double)line->cycles : 0;
    histogram_free(&finishing->cycles);
    finishing->cycles = (struct histogram){0};
    finishing->spread = 0;
    finishing->line = NULL;
}

/* Kernels come one after the other. */
static struct kernel_sums *kernel_of(struct kernel_lines_finishing *finishing, uint32_t name)
{
    struct kernel_lines *lines = finishing->lines;
    if (lines->kernel_count && finishing->kernel == name)
        return &lines->kernels[lines->kernel_count - 1];
    if (!GROW_ZEROED(lines->kernels, lines->kernel_room, lines->kernel_count + 1)) {
        kernel_lines_fail(lines);
        return NULL;
    }
    struct kernel_sums *kernel = &lines->kernels[lines->kernel_count++];
    finishing->kernel = name;
    *kernel = (struct kernel_sums){.name = kernel_lines_text_of(finishing, name),
                                   .first_line = lines->line_count,
                                   .number = name};
    return kernel;
}

static bool begin_line(struct kernel_lines_finishing *finishing, const struct record *record)
{
    struct kernel_lines *lines = finishing->lines;
    struct kernel_sums *kernel = kernel_of(finishing, record->kernel);
    if (!kernel)
        return false;
    if (lines->line_count == KERNEL_LINES_MAX) {
        lines->dropped++;
        return true;
    }
    if (!GROW_ZEROED(lines->lines, lines->line_room, lines->line_count + 1)) {
        kernel_lines_fail(lines);
        return false;
    }
    finishing->line = &lines->lines[lines->line_count++];
    finishing->least = UINT64_MAX;
    *finishing->line =
        (struct kernel_line){.place = kernel_lines_text_of(finishing, record->place + 1),
                             .file = kernel_lines_text_of(finishing, record->file),
                             .line = record->line};
    kernel->line_count++;
    return true;
}

static bool kernel_lines_on_record(void *context, const void *item, const uint64_t *payload)
{
    struct kernel_lines_finishing *finishing = context;
    const struct record *record = item, *last = &finishing->last;
    (void)payload;
    if (!finishing->any || by_line(last, record) != 0) {
        end_line(finishing);
        if (!begin_line(finishing, record))
            return false;
    } else if (by_launch(last, record) != 0) {
        end_launch(finishing);
    } else if (by_lane(last, record) != 0) {
        end_lane(finishing);
    }
    finishing->any = true;
    finishing->last = *record;
    struct kernel_lines *lines = finishing->lines;
    struct kernel_sums *kernel = &lines->kernels[lines->kernel_count - 1];
    kernel->records++;
    kernel->cycles += record->cycles;
    if (!finishing->line)
        return true;
    finishing->line->count++;
    finishing->line->cycles += record->cycles;
    if (record->cycles > finishing->line->most)
        finishing->line->most = record->cycles;
    finishing->lane_cycles += record->cycles;
    if (!histogram_add(&finishing->cycles, record->cycles))
        kernel_lines_fail(lines);
    const struct step start = {record->first, 0, record->cycles, record->kernel,
                               lines->line_count - 1};
    merge_sorter_add(&finishing->starts, &start, NULL);
    return !lines->failed;
}

/* ---- steps ------------------------------------------------------------------------------- */

static struct kernel_sums *kernel_lines_find_kernel(struct kernel_lines_finishing *finishing,
                                                    uint32_t name)
{
    struct kernel_lines *lines = finishing->lines;
    for (uint32_t i = 0; i < lines->kernel_count; i++)
        if (lines->kernels[(finishing->kernel + i) % lines->kernel_count].number == name) {
            finishing->kernel = (finishing->kernel + i) % lines->kernel_count;
            return &lines->kernels[finishing->kernel];
        }
    return NULL;
}

static bool take_lane(void *context, const void *item, const uint64_t *payload)
{
    struct kernel_lines_finishing *finishing = context;
    const struct record *record = item, *last = &finishing->last;
    struct kernel_sums *kernel = kernel_lines_find_kernel(finishing, record->kernel);
    (void)payload;
    if (!kernel)
        return false;
    bool same_kernel = finishing->any && last->kernel == record->kernel;
    bool same_lane = same_kernel && by_lane(last, record) == 0;
    kernel->launches += !same_kernel || by_launch(last, record) != 0;
    kernel->lanes += !same_lane;
    kernel->recorded_ns += (uint64_t)(record->stop_ns - record->start_ns);
    if (same_lane) {
        if (record->start_ns > last->stop_ns)
            kernel->between_ns += (uint64_t)(record->start_ns - last->stop_ns);
        const struct step step = {last->last, record->first, 0, record->kernel, 0};
        merge_sorter_add(&finishing->steps, &step, NULL);
    }
    if (record->first != record->last) {
        const struct step step = {record->first, record->last, 0, record->kernel, 0};
        merge_sorter_add(&finishing->steps, &step, NULL);
    }
    finishing->any = true;
    finishing->last = *record;
    return true;
}

/* The kernel whose list gets one more; NULL: none of it is wanted, or there is no room. */
static struct kernel_sums *add_to_kernel(struct kernel_lines_finishing *finishing, void *list,
                                         uint32_t *room, uint32_t count, uint32_t most,
                                         size_t item_bytes)
{
    struct kernel_lines *lines = finishing->lines;
    struct kernel_sums *kernel =
        finishing->any ? kernel_lines_find_kernel(finishing, finishing->step.kernel) : NULL;
    if (kernel && count < most && grow_zeroed32(list, room, count + 1, item_bytes))
        return kernel;
    if (kernel && count == most)
        lines->dropped++;
    else if (kernel)
        kernel_lines_fail(lines);
    return NULL;
}

static void end_edge(struct kernel_lines_finishing *finishing)
{
    struct kernel_lines *lines = finishing->lines;
    const struct step *step = &finishing->step;
    struct kernel_sums *kernel =
        add_to_kernel(finishing, &lines->edges, &lines->edge_room, lines->edge_count,
                      KERNEL_EDGES_MAX, sizeof *lines->edges);
    if (!kernel)
        return;
    if (kernel->edge_count++ == 0)
        kernel->first_edge = lines->edge_count;
    lines->edges[lines->edge_count++] =
        (struct kernel_edge){step->from, step->to, finishing->step_count};
}

static void end_probe(struct kernel_lines_finishing *finishing)
{
    struct kernel_lines *lines = finishing->lines;
    const struct step *step = &finishing->step;
    struct kernel_sums *kernel =
        add_to_kernel(finishing, &lines->probes, &lines->probe_room, lines->probe_count,
                      KERNEL_LINES_MAX, sizeof *lines->probes);
    if (!kernel)
        return;
    if (kernel->probe_count++ == 0)
        kernel->first_probe = lines->probe_count;
    lines->probes[lines->probe_count++] = (struct kernel_probe){.id = step->from,
                                                                .count = finishing->step_count,
                                                                .cycles = step->cycles,
                                                                .line = step->line};
}

static bool count_step(struct kernel_lines_finishing *finishing, const struct step *step,
                       void (*end)(struct kernel_lines_finishing *finishing))
{
    if (finishing->any && order_steps(&finishing->step, step) == 0) {
        finishing->step_count++;
        finishing->step.cycles += step->cycles;
        return true;
    }
    end(finishing);
    finishing->any = true;
    finishing->step = *step;
    finishing->step_count = 1;
    return !finishing->lines->failed;
}

static bool take_edge(void *context, const void *item, const uint64_t *payload)
{
    (void)payload;
    return count_step(context, item, end_edge);
}

static bool take_start(void *context, const void *item, const uint64_t *payload)
{
    (void)payload;
    return count_step(context, item, end_probe);
}

/* ---- the end ----------------------------------------------------------------------------- */

static int more_cycles_first(const void *a, const void *b)
{
    const struct kernel_sums *left = a, *right = b;
    SORTED_BY(right, left, cycles);
    return left->first_line < right->first_line ? -1 : left->first_line > right->first_line;
}

static void kernel_lines_free_filling(struct kernel_lines *lines)
{
    merge_sorter_stop(&lines->records);
    merge_sorter_stop(&lines->lanes);
    merge_sorter_start(&lines->records, &by_lines);
    merge_sorter_start(&lines->lanes, &by_lanes);
}

void kernel_lines_finish(struct kernel_lines *lines, const struct trace_text *names, uint32_t count)
{
    struct kernel_lines_finishing finishing = {.lines = lines, .names = names, .name_count = count};
    merge_sorter_start(&finishing.steps, &by_steps);
    merge_sorter_start(&finishing.starts, &by_steps);
    merge_sorter_finish(&lines->records, kernel_lines_on_record, &finishing);
    end_line(&finishing);
    histogram_free(&finishing.cycles);
    finishing.any = false;
    finishing.kernel = 0;
    merge_sorter_finish(&lines->lanes, take_lane, &finishing);
    finishing.any = false;
    merge_sorter_finish(&finishing.steps, take_edge, &finishing);
    end_edge(&finishing);
    finishing.any = false;
    merge_sorter_finish(&finishing.starts, take_start, &finishing);
    end_probe(&finishing);
    lines->failed |= lines->records.failed | lines->lanes.failed | finishing.steps.failed |
                     finishing.starts.failed;
    merge_sorter_stop(&finishing.steps);
    merge_sorter_stop(&finishing.starts);
    kernel_lines_free_filling(lines);
    if (lines->kernel_count)
        qsort(lines->kernels, lines->kernel_count, sizeof *lines->kernels, more_cycles_first);
}

static void kernel_lines_free_text(struct trace_text text)
{
    if (text.bytes)
        free((char *)(uintptr_t)text.text);
}

void kernel_lines_free(struct kernel_lines *lines)
{
    kernel_lines_free_filling(lines);
    for (uint32_t i = 0; i < lines->kernel_count; i++)
        kernel_lines_free_text(lines->kernels[i].name);
    for (uint32_t i = 0; i < lines->line_count; i++) {
        kernel_lines_free_text(lines->lines[i].place);
        kernel_lines_free_text(lines->lines[i].file);
    }
    free(lines->kernels);
    free(lines->lines);
    free(lines->probes);
    free(lines->edges);
    *lines = (struct kernel_lines){0};
}
