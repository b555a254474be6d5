/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows are trace_spans of a made-up track, the key's hash. What each field
 * holds:
 *   id      the key's low 63 bits, and 1 for a wait, so that it follows its task
 *   flags   enum row
 *   parent  its own id; of a wait, when it was ready
 *   item    a task's, launcher's or work's track; a place's source
 *   name    a task's or copy's name; a place's destination
 *   detail  of work: when it was launched, and as correlation its item
 * A place or launcher begins before all times, so that it stands before its copy or work.
 */
#include "legion_join.h"
#include "id_texts.h"
#include "message.h"

#include <stdio.h>
#include <stdlib.h>

enum row { ROW_TASK, ROW_WAIT, ROW_COPY, ROW_PLACE, ROW_LAUNCHER, ROW_WORK };
enum { GROUP_ROWS = 64 }; /* that a later row of the same key may belong to */

/* The rows of one hash that came last. */
struct groups {
    struct trace_span rows[GROUP_ROWS];
    uint64_t count;
    uint32_t track;
};

void legion_join_start(struct legion_join *join)
{
    span_sorter_start(&join->rows);
}

void legion_join_stop(struct legion_join *join)
{
    span_sorter_stop(&join->rows);
}

static void add(struct legion_join *join, uint64_t key, enum row row, struct trace_span span,
                const struct trace_detail *detail)
{
    span.track = (uint32_t)id_hash(key);
    span.id = key << 1 | (row == ROW_WAIT);
    span.flags = (uint8_t)row;
    span_sorter_add(&join->rows, &span, detail);
}

void legion_join_task(struct legion_join *join, uint64_t key, const struct trace_span *task)
{
    struct trace_span row = *task;
    row.parent = task->id;
    row.item = task->track;
    add(join, key, ROW_TASK, row, NULL);
}

void legion_join_wait(struct legion_join *join, uint64_t key, int64_t start_ns, int64_t ready_ns,
                      int64_t stop_ns)
{
    add(join, key, ROW_WAIT,
        (struct trace_span){.start_ns = start_ns, .stop_ns = stop_ns, .parent = (uint64_t)ready_ns},
        NULL);
}

void legion_join_copy(struct legion_join *join, uint64_t key, const struct trace_span *copy)
{
    struct trace_span row = *copy;
    row.parent = copy->id;
    add(join, key, ROW_COPY, row, NULL);
}

void legion_join_place(struct legion_join *join, uint64_t key, uint32_t src, uint32_t dst)
{
    add(join, key, ROW_PLACE,
        (struct trace_span){.start_ns = INT64_MIN, .stop_ns = INT64_MIN, .item = src, .name = dst},
        NULL);
}

void legion_join_launcher(struct legion_join *join, uint64_t key, const struct trace_span *task)
{
    add(join, key, ROW_LAUNCHER,
        (struct trace_span){
            .start_ns = INT64_MIN, .stop_ns = INT64_MIN, .parent = task->id, .item = task->track},
        NULL);
}

void legion_join_launched(struct legion_join *join, uint64_t key, const struct trace_span *work,
                          int64_t launch_ns)
{
    struct trace_detail detail = {.words = sizeof detail / sizeof(uint64_t),
                                  .correlation = work->item,
                                  .launch_ns = launch_ns};
    struct trace_span row = *work;
    row.parent = work->id;
    row.item = work->track;
    add(join, key, ROW_WORK, row, &detail);
}

/* ---- coming out ------------------------------------------------------------------ */

static const struct trace_span *find_row(const struct groups *groups, enum row row,
                                         const struct trace_span *like)
{
    for (uint64_t i = groups->count; i-- > 0 && groups->count - i <= GROUP_ROWS;) {
        const struct trace_span *span = &groups->rows[i % GROUP_ROWS];
        bool holds = row != ROW_TASK || span->stop_ns >= like->stop_ns;
        if (span->flags == row && span->id >> 1 == like->id >> 1 && holds)
            return span;
    }
    return NULL;
}

static void found_part(struct legion_join *join, const struct trace_span *task, const char *state,
                       int64_t start_ns, int64_t stop_ns)
{
    char name[512];
    struct trace_text text = trace_name_of(join->trace, task->name);
    int bytes = snprintf(name, sizeof name, "%.*s (%s)", text.bytes < 480 ? (int)text.bytes : 480,
                         text.text, state);
    struct trace_span span = {
        .start_ns = start_ns,
        .stop_ns = stop_ns,
        .parent = task->parent,
        .track = task->item,
        .name = trace_add_name(join->trace, name, (uint32_t)bytes),
        .category = TRACE_WAIT,
    };
    join->found(join->context, &span);
}

static void take_wait(struct legion_join *join, const struct trace_span *wait)
{
    const struct trace_span *task = find_row(join->groups, ROW_TASK, wait);
    int64_t ready_ns = (int64_t)wait->parent;
    if (!task) {
        join->lone_waits++;
        return;
    }
    found_part(join, task, "waiting", wait->start_ns, ready_ns);
    if (ready_ns < wait->stop_ns)
        found_part(join, task, "ready", ready_ns, wait->stop_ns);
}

static void take_copy(struct legion_join *join, const struct trace_span *row)
{
    const struct trace_span *place = find_row(join->groups, ROW_PLACE, row);
    struct trace_span copy = *row;
    copy.id = row->parent;
    copy.parent = 0;
    copy.flags = 0;
    copy.track = legion_tracks_channel(join->tracks, place ? place->item : LEGION_NO_MEMORY,
                                       place ? place->name : LEGION_NO_MEMORY);
    join->found(join->context, &copy);
}

static void take_work(struct legion_join *join, const struct trace_span *row,
                      const struct trace_detail *told)
{
    const struct trace_span *launcher = find_row(join->groups, ROW_LAUNCHER, row);
    struct trace_detail launch = {.words = sizeof launch / sizeof(uint64_t),
                                  .flags = TRACE_HAS_LAUNCH,
                                  .launch_ns = told ? told->launch_ns : row->start_ns,
                                  .launch_span = launcher ? launcher->parent : 0,
                                  .launch_track = launcher ? launcher->item : TRACE_NONE};
    struct trace_span work = *row;
    work.id = row->parent;
    work.parent = 0;
    work.flags = 0;
    work.track = row->item;
    work.item = told ? (uint32_t)told->correlation : 0;
    join->launched(join->context, &work, &launch);
}

static void take_rows(void *context, const struct trace_span *rows, size_t count,
                      const struct trace_details *details)
{
    struct legion_join *join = context;
    struct groups *groups = join->groups;
    for (size_t i = 0; i < count; i++) {
        if (groups->track != rows[i].track)
            groups->count = 0, groups->track = rows[i].track;
        if (rows[i].flags == ROW_WAIT)
            take_wait(join, &rows[i]);
        else if (rows[i].flags == ROW_COPY)
            take_copy(join, &rows[i]);
        else if (rows[i].flags == ROW_WORK)
            take_work(join, &rows[i], details ? trace_detail_of(details, &rows[i]) : NULL);
        else
            groups->rows[groups->count++ % GROUP_ROWS] = rows[i];
    }
}

bool legion_join_finish(struct legion_join *join)
{
    struct trace_sink sink = {.context = join, .spans = take_rows};
    struct trace *rows = trace_new(&sink, 0);
    join->groups = calloc(1, sizeof(struct groups));
    bool good = rows && join->groups;
    if (good)
        span_sorter_finish(&join->rows, rows);
    else
        message("out of memory; waits and copies are missing");
    trace_free(rows);
    free(join->groups);
    return good && !join->rows.failed;
}
