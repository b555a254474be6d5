/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of the recovery (recover.c and what it stands on): pairs of FILE and
 * FILE.live are put together by the words of live_layout.h, in the states in
 * which a process can die, and damaged; what comes out must keep every rule
 * and have every record that is in the pair, once.
 */
#include "live_support.h"
#include "rbwp_table.h"
#include "table_schema.h"
#include "rbwp_recover.h"
#include "recover_tail.h"
#include "rbwp_verify.h"
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define MUTATIONS 200 /* each reads a live file of megabytes; fuzz_live has more */

/* Any larger allocation is a failure: no input justifies it. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "max_allocation_size_mb=128";
}

static char folder[64], file_path[96], live_path[96];

static int make_folder(void **state)
{
    (void)state;
    const char *tmp = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%.40s/recover-XXXXXX", tmp ? tmp : "/tmp");
    assert_non_null(mkdtemp(folder));
    snprintf(file_path, sizeof file_path, "%s/a.bin", folder);
    snprintf(live_path, sizeof live_path, "%s/a.bin.live", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    unlink(file_path);
    unlink(live_path);
    return rmdir(folder);
}

static void write_file(const struct bytes *bytes)
{
    int fd = open(file_path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes->data, bytes->size), bytes->size);
    close(fd);
}

/* ---- recovering -------------------------------------------------------------------------- */

static enum rbwp_status take_write(void *context, const void *bytes, size_t count)
{
    put(context, bytes, count);
    return RBWP_OK;
}

static enum rbwp_status take_patch(void *context, uint64_t offset, const void *bytes, size_t count)
{
    struct bytes *to = context;
    assert_true(offset + count <= to->size);
    memcpy(to->data + offset, bytes, count);
    return RBWP_OK;
}

struct recovered {
    enum rbwp_status status;
    struct rbwp_recover_result result;
    struct rbwp_error error;
    struct bytes bytes;
};

static struct recovered recover(const char *live)
{
    struct recovered recovered = {0};
    struct rbwp_sink sink = {&recovered.bytes, take_write, take_patch};
    put(&recovered.bytes, "", 0);
    recovered.status =
        rbwp_recover(file_path, live, &sink, NULL, NULL, &recovered.result, &recovered.error);
    return recovered;
}

static bool print_break(void *context, const struct rbwp_problem *problem)
{
    (void)context;
    print_error("%s\n", problem->error.text);
    return true;
}

/* The result keeps every rule. */
static void assert_clean(const struct bytes *bytes)
{
    struct rbwp_verify_result verified;
    assert_int_equal(
        rbwp_verify_memory(bytes->data, bytes->size, print_break, NULL, &verified, NULL), RBWP_OK);
    assert_int_equal(verified.breaks, 0);
    assert_false(verified.cut);
    assert_true(verified.finalised);
}

/* Records of one thread as text: "time kind id;". */
static char *records_of(const struct bytes *bytes, uint64_t thread_id)
{
    static char text[1 << 20];
    struct rbwp_reader *reader;
    struct rbwp_block block;
    uint32_t before = 0;
    bool any = false;
    size_t used = 0;
    text[0] = 0;
    assert_int_equal(rbwp_reader_open_memory(bytes->data, bytes->size, NULL, &reader, NULL),
                     RBWP_OK);
    while (rbwp_reader_next_block(reader, &block) == RBWP_OK) {
        struct rbwp_record_iterator iterator;
        struct rbwp_record record;
        if (block.header.records == 0 || block.header.thread_id != thread_id)
            continue;
        assert_true(!any || (int32_t)(block.header.sequence - before) > 0);
        before = block.header.sequence;
        any = true;
        rbwp_record_first(&block, &iterator);
        while (rbwp_record_next(&iterator, &record) && used < sizeof text - 200)
            used += (size_t)snprintf(text + used, sizeof text - used, "%" PRId64 " %x %u;",
                                     record.time_ns - LIVE_T, record.kind,
                                     record.slot + record.sub_item);
    }
    rbwp_reader_close(reader);
    return text;
}

/* A live file as most tests want it: two samples, a thread, names. */
static void make_live(struct live_maker *maker)
{
    live_make(maker, live_path);
    live_log_sample(maker, 1000);
    live_log_sample(maker, 21000);
    live_log_thread(maker, 7, "worker");
    live_log_slot(maker, 10, 3, "flush");
    live_log_sub_item(maker, 500, RBWP_XFER_CHANNEL, "copy");
}

static const uint64_t call_words[] = {
    EVENT(LIVE_EVENT_BEGIN, 3, 0), EVENT(LIVE_EVENT_FINE_BEGIN, 500, 10),
    EVENT(LIVE_EVENT_FINE_END, 0, 20), EVENT(LIVE_EVENT_END, 0, 30)};
#define CALL call_words, 4

/* The records of CALL in a chunk that begins at tick 3000, and 5000. */
static const char call_3000[] = "1000 1 3;1005 11 500;1010 12 0;1015 2 0;";
static const char call_5000[] = "2000 1 3;2005 11 500;2010 12 0;2015 2 0;";

static struct live_chunk_head chunk(uint64_t thread, uint64_t ticks, uint64_t ticket)
{
    return (struct live_chunk_head){.thread_id = thread, .base_ticks = ticks, .ticket = ticket};
}

static struct bytes header_only(void)
{
    struct bytes file = {0};
    put_header(&file, 0, 0, 0);
    return file;
}

/* ---- the states of a process that dies ---------------------------------------------------- */

/* Guards: what was recorded before the first block was written is there, with names, whatever FILE
 * is by then: a header, nothing, or not made yet. */
static void crash_before_the_first_block(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        struct live_maker maker;
        struct bytes file = header_only();
        file.size = i == 0 ? file.size : 0;
        write_file(&file);
        if (i == 2)
            unlink(file_path);
        make_live(&maker);
        live_put_chunk(&maker, 1, 0, chunk(7, 3000, 0), CALL);
        live_make_done(&maker);
        struct recovered recovered = recover(live_path);
        assert_int_equal(recovered.status, RBWP_OK);
        assert_clean(&recovered.bytes);
        assert_string_equal(records_of(&recovered.bytes, 7), call_3000);
        assert_int_equal(recovered.result.live_records, 4);
        assert_false(rbwp_recover_lost(&recovered.result));
        assert_int_equal(recovered.result.has_file, i == 0);

        struct rbwp_reader *reader;
        assert_int_equal(rbwp_reader_open_memory(recovered.bytes.data, recovered.bytes.size, NULL,
                                                 &reader, NULL),
                         RBWP_OK);
        const struct rbwp_tables *tables = rbwp_reader_tables(reader);
        const struct rbwp_trailer *trailer = rbwp_reader_trailer(reader);
        assert_int_equal(rbwp_reader_header(reader)->zero_time_ns, LIVE_T);
        assert_int_equal(rbwp_reader_header(reader)->flags, RBWP_FLAG_LEVEL2);
        assert_int_equal(tables->work_item_count, 1);
        assert_int_equal(tables->work_items[0].slot, 3);
        assert_memory_equal(tables->work_items[0].name, "flush", 5);
        assert_int_equal(tables->sub_item_count, 1);
        assert_int_equal(tables->sub_items[0].id, 500);
        assert_int_equal(tables->sub_items[0].type, RBWP_XFER_CHANNEL);
        assert_memory_equal(tables->sub_items[0].name, "copy", 4);
        assert_int_equal(trailer->thread_count, 1);
        assert_int_equal(trailer->threads[0].thread_id, 7);
        assert_int_equal(trailer->threads[0].os_id, 9007);
        assert_int_equal(trailer->threads[0].attached_ns, LIVE_OFFSET + 5);
        assert_int_equal(trailer->threads[0].records, 4);
        assert_memory_equal(trailer->threads[0].name, "worker", 6);
        assert_int_equal(trailer->process_id, 4242);
        assert_int_equal(trailer->sample_count, 2);
        assert_int_equal(trailer->slot_use_count, 0);
        rbwp_reader_close(reader);
        bytes_free(&recovered.bytes);
        bytes_free(&file);
    }
}

/* Guards: each chunk counts once. Empty, written and cleared, written and not yet cleared, taken
 * and not written, full and held, being filled; and a block that reached FILE without being
 * committed comes from its chunk alone. */
