/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recover.c - FILE and FILE.live into one whole file.
 *
 * Three steps: the good blocks of FILE, as they are stored; blocks made of the
 * events that only the live file has; tables and trailer, from whichever file
 * knows them. A file that the verifier finds whole is copied instead, so that
 * recovery changes nothing that is good, and a second one changes nothing.
 *
 * Events become blocks a chunk at a time, so one bad chunk spoils no other.
 * What tables and trailer get is put together in recover_tail.c.
 */
#include "rbwp_recover.h"

#include "block.h"
#include "live_records.h"
#include "live_snapshot.h"
#include "rbwp_verify.h"
#include "read_clock.h"
#include "reader.h"
#include "reader_error.h"
#include "recover_ring.h"
#include "failure.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define COPY_BYTES (256u << 10)

struct recover {
    const struct rbwp_sink *sink;
    rbwp_recover_callback *callback;
    void *context;
    struct rbwp_recover_result result;
    struct rbwp_error *error;

    const struct recover_part *part; /* of a recording that goes on; NULL: all there is */
    const struct recover_end *ended; /* of the process, NULL: not known */
    int fd;                          /* FILE, -1 none */
    struct rbwp_reader *reader;
    struct rbwp_live *live;
    struct rbwp_writer *writer;
    struct recover_tail tail;
    struct recover_rows rows;

    bool has_snapshot; /* the program runs: its chunks as of one moment, which has that commit */
    struct live_snapshot snapshot;
    struct live_ring_facts ring_facts; /* of then */
    uint64_t problems_seen;
    bool has_sequence;
    uint32_t sequence; /* the latest in FILE */
    bool level2, fine; /* the header allows fine records; there are some */
    struct rbwp_kept kept;
};

static enum rbwp_status out_of_memory(struct recover *recover)
{
    return error_set_memory(recover->error, "file");
}

/* A write of the result failed. */
static enum rbwp_status sink_failed(struct recover *recover, enum rbwp_status status)
{
    int os_errno = errno;
    const struct place place = {"result", NOWHERE, 0};
    if (status != RBWP_E_IO)
        return error_set(recover->error, status, place, "the result cannot be written: %s",
                         rbwp_status_text(status));
    error_set(recover->error, status, place, "the result cannot be written: %m");
    if (recover->error)
        recover->error->os_errno = os_errno;
    return status;
}

/* ---- a file that is whole --------------------------------------------------------------- */

static enum rbwp_status copy_bytes(struct recover *recover, uint64_t size)
{
    char *buffer = malloc(COPY_BYTES);
    if (!buffer)
        return out_of_memory(recover);
    enum rbwp_status status = RBWP_OK;
    for (uint64_t done = 0; done < size && status == RBWP_OK;) {
        size_t want = size - done < COPY_BYTES ? (size_t)(size - done) : COPY_BYTES;
        ssize_t got = pread(recover->fd, buffer, want, (off_t)done);
        if (got < 0 && errno == EINTR)
            continue;
        if (got == 0)
            errno = EIO; /* it shrank */
        if (got <= 0) {
            status = error_set_os(recover->error, "file", "read the file");
            break;
        }
        status = recover->sink->write(recover->sink->context, buffer, (size_t)got);
        if (status != RBWP_OK)
            sink_failed(recover, status);
        done += (uint64_t)got;
    }
    free(buffer);
    return status;
}

/* Looks at FILE as a whole. *whole_out: it needs nothing. */
static enum rbwp_status recover_look(struct recover *recover, bool *whole_out)
{
    struct rbwp_verify_result verified;
    struct rbwp_recover_result *result = &recover->result;
    *whole_out = false;
    enum rbwp_status status = rbwp_verify_fd(recover->fd, NULL, NULL, &verified, recover->error);
    if (status != RBWP_OK)
        return status;
    if (!verified.finalised || verified.breaks || verified.cut)
        return RBWP_OK;
    *whole_out = true;
    result->unchanged = result->finalised = true;
    result->kept_blocks = result->blocks = verified.blocks + verified.opaque_blocks;
    result->kept_records = result->records = verified.records;
    result->kept_bytes = result->bytes = result->file_bytes;
    return copy_bytes(recover, result->file_bytes);
}

