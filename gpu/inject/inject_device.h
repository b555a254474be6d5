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

#include "inject_library.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- inject folder --------------------------------------------------------------------------- */

#define INJECT_ANCHORS 2

/* The device's timer read between two readings of the host's. */
struct inject_anchor {
    uint64_t device_ns, host_ns, bound_ns;
};

/* What a line says. */
struct inject_launch_line {
    uint64_t hash;
    const char *kernel;
    int device;
    const char *device_name;
    int sms, clock_khz; /* of the device: multiprocessors, and their clock at most */
    uint64_t stream;
    unsigned grid[3], block[3];
    uint32_t correlation;
    uint64_t launch_ns, launched_ns, done_ns;
    struct inject_anchor anchors[INJECT_ANCHORS];
    int anchor_count;
    uint64_t dropped, start_ns, stop_ns; /* of the device; 0: not known */
};

/* Makes the folder if it is not there. False with the line said. */
bool inject_folder_open(const char *path);

/* The raw file with tail_bytes behind the buffer, then its line. False with the line said. */
bool inject_folder_launch(const struct inject_launch_line *line, const uint8_t *buffer,
                          size_t bytes, const uint8_t *tail, size_t tail_bytes);

/* Launches that were not recorded: the first that is met, with count 0, and how many came later. */
void inject_folder_skipped(uint64_t hash, const char *kernel, const char *why, uint64_t count);

/* ---- inject device --------------------------------------------------------------------------- */

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
    bool unfinished;     /* what done stands for was not over when we stopped waiting */
    cuda_pointer buffer; /* never freed: what slipped through may still store into it */
    size_t buffer_bytes;
    void *stamp;                /* a kernel of one thread: stores the device's timer; NULL: none */
    volatile uint64_t *stamped; /* memory of the host that it stores in */
};

struct inject_attached {
    driver_capture_mode mode;
};
bool inject_attach(void *context, struct inject_attached *saved);
void inject_detach(const struct inject_attached *saved);

/* That of a context, made when it is first met; NULL: it cannot be had. */
struct inject_device *inject_device_get(void *context);
void inject_device_gone(void *context);

/* What the driver says of an event that was recorded, at last DRIVER_NOT_READY. */
int inject_wait(void *event, uint64_t until_ns);

/* A copy to the host, which is there when this returns DRIVER_OK. */
int inject_read(struct inject_device *device, void *to, cuda_pointer from, size_t bytes);

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