static void chunks_in_every_state(void **state)
{
    (void)state;
    struct live_maker maker;
    struct bytes file = header_only();
    put_block(&file, 7, 4, 2, TICK_NS(1200));
    put_block(&file, 8, 5, 2, TICK_NS(1400));
    uint64_t committed = file.size;
    put_block(&file, 7, 6, 4, TICK_NS(3000)); /* of the chunk with ticket 3 */
    write_file(&file);
    make_live(&maker);
    live_commit_at(&maker, 36, 1);
    live_commit_at(&maker, committed, 2);
    const uint64_t stale[] = {EVENT(LIVE_EVENT_BEGIN, 9, 0), EVENT(LIVE_EVENT_END, 0, 5)};
    const uint64_t filling[] = {EVENT(LIVE_EVENT_BEGIN, 3, 0)};
    live_put_chunk(&maker, 1, 0, chunk(7, 9000, 0), filling, 1);
    live_put_chunk(&maker, 1, 1, chunk(7, 1200, 1), stale, 0);
    live_put_chunk(&maker, 1, 2, chunk(8, 1400, 2), stale, 2);
    live_put_chunk(&maker, 1, 3, chunk(7, 3000, 3), CALL);
    live_put_chunk(&maker, 2, 0, chunk(7, 5000, 0), CALL);
    live_put_chunk(&maker, 2, 9, chunk(0, 0, 0), stale, 0);
    live_make_done(&maker);
    struct recovered recovered = recover(live_path);
    assert_int_equal(recovered.status, RBWP_OK);
    assert_clean(&recovered.bytes);
    char expected[400];
    snprintf(expected, sizeof expected, "100 1 0;200 2 0;%s%s4000 1 3;", call_3000, call_5000);
    assert_string_equal(records_of(&recovered.bytes, 7), expected);
    assert_string_equal(records_of(&recovered.bytes, 8), "200 1 0;300 2 0;");
    assert_int_equal(recovered.result.kept_blocks, 2);
    assert_int_equal(recovered.result.chunks, 3);
    assert_int_equal(recovered.result.live_records, 9);
    assert_int_equal(recovered.result.uncommitted_bytes, file.size - committed);
    assert_false(rbwp_recover_lost(&recovered.result));
    assert_memory_equal(recovered.bytes.data + 36, file.data + 36, (size_t)(committed - 36));
    bytes_free(&recovered.bytes);
    bytes_free(&file);
}

/* Guards: no record of a thread is before one that FILE has, though the clock's last samples say
 * so; and behind the last sample the clock goes on. */
static void times_never_go_back(void **state)
{
    (void)state;
    struct live_maker maker;
    struct bytes file = header_only();
    put_block(&file, 7, 0, 2, TICK_NS(3010));
    write_file(&file);
    make_live(&maker);
    maker.head.ticks_per_second = 1; /* the samples know better */
    live_commit_at(&maker, file.size, 1);
    live_put_chunk(&maker, 1, 0, chunk(7, 3000, 2), CALL);
    live_put_chunk(&maker, 1, 1, chunk(7, 1000000000000, 0), CALL);
    live_make_done(&maker);
    struct recovered recovered = recover(live_path);
    assert_clean(&recovered.bytes);
    assert_string_equal(records_of(&recovered.bytes, 7),
                        "1005 1 0;1105 2 0;1105 1 3;1105 11 500;1105 12 0;1105 2 0;"
                        "499999999500 1 3;499999999505 11 500;499999999510 12 0;499999999515 2 0;");
    bytes_free(&recovered.bytes);
    bytes_free(&file);
}

/* Guards: a GPU event is taken whole or not at all: one whose last words the chunk has no room for
 * is damage, the events before it stay. */
static void torn_gpu_event(void **state)
{
    (void)state;
    enum { WORDS = (LIVE_CHUNK_BYTES - 64) / 8 };
    for (size_t torn = 0; torn < 4; torn++) {
        struct live_maker maker;
        struct bytes file = header_only();
        uint64_t words[WORDS];
        size_t count = WORDS - 4 + torn;
        for (size_t i = 0; i < count; i++)
            words[i] = EVENT(i % 2 ? LIVE_EVENT_END : LIVE_EVENT_BEGIN, i % 2 ? 0 : 1, 2 * i);
        words[count] = EVENT(LIVE_EVENT_GPU, 200, 9000);
        for (size_t i = count + 1; i < WORDS; i++)
            words[i] = i == count + 2 ? (uint64_t)-5 : 77;
        write_file(&file);
        make_live(&maker);
        live_put_chunk(&maker, 1, 0, chunk(7, 3000, 0), words, WORDS);
        live_make_done(&maker);
        struct recovered recovered = recover(live_path);
        assert_clean(&recovered.bytes);
        assert_int_equal(recovered.result.live_records, count + (torn == 0));
        assert_int_equal(recovered.result.damaged_chunks, torn != 0);
        bytes_free(&recovered.bytes);
        bytes_free(&file);
    }
}

/* Guards: wild words. Those before them count, and those behind one of known size; other chunks are
 * not touched by it; two begins in a row break no rule of the result. */
static void garbage_in_chunks(void **state)
{
    (void)state;
    struct live_maker maker;
    struct bytes file = header_only();
    write_file(&file);
    make_live(&maker);
    const uint64_t wild[] = {EVENT(LIVE_EVENT_BEGIN, 3, 0), EVENT(LIVE_EVENT_BEGIN, 300, 1),
                             EVENT(LIVE_EVENT_BEGIN, 4, 2), 0x3e7, EVENT(LIVE_EVENT_END, 0, 30)};
    live_put_chunk(&maker, 1, 0, chunk(7, 3000, 0), wild, 5);
    live_put_chunk(&maker, 1, 1, chunk(7, 5000, 0), CALL);
    live_put_kind(&maker, 4, 77); /* no such kind: not looked into */
    live_make_done(&maker);
    struct recovered recovered = recover(live_path);
    assert_clean(&recovered.bytes);
    char expected[200];
    snprintf(expected, sizeof expected, "1000 1 3;1001 1 4;%s", call_5000);
    assert_string_equal(records_of(&recovered.bytes, 7), expected);
    assert_int_equal(recovered.result.damaged_chunks, 1);
    assert_true(rbwp_recover_lost(&recovered.result));
    bytes_free(&recovered.bytes);
    bytes_free(&file);
}

/* ---- the log ------------------------------------------------------------------------------- */

/* Guards: a torn entry ends its segment only; entries that cannot be are counted, not believed;
 * the last word about a thread, a loss and a sub-item counts. */