/* ---- blocks of FILE ----------------------------------------------------------------------- */

/* Sizes and counts that can be true: the records are taken to have been there. */
static bool is_credible(const struct rbwp_block_header *header)
{
    struct block_decoder decoder = {.block_bytes_max = RBWP_BLOCK_BYTES_MAX};
    return header->records && block_header_check(&decoder, header, 0, NULL) == RBWP_OK;
}

static void note_problem(struct recover *recover, const struct rbwp_problem *problem)
{
    struct rbwp_recover_result *result = &recover->result;
    if (problem->skipped_bytes) {
        result->damaged_places++;
        result->damaged_bytes += problem->skipped_bytes;
        if (problem->has_block && is_credible(&problem->block)) {
            result->damaged_records += problem->block.records;
            recover_tail_damage(&recover->tail, &problem->block);
        }
    }
    unsigned rule = problem->error.rule;
    result->tail_damaged |= rule == RULE_DESCRIPTOR_OFFSET ||
                            (rule >= RULE_TABLES_WHOLE && rule <= RULE_TABLES_BYTES) ||
                            rule == RULE_BEHIND_TABLES ||
                            (rule >= RULE_TRAILER_PLACE && rule <= RULE_SECTION_NAMES);
    if (recover->callback)
        recover->callback(recover->context, problem);
}

/* With a live file, what lies behind the committed bytes is in its chunks, and no problem. */
static void note_problems(struct recover *recover)
{
    uint64_t count = rbwp_reader_problem_count(recover->reader);
    for (; recover->problems_seen < count; recover->problems_seen++) {
        const struct rbwp_problem *problem =
            rbwp_reader_problem(recover->reader, recover->problems_seen);
        if (!problem)
            recover->result.damaged_places++; /* beyond those the reader keeps */
        else if (!recover->result.has_live ||
                 problem->error.offset < recover->live->file.commit.file_bytes)
            note_problem(recover, problem);
    }
}

static void note_sequence(struct recover *recover, uint32_t sequence)
{
    if (!recover->has_sequence || (int32_t)(sequence - recover->sequence) > 0)
        recover->sequence = sequence;
    recover->has_sequence = true;
}

static bool has_fine(const struct rbwp_block *block)
{
    struct rbwp_record_iterator iterator;
    struct rbwp_record record;
    rbwp_record_first(block, &iterator);
    while (rbwp_record_next(&iterator, &record))
        if (record.kind == RBWP_FINE_BEGIN || record.kind == RBWP_FINE_END)
            return true;
    return false;
}

static enum rbwp_status keep_block(struct recover *recover, const struct rbwp_block *block)
{
    struct rbwp_recover_result *result = &recover->result;
    struct view stored = reader_stored_block(recover->reader);
    bool records = block->header.records > 0;
    struct rbwp_sealed_block sealed = {
        .bytes = stored.bytes,
        .bytes_count = (uint32_t)stored.count,
        .records = block->header.records,
        .thread_id = records ? block->header.thread_id : 0,
        .first_ns = block->first_ns,
        .last_ns = block->last_ns,
    };
    enum rbwp_status status = rbwp_writer_add_block(recover->writer, &sealed);
    if (status != RBWP_OK)
        return sink_failed(recover, status);
    result->kept_blocks++;
    result->kept_bytes += stored.count;
    result->kept_records += block->header.records;
    if (!records && recover->live && recover_rows_note(&recover->rows, block) != RBWP_OK)
        return out_of_memory(recover);
    if (records) {
        note_sequence(recover, block->header.sequence);
        recover_tail_block(&recover->tail, &sealed);
        if (!recover->level2 && !recover->fine)
            recover->fine = has_fine(block);
    }
    return RBWP_OK;
}

