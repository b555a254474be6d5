/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The records that FILE does not have yet, one by one (rbwp_recover.h).
 *
 * Whatever a call recorded may be elided until its end is there. So a thread's events are
 * settled up to its last end, or up to the end if no call began behind that. A call whose begin is
 * in FILE is never elided.
 */
#include "live_records.h"

#include "live_snapshot.h"
#include "reader_error.h"

#include <stdlib.h>
#include <unistd.h>

/* An event's place: its chunk, and its first word in there. */
struct place_of_event {
    size_t chunk, word;
};

struct rbwp_live_records {
    struct live_snapshot snapshot;
    uint64_t file_bytes, unwritten;
    size_t chunk; /* from which events are taken now */
    struct live_events events;
    struct place_of_event settled; /* of its thread: those before it stay */
};

bool live_event_record(const struct live_event *event, struct rbwp_record *record_out)
{
    *record_out = (struct rbwp_record){.kind = (uint8_t)event->kind};
    switch (event->kind) {
    case RBWP_GPU_WORK:
        record_out->proc_id = event->gpu[0];
        record_out->start_ns = (int64_t)event->gpu[1];
        record_out->stop_ns = (int64_t)event->gpu[2];
        /* fall through */
    case RBWP_COARSE_BEGIN:
        record_out->slot = (uint8_t)event->id;
        return event->id < RBWP_SLOTS_MAX;
    case RBWP_FINE_BEGIN:
        record_out->sub_item = event->id;
        return true;
    default:
        return true;
    }
}

enum rbwp_status rbwp_live_records_take(struct rbwp_live *live,
                                        struct rbwp_live_records **records_out,
                                        struct rbwp_error *error)
{
    *records_out = NULL;
    struct rbwp_live_records *records = calloc(1, sizeof *records);
    if (!records)
        return error_set_memory(error, "live file");
    /* Counted first: what is not written later is seen to be missing the next time. */
    records->unwritten = live_file_counts(&live->file).unwritten_records;
    enum rbwp_status status = live_snapshot_take(&records->snapshot, &live->file, error);
    if (status != RBWP_OK) {
        rbwp_live_records_free(records);
        return status;
    }
    records->file_bytes = live->file.commit.file_bytes;
    records->chunk = SIZE_MAX; /* the next one is 0 */
    *records_out = records;
    return RBWP_OK;
}

void rbwp_live_records_free(struct rbwp_live_records *records)
{
    if (!records)
        return;
    live_snapshot_free(&records->snapshot);
    free(records);
}

uint64_t rbwp_live_records_file_bytes(const struct rbwp_live_records *records)
{
    return records->file_bytes;
}

uint64_t rbwp_live_records_unwritten(const struct rbwp_live_records *records)
{
    return records->unwritten;
}

/* Where the events end that stay, of the thread whose first chunk this is. */
static struct place_of_event find_settled(const struct live_snapshot *snapshot, size_t first)
{
    const struct live_chunks *chunks = &snapshot->chunks;
    struct place_of_event settled = {first, 0};
    bool open = false;
    for (size_t i = first;
         i < chunks->count && chunks->list[i].thread_id == chunks->list[first].thread_id; i++) {
        struct live_events events = live_snapshot_events(snapshot, i);
        struct live_event event;
        for (size_t at = 0; live_event_next(&events, &event); at = events.next) {
            if (event.kind == RBWP_COARSE_BEGIN && !open)
                settled = (struct place_of_event){i, at};
            open = event.kind == RBWP_COARSE_BEGIN || (open && event.kind != RBWP_COARSE_END);
        }
        if (!open)
            settled = (struct place_of_event){i + 1, 0};
    }
    return settled;
}

static bool enter_next_chunk(struct rbwp_live_records *records)
{
    const struct live_snapshot *snapshot = &records->snapshot;
    const struct live_chunk *list = snapshot->chunks.list;
    size_t next = records->chunk + 1;
    if (next >= snapshot->chunks.count)
        return false;
    if (next == 0 || list[next].thread_id != list[next - 1].thread_id)
        records->settled = find_settled(snapshot, next);
    records->chunk = next;
    records->events = live_snapshot_events(snapshot, next);
    return true;
}

bool rbwp_live_records_next(struct rbwp_live_records *records, struct rbwp_live_record *record_out)
{
    const struct place_of_event *settled = &records->settled;
    for (;;) {
        struct live_event event;
        size_t word = records->events.next;
        if (!live_event_next(&records->events, &event)) {
            if (!enter_next_chunk(records))
                return false;
            continue;
        }
        *record_out = (struct rbwp_live_record){
            .thread_id = records->snapshot.chunks.list[records->chunk].thread_id,
            .ticks = event.ticks,
            .open = records->chunk > settled->chunk ||
                    (records->chunk == settled->chunk && word >= settled->word)};
        if (live_event_record(&event, &record_out->record))
            return true;
    }
}

int64_t rbwp_live_time_ns(const struct rbwp_live *live, uint64_t ticks)
{
    const struct live_clock *clock = &live->facts->clock;
    return clock->count ? live_clock_ns(clock, ticks) : live->file.head.zero_time_ns;
}

/* The public look into a live file (rbwp_recover.h). */

/* Of a file that was opened, or was not. */
static enum rbwp_status live_view_look(enum rbwp_status status, struct rbwp_live *live,
                                       struct rbwp_live **live_out, struct rbwp_error *error)
{
    if (status == RBWP_OK)
        status = live_facts_read(&live->file, &live->facts, error);
    if (status != RBWP_OK) {
        rbwp_live_close(live);
        return status;
    }
    *live_out = live;
    return RBWP_OK;
}

enum rbwp_status rbwp_live_open(const char *path, struct rbwp_live **live_out,
                                struct rbwp_error *error)
{
    *live_out = NULL;
    struct rbwp_live *live = calloc(1, sizeof *live);
    if (!live)
        return error_set_memory(error, "live file");
    return live_view_look(live_file_open(&live->file, path, error), live, live_out, error);
}

enum rbwp_status live_view_take(int fd, struct rbwp_live **live_out, struct rbwp_error *error)
{
    *live_out = NULL;
    struct rbwp_live *live = calloc(1, sizeof *live);
    if (!live && fd >= 0)
        close(fd);
    if (!live)
        return error_set_memory(error, "live file");
    enum rbwp_status status = live_file_take(&live->file, fd, error);
    live->file.is_own = true;
    return live_view_look(status, live, live_out, error);
}

void rbwp_live_close(struct rbwp_live *live)
{
    if (!live)
        return;
    live_facts_free(live->facts);
    live_file_close(&live->file);
    free(live);
}

const struct rbwp_tables *rbwp_live_tables(const struct rbwp_live *live)
{
    return &live->facts->tables;
}

const struct rbwp_trailer *rbwp_live_trailer(const struct rbwp_live *live)
{
    return &live->facts->trailer;
}

struct rbwp_live_missing rbwp_live_count_missing(const struct rbwp_live *live)
{
    return live->facts->missing;
}

bool rbwp_live_belongs(const struct rbwp_live *live, const struct rbwp_file_header *header)
{
    return live_file_belongs(&live->file, header);
}

bool rbwp_live_is_written(const struct rbwp_live *live)
{
    return live_file_is_locked(&live->file);
}
