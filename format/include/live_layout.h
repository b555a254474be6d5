/* SPDX-License-Identifier: Apache-2.0 */
/*
 * live_layout.h - the form of FILE.live, the memory of a recording process beside its file.
 *
 * FILE.live is mapped shared by the recording process, so what is stored there
 * is in the hands of the kernel as soon as the store has happened, and
 * survives the death of the process (not of the machine). It holds what FILE
 * does not have yet: the events that were not written, and the names, threads
 * and clock samples that FILE gets only at its end.
 *
 * It is memory, not an interchange format: byte order and word size are the
 * machine's, and the version changes freely. Everything in it is untrusted to
 * a reader: the process may have died anywhere, or run wild.
 *
 *     offset 0             struct live_head
 *     LIVE_SAMPLES_OFFSET  the clock: struct live_sample [LIVE_SAMPLE_LEVELS][LIVE_SAMPLE_PLACES]
 *     LIVE_TABLE_OFFSET    struct live_segment for each segment, by number
 *     LIVE_HEAD_BYTES      segments
 *
 * The table says where each segment lies and how long it is. Their offsets go
 * up with their numbers; an entry of kind LIVE_NONE has no segment (yet).
 *
 * A chunk segment is an array of chunks of chunk_bytes; each is a struct
 * live_chunk_head and event words. A chunk whose first word is 0 is empty.
 * Its events end at the first 0 word where an event should begin.
 * A chunk whose head names a table has rows of it instead, one behind the
 * other from its first word on, a word a cell; the head says how many.
 * A chunk was written to FILE already if its ticket is not 0 and at most the
 * committed one; FILE holds whole blocks up to the committed size.
 *
 * A log segment is a sequence of struct live_entry, each followed by its
 * payload, padded to 8 bytes; it ends at an entry of 0 bytes or at the
 * segment's end. The log goes on in the next log segment by number. When it has
 * grown much longer than what it says, it is written anew, into segments with
 * higher numbers; then log_first names the first of them, and the disk gets the
 * room of the others back. A log that was being written anew says some things
 * twice; a slot's use is known by the time of its begin.
 *
 * Where the newest data alone are kept, FILE has no blocks before its end: they are in the ring. A
 * ring segment is a struct live_ring_head and entries of live_ring_entry, each with the blocks that
 * one chunk became, a struct live_ring_block and the bytes as FILE gets them (padded to 8 bytes).
 * Segments are filled one after the other, and the one that was filled first is used again when
 * there are enough. An entry counts if its ticket is committed.
 *
 * Clock samples are numbered from 0. Number n stands on the highest level for
 * which n is a multiple of LIVE_SAMPLE_STEP^level, in place n / LIVE_SAMPLE_STEP^level
 * modulo LIVE_SAMPLE_PLACES of it: the last half minute is known second by
 * second, and what lies further back the less densely the older it is, in room
 * that does not grow. A sample whose check is wrong was being written.
 *
 * The writer stores into this file and reads nothing back: whoever changes it
 * spoils what a recovery finds, and the times and names of events, but cannot
 * lead the recording process astray.
 */
#ifndef LIVE_LAYOUT_H
#define LIVE_LAYOUT_H

#include "rbwp_format.h"

#define LIVE_MAGIC "RBWPLIVE"
#define LIVE_VERSION 4u
#define LIVE_VERSION_MIN 2u /* 2 is without rows, 3 without a ring: like one that has none */
#define LIVE_BYTE_ORDER 0x01020304u
#define LIVE_SAMPLES_OFFSET 4096u
#define LIVE_SAMPLE_LEVELS 8u
#define LIVE_SAMPLE_PLACES 32u /* of each level */
#define LIVE_SAMPLE_STEP 8u
#define LIVE_TABLE_OFFSET 65536u
#define LIVE_SEGMENTS_MAX 65536u
/* Whole units of LIVE_UNIT_BYTES, as all segments are: whole pages everywhere. */
#define LIVE_HEAD_BYTES (LIVE_TABLE_OFFSET + LIVE_SEGMENTS_MAX * 16u)
#define LIVE_UNIT_BYTES 65536u
#define LIVE_SEGMENT_BYTES_MAX (4u << 20)

enum live_segment_kind { LIVE_NONE = 0, LIVE_CHUNKS = 1, LIVE_LOG = 2, LIVE_RING = 3 };

struct live_segment {
    uint64_t offset; /* in the file */
    uint32_t bytes;
    uint32_t kind; /* enum live_segment_kind; written last */
};

