/* SPDX-License-Identifier: Apache-2.0 */
#include "inject_events.h"

#include "hash.h"
#include "inject_device.h"
#include "inject_log.h"
#include "inject_session.h"
#include "helper_thread.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { NODES_IN_BATCH = 64, LANES = 256, TICK_NS = 1000000 };
#define BASE_EVERY_NS 100000000 /* floats of milliseconds that far are exact to 8 ns */
#define BASE_WAIT_NS 2000000    /* no answer by then: the next time, perhaps */
#define BASE_FIRST 8
#define BASE_DRIFT 20000          /* two clocks drift apart by at most one part in so many */
#define DRAIN_NS 1000000000       /* what has not ended by then at the end is lost */
#define DRAIN_CONTEXT_NS 50000000 /* the same of a context that is destroyed */

struct inject_event_node {
    struct inject_event_node *next;
    struct context *context;
    void *start, *stop; /* events */
    enum inject_work_kind kind;
    const char *called, *name;
    const void *function;
    uint64_t stream, bytes, begin_ns, end_ns, thread, range, shape[8];
    uint32_t correlation;
    uint32_t before; /* whose stop is its start, by the correlation; 0: it has a start */
    uint64_t turn;   /* of the context when it began */
};

/* A stream as the reaper met it. */
struct lane {
    uint64_t stream, used;
    uint64_t waits;   /* in that look its oldest had not ended */
    uint64_t stop_ns; /* of its last */
    uint32_t last;    /* its correlation */
};

/* A context of the program. None is ever freed; one that is gone is known no more. */
struct context {
    struct context *next;
    void *native;
    int device;
    atomic_bool gone;

    pthread_mutex_t lock; /* guards this group */
    struct inject_event_node *spare, *first, **tail;
    unsigned made, pending;
    uint64_t turn; /* counts what was begun, or stands between */
    struct {
        uint64_t turn, stream; /* turn: when it was put there; another now: something came later */
        uint32_t correlation;
    } last;

    /* The reaper's. */
    void *stream;  /* ours */
    void *base[2]; /* events on it in turn; times are measured from the current one on */
    int current;   /* -1: none yet */
    int64_t base_ns, base_least_ns, base_most_ns; /* when that one was there, and might have been */
    uint64_t looks;
    struct lane lanes[LANES];
};

atomic_bool inject_events_on;

static _Atomic(struct context *) contexts;
static pthread_mutex_t events_making = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t reaping = PTHREAD_MUTEX_INITIALIZER; /* one reaper at a time */
static pthread_mutex_t sleep_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t events_woken = PTHREAD_COND_INITIALIZER;
static atomic_bool idle; /* the thread sleeps until something is pending */
static _Atomic uint32_t last_correlation;

/* ---- contexts ------------------------------------------------------------------------------- */

static struct context *find_context(const void *native)
{
    struct context *context = atomic_load_explicit(&contexts, memory_order_acquire);
    while (context && (context->native != native || atomic_load(&context->gone)))
        context = context->next;
    return context;
}

static void look_at_clock(struct context *context);

/* NULL: it cannot be had. On a thread that has it current, or will have. */
static struct context *make_context(void *native)
{
    struct inject_attached saved;
    struct context *context = calloc(1, sizeof *context);
    if (!context || !inject_attach(native, &saved)) {
        free(context);
        return NULL;
    }
    context->native = native;
    context->tail = &context->first;
    context->current = -1;
    pthread_mutex_init(&context->lock, NULL);
    bool good = cu.cuCtxGetDevice(&context->device) == DRIVER_OK &&
                cu.cuStreamCreate(&context->stream, DRIVER_STREAM_NON_BLOCKING) == DRIVER_OK &&
                cu.cuEventCreate(&context->base[0], 0) == DRIVER_OK &&
                cu.cuEventCreate(&context->base[1], 0) == DRIVER_OK;
    if (good)
        look_at_clock(context);
    inject_detach(&saved);
    if (good)
        return context;
    free(context); /* what was made goes with the program's */
    return NULL;
}

