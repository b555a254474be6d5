/* SPDX-License-Identifier: Apache-2.0 */
#include "drain.h"

#include "in_process.h"
#include "chunk_encoder.h"
#include "chunk_pool.h"
#include "failure.h"
#include "live.h"
#include "helper_thread.h"
#include "ring.h"
#include "rotate.h"
#include "tables.h"
#include "test_point.h"
#include "thread_registry.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define JOBS_MAX 16
#define JOBS_WAITING 8
#define QUEUE_LONG 4         /* chunks: from there on compression is to keep up */
#define IDLE_NS 1000000000   /* the writer looks at the clock this often while nothing happens */
#define AGE_NS 100000000     /* the ring is looked at for what is too old */
#define REST_WORDS 8192      /* half a full chunk: near the cap the writer rests after so much */
#define WORK_NS_MAX 40000    /* of the writer while it gives way, without letting others run */
#define LEAVE_NS 2000000     /* so long after others encoded the writer leaves it to them */
#define LOG_NS_MIN 1000000   /* between clock samples in the live file, at least */
#define WAIT_SLICE_NS 500000 /* a waiter at the cap looks again at least this often */

/* FREE -> BUSY (taken, being encoded) -> DONE (waits for its turn) -> FREE. Guarded by drain->lock.
 */
enum job_state { JOB_FREE, JOB_BUSY, JOB_DONE };

struct job {
    enum job_state state;
    uint64_t ticket;
    struct chunk *chunk; /* until it is encoded */
    int64_t floor_ns, ceiling_ns;
    bool hurries; /* many wait */
    struct thread *thread;
    uint64_t first_row;             /* of a chunk with rows: its number in the file */
    struct chunk_encoder *encoder;  /* used by whoever made the job BUSY, then by the writer */
    struct row_chunk_encoder *rows; /* the same; NULL until somebody writes rows */
};

struct drain {
    struct chunk_pool *pool;
    struct shared_timeline *timeline;
    struct rbwp_writer *writer; /* writer thread only */
    int64_t next_log_ns;        /* writer thread only */
    struct ring *ring;          /* instead of the file, or NULL */
    int64_t next_age_ns;        /* writer thread only */
    int64_t stall_ns;
    int64_t start_ns;      /* of the time line */
    bool compress;         /* rows */
    _Atomic bool has_rows; /* each job has an encoder for them */

    _Atomic(struct chunk *) published; /* a stack, newest first */
    drain_visit_fn *_Atomic visit;
    _Atomic int64_t helped_ns; /* when another thread than the writer has last encoded a chunk */
    struct wakeup wake;        /* something was published, finished, or it is time to stop */
    pthread_t thread;

    /*
     * Guards all below, and the file's part of struct thread. Held for moments: never while
     * encoding or writing. The time line's lock is taken inside it.
     */
    pthread_mutex_t lock;
    pthread_cond_t progress;                /* chunks were put back */
    struct chunk *queue_first, *queue_last; /* oldest first */
    uint32_t queued;
    struct job job[JOBS_MAX];
    uint32_t jobs;
    uint64_t next_ticket, next_written;
    uint32_t sequence;
    int64_t progress_ns; /* when something was last encoded or written */
    bool stalled;        /* a waiter gave up; cleared by progress */
    bool stopping;
    struct drain_totals totals;
};

static int64_t drain_monotonic_ns(void)
{
    return clock_now_ns(0);
}

static struct timespec deadline_after(int64_t ns)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    ns += at.tv_nsec;
    at.tv_sec += (time_t)(ns / 1000000000);
    at.tv_nsec = (long)(ns % 1000000000);
    return at;
}

/* ---- queue ------------------------------------------------------------------------ */

static void write_here(struct drain *drain);

