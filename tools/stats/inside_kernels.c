/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spans go into a sorter as they come, with their launch and block; when all have come, each block
 * is swept through, and its kernel is looked for among the GPU's work.
 */
#include "inside_kernels.h"

#include "grow.h"
#include "message.h"
#include "sorted.h"
#include "stats_row.h"
#include "trace_span.h"

#include <stdlib.h>
#include <string.h>

/* ---- through the time of one block of a kernel, with all of its groups side by side ---------- */
/*
 * Spans come by start, of those that start together the longer one first. What a group does is what
 * its innermost span says: the one that began last of those that are open.
 */

enum { BLOCK_SWEEP_DEPTH = 32 }; /* what is deeper counts as what is around it */

struct block_open {
    int64_t stop_ns;
    bool waits;
};

struct block_sweep {
    struct inside_kernel *kernel; /* NULL: no block is begun */
    int64_t first_ns, now_ns, last_ns;
    uint32_t busy, waiting, present; /* groups, as bits */
    uint32_t depth[INSIDE_GROUPS_MAX];
    struct block_open open[INSIDE_GROUPS_MAX][BLOCK_SWEEP_DEPTH];
};

static void inside_kernels_add(uint64_t *sum, uint64_t ns)
{
    *sum = stats_sum(*sum, ns);
}

/* What the innermost span of a group says from here on. */
static void inside_kernels_look(struct block_sweep *sweep, uint32_t group)
{
    uint32_t bit = 1u << group, depth = sweep->depth[group];
    bool waits = depth && sweep->open[group][depth - 1].waits;
    sweep->busy &= ~bit;
    sweep->waiting &= ~bit;
    if (depth)
        *(waits ? &sweep->waiting : &sweep->busy) |= bit;
}

static void count_until(struct block_sweep *sweep, int64_t until_ns)
{
    struct inside_kernel *kernel = sweep->kernel;
    uint64_t ns = (uint64_t)until_ns - (uint64_t)sweep->now_ns;
    sweep->now_ns = until_ns;
    for (uint32_t left = sweep->waiting; left; left &= left - 1)
        inside_kernels_add(&kernel->groups[__builtin_ctz(left)].waiting_ns, ns);
    for (uint32_t left = sweep->busy; left; left &= left - 1) {
        uint32_t group = (uint32_t)__builtin_ctz(left);
        inside_kernels_add(&kernel->groups[group].busy_ns, ns);
        for (uint32_t later = left & (left - 1); later; later &= later - 1)
            inside_kernels_add(&kernel->both_ns[inside_pair(group, (uint32_t)__builtin_ctz(later))],
                               ns);
    }
}

/* Takes off what has ended; a span that is around a longer one ends with it. */
static void close_ended(struct block_sweep *sweep)
{
    for (uint32_t left = sweep->busy | sweep->waiting; left; left &= left - 1) {
        uint32_t group = (uint32_t)__builtin_ctz(left), depth = sweep->depth[group];
        while (depth && sweep->open[group][depth - 1].stop_ns <= sweep->now_ns)
            depth--;
        if (depth == sweep->depth[group])
            continue;
        sweep->depth[group] = depth;
        inside_kernels_look(sweep, group);
    }
}

static void inside_kernels_advance(struct block_sweep *sweep, int64_t to_ns)
{
    while (sweep->now_ns < to_ns && (sweep->busy | sweep->waiting)) {
        int64_t next_ns = to_ns;
        for (uint32_t left = sweep->busy | sweep->waiting; left; left &= left - 1) {
            uint32_t group = (uint32_t)__builtin_ctz(left);
            int64_t stop_ns = sweep->open[group][sweep->depth[group] - 1].stop_ns;
            next_ns = stop_ns < next_ns ? stop_ns : next_ns;
        }
        count_until(sweep, next_ns);
        close_ended(sweep);
    }
    sweep->now_ns = to_ns > sweep->now_ns ? to_ns : sweep->now_ns;
}

