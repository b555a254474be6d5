/* SPDX-License-Identifier: Apache-2.0 */
#include "fake.h"
#include "fake_execute.h"
#include "bytes.h"

#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define OPERATIONS_MAX 64

static pthread_mutex_t fake_driver_lock = PTHREAD_MUTEX_INITIALIZER; /* guards all below */
static struct operation {
    const char *name;
    unsigned calls, after, times;
    int code;
} operations[OPERATIONS_MAX];
static struct fake_stream default_stream;
static struct fake_stream *streams = &default_stream;
static struct fake_stream *resolve(const void *handle);
static int devices = 1;
static bool held, apart;
static unsigned delay;
static bool slow_launches;
static long long timer_skip_ns;
static long live_events;
static const volatile char *late_source;
static size_t late_bytes;
static _Thread_local enum fake_mode thread_mode; /* its address names the thread */

static struct operation *fake_driver_find(const char *name)
{
    struct operation *operation = operations;
    while (operation->name && strcmp(operation->name, name) != 0)
        operation++;
    if (operation == operations + OPERATIONS_MAX - 1)
        abort();
    operation->name = operation->name ? operation->name : strdup(name);
    return operation;
}

void fake_reset(void)
{
    pthread_mutex_lock(&fake_driver_lock);
    for (struct operation *operation = operations; operation->name; operation++)
        operation->calls = operation->after = operation->times = 0;
    devices = 1;
    held = apart = false;
    delay = 0;
    slow_launches = false;
    timer_skip_ns = 0;
    for (struct fake_stream *stream = streams; stream; stream = stream->next) {
        stream->completed = stream->enqueued;
        stream->filled = stream->unseen = 0;
        stream->capturing = false;
    }
    pthread_mutex_unlock(&fake_driver_lock);
}

void fake_devices(int count)
{
    devices = count;
}

void fake_reach(bool reach)
{
    apart = !reach;
}

bool fake_peers(void)
{
    return !apart;
}

/* What the environment says of a process that was not written as a test. */
__attribute__((constructor)) static void begin_as_told(void)
{
    const char *gpus = getenv("RBWP_FAKE_GPUS"), *refuses = getenv("RBWP_FAKE_REFUSES");
    char *words = strdup(refuses ? refuses : ""), *rest;
    devices = gpus ? atoi(gpus) : 1;
    for (char *word = strtok_r(words, ",", &rest); word; word = strtok_r(NULL, ",", &rest))
        fake_fail(word, 801, 0, UINT32_MAX);
    free(words);
}

void fake_hold(bool hold)
{
    pthread_mutex_lock(&fake_driver_lock);
    held = hold;
    for (struct fake_stream *stream = streams; stream && !held; stream = stream->next)
        stream->completed = stream->enqueued;
    pthread_mutex_unlock(&fake_driver_lock);
}

void fake_complete(void *which, unsigned count)
{
    pthread_mutex_lock(&fake_driver_lock);
    for (struct fake_stream *stream = streams; stream; stream = stream->next) {
        unsigned long left = stream->enqueued - stream->completed;
        if (!which || stream == which)
            stream->completed += count < left ? count : left;
    }
    pthread_mutex_unlock(&fake_driver_lock);
}

void fake_delay(unsigned queries)
{
    pthread_mutex_lock(&fake_driver_lock);
    delay = queries;
    pthread_mutex_unlock(&fake_driver_lock);
}

void fake_slow_launches(bool slow)
{
    pthread_mutex_lock(&fake_driver_lock);
    slow_launches = slow;
    pthread_mutex_unlock(&fake_driver_lock);
}

void fake_fail(const char *name, int code, unsigned after, unsigned times)
{
    pthread_mutex_lock(&fake_driver_lock);
    struct operation *operation = fake_driver_find(name);
    operation->code = code;
    operation->after = after;
    operation->times = times;
    pthread_mutex_unlock(&fake_driver_lock);
}

void fake_note_source(const void *from, size_t bytes)
{
    pthread_mutex_lock(&fake_driver_lock);
    late_source = from;
    late_bytes = bytes;
    pthread_mutex_unlock(&fake_driver_lock);
}

void fake_read_late(void)
{
    pthread_mutex_lock(&fake_driver_lock);
    for (size_t i = 0; i < late_bytes; i++)
        (void)late_source[i];
    pthread_mutex_unlock(&fake_driver_lock);
}