void drain_publish(struct drain *drain, struct chunk *chunk)
{
    struct chunk *top = atomic_load_explicit(&drain->published, memory_order_relaxed);
    do {
        chunk->next = top;
        /* release: the events, for the acquire in collect */
    } while (!atomic_compare_exchange_weak_explicit(&drain->published, &top, chunk,
                                                    memory_order_release, memory_order_relaxed));
    TEST_POINT("publish: queued, writer not woken");
    if (helper_threads_are_held())
        write_here(drain);
    else
        wakeup_call(&drain->wake);
}

/* Moves what was published to the end of the queue, oldest first. Locked. */
static void drain_collect(struct drain *drain)
{
    struct chunk *newest = atomic_exchange_explicit(&drain->published, NULL, memory_order_acquire);
    if (!newest)
        return;
    struct chunk *oldest = NULL;
    for (struct chunk *chunk = newest, *next; chunk; chunk = next) {
        next = chunk->next;
        chunk->next = oldest;
        oldest = chunk;
        drain->queued++;
    }
    if (drain->queue_first)
        drain->queue_last->next = oldest;
    else
        drain->queue_first = oldest;
    drain->queue_last = newest;
}

/*
 * Between which times the chunk's events lie. The boundary between two chunks of a thread is set
 * once, here, for they may be encoded at the same time and with different samples of the clock.
 * Locked.
 */
static void set_bounds(struct drain *drain, struct job *job)
{
    struct thread *thread = job->thread;
    uint64_t end_ticks = job->chunk->end_ticks;
    job->floor_ns = thread->floor_ns > drain->start_ns ? thread->floor_ns : drain->start_ns;
    job->ceiling_ns = INT64_MAX;
    if (end_ticks == UINT64_MAX)
        return;
    int64_t end_ns = shared_timeline_ns(drain->timeline, job->chunk->end_epoch, end_ticks);
    job->ceiling_ns = end_ns > job->floor_ns ? end_ns : job->floor_ns;
    thread->floor_ns = job->ceiling_ns;
}

static struct job *free_job(struct drain *drain)
{
    for (struct job *job = drain->job; job < drain->job + drain->jobs; job++)
        if (job->state == JOB_FREE)
            return job;
    return NULL;
}

/* A job with the oldest queued chunk, or NULL. Locked. */
static struct job *drain_take(struct drain *drain)
{
    drain_collect(drain);
    struct chunk *chunk = drain->queue_first;
    struct job *job = chunk ? free_job(drain) : NULL;
    if (!job)
        return NULL;
    drain->queue_first = chunk->next;
    job->hurries = --drain->queued >= QUEUE_LONG || chunk_pool_is_near_cap(drain->pool);
    job->state = JOB_BUSY;
    job->ticket = drain->next_ticket++;
    job->chunk = chunk;
    job->thread = chunk->thread;
    chunk->head->ticket = job->ticket + 1;
    if (chunk->table) {
        job->first_row = chunk->table->rows + 1;
        chunk->table->rows += chunk->rows;
    } else {
        set_bounds(drain, job);
    }
    return job;
}

/* ---- encoding --------------------------------------------------------------------- */

static void made_progress(struct drain *drain)
{
    drain->progress_ns = drain_monotonic_ns();
    drain->stalled = false;
    pthread_cond_broadcast(&drain->progress);
}

/* Locked. */
static bool make_row_encoders(struct drain *drain)
{
    for (struct job *job = drain->job; job < drain->job + drain->jobs; job++) {
        if (!job->rows)
            job->rows = row_chunk_encoder_new(chunk_words(drain->pool), drain->compress);
        if (!job->rows)
            return false;
    }
    return true;
}

bool drain_prepare_rows(struct drain *drain)
{
    if (atomic_load_explicit(&drain->has_rows, memory_order_acquire))
        return true;
    pthread_mutex_lock(&drain->lock);
    bool made = make_row_encoders(drain);
    pthread_mutex_unlock(&drain->lock);
    atomic_store_explicit(&drain->has_rows, made, memory_order_release);
    return made;
}