static void log_with_damage(void **state)
{
    (void)state;
    struct live_maker maker;
    struct bytes file = header_only();
    write_file(&file);
    make_live(&maker);
    live_log_entry(&maker, 99, "12345678", 8, "?");      /* no such kind */
    live_log_slot(&maker, 10, 256, "out of range");      /* no such slot */
    live_log_sub_item(&maker, 1, 256, "no such type");   /* no such type */
    live_log_entry(&maker, LIVE_SAMPLE, "short", 5, ""); /* cut */
    live_log_thread(&maker, 7, "renamed");
    live_log_sub_item(&maker, 500, RBWP_GPU_REAP, "later");
    live_log_loss(&maker, 7, RBWP_LOSS_DROPPED, 10);
    live_log_loss(&maker, 0, RBWP_LOSS_STALLED, 1);
    live_log_loss(&maker, 7, RBWP_LOSS_DROPPED, 25);
    uint32_t torn[2] = {LIVE_SEGMENT_BYTES, LIVE_THREAD}; /* longer than what is left */
    off_t at = (off_t)(LIVE_HEAD_BYTES + maker.log_at);
    assert_int_equal(pwrite(maker.fd, torn, sizeof torn, at), sizeof torn);
    live_log_to(&maker, 3);
    live_log_thread(&maker, 8, "behind");
    live_log_to(&maker, 5);
    uint32_t filler[2] = {LIVE_SEGMENT_BYTES - 24,
                          99}; /* and behind it one that runs over the end */
    at = (off_t)(LIVE_HEAD_BYTES + 5ull * LIVE_SEGMENT_BYTES);
    assert_int_equal(pwrite(maker.fd, filler, sizeof filler, at), sizeof filler);
    maker.log_at = LIVE_SEGMENT_BYTES - 24;
    live_log_thread(&maker, 9, "over the end");
    live_put_chunk(&maker, 1, 0, chunk(7, 3000, 0), CALL);
    live_make_done(&maker);
    struct recovered recovered = recover(live_path);
    assert_clean(&recovered.bytes);
    assert_int_equal(recovered.result.damaged_entries, 7);
    struct rbwp_reader *reader;
    assert_int_equal(
        rbwp_reader_open_memory(recovered.bytes.data, recovered.bytes.size, NULL, &reader, NULL),
        RBWP_OK);
    const struct rbwp_tables *tables = rbwp_reader_tables(reader);
    const struct rbwp_trailer *trailer = rbwp_reader_trailer(reader);
    assert_int_equal(trailer->thread_count, 2);
    assert_memory_equal(trailer->threads[0].name, "renamed", 7);
    assert_memory_equal(trailer->threads[1].name, "behind", 6);
    assert_int_equal(tables->sub_item_count, 1);
    assert_memory_equal(tables->sub_items[0].name, "later", 5);
    assert_int_equal(trailer->loss_count, 2);
    assert_int_equal(trailer->losses[0].cause, RBWP_LOSS_STALLED);
    assert_int_equal(trailer->losses[1].count, 25);
    assert_int_equal(trailer->losses[1].first_ns, TICK_NS(1000));
    assert_int_equal(trailer->losses[1].last_ns, TICK_NS(3000));
    rbwp_reader_close(reader);
    bytes_free(&recovered.bytes);
    bytes_free(&file);
}

/* Guards: kinds of a program's own survive a kill, of sub-items that are known and of slots, and
 * logged anew count once. */
static void own_kinds(void **state)
{
    (void)state;
    struct live_maker maker;
    struct bytes file = header_only();
    const uint16_t waits[2] = {9, RBWP_KIND_WAITS}, nobody[2] = {10, 0}, longest[2] = {11, 0},
                   first[2] = {0, RBWP_KIND_OF_SLOT},
                   last[2] = {RBWP_SLOTS_MAX - 1, RBWP_KIND_OF_SLOT | RBWP_KIND_WAITS},
                   beyond[2] = {RBWP_SLOTS_MAX, RBWP_KIND_OF_SLOT};
    char name[RBWP_NAME_BYTES_MAX + 2] = "";
    memset(name, 'n', RBWP_NAME_BYTES_MAX);
    write_file(&file);
    make_live(&maker);
    for (int i = 0; i < 2; i++) {
        live_log_sub_item(&maker, 9, RBWP_AM_HANDLER, "stall");
        live_log_entry(&maker, LIVE_KIND, waits, sizeof waits, "waiting for room");
        live_log_entry(&maker, LIVE_KIND, last, sizeof last, "idle");
        live_log_entry(&maker, LIVE_KIND, first, sizeof first, "");
    }
    live_log_entry(&maker, LIVE_KIND, beyond, sizeof beyond, "no such slot");
    live_log_sub_item(&maker, 11, RBWP_AM_HANDLER, "long");
    live_log_entry(&maker, LIVE_KIND, longest, sizeof longest, name);
    name[RBWP_NAME_BYTES_MAX] = 'n';
    live_log_entry(&maker, LIVE_KIND, waits, sizeof waits, name); /* too long */
    live_log_entry(&maker, LIVE_KIND, nobody, sizeof nobody, "of none");
    live_log_entry(&maker, LIVE_KIND, waits, sizeof waits[0], ""); /* cut */
    live_make_done(&maker);
    struct recovered recovered = recover(live_path);
    assert_clean(&recovered.bytes);
    assert_int_equal(recovered.result.damaged_entries, 3);
    struct rbwp_reader *reader;
    assert_int_equal(
        rbwp_reader_open_memory(recovered.bytes.data, recovered.bytes.size, NULL, &reader, NULL),
        RBWP_OK);
    const struct rbwp_trailer *trailer = rbwp_reader_trailer(reader);
    const struct rbwp_sub_item_kind expected[] = {
        {9, 16, RBWP_KIND_WAITS, "waiting for room"},
        {11, RBWP_NAME_BYTES_MAX, 0, name},
        {0, 0, RBWP_KIND_OF_SLOT, ""},
        {RBWP_SLOTS_MAX - 1, 4, RBWP_KIND_OF_SLOT | RBWP_KIND_WAITS, "idle"}};
    assert_int_equal(trailer->sub_item_kind_count, 4);
    for (size_t i = 0; i < 4; i++) {
        const struct rbwp_sub_item_kind *kind = &trailer->sub_item_kinds[i];
        assert_int_equal(kind->id, expected[i].id);
        assert_int_equal(kind->flags, expected[i].flags);
        assert_int_equal(kind->name_bytes, expected[i].name_bytes);
        assert_memory_equal(kind->name, expected[i].name, kind->name_bytes);
    }
    rbwp_reader_close(reader);
    bytes_free(&recovered.bytes);
    bytes_free(&file);
}

/* Guards: a slot that was used by several in turn has each name for its time. */
static void slot_used_again(void **state)
{
    (void)state;
    struct live_maker maker;
    struct bytes file = header_only();
    write_file(&file);
    make_live(&maker);
    live_log_slot_end(&maker, 100, 3);
    live_log_slot(&maker, 200, 3, "compact");
    live_log_slot(&maker, 250, 4, "other");
    live_log_slot_end(&maker, 300, 3);
    live_log_slot(&maker, 400, 3, "reap");
    live_make_done(&maker);
    struct recovered recovered = recover(live_path);
    assert_clean(&recovered.bytes);
    struct rbwp_reader *reader;
    assert_int_equal(
        rbwp_reader_open_memory(recovered.bytes.data, recovered.bytes.size, NULL, &reader, NULL),
        RBWP_OK);
    const struct rbwp_tables *tables = rbwp_reader_tables(reader);
    const struct rbwp_trailer *trailer = rbwp_reader_trailer(reader);
    assert_int_equal(tables->work_item_count, 2);
    assert_memory_equal(tables->work_items[0].name, "reap", 4);
    assert_int_equal(trailer->slot_use_count, 3);
    static const struct {
        int64_t from, to;
        const char *name;
    } uses[] = {{10, 100, "flush"}, {200, 300, "compact"}, {400, -LIVE_OFFSET, "reap"}};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(trailer->slot_uses[i].slot, 3);
        assert_int_equal(trailer->slot_uses[i].from_ns, LIVE_OFFSET + uses[i].from);
        assert_int_equal(trailer->slot_uses[i].to_ns, LIVE_OFFSET + uses[i].to);
        assert_memory_equal(trailer->slot_uses[i].name, uses[i].name, strlen(uses[i].name));
    }
    rbwp_reader_close(reader);
    bytes_free(&recovered.bytes);
    bytes_free(&file);
}

/* Guards: more samples than are kept. Those that remain give the same times: those of the clock's
 * late steps, too. */
static void many_samples(void **state)
{
    (void)state;
    struct live_maker maker;
    struct bytes file = header_only();
    write_file(&file);
    make_live(&maker);
    for (uint64_t i = 2; i < 9000; i++) {
        struct rbwp_clock_sample sample = {.ticks = 1000 + i * 20000};
        sample.time_ns = TICK_NS(sample.ticks) + (i < 5000 ? 0 : 100000);
        live_log_entry(&maker, LIVE_SAMPLE, &sample, sizeof sample, "");
    }
    live_put_chunk(&maker, 1, 0, chunk(7, 3000, 0), CALL);
    live_put_chunk(&maker, 1, 1, chunk(8, 179000000, 0), CALL);
    live_make_done(&maker);
    struct recovered recovered = recover(live_path);
    assert_clean(&recovered.bytes);
    assert_string_equal(records_of(&recovered.bytes, 7), call_3000);
    assert_string_equal(records_of(&recovered.bytes, 8),
                        "89599500 1 3;89599505 11 500;89599510 12 0;89599515 2 0;");
    bytes_free(&recovered.bytes);
    bytes_free(&file);
}