/* True if the block lies in the bytes that count; FILE may have grown meanwhile. */
static bool is_committed(struct recover *recover, const struct rbwp_block *block)
{
    if (!recover->result.has_live || recover->result.finalised)
        return true;
    uint64_t end = block->offset + RBWP_BLOCK_HEADER_BYTES + block_payload_bytes(&block->header);
    if (end > recover->live->file.commit.file_bytes && !recover->has_snapshot)
        (void)live_file_commit(&recover->live->file, NULL);
    return end <= recover->live->file.commit.file_bytes;
}

static enum rbwp_status keep_blocks(struct recover *recover)
{
    struct rbwp_block block;
    uint64_t end = RBWP_FILE_HEADER_BYTES;
    enum rbwp_status status;
    if (recover
            ->has_snapshot) /* which is of a moment after FILE was opened; a failure comes again */
        (void)!rbwp_reader_look_again(recover->reader);
    while ((status = rbwp_reader_next_block(recover->reader, &block)) == RBWP_OK) {
        if (!is_committed(recover, &block))
            break;
        note_problems(recover);
        status = keep_block(recover, &block);
        if (status != RBWP_OK)
            return status;
        end = block.offset + RBWP_BLOCK_HEADER_BYTES + block_payload_bytes(&block.header);
    }
    note_problems(recover);
    uint64_t count = rbwp_reader_problem_count(recover->reader);
    if (status < 0 && count) {
        const struct rbwp_problem *last = rbwp_reader_problem(recover->reader, count - 1);
        if (last)
            *recover->error = last->error;
        else
            error_set(recover->error, status, (struct place){"file", NOWHERE, 0}, "%s",
                      rbwp_status_text(status));
        return status;
    }
    struct rbwp_recover_result *result = &recover->result;
    if (result->has_live && !result->finalised) {
        uint64_t size = rbwp_reader_size(recover->reader);
        result->committed_bytes = recover->live->file.commit.file_bytes;
        if (size > result->committed_bytes && size > end)
            result->uncommitted_bytes = size - end;
        if (result->committed_bytes > size)
            result->missing_bytes = result->committed_bytes - (size > end ? size : end);
    }
    return RBWP_OK;
}

/* ---- events of the live file ----------------------------------------------------------------- */

struct thread_writer {
    struct rbwp_block_encoder *encoder;
    uint64_t thread_id;
    int64_t floor_ns; /* of the thread's records so far */
    unsigned coarse;  /* kind of the last coarse record in the block, 0 none */
    bool is_open;     /* an item whose begin was here */
    uint32_t fine;    /* sub-items likewise */
    uint64_t *words;
};

static enum rbwp_status recover_seal(struct recover *recover, struct thread_writer *thread)
{
    struct rbwp_sealed_block block;
    thread->coarse = 0;
    if (rbwp_block_encoder_seal(thread->encoder, thread->thread_id, recover->sequence + 1,
                                &block) != RBWP_OK)
        return RBWP_OK;
    enum rbwp_status status = rbwp_writer_add_block(recover->writer, &block);
    if (status != RBWP_OK)
        return sink_failed(recover, status);
    recover->sequence++;
    recover->result.live_blocks++;
    recover->result.live_records += block.records;
    recover_tail_block(&recover->tail, &block);
    return RBWP_OK;
}

/* Two begins or two ends in a row do not share a block (R21): something is missing there. */
static enum rbwp_status put_record(struct recover *recover, struct thread_writer *thread,
                                   const struct rbwp_record *record)
{
    bool coarse = record->kind == RBWP_COARSE_BEGIN || record->kind == RBWP_COARSE_END;
    enum rbwp_status status = RBWP_OK;
    if (coarse && thread->coarse == record->kind)
        status = recover_seal(recover, thread);
    if (status == RBWP_OK && rbwp_block_encoder_add(thread->encoder, record) == RBWP_AGAIN) {
        status = recover_seal(recover, thread);
        if (status == RBWP_OK)
            status = rbwp_block_encoder_add(thread->encoder, record);
    }
    if (coarse)
        thread->coarse = record->kind;
    if (coarse)
        thread->is_open = record->kind == RBWP_COARSE_BEGIN;
    thread->fine += record->kind == RBWP_FINE_BEGIN;
    thread->fine -= record->kind == RBWP_FINE_END && thread->fine;
    recover->fine |= record->kind == RBWP_FINE_BEGIN || record->kind == RBWP_FINE_END;
    return status;
}