/* How far FILE is good. Two of them, the one that counts is named by commit_index. */
struct live_commit {
    uint64_t file_bytes; /* whole blocks end here */
    uint64_t ticket;     /* of the last chunk in it, counted from 1 */
};

/*
 * What neither FILE nor this file has, counted where it happens. unprotected_chunks are those
 * handed out just now whose memory is not in this file: what is in them dies with the process.
 */
#define LIVE_ENTRY_KINDS 16 /* room for more than there are */
#define LIVE_CAUSES 32
struct live_counts {
    uint64_t unwritten_records; /* that FILE had no room for, or could not be written to it */
    uint64_t unwritten_blocks;  /* of extensions, likewise */
    uint64_t unprotected_chunks, unprotected_chunks_most; /* now, and at any time */
    uint64_t unlogged[LIVE_ENTRY_KINDS]; /* log entries that there was no room for, by kind */
    uint64_t lost[LIVE_CAUSES];          /* by enum rbwp_loss_cause, all threads together */
};

/* Of the counts, what those other files have. */
struct live_told {
    uint64_t unwritten_records;
    uint64_t lost[LIVE_CAUSES];
};

/* What the ring is to keep, and all that ever came into it. All 0: there is none. */
struct live_ring_facts {
    uint64_t keep_bytes, keep_ns; /* 0: not bounded by that */
    uint64_t records, rows, bytes;
    int64_t latest_ns;
    /* Entries up to this ticket are in other files, which had so much; the next file is this part
     * of the recording, 0: it is not cut. */
    uint64_t cut_ticket, cut_records, cut_rows, cut_bytes;
    uint32_t part;
    uint32_t unused;
    struct live_told told;
};

struct live_head {
    char magic[8];
    uint32_t version;
    uint32_t byte_order; /* LIVE_BYTE_ORDER as the writer's machine stores it */
    uint32_t chunk_bytes;
    uint32_t chunk_head_bytes;
    uint64_t process_id;
    int64_t zero_time_ns; /* as in FILE's header: says that the two belong together */
    int64_t offset_ns;    /* record time = CLOCK_MONOTONIC + this */
    uint32_t node;
    uint32_t level;
    uint32_t nodes;
    uint32_t clock_kind; /* enum rbwp_clock_kind */
    uint64_t ticks_per_second;
    uint64_t cap_bytes;
    struct live_commit commit[2];
    uint32_t commit_index; /* 0 or 1; written after the commit it names */
    uint32_t log_first;    /* log segments with lower numbers do not count any more */
    struct live_counts counts;
    struct live_ring_facts ring;
};

struct live_sample {
    struct rbwp_clock_sample sample;
    uint64_t check; /* live_sample_check; 0 with ticks 0: none */
};

static inline uint64_t live_sample_check(const struct rbwp_clock_sample *sample)
{
    uint64_t sum = 0x6b6f6c6353414d50u;
    sum = (sum ^ sample->ticks) * 0x9e3779b97f4a7c15u;
    sum = (sum ^ (uint64_t)sample->time_ns) * 0x9e3779b97f4a7c15u;
    sum = (sum ^ (uint64_t)sample->monotonic_ns) * 0x9e3779b97f4a7c15u;
    return (sum ^ (uint64_t)sample->realtime_ns) * 0x9e3779b97f4a7c15u;
}

/* An event is one word, 0 = none: kind (3 bits), id (16 bits), ticks since the chunk's base (45).
 */
#define LIVE_EVENT_KIND_BITS 3
#define LIVE_EVENT_TIME_SHIFT 19
#define LIVE_EVENT_TIME_BITS 45
enum live_event_kind {
    LIVE_EVENT_BEGIN = 1, /* id: slot */
    LIVE_EVENT_END = 2,
    LIVE_EVENT_FINE_BEGIN = 3, /* id: sub-item */
    LIVE_EVENT_FINE_END = 4,
    LIVE_EVENT_GPU = 5 /* id: slot; three words follow: processor id, start, stop */
};

/* ---- an event taken apart: for who reads chunks, in memory and in the file ---- */

static inline unsigned live_event_kind(uint64_t word)
{
    return (unsigned)(word & ((1u << LIVE_EVENT_KIND_BITS) - 1));
}
/* The kind of record that an event is; 0: no event is such a word. */
static inline uint8_t live_event_record_kind(uint64_t word)
{
    static const uint8_t kinds[1u << LIVE_EVENT_KIND_BITS] = {
        [LIVE_EVENT_BEGIN] = RBWP_COARSE_BEGIN,    [LIVE_EVENT_END] = RBWP_COARSE_END,
        [LIVE_EVENT_FINE_BEGIN] = RBWP_FINE_BEGIN, [LIVE_EVENT_FINE_END] = RBWP_FINE_END,
        [LIVE_EVENT_GPU] = RBWP_GPU_WORK,
    };
    return kinds[live_event_kind(word)];
}
/* Words of an event that is GPU work; all others have one. */
#define LIVE_GPU_EVENT_WORDS 4
static inline uint16_t live_event_id(uint64_t word)
{
    return (uint16_t)(word >> LIVE_EVENT_KIND_BITS);
}
/* After the chunk's first ticks. */
static inline uint64_t live_event_ticks(uint64_t word)
{
    return word >> LIVE_EVENT_TIME_SHIFT;
}

