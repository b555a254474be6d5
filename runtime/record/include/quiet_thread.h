/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quiet_thread.h - threads of our own in somebody else's process.
 *
 * They get no signals, which are the host program's, and have a name.
 */
#ifndef QUIET_THREAD_H
#define QUIET_THREAD_H

#include <pthread.h>
#include <stdbool.h>

/* The calling thread is inside quiet_thread_start: for who stands in for pthread_create. */
extern _Thread_local bool quiet_thread_starting __attribute__((tls_model("initial-exec")));

/* 0, or pthread_create's error. name: at most 15 bytes. */
int quiet_thread_start(pthread_t *thread_out, const char *name, void *(*run)(void *),
                       void *argument);

#endif /* QUIET_THREAD_H */