/* Of a chunk, which is damaged also when there is an event that cannot be. */
static enum rbwp_status keep_records(struct recover *recover, struct thread_writer *thread,
                                     struct live_events *events, bool damaged)
{
    struct live_event event;
    struct rbwp_record record;
    enum rbwp_status status = RBWP_OK;
    while (status == RBWP_OK && live_event_next(events, &event)) {
        if (!live_event_record(&event, &record)) {
            damaged = true;
            continue;
        }
        record.time_ns = live_clock_ns(&recover->live->facts->clock, event.ticks);
        if (record.time_ns < thread->floor_ns)
            record.time_ns = thread->floor_ns;
        thread->floor_ns = record.time_ns;
        status = put_record(recover, thread, &record);
    }
    recover->result.chunks++;
    recover->result.damaged_chunks += damaged || events->damaged;
    return status == RBWP_OK ? recover_seal(recover, thread) : status;
}

/* Behind the thread's last chunk: what is open has lasted until its process ended. */
static enum rbwp_status end_items(struct recover *recover, struct thread_writer *thread)
{
    struct rbwp_record record = {.time_ns = recover->tail.alive_ns};
    enum rbwp_status status = RBWP_OK;
    if (!recover->ended || record.time_ns < thread->floor_ns)
        return RBWP_OK;
    while (status == RBWP_OK && (thread->is_open || thread->fine)) {
        record.kind = thread->fine ? RBWP_FINE_END : RBWP_COARSE_END;
        status = put_record(recover, thread, &record);
    }
    return status == RBWP_OK ? recover_seal(recover, thread) : status;
}

/* Of a chunk that has rows. */
static enum rbwp_status keep_rows(struct recover *recover, const struct live_chunk *chunk,
                                  const uint64_t *words, size_t count)
{
    uint64_t rows;
    bool damaged;
    enum rbwp_status status =
        recover_rows_add(&recover->rows, chunk, words, count, &rows, &damaged);
    if (status == RBWP_E_MEMORY)
        return out_of_memory(recover);
    if (status != RBWP_OK)
        return sink_failed(recover, status);
    recover->result.chunks++;
    recover->result.damaged_chunks += damaged;
    recover->result.live_blocks += rows > 0;
    recover->result.live_rows += rows;
    return RBWP_OK;
}

static enum rbwp_status keep_chunk(struct recover *recover, struct thread_writer *thread,
                                   const struct live_chunk *chunk)
{
    const struct live_file *file = &recover->live->file;
    struct live_events events = {.words = thread->words, .base_ticks = chunk->base_ticks};
    if (!live_chunk_read(file, chunk, thread->words, &events.count)) {
        recover->result.moved_chunks++;
        return RBWP_OK;
    }
    if (chunk->table)
        return keep_rows(recover, chunk, thread->words, events.count);
    return keep_records(recover, thread, &events, events.count < live_chunk_words(file));
}

static enum rbwp_status keep_copy(struct recover *recover, struct thread_writer *thread,
                                  size_t chunk)
{
    const struct live_snapshot *snapshot = &recover->snapshot;
    struct live_events events = live_snapshot_events(snapshot, chunk);
    if (snapshot->chunks.list[chunk].table)
        return keep_rows(recover, &snapshot->chunks.list[chunk], events.words,
                         snapshot->starts[chunk + 1] - snapshot->starts[chunk]);
    return keep_records(recover, thread, &events, false);
}