static void block_sweep_add(struct block_sweep *sweep, uint32_t group, int64_t start_ns,
                            int64_t stop_ns, bool waits)
{
    inside_kernels_advance(sweep, start_ns);
    sweep->present |= 1u << group;
    sweep->last_ns = stop_ns > sweep->last_ns ? stop_ns : sweep->last_ns;
    if (stop_ns <= sweep->now_ns || sweep->depth[group] == BLOCK_SWEEP_DEPTH)
        return;
    sweep->open[group][sweep->depth[group]++] = (struct block_open){stop_ns, waits};
    inside_kernels_look(sweep, group);
}

/* To the end of the block, if one is begun. */
static void block_sweep_end(struct block_sweep *sweep)
{
    struct inside_kernel *kernel = sweep->kernel;
    if (!kernel)
        return;
    inside_kernels_advance(sweep, sweep->last_ns);
    uint64_t time_ns = (uint64_t)sweep->last_ns - (uint64_t)sweep->first_ns;
    kernel->blocks++;
    inside_kernels_add(&kernel->time_ns, time_ns);
    for (uint32_t left = sweep->present; left; left &= left - 1) {
        struct inside_group *group = &kernel->groups[__builtin_ctz(left)];
        group->lanes++;
        inside_kernels_add(&group->time_ns, time_ns);
    }
    sweep->kernel = NULL;
}

/* ---- inside kernels -------------------------------------------------------------------------- */

enum {
    WAIT_IDS = 3072, /* ids of synchronisation: these and WAIT_IDS_COUNT - 1 more */
    WAIT_IDS_COUNT = 1024,
    WORKS_LOOKED_AT = 64 /* that began before a span, for the one around it */
};

struct noted {
    uint64_t launch, block;
    int64_t start_ns, stop_ns;
    uint64_t bound_ns;
    uint32_t gpu, group; /* tracks */
    bool waits, instant, unended;
};

static int compare_noted(const void *a, const void *b)
{
    const struct noted *left = a, *right = b;
    SORTED_BY(left, right, gpu);
    SORTED_BY(left, right, launch);
    SORTED_BY(left, right, block);
    SORTED_BY(left, right, start_ns);
    SORTED_BY(right, left, stop_ns);
    return left->group < right->group ? -1 : left->group > right->group;
}

static const struct merge_order noted_order = {"spans inside kernels", sizeof(struct noted),
                                               MERGE_SORTER_NO_PAYLOAD, compare_noted};

static void inside_kernels_fail(struct inside_kernels *inside)
{
    message_once(&inside->failed,
                 "out of memory; what is known of the inside of kernels is not whole");
}

void inside_kernels_start(struct inside_kernels *inside)
{
    *inside = (struct inside_kernels){0};
    merge_sorter_start(&inside->noted, &noted_order);
}

static void inside_kernels_free_filling(struct inside_kernels *inside)
{
    merge_sorter_stop(&inside->noted);
    merge_sorter_start(&inside->noted, &noted_order);
    free(inside->tracks);
    free(inside->waits);
    inside->tracks = NULL;
    inside->waits = NULL;
    inside->track_room = inside->waits_room = 0;
}

void inside_kernels_free(struct inside_kernels *inside)
{
    inside_kernels_free_filling(inside);
    for (uint32_t i = 0; i < inside->kernel_count; i++)
        free((char *)(uintptr_t)inside->kernels[i].name.text);
    free(inside->kernels);
    free(inside->works);
    *inside = (struct inside_kernels){0};
}

/* ---- names and tracks -------------------------------------------------------------------- */

/* "event_3100", "unknown_3100": what ids without a name are called. */
static bool is_wait_id(struct trace_text name)
{
    uint32_t at = trace_text_begins(name, "event_")     ? 6
                  : trace_text_begins(name, "unknown_") ? 8
                                                        : name.bytes;
    uint32_t id = 0;
    if (name.bytes != at + 4) /* digits */
        return false;
    for (; at < name.bytes; at++) {
        if (!trace_is_digit(name.text[at]))
            return false;
        id = 10 * id + (uint32_t)(name.text[at] - '0');
    }
    return id - WAIT_IDS < WAIT_IDS_COUNT;
}

