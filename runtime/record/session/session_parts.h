/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_parts.h - what a session is made of: FILE and FILE.live, writer, pool, drain. Who runs
 * and who ends it is in session.c.
 */
#ifndef SESSION_PARTS_H
#define SESSION_PARTS_H

#include "chunk_encoder.h"
#include "drain.h"
#include "folder.h"
#include "job.h"
#include "output.h"
#include "rbwp_recover.h"
#include "rbwp_session.h"
#include "recording.h"
#include "session_config.h"

struct rbwp_session {
    struct session_settings settings;
    struct recording recording;
    struct shared_timeline timeline;
    struct folder folder; /* of FILE, and of all files beside it */
    struct output output;
    bool has_live;
    unsigned leftovers_removed;
    int live_errno;       /* why there is none beside FILE; 0: there is, or none was wanted */
    struct ring *ring;    /* NULL: all is kept */
    uint32_t part;        /* of the next file that the recording is cut into; 0: it is not */
    uint64_t cut_dropped; /* records and rows that no part has */
    struct rbwp_error cut_error; /* why the last one could not be written that could not */
    bool cut_fails;              /* that was the last one; guarded by session.c, like cut_error */
    uint32_t number;             /* in the name of that file; 0: not known yet */
    char path_1[4096];           /* summary.path with 1 for the part's number, where that has 0 */
    uint32_t dumps;              /* the last number of one that was tried */
    bool was_raised;             /* the level, to 2: the file's header says 1 */
    bool unfinished;             /* not even the tables could be written */
    struct chunk_keeper *keeper;
    struct rbwp_writer *writer;
    struct rbwp_job_facts job;
    uint32_t node, nodes;
    int64_t start_ns, stop_ns;
    int64_t ended_ns; /* before stop_ns; 0: not yet; atomic, for parts that are cut meanwhile */
    int64_t zero_ns;  /* what the file calls 0 */
    struct rbwp_session_summary summary;
    struct rbwp_recover_result kept; /* FILE, with a ring */
};

/* Without its parts. NULL without memory. */
struct rbwp_session *session_new(const struct session_settings *settings);
/* Closes FILE if it is open. FILE.live goes when FILE has its tables, else it stays for rbwp
 * repair.
 */
void session_free(struct rbwp_session *session);

/* In this order. Which node this is, and the name of FILE. */
enum rbwp_status session_find_node(struct rbwp_session *session, struct rbwp_error *error);
/* FILE and FILE.live, without which the session goes on: only a crash would show it. RBWP_E_BUSY:
 * somebody writes that file. */
enum rbwp_status session_open_files(struct rbwp_session *session, struct rbwp_error *error);
/* All other parts, but not the level. */
enum rbwp_status session_assemble(struct rbwp_session *session, struct rbwp_error *error);

/* Tables, trailer and patched header; what went wrong is in the summary. */
void session_finish_file(struct rbwp_session *session, const struct drain_totals *totals);
/* The path of the next part, of which there is no file yet. False with errno: it has none. */
bool session_part_path(struct rbwp_session *session, char *path_out, size_t room);
void session_summarise(struct rbwp_session *session, const struct drain_totals *totals);

/* ---- forked children ------------------------------------------------------------------------- */

/*
 * A forked child records as its parent did (-bgworkprofile_children), into a file of
 * its own.
 *
 * Most children only execute another program, so that the session begins with the first record: in
 * the child the level is the parent's though nothing records, and whoever needs a chunk begins it
 * (recording_is_there).
 */

/* The program starts a session, now or by others: what its children are to do. */
void fork_child_note(const struct rbwp_session_config *config);

/* In a forked child: its level. It records if its parent did, or was to do so from its first record
 * on, as a daemon that forks its workers at once. */
int fork_child_forked(bool parent_recorded);

/* The child starts a session of its own accord: nothing is waited for any more. */
void fork_child_forget(void);

/* ---- a shorter log --------------------------------------------------------------------------- */

/*
 * Keeps the live file's log from growing for ever.
 *
 * Threads and names of slots come and go, and each is two entries. When the log has become much
 * longer than what is still to be said, all of that is said again and the old log goes.
 */

/* Another log, if it is time. No lock is held. */
void live_relog(void);

#endif /* SESSION_PARTS_H */