/* Without a sample the oldest chunk is taken to have begun at the zero time. */
static void anchor_clock(struct recover *recover, const struct live_chunks *chunks)
{
    struct live_clock *clock = &recover->live->facts->clock;
    const struct live_head *head = &recover->live->file.head;
    struct rbwp_clock_sample anchor = {.ticks = UINT64_MAX, .time_ns = head->zero_time_ns};
    if (clock->count || chunks->count == 0)
        return;
    recover->result.no_clock_sample = true;
    for (size_t i = 0; i < chunks->count; i++)
        if (chunks->list[i].base_ticks < anchor.ticks)
            anchor.ticks = chunks->list[i].base_ticks;
    live_clock_add(clock, &anchor);
    anchor.time_ns = 0;
    if (clock->count == 0) /* a zero time that cannot be */
        live_clock_add(clock, &anchor);
}

static enum rbwp_status keep_chunks(struct recover *recover, const struct live_chunks *chunks)
{
    struct thread_writer thread = {0};
    enum rbwp_status status = rbwp_block_encoder_new(0, recover->part ? 1 : -1, &thread.encoder);
    thread.words = malloc(live_chunk_words(&recover->live->file) * sizeof *thread.words);
    if (status != RBWP_OK || !thread.words)
        status = out_of_memory(recover);
    for (size_t i = 0; i < chunks->count && status == RBWP_OK; i++) {
        const struct live_chunk *chunk = &chunks->list[i];
        if (i == 0 || chunk->thread_id != thread.thread_id) {
            if (i > 0 && (status = end_items(recover, &thread)) != RBWP_OK)
                break;
            thread.is_open = false;
            thread.fine = 0;
            thread.thread_id = chunk->thread_id;
            thread.floor_ns = recover_tail_last_ns(&recover->tail, chunk->thread_id);
        }
        status = recover->has_snapshot ? keep_copy(recover, &thread, i)
                                       : keep_chunk(recover, &thread, chunk);
    }
    if (status == RBWP_OK && chunks->count)
        status = end_items(recover, &thread);
    free(thread.words);
    rbwp_block_encoder_free(thread.encoder);
    return status;
}

/* The blocks of a recording that keeps its newest data alone. */
static enum rbwp_status keep_ring(struct recover *recover)
{
    const struct recover_part *part = recover->part;
    struct recover_ring ring = {
        .live = &recover->live->file,
        .writer = recover->writer,
        .tail = &recover->tail,
        .rows = &recover->rows,
        .facts = recover->has_snapshot ? recover->ring_facts
                                       : live_file_ring_facts(&recover->live->file),
        .since_ns = part ? part->since_ns : INT64_MIN,
        .passed = part ? part->passed : NULL,
        .context = part ? part->context : NULL,
        .has_sequence = recover->has_sequence,
        .sequence = recover->sequence,
    };
    bool sink;
    if (recover->live->file.head.ring.keep_bytes == 0)
        return RBWP_OK;
    enum rbwp_status status = recover_ring_copy(&ring, &sink, recover->error);
    if (status != RBWP_OK)
        return sink ? sink_failed(recover, status) : status;
    recover->has_sequence = ring.has_sequence;
    recover->sequence = ring.sequence;
    recover->kept = ring.kept;
    recover->fine |= ring.fine;
    if (ring.facts.part) { /* all was to be kept */
        recover->tail.dropped_records = ring.kept.dropped_records;
        recover->tail.dropped_rows = ring.kept.dropped_rows;
    }
    if (part && part->cut_out)
        *part->cut_out = (struct recover_cut){
            ring.last_ticket,
            ring.ever_records,
            ring.ever_rows,
            ring.ever_bytes,
            recover->tail.dropped_records + recover->tail.dropped_rows,
            recover->live->facts->told,
        };
    if (part) {
        recover->kept.why = part->why;
        if (!part->ended && !part->ring_only)
            recover->kept.part = 0; /* what it has will be in a part as well */
        recover->kept.text = part->text;
        recover->kept.text_bytes = part->text_bytes;
    }
    recover->tail.trailer.kept = &recover->kept;
    recover->tail.trailer.kept_count = 1;
    recover->result.live_blocks += ring.blocks;
    recover->result.live_records += ring.records;
    recover->result.live_rows += ring.row_count;
    recover->result.damaged_chunks += ring.damaged;
    return RBWP_OK;
}