static struct context *events_context_of(void *native)
{
    struct context *context = find_context(native);
    if (context || !native)
        return context;
    pthread_mutex_lock(&events_making);
    context = find_context(native);
    if (!context && (context = make_context(native))) {
        /* What the driver takes apart when the process ends is made by now: the session, which may
         * have begun with a range long before, must end before that. */
        if (!atomic_load(&contexts))
            (void)inject_session_end_before();
        context->next = atomic_load(&contexts);
        atomic_store_explicit(&contexts, context, memory_order_release);
    }
    pthread_mutex_unlock(&events_making);
    return context;
}

/* ---- nodes ---------------------------------------------------------------------------------- */

/* What could be made is used. Locked. */
static void add_nodes(struct context *context)
{
    struct inject_attached saved;
    if (context->made + NODES_IN_BATCH > EVENTS_PENDING || !inject_attach(context->native, &saved))
        return;
    for (int i = 0; i < NODES_IN_BATCH; i++) {
        struct inject_event_node *node = calloc(1, sizeof *node);
        if (!node || cu.cuEventCreate(&node->start, 0) != DRIVER_OK) {
            free(node);
            break;
        }
        if (cu.cuEventCreate(&node->stop, 0) != DRIVER_OK) {
            (void)cu.cuEventDestroy_v2(node->start);
            free(node);
            break;
        }
        node->context = context;
        node->next = context->spare;
        context->spare = node;
        context->made++;
    }
    inject_detach(&saved);
}

/* Locked. */
static uint32_t joins(const struct context *context, uint64_t stream)
{
    bool next = context->turn == context->last.turn && context->last.stream == stream;
    return next ? context->last.correlation : 0;
}

static struct inject_event_node *take_node(struct context *context, uint64_t stream)
{
    pthread_mutex_lock(&context->lock);
    if (!context->spare)
        add_nodes(context);
    struct inject_event_node *node = context->spare;
    if (node) {
        context->spare = node->next;
        node->stream = stream;
        node->before = joins(context, stream);
    }
    context->turn++; /* also where it is not recorded */
    if (node)
        node->turn = context->turn;
    pthread_mutex_unlock(&context->lock);
    return node;
}

static void give_back(struct inject_event_node *node)
{
    struct context *context = node->context;
    pthread_mutex_lock(&context->lock);
    node->next = context->spare;
    context->spare = node;
    pthread_mutex_unlock(&context->lock);
}

static void wake(void)
{
    if (!atomic_load(&idle))
        return;
    pthread_mutex_lock(&sleep_lock);
    atomic_store(&idle, false);
    pthread_cond_signal(&events_woken);
    pthread_mutex_unlock(&sleep_lock);
}

static void events_push(struct inject_event_node *node)
{
    struct context *context = node->context;
    pthread_mutex_lock(&context->lock);
    node->next = NULL;
    *context->tail = node;
    context->tail = &node->next;
    context->pending++;
    if (node->turn == context->turn) {
        context->last.turn = node->turn;
        context->last.stream = node->stream;
        context->last.correlation = node->correlation;
    }
    pthread_mutex_unlock(&context->lock);
    wake();
}

/* ---- around a call -------------------------------------------------------------------------- */

static bool is_named(const void *stream)
{
    return (uintptr_t)stream > (uintptr_t)CUDA_STREAM_PER_THREAD;
}

/* The context of a stream is that of its launches, whichever is current. */
static void *native_of(void *stream)
{
    cuda_context native = NULL;
    int code = is_named(stream) ? cu.cuStreamGetCtx(stream, &native) : cu.cuCtxGetCurrent(&native);
    return code == DRIVER_OK ? native : NULL;
}

