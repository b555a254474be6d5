/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inject_events.h - work of a GPU timed by events of the driver before and behind it on its stream,
 * where CUPTI does not report it.
 *
 * Where the context's last piece of work was put on the same stream, and nothing of ours or the
 * program's stands between (inject_event_between), the event behind that one is the event before
 * this one: launches in a row have one each.
 *
 * The events' own times are the GPU's, to about half a microsecond; a thread of ours converts them
 * once they are there. What was put on a stream when that was free starts when its call was over at
 * the earliest: what lies between the event before it and that is launching. A graph is one piece
 * of work. What goes into a capture is left alone.
 *
 * At most EVENTS_PENDING pieces of work of a context are waited for; what is beyond is counted as
 * lost, and so is what had not ended when its context was destroyed or the process ended.
 */
#ifndef INJECT_EVENTS_H
#define INJECT_EVENTS_H

#include "inject_rows.h"
#include "inject_session.h"

#include <stdatomic.h>
#include <stdbool.h>

enum { EVENTS_PENDING = 16384 };

/* One call of the driver that puts work on a stream. */
struct inject_event_work {
    enum inject_work_kind kind;
    const char *called;   /* the driver's function */
    const char *name;     /* of the kernel, or what it is; stays where it is; NULL: not known */
    const void *function; /* that is launched, if one is */
    void *stream;
    uint64_t bytes;
    unsigned grid[3], block[3], shared_bytes; /* of a kernel */
};
struct inject_event_node;
struct inject_event_bracket {
    struct inject_event_node *node; /* NULL: not recorded */
    void *stream;
};

/* Around the call, on its thread. result: of the driver. Nothing of what goes wrong here reaches
 * the program. */
void inject_event_begin(struct inject_event_bracket *bracket, const struct inject_event_work *work);
void inject_event_end(const struct inject_event_bracket *bracket, driver_result result);
/* Before a call that puts something else on a stream, which may take long. */
void inject_event_between(void);

/* Its contexts are about to go. context NULL: all of that device. */
void inject_events_context_goes(void *context, int device);

/* From now on; the driver was found. False with the line said: no memory, no thread. */
bool inject_events_open(void);
extern const struct inject_source inject_events;
/* Whether they are asked for; so far not in a process that did not start the driver. */
extern atomic_bool inject_events_on;
/* In a forked child nothing more is taken. */
void inject_events_forget(void);

/* ---- the driver's calls ---------------------------------------------------------------------- */

/*
 * The driver's calls as a program finds them, where CUPTI does not report them.
 *
 * A library that is preloaded stands before the driver, whichever way a program looks for its
 * functions: by linking with it, by dlsym, by cuGetProcAddress (as the CUDA runtime does). Each
 * function that is looked for here stands in for the driver's, which it calls; unless events are
 * asked for, nothing more.
 */

/* What the program's dlsym would be without us: for our own use of the driver. */
void *inject_find(void *library, const char *symbol);

/* Whether the calls of this program come by here: the library is preloaded, or one of its functions
 * was handed out. */
bool inject_hooks_stand(void);

/* RBWP_INJECT_EVENTS: 0 never, 1 whether CUPTI is there or not; without, where it is not. */
enum inject_events_wish { EVENTS_NEVER, EVENTS_WITHOUT_CUPTI, EVENTS_ALWAYS };
enum inject_events_wish inject_events_wish(void);

#endif /* INJECT_EVENTS_H */