/* Guards: a sample that goes back, in ticks or in time, is dropped. */
static void samples_that_go_back(void **state)
{
    (void)state;
    static const struct rbwp_clock_sample back[] = {{.ticks = 500, .time_ns = 2 * LIVE_T},
                                                    {.ticks = 30000, .time_ns = LIVE_T}};
    for (size_t i = 0; i < 2; i++) {
        struct live_maker maker;
        struct bytes file = header_only();
        write_file(&file);
        make_live(&maker);
        live_log_entry(&maker, LIVE_SAMPLE, &back[i], sizeof back[i], "");
        live_put_chunk(&maker, 1, 0, chunk(7, 41000, 0), CALL);
        live_make_done(&maker);
        struct recovered recovered = recover(live_path);
        assert_clean(&recovered.bytes);
        assert_string_equal(records_of(&recovered.bytes, 7),
                            "20000 1 3;20005 11 500;20010 12 0;20015 2 0;");
        bytes_free(&recovered.bytes);
        bytes_free(&file);
    }
}

/* Guards: without any sample of the clock the records are there all the same, from the zero time
 * on, and it is reported. */
static void no_sample(void **state)
{
    (void)state;
    struct live_maker maker;
    struct bytes file = header_only();
    write_file(&file);
    live_make(&maker, live_path);
    live_put_chunk(&maker, 1, 0, chunk(7, 5000, 0), CALL);
    live_put_chunk(&maker, 1, 1, chunk(8, 3000, 0), CALL);
    live_make_done(&maker);
    struct recovered recovered = recover(live_path);
    assert_clean(&recovered.bytes);
    assert_true(recovered.result.no_clock_sample);
    assert_string_equal(records_of(&recovered.bytes, 8), "0 1 3;5 11 500;10 12 0;15 2 0;");
    assert_string_equal(records_of(&recovered.bytes, 7),
                        "1000 1 3;1005 11 500;1010 12 0;1015 2 0;");
    bytes_free(&recovered.bytes);
    bytes_free(&file);
}

/* ---- live files that cannot be used ---------------------------------------------------------- */

enum head_change {
    OTHER_MAGIC,
    OTHER_ORDER,
    BAD_ORDER,
    OTHER_VERSION,
    HUGE_CHUNKS,
    TINY_CHUNKS,
    ODD_CHUNKS,
    HEAD_LIKE_CHUNK,
    NO_HEAD,
    COMMIT_INDEX,
    OTHER_ZERO,
    OTHER_NODE,
    HEAD_CHANGES
};

static enum rbwp_status change_head(struct live_head *head, enum head_change change)
{
    switch (change) {
    case OTHER_MAGIC:
        return head->magic[7] = 0, RBWP_E_NOT_RBWP;
    case OTHER_ORDER:
        return head->byte_order = 0x04030201, RBWP_E_UNSUPPORTED;
    case BAD_ORDER:
        return head->byte_order = 0, RBWP_E_CORRUPT;
    case OTHER_VERSION:
        return head->version++, RBWP_E_VERSION;
    case HUGE_CHUNKS:
        return head->chunk_bytes = UINT32_MAX, RBWP_E_CORRUPT;
    case TINY_CHUNKS:
        return head->chunk_bytes = 0, RBWP_E_CORRUPT;
    case ODD_CHUNKS:
        return head->chunk_bytes++, RBWP_E_CORRUPT;
    case HEAD_LIKE_CHUNK:
        return head->chunk_head_bytes = head->chunk_bytes, RBWP_E_CORRUPT;
    case NO_HEAD:
        return head->chunk_head_bytes = 0, RBWP_E_CORRUPT;
    case COMMIT_INDEX:
        return head->commit_index = 2, RBWP_E_CORRUPT;
    case OTHER_ZERO:
        return head->zero_time_ns++, RBWP_E_INVALID;
    default:
        return head->node++, RBWP_E_INVALID;
    }
}

/* Guards: a live file as 0.1 left it, which knew no rows, is read as before. */
static void live_file_of_0_1(void **state)
{
    struct live_maker maker;
    (void)state;
    struct bytes file = header_only();
    write_file(&file);
    make_live(&maker);
    maker.head.version = 2;
    live_put_head(&maker);
    live_put_chunk(&maker, 1, 0, chunk(7, 3000, 0), CALL);
    live_make_done(&maker);
    struct recovered recovered = recover(live_path);
    assert_int_equal(recovered.status, RBWP_OK);
    assert_string_equal(records_of(&recovered.bytes, 7), call_3000);
    assert_false(rbwp_recover_lost(&recovered.result));
    bytes_free(&recovered.bytes);
    bytes_free(&file);
}

static struct live_chunk_head row_chunk(uint32_t table, uint32_t columns, uint64_t rows)
{
    struct live_chunk_head head = chunk(7, 3000, 0);
    head.table = table;
    head.columns = columns;
    head.rows = rows;
    return head;
}

/* Rows of table 3 (a number, a name), and what there is of them in the result. */
static uint64_t rows_recovered(struct live_chunk_head head, uint64_t *damaged_out)
{
    static const struct rbwp_column columns[] = {
        {.type = RBWP_COLUMN_U64, .name = "number", .name_bytes = 6},
        {.type = RBWP_COLUMN_NAME, .name = "name", .name_bytes = 4}};
    const struct rbwp_schema schema = {
        .table = 3, .column_count = 2, .name = "t", .name_bytes = 1, .columns = columns};
    const uint64_t words[] = {10, 1, 11, 2, 12, UINT64_MAX}; /* no name has number 2 */
    const uint32_t number = 1;
    struct buffer bytes = {0};
    struct live_maker maker;
    struct bytes file = header_only();
    write_file(&file);
    make_live(&maker);
    schema_encode(&schema, &bytes);
    bytes.bytes[bytes.count - 1] = 0; /* the entry's end is a text here */
    live_log_entry(&maker, LIVE_SCHEMA, bytes.bytes, bytes.count - 1, "e");
    live_log_entry(&maker, LIVE_NAME, &number, sizeof number, "one");
    live_put_chunk(&maker, 1, 0, head, words, sizeof words / sizeof words[0]);
    live_put_chunk(&maker, 1, 1, chunk(7, 4000, 0), CALL);
    live_make_done(&maker);
    struct recovered recovered = recover(live_path);
    assert_int_equal(recovered.status, RBWP_OK);
    assert_clean(
        &recovered.bytes); /* names and rows are as R47 to R49 say, whatever was in there */
    assert_int_equal(recovered.result.live_records, 4);
    *damaged_out = recovered.result.damaged_chunks;
    uint64_t rows = recovered.result.live_rows;
    bytes_free(&recovered.bytes);
    bytes_free(&file);
    buffer_free(&bytes);
    return rows;
}

/* Guards: rows of a live file are in the result as far as they can be: of a table that is known, as
 * wide as it is, no more than the chunk has. The rest is reported, and the other chunks are read.
 */
static void rows_of_live_file(void **state)
{
    uint64_t damaged;
    (void)state;
    assert_int_equal(rows_recovered(row_chunk(3, 2, 3), &damaged), 3);
    assert_int_equal(damaged, 0);
    assert_int_equal(rows_recovered(row_chunk(3, 2, 2), &damaged), 2);
    assert_int_equal(damaged, 0);
    assert_int_equal(rows_recovered(row_chunk(4, 2, 3), &damaged), 0);
    assert_int_equal(damaged, 1);
    assert_int_equal(rows_recovered(row_chunk(3, 3, 2), &damaged), 0);
    assert_int_equal(damaged, 1);
    assert_true(rows_recovered(row_chunk(3, 2, UINT64_MAX), &damaged) >= 3);
    assert_int_equal(damaged, 1);
}

/* Guards: a live file of another version, machine or file is refused, with the reason and with
 * nothing made of it; so is a damaged head. */
