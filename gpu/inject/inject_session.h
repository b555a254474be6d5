/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inject_session.h - when it is recorded, and into which file.
 *
 *     RBWP_INJECT_FILE      the profile; what programs that this one starts record goes to others
 *     RBWP_INJECT_WHAT      gpu, ranges, or both (gpu,ranges), the default
 *     RBWP_INJECT_BUFSIZE   MiB of records that are not written yet; what is beyond is lost,
 * counted RBWP_INJECT_AFTER_MS, RBWP_INJECT_FOR_MS, RBWP_INJECT_SIGNAL, RBWP_INJECT_RANGE the
 * window, below
 *
 * The file is made when there is something to record, as many programs look for a GPU and use none.
 * With % in its name it is as for any log file (rbwp_session.h). Without, the first process has it,
 * and others FILE.PID with the number before the extension.
 *
 * The window is open from the beginning, or for_ms long after after_ms, or opened and closed by a
 * signal, or by a range of the program (NVTX) of that name. While it is closed a launch costs what
 * it did. When for_ms have passed the file is finished, and the program runs on unrecorded.
 *
 * A thread of ours does what takes time: it waits for the window's times and signals, has CUPTI
 * hand over what is finished once a second, and ends the session when SIGTERM, SIGINT or SIGHUP end
 * the program (if that leaves them at their default), which they do then.
 */
#ifndef INJECT_SESSION_H
#define INJECT_SESSION_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define INJECT_GPU 1u
#define INJECT_RANGES 2u

/* What the environment wants, of these two. */
unsigned inject_wanted(void);

/* What is recorded beside ranges: called about the window under the session's lock. */
struct inject_source {
    void (*open)(void);
    void (*close)(void);
    void (*flush)(bool all); /* all: what is not finished, too */
};

/* Once in a process, or by a forked child on its own account: from now on the window may open.
 * source: NULL, or one more; it stays. */
void inject_session_begin(const struct inject_source *source);

enum inject_state { INJECT_CLOSED, INJECT_OPEN, INJECT_RECORDING };
extern _Atomic int
    inject_state; /* enum inject_state; open: the session begins with its first use */

bool inject_session_start(void);
/* Whether what happens now is recorded. */
static inline bool inject_records(void)
{
    int state = atomic_load_explicit(&inject_state, memory_order_acquire);
    return __builtin_expect(state == INJECT_RECORDING, 1) ||
           (state == INJECT_OPEN && inject_session_start());
}

/* CLOCK_MONOTONIC and this are a time of the session. */
int64_t inject_line_offset_ns(void);
/* The calling thread as block headers name it, which it becomes one of. */
uint64_t inject_thread(void);

/* What a thread has of ours, made when it is first wanted and 0 then, freed when the thread ends:
 * this library may have few bytes in threads, as it is loaded when they run. */
enum inject_own { INJECT_OWN_LEVELS, INJECT_OWN_LAUNCH, INJECT_OWNS };
extern _Thread_local void *inject_own[INJECT_OWNS];
/* NULL: no memory. */
void *inject_own_make(enum inject_own which, size_t bytes);

/* By the program's range of the name that the environment has: NULL, none. */
const char *inject_window_range(void);
void inject_window(bool open);

/* The process ends, or the window is closed for good. Any thread, any number of times. */
void inject_session_end(void);
/* When the process exits: before what was made until now is taken apart. */
bool inject_session_end_before(void);

/* ---- the range of a call --------------------------------------------------------------------- */

/*
 * In which range a call is made: the innermost that its thread pushed; without one, the last that
 * was started and has not ended, as RBWP_INJECT_STARTED says: thread, by this thread (the default),
 * all, by any, none. Any thread.
 */

/* Of a range that any thread may end; 0 is none. */
void inject_started(uint64_t range);
void inject_started_ended(uint64_t range);

/* The number of its row, 0: none. */
uint64_t inject_range_now(void);

/* In a forked child none is open. */
void inject_started_forget(void);

/* ---- clocks ---------------------------------------------------------------------------------- */

/*
 * CLOCK_MONOTONIC, in which times of GPUs are given, and times of calls, which are taken as ticks
 * of the recorder's clock: these are cheaper to read on the thread that launches.
 *
 * What ticks are in CLOCK_MONOTONIC is asked once the call's work is finished. Both clocks are
 * looked at together from time to time; between two looks the line is straight.
 */

uint64_t inject_now_ns(void);

/* Before the first call. */
void inject_ticks_open(void);
/* Of ticks that lie before it times are known from now on. One thread at a time. */
void inject_ticks_look(void);
/* By the thread that may look. */
uint64_t inject_ticks_ns(uint64_t ticks);

#endif /* INJECT_SESSION_H */
