/* SPDX-License-Identifier: Apache-2.0 */
/* live_support.c - see live_support.h. */
#include "live_support.h"

#include "unit.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static void write_at(struct live_maker *maker, uint64_t offset, const void *bytes, size_t count)
{
    assert_int_equal(pwrite(maker->fd, bytes, count, (off_t)offset), count);
}

void live_make(struct live_maker *maker, const char *path)
{
    *maker = (struct live_maker){.fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)};
    assert_true(maker->fd >= 0);
    maker->head = (struct live_head){
        .version = LIVE_VERSION,
        .byte_order = LIVE_BYTE_ORDER,
        .chunk_bytes = LIVE_CHUNK_BYTES,
        .chunk_head_bytes = sizeof(struct live_chunk_head),
        .process_id = 4242,
        .zero_time_ns = LIVE_T,
        .offset_ns = LIVE_OFFSET,
        .level = 2,
        .clock_kind = RBWP_CLOCK_TSC,
        .ticks_per_second = 2000000000,
    };
    memcpy(maker->head.magic, LIVE_MAGIC, sizeof maker->head.magic);
    live_put_head(maker);
    assert_int_equal(ftruncate(maker->fd, LIVE_HEAD_BYTES), 0);
    live_log_to(maker, 0);
}

void live_make_done(struct live_maker *maker)
{
    close(maker->fd);
}

void live_put_head(struct live_maker *maker)
{
    struct live_head head = maker->head; /* for gcc 12, which takes the head for its first field */
    write_at(maker, 0, &head, sizeof head);
}

void live_commit_at(struct live_maker *maker, uint64_t file_bytes, uint64_t ticket)
{
    uint32_t other = 1 - maker->head.commit_index;
    maker->head.commit[other] = (struct live_commit){file_bytes, ticket};
    maker->head.commit_index = other;
    live_put_head(maker);
}

static uint64_t segment_at(uint32_t segment)
{
    return LIVE_HEAD_BYTES + (uint64_t)segment * LIVE_SEGMENT_BYTES;
}

void live_put_entry(struct live_maker *maker, uint32_t segment, struct live_segment entry)
{
    write_at(maker, LIVE_TABLE_OFFSET + segment * sizeof entry, &entry, sizeof entry);
}

void live_put_kind(struct live_maker *maker, uint32_t segment, uint32_t kind)
{
    live_put_entry(maker, segment,
                   (struct live_segment){segment_at(segment), LIVE_SEGMENT_BYTES, kind});
    if (lseek(maker->fd, 0, SEEK_END) < (off_t)segment_at(segment + 1))
        assert_int_equal(ftruncate(maker->fd, (off_t)segment_at(segment + 1)), 0);
}

void live_put_chunk(struct live_maker *maker, uint32_t segment, uint32_t place,
                    struct live_chunk_head head, const uint64_t *words, size_t count)
{
    live_put_kind(maker, segment, LIVE_CHUNKS);
    uint64_t at = segment_at(segment) + (uint64_t)place * maker->head.chunk_bytes;
    write_at(maker, at, &head, sizeof head);
    write_at(maker, at + maker->head.chunk_head_bytes, words, count * sizeof *words);
}

void live_log_to(struct live_maker *maker, uint32_t segment)
{
    live_put_kind(maker, segment, LIVE_LOG);
    maker->log_segment = segment;
    maker->log_at = 0;
}

void live_log_entry(struct live_maker *maker, uint32_t kind, const void *head, size_t head_bytes,
                    const char *name)
{
    struct live_entry entry = {
        .bytes = (uint32_t)(sizeof entry + head_bytes + strlen(name)),
        .kind = kind,
    };
    uint64_t at = segment_at(maker->log_segment) + maker->log_at;
    write_at(maker, at, &entry, sizeof entry);
    write_at(maker, at + sizeof entry, head, head_bytes);
    write_at(maker, at + sizeof entry + head_bytes, name, strlen(name));
    maker->log_at += (entry.bytes + 7u) / 8 * 8;
}

static void entry_with_slot(struct live_maker *maker, uint32_t kind, int64_t time_ns, uint16_t slot,
                            const char *name)
{
    uint8_t head[10];
    memcpy(head, &time_ns, 8);
    memcpy(head + 8, &slot, 2);
    live_log_entry(maker, kind, head, sizeof head, name);
}

void live_log_slot(struct live_maker *maker, int64_t from_ns, uint16_t slot, const char *name)
{
    entry_with_slot(maker, LIVE_SLOT_BEGIN, from_ns, slot, name);
}

void live_log_slot_end(struct live_maker *maker, int64_t to_ns, uint16_t slot)
{
    entry_with_slot(maker, LIVE_SLOT_END, to_ns, slot, "");
}

void live_log_sub_item(struct live_maker *maker, uint16_t id, uint16_t type, const char *name)
{
    uint16_t head[2] = {id, type};
    live_log_entry(maker, LIVE_SUB_ITEM, head, sizeof head, name);
}

void live_log_thread(struct live_maker *maker, uint64_t thread_id, const char *name)
{
    uint64_t head[3] = {thread_id, 9000 + thread_id, 5};
    live_log_entry(maker, LIVE_THREAD, head, sizeof head, name);
}

void live_log_sample(struct live_maker *maker, uint64_t ticks)
{
    struct rbwp_clock_sample sample = {
        .ticks = ticks, .time_ns = TICK_NS(ticks), .realtime_ns = TICK_NS(ticks)};
    sample.monotonic_ns = sample.time_ns - LIVE_OFFSET;
    live_log_entry(maker, LIVE_SAMPLE, &sample, sizeof sample, "");
}

void live_log_loss(struct live_maker *maker, uint64_t thread_id, uint32_t cause, uint64_t count)
{
    uint8_t head[36];
    uint64_t words[4] = {thread_id, count, 1000, 3000};
    memcpy(head, words, sizeof words);
    memcpy(head + 32, &cause, 4);
    live_log_entry(maker, LIVE_LOSS, head, sizeof head, "");
}