/* What goes into a graph does not run now, and an event there would be one of its nodes. */
static bool is_captured(void *stream)
{
    driver_capture_status status = DRIVER_CAPTURE_NONE;
    return cu.cuStreamIsCapturing(stream, &status) != DRIVER_OK || status != DRIVER_CAPTURE_NONE;
}

/* Streams per thread have one handle, and a number each. */
static uint64_t events_number_of(void *stream)
{
    static _Thread_local char own;
    unsigned long long number;
    if (cu.cuStreamGetId && cu.cuStreamGetId(stream, &number) == DRIVER_OK)
        return number;
    if (!stream)
        stream = CUDA_STREAM_LEGACY; /* another handle of it; 0 is for what is not known */
    return stream == CUDA_STREAM_PER_THREAD ? (uintptr_t)&own : (uintptr_t)stream;
}

static void events_fill(struct inject_event_node *node, const struct inject_event_work *work)
{
    node->kind = work->kind;
    node->name = work->name;
    node->called = work->called;
    node->function = work->function;
    node->bytes = work->bytes;
    node->thread = inject_thread();
    node->range = inject_range_now();
    for (int i = 0; i < 3; i++) {
        node->shape[i] = work->grid[i];
        node->shape[3 + i] = work->block[i];
    }
    node->shape[7] = work->shared_bytes;
    node->correlation = atomic_fetch_add_explicit(&last_correlation, 1, memory_order_relaxed) + 1;
    node->begin_ns = inject_now_ns();
}

void inject_event_begin(struct inject_event_bracket *bracket, const struct inject_event_work *work)
{
    bracket->node = NULL;
    if (!inject_records() || is_captured(work->stream))
        return;
    inject_rows_look();
    struct context *context = events_context_of(native_of(work->stream));
    struct inject_event_node *node =
        context ? take_node(context, events_number_of(work->stream)) : NULL;
    if (!node) {
        inject_lost(context ? LOST_NO_ROOM : LOST_REFUSED, 1);
        return;
    }
    if (!node->before && cu.cuEventRecord(node->start, work->stream) != DRIVER_OK) {
        give_back(node);
        inject_lost(LOST_REFUSED, 1);
        return;
    }
    events_fill(node, work);
    bracket->node = node;
    bracket->stream = work->stream;
}

void inject_event_end(const struct inject_event_bracket *bracket, driver_result result)
{
    struct inject_event_node *node = bracket->node;
    if (!node)
        return;
    node->end_ns = inject_now_ns();
    if (result != DRIVER_OK) {
        give_back(node);
    } else if (cu.cuEventRecord(node->stop, bracket->stream) != DRIVER_OK) {
        give_back(node);
        inject_lost(LOST_REFUSED, 1);
    } else {
        events_push(node);
    }
}

void inject_event_between(void)
{
    for (struct context *context = atomic_load(&contexts); context; context = context->next) {
        pthread_mutex_lock(&context->lock);
        context->turn++;
        pthread_mutex_unlock(&context->lock);
    }
}

/* ---- times ---------------------------------------------------------------------------------- */

static int64_t after_base_ns(struct context *context, void *event)
{
    float ms = 0;
    if (cu.cuEventElapsedTime(&ms, context->base[context->current], event) != DRIVER_OK)
        return INT64_MIN;
    return (int64_t)((double)ms * 1e6);
}

static int64_t within(int64_t time_ns, int64_t least_ns, int64_t most_ns)
{
    return time_ns < least_ns ? least_ns : time_ns > most_ns ? most_ns : time_ns;
}

/* An event is recorded and seen to be there, which happened between two readings of the host's
 * clock, and as long behind the one before as the GPU says, whose clock drifts. */
