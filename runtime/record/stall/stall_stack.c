/* SPDX-License-Identifier: Apache-2.0 */
#include "stall_stack.h"

#include "chunk_pool.h"
#include "known_tables.h"
#include "recording.h"
#include "stall_proc.h"
#include "stray_rows.h"

#define STACK_BYTES_MAX (STACK_WORDS_MAX * sizeof(uint64_t))

static unsigned word_table;

void stack_prepare(unsigned number)
{
    word_table = number;
}

/* ---- words ----------------------------------------------------------------------------------- */

bool stack_keeps(const struct stack_copy *copy, uint64_t word)
{
    return (word >= copy->stack && word < copy->where.end) || code_is_at(word);
}

void stack_read(struct stack_copy *copy)
{
    const uint64_t left = copy->where.end - copy->stack;
    copy->count = 0;
    if (copy->stack % sizeof(uint64_t) == 0 && copy->stack < copy->where.end)
        copy->count = (uint32_t)(proc_read_memory(copy->words, copy->stack,
                                                  left < STACK_BYTES_MAX ? left : STACK_BYTES_MAX) /
                                 sizeof(uint64_t));
}

bool stack_read_blocked(struct stack_copy *copy, const struct thread_state *before)
{
    if (!before->is_known || before->runs)
        return false;
    copy->code = before->code;
    copy->stack = before->stack;
    copy->frame = 0;
    copy->is_asked = false;
    stack_read(copy);
    python_read(copy);
    const struct thread_state now = proc_thread_state(copy->os_id);
    return proc_is_same_state(before, &now) && opened_goes_on(&copy->opened);
}

static void write_word(const struct stack_copy *copy, uint64_t place, uint64_t word)
{
    const uint64_t cells[COLUMNS_stack_word] = {[AT_stack_word_time] = copy->ticks,
                                                [AT_stack_word_thread] = copy->opened.thread_id,
                                                [AT_stack_word_since] = copy->opened.since_ticks,
                                                [AT_stack_word_place] = place,
                                                [AT_stack_word_word] = word};
    stray_rows_add(word_table, cells);
}

static void say_code(uint64_t address, uint64_t *lost)
{
    *lost += !code_say(address);
}

void stack_write(const struct stack_copy *copy)
{
    uint64_t lost = 0;
    say_code(copy->code, &lost);
    for (uint32_t i = 0; i < copy->count; i++)
        say_code(copy->words[i], &lost);
    if (lost)
        stray_rows_lose(lost);
    write_word(copy, 0, copy->code);
    write_word(copy, 1, copy->stack);
    if (copy->frame && stack_keeps(copy, copy->frame))
        write_word(copy, 2, copy->frame);
    for (uint32_t i = 0; i < copy->count; i++)
        if (stack_keeps(copy, copy->words[i]))
            write_word(copy, copy->stack + i * sizeof(uint64_t), copy->words[i]);
    python_write(copy);
}

/* ---- the call or wait ------------------------------------------------------------------------ */

static uint64_t call_name;
static rbwp_extend_wait_fn *wait_of;

void opened_prepare(uint64_t name, rbwp_extend_wait_fn *wait_fn)
{
    call_name = name;
    wait_of = wait_fn;
}

static bool find_item(const struct thread *thread, struct opened *opened)
{
    uint64_t *const *place = &thread->self->item;
    uint64_t *item = __atomic_load_n(place, __ATOMIC_RELAXED);
    if (item == &thread->kept_word) {
        opened->since_ticks = __atomic_load_n(&thread->kept_begin_ticks, __ATOMIC_RELAXED);
    } else {
        const struct chunk *chunk = item ? chunk_pool_find(recording_now->pool, item) : NULL;
        opened->word = chunk ? __atomic_load_n(item, __ATOMIC_RELAXED) : 0;
        if (live_event_kind(opened->word) != LIVE_EVENT_BEGIN)
            return false;
        opened->since_ticks =
            __atomic_load_n(&chunk->base_ticks, __ATOMIC_RELAXED) + live_event_ticks(opened->word);
    }
    opened->item_place = (uintptr_t)place;
    opened->item = (uintptr_t)item;
    opened->wait.kind = call_name;
    return true;
}

static bool find_wait(struct opened *opened)
{
    if (!wait_of || !opened->waiter || !wait_of(opened->waiter, opened->thread_id, &opened->wait))
        return false;
    opened->since_ticks = opened->wait.since_ticks;
    return true;
}

bool opened_find(struct thread *thread, struct opened *opened_out)
{
    *opened_out =
        (struct opened){.thread_id = thread->thread_id,
                        .self = (uintptr_t)thread->self,
                        .waiter = atomic_load_explicit(&thread->waiter, memory_order_relaxed)};
    return thread->self && (find_wait(opened_out) || find_item(thread, opened_out));
}

static bool holds(uint64_t place, uint64_t wanted)
{
    uint64_t found;
    return proc_read_memory(&found, place, sizeof found) == sizeof found && found == wanted;
}

bool opened_goes_on(const struct opened *opened)
{
    struct opened now = {.thread_id = opened->thread_id, .waiter = opened->waiter};
    const bool waits = find_wait(&now);
    if (!opened->item)
        return waits && now.since_ticks == opened->since_ticks;
    return !waits && holds(opened->item_place, opened->item) &&
           (!opened->word || holds(opened->item, opened->word));
}

bool open_seen_is_due(struct open_seen *seen, uint64_t since_ticks, uint64_t now_ticks,
                      uint64_t limit_ticks, bool has_room, uint64_t *missed)
{
    if (seen->since_ticks != since_ticks) {
        *missed += seen->is_late;
        *seen = (struct open_seen){since_ticks, limit_ticks, false};
        return false;
    }
    const uint64_t age_ticks = now_ticks - since_ticks;
    if (since_ticks == 0 || (int64_t)age_ticks < 0 || age_ticks < seen->next_age_ticks)
        return false;
    seen->is_late = !has_room;
    while (has_room && seen->next_age_ticks <= age_ticks)
        seen->next_age_ticks =
            seen->next_age_ticks > UINT64_MAX / 2 ? UINT64_MAX : 2 * seen->next_age_ticks;
    return has_room;
}
