/* SPDX-License-Identifier: Apache-2.0 */
/*
 * live_support.h - live files for tests, put together by the words of live_layout.h.
 *
 * The clock of these files makes two ticks a nanosecond: tick 1000 is LIVE_T.
 */
#ifndef LIVE_SUPPORT_H
#define LIVE_SUPPORT_H

#include "format_support.h"
#include "live_layout.h"

#define LIVE_T INT64_C(1700000000000000000) /* also the zero time of put_header */
#define LIVE_CHUNK_BYTES 4096u
#define LIVE_OFFSET INT64_C(1600000000000000000) /* from CLOCK_MONOTONIC to the time line */

/* All segments of these files. */
#define LIVE_SEGMENT_BYTES LIVE_SEGMENT_BYTES_MAX

/* The time of a tick. */
#define TICK_NS(tick) (LIVE_T + ((int64_t)(tick)-1000) / 2)

/* An event word, tick counted from the chunk's base. */
#define EVENT(kind, id, tick)                                                                      \
    ((uint64_t)(tick) << LIVE_EVENT_TIME_SHIFT | (uint64_t)(id) << LIVE_EVENT_KIND_BITS |          \
     (uint64_t)(kind))

struct live_maker {
    int fd;
    struct live_head head;
    uint32_t log_segment;
    uint64_t log_at; /* in it */
};

/* Makes an empty live file with a good head that belongs to put_header's files. */
void live_make(struct live_maker *maker, const char *path);
void live_make_done(struct live_maker *maker);
/* Writes maker->head, after the test has changed it. */
void live_put_head(struct live_maker *maker);
void live_commit_at(struct live_maker *maker, uint64_t file_bytes, uint64_t ticket);
void live_put_kind(struct live_maker *maker, uint32_t segment, uint32_t kind);
/* Any entry in the table. */
void live_put_entry(struct live_maker *maker, uint32_t segment, struct live_segment entry);
/* A chunk in the place-th room of a segment. */
void live_put_chunk(struct live_maker *maker, uint32_t segment, uint32_t place,
                    struct live_chunk_head head, const uint64_t *words, size_t count);

/* Log entries, from the segment that live_log_to named last (segment 0 at first). */
void live_log_to(struct live_maker *maker, uint32_t segment);
void live_log_entry(struct live_maker *maker, uint32_t kind, const void *head, size_t head_bytes,
                    const char *name);
void live_log_slot(struct live_maker *maker, int64_t from_ns, uint16_t slot, const char *name);
void live_log_slot_end(struct live_maker *maker, int64_t to_ns, uint16_t slot);
void live_log_sub_item(struct live_maker *maker, uint16_t id, uint16_t type, const char *name);
void live_log_thread(struct live_maker *maker, uint64_t thread_id, const char *name);
void live_log_sample(struct live_maker *maker, uint64_t ticks);
void live_log_loss(struct live_maker *maker, uint64_t thread_id, uint32_t cause, uint64_t count);

#endif /* LIVE_SUPPORT_H */