bool inside_is_wait(struct trace_text name)
{
    return trace_text_begins(name, "wait") || trace_text_is(name, "barrier") || is_wait_id(name);
}

void inside_kernels_name(struct inside_kernels *inside, uint32_t number, struct trace_text name)
{
    if (!GROW_ZEROED(inside->waits, inside->waits_room, number + 1)) {
        inside_kernels_fail(inside);
        return;
    }
    inside->waits[number] = inside_is_wait(name);
    if (trace_text_is(name, "block"))
        inside->block_name = number + 1;
    if (trace_text_is(name, "program"))
        inside->program_name = number + 1;
}

/* Below the GPU are all lanes, all events and all blocks; groups are those of lanes, two steps
 * further down; events are one group, and so are blocks. A file with very many has spans on the
 * steps between. */
void inside_kernels_track(struct inside_kernels *inside, const struct trace_track *track)
{
    if (!GROW_ZEROED(inside->tracks, inside->track_room, track->number + 1)) {
        inside_kernels_fail(inside);
        return;
    }
    struct inside_track *here = &inside->tracks[track->number];
    *here = (struct inside_track){.is_gpu = track->kind == TRACE_GPU, .name = track->name};
    if (track->parent >= track->number) /* TRACE_NONE, too */
        return;
    struct inside_track *above = &inside->tracks[track->parent];
    if (above->is_gpu && track->kind == TRACE_LANE) {
        above->has_inside = true;
        *here = (struct inside_track){.gpu = track->parent + 1,
                                      .group = track->number + 1,
                                      .one_group = trace_text_is(track->name, "events") ||
                                                   trace_text_is(track->name, "blocks"),
                                      .name = track->name};
    } else if (above->gpu) {
        here->gpu = above->gpu;
        here->one_group = above->one_group;
        here->group = above->one_group ? above->group : track->number + 1;
    }
}

/* ---- spans ------------------------------------------------------------------------------- */

static uint64_t block_of(const struct inside_kernels *inside, const struct trace_detail *detail)
{
    const struct trace_arg *args = trace_args_of(detail);
    for (uint32_t i = 0; i < detail->arg_count; i++)
        if (args[i].type == TRACE_ARG_U64 &&
            (args[i].key + 1 == inside->block_name || args[i].key + 1 == inside->program_name))
            return args[i].value.u64;
    return 0;
}

bool inside_kernels_place(const struct inside_kernels *inside, const struct trace_span *span,
                          const struct trace_detail *detail, uint64_t *block_out,
                          uint64_t *launch_out)
{
    *block_out = detail ? block_of(inside, detail) : 0;
    *launch_out = detail ? detail->correlation : 0;
    return inside_kernels_has(inside, span->track);
}

static void add_work(struct inside_kernels *inside, const struct trace_span *span,
                     const struct trace_detail *detail)
{
    if (!GROW_ARRAY(inside->works, inside->work_room, inside->work_count + 1)) {
        inside_kernels_fail(inside);
        return;
    }
    inside->works[inside->work_count++] =
        (struct inside_work){.correlation = detail ? detail->correlation : 0,
                             .start_ns = span->start_ns,
                             .stop_ns = span->stop_ns,
                             .gpu = span->track,
                             .name = span->name,
                             .kernel = TRACE_NONE};
}