static enum rbwp_status keep_events(struct recover *recover)
{
    struct live_chunks listed = {0}, chunks = recover->snapshot.chunks;
    enum rbwp_status status = RBWP_OK;
    if (!recover->has_snapshot) {
        status = live_file_chunks(&recover->live->file, &listed, recover->error);
        chunks = listed;
    }
    recover->result.damaged_chunks += chunks.left_out;
    if (status == RBWP_OK) {
        anchor_clock(recover, &chunks);
        recover_rows_begin(&recover->rows, &recover->live->facts->row_tables,
                           &recover->live->facts->clock, live_chunk_words(&recover->live->file),
                           recover->writer);
        status = keep_ring(recover);
    }
    if (!recover->has_sequence)
        recover->sequence = UINT32_MAX; /* the first one is 0 */
    if (status == RBWP_OK && !(recover->part && recover->part->ring_only))
        status = keep_chunks(recover, &chunks);
    live_chunks_free(&listed);
    return status;
}

/* Of a program that runs: first its chunks of one moment, then FILE as far as it was then; names
 * and clock are looked at behind it, so that they have all that is in the chunks. */
static enum rbwp_status take_snapshot(struct recover *recover)
{
    struct live_facts *facts;
    struct rbwp_live *live = recover->live;
    const struct recover_part *part = recover->part;
    if (part)
        part->hold(part->context, true);
    recover_tail_alive(&recover->tail, &live->file.head, read_clock_ns(CLOCK_MONOTONIC));
    enum rbwp_status status = live_snapshot_take(&recover->snapshot, &live->file, recover->error);
    recover->ring_facts = live_file_ring_facts(&live->file);
    if (part)
        part->hold(part->context, false);
    if (status == RBWP_OK)
        status = live_facts_read(&live->file, &facts, recover->error);
    if (status != RBWP_OK)
        return status;
    live_facts_free(live->facts);
    live->facts = facts;
    recover->has_snapshot = true;
    return RBWP_OK;
}

/* ---- the whole ---------------------------------------------------------------------------------
 */

/* The header says that there may be fine records; only now it is known that there are. */
static enum rbwp_status raise_level(struct recover *recover)
{
    static const uint8_t flags[] = {RBWP_FLAG_LEVEL2, 0};
    if (recover->level2 || !recover->fine)
        return RBWP_OK;
    enum rbwp_status status =
        recover->sink->patch(recover->sink->context, RBWP_FILE_FLAGS_OFFSET, flags, sizeof flags);
    return status == RBWP_OK ? status : sink_failed(recover, status);
}

static enum rbwp_status recover_finish(struct recover *recover)
{
    struct recover_tail *tail = &recover->tail;
    enum rbwp_status status =
        recover_tail_make(tail, recover->reader, recover->live, recover->part);
    if (status != RBWP_OK)
        return out_of_memory(recover);
    struct rbwp_recover_result *result = &recover->result;
    result->dropped_names = tail->dropped;
    result->names_unknown = tail->names_unknown;
    result->threads = tail->trailer.thread_count;
    result->work_items = tail->tables.work_item_count;
    result->sub_items = tail->tables.sub_item_count;
    status =
        rbwp_writer_finish(recover->writer, tail->tables.work_items, tail->tables.work_item_count,
                           tail->tables.sub_items, tail->tables.sub_item_count, &tail->trailer);
    if (status != RBWP_OK)
        return sink_failed(recover, status);
    rbwp_writer_totals(recover->writer, &result->bytes, &result->blocks, &result->records);
    return raise_level(recover);
}

static enum rbwp_status check_belongs(struct recover *recover)
{
    const struct rbwp_file_header *header = rbwp_reader_header(recover->reader);
    const struct live_head *head = &recover->live->file.head;
    if (rbwp_live_belongs(recover->live, header))
        return RBWP_OK;
    return error_set(recover->error, RBWP_E_INVALID, (struct place){"live file", NOWHERE, 0},
                     "belongs to another file: its zero time is %" PRId64 " and its node %" PRIu32
                     ", those of the file are %" PRId64 " and %" PRIu32,
                     head->zero_time_ns, head->node, header->zero_time_ns, header->node);
}

