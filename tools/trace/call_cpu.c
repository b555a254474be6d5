/* SPDX-License-Identifier: Apache-2.0 */
/* Rows lie by thread, in the order of their calls, which is that of the file. */
#include "call_cpu.h"

#include <stdlib.h>
#include <string.h>

#define ALL_THREADS 0 /* whose states are those of threads that have none of their own */
#define ROUNDING_NS 1 /* of a call's begin, in its record and in the row */

/* Both begin with the time by which they are found. */
struct cpu_row {
    int64_t start_ns;
    int64_t running_ns, runnable_ns; /* -1: not known */
    uint32_t minor_faults, major_faults;
};
struct cpu_state {
    int64_t time_ns; /* from then on */
    bool known;      /* calls without a row ran all the time */
};

struct cpu_thread {
    struct cpu_row *rows;
    struct cpu_state *states;
    uint32_t row_count, row_room, state_count, state_room;
    uint32_t rows_before, states_before; /* of earlier files */
    uint32_t next_row, next_state;       /* behind those of the call before */
    struct trace_sum sum, sum_before;    /* zeros: there is none; not yet cut to its time */
};

/* ---- coming in ------------------------------------------------------------------------------- */

void call_cpu_begin_file(struct call_cpu *cpu, int64_t from_ns, int64_t until_ns)
{
    cpu->from_ns = from_ns;
    cpu->until_ns = until_ns;
    for (uint32_t i = 0; i < cpu->map.count && i < cpu->thread_room; i++) {
        cpu->threads[i].rows_before = cpu->threads[i].row_count;
        cpu->threads[i].states_before = cpu->threads[i].state_count;
        cpu->threads[i].sum_before = cpu->threads[i].sum;
    }
}

void call_cpu_forget(struct call_cpu *cpu)
{
    for (uint32_t i = 0; i < cpu->map.count && i < cpu->thread_room; i++) {
        cpu->threads[i].row_count = cpu->threads[i].rows_before;
        cpu->threads[i].state_count = cpu->threads[i].states_before;
        cpu->threads[i].sum = cpu->threads[i].sum_before;
    }
}

/* -1, which is not known, is none. */
static uint32_t fault_count(uint64_t cell)
{
    return (int64_t)cell < 0 ? 0 : cell < UINT32_MAX ? (uint32_t)cell : UINT32_MAX;
}

static bool add_call(struct cpu_thread *thread, const uint64_t *const *cells, uint32_t i)
{
    if (!GROW_ARRAY(thread->rows, thread->row_room, thread->row_count + 1))
        return false;
    thread->rows[thread->row_count++] =
        (struct cpu_row){.start_ns = (int64_t)cells[AT_call_cpu_start][i],
                         .running_ns = (int64_t)cells[AT_call_cpu_running][i],
                         .runnable_ns = (int64_t)cells[AT_call_cpu_runnable][i],
                         .minor_faults = fault_count(cells[AT_call_cpu_minor_faults][i]),
                         .major_faults = fault_count(cells[AT_call_cpu_major_faults][i])};
    return true;
}

/* In any order; of version 1 there is none. */
static void add_sum(struct trace_sum *sum, int64_t least_ns, const uint64_t *const *cells,
                    uint32_t i)
{
    const int64_t to_ns = (int64_t)cells[AT_thread_cpu_time][i];
    const int64_t from_ns = (int64_t)table_cell(cells[AT_thread_cpu_since], i);
    const int64_t ran_ns = (int64_t)table_cell(cells[AT_thread_cpu_ran], i);
    if (!cells[AT_thread_cpu_since] || from_ns < least_ns || from_ns >= to_ns || ran_ns < 0)
        return;
    const bool first = sum->from_ns >= sum->to_ns;
    sum->from_ns = first || from_ns < sum->from_ns ? from_ns : sum->from_ns;
    sum->to_ns = first || to_ns > sum->to_ns ? to_ns : sum->to_ns;
    if (__builtin_add_overflow(sum->ran_ns, (uint64_t)ran_ns, &sum->ran_ns))
        sum->ran_ns = UINT64_MAX;
}

static bool add_state(struct cpu_thread *thread, const uint64_t *const *cells, uint32_t i)
{
    if (!GROW_ARRAY(thread->states, thread->state_room, thread->state_count + 1))
        return false;
    thread->states[thread->state_count++] =
        (struct cpu_state){(int64_t)cells[AT_thread_cpu_time][i], cells[AT_thread_cpu_known][i]};
    return true;
}

bool call_cpu_add_rows(struct call_cpu *cpu, enum early_table table, const uint64_t *const *cells,
                       uint32_t rows)
{
    const bool calls = table == EARLY_CALL_CPU;
    const uint64_t *times = cells[calls ? (int)AT_call_cpu_start : (int)AT_thread_cpu_time];
    const uint64_t *threads = cells[calls ? (int)AT_call_cpu_thread : (int)AT_thread_cpu_thread];
    for (uint32_t i = 0; i < rows && !cpu->failed; i++) {
        if ((int64_t)times[i] < cpu->from_ns || (int64_t)times[i] >= cpu->until_ns)
            continue; /* of another file */
        const uint32_t number = thread_map_place(&cpu->map, threads[i], &cpu->threads,
                                                 &cpu->thread_room, sizeof *cpu->threads);
        if (number == THREAD_NONE)
            cpu->failed = true;
        else if (++cpu->count > CALL_CPU_MAX)
            cpu->dropped = true;
        else
            cpu->failed = !(calls ? add_call : add_state)(&cpu->threads[number], cells, i);
        if (!calls && !cpu->failed)
            add_sum(&cpu->threads[number].sum, cpu->sums_from_ns, cells, i);
    }
    return !cpu->failed;
}