/* Words that were dropped. */
static uint32_t encode(struct drain *drain, struct job *job, struct yield_hook *yield_hook)
{
    if (!job->chunk->table) {
        chunk_encoder_pace(job->encoder, job->hurries, yield_hook);
        return chunk_encoder_run(job->encoder, job->chunk, drain->timeline, job->floor_ns,
                                 job->ceiling_ns);
    }
    row_chunk_encode(job->rows, job->chunk, drain->timeline, job->first_row);
    return 0;
}

static bool help(struct drain *drain, struct yield_hook *yield_hook)
{
    pthread_mutex_lock(&drain->lock);
    struct job *job = drain_take(drain);
    pthread_mutex_unlock(&drain->lock);
    if (!job)
        return false;
    TEST_POINT("drain: job taken");
    uint32_t overwritten = encode(drain, job, yield_hook);

    pthread_mutex_lock(&drain->lock);
    job->thread->overwritten += overwritten;
    job->state = JOB_DONE;
    pthread_mutex_unlock(&drain->lock);
    wakeup_call(&drain->wake);
    return true;
}

bool drain_help(struct drain *drain)
{
    const bool helped = help(drain, NULL);
    if (helped)
        atomic_store_explicit(&drain->helped_ns, drain_monotonic_ns(), memory_order_relaxed);
    return helped;
}

bool drain_wait(struct drain *drain, int64_t *waiting_since)
{
    TEST_POINT("drain: a thread waits at the cap");
    pthread_mutex_lock(&drain->lock);
    int64_t now = drain_monotonic_ns();
    if (*waiting_since == 0)
        *waiting_since = now;
    int64_t since = drain->progress_ns > *waiting_since ? drain->progress_ns : *waiting_since;
    if (now - since >= drain->stall_ns)
        drain->stalled = true;
    bool go_on = !drain->stalled;
    if (go_on) {
        struct timespec until = deadline_after(WAIT_SLICE_NS);
        pthread_cond_timedwait(&drain->progress, &drain->lock, &until);
    }
    pthread_mutex_unlock(&drain->lock);
    return go_on;
}

void drain_count_discarded(struct drain *drain, uint64_t items)
{
    pthread_mutex_lock(&drain->lock);
    drain->totals.discarded += items;
    pthread_mutex_unlock(&drain->lock);
}

/* ---- writing ------------------------------------------------------------------------ */

static struct job *next_to_write(struct drain *drain)
{
    for (struct job *job = drain->job; job < drain->job + drain->jobs; job++)
        if (job->state == JOB_DONE && job->ticket == drain->next_written)
            return job;
    return NULL;
}

/* Without a lock: what a job's thread has in the file, and the first error, are the writer thread's
 * until the thread's last chunk is done (thread_chunk_done), or the drain has ended. */
static void count_unwritten(struct drain *drain, struct thread *thread,
                            const struct rbwp_sealed_block *block, enum rbwp_status status,
                            int os_errno)
{
    if (thread->unwritten == 0)
        thread->unwritten_first_ns = block->first_ns;
    thread->unwritten += block->records;
    thread->unwritten_last_ns = block->last_ns;
    live_count_unwritten(block->records);
    if (drain->totals.error.status == RBWP_OK)
        failure(&drain->totals.error, status, os_errno, "records could not be written");
}

static enum rbwp_status drain_put_rows(struct drain *drain, const struct job *job)
{
    const struct rbwp_sealed_block *block = row_chunk_block(job->rows);
    int64_t now_ns =
        drain_monotonic_ns() + drain->timeline->line.offset_ns; /* of rows without a time */
    if (drain->ring)
        return ring_add(drain->ring,
                        &(struct ring_chunk){.ticket = job->ticket + 1,
                                             .thread_id = job->thread->thread_id,
                                             .table = job->chunk->table->schema->table,
                                             .rows = job->chunk->rows,
                                             .first_row = job->first_row,
                                             .first_ns = block->first_ns,
                                             .last_ns = block->last_ns ? block->last_ns : now_ns,
                                             .blocks = block,
                                             .block_count = 1});
    enum rbwp_status status = tables_write(job->chunk->table, drain->writer);
    return status == RBWP_OK ? rbwp_writer_add_block(drain->writer, block) : status;
}