static enum rbwp_status open_reader(struct recover *recover)
{
    /* A file that is being written is read as it grows; any other one to its end, and past damage.
     */
    struct rbwp_reader_options options = {.size = sizeof options,
                                          .follow = recover->result.is_written};
    enum rbwp_status status =
        rbwp_reader_open_fd(recover->fd, &options, &recover->reader, recover->error);
    if (status == RBWP_OK && recover->live)
        status = check_belongs(recover);
    return status;
}

static enum rbwp_status make_whole(struct recover *recover)
{
    uint32_t node = 0;
    int64_t zero_time_ns = 0;
    enum rbwp_status status = RBWP_OK;
    if (recover->result.has_file) {
        status = open_reader(recover);
        if (status != RBWP_OK)
            return status;
        const struct rbwp_file_header *header = rbwp_reader_header(recover->reader);
        node = header->node;
        zero_time_ns = header->zero_time_ns;
        recover->level2 = header->flags & RBWP_FLAG_LEVEL2;
        recover->result.finalised = reader_tail(recover->reader)->offset != 0;
    } else {
        node = recover->live->file.head.node;
        zero_time_ns = recover->live->file.head.zero_time_ns;
        recover->level2 = recover->live->file.head.level >= 2;
    }
    /* What is finalised has all that the live file could give. */
    recover->result.has_live = recover->live && !recover->result.finalised;
    if (recover->result.has_live && recover->result.is_written) {
        status = take_snapshot(recover);
        if (status != RBWP_OK)
            return status;
    }
    if (recover->result.has_live)
        recover->result.missing = rbwp_live_count_missing(recover->live);
    status = rbwp_writer_new(recover->sink, node, zero_time_ns, recover->level2, &recover->writer);
    if (status != RBWP_OK)
        return sink_failed(recover, status);
    if (recover->result.has_file)
        status = keep_blocks(recover);
    if (status == RBWP_OK && recover->result.has_live)
        status = keep_events(recover);
    return status == RBWP_OK ? recover_finish(recover) : status;
}

/* Without FILE, what the live file knows to have been written to it is gone. */
static void miss_file(struct recover *recover)
{
    uint64_t committed = recover->live->file.commit.file_bytes;
    recover->result.committed_bytes = committed;
    if (committed > RBWP_FILE_HEADER_BYTES)
        recover->result.missing_bytes = committed - RBWP_FILE_HEADER_BYTES;
}

static enum rbwp_status recover_run(struct recover *recover)
{
    struct rbwp_recover_result *result = &recover->result;
    if (recover->live) {
        result->is_written = recover->part ? !recover->part->ended && !recover->part->ring_only
                                           : rbwp_live_is_written(recover->live);
        result->damaged_entries = recover->live->facts->damaged;
        if (result->is_written ||
            (recover->ended && recover->ended->process_id != recover->live->file.head.process_id))
            recover->ended = NULL;
        if (recover->ended)
            recover_tail_alive(&recover->tail, &recover->live->file.head,
                               recover->ended->monotonic_ns);
    }
    /* A process that dies early leaves an empty file; its live file makes up for it. */
    result->has_file =
        recover->fd >= 0 && (result->file_bytes >= RBWP_FILE_HEADER_BYTES || !recover->live);
    bool whole = false;
    enum rbwp_status status = RBWP_OK;
    if (result->has_file)
        status = recover_look(recover, &whole);
    else
        miss_file(recover);
    if (status == RBWP_OK && !whole)
        status = make_whole(recover);
    return status;
}

