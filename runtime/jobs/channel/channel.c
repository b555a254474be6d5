/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel.c - channels: the queue of transfers and the work item that serves it.
 *
 * Any thread puts mail into the inbox: a job, or the wish to cancel one. The
 * inbox is a stack that is pushed with one compare-and-swap and emptied with
 * one exchange; its order is put right when it is emptied. Everything else
 * belongs to the work item's do_work, which never runs twice at once, so
 * there is no lock. Cancelling by mail means that nobody but the do_work ever
 * looks at a job that might just be ending.
 *
 * Who pushes into an empty inbox makes the work item active. A do_work that is
 * running then may already find the mail; the activation left over is an
 * empty call and leaves no record.
 */
#include "channel_transfer.h"
#include "failure.h"
#include "rbwp_record.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

struct mail {
    struct mail *next; /* in the inbox: the one before it; in the queue: the one after it */
    uint64_t id;       /* of the job, or of the job to cancel */
    bool cancels;
};

struct job {
    struct mail mail; /* first, so that a mail that does not cancel is its job */
    struct channel_transfer transfer;
    rbwp_transfer_done_fn done;
    void *argument;
    bool cancelled;
    uint8_t fill[]; /* a copy of the element to fill with */
};

struct rbwp_channel {
    /* Never change between new and free. */
    struct rbwp_work_manager *manager;
    struct rbwp_work_handle handle;

    /* Any thread. */
    _Atomic(struct mail *) inbox; /* push: release; take: acquire, pairs with it */
    _Atomic uint64_t last_id;
    /* Writer: free, before it calls done; reader: submit and cancel. Relaxed: a done that submits
     * is on that thread, and whoever is refused reads nothing that was written before. */
    atomic_bool closing;

    /* The do_work alone; after rbwp_work_remove, the thread that frees. */
    struct mail *first, **last; /* jobs in order of submission; the first one is under way */
    uint8_t buffer[CHANNEL_FILE_PIECE_BYTES];
};

/* ---- names of the sub-items --------------------------------------------------- */

/* One per class for the whole process: ids are scarce and never come back. */
static unsigned sub_item_of[CHANNEL_CLASSES];
static enum rbwp_status sub_items_status;
static pthread_once_t sub_items_once = PTHREAD_ONCE_INIT;

static void register_sub_items(void)
{
    static const char *const names[CHANNEL_CLASSES] = {
        [CHANNEL_COPY] = "memcpy channel",         [CHANNEL_FILL] = "memfill channel",
        [CHANNEL_TRANSPOSE] = "transpose channel", [CHANNEL_REDUCE] = "memreduce channel",
        [CHANNEL_FILE_READ] = "file read channel", [CHANNEL_FILE_WRITE] = "file write channel",
    };
    for (unsigned c = 0; c < CHANNEL_CLASSES && sub_items_status == RBWP_OK; c++)
        sub_items_status = rbwp_sub_item_register(RBWP_XFER_CHANNEL, names[c], &sub_item_of[c]);
}

/* ---- the inbox ---------------------------------------------------------------- */

static void inbox_push(struct rbwp_channel *channel, struct mail *mail)
{
    struct mail *top = atomic_load_explicit(&channel->inbox, memory_order_relaxed);
    do
        mail->next = top;
    while (!atomic_compare_exchange_weak_explicit(&channel->inbox, &top, mail, memory_order_release,
                                                  memory_order_relaxed));
    /* Fails only while the channel is being freed, which finds the mail without it. */
    if (!top)
        (void)rbwp_work_make_active(channel->manager, channel->handle);
}

static bool inbox_has_mail(struct rbwp_channel *channel)
{
    return atomic_load_explicit(&channel->inbox, memory_order_relaxed) != NULL;
}

static struct mail *oldest_first(struct mail *newest)
{
    struct mail *oldest = NULL;
    while (newest) {
        struct mail *before = newest->next;
        newest->next = oldest;
        oldest = newest;
        newest = before;
    }
    return oldest;
}