void inside_kernels_span(struct inside_kernels *inside, const struct trace_span *span,
                         const struct trace_detail *detail)
{
    if (span->track >= inside->track_room)
        return;
    const struct inside_track *track = &inside->tracks[span->track];
    if (track->has_inside && span->category == TRACE_GPU_WORK)
        add_work(inside, span, detail);
    uint64_t block, launch;
    if (!inside_kernels_place(inside, span, detail, &block, &launch))
        return;
    const struct noted noted = {
        .launch = launch,
        .block = block,
        .start_ns = span->start_ns,
        .stop_ns = span->stop_ns,
        .bound_ns = detail && detail->flags & TRACE_HAS_BOUNDS ? detail->start_uncertain_ns : 0,
        .gpu = track->gpu - 1,
        .group = track->group - 1,
        .waits = span->name < inside->waits_room && inside->waits[span->name],
        .instant = (span->flags & TRACE_INSTANT) != 0,
        .unended = (span->flags & TRACE_UNFINISHED) != 0};
    inside->spans++;
    merge_sorter_add(&inside->noted, &noted, NULL);
}

/* ---- the GPU's work ------------------------------------------------------------------------ */

static int compare_works(const void *a, const void *b)
{
    const struct inside_work *left = a, *right = b;
    SORTED_BY(left, right, gpu);
    SORTED_BY(left, right, start_ns);
    return left->correlation < right->correlation ? -1 : left->correlation > right->correlation;
}

static int compare_ids(const void *a, const void *b)
{
    const struct inside_work *left = *(struct inside_work *const *)a;
    const struct inside_work *right = *(struct inside_work *const *)b;
    SORTED_BY(left, right, gpu);
    SORTED_BY(left, right, correlation);
    return left < right ? -1 : left > right;
}

struct inside_kernels_finishing {
    struct inside_kernels *inside;
    const struct trace_text *names;
    uint32_t name_count;
    uint32_t *kernel_of_name; /* + 1; behind the last name the one that is not known */
    struct inside_work **by_id;
    struct noted last; /* the span before, of the block that is swept */
    bool any;
    struct inside_work *work; /* that the block is of, NULL not known */
    struct block_sweep sweep;
};

/* By its id; the first one, if several have it. */
static struct inside_work *work_by_id(const struct inside_kernels_finishing *finishing,
                                      const struct noted *noted)
{
    struct inside_work *const *works = finishing->by_id;
    uint32_t at;
    SORTED_FIND(at, finishing->inside->work_count,
                works[at]->gpu != noted->gpu ? works[at]->gpu < noted->gpu
                                             : works[at]->correlation < noted->launch);
    struct inside_work *found = at < finishing->inside->work_count ? works[at] : NULL;
    return found && found->gpu == noted->gpu && found->correlation == noted->launch ? found : NULL;
}

static int64_t less(int64_t a, uint64_t b)
{
    int64_t result;
    return __builtin_sub_overflow(a, b, &result) ? INT64_MIN : result;
}

static int64_t more(int64_t a, uint64_t b)
{
    int64_t result;
    return __builtin_add_overflow(a, b, &result) ? INT64_MAX : result;
}

static bool is_around(const struct inside_work *work, const struct noted *noted)
{
    return work->gpu == noted->gpu && less(work->start_ns, noted->bound_ns) <= noted->start_ns &&
           more(work->stop_ns, noted->bound_ns) >= noted->stop_ns;
}

/* Of those around it the one that began last. */
static struct inside_work *work_by_time(const struct inside_kernels *inside,
                                        const struct noted *noted)
{
    struct inside_work *works = inside->works;
    uint32_t at;
    SORTED_FIND(at, inside->work_count,
                works[at].gpu != noted->gpu
                    ? works[at].gpu < noted->gpu
                    : less(works[at].start_ns, noted->bound_ns) <= noted->start_ns);
    for (uint32_t i = 0; i < WORKS_LOOKED_AT && at > 0; i++)
        if (is_around(&works[--at], noted))
            return &works[at];
    return NULL;
}

/* ---- kernels and groups ---------------------------------------------------------------------- */