/* The head of a chunk, as far as it means anything outside its process. 64 bytes. */
struct live_chunk_head {
    uint64_t thread_id;
    uint64_t base_ticks;
    uint64_t ticket; /* 0 until the writer takes the chunk */
    uint32_t table;  /* 0: it has events */
    uint32_t columns;
    uint64_t rows;         /* so many are whole; written last */
    uint64_t tick_columns; /* bit c: cells of column c are ticks, not ns; 0 stands for 0 */
    uint64_t unused[2];
};

/* ---- the ring ---- */

struct live_ring_head {
    uint64_t number; /* of its filling, from 1 on; 0: there is nothing in it */
    uint32_t bytes;  /* of whole entries behind it; written last */
    uint32_t unused[13];
};

/* What a thread had open when a chunk began: its begins, the outermost first. */
#define LIVE_RING_OPEN_MAX 8
struct live_ring_open {
    int64_t begin_ns;
    uint16_t kind; /* RBWP_COARSE_BEGIN or RBWP_FINE_BEGIN */
    uint16_t id;   /* slot or sub-item */
    uint32_t unused;
};

struct live_ring_entry {
    uint32_t bytes; /* of all of it, a multiple of 8 */
    uint32_t blocks;
    uint64_t ticket; /* of the chunk, as in live_commit */
    uint64_t thread_id;
    int64_t first_ns, last_ns; /* of its records, or rows */
    uint64_t records;
    uint32_t table, rows; /* 0: it has records */
    uint64_t first_row;
    /* Of all entries before it, kept or not. */
    uint64_t records_before, rows_before, bytes_before;
    int64_t latest_before_ns;
    uint16_t open_count;
    uint16_t has_fine;    /* 1: sub-items among its records */
    uint32_t block_bytes; /* of its blocks, padding not counted */
    struct live_ring_open open[LIVE_RING_OPEN_MAX];
};

struct live_ring_block {
    uint32_t bytes; /* of the block, padding not counted */
    uint32_t records;
    int64_t first_ns, last_ns;
    uint32_t crc32c; /* of the bytes */
    uint32_t unused;
};

#define LIVE_COMMAND_BYTES_MAX 4096u

struct live_entry {
    uint32_t bytes; /* of entry and payload, padding not counted; written last */
    uint32_t kind;  /* enum live_entry_kind */
};

enum live_entry_kind {
    LIVE_SLOT_BEGIN = 1, /* i64 from (CLOCK_MONOTONIC ns), u16 slot, name to the end */
    LIVE_SLOT_END = 2,   /* i64 to, u16 slot */
    LIVE_SUB_ITEM = 3,   /* u16 id, u16 type, name to the end */
    LIVE_THREAD = 4, /* u64 thread, u64 os id, i64 attached (CLOCK_MONOTONIC ns), name to the end;
                        again for the same thread: renamed */
    LIVE_THREAD_END = 5,  /* u64 thread, i64 detached */
    LIVE_SAMPLE = 6,      /* struct rbwp_clock_sample */
    LIVE_LOSS = 7,        /* u64 thread, u64 count so far, u64 first and last ticks, u32 cause, u32
                             part, in which all of this is */
    LIVE_PROCESS = 8,     /* 16 bytes boot id, i64 start, title to the end: see SPEC.md, 10.12 */
    LIVE_HOST = 9,        /* the host's name */
    LIVE_SCHEMA = 10,     /* of a table: as in FILE, behind the tag; may come again */
    LIVE_NAME = 11,       /* for cells: u32 number, name to the end; may come again */
    LIVE_JOB = 12,        /* u32 what, i64 number, text to the end: see SPEC.md, 10.14 */
    LIVE_NODE_CLOCK = 13, /* struct rbwp_node_clock; may come again */
    LIVE_KIND = 14,       /* of a sub-item: u16 id, u16 flags, name to the end; may come again */
    LIVE_COMMAND = 15     /* its arguments, each but the last one ended by a zero byte */
};

#endif /* LIVE_LAYOUT_H */
