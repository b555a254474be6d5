/* SPDX-License-Identifier: Apache-2.0 */
#include "stall_stack.h"

#include "known_tables.h"
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
