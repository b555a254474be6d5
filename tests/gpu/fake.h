/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fake.h - a driver without a device: one shared object that plays CUDA, HIP and OpenCL.
 *
 * What is enqueued on a stream completes at once, or when the test says so
 * (fake_hold, fake_complete). Any operation can be made to fail. Operations go
 * by the names of struct gpu_backend, in all three APIs.
 *
 * Streams can be captured into graphs, as CUDA and HIP do: what is put on one then is a node of the
 * graph. A call that is unsafe during a capture - an event's query, memory, modules, waiting -
 * destroys the captures that forbid it to the calling thread: its own, unless relaxed, and those
 * that are global; but none if the thread has set its mode to relaxed.
 */
#ifndef FAKE_H
#define FAKE_H

#include <stdbool.h>
#include <stddef.h>

#define FAKE_API __attribute__((visibility("default")))

/* ---- for tests ----------------------------------------------------------- */

/* As new: one device, nothing held, no faults, counts 0. Streams stay. */
FAKE_API void fake_reset(void);
FAKE_API void fake_devices(int count);
/* Whether devices reach each other's memory; they do. */
FAKE_API void fake_reach(bool reach);
/* Held: nothing completes by itself. */
FAKE_API void fake_hold(bool held);
/* The oldest `count` things on a stream complete; NULL: on all streams. */
FAKE_API void fake_complete(void *stream, unsigned count);
/* Each event is asked for so often before it answers. */
FAKE_API void fake_delay(unsigned queries);
/* A kernel that the library starts waits until what is on its stream was asked for and answered:
 * whoever launches is slow, and whoever reaps is quick. */
FAKE_API void fake_slow_launches(bool slow);
/* After `after` good calls, `times` calls of an operation fail with the driver's code. */
FAKE_API void fake_fail(const char *operation, int code, unsigned after, unsigned times);
FAKE_API unsigned fake_count(const char *operation);
/* OpenCL alone: as a driver that reads what the last copy was from only now. */
FAKE_API void fake_read_late(void);
FAKE_API long fake_live_events(void);
/* The program captures a stream (any but the default one) on this thread, and launches the graph.
 */
enum fake_mode { FAKE_GLOBAL = 0, FAKE_THREAD_LOCAL = 1, FAKE_RELAXED = 2 };
FAKE_API void fake_capture_begin(void *stream, enum fake_mode mode);
/* What was captured; -1: the capture was destroyed. */
FAKE_API int fake_capture_end(void *stream);
FAKE_API void fake_graph_launch(void *stream, int nodes);
/* What the handle of streams per thread, (void *)2, means on this thread. */
FAKE_API void *fake_thread_stream(void);
/* A stream of a second device, to be refused. */
FAKE_API void *fake_foreign_stream(void);

/* The device's timer: ns that count from a time of its own, and gain a millionth (1000 ppb). */
FAKE_API long long fake_timer(void);
/* It is so much further from now on, as if that time had passed. */
FAKE_API void fake_timer_skip(long long ns);

/* ---- for the three APIs ------------------------------------------------------ */

/* Where a copy that the driver may read late is from. */
void fake_note_source(const void *from, size_t bytes);

struct fake_stream {
    struct fake_stream *next;
    int device;
    unsigned long enqueued, completed;
    unsigned long filled;      /* a long kernel runs until so many things were enqueued */
    unsigned long unseen;      /* events that were recorded and not answered */
    bool capturing, destroyed; /* the capture was */
    enum fake_mode mode;
    const void *owner; /* the thread that began it */
    int captured;      /* nodes */
};

struct fake_event {
    struct fake_stream *stream;
    unsigned long number; /* of the thing that it is */
    unsigned asked;
    bool captured; /* recorded in a capture: it says nothing */
    bool timed;
    long long time_ns; /* when it was recorded, by the device's timer */
};

/* Counts a call; the code that it shall fail with, or 0. */
int fake_call(const char *operation);
/* The same for a call that is unsafe during a capture. */
int fake_unsafe_call(const char *operation);
/* Sets the thread's mode and gives what it was. */
void fake_exchange_mode(int *mode);
/* *status_out: 0 none, 1 active, 2 destroyed. */
int fake_is_capturing(const struct fake_stream *stream, int *status_out);
int fake_device_count(void);
bool fake_peers(void);
struct fake_stream *fake_stream_new(int device);
void fake_stream_free(struct fake_stream *stream);
int fake_device_of(const void *stream);
/* NULL is the default stream. */
FAKE_API void fake_enqueue(struct fake_stream *stream);
/* A kernel, by its name; that of "rbwp_fill" is long: it runs until three things were enqueued
 * behind it; "rbwp_clock" stores fake_timer() where its argument points (NULL: none are known). */
int fake_launch(const char *kernel, struct fake_stream *stream, void **arguments);
struct fake_event *fake_event_new(bool timed);
void fake_event_free(struct fake_event *event);
int fake_event_mark(struct fake_event *event, struct fake_stream *stream);
/* Between two that are complete; 400: they are of no time. */
int fake_event_elapsed(const struct fake_event *from, const struct fake_event *to, float *ms_out);
/* 0, 600, or 907 for one recorded in a capture, which that destroys. */
int fake_event_query(struct fake_event *event);

#endif /* FAKE_H */
