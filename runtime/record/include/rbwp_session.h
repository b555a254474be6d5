/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rbwp_session.h - start and stop profiling, and its flags.
 *
 * A session is the time from start to stop of profiling in this process; one
 * at a time. It owns the file, the chunks that recording threads fill, and a
 * writer thread. Sessions may follow each other, threads may come and go and
 * may be attached before, during and after sessions.
 *
 * No call here prints or exits, and the host program never waits for a disk
 * except in rbwp_session_stop.
 *
 * Ends that a program may come to while a session runs: exit stops it, or waits
 * for the thread that does so. After exec, quick_exit, _exit or a crash FILE and
 * FILE.live have all that was recorded, for rbwp repair. dlclose leaves the library
 * in memory, with the plugin that has the static one inside, and the session as it is. A
 * thread that is cancelled (deferred) ends after the call that it is in.
 *
 * A forked child has no session: its calls record nothing, the parent's records
 * are the parent's, and it may start a session of its own. So a program that
 * becomes a daemon starts its session after daemon(3); of one that was started
 * before, the parent's end leaves FILE and FILE.live as a crash does, and a
 * session that the daemon starts with the same FILE moves them aside. _Fork and
 * clone run no fork handlers: in their children sessions are refused, exit leaves
 * the parent's alone, and nothing must be recorded (nor after vfork).
 *
 * A program may close all descriptors, go to another directory or root, and change its user. The
 * library's descriptors are compared with what they were opened for before each use, and its files
 * are opened again by their names in FILE's folder, which is held from the start: nothing is lost
 * as long as FILE is there and may be opened, and no file of the program's is touched. What is
 * beside FILE (FILE.live, dumps, parts) stays there, also when the folder is renamed.
 *
 * What others may do to FILE meanwhile: a renamed one is written on under its
 * new name; of one that is cut the rest stays readable (rbwp repair); one that
 * is removed is lost. rbwp_session_stop reports the last two. In a folder that
 * cannot be written to, an existing FILE is recorded to without FILE.live. Its
 * owner must not cut FILE.live: it is mapped, and the process would get SIGBUS
 * (others cannot open it). The wall
 * clock may be set at any time: the records' times follow CLOCK_MONOTONIC.
 */
#ifndef RBWP_SESSION_H
#define RBWP_SESSION_H

#include "rbwp_format.h"

#include <string.h>

RBWP_C_BEGIN_

/* What a thread does when the cap on unwritten data is reached. */
enum rbwp_at_cap {
    RBWP_AT_CAP_WAIT =
        0, /* help the writer, then wait for it: nothing is lost while the writer makes progress */
    RBWP_AT_CAP_DROP = 1 /* drop and count */
};

#define RBWP_CAP_NONE UINT64_MAX

/* Whether this user may control the recording from outside (rbwp ctl), by a socket that a thread
 * of the library's sleeps at. */
enum rbwp_control {
    RBWP_CONTROL_RECORDING = 0, /* while a session runs */
    RBWP_CONTROL_NONE = 1,      /* -bgworkprofile_ctl 0 */
    RBWP_CONTROL_ALWAYS = 2 /* -bgworkprofile_ctl 1: from rbwp_session_start on, at level 0 too */
};

