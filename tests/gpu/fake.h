/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fake.h - a driver without a device: one shared object that plays CUDA, HIP and OpenCL.
 *
 * What is enqueued on a stream completes at once, or when the test says so
 * (fake_hold, fake_complete). Any operation can be made to fail. Operations go
 * by the names of struct gpu_backend, in all three APIs.
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
/* Held: nothing completes by itself. */
FAKE_API void fake_hold(bool held);
/* The oldest `count` things on a stream complete; NULL: on all streams. */
FAKE_API void fake_complete(void *stream, unsigned count);
/* Each event is asked for so often before it answers. */
FAKE_API void fake_delay(unsigned queries);
/* After `after` good calls, `times` calls of an operation fail with the driver's code. */
FAKE_API void fake_fail(const char *operation, int code, unsigned after, unsigned times);
FAKE_API unsigned fake_count(const char *operation);
FAKE_API long fake_live_events(void);
/* A stream of a second device, to be refused. */
FAKE_API void *fake_foreign_stream(void);

/* ---- for the three APIs ------------------------------------------------------ */

struct fake_stream {
    struct fake_stream *next;
    int device;
    unsigned long enqueued, completed;
};

struct fake_event {
    struct fake_stream *stream;
    unsigned long number; /* of the thing that it is */
    unsigned asked;
};

/* Counts a call; the code that it shall fail with, or 0. */
int fake_call(const char *operation);
int fake_device_count(void);
struct fake_stream *fake_stream_new(int device);
void fake_stream_free(struct fake_stream *stream);
/* NULL is the default stream. */
FAKE_API void fake_enqueue(struct fake_stream *stream);
struct fake_event *fake_event_new(void);
void fake_event_free(struct fake_event *event);
void fake_event_mark(struct fake_event *event, struct fake_stream *stream);
bool fake_event_done(struct fake_event *event);

#endif /* FAKE_H */