unsigned fake_count(const char *name)
{
    pthread_mutex_lock(&fake_driver_lock);
    unsigned calls = fake_driver_find(name)->calls;
    pthread_mutex_unlock(&fake_driver_lock);
    return calls;
}

long fake_live_events(void)
{
    pthread_mutex_lock(&fake_driver_lock);
    long live = live_events;
    pthread_mutex_unlock(&fake_driver_lock);
    return live;
}

int fake_call(const char *name)
{
    pthread_mutex_lock(&fake_driver_lock);
    struct operation *operation = fake_driver_find(name);
    operation->calls++;
    int code = 0;
    if (operation->times && operation->after)
        operation->after--;
    else if (operation->times) {
        operation->times--;
        code = operation->code;
    }
    pthread_mutex_unlock(&fake_driver_lock);
    return code;
}

/* ---- captures ---- */

void fake_capture_begin(void *which, enum fake_mode mode)
{
    struct fake_stream *stream = which;
    pthread_mutex_lock(&fake_driver_lock);
    stream->capturing = true;
    stream->destroyed = false;
    stream->mode = mode;
    stream->owner = &thread_mode;
    stream->captured = 0;
    pthread_mutex_unlock(&fake_driver_lock);
}

int fake_capture_end(void *which)
{
    struct fake_stream *stream = which;
    pthread_mutex_lock(&fake_driver_lock);
    stream->capturing = false;
    int captured = stream->destroyed ? -1 : stream->captured;
    pthread_mutex_unlock(&fake_driver_lock);
    return captured;
}

void fake_graph_launch(void *stream, int nodes)
{
    for (int i = 0; i < nodes; i++)
        fake_enqueue(stream);
}

/* Whether the capture of a stream forbids unsafe calls to this thread. */
static bool forbids(const struct fake_stream *stream)
{
    if (!stream->capturing || thread_mode == FAKE_RELAXED)
        return false;
    if (stream->owner == &thread_mode)
        return stream->mode != FAKE_RELAXED;
    return stream->mode == FAKE_GLOBAL && thread_mode == FAKE_GLOBAL;
}

/* Destroys the captures that forbid it. Locked. */
static int do_unsafe_thing(void)
{
    int code = 0;
    for (struct fake_stream *stream = streams; stream; stream = stream->next)
        if (forbids(stream)) {
            stream->destroyed = true;
            code = 900;
        }
    return code;
}

int fake_unsafe_call(const char *name)
{
    int code = fake_call(name);
    pthread_mutex_lock(&fake_driver_lock);
    int refused = do_unsafe_thing();
    pthread_mutex_unlock(&fake_driver_lock);
    return refused ? refused : code;
}

void fake_exchange_mode(int *mode)
{
    int was = (int)thread_mode;
    thread_mode = (enum fake_mode) * mode;
    *mode = was;
}

/* The default stream waits for all others, so it is part of every capture. Locked. */
static bool conflicts(const struct fake_stream *stream)
{
    bool any = false;
    for (struct fake_stream *other = streams; other; other = other->next)
        any |= other->capturing;
    return stream == &default_stream && any;
}

int fake_is_capturing(const struct fake_stream *stream, int *status_out)
{
    const struct fake_stream *which = resolve(stream);
    pthread_mutex_lock(&fake_driver_lock);
    *status_out = !which->capturing ? 0 : which->destroyed ? 2 : 1;
    int code = conflicts(which) ? 906 : 0;
    pthread_mutex_unlock(&fake_driver_lock);
    return code;
}

int fake_device_count(void)
{
    return devices;
}

struct fake_stream *fake_stream_new(int device)
{
    struct fake_stream *stream = calloc(1, sizeof *stream);
    pthread_mutex_lock(&fake_driver_lock);
    stream->device = device;
    stream->next = streams;
    streams = stream;
    pthread_mutex_unlock(&fake_driver_lock);
    return stream;
}

void *fake_thread_stream(void)
{
    static _Thread_local struct fake_stream *own;
    return own ? own : (own = fake_stream_new(0)); /* stays */
}

/* What a handle means on this thread. */
static struct fake_stream *resolve(const void *handle)
{
    return !handle               ? &default_stream
           : handle == (void *)2 ? fake_thread_stream()
                                 : (struct fake_stream *)(uintptr_t)handle;
}

int fake_device_of(const void *stream)
{
    return resolve(stream)->device;
}

void *fake_foreign_stream(void)
{
    static struct fake_stream *foreign;
    return foreign ? foreign : (foreign = fake_stream_new(1));
}