static bool look_at_clock_once(struct context *context)
{
    const int next = context->current == 0;
    const int64_t before_ns = (int64_t)inject_now_ns();
    if (cu.cuEventRecord(context->base[next], context->stream) != DRIVER_OK ||
        inject_wait(context->base[next], (uint64_t)before_ns + BASE_WAIT_NS) != DRIVER_OK)
        return false;
    const int64_t after_ns = (int64_t)inject_now_ns();
    const int64_t since_ns =
        context->current < 0 ? INT64_MIN : after_base_ns(context, context->base[next]);
    int64_t least_ns = before_ns, most_ns = after_ns;
    if (since_ns != INT64_MIN) {
        const int64_t drift_ns = since_ns / BASE_DRIFT;
        least_ns = within(context->base_least_ns + since_ns - drift_ns, before_ns, after_ns);
        most_ns = within(context->base_most_ns + since_ns + drift_ns, least_ns, after_ns);
        context->base_ns = within(context->base_ns + since_ns, least_ns, most_ns);
    } else {
        context->base_ns = before_ns + (after_ns - before_ns) / 2;
    }
    context->base_least_ns = least_ns;
    context->base_most_ns = most_ns;
    context->current = next;
    return true;
}

/* The first ones, one behind the other, close in upon where it is; then it is followed. */
static void look_at_clock_first(struct context *context)
{
    for (int i = 0; i < BASE_FIRST && look_at_clock_once(context); i++)
        context->base_ns =
            context->base_least_ns + (context->base_most_ns - context->base_least_ns) / 2;
}

static void look_at_clock(struct context *context)
{
    if (context->current < 0)
        look_at_clock_first(context);
    else if ((int64_t)inject_now_ns() - context->base_ns >= BASE_EVERY_NS)
        (void)look_at_clock_once(context);
}

/* ---- what has ended ------------------------------------------------------------------------- */

/* NULL: there are too many streams. */
static struct lane *lane_of(struct context *context, uint64_t stream)
{
    size_t at = hash_place(stream);
    for (size_t i = 0; i < LANES; i++) {
        struct lane *lane = &context->lanes[(at + i) % LANES];
        if (lane->used && lane->stream != stream)
            continue;
        lane->stream = stream;
        lane->used = 1;
        return lane;
    }
    return NULL;
}

static uint64_t later(uint64_t one, uint64_t other)
{
    return one > other ? one : other;
}

/* When its stream was free for it. Not known (the one before it was lost): INT64_MAX. INT64_MIN:
 * the driver does not say. */
static int64_t free_ns_of(struct context *context, const struct inject_event_node *node,
                          const struct lane *lane)
{
    if (node->before)
        return lane && lane->last == node->before ? (int64_t)lane->stop_ns : INT64_MAX;
    int64_t start_ns = after_base_ns(context, node->start);
    return start_ns == INT64_MIN ? start_ns : context->base_ns + start_ns;
}

/* Its times in the host's clock; false: the driver does not say. */
static bool times_of(struct context *context, const struct inject_event_node *node,
                     struct lane *lane, struct inject_work *work)
{
    const int64_t free_ns = free_ns_of(context, node, lane);
    const int64_t stop_ns = after_base_ns(context, node->stop);
    if (free_ns == INT64_MIN || stop_ns == INT64_MIN)
        return false;
    const bool known = free_ns != INT64_MAX;
    work->end_ns = later((uint64_t)(context->base_ns + stop_ns), node->begin_ns);
    work->start_ns = known ? (uint64_t)free_ns : 0;
    work->start_ns = later(work->start_ns, lane ? lane->stop_ns : 0); /* its stream is in order */
    if (work->start_ns < node->end_ns) {                              /* it was idle */
        work->idle = true;
        work->start_ns = node->end_ns < work->end_ns ? node->end_ns : work->end_ns;
        if (known && work->start_ns > (uint64_t)free_ns)
            work->launching_ns = work->start_ns - (uint64_t)free_ns;
    }
    work->end_ns = later(work->end_ns, work->start_ns);
    if (!known)
        work->start_bound_ns = work->end_ns - work->start_ns;
    if (lane) {
        lane->stop_ns = work->end_ns;
        lane->last = node->correlation;
    }
    return true;
}