static void write_rows(struct drain *drain, struct job *job)
{
    errno = 0;
    enum rbwp_status status = drain_put_rows(drain, job);
    int os_errno = errno;
    if (status == RBWP_OK)
        return;
    live_count_lost(RBWP_LOSS_ROWS_IO, job->chunk->rows);
    job->thread->unwritten_rows += job->chunk->rows;
    if (drain->totals.error.status == RBWP_OK)
        failure(&drain->totals.error, status, os_errno, "rows could not be written");
}

/* All blocks of a chunk, which stay together. */
static enum rbwp_status keep_records(struct drain *drain, const struct job *job,
                                     const struct rbwp_sealed_block *block, uint32_t blocks)
{
    if (!drain->ring)
        return RBWP_OK;
    struct ring_open before = job->thread->open;
    bool has_fine = ring_open_pass(&job->thread->open, job->chunk, drain->timeline);
    return ring_add(drain->ring, &(struct ring_chunk){.ticket = job->ticket + 1,
                                                      .thread_id = job->thread->thread_id,
                                                      .open = &before,
                                                      .has_fine = has_fine,
                                                      .blocks = block,
                                                      .block_count = blocks});
}

static void write_records(struct drain *drain, struct job *job)
{
    uint32_t blocks;
    const struct rbwp_sealed_block *block =
        chunk_encoder_blocks(job->encoder, &drain->sequence, &blocks);
    enum rbwp_status kept = keep_records(drain, job, block, blocks);
    for (uint32_t i = 0; i < blocks; i++) {
        errno = 0;
        enum rbwp_status status =
            drain->ring ? kept : rbwp_writer_add_block(drain->writer, &block[i]);
        int os_errno = errno;
        if (status == RBWP_OK)
            job->thread->records += block[i].records;
        else
            count_unwritten(drain, job->thread, &block[i], status, os_errno);
    }
    struct rbwp_thread_state state;
    if (!drain->ring && blocks && chunk_encoder_state(job->encoder, &state))
        rbwp_writer_tell_state(drain->writer, &state);
}

static void write_job(struct drain *drain, struct job *job)
{
    bool rows = job->chunk->table != NULL;
    if (rows)
        write_rows(drain, job);
    else
        write_records(drain, job);
    /* The chunk is given up only now: until its blocks are in the file, it is what a crash leaves.
     */
    uint64_t file_bytes;
    TEST_POINT("drain: job written, not yet committed");
    rbwp_writer_totals(drain->writer, &file_bytes, NULL, NULL);
    live_commit(file_bytes, job->ticket + 1);
    TEST_POINT("drain: job written, chunk not yet free");
    chunk_put(drain->pool, job->chunk, job->chunk->used);
    if (rows)
        thread_row_chunk_done(job->thread);
    else
        thread_chunk_done(job->thread);

    pthread_mutex_lock(&drain->lock);
    job->state = JOB_FREE;
    drain->next_written++;
    made_progress(drain);
    pthread_mutex_unlock(&drain->lock);
}

void (*_Atomic drain_on_clock)(void);

/*
 * Adds the last sample of the clock to the live file: often at first, when little is known of the
 * clock's rate, then once a second.
 */
