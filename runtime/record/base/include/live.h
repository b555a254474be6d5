/* SPDX-License-Identifier: Apache-2.0 */
/*
 * live.h - writes FILE.live (live_layout.h), so that a process that dies loses nothing.
 *
 * The chunks of the session lie in FILE.live's segments: recording into them
 * costs what recording into any memory costs. Names, threads and clock samples
 * are added to its log as they become known. There is at most one live file in
 * a process; calls that add to it do nothing while there is none.
 *
 * Losing the live file (no space, no permission) never stops the recording.
 */
#ifndef LIVE_H
#define LIVE_H

#include "held.h"
#include "live_layout.h"

/* What the head says of the session. */
struct live_facts {
    int64_t zero_time_ns, offset_ns;
    uint32_t node, nodes, level, clock_kind;
    uint32_t chunk_bytes, chunk_head_bytes;
    uint64_t ticks_per_second, cap_bytes;
};

/*
 * Takes FILE.live (output_lock.h), empty and locked, which is closed or kept in each case, and
 * stands in this folder under this name; NULL: in none, it is memory. The folder outlives it.
 * False, and the file is removed, if there is no room for it, as errno says.
 */
bool live_open(int fd, struct held *folder, const char *name);
/* Writes the head; from here on a crash can be recovered from. */
void live_begin(const struct live_facts *facts);
/* Unmaps and, if the file is whole, removes it. */
void live_close(bool whole);
/* A descriptor to read it by, which is the caller's. Of a file that the program has closed, and
 * that is not found by its name any more, it leads to a copy: all of it is in memory. Nothing may
 * be added to the ring meanwhile. -1 with errno: there is none. */
int live_open_to_read(void);
/* In a forked child: the parent's live file is let go. */
void live_after_fork(void);

/* A new segment of so many zeros, whole units of LIVE_UNIT_BYTES, mapped until live_close, and
 * where in the file it is (NULL: not wanted); NULL if there is none to be had. */
uint8_t *live_segment(enum live_segment_kind kind, uint32_t bytes, uint64_t *offset_out);

/* So many bytes of a segment, whole pages that nobody has used, are to be in memory. */
void live_fill(uint64_t offset, size_t bytes);

/* FILE is good up to file_bytes and holds all chunks up to ticket. One thread at a time. */
void live_commit(uint64_t file_bytes, uint64_t ticket);

/* What the head says of the ring. The writer thread, or before it runs. */
void live_set_ring(const struct live_ring_facts *facts);
/* The part of the recording that is being recorded; 0: it is not cut. */
uint32_t live_part(void);

/* Adds an entry: head_bytes of head, then name_bytes of name. Any thread. */
void live_log(enum live_entry_kind kind, const void *head, size_t head_bytes, const char *name,
              size_t name_bytes);
/*
 * Writes the log anew, when it has become much longer than what it says: after begin whoever knows
 * a fact adds it again, at end the old log goes. False: there is no need, or no room. One thread at
 * a time.
 */
bool live_relog_is_due(void);
bool live_relog_begin(void);
void live_relog_end(void);
/* To be called after each entry that may be one of many, with no lock held. */
void live_relog_if_due(void);
/* What it calls (live_relog.c): the same function of every session, set before its file is opened.
 */
extern void (*_Atomic live_relogs)(void);
/* Facts that are not in it. */
void live_count_unlogged(enum live_entry_kind kind, uint64_t entries);
/* live_log unless somebody else is adding one just now: for recording threads, which never wait. */
void live_try_log(enum live_entry_kind kind, const void *head, size_t head_bytes);

/* The clock now. The writer thread. */
void live_sample(const struct rbwp_clock_sample *sample);

/*
 * What a crash could not give back, counted as it happens. Whoever counts is inside a recording
 * call, or ends before live_close.
 */
void live_count_unwritten(uint64_t records);
void live_count_lost(enum rbwp_loss_cause cause, uint64_t count);
/* A chunk whose memory is not in the live file is handed out, or comes back empty. */
void live_count_unprotected(bool handed_out);

#endif /* LIVE_H */