/* By the number of its name, name_count: not known. NULL without memory. */
static struct inside_kernel *inside_kernels_find_kernel(struct inside_kernels_finishing *finishing,
                                                        uint32_t name)
{
    struct inside_kernels *inside = finishing->inside;
    uint32_t *known = &finishing->kernel_of_name[name];
    struct trace_text text = name < finishing->name_count ? finishing->names[name] : trace_text("");
    if (*known)
        return &inside->kernels[*known - 1];
    if (inside->kernel_count == INSIDE_KERNELS_MAX) { /* the last one is all of the others */
        *known = INSIDE_KERNELS_MAX;
        return &inside->kernels[INSIDE_KERNELS_MAX - 1];
    }
    if (inside->kernel_count == INSIDE_KERNELS_MAX - 1)
        text = trace_text("(others)");
    char *copy = strndup(text.bytes ? text.text : "", text.bytes);
    if (!copy || !GROW_ZEROED(inside->kernels, inside->kernel_room, inside->kernel_count + 1)) {
        free(copy);
        inside_kernels_fail(inside);
        return NULL;
    }
    *known = ++inside->kernel_count;
    inside->kernels[*known - 1].name = (struct trace_text){copy, (uint32_t)strlen(copy)};
    return &inside->kernels[*known - 1];
}

static uint32_t find_group(struct inside_kernel *kernel, struct trace_text name)
{
    uint32_t group = 0;
    if (kernel->group_count == INSIDE_GROUPS_MAX)
        return INSIDE_GROUPS_MAX - 1;
    for (; group < kernel->group_count; group++) {
        const struct trace_text *known = &kernel->groups[group].name;
        if (known->bytes == name.bytes && memcmp(known->text, name.text, name.bytes) == 0)
            return group;
    }
    if (group == INSIDE_GROUPS_MAX - 1)
        name = trace_text("(others)");
    kernel->groups[group].name = name;
    kernel->group_count++;
    return group;
}

static bool is_same_block(const struct noted *a, const struct noted *b)
{
    return a->gpu == b->gpu && a->launch == b->launch && a->block == b->block;
}

/* The work around a span: that of the span before, if it is of the same block and inside, too. */
static struct inside_work *find_work(const struct inside_kernels_finishing *finishing,
                                     const struct noted *noted)
{
    bool same_launch = finishing->any && finishing->last.gpu == noted->gpu &&
                       finishing->last.launch == noted->launch;
    struct inside_work *work = finishing->work;
    if (noted->launch && same_launch && work && work->correlation == noted->launch)
        return work;
    if (noted->launch && (work = work_by_id(finishing, noted)) != NULL)
        return work;
    work = finishing->work;
    if (same_launch && work && is_around(work, noted))
        return work;
    return work_by_time(finishing->inside, noted);
}

static struct inside_kernel *inside_kernels_begin_block(struct inside_kernels_finishing *finishing,
                                                        const struct noted *noted,
                                                        struct inside_work *work)
{
    uint32_t name = work && work->name < finishing->name_count ? work->name : finishing->name_count;
    struct inside_kernel *kernel = inside_kernels_find_kernel(finishing, name);
    bool new_launch = !finishing->any || finishing->last.launch != noted->launch ||
                      finishing->last.gpu != noted->gpu;
    if (!kernel)
        return NULL;
    kernel->launches += work ? work->kernel == TRACE_NONE : noted->launch && new_launch;
    if (work)
        work->kernel = (uint32_t)(kernel - finishing->inside->kernels);
    /* No block is begun before. */
    finishing->sweep.kernel = kernel;
    finishing->sweep.first_ns = finishing->sweep.now_ns = finishing->sweep.last_ns =
        noted->start_ns;
    finishing->sweep.busy = finishing->sweep.waiting = finishing->sweep.present = 0;
    memset(finishing->sweep.depth, 0, sizeof finishing->sweep.depth);
    return kernel;
}