static void log_clock(struct drain *drain)
{
    pthread_mutex_lock(&drain->timeline->lock);
    const struct timeline *line = &drain->timeline->line;
    struct rbwp_clock_sample sample = line->sample[line->samples - 1];
    pthread_mutex_unlock(&drain->timeline->lock);
    if (sample.time_ns < drain->next_log_ns)
        return;
    live_sample(&sample);
    void (*look)(void) = atomic_load_explicit(&drain_on_clock, memory_order_relaxed);
    if (look)
        look();
    int64_t wait_ns = (sample.time_ns - drain->start_ns) / 4;
    wait_ns = wait_ns < LOG_NS_MIN ? LOG_NS_MIN : wait_ns > IDLE_NS ? IDLE_NS : wait_ns;
    drain->next_log_ns = sample.time_ns + wait_ns;
}

static void age_ring(struct drain *drain)
{
    int64_t now_ns = drain->ring ? drain_monotonic_ns() : 0;
    if (!drain->ring || now_ns < drain->next_age_ns)
        return;
    drain->next_age_ns = now_ns + AGE_NS;
    ring_hold(drain->ring, true);
    ring_age(drain->ring, now_ns + drain->timeline->line.offset_ns);
    uint64_t bytes = ring_bytes(drain->ring);
    ring_hold(drain->ring, false);
    rotate_look(bytes);
}

/* What no other file has yet must not be dropped, as long as somebody writes these. */
static void wait_for_cut(struct drain *drain)
{
    static const struct timespec pause = {0, 1000000};
    for (bool full = true; full; nanosleep(&pause, NULL)) {
        ring_hold(drain->ring, true);
        full = ring_is_full(drain->ring);
        ring_hold(drain->ring, false);
        if (!full || !rotate_hurry())
            return;
    }
}

/*
 * A dump that is under way gets all that was in the ring, and no gap, wherever its thread is kept
 * from running. Who is at the cap has waited for stall_ns later than the writer for half of it: a
 * dump to a disk that stands still does not cost what is recorded. The ring is held, also behind
 * it.
 */
static void wait_for_reader(const struct drain *drain)
{
    static const struct timespec pause = {0, 250000};
    int64_t since = drain_monotonic_ns();
    while (ring_awaits_reader(drain->ring)) {
        if (drain_monotonic_ns() - since >= drain->stall_ns / 2) {
            ring_read_end(drain->ring);
            return;
        }
        ring_hold(drain->ring, false);
        TEST_POINT("drain: waits for a dump");
        nanosleep(&pause, NULL);
        ring_hold(drain->ring, true);
    }
}

static void keep_job(struct drain *drain, struct job *job)
{
    wait_for_cut(drain);
    ring_hold(drain->ring, true);
    wait_for_reader(drain);
    write_job(drain, job);
    ring_hold(drain->ring, false);
}

static void put_job(struct drain *drain, struct job *job)
{
    disk_call_begin();
    if (drain->ring)
        keep_job(drain, job);
    else
        write_job(drain, job);
    disk_call_end();
}

static bool all_done(struct drain *drain)
{
    drain_collect(drain);
    return drain->stopping && !drain->queue_first && drain->next_written == drain->next_ticket;
}

/* How long the line may go without another sample. */
static int64_t look_at_clock(struct drain *drain)
{
    pthread_mutex_lock(&drain->timeline->lock);
    timeline_sample(&drain->timeline->line);
    int64_t pause_ns = timeline_pause_ns(&drain->timeline->line);
    pthread_mutex_unlock(&drain->timeline->lock);
    return pause_ns;
}

void drain_look(struct drain *drain)
{
    (void)look_at_clock(drain);
    log_clock(drain);
    age_ring(drain);
}

static enum quiet_rank rank_of_writer(const struct drain *drain, bool has_time)
{
    if (chunk_pool_is_near_cap(drain->pool))
        return QUIET_URGENT;
    return has_time && !chunk_pool_cap_is_small(drain->pool) ? QUIET_GIVES_WAY : QUIET_USUAL;
}

/* Near the cap who records encodes: the writer then only writes, so that it takes a CPU from them
 * for moments. */
static bool others_encode(struct drain *drain)
{
    const int64_t helped_ns = atomic_load_explicit(&drain->helped_ns, memory_order_relaxed);
    return helped_ns && drain_monotonic_ns() - helped_ns < LEAVE_NS;
}