static int by_time(const void *left, const void *right)
{
    int64_t a, b;
    memcpy(&a, left, sizeof a);
    memcpy(&b, right, sizeof b);
    return (a > b) - (a < b);
}

/* Where the clock was set back they are not in order. */
static void put_in_order(void *list, uint32_t count, size_t bytes)
{
    for (uint32_t i = 1; i < count; i++)
        if (by_time((char *)list + (i - 1) * bytes, (char *)list + i * bytes) > 0) {
            qsort(list, count, bytes, by_time);
            return;
        }
}

void call_cpu_end_file(struct call_cpu *cpu, bool has_losses)
{
    cpu->unsure |= has_losses || cpu->dropped;
    for (uint32_t i = 0; i < cpu->map.count && i < cpu->thread_room; i++) {
        struct cpu_thread *thread = &cpu->threads[i];
        for (uint32_t at = thread->states_before; at < thread->state_count; at++)
            thread->states[at].known &= !has_losses && !cpu->dropped;
        put_in_order(thread->rows, thread->row_count, sizeof *thread->rows);
        put_in_order(thread->states, thread->state_count, sizeof *thread->states);
    }
}

void call_cpu_free(struct call_cpu *cpu)
{
    for (uint32_t i = 0; i < cpu->map.count && i < cpu->thread_room; i++) {
        free(cpu->threads[i].rows);
        free(cpu->threads[i].states);
    }
    free(cpu->threads);
    thread_map_free(&cpu->map);
}

/* ---- of a call ------------------------------------------------------------------------------- */

/* How many of the list have that time or an earlier one; *hint: how many had one of the call
 * before, which is nearly always a little less. */
static uint32_t count_until(const void *list, uint32_t count, size_t bytes, int64_t time_ns,
                            uint32_t *hint)
{
    uint32_t low = 0, end = count;
    const char *first = list;
    if (*hint <= count && (*hint == 0 || by_time(first + (*hint - 1) * bytes, &time_ns) <= 0))
        low = *hint;
    if (low == count || by_time(first + low * bytes, &time_ns) > 0)
        end = low;
    while (low < end) {
        const uint32_t middle = low + (end - low) / 2;
        if (by_time(first + middle * bytes, &time_ns) <= 0)
            low = middle + 1;
        else
            end = middle;
    }
    return *hint = low;
}

static struct cpu_thread *find_thread(struct call_cpu *cpu, uint64_t thread_id)
{
    const uint32_t number = thread_map_find(&cpu->map, thread_id);
    return number < cpu->thread_room ? &cpu->threads[number] : NULL;
}

/* What is said of the thread at that time; NULL: nothing. */
static const struct cpu_state *state_at(struct cpu_thread *thread, int64_t until_ns)
{
    const uint32_t states =
        !thread ? 0
                : count_until(thread->states, thread->state_count, sizeof *thread->states, until_ns,
                              &thread->next_state);
    return states ? &thread->states[states - 1] : NULL;
}

/* Whether a call without a row ran: the thread's last row before it says so, or its last state, or
 * that of all threads. */
static bool is_known(struct call_cpu *cpu, struct cpu_thread *thread, const struct cpu_row *row,
                     int64_t until_ns)
{
    const struct cpu_state *own = state_at(thread, until_ns);
    if (row && !cpu->unsure && (!own || row->start_ns >= own->time_ns))
        return true;
    if (!own)
        own = state_at(find_thread(cpu, ALL_THREADS), until_ns);
    return own && own->known;
}

enum call_ran call_cpu_of(struct call_cpu *cpu, uint64_t thread_id, int64_t begin_ns,
                          struct trace_detail *detail)
{
    if (!cpu->count || begin_ns == INT64_MAX)
        return CALL_NOT_KNOWN;
    struct cpu_thread *thread = find_thread(cpu, thread_id);
    const int64_t until_ns = begin_ns + ROUNDING_NS;
    const uint32_t rows = !thread ? 0
                                  : count_until(thread->rows, thread->row_count,
                                                sizeof *thread->rows, until_ns, &thread->next_row);
    const struct cpu_row *row = rows ? &thread->rows[rows - 1] : NULL;
    if (row && (uint64_t)until_ns - (uint64_t)row->start_ns <= 2 * ROUNDING_NS) {
        if (row->running_ns < 0 && row->runnable_ns < 0)
            return CALL_NOT_KNOWN;
        detail->flags |= TRACE_HAS_CPU;
        detail->running_ns = row->running_ns;
        detail->runnable_ns = row->runnable_ns;
        detail->minor_faults = row->minor_faults;
        detail->major_faults = row->major_faults;
        return CALL_HAS_ROW;
    }
    return is_known(cpu, thread, row, until_ns) ? CALL_RAN : CALL_NOT_KNOWN;
}

struct trace_sum call_cpu_sum(const struct call_cpu *cpu, uint64_t thread_id)
{
    const uint32_t number = thread_map_find(&cpu->map, thread_id);
    if (cpu->unsure || number >= cpu->thread_room)
        return (struct trace_sum){0};
    struct trace_sum sum = cpu->threads[number].sum;
    const uint64_t most_ns = (uint64_t)sum.to_ns - (uint64_t)sum.from_ns;
    sum.ran_ns = sum.ran_ns < most_ns ? sum.ran_ns : most_ns;
    return sum;
}