static void events_report(struct context *context, const struct inject_event_node *node,
                          struct lane *lane)
{
    const struct inject_call call = {.begin_ns = node->begin_ns,
                                     .end_ns = node->end_ns,
                                     .thread = node->thread,
                                     .range = node->range,
                                     .called = node->called,
                                     .function = node->function};
    struct inject_work work = {.kind = node->kind,
                               .name = node->name,
                               .device = (uint32_t)context->device,
                               .stream = node->stream,
                               .correlation = node->correlation,
                               .bytes = node->bytes,
                               .bound_ns =
                                   (uint64_t)(context->base_most_ns - context->base_least_ns)};
    memcpy(work.shape, node->shape, sizeof work.shape);
    if (times_of(context, node, lane, &work))
        inject_rows_work(&work, &call);
    else
        inject_lost(LOST_NO_TIME, 1);
}

/* False: it has not ended, and what follows on its stream has not either. */
static bool events_finish(struct context *context, struct inject_event_node *node)
{
    struct lane *lane = lane_of(context, node->stream);
    if ((lane && lane->waits == context->looks) || context->current < 0) /* no clock yet */
        return false;
    int code = cu.cuEventQuery(node->stop);
    if (code == DRIVER_NOT_READY) {
        if (lane)
            lane->waits = context->looks;
        return false;
    }
    if (code == DRIVER_OK)
        events_report(context, node, lane);
    else
        inject_lost(LOST_FAILED, 1);
    return true;
}

/* In front of what has come meanwhile; last: the link behind the last of them. */
static void keep_waiting(struct context *context, struct inject_event_node *first,
                         struct inject_event_node **last, unsigned count)
{
    pthread_mutex_lock(&context->lock);
    *last = context->first;
    if (!context->first)
        context->tail = last;
    context->first = first;
    context->pending += count;
    pthread_mutex_unlock(&context->lock);
}

static struct inject_event_node *take_pending(struct context *context)
{
    pthread_mutex_lock(&context->lock);
    struct inject_event_node *first = context->first;
    context->first = NULL;
    context->tail = &context->first;
    context->pending = 0;
    pthread_mutex_unlock(&context->lock);
    return first;
}

/* How many have not ended. Attached, under reaping. */
static unsigned events_look(struct context *context)
{
    struct inject_event_node *node = take_pending(context), *kept = NULL, **last = &kept, *next;
    unsigned count = 0;
    if (!node)
        return 0;
    context->looks++;
    look_at_clock(context);
    for (; node; node = next) {
        next = node->next;
        if (events_finish(context, node)) {
            give_back(node);
            continue;
        }
        *last = node;
        last = &node->next;
        count++;
    }
    *last = NULL;
    if (kept)
        keep_waiting(context, kept, last, count);
    return count;
}

static unsigned reap(void)
{
    struct inject_attached saved;
    unsigned count = 0;
    pthread_mutex_lock(&reaping);
    for (struct context *context = atomic_load(&contexts); context; context = context->next)
        if (!atomic_load(&context->gone) && inject_attach(context->native, &saved)) {
            count += events_look(context);
            inject_detach(&saved);
        }
    inject_rows_devices();
    pthread_mutex_unlock(&reaping);
    return count;
}

static void events_nap(void)
{
    nanosleep(&(struct timespec){0, TICK_NS}, NULL);
}

/* ---- ends ----------------------------------------------------------------------------------- */

static struct inject_event_node *take_spare(struct context *context)
{
    pthread_mutex_lock(&context->lock);
    struct inject_event_node *first = context->spare;
    context->spare = NULL;
    pthread_mutex_unlock(&context->lock);
    return first;
}

static void destroy_nodes(struct inject_event_node *node)
{
    for (struct inject_event_node *next; node; node = next) {
        next = node->next;
        (void)cu.cuEventDestroy_v2(node->start);
        (void)cu.cuEventDestroy_v2(node->stop);
        free(node);
    }
}