void fake_stream_free(struct fake_stream *stream)
{
    pthread_mutex_lock(&fake_driver_lock);
    for (struct fake_stream **link = &streams; *link; link = &(*link)->next)
        if (*link == stream) {
            *link = stream->next;
            break;
        }
    pthread_mutex_unlock(&fake_driver_lock);
    free(stream);
}

/* The number of what was added; 0: it went into a graph. Locked. */
static unsigned long add(struct fake_stream *stream)
{
    if (stream->capturing) {
        stream->captured++;
        return 0;
    }
    unsigned long number = ++stream->enqueued;
    if (!held && number >= stream->filled)
        stream->completed = stream->enqueued;
    return number;
}

void fake_enqueue(struct fake_stream *stream)
{
    struct fake_stream *where = resolve(stream);
    pthread_mutex_lock(&fake_driver_lock);
    add(where);
    pthread_mutex_unlock(&fake_driver_lock);
}

/* Locked; unlocks meanwhile. */
static void wait_until_seen(const struct fake_stream *stream)
{
    while (slow_launches && !held && stream->unseen && stream->enqueued >= stream->filled) {
        pthread_mutex_unlock(&fake_driver_lock);
        sched_yield();
        pthread_mutex_lock(&fake_driver_lock);
    }
}

long long fake_timer(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_RAW, &now);
    long long ns = (long long)now.tv_sec * 1000000000 + now.tv_nsec;
    return ns + ns / 1000000 + 777000000000 + timer_skip_ns;
}

void fake_timer_skip(long long ns)
{
    timer_skip_ns += ns;
}

int fake_launch(const char *kernel, struct fake_stream *stream, void **arguments)
{
    int code = fake_call("launch");
    if (code)
        return code;
    struct fake_stream *where = resolve(stream);
    pthread_mutex_lock(&fake_driver_lock);
    wait_until_seen(where);
    if (strncmp(kernel, "rbwp_fill", 9) == 0 && where->enqueued >= where->filled)
        where->filled = where->enqueued + 4;
    add(where);
    pthread_mutex_unlock(&fake_driver_lock);
    if (fake_executes())
        fake_execute(kernel, arguments);
    if (strncmp(kernel, "rbwp_clock", 10) == 0 && arguments)
        store_le_i64(*(void **)arguments[0], fake_timer());
    return 0;
}

struct fake_event *fake_event_new(bool timed)
{
    struct fake_event *event = calloc(1, sizeof *event);
    event->timed = timed;
    pthread_mutex_lock(&fake_driver_lock);
    live_events++;
    pthread_mutex_unlock(&fake_driver_lock);
    return event;
}

void fake_event_free(struct fake_event *event)
{
    pthread_mutex_lock(&fake_driver_lock);
    live_events--;
    pthread_mutex_unlock(&fake_driver_lock);
    free(event);
}

int fake_event_mark(struct fake_event *event, struct fake_stream *stream)
{
    int code = 0;
    struct fake_stream *where = resolve(stream);
    pthread_mutex_lock(&fake_driver_lock);
    event->stream = where;
    if (conflicts(event->stream)) {
        for (struct fake_stream *other = streams; other; other = other->next)
            other->destroyed |= other->capturing;
        code = 906;
    } else {
        event->number = add(event->stream);
        event->captured = event->stream->capturing;
        event->asked = 0;
        event->time_ns = fake_timer();
        event->stream->unseen += !event->captured;
    }
    pthread_mutex_unlock(&fake_driver_lock);
    return code;
}

int fake_event_elapsed(const struct fake_event *from, const struct fake_event *to, float *ms_out)
{
    pthread_mutex_lock(&fake_driver_lock);
    bool good = from->timed && to->timed && from->stream->completed >= from->number &&
                to->stream->completed >= to->number;
    *ms_out = (float)((double)(to->time_ns - from->time_ns) / 1e6);
    pthread_mutex_unlock(&fake_driver_lock);
    return good ? 0 : 400;
}

int fake_event_query(struct fake_event *event)
{
    pthread_mutex_lock(&fake_driver_lock);
    int code = do_unsafe_thing();
    if (event->captured) {
        event->stream->destroyed = true;
        code = 907;
    } else if (code == 0 && (event->asked++ < delay || event->stream->completed < event->number)) {
        code = 600;
    }
    if (code == 0 && event->stream->unseen)
        event->stream->unseen--;
    pthread_mutex_unlock(&fake_driver_lock);
    return code;
}