/* How long the writer's pause may last, and has lasted. */
struct writer_rest {
    int64_t pause_ns, rested_ns;
    int64_t visit_ns; /* until then it has a visit to make */
};

static int64_t make_visit(struct drain *drain)
{
    /* acquire: what the visit goes by */
    drain_visit_fn *visit = atomic_load_explicit(&drain->visit, memory_order_acquire);
    return visit ? visit() : DRAIN_VISIT_NEVER;
}

static void drain_rest(struct drain *drain, struct writer_rest *rest, bool leaves)
{
    const int64_t left_ns = leaves ? LEAVE_NS : rest->pause_ns - rest->rested_ns;
    const int64_t ns = rest->visit_ns < left_ns ? rest->visit_ns : left_ns;
    if (wakeup_wait(&drain->wake, ns)) {
        rest->rested_ns = 0;
        return;
    }
    rest->rested_ns += ns;
    if (leaves || rest->rested_ns < rest->pause_ns)
        return;
    rest->pause_ns = look_at_clock(drain);
    rest->rested_ns = 0;
}

static void *writer_thread(void *argument)
{
    struct drain *drain = argument;
    struct writer_rest rest = {.pause_ns = IDLE_NS};
    enum quiet_rank rank = QUIET_USUAL;
    struct helper_pace pace;
    quiet_pace_start(&pace, WORK_NS_MAX);
    uint32_t encoded_words = 0; /* since a rest */
    for (;;) {
        pthread_mutex_lock(&drain->lock);
        struct job *job = next_to_write(drain);
        bool done = !job && all_done(drain);
        const bool stopping = drain->stopping;
        uint32_t words = drain->queue_first ? drain->queue_first->used : 0;
        pthread_mutex_unlock(&drain->lock);
        if (done)
            return NULL;
        const bool has_time = !stopping && !chunk_pool_use_is_large(drain->pool);
        const enum quiet_rank fit = stopping ? QUIET_USUAL : rank_of_writer(drain, has_time);
        if (rank != fit)
            helper_thread_rank(fit);
        rank = fit;
        struct yield_hook *yield_hook = has_time ? &pace.yield_hook : NULL;
        const bool is_urgent = rank == QUIET_URGENT, leaves = is_urgent && others_encode(drain);
        log_clock(drain);
        age_ring(drain);
        rest.visit_ns = make_visit(drain);
        if (job) {
            yield_hook_run(yield_hook);
            put_job(drain, job);
            yield_hook_run(yield_hook);
        } else if (words && encoded_words >= REST_WORDS && is_urgent) {
            helper_thread_rest();
            encoded_words = 0;
        } else if (!leaves && help(drain, yield_hook)) {
            encoded_words += words;
        } else {
            encoded_words = 0;
            drain_rest(drain, &rest, leaves);
        }
    }
}

/* What the writer thread would do, where there is none yet. */
static void write_here(struct drain *drain)
{
    const int host_errno = errno, host_cancel = cancel_hold();
    struct job *job;
    drain_look(drain);
    do {
        pthread_mutex_lock(&drain->lock);
        job = next_to_write(drain);
        pthread_mutex_unlock(&drain->lock);
        if (job)
            put_job(drain, job);
    } while (job || help(drain, NULL));
    cancel_release(host_cancel);
    errno = host_errno;
}

/* ---- life ---------------------------------------------------------------------------- */

void drain_set_visit(struct drain *drain, drain_visit_fn *visit)
{
    atomic_store_explicit(&drain->visit, visit, memory_order_release);
    wakeup_call(&drain->wake);
}

void drain_free(struct drain *drain)
{
    if (!drain)
        return;
    for (uint32_t i = 0; i < drain->jobs; i++) {
        chunk_encoder_free(drain->job[i].encoder);
        row_chunk_encoder_free(drain->job[i].rows);
    }
    pthread_cond_destroy(&drain->progress);
    pthread_mutex_destroy(&drain->lock);
    free(drain);
}

