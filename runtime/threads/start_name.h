/* SPDX-License-Identifier: Apache-2.0 */
/*
 * start_name.h - what a thread is called that has no name of its own: by the function that it was
 * started with, as the file that has it and the address in that file, where tools find its name:
 *
 *     /usr/bin/redis-server+0x4c510 (BuildId: 9f12...)
 *
 * The loader knows that without a lock (_dl_find_object, glibc 2.35). No system call is made: a
 * sandbox may have taken the right to from the thread.
 */
#ifndef START_NAME_H
#define START_NAME_H

enum { START_NAME_BYTES = 512 };

/* Once, before the first thread. */
void start_name_prepare(void);
/* NULL: not known, or too long. Else text. */
const char *start_name_of(void *(*run)(void *), char text[START_NAME_BYTES]);

#endif /* START_NAME_H */
