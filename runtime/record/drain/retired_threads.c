/* SPDX-License-Identifier: Apache-2.0 */
#include "retired_threads.h"
#include "grow.h"

#include <stdlib.h>
#include <string.h>

/* In the file. It has room for 64 MiB of all tables, and tools read them whole. */
#define THREAD_BYTES_MAX (4u << 20)
#define THREAD_ENTRY_BYTES 48u
#define LOSSES_MAX 32768u

static struct retired_threads retired; /* guarded by the registry's lock */

static size_t retired_bytes_of(const char *name)
{
    return THREAD_ENTRY_BYTES + strlen(name);
}

/* ---- threads -------------------------------------------------------------------------- */

/* Those to drop first come first. */
static int by_records_and_age(const void *left, const void *right)
{
    const struct retired_thread *a = left, *b = right;
    if (a->records != b->records)
        return a->records < b->records ? -1 : 1;
    return a->thread_id < b->thread_id ? -1 : a->thread_id > b->thread_id;
}

static void leave_half_out(void)
{
    uint32_t out = 0;
    qsort(retired.threads, retired.thread_count, sizeof *retired.threads, by_records_and_age);
    for (; retired.bytes > THREAD_BYTES_MAX / 2; out++) {
        struct retired_thread *thread = &retired.threads[out];
        retired.bytes -= retired_bytes_of(thread->name);
        retired.left_threads++;
        retired.left_records += thread->records;
        free(thread->name);
    }
    retired.thread_count -= out;
    memmove(retired.threads, retired.threads + out, retired.thread_count * sizeof *retired.threads);
}

/* ---- losses --------------------------------------------------------------------------- */

void thread_each_loss(const struct thread *thread,
                      void (*visit)(void *context, const struct retired_loss *loss), void *context)
{
    struct retired_loss loss = {.thread_id = thread->thread_id};
    for (loss.cause = 1; loss.cause < LOSS_CAUSES; loss.cause++) {
        const struct loss_tally *tally = &thread->loss[loss.cause];
        loss.count = tally->count;
        loss.first = tally->first_ticks;
        loss.last = tally->last_ticks;
        if (loss.count)
            visit(context, &loss);
    }
    loss = (struct retired_loss){thread->thread_id, thread->unwritten,
                                 (uint64_t)thread->unwritten_first_ns,
                                 (uint64_t)thread->unwritten_last_ns, RBWP_LOSS_IO};
    if (loss.count)
        visit(context, &loss);
    loss = (struct retired_loss){
        .thread_id = thread->thread_id,
        .count = thread->unwritten_rows,
        .cause = RBWP_LOSS_ROWS_IO,
    };
    if (loss.count)
        visit(context, &loss);
    loss = (struct retired_loss){
        .thread_id = thread->thread_id,
        .count = thread->overwritten,
        .cause = RBWP_LOSS_OVERWRITTEN,
    };
    if (loss.count)
        visit(context, &loss);
    loss = (struct retired_loss){
        .thread_id = thread->thread_id,
        .count = atomic_load_explicit(&thread->refused, memory_order_relaxed),
        .cause = RBWP_LOSS_SIGNAL,
    };
    if (loss.count)
        visit(context, &loss);
}

/* Into the sum of its cause. */
static void add_up(const struct retired_loss *loss)
{
    struct retired_loss *all = &retired.all_losses[loss->cause];
    if (all->count == 0 || loss->first < all->first)
        all->first = loss->first;
    if (loss->last > all->last)
        all->last = loss->last;
    all->cause = loss->cause;
    all->count += loss->count;
    retired.left_losses++;
}

static void retired_on_loss(void *context, const struct retired_loss *loss)
{
    (void)context;
    if (retired.loss_count < LOSSES_MAX &&
        grow_array32(&retired.losses, &retired.loss_room, retired.loss_count + 1,
                     sizeof *retired.losses))
        retired.losses[retired.loss_count++] = *loss;
    else
        add_up(loss);
}

/* ---- all of it ------------------------------------------------------------------------ */

bool retired_take(struct thread *thread)
{
    if (!grow_array32(&retired.threads, &retired.thread_room, retired.thread_count + 1,
                      sizeof *retired.threads))
        return false;
    retired.threads[retired.thread_count++] = (struct retired_thread){
        .thread_id = thread->thread_id,
        .os_id = thread->os_id,
        .attached_monotonic_ns = thread->attached_monotonic_ns,
        .detached_monotonic_ns = thread->detached_monotonic_ns,
        .records = thread->records,
        .name = thread->name,
    };
    retired.bytes += retired_bytes_of(thread->name);
    thread->name = NULL;
    thread_each_loss(thread, retired_on_loss, NULL);
    if (retired.bytes > THREAD_BYTES_MAX)
        leave_half_out();
    return true;
}

const struct retired_threads *retired_threads(void)
{
    return &retired;
}

void retired_abandon(void)
{
    retired = (struct retired_threads){0};
}

void retired_forget(void)
{
    for (uint32_t i = 0; i < retired.thread_count; i++)
        free(retired.threads[i].name);
    free(retired.threads);
    free(retired.losses);
    retired_abandon();
}