/* Nothing is asked of it any more. destroyed: by the program, which goes on. */
static void write_off(struct context *context, bool destroyed)
{
    struct inject_attached saved;
    uint64_t lost = 0;
    pthread_mutex_lock(&reaping);
    const bool gone = atomic_exchange(&context->gone, true);
    const bool there = !gone && inject_attach(context->native, &saved);
    for (struct inject_event_node *node = take_pending(context), *next; node; node = next) {
        next = node->next;
        give_back(node);
        lost++;
    }
    if (destroyed && there) {
        destroy_nodes(take_spare(context));
        (void)cu.cuEventDestroy_v2(context->base[0]);
        (void)cu.cuEventDestroy_v2(context->base[1]);
    }
    if (there)
        inject_detach(&saved);
    pthread_mutex_unlock(&reaping);
    inject_lost(destroyed || gone ? LOST_CONTEXT : there ? LOST_NOT_ENDED : LOST_DRIVER_GONE, lost);
}

static bool is_meant(const struct context *context, const void *native, int device)
{
    return !atomic_load(&context->gone) &&
           (native ? context->native == native : context->device == device);
}

void inject_events_context_goes(void *native, int device)
{
    struct context *context = atomic_load(&contexts);
    uint64_t until_ns = inject_now_ns() + DRAIN_CONTEXT_NS;
    for (; context; context = context->next)
        if (is_meant(context, native, device)) {
            while (reap() && inject_now_ns() < until_ns)
                events_nap();
            write_off(context, true);
        }
}

/* What was put on streams meanwhile is not known. */
static void events_open_source(void)
{
    inject_event_between();
    atomic_store(&inject_events_on, true);
}

static void events_close_source(void)
{
    atomic_store(&inject_events_on, false);
}

static void events_flush(bool all)
{
    uint64_t until_ns = inject_now_ns() + DRAIN_NS;
    while (reap() && all && inject_now_ns() < until_ns)
        events_nap();
    for (struct context *context = atomic_load(&contexts); all && context; context = context->next)
        write_off(context, false);
}

const struct inject_source inject_events = {events_open_source, events_close_source, events_flush};

/* ---- the thread ----------------------------------------------------------------------------- */

static bool anything_pending(void)
{
    for (struct context *context = atomic_load(&contexts); context; context = context->next) {
        pthread_mutex_lock(&context->lock);
        bool pending = context->pending && !atomic_load(&context->gone);
        pthread_mutex_unlock(&context->lock);
        if (pending)
            return true;
    }
    return false;
}

/* Until something is pending. Whoever pushes looks at idle behind it. */
static void rest(void)
{
    pthread_mutex_lock(&sleep_lock);
    atomic_store(&idle, true);
    while (atomic_load(&idle) && !anything_pending())
        pthread_cond_wait(&events_woken, &sleep_lock);
    atomic_store(&idle, false);
    pthread_mutex_unlock(&sleep_lock);
}

static void *inject_events_run(void *unused)
{
    for (;;) {
        if (reap() == 0)
            rest();
        events_nap();
    }
    return unused;
}

bool inject_events_open(void)
{
    pthread_t thread;
    inject_rows_prepare();
    if (!cu.cuEventElapsedTime || !cu.cuCtxGetCurrent)
        return inject_log_once(
            "kernels are not recorded: the driver is too old to time them by events");
    helper_threads_begin();
    if (helper_thread_start(&thread, "rbwp-events", inject_events_run, NULL) != 0)
        return inject_log_once("kernels are not recorded: no thread to wait for them");
    pthread_detach(thread);
    return true;
}

void inject_events_forget(void)
{
    atomic_store(&inject_events_on, false);
    atomic_store(&contexts, NULL);
    pthread_mutex_init(&events_making, NULL);
    pthread_mutex_init(&reaping, NULL);
    pthread_mutex_init(&sleep_lock, NULL);
}
