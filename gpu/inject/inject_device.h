/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inject_device.h - a context of the program, and what we have in it: a stream, a buffer, a clock.
 *
 * All calls but inject_attach are for a thread that is attached: the context is
 * current, and what it does leaves captures of the program alone. Contexts are never freed here:
 * one that the program destroyed is left behind (inject_device_gone).
 */
#ifndef INJECT_DEVICE_H
#define INJECT_DEVICE_H

#include "inject_folder.h"
#include "inject_library.h"

#include <pthread.h>
#include <stdatomic.h>

struct inject_device {
    struct inject_device *next;
    void *context;
    atomic_bool gone;
    int number, sms, clock_khz;
    char name[128];
    void *stream; /* ours: waits for none of the program's, and none for it */
    void *done;   /* an event: the launch that is recorded is over */
    /* By the launch that is recorded here, from its beginning to its end: guards what follows. */
    pthread_mutex_t lock;
    bool unfinished;       /* what done stands for was not over when we stopped waiting */
    inject_address buffer; /* never freed: what slipped through may still store into it */
    size_t buffer_bytes;
    void *stamp;                /* a kernel of one thread: stores the device's timer; NULL: none */
    volatile uint64_t *stamped; /* memory of the host that it stores in */
};

struct inject_attached {
    inject_capture_mode mode;
};
bool inject_attach(void *context, struct inject_attached *saved);
void inject_detach(const struct inject_attached *saved);

/* That of a context, made when it is first met; NULL: it cannot be had. */
struct inject_device *inject_device_get(void *context);
void inject_device_gone(void *context);

/* What the driver says of an event that was recorded, at last CUDA_NOT_READY. */
int inject_wait(void *event, uint64_t until_ns);

/* A copy to the host, which is there when this returns CUDA_OK. */
int inject_read(struct inject_device *device, void *to, inject_address from, size_t bytes);

/* device->lock is held. The buffer has at least so many bytes; false: there is not the memory. */
bool inject_buffer(struct inject_device *device, size_t bytes);

/* ---- the clock; device->lock is held ---- */

#define INJECT_STAMPS 3
/* Puts a stamp on a stream: inject_stamped is the time when it is over, 0 until then. */
void inject_stamp(struct inject_device *device, unsigned which, void *stream);
uint64_t inject_stamped(const struct inject_device *device, unsigned which);
/* False: nothing is known. */
bool inject_anchor(struct inject_device *device, struct inject_anchor *anchor);

#endif /* INJECT_DEVICE_H */
