/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rbwp_recover.h - what a program that died, or still runs, leaves: FILE and FILE.live.
 *
 * FILE.live holds the names, and the events that FILE does not have yet. Three
 * uses: look into it beside a reader (rbwp_live_open), follow both files while
 * they are written (rbwp_live_records_take), and make a whole file of both
 * (rbwp_recover). Either file may hold any bytes, be cut, be missing, or
 * change meanwhile; neither is ever written.
 *
 * Memory: what the log of the live file names (at most 32 MiB of names and as
 * much again of tables), 40 bytes for each chunk that holds unwritten events,
 * one chunk (of a program that runs: a copy of all unwritten events), and what a
 * reader and an encoder need. It does not grow with FILE.
 *
 * Threads: different calls are independent, one object is used by one thread
 * at a time. No call prints, exits or keeps a global.
 */
#ifndef RBWP_RECOVER_H
#define RBWP_RECOVER_H

#include "rbwp_format.h"
#include "rbwp_reader.h"
#include "rbwp_writer.h"

RBWP_C_BEGIN_

/* ---- a look into FILE.live ------------------------------------------------------------ */

struct rbwp_live; /* opaque */

/*
 * Reads the log of a live file as it is now. RBWP_OK; RBWP_E_IO, RBWP_E_MEMORY; RBWP_E_TRUNCATED
 * (its process died before it had written the head, and before it recorded anything),
 * RBWP_E_NOT_RBWP, RBWP_E_VERSION, RBWP_E_UNSUPPORTED (the other byte order), RBWP_E_CORRUPT. On
 * success *live_out is the caller's until rbwp_live_close.
 */
RBWP_API RBWP_MUST_USE enum rbwp_status
rbwp_live_open(const char *path, struct rbwp_live **live_out, struct rbwp_error *error);
RBWP_API void rbwp_live_close(struct rbwp_live *live);

/* What is known so far; valid until close. The trailer's record counts and index are 0. */
RBWP_API const struct rbwp_tables *rbwp_live_tables(const struct rbwp_live *live);
RBWP_API const struct rbwp_trailer *rbwp_live_trailer(const struct rbwp_live *live);

/*
 * What was recorded and is in neither file, as its process counted it. All zeros: both have all
 * that was recorded. The trailer's losses have the records of it, too.
 */
struct rbwp_live_missing {
    uint64_t lost_records;      /* never got memory: at the cap, or because there was none; and GPU
                                   work that was not seen to complete */
    uint64_t unwritten_records; /* there was no room for them in FILE, or it could not be written */
    uint64_t unwritten_blocks;  /* likewise, of extensions */
    /* Of memory in use that is not in FILE.live because there was no room; it is gone with its
     * process. How many records it has is not known: at most so many. */
    uint64_t unprotected_bytes, unprotected_records_most;
    /* Of the log, which had no room: starts and ends of names and of threads. */
    uint64_t unlogged_names, unlogged_threads;
};
RBWP_API struct rbwp_live_missing rbwp_live_count_missing(const struct rbwp_live *live);

/* True when it was written beside a file with this header. */
RBWP_API bool rbwp_live_belongs(const struct rbwp_live *live,
                                const struct rbwp_file_header *header);
/* True when the process that writes it is alive: it holds a lock on it. */
RBWP_API bool rbwp_live_is_written(const struct rbwp_live *live);

/*
 * Gives a reader the live file's tables and trailer, for as long as its own file has none.
 * live must outlive the reader; NULL takes it back. False if it does not belong.
 */
RBWP_API bool rbwp_reader_set_live(struct rbwp_reader *reader, const struct rbwp_live *live);

/* ---- what FILE does not have yet -------------------------------------------------------- */

/*
 * The records in a live file as of one moment, while its process goes on. Of each thread they are
 * those that follow on its blocks in the first rbwp_live_records_file_bytes of FILE, none missing
 * in the middle and none twice.
 */
struct rbwp_live_records; /* opaque */

/*
 * RBWP_OK; RBWP_E_IO, RBWP_E_MEMORY, RBWP_E_CORRUPT; RBWP_AGAIN (the process wrote FILE all the
 * time, so that there was no moment to look). On success *records_out is the caller's until
 * rbwp_live_records_free; it does not need live any more.
 */
RBWP_API RBWP_MUST_USE enum rbwp_status
rbwp_live_records_take(struct rbwp_live *live, struct rbwp_live_records **records_out,
                       struct rbwp_error *error);
RBWP_API void rbwp_live_records_free(struct rbwp_live_records *records);

RBWP_API uint64_t rbwp_live_records_file_bytes(const struct rbwp_live_records *records);
/* How many records could not be written to FILE by then, and are in neither. */
RBWP_API uint64_t rbwp_live_records_unwritten(const struct rbwp_live_records *records);

struct rbwp_live_record {
    uint64_t thread_id;
    uint64_t ticks; /* see rbwp_live_time_ns */
    /* Of a call that had not ended: as long as its process lives it is elided if the call turns
     * out to have done nothing. */
    bool open;
    struct rbwp_record record; /* without its time */
};