/* How a session records. Zero in a field means its default. */
struct rbwp_session_config {
    size_t size;          /* sizeof(struct rbwp_session_config) */
    int level;            /* -bgworkprofile 0|1|2: 0 off, 1 coarse, 2 coarse and fine */
    const char *logfile;  /* -bgworkprofile_logfile PATH: %, %n node, %r rank, %h host, %p pid, %j
                             job, %t part, %{VAR}, %% a percent sign; default "bgwork_%.bin" */
    uint64_t cap_bytes;   /* -bgworkprofile_bufsize MB: cap on recorded but unwritten data; default
                             1 GiB, RBWP_CAP_NONE (flag: 0) unlimited */
    int compression;      /* -bgworkprofile_compress 1..9; default 1 */
    bool stored;          /* -bgworkprofile_compress 0: not compressed */
    uint32_t block_bytes; /* -bgworkprofile_block KB; default 64 KiB */
    enum rbwp_at_cap at_cap; /* -bgworkprofile_drop 0|1 */
    bool strict;             /* -bgworkprofile_strict 0|1: nothing beyond version 1 in the file */
    uint64_t stall_ns; /* -bgworkprofile_stall MS: at the cap, give up (and count) after so long
                          without progress; default 1 s, 1 (flag: 0) at once */
    bool no_live; /* -bgworkprofile_live 0: without FILE.live, which has what is not written yet, so
                     that a crash of the process loses nothing */
    bool follow;  /* -bgworkprofile_follow 0|1: logfile may be a link to a file; else that is
                     refused, since whoever may write to the folder could have put it there */
    uint64_t sync_ns; /* -bgworkprofile_sync MS: fdatasync at most so often, against a power cut; 0
                         never */
    int64_t node;   /* -bgworkprofile_node N: node id; 0 and -1: from the launcher's variables, or 0
                       without them */
    bool own_node;  /* node is this process's id, if it is 0, too */
    uint32_t nodes; /* nodes in the job; 0 = from the launcher's variables, else 1 */
    /* -bgworkprofile_keep 64M|30s|64M,30s: a flight recorder. The newest data alone are kept, so
     * many bytes of the file (at least 2 MiB; default 1 GiB) and of so long (0: of any age), in
     * FILE.live or, with no_live, in memory: FILE gets them at the stop, others by
     * rbwp_session_dump. Both 0: all is kept. */
    uint64_t keep_bytes, keep_ns;
    /* -bgworkprofile_rule RULE,...: what is kept is dumped (rbwp_session_dump) when a call of a
     * work item lasted longer, "call:NAME>10ms", work for one waited longer, "queue:NAME>5ms"
     * (rbwp_queue.h), or a counter was larger, "counter:NAME>100" (rbwp_counter.h). Not more often
     * than -bgworkprofile_rule_every, default 60 s. */
    const char *rules;
    uint64_t rule_every_ns;
    enum rbwp_control control;
    const char *signals; /* -bgworkprofile_signal SIGNAL[=toggle|start|stop|pause|level|dump],...:
                            what signals do that the program does not use; toggle: start or stop */
    /* -bgworkprofile_rotate 1G|1h|1G,1h: a recording that is cut into files, each whole by itself,
     * when one has so many bytes (at least 2 MiB) or is so old. Their names are logfile's, with the
     * number of the part, from 1 or behind those that an earlier run has left, for %t, or
     * FILE.part-1 and so on without; while it is recorded FILE has 0, and gets its number at the
     * stop. */
    uint64_t rotate_bytes, rotate_ns;
    const char *settings; /* -bgworkprofile_settings FILE: flags, and what rbwp ctl says of slots,
                             one a line; rbwp_session_parse takes the flags, rbwp_session_start the
                             commands, rbwp ctl PID reload both anew */
    /* -bgworkprofile_children 0|1: a forked child records as its parent did, from its first record
     * on and until it exits, to a file of its own: with %p in logfile by that, else ".%p" stands
     * before its extension. What a child executes has it from RBWP_FLAGS. */
    bool children;
    bool live_in_memory; /* -bgworkprofile_live 2: FILE.live leads to a file in /dev/shm, so that no
                            recording call waits for a disk that stands still */
    bool no_cpu; /* -bgworkprofile_cpu 0: nothing of what calls that were switched out, and long
                    ones, did with their time: on a CPU, ready to run, switches, page faults (tables
                    call_cpu and thread_cpu) */
    uint64_t stacks_ns; /* -bgworkprofile_stacks 10ms: what calls and waits that are longer, and are
                           not over, are in: what they wait for, who holds it, their stacks (tables
                           open_call, stack_word and code_file). 0: not asked */
};

/* {.size = sizeof *config}, for who does not initialise it so. */
static inline void rbwp_session_defaults(struct rbwp_session_config *config)
{
    memset(config, 0, sizeof *config);
    config->size = sizeof *config;
}

/*
 * Reads the flags above, each also as --NAME and -ll:NAME and with its value behind a "=", from
 * RBWP_FLAGS in the environment and then from argv; what is recognised in argv is removed (argc
 * shrinks, argv stays NULL-terminated), and the rest is the program's. In RBWP_FLAGS a word that is
 * neither one of these flags nor one of rbwp_work_parse's is refused; in argv one that begins with
 * -bgworkprof and is none, as it would be misspelt. argc and argv may be NULL.
 * Strings in config then point into argv or the environment. RBWP_OK, or RBWP_E_USAGE with one
 * clear line in error; config is then unchanged.
 */
RBWP_API RBWP_MUST_USE enum rbwp_status rbwp_session_parse(struct rbwp_session_config *config,
                                                           int *argc, char **argv,
                                                           struct rbwp_error *error);

struct rbwp_session; /* opaque */