static void unusable_live_files(void **state)
{
    (void)state;
    struct bytes file = header_only();
    write_file(&file);
    for (enum head_change change = OTHER_MAGIC; change < HEAD_CHANGES; change++) {
        struct live_maker maker;
        make_live(&maker);
        live_put_chunk(&maker, 1, 0, chunk(7, 3000, 0), CALL);
        enum rbwp_status expected = change_head(&maker.head, change);
        live_put_head(&maker);
        live_make_done(&maker);
        struct recovered recovered = recover(live_path);
        assert_int_equal(recovered.status, expected);
        assert_int_equal(recovered.error.status, expected);
        assert_true(recovered.error.text[0] && !strchr(recovered.error.text, '\n'));
        assert_string_equal(recovered.error.section, "live file");
        assert_int_equal(recovered.bytes.size, 0);
        bytes_free(&recovered.bytes);
    }
    assert_int_equal(truncate(live_path, 100), 0);
    struct recovered recovered = recover(live_path);
    assert_int_equal(recovered.status, RBWP_E_NOT_RBWP);
    bytes_free(&recovered.bytes);
    recovered = recover(folder);
    assert_int_equal(recovered.status, RBWP_E_NOT_RBWP);
    bytes_free(&recovered.bytes);
    recovered = recover("/nonexistent/live");
    assert_int_equal(recovered.status, RBWP_E_IO);
    bytes_free(&recovered.bytes);
    bytes_free(&file);
}

/* Guards: a process that died before it had written the live file's head had recorded nothing, so
 * nothing is lost; what FILE has by then is made whole, and no file is no file. */
static void live_file_without_head(void **state)
{
    (void)state;
    struct bytes file = header_only();
    for (int i = 0; i < 4; i++) {
        struct live_maker maker;
        write_file(&file);
        live_make(&maker, live_path);
        memset(maker.head.magic, 0, sizeof maker.head.magic);
        live_put_head(&maker);
        assert_int_equal(ftruncate(maker.fd, i % 2 ? 0 : 4096), 0);
        live_make_done(&maker);
        if (i >= 2)
            unlink(file_path);
        struct recovered recovered = recover(live_path);
        assert_int_equal(recovered.status, i < 2 ? RBWP_OK : RBWP_E_IO);
        if (i < 2) {
            assert_true(recovered.result.live_empty);
            assert_false(rbwp_recover_lost(&recovered.result));
            assert_clean(&recovered.bytes);
        }
        bytes_free(&recovered.bytes);
    }
    bytes_free(&file);
}

/* Guards: numbers at their limits in chunks, commits, samples and clock; the result stays valid and
 * times stay inside 62 bits. */
static void huge_numbers(void **state)
{
    (void)state;
    static const uint64_t huge[] = {UINT64_MAX, INT64_MAX, (uint64_t)INT64_MIN, 0, 1};
    struct bytes file = header_only();
    put_block(&file, 7, UINT32_MAX, 2, TICK_NS(1200));
    write_file(&file);
    for (unsigned i = 0; i < 5 * 5 * 5; i++) {
        struct live_maker maker;
        make_live(&maker);
        maker.head.ticks_per_second = huge[i % 5];
        maker.head.offset_ns = (int64_t)huge[i / 5 % 5];
        live_commit_at(&maker, i % 3 ? huge[i / 25] : file.size, 1);
        live_put_chunk(&maker, 1, 0, chunk(7, huge[i / 5 % 5], 0), CALL);
        live_put_chunk(&maker, 1, 1, chunk(UINT64_MAX, huge[i % 5], UINT64_MAX), CALL);
        struct rbwp_clock_sample sample = {huge[i / 25], (int64_t)huge[i % 5], 0, 0};
        live_log_entry(&maker, LIVE_SAMPLE, &sample, sizeof sample, "");
        live_make_done(&maker);
        struct recovered recovered = recover(live_path);
        assert_int_equal(recovered.status, RBWP_OK);
        assert_clean(&recovered.bytes);
        assert_true(recovered.result.live_records >= 8);
        bytes_free(&recovered.bytes);
    }
    bytes_free(&file);
}

/* Guards: a live file that ends anywhere gives what is there. */
static void cut_live_files(void **state)
{
    (void)state;
    struct live_maker maker;
    struct bytes file = header_only();
    write_file(&file);
    make_live(&maker);
    live_put_chunk(&maker, 1, 0, chunk(7, 3000, 0), CALL);
    live_make_done(&maker);
    const off_t chunk_at = LIVE_HEAD_BYTES + LIVE_SEGMENT_BYTES;
    const off_t sizes[] = {chunk_at + LIVE_SEGMENT_BYTES - 1,
                           chunk_at + 64 + 24,
                           chunk_at + 64 + 11,
                           chunk_at + 64,
                           chunk_at + 63,
                           chunk_at,
                           LIVE_HEAD_BYTES + 70,
                           LIVE_HEAD_BYTES,
                           LIVE_TABLE_OFFSET + 1,
                           LIVE_TABLE_OFFSET,
                           sizeof(struct live_head)};
    const unsigned records[] = {4, 3, 1};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        assert_int_equal(truncate(live_path, sizes[i]), 0);
        struct recovered recovered = recover(live_path);
        assert_int_equal(recovered.status, RBWP_OK);
        assert_clean(&recovered.bytes);
        assert_int_equal(recovered.result.live_records, i < 3 ? records[i] : 0);
        assert_int_equal(recovered.result.damaged_chunks, i == 1 || i == 2);
        assert_int_equal(recovered.result.damaged_entries, i < 6 ? 1 : i == 6 ? 3 : i == 7 ? 2 : 0);
        bytes_free(&recovered.bytes);
    }
    bytes_free(&file);
}

/* Guards: what its process counted as in neither file is reported, is in the losses of the result,
 * and keeps it from being called whole; a count that the log's entries reach adds nothing to them.
 */
