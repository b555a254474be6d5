/* SPDX-License-Identifier: Apache-2.0 */
#include "settled.h"
#include "grow.h"

#include <stdlib.h>
#include <string.h>

/* In the file. It has room for 64 MiB of all tables, and tools read them whole. */
#define THREAD_BYTES_MAX (4u << 20)
#define THREAD_ENTRY_BYTES 48u
#define LOSSES_MAX 32768u

static struct settled settled; /* guarded by the registry's lock */

static size_t settled_bytes_of(const char *name)
{
    return THREAD_ENTRY_BYTES + strlen(name);
}

/* ---- threads -------------------------------------------------------------------------- */

/* Those to leave out first come first. */
static int by_records_and_age(const void *left, const void *right)
{
    const struct settled_thread *a = left, *b = right;
    if (a->records != b->records)
        return a->records < b->records ? -1 : 1;
    return a->thread_id < b->thread_id ? -1 : a->thread_id > b->thread_id;
}

static void leave_half_out(void)
{
    uint32_t out = 0;
    qsort(settled.threads, settled.thread_count, sizeof *settled.threads, by_records_and_age);
    for (; settled.bytes > THREAD_BYTES_MAX / 2; out++) {
        struct settled_thread *thread = &settled.threads[out];
        settled.bytes -= settled_bytes_of(thread->name);
        settled.left_threads++;
        settled.left_records += thread->records;
        free(thread->name);
    }
    settled.thread_count -= out;
    memmove(settled.threads, settled.threads + out, settled.thread_count * sizeof *settled.threads);
}

/* ---- losses --------------------------------------------------------------------------- */

void thread_each_loss(const struct thread *thread,
                      void (*visit)(void *context, const struct settled_loss *loss), void *context)
{
    struct settled_loss loss = {.thread_id = thread->thread_id};
    for (loss.cause = 1; loss.cause < LOSS_CAUSES; loss.cause++) {
        const struct loss_tally *tally = &thread->loss[loss.cause];
        loss.count = tally->count;
        loss.first = tally->first_ticks;
        loss.last = tally->last_ticks;
        if (loss.count)
            visit(context, &loss);
    }
    loss = (struct settled_loss){thread->thread_id, thread->unwritten,
                                 (uint64_t)thread->unwritten_first_ns,
                                 (uint64_t)thread->unwritten_last_ns, RBWP_LOSS_IO};
    if (loss.count)
        visit(context, &loss);
    loss = (struct settled_loss){
        .thread_id = thread->thread_id,
        .count = thread->unwritten_rows,
        .cause = RBWP_LOSS_ROWS_IO,
    };
    if (loss.count)
        visit(context, &loss);
    loss = (struct settled_loss){
        .thread_id = thread->thread_id,
        .count = thread->overwritten,
        .cause = RBWP_LOSS_OVERWRITTEN,
    };
    if (loss.count)
        visit(context, &loss);
    loss = (struct settled_loss){
        .thread_id = thread->thread_id,
        .count = atomic_load_explicit(&thread->refused, memory_order_relaxed),
        .cause = RBWP_LOSS_SIGNAL,
    };
    if (loss.count)
        visit(context, &loss);
}

/* Into the sum of its cause. */
static void add_up(const struct settled_loss *loss)
{
    struct settled_loss *all = &settled.all_losses[loss->cause];
    if (all->count == 0 || loss->first < all->first)
        all->first = loss->first;
    if (loss->last > all->last)
        all->last = loss->last;
    all->cause = loss->cause;
    all->count += loss->count;
    settled.left_losses++;
}

static void settled_on_loss(void *context, const struct settled_loss *loss)
{
    (void)context;
    if (settled.loss_count < LOSSES_MAX &&
        grow_array32(&settled.losses, &settled.loss_room, settled.loss_count + 1,
                     sizeof *settled.losses))
        settled.losses[settled.loss_count++] = *loss;
    else
        add_up(loss);
}

/* ---- all of it ------------------------------------------------------------------------ */

bool settled_take(struct thread *thread)
{
    if (!grow_array32(&settled.threads, &settled.thread_room, settled.thread_count + 1,
                      sizeof *settled.threads))
        return false;
    settled.threads[settled.thread_count++] = (struct settled_thread){
        .thread_id = thread->thread_id,
        .os_id = thread->os_id,
        .attached_monotonic_ns = thread->attached_monotonic_ns,
        .detached_monotonic_ns = thread->detached_monotonic_ns,
        .records = thread->records,
        .name = thread->name,
    };
    settled.bytes += settled_bytes_of(thread->name);
    thread->name = NULL;
    thread_each_loss(thread, settled_on_loss, NULL);
    if (settled.bytes > THREAD_BYTES_MAX)
        leave_half_out();
    return true;
}

const struct settled *settled_threads(void)
{
    return &settled;
}

void settled_abandon(void)
{
    settled = (struct settled){0};
}

void settled_forget(void)
{
    for (uint32_t i = 0; i < settled.thread_count; i++)
        free(settled.threads[i].name);
    free(settled.threads);
    free(settled.losses);
    settled_abandon();
}
