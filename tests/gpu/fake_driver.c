/* SPDX-License-Identifier: Apache-2.0 */
#include "fake.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define OPERATIONS_MAX 64

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards all below */
static struct operation {
    const char *name;
    unsigned calls, after, times;
    int code;
} operations[OPERATIONS_MAX];
static struct fake_stream default_stream;
static struct fake_stream *streams = &default_stream;
static int devices = 1;
static bool held;
static unsigned delay;
static long live_events;

static struct operation *find(const char *name)
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
    pthread_mutex_lock(&lock);
    for (struct operation *operation = operations; operation->name; operation++)
        operation->calls = operation->after = operation->times = 0;
    devices = 1;
    held = false;
    delay = 0;
    for (struct fake_stream *stream = streams; stream; stream = stream->next)
        stream->completed = stream->enqueued;
    pthread_mutex_unlock(&lock);
}

void fake_devices(int count)
{
    devices = count;
}

void fake_hold(bool hold)
{
    pthread_mutex_lock(&lock);
    held = hold;
    for (struct fake_stream *stream = streams; stream && !held; stream = stream->next)
        stream->completed = stream->enqueued;
    pthread_mutex_unlock(&lock);
}

void fake_complete(void *which, unsigned count)
{
    pthread_mutex_lock(&lock);
    for (struct fake_stream *stream = streams; stream; stream = stream->next) {
        unsigned long left = stream->enqueued - stream->completed;
        if (!which || stream == which)
            stream->completed += count < left ? count : left;
    }
    pthread_mutex_unlock(&lock);
}

void fake_delay(unsigned queries)
{
    pthread_mutex_lock(&lock);
    delay = queries;
    pthread_mutex_unlock(&lock);
}

void fake_fail(const char *name, int code, unsigned after, unsigned times)
{
    pthread_mutex_lock(&lock);
    struct operation *operation = find(name);
    operation->code = code;
    operation->after = after;
    operation->times = times;
    pthread_mutex_unlock(&lock);
}

unsigned fake_count(const char *name)
{
    pthread_mutex_lock(&lock);
    unsigned calls = find(name)->calls;
    pthread_mutex_unlock(&lock);
    return calls;
}

long fake_live_events(void)
{
    pthread_mutex_lock(&lock);
    long live = live_events;
    pthread_mutex_unlock(&lock);
    return live;
}

int fake_call(const char *name)
{
    pthread_mutex_lock(&lock);
    struct operation *operation = find(name);
    operation->calls++;
    int code = 0;
    if (operation->times && operation->after)
        operation->after--;
    else if (operation->times) {
        operation->times--;
        code = operation->code;
    }
    pthread_mutex_unlock(&lock);
    return code;
}

int fake_device_count(void)
{
    return devices;
}

struct fake_stream *fake_stream_new(int device)
{
    struct fake_stream *stream = calloc(1, sizeof *stream);
    pthread_mutex_lock(&lock);
    stream->device = device;
    stream->next = streams;
    streams = stream;
    pthread_mutex_unlock(&lock);
    return stream;
}

void *fake_foreign_stream(void)
{
    static struct fake_stream *foreign;
    return foreign ? foreign : (foreign = fake_stream_new(1));
}

void fake_stream_free(struct fake_stream *stream)
{
    pthread_mutex_lock(&lock);
    for (struct fake_stream **link = &streams; *link; link = &(*link)->next)
        if (*link == stream) {
            *link = stream->next;
            break;
        }
    pthread_mutex_unlock(&lock);
    free(stream);
}

static unsigned long add(struct fake_stream *stream)
{
    unsigned long number = ++stream->enqueued;
    if (!held)
        stream->completed = stream->enqueued;
    return number;
}

void fake_enqueue(struct fake_stream *stream)
{
    pthread_mutex_lock(&lock);
    add(stream ? stream : &default_stream);
    pthread_mutex_unlock(&lock);
}

struct fake_event *fake_event_new(void)
{
    struct fake_event *event = calloc(1, sizeof *event);
    pthread_mutex_lock(&lock);
    live_events++;
    pthread_mutex_unlock(&lock);
    return event;
}

void fake_event_free(struct fake_event *event)
{
    pthread_mutex_lock(&lock);
    live_events--;
    pthread_mutex_unlock(&lock);
    free(event);
}

void fake_event_mark(struct fake_event *event, struct fake_stream *stream)
{
    pthread_mutex_lock(&lock);
    event->stream = stream ? stream : &default_stream;
    event->number = add(event->stream);
    event->asked = 0;
    pthread_mutex_unlock(&lock);
}

bool fake_event_done(struct fake_event *event)
{
    pthread_mutex_lock(&lock);
    bool done = event->asked++ >= delay && event->stream->completed >= event->number;
    pthread_mutex_unlock(&lock);
    return done;
}