/* The next one: thread by thread, each in order. False behind the last. */
RBWP_API bool rbwp_live_records_next(struct rbwp_live_records *records,
                                     struct rbwp_live_record *record_out);

/* When that was, by what the live file knew of the clock when it was opened: open one after the
 * records were taken. FILE may have it a little differently later. */
RBWP_API int64_t rbwp_live_time_ns(const struct rbwp_live *live, uint64_t ticks);

/* ---- a whole file ---------------------------------------------------------------------- */

/* What the writer's name ends with in a file that was made of what a process left that did not end
 * its session (SPEC.md 10.3). */
#define RBWP_WRITER_RECOVERED ", recovered"

/* What was kept and what was lost; may grow at its end. Numbers are of FILE as far as it counts,
 * see committed_bytes. */
struct rbwp_recover_result {
    bool unchanged;  /* FILE is whole and was copied, byte for byte; live data are not needed */
    bool has_file;   /* FILE has a header; false: the result is of the live file alone */
    bool finalised;  /* FILE has its own tables, so the live file is not used */
    bool has_live;   /* the live file was used */
    bool live_empty; /* it has no head: nothing had been recorded; FILE is taken alone */
    bool is_written; /* its process still runs: the result is a snapshot */

    uint64_t file_bytes;
    uint64_t committed_bytes; /* what FILE should have by the live file's word; 0 without one */
    uint64_t kept_blocks, kept_records, kept_bytes; /* copied as stored, opaque blocks included */
    uint64_t damaged_places, damaged_bytes;         /* dropped, a cut last block included */
    uint64_t damaged_records;   /* in them, as far as block headers could be believed */
    bool tail_damaged;          /* tables or trailer of FILE could not be read, or not all */
    uint64_t missing_bytes;     /* committed, but FILE is shorter */
    uint64_t uncommitted_bytes; /* dropped: the live file has what they hold */

    uint64_t chunks, live_blocks, live_records; /* recovered from the live file */
    uint64_t live_rows;                         /* the same, of tables */
    uint64_t damaged_chunks;          /* with an event that cannot be; those before it were taken */
    uint64_t moved_chunks;            /* drained during recovery; in neither part */
    uint64_t damaged_entries;         /* of the log */
    bool no_clock_sample;             /* times of the recovered records are guessed */
    struct rbwp_live_missing missing; /* with has_live: what it says is in neither file */

    uint32_t threads, work_items, sub_items; /* named in the result */
    bool names_unknown;                      /* neither file has them */
    uint64_t dropped_names; /* table entries dropped: out of range, given twice, or too many */

    uint64_t bytes, blocks, records; /* of the result */

    bool lost; /* something is missing that had been recorded, or may be */
};

/* True when something is missing that had been recorded, or may be. */
static inline bool rbwp_recover_lost(const struct rbwp_recover_result *result)
{
    return result->lost;
}

/* Called for each problem of FILE that was met, in order. Valid during the call. */
typedef void rbwp_recover_callback(void *context, const struct rbwp_problem *problem);

/*
 * Writes a finalised file to sink: the good blocks of FILE as they are stored, blocks of the
 * events that only the live file has, and tables and trailer. A file that is whole already is
 * copied byte for byte, so recovering a result gives the same bytes.
 *
 * path: FILE; it may be missing or without header if there is a live file. live_path: NULL if
 * there is none. With a live file only the blocks are taken from FILE that it says are whole;
 * without, all that are valid, also behind damage. callback may be NULL.
 *
 * RBWP_OK and *result_out, or: RBWP_E_NOT_RBWP, RBWP_E_TRUNCATED (FILE, nothing there),
 * RBWP_E_VERSION (FILE has a part that must be understood and is not), those of rbwp_live_open but
 * RBWP_E_TRUNCATED, RBWP_E_INVALID (the live file belongs to another file), RBWP_E_IO,
 * RBWP_E_MEMORY, RBWP_E_LIMIT (tables too large), RBWP_AGAIN (a program that runs wrote FILE all
 * the time, so that there was no moment to look), or what the sink returned. What was written until
 * then is useless.
 */
RBWP_API RBWP_MUST_USE enum rbwp_status
rbwp_recover_sized(const char *path, const char *live_path, const struct rbwp_sink *sink,
                   rbwp_recover_callback *callback, void *context,
                   struct rbwp_recover_result *result_out, size_t result_bytes,
                   struct rbwp_error *error);
/* It gives the result's size where the caller was compiled. */
static inline RBWP_MUST_USE enum rbwp_status
rbwp_recover(const char *path, const char *live_path, const struct rbwp_sink *sink,
             rbwp_recover_callback *callback, void *context, struct rbwp_recover_result *result_out,
             struct rbwp_error *error)
{
    return rbwp_recover_sized(path, live_path, sink, callback, context, result_out,
                              sizeof *result_out, error);
}

RBWP_C_END_
#endif /* RBWP_RECOVER_H */
