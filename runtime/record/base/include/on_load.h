/* SPDX-License-Identifier: Apache-2.0 */
/*
 * on_load.h - what the library does when it is loaded: it registers its handlers of forks, stays
 * loaded, and nothing else.
 *
 * A child runs handlers in the order in which they were registered. One of the program's that came
 * before ours would record through the child's copy of the state into the chunks that it shares
 * with its parent; as these are registered before main, ours comes first. An allocator's own comes
 * later as well (PartitionAlloc's): it still holds its locks, so ours allocate and free nothing.
 *
 * Among ours each has its place, as the linker's order changes with the names of files: a fork
 * takes the locks of later ones first (extend.c), and a child gives up the session before the
 * registry of its threads.
 */
#ifndef ON_LOAD_H
#define ON_LOAD_H

#include <pthread.h>

/* Of a plugin that has this code inside: dlclose does not unload it.
 *
 * The writer thread runs it, and threads that have recorded have a destructor in it. The shared
 * library is linked with -z nodelete; a plugin that has the static one inside is marked when it is
 * loaded. Not later: dlopen waits for a constructor that in turn may wait for the thread that calls
 * us. */

void stay_loaded(void);

/* place: from 0 on. 101 is the first that is not the compiler's own. */
#define ON_LOAD(place) __attribute__((constructor(101 + (place))))
/* Registers these functions for forks, of pthread_atfork. */
#define ON_FORK(place, before, in_parent, in_child)                                                \
    ON_LOAD(place) static void in_child##_is_registered(void)                                      \
    {                                                                                              \
        pthread_atfork(before, in_parent, in_child);                                               \
    }

#endif /* ON_LOAD_H */