static bool take_noted(void *context, const void *item, const uint64_t *payload)
{
    struct inside_kernels_finishing *finishing = context;
    const struct noted *noted = item;
    struct inside_work *work = find_work(finishing, noted);
    struct inside_kernel *kernel = finishing->sweep.kernel;
    (void)payload;
    if (!kernel || !is_same_block(&finishing->last, noted) || work != finishing->work) {
        block_sweep_end(&finishing->sweep);
        kernel = inside_kernels_begin_block(finishing, noted, work);
        if (!kernel)
            return false;
    }
    finishing->last = *noted;
    finishing->any = true;
    finishing->work = work;
    uint32_t group = find_group(kernel, finishing->inside->tracks[noted->group].name);
    struct inside_group *sums = &kernel->groups[group];
    *(noted->instant ? &sums->instants : &sums->spans) += 1;
    sums->unended += noted->unended;
    block_sweep_add(&finishing->sweep, group, noted->start_ns, noted->stop_ns, noted->waits);
    return true;
}

/* ---- the end -----------------------------------------------------------------------------------
 */

static int more_time_first(const void *a, const void *b)
{
    const struct inside_kernel *left = a, *right = b;
    SORTED_BY(right, left, time_ns);
    return trace_text_compare(left->name, right->name);
}

static void order_works(struct inside_kernels_finishing *finishing)
{
    struct inside_kernels *inside = finishing->inside;
    if (inside->work_count)
        qsort(inside->works, inside->work_count, sizeof *inside->works, compare_works);
    for (uint32_t i = 0; i < inside->work_count; i++)
        finishing->by_id[i] = &inside->works[i];
    qsort(finishing->by_id, inside->work_count, sizeof(struct inside_work *), compare_ids);
}

/* Works know their kernel by its place. */
static void order_kernels(struct inside_kernels *inside)
{
    uint32_t *place = calloc(inside->kernel_count + 1, sizeof *place);
    if (!place) {
        inside_kernels_fail(inside);
        return;
    }
    for (uint32_t i = 0; i < inside->kernel_count; i++)
        inside->kernels[i].number = i;
    if (inside->kernel_count)
        qsort(inside->kernels, inside->kernel_count, sizeof *inside->kernels, more_time_first);
    for (uint32_t i = 0; i < inside->kernel_count; i++)
        place[inside->kernels[i].number] = i;
    for (uint32_t i = 0; i < inside->work_count; i++)
        if (inside->works[i].kernel != TRACE_NONE)
            inside->works[i].kernel = place[inside->works[i].kernel];
    free(place);
}

void inside_kernels_finish(struct inside_kernels *inside, const struct trace_text *names,
                           uint32_t count)
{
    struct inside_kernels_finishing *finishing = calloc(1, sizeof *finishing);
    struct inside_work **by_id = calloc(inside->work_count + 1, sizeof *by_id);
    uint32_t *kernel_of_name = calloc(count + 1, sizeof *kernel_of_name);
    if (finishing && by_id && kernel_of_name) {
        *finishing = (struct inside_kernels_finishing){.inside = inside,
                                                       .names = names,
                                                       .name_count = count,
                                                       .kernel_of_name = kernel_of_name,
                                                       .by_id = by_id};
        order_works(finishing);
        merge_sorter_finish(&inside->noted, take_noted, finishing);
        block_sweep_end(&finishing->sweep);
        order_kernels(inside);
    } else {
        inside_kernels_fail(inside);
    }
    inside->failed |= inside->noted.failed;
    free(kernel_of_name);
    free(by_id);
    free(finishing);
    inside_kernels_free_filling(inside);
}

double inside_overlap(const struct inside_kernel *kernel, uint32_t a, uint32_t b)
{
    uint64_t first_ns = kernel->groups[a].busy_ns, second_ns = kernel->groups[b].busy_ns;
    uint64_t lesser_ns = first_ns < second_ns ? first_ns : second_ns;
    return lesser_ns ? (double)kernel->both_ns[inside_pair(a, b)] / (double)lesser_ns : 0;
}