static void counted_as_missing(void **state)
{
    (void)state;
    static const struct {
        struct live_counts counts;
        struct rbwp_live_missing missing;
        uint32_t cause;
        uint64_t count; /* in the result, beside the 10 records that the log has as dropped */
    } cases[] = {
        {{.lost[RBWP_LOSS_DROPPED] = 10}, {.lost_records = 10}, 0, 0},
        {{.lost[RBWP_LOSS_DROPPED] = 17}, {.lost_records = 17}, RBWP_LOSS_DROPPED, 7},
        {{.lost[RBWP_LOSS_STRAY_END] = 3}, {0}, RBWP_LOSS_STRAY_END, 3},
        {{.unwritten_records = 5}, {.unwritten_records = 5}, RBWP_LOSS_IO, 5},
        {{.unwritten_blocks = 6}, {.unwritten_blocks = 6}, 0, 0},
        {{.unprotected_chunks = 2, .unprotected_chunks_most = 9},
         {.unprotected_bytes = 8192, .unprotected_records_most = 1008},
         RBWP_LOSS_UNPROTECTED,
         1008},
        {{.unprotected_chunks_most = 9}, {0}, 0, 0},
        {{.unlogged[LIVE_SLOT_BEGIN] = 1,
          .unlogged[LIVE_SLOT_END] = 2,
          .unlogged[LIVE_SUB_ITEM] = 4},
         {.unlogged_names = 7},
         0,
         0},
        {{.unlogged[LIVE_THREAD] = 1, .unlogged[LIVE_THREAD_END] = 2},
         {.unlogged_threads = 3},
         0,
         0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct live_maker maker;
        struct bytes file = header_only();
        const struct rbwp_live_missing none = {0};
        write_file(&file);
        make_live(&maker);
        live_log_loss(&maker, 7, RBWP_LOSS_DROPPED, 10);
        maker.head.counts = cases[i].counts;
        live_put_head(&maker);
        live_put_chunk(&maker, 1, 0, chunk(7, 3000, 0), CALL);
        live_make_done(&maker);
        struct recovered recovered = recover(live_path);
        assert_clean(&recovered.bytes);
        assert_memory_equal(&recovered.result.missing, &cases[i].missing, sizeof none);
        assert_int_equal(rbwp_recover_lost(&recovered.result),
                         memcmp(&cases[i].missing, &none, sizeof none) != 0);
        struct rbwp_reader *reader;
        assert_int_equal(rbwp_reader_open_memory(recovered.bytes.data, recovered.bytes.size, NULL,
                                                 &reader, NULL),
                         RBWP_OK);
        const struct rbwp_trailer *trailer = rbwp_reader_trailer(reader);
        assert_int_equal(trailer->loss_count, 1 + (cases[i].count != 0));
        assert_int_equal(trailer->losses[0].count, 10);
        if (cases[i].count) {
            assert_int_equal(trailer->losses[1].cause, cases[i].cause);
            assert_int_equal(trailer->losses[1].count, cases[i].count);
            assert_int_equal(trailer->losses[1].thread_id, 0);
        }
        rbwp_reader_close(reader);
        bytes_free(&recovered.bytes);
        bytes_free(&file);
    }
}

/* Guards: an entry of the log that cannot be is counted, and nothing is taken from it. */
static void impossible_entries(void **state)
{
    (void)state;
    static const struct {
        uint32_t kind;
        uint8_t head[10];
        size_t bytes;
    } entries[] = {
        {LIVE_SLOT_BEGIN, {[8] = 0, [9] = 1}, 10},
        {LIVE_SLOT_END, {[8] = 0, [9] = 1}, 10},
        {LIVE_SLOT_BEGIN, {0}, 9},
        {LIVE_SLOT_END, {0}, 9},
        {LIVE_SUB_ITEM, {[3] = 1}, 4},
        {LIVE_SUB_ITEM, {0}, 3},
        {LIVE_KIND, {0}, 3},
        {LIVE_THREAD, {0}, 8},
        {LIVE_THREAD_END, {0}, 8},
        {LIVE_SAMPLE, {0}, 8},
        {UINT32_MAX, {0}, 8},
    };
    for (size_t i = 0; i < sizeof entries / sizeof entries[0]; i++) {
        struct live_maker maker;
        struct bytes file = header_only();
        write_file(&file);
        make_live(&maker);
        live_log_entry(&maker, entries[i].kind, entries[i].head, entries[i].bytes, "");
        live_log_slot(&maker, 250, 4, "other");
        live_make_done(&maker);
        struct recovered recovered = recover(live_path);
        assert_clean(&recovered.bytes);
        assert_int_equal(recovered.result.damaged_entries, 1);
        struct rbwp_reader *reader;
        assert_int_equal(rbwp_reader_open_memory(recovered.bytes.data, recovered.bytes.size, NULL,
                                                 &reader, NULL),
                         RBWP_OK);
        const struct rbwp_tables *tables = rbwp_reader_tables(reader);
        assert_int_equal(tables->work_item_count, 2); /* with those that make_live names */
        assert_int_equal(tables->sub_item_count, 1);
        rbwp_reader_close(reader);
        bytes_free(&recovered.bytes);
        bytes_free(&file);
    }
}

/* Guards: the clock's samples in their fixed places serve as those of the log do, in whatever
 * places, but for one that was being written; and segments that lie over others are not read. */
static void samples_in_places(void **state)
{
    (void)state;
    struct live_maker maker;
    struct bytes file = header_only();
    write_file(&file);
    live_make(&maker, live_path);
    static const uint64_t ticks[] = {21000, 0, 1000, 9000};
    for (size_t i = 0; i < 4; i++) {
        struct live_sample place = {.sample = {.ticks = ticks[i], .time_ns = TICK_NS(ticks[i])}};
        place.check = live_sample_check(&place.sample);
        if (ticks[i] == 9000)
            place.sample.time_ns += 500; /* torn */
        if (ticks[i])
            assert_int_equal(pwrite(maker.fd, &place, sizeof place,
                                    (off_t)(LIVE_SAMPLES_OFFSET + 67 * i * sizeof place)),
                             sizeof place);
    }
    live_put_chunk(&maker, 1, 0, chunk(7, 3000, 0), CALL);
    live_put_chunk(&maker, 2, 0, chunk(7, 5000, 0), CALL);
    live_put_entry(&maker, 3,
                   (struct live_segment){LIVE_HEAD_BYTES + LIVE_SEGMENT_BYTES, LIVE_SEGMENT_BYTES,
                                         LIVE_CHUNKS});
    live_make_done(&maker);
    struct recovered recovered = recover(live_path);
    assert_clean(&recovered.bytes);
    char expected[200];
    snprintf(expected, sizeof expected, "%s%s", call_3000, call_5000);
    assert_string_equal(records_of(&recovered.bytes, 7), expected);
    assert_false(recovered.result.no_clock_sample);
    assert_int_equal(recovered.result.damaged_entries, 1);
    bytes_free(&recovered.bytes);
    bytes_free(&file);
}

/* Guards: an entry of the table that cannot be costs its own segment, not those behind it. */
static void damaged_segment_entry(void **state)
{
    (void)state;
    const uint64_t good = LIVE_HEAD_BYTES + LIVE_SEGMENT_BYTES;
    const struct live_segment bad[] = {
        {good, LIVE_SEGMENT_BYTES, 99},
        {1, LIVE_SEGMENT_BYTES, LIVE_CHUNKS},
        {UINT64_MAX, LIVE_SEGMENT_BYTES, LIVE_CHUNKS},
        {good, 0, LIVE_CHUNKS},
        {good, LIVE_SEGMENT_BYTES_MAX + 1, LIVE_CHUNKS},
    };
    struct bytes file = header_only();
    write_file(&file);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct live_maker maker;
        live_make(&maker, live_path);
        live_log_sample(&maker, 1000);
        live_put_chunk(&maker, 2, 0, chunk(7, 5000, 0), CALL);
        live_put_entry(&maker, 1, bad[i]);
        live_make_done(&maker);
        struct recovered recovered = recover(live_path);
        assert_string_equal(records_of(&recovered.bytes, 7), call_5000);
        assert_int_equal(recovered.result.damaged_entries, 1);
        bytes_free(&recovered.bytes);
    }
    bytes_free(&file);
}

/* Guards: FILE is shorter than the live file says, or damaged inside of what was committed: the
 * rest is kept, the loss is reported and is in the trailer. */
static void file_lost_bytes(void **state)
{
    (void)state;
    struct bytes file = header_only();
    put_block(&file, 7, 0, 2, TICK_NS(1200));
    size_t second = file.size;
    put_block(&file, 7, 1, 6, TICK_NS(1600));
    put_block(&file, 7, 2, 2, TICK_NS(2800));
    for (int cut = 0; cut < 2; cut++) {
        struct live_maker maker;
        struct bytes damaged = {0};
        put(&damaged, file.data, cut ? second + 10 : file.size);
        if (!cut)
            damaged.data[second + 32 + 8] = 0x77;
        write_file(&damaged);
        make_live(&maker);
        live_commit_at(&maker, file.size, 1);
        live_put_chunk(&maker, 1, 0, chunk(7, 9000, 0), CALL);
        live_make_done(&maker);
        struct recovered recovered = recover(live_path);
        assert_clean(&recovered.bytes);
        assert_int_equal(recovered.result.kept_blocks, cut ? 1 : 2);
        assert_int_equal(recovered.result.live_records, 4);
        assert_int_equal(recovered.result.missing_bytes, cut ? file.size - damaged.size : 0);
        assert_int_equal(recovered.result.damaged_places, 1);
        assert_int_equal(recovered.result.damaged_records, cut ? 0 : 6);
        assert_true(rbwp_recover_lost(&recovered.result));
        bytes_free(&recovered.bytes);
        bytes_free(&damaged);
    }
    bytes_free(&file);
}

/* Guards: a finalised FILE needs nothing of a live file that was left beside it. */
static void finalised_beside_live(void **state)
{
    (void)state;
    struct live_maker maker;
    struct bytes file = load_example();
    write_file(&file);
    make_live(&maker);
    maker.head.zero_time_ns = INT64_C(1699999999999999000);
    maker.head.node = 3;
    live_put_head(&maker);
    live_put_chunk(&maker, 1, 0, chunk(7, 3000, 0), CALL);
    live_make_done(&maker);
    struct recovered recovered = recover(live_path);
    assert_int_equal(recovered.status, RBWP_OK);
    assert_true(recovered.result.unchanged);
    assert_int_equal(recovered.bytes.size, file.size);
    assert_memory_equal(recovered.bytes.data, file.data, file.size);
    bytes_free(&recovered.bytes);
    bytes_free(&file);
}

/* Guards: the live file of a running process, which holds its lock, is not taken for a dead one's.
 */