static void mark_cancelled(struct rbwp_channel *channel, uint64_t id)
{
    for (struct mail *mail = channel->first; mail; mail = mail->next)
        if (mail->id == id)
            ((struct job *)mail)->cancelled = true;
}

/* Moves jobs from the inbox to the queue. True if there was a wish to cancel among them. */
static bool inbox_take(struct rbwp_channel *channel)
{
    bool cancels = false;
    struct mail *mail =
        oldest_first(atomic_exchange_explicit(&channel->inbox, NULL, memory_order_acquire));
    while (mail) {
        struct mail *next = mail->next;
        if (mail->cancels) {
            mark_cancelled(channel, mail->id);
            cancels = true;
            free(mail);
        } else {
            mail->next = NULL;
            *channel->last = mail;
            channel->last = &mail->next;
        }
        mail = next;
    }
    return cancels;
}

/* ---- the work ----------------------------------------------------------------- */

static void end_job(struct job *job, enum rbwp_status status)
{
    const struct rbwp_transfer_result result = {.id = job->mail.id,
                                                .status = status,
                                                .os_errno = job->transfer.os_errno,
                                                .bytes = job->transfer.bytes_done};
    if (job->done)
        job->done(job->argument, &result);
    free(job);
}

/* Unlinks the job that *link points to. */
static struct job *queue_take(struct rbwp_channel *channel, struct mail **link)
{
    struct mail *mail = *link;
    *link = mail->next;
    if (channel->last == &mail->next)
        channel->last = link;
    return (struct job *)mail;
}

static void end_cancelled(struct rbwp_channel *channel)
{
    for (struct mail **link = &channel->first; *link;) {
        if (((struct job *)*link)->cancelled)
            end_job(queue_take(channel, link), RBWP_E_STATE);
        else
            link = &(*link)->next;
    }
}

/* Steps the first job until it ends, somebody wants to cancel, or the slice is over. */
static enum rbwp_status progress(struct rbwp_channel *channel, struct job *job,
                                 struct rbwp_deadline deadline, bool *cancels_out)
{
    enum rbwp_status status;
    rbwp_fine_begin(sub_item_of[job->transfer.class]);
    do {
        status = channel_transfer_step(&job->transfer, channel->buffer, CHANNEL_PIECE_COST);
        *cancels_out = inbox_has_mail(channel) && inbox_take(channel);
    } while (status == RBWP_AGAIN && !*cancels_out && !rbwp_deadline_passed(deadline));
    rbwp_fine_end();
    return status;
}

static bool channel_serve(void *argument, struct rbwp_deadline deadline)
{
    struct rbwp_channel *const channel = argument;
    bool cancels = inbox_take(channel);
    const bool worked = channel->first != NULL;
    while (channel->first) {
        if (cancels) {
            end_cancelled(channel);
            cancels = false;
            continue;
        }
        struct job *job = (struct job *)channel->first;
        const enum rbwp_status status = progress(channel, job, deadline, &cancels);
        if (status != RBWP_AGAIN)
            end_job(queue_take(channel, &channel->first), status);
        if (rbwp_deadline_passed(deadline))
            break;
    }
    if (cancels)
        end_cancelled(channel);
    if (!worked)
        rbwp_set_worked(false);
    return channel->first != NULL;
}

/* ---- the public calls ------------------------------------------------------------ */

static enum rbwp_status channel_refuse(struct rbwp_error *error, enum rbwp_status status,
                                       const char *reason)
{
    return failure(error, status, 0, "channel: %s", reason);
}

