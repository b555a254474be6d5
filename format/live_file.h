/* SPDX-License-Identifier: Apache-2.0 */
/*
 * live_file.h - the bytes of a FILE.live: head, log entries, chunks, events.
 *
 * Knows the form (live_layout.h) and trusts none of it. What entries and events
 * mean is left to live_records.h and recover.c.
 */
#ifndef LIVE_FILE_H
#define LIVE_FILE_H

#include "live_layout.h"

#include <sys/types.h>

struct live_file {
    int fd;
    bool is_own;  /* of this process, which writes it: nobody's lock has to be asked */
    dev_t device; /* what the descriptor leads to */
    ino_t inode;
    struct live_head head;
    struct live_commit commit; /* the last one that was read */
};

/*
 * Opens by name and checks the head. On failure, as rbwp_live_open says, nothing is open.
 */
enum rbwp_status live_file_open(struct live_file *live, const char *path, struct rbwp_error *error);
/* The same of a descriptor, which is taken over; below 0, errno says why. */
enum rbwp_status live_file_take(struct live_file *live, int fd, struct rbwp_error *error);
/* False: the program that it is read in has closed the descriptor, and may have got its number for
 * a file of its own. That is not closed. */
bool live_file_is_still(const struct live_file *live);
void live_file_close(struct live_file *live);

/* Reads the commit anew. RBWP_E_IO, RBWP_E_CORRUPT; live->commit is then as it was. */
enum rbwp_status live_file_commit(struct live_file *live, struct rbwp_error *error);

/* True when a process that lives writes it. */
bool live_file_is_locked(const struct live_file *live);

bool live_file_belongs(const struct live_file *live, const struct rbwp_file_header *header);

/* What is counted there now; zeros if it cannot be read. */
struct live_counts live_file_counts(const struct live_file *live);

/* What its head says of the ring now; zeros if it cannot be read. */
struct live_ring_facts live_file_ring_facts(const struct live_file *live);
/* Hands out the ring's segments. False stops. RBWP_E_IO. */
typedef bool live_segment_fn(void *context, const struct live_segment *segment);
enum rbwp_status live_file_ring(const struct live_file *live, live_segment_fn *found, void *context,
                                struct rbwp_error *error);
/* Bytes as they are now; how many, fewer where the file ends or cannot be read. */
size_t live_file_read(const struct live_file *live, uint64_t offset, void *to, size_t count);

#define LIVE_FILE_SAMPLES_MAX (LIVE_SAMPLE_LEVELS * LIVE_SAMPLE_PLACES)
/* The clock's samples that are whole, by their ticks; as many as are returned. */
uint32_t live_file_samples(const struct live_file *live, struct rbwp_clock_sample *samples_out);

/* ---- log ------------------------------------------------------------------------------ */

/* A whole entry: count bytes of payload. Valid during the call. False stops the reading. */
typedef bool live_entry_fn(void *context, uint32_t kind, const uint8_t *payload, size_t count);

/*
 * Hands out all entries, in order. *damaged_out counts segments that cannot be or were cut, and
 * places where the rest of one had to be dropped. RBWP_E_IO, RBWP_E_MEMORY.
 */
enum rbwp_status live_file_log(const struct live_file *live, live_entry_fn *entry, void *context,
                               uint64_t *damaged_out, struct rbwp_error *error);

/* ---- chunks --------------------------------------------------------------------------- */

struct live_chunk {
    uint64_t thread_id, base_ticks, ticket;
    uint64_t offset; /* in the file */
    uint32_t table;  /* 0: it has events. Else rows of it, one behind the other, as words */
    uint32_t columns;
    uint64_t rows;
    uint64_t tick_columns; /* bit c: cells of column c are ticks */
};

/* Chunks with events or rows that are not in FILE, of each thread in the order of their times. */
struct live_chunks {
    struct live_chunk *list;
    size_t count, capacity;
    uint64_t left_out; /* beyond LIVE_CHUNKS_MAX */
};
#define LIVE_CHUNKS_MAX (1u << 22) /* 256 GiB of chunks of the usual size */

/* Uses live->commit. Segments that cannot be are passed over. RBWP_E_IO, RBWP_E_MEMORY. Free the
 * list in each case. */
enum rbwp_status live_file_chunks(const struct live_file *live, struct live_chunks *chunks_out,
                                  struct rbwp_error *error);
void live_chunks_free(struct live_chunks *chunks);

/*
 * Reads a chunk's words into words, which has room for live_chunk_words. *count_out is how many
 * are there. False when the chunk is no longer the one that was listed: its process went on.
 */
size_t live_chunk_words(const struct live_file *live);
/* Its head as it is now; false when the chunk is no longer that one. */
bool live_chunk_look(const struct live_file *live, const struct live_chunk *chunk,
                     struct live_chunk *now_out);
bool live_chunk_read(const struct live_file *live, const struct live_chunk *chunk, uint64_t *words,
                     size_t *count_out);

/* ---- events --------------------------------------------------------------------------- */

struct live_event {
    unsigned kind; /* of the record that it is */
    uint16_t id;
    uint64_t ticks;
    uint64_t gpu[3]; /* RBWP_GPU_WORK: processor id, start, stop */
};

struct live_events {
    const uint64_t *words;
    size_t next, count;
    uint64_t base_ticks;
    bool damaged; /* stopped at a word that is no event */
};

/* False at the end of the events. */
bool live_event_next(struct live_events *events, struct live_event *event_out);

#endif /* LIVE_FILE_H */
