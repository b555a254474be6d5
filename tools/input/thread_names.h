/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thread_names.h - threads that are named by the function which they were started with.
 *
 * The file has FILE+0xADDRESS (BuildId: ID) of such a thread (SPEC.md 10). What is shown is the
 * function's name, if that FILE is there, else FILE+0xADDRESS without folders.
 */
#ifndef THREAD_NAMES_H
#define THREAD_NAMES_H

#include "name_lookup.h"

/* time_ns: as in unwind.h. Without memory names stay as they are. */
void thread_names_resolve(struct names *names, int64_t time_ns);
void thread_names_free(struct names *names);

#endif /* THREAD_NAMES_H */
