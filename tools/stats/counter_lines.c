/* SPDX-License-Identifier: Apache-2.0 */
#include "counter_lines.h"

#include "thread_map.h"
#include "trace_rows.h"

#include <math.h>
#include <stdlib.h>

/* The second comes behind the first in time. */
static void counter_lines_join(struct counter_cell *cell, const struct counter_cell *next)
{
    if (next->count == 0)
        return;
    if (cell->count == 0) {
        *cell = *next;
        return;
    }
    double share = (double)next->count / (double)(cell->count + next->count);
    cell->mean = cell->mean * (1 - share) + next->mean * share;
    cell->least = next->least < cell->least ? next->least : cell->least;
    cell->greatest = next->greatest > cell->greatest ? next->greatest : cell->greatest;
    cell->last = next->last;
    cell->count += next->count;
}

static void halve(struct counter_line *line)
{
    for (int i = 0; i < COUNTER_CELLS; i++) {
        struct counter_cell made = {0};
        for (int part = 2 * i; part < 2 * i + 2 && part < COUNTER_CELLS; part++)
            counter_lines_join(&made, &line->cells[part]);
        line->cells[i] = made;
    }
    line->cell_ns *= 2;
}

static void counter_line_add(struct counter_line *line, const struct trace_sample *sample)
{
    double value = trace_sample_value(sample);
    uint64_t since_ns =
        sample->time_ns < line->first_ns ? 0 : (uint64_t)sample->time_ns - (uint64_t)line->first_ns;
    while (since_ns / line->cell_ns >= COUNTER_CELLS)
        halve(line);
    counter_lines_join(&line->cells[since_ns / line->cell_ns],
                       &(struct counter_cell){1, value, value, value, value});
}

bool counter_lines_add(struct counter_lines *lines, uint32_t track,
                       const struct trace_sample *samples, size_t count)
{
    if (!GROW_ZEROED(lines->lines, lines->count, track + 1))
        return false;
    struct counter_line *line = &lines->lines[track];
    for (size_t i = 0; i < count; i++) {
        if (!isfinite(trace_sample_value(&samples[i])))
            continue;
        if (!line->cells) {
            if (lines->drawn == COUNTER_LINES_MAX)
                return true;
            line->cells = calloc(COUNTER_CELLS, sizeof *line->cells);
            if (!line->cells)
                return false;
            line->first_ns = samples[i].time_ns;
            line->cell_ns = 1;
            lines->drawn++;
        }
        counter_line_add(line, &samples[i]);
    }
    return true;
}

const struct counter_line *counter_lines_of(const struct counter_lines *lines, uint32_t track)
{
    return track < lines->count && lines->lines[track].cells ? &lines->lines[track] : NULL;
}

bool counter_line_between(const struct counter_line *line, int64_t from_ns, int64_t to_ns,
                          struct counter_cell *cell_out)
{
    struct counter_cell found = {0}, held = {0};
    bool any = false;
    for (uint32_t i = 0; i < COUNTER_CELLS; i++) {
        const struct counter_cell *cell = &line->cells[i];
        int64_t start_ns = (int64_t)((uint64_t)line->first_ns + line->cell_ns * i);
        if (cell->count == 0)
            continue;
        if (start_ns >= to_ns)
            break;
        if (start_ns >= from_ns)
            counter_lines_join(&found, cell);
        held.last = cell->last;
        any = true;
    }
    *cell_out = found.count ? found : held;
    return any;
}

void counter_lines_free(struct counter_lines *lines)
{
    for (uint32_t i = 0; i < lines->count; i++)
        free(lines->lines[i].cells);
    free(lines->lines);
}