static void running_process(void **state)
{
    (void)state;
    struct live_maker maker;
    struct bytes file = header_only();
    write_file(&file);
    make_live(&maker);
    live_put_chunk(&maker, 1, 0, chunk(7, 3000, 0), CALL);
    assert_int_equal(flock(maker.fd, LOCK_EX), 0);
    struct recovered recovered = recover(live_path);
    assert_true(recovered.result.is_written);
    assert_clean(&recovered.bytes);
    assert_string_equal(records_of(&recovered.bytes, 7), call_3000);
    bytes_free(&recovered.bytes);
    live_make_done(&maker);
    recovered = recover(live_path);
    assert_false(recovered.result.is_written);
    bytes_free(&recovered.bytes);
    bytes_free(&file);
}

/* ---- files alone ------------------------------------------------------------------------------
 */

/* All blocks that a reader hands out, as stored, one after the other. */
static struct bytes good_blocks(const struct bytes *file)
{
    struct rbwp_reader *reader;
    struct rbwp_block block;
    struct bytes blocks = {0};
    put(&blocks, "", 0);
    assert_int_equal(rbwp_reader_open_memory(file->data, file->size, NULL, &reader, NULL), RBWP_OK);
    while (rbwp_reader_next_block(reader, &block) == RBWP_OK) {
        uint32_t stored = block.header.stored_bytes;
        put(&blocks, file->data + block.offset, 32 + (stored ? stored : block.header.data_bytes));
    }
    rbwp_reader_close(reader);
    return blocks;
}

/* The result has exactly the good blocks, as stored, keeps every rule, and is not changed by
 * another recovery. */
static void assert_recovers(const struct bytes *file)
{
    struct bytes before = good_blocks(file);
    write_file(file);
    struct recovered first = recover(NULL);
    assert_int_equal(first.status, RBWP_OK);
    assert_clean(&first.bytes);
    struct bytes after = good_blocks(&first.bytes);
    assert_int_equal(after.size, before.size);
    assert_memory_equal(after.data, before.data, before.size);
    write_file(&first.bytes);
    struct recovered second = recover(NULL);
    assert_true(second.result.unchanged);
    assert_int_equal(second.bytes.size, first.bytes.size);
    assert_memory_equal(second.bytes.data, first.bytes.data, first.bytes.size);
    bytes_free(&first.bytes);
    bytes_free(&second.bytes);
    bytes_free(&before);
    bytes_free(&after);
}

/* Guards: every golden file, whole, crashed or defect, and cut in many places. */
static void golden_files(void **state)
{
    (void)state;
    for (size_t i = 0; i < golden_count; i++) {
        struct bytes file = load_golden(golden_names[i]);
        assert_recovers(&file);
        size_t whole = file.size;
        for (size_t cut = 1; cut < 8; cut++) {
            file.size = 36 + (whole - 36) * cut / 8;
            assert_recovers(&file);
        }
        bytes_free(&file);
    }
}

/* Guards: blocks torn by writers that flush at once. */
static void interleaved_blocks(void **state)
{
    (void)state;
    struct bytes file = header_only(), a = {0}, b = {0};
    put_block(&a, 1, 1, 300, LIVE_T);
    put_zlib_block(&b, 2, 2, 300, LIVE_T);
    put_block(&file, 1, 0, 20, LIVE_T - 100000);
    put(&file, a.data, 32); /* both headers, then both payloads in pieces */
    put(&file, b.data, 32);
    put(&file, a.data + 32, 200);
    put(&file, b.data + 32, 50);
    put(&file, a.data + 232, a.size - 232);
    put(&file, b.data + 82, b.size - 82);
    put_zlib_block(&file, 2, 3, 40, LIVE_T + 100000);
    assert_recovers(&file);
    struct recovered recovered = recover(NULL);
    assert_int_equal(recovered.result.kept_blocks, 2);
    bytes_free(&recovered.bytes);
    bytes_free(&file);
    bytes_free(&a);
    bytes_free(&b);
}

/* Guards: what a repair can put right: tables with double and impossible entries, fine records in a
 * level-1 file, and a loss in the trailer for the records of a damaged block. */
static void rules_that_can_be_mended(void **state)
{
    (void)state;
    struct bytes file = {0};
    put_header(&file, 3, 2, 0);
    set_le(&file, 6, 0, 2); /* level 1 */
    size_t at = file.size;
    struct bytes data = {0};
    put_be(&data, (uint64_t)LIVE_T | UINT64_C(3) << 62, 8);
    put_le(&data, RBWP_FINE_BEGIN, 1);
    put_le(&data, 4, 2);
    put_block_header(&file, 1, 0, 1, LIVE_T, (uint32_t)data.size, 0);
    put(&file, data.data, data.size);
    size_t bad = file.size;
    put_block(&file, 5, 1, 6, LIVE_T);
    file.data[bad + 32 + 8] = 0x77;
    set_le(&file, 28, file.size, 8);
    put(&file, "\7\0\1\0a\7\0\1\0b\x2c\1\1\0c", 15); /* slots 7, 7 and 300 */
    put(&file, "\4\0\0\1\0d\4\0\0\1\0e", 12);        /* sub-items 4 and 4 */
    assert_recovers(&file);
    write_file(&file);
    struct recovered recovered = recover(NULL);
    assert_int_equal(recovered.result.dropped_names, 3);
    assert_int_equal(recovered.bytes.data[6], 1);
    struct rbwp_reader *reader;
    assert_int_equal(
        rbwp_reader_open_memory(recovered.bytes.data, recovered.bytes.size, NULL, &reader, NULL),
        RBWP_OK);
    const struct rbwp_trailer *trailer = rbwp_reader_trailer(reader);
    assert_int_equal(trailer->loss_count, 1);
    assert_int_equal(trailer->losses[0].thread_id, 5);
    assert_int_equal(trailer->losses[0].count, 6);
    assert_int_equal(trailer->losses[0].cause, RBWP_LOSS_IO);
    assert_memory_equal(rbwp_reader_tables(reader)->work_items[0].name, "a", 1);
    rbwp_reader_close(reader);
    assert_true(at < bad);
    bytes_free(&recovered.bytes);
    bytes_free(&data);
    bytes_free(&file);
}

/* Guards: of more threads than fit into the table none is listed, and that is no lack of memory;
 * all are where it has room for one more. The result begins with its first record and ends with its
 * last, in whatever order their blocks came. */
static void more_threads_than_fit(void **state)
{
    (void)state;
    for (uint32_t more = 0; more < 3; more++) {
        struct recover_tail tail = {0};
        const uint32_t threads = THREAD_TABLE_MAX - 1 + more;
        for (uint32_t i = 0; i < threads; i++) {
            const int64_t first_ns = LIVE_T + (i == 0 ? 2000 : i == 1 ? 1000 : 3000);
            const struct rbwp_sealed_block block = {.records = 1,
                                                    .thread_id = i + 1,
                                                    .first_ns = first_ns,
                                                    .last_ns = first_ns + (i == 1 ? 9000 : 10)};
            recover_tail_block(&tail, &block);
        }
        assert_int_equal(tail.seen.map.count, more ? THREAD_TABLE_MAX : threads);
        assert_int_equal(recover_tail_make(&tail, NULL, NULL, NULL), RBWP_OK);
        assert_int_equal(tail.trailer.thread_count, more ? 0 : threads);
        assert_int_equal(tail.trailer.start_ns, LIVE_T + 1000);
        assert_int_equal(tail.trailer.stop_ns, LIVE_T + 10000);
        recover_tail_free(&tail);
    }
}

/* Guards: what is no RBWP file, or must be understood and is not, is refused. */
static void refused_files(void **state)
{
    (void)state;
    struct bytes file = header_only();
    put_block_header(&file, 0, 0, 0, 0, 4, 0);
    put(&file, "MUST", 4);
    write_file(&file);
    struct recovered recovered = recover(NULL);
    assert_int_equal(recovered.status, RBWP_E_VERSION);
    bytes_free(&recovered.bytes);
    file.data[0] = 'X';
    write_file(&file);
    recovered = recover(NULL);
    assert_int_equal(recovered.status, RBWP_E_NOT_RBWP);
    bytes_free(&recovered.bytes);
    file.size = 0;
    write_file(&file);
    recovered = recover(NULL);
    assert_int_equal(recovered.status, RBWP_E_NOT_RBWP);
    bytes_free(&recovered.bytes);
    unlink(file_path);
    recovered = recover(NULL);
    assert_int_equal(recovered.status, RBWP_E_IO);
    bytes_free(&recovered.bytes);
    bytes_free(&file);
}