static void init(struct drain *drain)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&drain->progress, &attributes);
    pthread_condattr_destroy(&attributes);
    pthread_mutex_init(&drain->lock, NULL);
}

/* One to encode for each CPU, and some that wait for their turn to be written. */
static enum rbwp_status make_jobs(struct drain *drain, const struct session_settings *settings)
{
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    uint32_t jobs =
        cpus < 1 || cpus + JOBS_WAITING > JOBS_MAX ? JOBS_MAX : (uint32_t)cpus + JOBS_WAITING;
    enum rbwp_status status = RBWP_OK;
    for (; drain->jobs < jobs && status == RBWP_OK; drain->jobs += status == RBWP_OK)
        status = chunk_encoder_new(chunk_words(drain->pool), settings->block_bytes,
                                   settings->compression, &drain->job[drain->jobs].encoder);
    return status;
}

enum rbwp_status drain_start(const struct session_settings *settings, struct chunk_pool *pool,
                             struct shared_timeline *timeline, struct rbwp_writer *writer,
                             struct ring *ring, struct drain **drain_out)
{
    *drain_out = NULL;
    struct drain *drain = calloc(1, sizeof *drain);
    if (!drain)
        return RBWP_E_MEMORY;
    drain->pool = pool;
    drain->timeline = timeline;
    drain->writer = writer;
    drain->ring = ring;
    drain->compress = settings->compression > 0;
    drain->stall_ns = settings->stall_ns;
    drain->start_ns = timeline->line.sample[0].time_ns;
    init(drain);
    enum rbwp_status status = make_jobs(drain, settings);
    if (status == RBWP_OK &&
        helper_thread_start(&drain->thread, "rbwp-writer", writer_thread, drain) != 0)
        status = RBWP_E_IO;
    if (status != RBWP_OK) {
        drain_free(drain);
        return status;
    }
    *drain_out = drain;
    return RBWP_OK;
}

void drain_finish(struct drain *drain, struct drain_totals *totals_out)
{
    pthread_mutex_lock(&drain->lock);
    drain->stopping = true;
    pthread_mutex_unlock(&drain->lock);
    wakeup_call(&drain->wake);
    const bool is_alone = helper_thread_call_off(&drain->thread);
    if (is_alone)
        write_here(drain);
    /* Help until the queue is empty; when all encoders are busy, let them work. */
    while (!is_alone) {
        if (drain_help(drain))
            continue;
        pthread_mutex_lock(&drain->lock);
        drain_collect(drain);
        bool queued = drain->queue_first != NULL;
        if (queued) {
            struct timespec until = deadline_after(WAIT_SLICE_NS);
            pthread_cond_timedwait(&drain->progress, &drain->lock, &until);
        }
        pthread_mutex_unlock(&drain->lock);
        if (!queued)
            break;
    }
    if (!is_alone)
        pthread_join(drain->thread, NULL);
    *totals_out = drain->totals;
}

uint64_t drain_unwritten(struct drain *drain)
{
    static const struct timespec moment = {0, 100000};
    uint64_t records = 0;
    for (int i = 0; pthread_mutex_trylock(&drain->lock) != 0; i++) {
        if (i == 100) /* it is held for moments, but where FILE.live is on the disk, too */
            return UINT64_MAX;
        nanosleep(&moment, NULL);
    }
    drain_collect(drain);
    for (const struct chunk *chunk = drain->queue_first; chunk; chunk = chunk->next)
        records += chunk->table ? chunk->rows : chunk->used;
    for (const struct job *job = drain->job; job < drain->job + drain->jobs; job++)
        if (job->state != JOB_FREE)
            records += job->chunk->table ? job->chunk->rows : job->chunk->used;
    pthread_mutex_unlock(&drain->lock);
    return records;
}
