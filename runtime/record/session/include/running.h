/* SPDX-License-Identifier: Apache-2.0 */
/*
 * running.h - what may be done to the session in progress by who did not start it (control.c):
 * looked at, made finer or coarser, stopped, and started again.
 *
 * Any thread of the process, outside of recording calls. A program that stops a session which
 * others have stopped, and maybe started again, finds what it expects: it stops what is running,
 * and returns what its own session came to if there is nothing.
 */
#ifndef RUNNING_H
#define RUNNING_H

#include "rbwp_session.h"

struct running {
    char path[4096]; /* as the session has it */
    int level;       /* 0: paused */
    int64_t for_ns;  /* since its start */
    uint64_t threads;
    char trouble[sizeof((struct rbwp_error *)0)->text]; /* why parts cannot be written; "" */
    uint64_t dropped;                                   /* records and rows, since then */
    int live_errno; /* why a crash would lose what is not written yet; 0: it would not */
};

/* With FILE, and errno behind it. */
#define LIVE_MISSING_TEXT "a crash loses what is not written yet: cannot make \"%s.live\""

/* False if none is in progress. */
bool running_look(struct running *running_out);

/*
 * 0 pauses: what is open is ended, all that was recorded goes to the file, and nothing is recorded
 * until the level is 1 or 2 again. What is open when sub-items come in or fall away stays open.
 * RBWP_E_STATE: no session; RBWP_E_BUSY: it is being stopped, or a thread does not leave a call.
 */
enum rbwp_status running_set_level(int level, struct rbwp_error *error);

/* As rbwp_session_start, of a session that the program knows nothing of. */
enum rbwp_status running_start(const struct rbwp_session_config *config, struct rbwp_error *error);

/* Its file is whole when this returns. RBWP_E_STATE: no session. Else as rbwp_session_stop. */
enum rbwp_status running_stop(struct rbwp_session_summary *summary_out);

/* ---- who lets them (control.c) ---- */

struct session_control {
    /*
     * The program starts a session while none runs, or would at another level: listens, if the
     * configuration says so (at level 0, and with raised rights, only where it is asked for), and
     * keeps a copy of it for sessions that others start; what an earlier one said holds no more.
     * That nobody can listen (no memory, no descriptor) is no failure. RBWP_E_USAGE: wrong signals,
     * or a wrong file of settings.
     */
    enum rbwp_status (*begin)(const struct rbwp_session_config *config, struct rbwp_error *error);
    /* A session begins, whoever starts it. */
    void (*session_began)(void);
    /* The program has stopped its session: nobody listens any more, if not at level 0 as well.
     * True: nobody does, and nothing is carried out any more when this returns. */
    bool (*session_ended)(void);
    /* The process exits. Nothing is carried out any more when this returns. */
    void (*end)(void);
    /* In a forked child, where nobody listens. */
    void (*after_fork)(void);
};
/* The one: control.c sets it when the program starts a session; NULL before. */
extern const struct session_control *_Atomic session_control;
/* As rbwp_session_start, once it is set. */
enum rbwp_status running_start_program(const struct rbwp_session_config *config,
                                       struct rbwp_session **session_out, struct rbwp_error *error);

#endif /* RUNNING_H */