static enum rbwp_status fail_write(void *context, const void *bytes, size_t count)
{
    (void)bytes;
    size_t *left = context;
    if (count > *left)
        return RBWP_E_LIMIT;
    *left -= count;
    return RBWP_OK;
}

static enum rbwp_status no_patch(void *context, uint64_t offset, const void *bytes, size_t count)
{
    (void)context;
    (void)offset;
    (void)bytes;
    (void)count;
    return RBWP_OK;
}

/* Guards: a sink that fails anywhere ends the recovery with what it returned. */
static void failing_sinks(void **state)
{
    (void)state;
    struct live_maker maker;
    struct bytes file = header_only();
    put_block(&file, 7, 0, 2, TICK_NS(1200));
    write_file(&file);
    make_live(&maker);
    live_commit_at(&maker, file.size, 1);
    live_put_chunk(&maker, 1, 0, chunk(7, 3000, 0), CALL);
    live_make_done(&maker);
    struct recovered whole = recover(live_path);
    enum { STEP = 5 }; /* shorter than any write */
    for (size_t room = whole.bytes.size % STEP; room <= whole.bytes.size; room += STEP) {
        size_t left = room;
        struct rbwp_sink sink = {&left, fail_write, no_patch};
        struct rbwp_recover_result result;
        struct rbwp_error error;
        assert_int_equal(rbwp_recover(file_path, live_path, &sink, NULL, NULL, &result, &error),
                         room < whole.bytes.size ? RBWP_E_LIMIT : RBWP_OK);
    }
    bytes_free(&whole.bytes);
    bytes_free(&file);
}

static enum rbwp_status shrinking_write(void *context, const void *bytes, size_t count)
{
    (void)context;
    (void)bytes;
    (void)count;
    enum rbwp_status status = truncate(file_path, 36) == 0 ? RBWP_OK : RBWP_E_IO;
    errno = ENOSPC; /* of something else */
    return status;
}

/* Guards: a file that gets shorter while it is copied is reported as one that cannot be read, not
 * by whatever errno was before. */
static void file_that_shrinks(void **state)
{
    (void)state;
    struct bytes file = header_only();
    for (uint32_t i = 0; i < 100; i++)
        put_block(&file, 7, i, 2000, TICK_NS(1200) + 10000000 * (int64_t)i);
    write_file(&file);
    struct recovered whole = recover(NULL);
    assert_true(whole.bytes.size > 512u << 10); /* more than is copied at a time */
    write_file(&whole.bytes);
    struct rbwp_sink sink = {NULL, shrinking_write, no_patch};
    struct rbwp_recover_result result;
    struct rbwp_error error;
    assert_int_equal(rbwp_recover(file_path, NULL, &sink, NULL, NULL, &result, &error), RBWP_E_IO);
    assert_int_equal(error.os_errno, EIO);
    bytes_free(&whole.bytes);
    bytes_free(&file);
}

/* ---- mutations
 * ------------------------------------------------------------------------------------ */

/* A pair with everything in it. */
static void make_rich_pair(struct live_maker *maker, struct bytes *file)
{
    *file = header_only();
    put_block(file, 7, 0, 2, TICK_NS(1200));
    put_zlib_block(file, 8, 1, 60, TICK_NS(1400));
    write_file(file);
    make_live(maker);
    live_commit_at(maker, file->size, 2);
    live_log_loss(maker, 7, RBWP_LOSS_DROPPED, 10);
    live_log_slot_end(maker, 100, 3);
    live_log_slot(maker, 200, 3, "compact");
    live_log_thread(maker, 8, "second");
    uint64_t words[200];
    for (size_t i = 0; i < 200; i++)
        words[i] = EVENT(i % 2 ? LIVE_EVENT_END : LIVE_EVENT_BEGIN, i % 2 ? 0 : i % 9, 10 * i);
    words[100] = EVENT(LIVE_EVENT_GPU, 3, 1000);
    live_put_chunk(maker, 1, 0, chunk(7, 3000, 3), words, 200);
    live_put_chunk(maker, 1, 1, chunk(8, 6000, 0), words, 200);
    live_put_chunk(maker, 1, 2, chunk(8, 4000, 0), CALL);
}

/* Guards: a live file of any bytes. No crash, hang, leak or large allocation; what comes out keeps
 * every rule. */
static void mutated_live_files(void **state)
{
    (void)state;
    static const uint64_t special[] = {0, 1, 0x7f, 0xff, 0xffff, 0xffffffff, UINT64_MAX, INT64_MAX};
    /* Where the pair has its data: the head, the kinds, the log and three chunks. */
    static const struct {
        uint64_t offset;
        unsigned bytes;
    } parts[] = {{0, sizeof(struct live_head)},
                 {LIVE_TABLE_OFFSET, 64},
                 {LIVE_SAMPLES_OFFSET, 200},
                 {LIVE_HEAD_BYTES, 560},
                 {LIVE_HEAD_BYTES + LIVE_SEGMENT_BYTES, 1700},
                 {LIVE_HEAD_BYTES + LIVE_SEGMENT_BYTES + LIVE_CHUNK_BYTES, 1700},
                 {LIVE_HEAD_BYTES + LIVE_SEGMENT_BYTES + 2 * LIVE_CHUNK_BYTES, 100}};
    uint64_t random = 20261120;
    unsigned recovered_count = 0;
    for (unsigned round = 0; round < MUTATIONS; round++) {
        struct live_maker maker;
        struct bytes file;
        make_rich_pair(&maker, &file);
        for (unsigned changes = 1 + (unsigned)(next_random(&random) % 4); changes; changes--) {
            size_t part = (size_t)(next_random(&random) % (sizeof parts / sizeof parts[0]));
            off_t at = (off_t)(parts[part].offset + next_random(&random) % parts[part].bytes);
            uint64_t value =
                next_random(&random) % 2 ? special[next_random(&random) % 8] : next_random(&random);
            size_t size = (size_t)1 << next_random(&random) % 4;
            assert_int_equal(pwrite(maker.fd, &value, size, at), size);
        }
        live_make_done(&maker);
        struct recovered recovered = recover(live_path);
        if (recovered.status == RBWP_OK) {
            assert_clean(&recovered.bytes);
            recovered_count++;
        } else {
            assert_true(recovered.error.text[0] && recovered.status != RBWP_E_MEMORY);
        }
        bytes_free(&recovered.bytes);
        bytes_free(&file);
    }
    assert_true(recovered_count > MUTATIONS / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(crash_before_the_first_block),
        cmocka_unit_test(chunks_in_every_state),
        cmocka_unit_test(times_never_go_back),
        cmocka_unit_test(torn_gpu_event),
        cmocka_unit_test(garbage_in_chunks),
        cmocka_unit_test(log_with_damage),
        cmocka_unit_test(slot_used_again),
        cmocka_unit_test(own_kinds),
        cmocka_unit_test(many_samples),
        cmocka_unit_test(samples_that_go_back),
        cmocka_unit_test(no_sample),
        cmocka_unit_test(live_file_of_0_1),
        cmocka_unit_test(rows_of_live_file),
        cmocka_unit_test(unusable_live_files),
        cmocka_unit_test(live_file_without_head),
        cmocka_unit_test(huge_numbers),
        cmocka_unit_test(cut_live_files),
        cmocka_unit_test(counted_as_missing),
        cmocka_unit_test(impossible_entries),
        cmocka_unit_test(samples_in_places),
        cmocka_unit_test(damaged_segment_entry),
        cmocka_unit_test(file_lost_bytes),
        cmocka_unit_test(finalised_beside_live),
        cmocka_unit_test(running_process),
        cmocka_unit_test(golden_files),
        cmocka_unit_test(interleaved_blocks),
        cmocka_unit_test(rules_that_can_be_mended),
        cmocka_unit_test(more_threads_than_fit),
        cmocka_unit_test(refused_files),
        cmocka_unit_test(failing_sinks),
        cmocka_unit_test(file_that_shrinks),
        cmocka_unit_test(mutated_live_files),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
