/* SPDX-License-Identifier: Apache-2.0 */
/* What is used of the interface that Intel's ITT has for collectors (ittnotify_config.h, version
 * 3). */
#ifndef ITT_ABI_H
#define ITT_ABI_H

#include <pthread.h>

#define ITT_MAGIC "\xED\xAB\xAB\xEC\x0D\xEE\xDA\x30"
enum { ITT_MAGIC_BYTES = 8, ITT_VERSION = 3 };

struct itt_id {
    unsigned long long part[3];
};

struct itt_string {
    const char *text; /* no other field of it is used */
};

/* A function that a program may call, and where it looks for that. */
struct itt_function {
    const char *name; /* NULL: behind the last */
    void **function;
    void *at_first, *none;
    unsigned groups;
};

struct itt_global {
    unsigned char magic[ITT_MAGIC_BYTES];
    unsigned long version, minor, build;
    volatile long initialized, mutex_initialized, counter;
    pthread_mutex_t mutex;
    void *library, *on_error;
    const char **path;
    struct itt_function *functions;
};

#endif /* ITT_ABI_H */