/* FILE, if it is there. */
static enum rbwp_status recover_open_file(struct recover *recover, const char *path, bool needed)
{
    struct stat file;
    recover->fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (recover->fd < 0)
        return !needed && errno == ENOENT ? RBWP_OK
                                          : error_set_os(recover->error, "file", "open the file");
    if (fstat(recover->fd, &file) != 0)
        return error_set_os(recover->error, "file", "look at the file");
    if (!S_ISREG(file.st_mode))
        return error_set(recover->error, RBWP_E_UNSUPPORTED, (struct place){"file", NOWHERE, 0},
                         "is no regular file; copy it to one first");
    recover->result.file_bytes = (uint64_t)file.st_size;
    return RBWP_OK;
}

static bool is_missing(const struct rbwp_live_missing *missing)
{
    return missing->lost_records || missing->unwritten_records || missing->unwritten_blocks ||
           missing->unprotected_bytes || missing->unlogged_names || missing->unlogged_threads;
}

/* Something is missing that had been recorded, or may be. */
static bool is_lossy(const struct rbwp_recover_result *result)
{
    bool all_in_file = result->unchanged || result->finalised || result->live_empty;
    return (!all_in_file && !result->has_live) || result->damaged_places || result->tail_damaged ||
           result->missing_bytes || result->damaged_chunks || result->moved_chunks ||
           result->damaged_entries || result->names_unknown || result->dropped_names ||
           is_missing(&result->missing);
}

static void end(struct recover *recover)
{
    rbwp_writer_free(recover->writer);
    rbwp_reader_close(recover->reader);
    rbwp_live_close(recover->live);
    recover_tail_free(&recover->tail);
    recover_rows_free(&recover->rows);
    live_snapshot_free(&recover->snapshot);
    if (recover->fd >= 0)
        close(recover->fd);
}

enum rbwp_status recover_part_write(const struct recover_part *part,
                                    struct rbwp_recover_result *result_out,
                                    struct rbwp_error *error)
{
    struct recover recover = {.sink = part->sink, .error = error, .fd = -1, .part = part};
    enum rbwp_status status = live_view_take(part->live_fd, &recover.live, error);
    if (status == RBWP_OK)
        status = recover_run(&recover);
    if (status == RBWP_OK && !live_file_is_still(&recover.live->file))
        status = error_set(error, RBWP_E_IO, (struct place){"live file", NOWHERE, 0},
                           "the program closed its descriptor while it was read");
    end(&recover);
    *result_out = recover.result;
    return status;
}

static enum rbwp_status recover_files(struct recover *recover, const char *path,
                                      const char *live_path)
{
    struct rbwp_error reason;
    enum rbwp_status status = RBWP_OK;
    recover->fd = -1;
    if (!recover->error)
        recover->error = &reason;
    if (live_path)
        status = rbwp_live_open(live_path, &recover->live, recover->error);
    if (status == RBWP_E_TRUNCATED) {
        recover->result.live_empty = true;
        status = RBWP_OK;
    }
    if (status == RBWP_OK)
        status = recover_open_file(recover, path, !recover->live);
    if (status == RBWP_OK)
        status = recover_run(recover);
    end(recover);
    recover->result.lost = is_lossy(&recover->result);
    return status;
}

enum rbwp_status rbwp_recover_sized(const char *path, const char *live_path,
                                    const struct rbwp_sink *sink, rbwp_recover_callback *callback,
                                    void *context, struct rbwp_recover_result *result_out,
                                    size_t result_bytes, struct rbwp_error *error)
{
    struct recover recover = {
        .sink = sink, .callback = callback, .context = context, .error = error};
    enum rbwp_status status = recover_files(&recover, path, live_path);
    if (status == RBWP_OK)
        sized_give(result_out, result_bytes, &recover.result, sizeof recover.result);
    return status;
}

enum rbwp_status recover_ended(const char *path, const char *live_path,
                               const struct rbwp_sink *sink, const struct recover_end *ended,
                               struct rbwp_recover_result *result_out, struct rbwp_error *error)
{
    struct recover recover = {.sink = sink, .ended = ended, .error = error};
    enum rbwp_status status = recover_files(&recover, path, live_path);
    *result_out = recover.result;
    return status;
}