enum rbwp_status rbwp_transfer_shape_make(const struct rbwp_transfer *given,
                                          struct rbwp_transfer_shape *shape_out,
                                          struct rbwp_error *error)
{
    const char *reason;
    struct rbwp_transfer transfer;
    enum rbwp_status status = sized_take(&transfer, sizeof transfer, given, "rbwp_transfer", error);
    if (status != RBWP_OK)
        return status;
    status = channel_shape_make(&transfer, shape_out, &reason);
    return status == RBWP_OK ? status : channel_refuse(error, status, reason);
}

enum rbwp_status rbwp_channel_new(struct rbwp_work_manager *manager, const char *name, int domain,
                                  struct rbwp_channel **channel_out, struct rbwp_error *error)
{
    *channel_out = NULL;
    pthread_once(&sub_items_once, register_sub_items);
    if (sub_items_status != RBWP_OK)
        return channel_refuse(error, sub_items_status,
                              "no sub-item ids left to name transfers with");
    struct rbwp_channel *channel = malloc(sizeof *channel);
    if (!channel)
        return channel_refuse(error, RBWP_E_MEMORY, "no memory for a channel");
    channel->manager = manager;
    channel->first = NULL;
    channel->last = &channel->first;
    atomic_init(&channel->inbox, NULL);
    atomic_init(&channel->last_id, 0);
    atomic_init(&channel->closing, false);
    const enum rbwp_status status =
        rbwp_work_add(manager, name, channel_serve, channel, domain, &channel->handle);
    if (status != RBWP_OK) {
        free(channel);
        return channel_refuse(error, status, "the manager does not take another work item");
    }
    *channel_out = channel;
    return RBWP_OK;
}

enum rbwp_status rbwp_channel_submit(struct rbwp_channel *channel,
                                     const struct rbwp_transfer *given, uint64_t *id_out,
                                     struct rbwp_error *error)
{
    const char *reason;
    struct rbwp_transfer transfer;
    if (id_out)
        *id_out = 0;
    enum rbwp_status status = sized_take(&transfer, sizeof transfer, given, "rbwp_transfer", error);
    if (status != RBWP_OK)
        return status;
    if (atomic_load_explicit(&channel->closing, memory_order_relaxed))
        return channel_refuse(error, RBWP_E_STATE, "it is being freed and takes no more transfers");
    struct job *job = malloc(sizeof *job + channel_transfer_fill_bytes(&transfer));
    if (!job)
        return channel_refuse(error, RBWP_E_MEMORY, "no memory to queue a transfer");
    status = channel_transfer_begin(&job->transfer, &transfer, job->fill, &reason);
    if (status != RBWP_OK) {
        free(job);
        return channel_refuse(error, status, reason);
    }
    const uint64_t id = 1 + atomic_fetch_add_explicit(&channel->last_id, 1, memory_order_relaxed);
    job->mail = (struct mail){.id = id};
    job->done = transfer.done;
    job->argument = transfer.argument;
    job->cancelled = false;
    if (id_out)
        *id_out = id;
    inbox_push(channel, &job->mail); /* from here on the job may be gone */
    return RBWP_OK;
}

enum rbwp_status rbwp_channel_cancel(struct rbwp_channel *channel, uint64_t id)
{
    if (atomic_load_explicit(&channel->closing, memory_order_relaxed))
        return RBWP_E_STATE;
    struct mail *mail = malloc(sizeof *mail);
    if (!mail)
        return RBWP_E_MEMORY;
    *mail = (struct mail){.id = id, .cancels = true};
    inbox_push(channel, mail);
    return RBWP_OK;
}

enum rbwp_status rbwp_channel_free(struct rbwp_channel *channel)
{
    if (!channel)
        return RBWP_OK;
    const enum rbwp_status status = rbwp_work_remove(channel->manager, channel->handle);
    if (status != RBWP_OK)
        return status;
    atomic_store_explicit(&channel->closing, true, memory_order_relaxed);
    (void)inbox_take(channel);
    while (channel->first)
        end_job(queue_take(channel, &channel->first), RBWP_E_STATE);
    free(channel);
    return RBWP_OK;
}