/*
 * Opens the file and begins to record. Level 0 is RBWP_OK with *session_out NULL.
 * RBWP_E_BUSY while another session runs; RBWP_E_USAGE for a wrong value (several nodes and
 * neither node nor process key in the name included); RBWP_E_IO when the file cannot be opened;
 * RBWP_E_MEMORY. On failure the program simply runs unprofiled: error says why in one line. Where
 * it records, error's text is empty, or says in one line what the user should know: that there can
 * be no FILE.live, so that a crash would lose what is not written; or that leftovers were removed.
 *
 * While the session runs, FILE.live lies beside the file (unless live is off), readable by its
 * owner alone; a clean stop removes it. One that a process left which died is moved, with its FILE,
 * to FILE.crashed-PID and FILE.crashed-PID.live (PID.2 and so on, where there is one), for rbwp
 * repair; to FILE.earlier-PID, if it is this process, which executed another program since.
 * There are at most 32 of each, which hold no more than the disk has free: the oldest go.
 * RBWP_E_BUSY if another process that lives records to FILE, by whatever name, or if a file that is
 * no live file of this user's has the name FILE.live. RBWP_E_IO if FILE is a link (see follow) or
 * belongs to another user than this one or root. A child whose parent has FILE waits for the
 * parent's end, up to a second. RBWP_E_STATE in a child made by _Fork, vfork or clone.
 */
RBWP_API RBWP_MUST_USE enum rbwp_status rbwp_session_start(const struct rbwp_session_config *config,
                                                           struct rbwp_session **session_out,
                                                           struct rbwp_error *error);

/*
 * Writes what a session that keeps its newest data (keep_bytes, keep_ns) has just now into a whole
 * file, and records on. path: a file that is not there yet; NULL: FILE.dump-1, or the next number
 * that is free. last_ns: data of about so long, 0 all that is kept. RBWP_E_STATE: it is no session
 * in progress of this process, or keeps all; RBWP_E_IO, RBWP_E_MEMORY: error has one line, and no
 * file is left. The program's threads go on meanwhile; this one waits for the file.
 */
RBWP_API RBWP_MUST_USE enum rbwp_status rbwp_session_dump(struct rbwp_session *session,
                                                          const char *path, uint64_t last_ns,
                                                          struct rbwp_error *error);

/* What a session came to. May grow at its end: summary_bytes says what the caller knows. */
struct rbwp_session_summary {
    char path[4096];  /* the file, with keys replaced; from the root, where the process has gone
                         elsewhere or the folder was renamed */
    uint64_t records; /* in the file */
    uint64_t blocks, bytes; /* in the file */
    uint64_t lost_records;  /* sum of all records lost, whatever the cause; those of an item that
                               found no memory also if it would have been elided */
    uint64_t misuse_calls;  /* calls refused */
    uint64_t discarded;     /* items that did no work and left no trace */
    uint64_t peak_bytes;    /* most recorded-but-unwritten data */
    uint64_t unprotected_bytes; /* of the memory for it, what a crash would have lost; all without
                                   live */
    uint64_t stop_ns;           /* time rbwp_session_stop took */
    struct rbwp_error error;    /* the first trouble with the file; status RBWP_OK if none: then
                                   its text is empty, or says which records were lost or which
                                   calls were refused, and what to do, or which rule has the
                                   name of nothing */
};

/*
 * Ends recording, takes the records of all threads, writes what is left, the tables and the
 * trailer, and frees the session. Threads may go on calling the recorder meanwhile: a call that
 * began before the stop is in the file, later ones find level 0. Blocks until the file is done, or
 * its disk has stood still for stall_ns (and 1 s): then RBWP_E_IO, the summary's error says how
 * many records are not on the disk, and the file is made whole when the disk goes on while the
 * process runs. Until then no other session starts.
 * Returns RBWP_OK or the first trouble with the file (the summary is filled either way).
 * RBWP_E_STATE, and the summary's error says which: it is stopped already, or being stopped, or it
 * belongs to the process that forked this one. RBWP_E_BUSY: a thread has been inside a
 * recording call for 10 s and does not wait for memory (rbwp_record.h: a signal handler left it by
 * longjmp); the session goes on, and may be stopped again when that thread has detached or ended.
 * NULL session is RBWP_OK with an empty summary. summary_out may be NULL. summary_bytes: its size
 * where the caller was compiled; what the caller knows and the library does not is 0.
 */
RBWP_API enum rbwp_status rbwp_session_stop_sized(struct rbwp_session *session,
                                                  struct rbwp_session_summary *summary_out,
                                                  size_t summary_bytes);
static inline enum rbwp_status rbwp_session_stop(struct rbwp_session *session,
                                                 struct rbwp_session_summary *summary_out)
{
    return rbwp_session_stop_sized(session, summary_out, sizeof *summary_out);
}

RBWP_C_END_
#endif /* RBWP_SESSION_H */
