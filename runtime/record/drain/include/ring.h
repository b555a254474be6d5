/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ring.h - the newest blocks of a session that keeps no others, in memory of the live file.
 *
 * What chunks became is put behind what is there, into segments; the segment
 * that was filled first is used again when there are as many as were asked
 * for, or when all in it is too old. So the ring needs no more memory the
 * longer the session runs, and is in the hands of the kernel: kill -9 leaves it
 * to rbwp repair. Written by the drain's writer thread alone, and never read
 * back here (format/recover_ring.h does that).
 * Calls are made between ring_hold's true and false, but for the first and last.
 */
#ifndef RING_H
#define RING_H

#include "live_layout.h"
#include "rbwp_writer.h"
#include "thread_registry.h"

struct ring;

/* The least that can be kept: a few segments, each with room for what any chunk becomes. */
#define RING_BYTES_MIN (UINT64_C(2) << 20)

/* The first segments are made now. keep_ns 0: not bounded by age. RBWP_E_MEMORY; RBWP_E_IO: there
 * is no room for them. */
enum rbwp_status ring_new(uint64_t keep_bytes, int64_t keep_ns, struct ring **ring_out);
/* The memory is the live file's, and stays as it is. */
void ring_free(struct ring *ring);

/* Between true and false the ring, and what is committed of it, stand still: for moments, and for
 * who changes it. */
void ring_hold(struct ring *ring, bool on);

/*
 * While somebody reads the ring, oldest first, what he has not passed yet should stay: a dump that
 * misses a segment behind one that it has would have a gap. One at a time reads; these are called
 * without ring_hold.
 */
void ring_read_begin(struct ring *ring);
void ring_read_passed(struct ring *ring, uint64_t number); /* segments up to this one */
void ring_read_end(struct ring *ring);
/* The segment that comes next is still to be read. Who waited for that long enough ends the
 * reading.
 */
bool ring_awaits_reader(const struct ring *ring);

/* What became of one chunk. */
struct ring_chunk {
    uint64_t ticket; /* from 1 */
    uint64_t thread_id;
    uint32_t table, rows; /* 0: it has records */
    uint64_t first_row;
    int64_t first_ns, last_ns;    /* of rows; those of records are the blocks' */
    const struct ring_open *open; /* what its thread had open when it began; NULL: not known */
    bool has_fine;                /* sub-items among its records */
    const struct rbwp_sealed_block *blocks;
    uint32_t block_count;
};
/* RBWP_E_LIMIT: larger than a segment. RBWP_E_IO: there is no segment. */
enum rbwp_status ring_add(struct ring *ring, const struct ring_chunk *chunk);

struct recover_cut;
/* A file has what came up to there: the ring begins behind it. The recording is cut into files, of
 * which the next one is this part. */
void ring_cut(struct ring *ring, const struct recover_cut *cut, uint32_t part);
/* Records and rows behind the last cut that are not there any more, without ring_hold. */
uint64_t ring_dropping(const struct ring *ring);
/* Bytes behind the last cut; and there is hardly room for more of them. */
uint64_t ring_bytes(const struct ring *ring);
bool ring_is_full(const struct ring *ring);

/* Lets go what has become too old by now, a time of the records. */
void ring_age(struct ring *ring, int64_t now_ns);

#endif /* RING_H */
