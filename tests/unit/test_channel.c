/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of channel.c: the queue, its order, cancelling, freeing, threads, and the profile it
 * leaves. */
#include "rbwp_channel.h"
#include "rbwp_reader.h"
#include "rbwp_record.h"
#include "rbwp_session.h"
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BIG = 8 << 20, THREADS = 4 };

/* What came of the transfers of a test, in the order in which they ended. */
struct ended {
    atomic_uint count;
    struct rbwp_transfer_result result[256];
};

static void note_end(void *argument, const struct rbwp_transfer_result *result)
{
    struct ended *ended = argument;
    const unsigned n = atomic_fetch_add(&ended->count, 1);
    ended->result[n % 256] = *result;
}

/* A manager whose only thread is the test's own, with slices that are over at once. */
static struct rbwp_work_manager *manager_without_workers(void)
{
    const struct rbwp_work_config config = {
        .size = sizeof config, .no_workers = true, .slice_ns = 1};
    struct rbwp_work_manager *manager;
    struct rbwp_error error;
    if (rbwp_work_start(&config, &manager, &error) != RBWP_OK)
        fail_msg("%s", error.text);
    return manager;
}

static struct rbwp_channel *channel_on(struct rbwp_work_manager *manager, const char *name)
{
    struct rbwp_channel *channel;
    struct rbwp_error error;
    if (rbwp_channel_new(manager, name, -1, &channel, &error) != RBWP_OK)
        fail_msg("%s", error.text);
    return channel;
}

static struct rbwp_transfer copy_of(void *target, void *source, size_t bytes, void *ended)
{
    return (struct rbwp_transfer){.size = sizeof(struct rbwp_transfer),
                                  .kind = RBWP_TRANSFER_COPY,
                                  .dimensions = 1,
                                  .element_bytes = 1,
                                  .extent = {bytes},
                                  .source.memory = source,
                                  .target.memory = target,
                                  .done = note_end,
                                  .argument = ended};
}

static uint64_t submit(struct rbwp_channel *channel, const struct rbwp_transfer *transfer)
{
    uint64_t id = 0;
    struct rbwp_error error;
    if (rbwp_channel_submit(channel, transfer, &id, &error) != RBWP_OK)
        fail_msg("%s", error.text);
    return id;
}

/* Rounds of slices until nothing is active. */
static unsigned run_rounds(struct rbwp_work_manager *manager)
{
    unsigned rounds = 0;
    while (rbwp_work_run(manager, 0) == RBWP_OK)
        rounds++;
    return rounds;
}

static void finish(struct rbwp_channel *channel, struct rbwp_work_manager *manager)
{
    assert_int_equal(rbwp_channel_free(channel), RBWP_OK);
    assert_int_equal(rbwp_work_stop(manager, true, NULL), RBWP_OK);
}

/* Guards: transfers of a channel go in order, so that a later one sees what an earlier one wrote.
 */
static void transfers_go_in_order(void **state)
{
    (void)state;
    struct rbwp_work_manager *manager = manager_without_workers();
    struct rbwp_channel *channel = channel_on(manager, "in order");
    struct ended ended = {0};
    char cells[101] = "x";
    for (unsigned i = 0; i < 100; i++) {
        const struct rbwp_transfer t = copy_of(&cells[i + 1], &cells[i], 1, &ended);
        assert_int_equal(submit(channel, &t), i + 1);
    }
    run_rounds(manager);
    assert_int_equal(cells[100], 'x');
    assert_int_equal(ended.count, 100);
    for (unsigned i = 0; i < 100; i++) {
        assert_int_equal(ended.result[i].id, i + 1);
        assert_int_equal(ended.result[i].status, RBWP_OK);
        assert_int_equal(ended.result[i].bytes, 1);
    }
    finish(channel, manager);
}

/* Guards: a long transfer gives the worker back when its slice is over, and is taken up again. */
static void a_long_transfer_takes_many_slices(void **state)
{
    (void)state;
    struct rbwp_work_manager *manager = manager_without_workers();
    struct rbwp_channel *channel = channel_on(manager, "long");
    struct ended ended = {0};
    char *from = malloc(BIG), *to = calloc(1, BIG);
    memset(from, 3, BIG);
    const struct rbwp_transfer t = copy_of(to, from, BIG, &ended);
    submit(channel, &t);
    assert_true(run_rounds(manager) > 100);
    assert_int_equal(ended.count, 1);
    assert_memory_equal(from, to, BIG);
    finish(channel, manager);
    free(from);
    free(to);
}

/* Guards: cancelling one in the queue leaves its neighbours alone; its buffers are not touched. */
static void cancelling_a_queued_transfer(void **state)
{
    (void)state;
    struct rbwp_work_manager *manager = manager_without_workers();
    struct rbwp_channel *channel = channel_on(manager, "cancel");
    struct ended ended = {0};
    char from[3] = "ab", to[3] = "..";
    struct rbwp_transfer t = copy_of(&to[0], &from[0], 1, &ended);
    submit(channel, &t);
    t = copy_of(&to[1], &from[1], 1, &ended);
    const uint64_t second = submit(channel, &t);
    t = copy_of(&to[2], &from[2], 1, &ended);
    submit(channel, &t);
    assert_int_equal(rbwp_channel_cancel(channel, second), RBWP_OK);
    assert_int_equal(rbwp_channel_cancel(channel, 999), RBWP_OK); /* no such transfer: ignored */
    run_rounds(manager);
    assert_string_equal(to, "a.");
    assert_int_equal(ended.count, 3);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(ended.result[i].status,
                         ended.result[i].id == second ? RBWP_E_STATE : RBWP_OK);
    t = copy_of(&to[1], &from[1], 1, &ended); /* the end of the queue is still its end */
    submit(channel, &t);
    run_rounds(manager);
    assert_string_equal(to, "ab");
    finish(channel, manager);
}

/* Guards: cancelling the one under way ends it at the next piece. */
static void cancelling_a_transfer_under_way(void **state)
{
    (void)state;
    struct rbwp_work_manager *manager = manager_without_workers();
    struct rbwp_channel *channel = channel_on(manager, "cancel");
    struct ended ended = {0};
    char *from = malloc(BIG), *to = malloc(BIG);
    memset(from, 1, BIG);
    const struct rbwp_transfer t = copy_of(to, from, BIG, &ended);
    const uint64_t id = submit(channel, &t);
    assert_int_equal(rbwp_work_run(manager, 0), RBWP_OK);
    assert_int_equal(ended.count, 0);
    assert_int_equal(rbwp_channel_cancel(channel, id), RBWP_OK);
    run_rounds(manager);
    assert_int_equal(ended.count, 1);
    assert_int_equal(ended.result[0].status, RBWP_E_STATE);
    assert_in_range(ended.result[0].bytes, 1, BIG - 1);
    finish(channel, manager);
    free(from);
    free(to);
}

struct meddler {
    struct rbwp_channel *channel;
    struct rbwp_transfer transfer;
    enum rbwp_status submit_status, cancel_status, free_status;
    unsigned left;
};

static void submit_again(void *argument, const struct rbwp_transfer_result *result)
{
    struct meddler *meddler = argument;
    meddler->free_status =
        result->status == RBWP_OK ? rbwp_channel_free(meddler->channel) : RBWP_OK;
    meddler->cancel_status = rbwp_channel_cancel(meddler->channel, result->id);
    if (meddler->left-- > 0)
        meddler->submit_status =
            rbwp_channel_submit(meddler->channel, &meddler->transfer, NULL, NULL);
}

/* Guards: done may submit and cancel, may not free, and nothing of that recurses or deadlocks. */
static void done_may_submit_but_not_free(void **state)
{
    (void)state;
    struct rbwp_work_manager *manager = manager_without_workers();
    struct meddler meddler = {.channel = channel_on(manager, "meddle"), .left = 50};
    char byte[2] = "x";
    meddler.transfer = copy_of(&byte[1], &byte[0], 1, &meddler);
    meddler.transfer.done = submit_again;
    submit(meddler.channel, &meddler.transfer);
    run_rounds(manager);
    assert_int_equal(meddler.left, UINT32_MAX);
    assert_int_equal(meddler.submit_status, RBWP_OK);
    assert_int_equal(meddler.cancel_status, RBWP_OK);
    assert_int_equal(meddler.free_status, RBWP_E_STATE);
    finish(meddler.channel, manager);
}

/* Guards: freeing ends all that is queued, once each; a done that submits then is refused. */
static void freeing_ends_what_is_queued(void **state)
{
    (void)state;
    struct rbwp_work_manager *manager = manager_without_workers();
    struct meddler meddler = {.channel = channel_on(manager, "free"), .left = 1};
    struct ended ended = {0};
    char *from = calloc(1, BIG), *to = malloc(BIG);
    struct rbwp_transfer t = copy_of(to, from, BIG, &ended);
    submit(meddler.channel, &t);
    assert_int_equal(rbwp_work_run(manager, 0), RBWP_OK); /* under way */
    submit(meddler.channel, &t);
    submit(meddler.channel, &t);
    assert_int_equal(rbwp_channel_cancel(meddler.channel, 2), RBWP_OK);
    meddler.transfer = t;
    t.done = submit_again, t.argument = &meddler;
    submit(meddler.channel, &t);
    finish(meddler.channel, manager);
    assert_int_equal(ended.count, 3);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(ended.result[i].id, i + 1);
        assert_int_equal(ended.result[i].status, RBWP_E_STATE);
    }
    assert_int_equal(meddler.submit_status, RBWP_E_STATE);
    assert_int_equal(meddler.cancel_status, RBWP_E_STATE);
    assert_int_equal(rbwp_channel_free(NULL), RBWP_OK);
    free(from);
    free(to);
}

/* Guards: the errors of a file come out in done, and the next transfer goes on as if nothing was.
 */
static void errors_of_files_reach_done(void **state)
{
    (void)state;
    struct rbwp_work_manager *manager = manager_without_workers();
    struct rbwp_channel *channel = channel_on(manager, "errors");
    struct ended ended = {0};
    char bytes[100] = "data", copy[100] = "";
    const int full = open("/dev/full", O_WRONLY), empty = open("/dev/null", O_RDONLY);
    struct rbwp_transfer t = copy_of(NULL, bytes, sizeof bytes, &ended);
    t.target = (struct rbwp_transfer_place){.is_file = true, .fd = full};
    submit(channel, &t);
    t = copy_of(copy, NULL, sizeof bytes, &ended);
    t.source = (struct rbwp_transfer_place){.is_file = true, .fd = empty};
    submit(channel, &t);
    t = copy_of(copy, bytes, sizeof bytes, &ended);
    submit(channel, &t);
    run_rounds(manager);
    assert_int_equal(ended.count, 3);
    assert_int_equal(ended.result[0].status, RBWP_E_IO);
    assert_int_equal(ended.result[0].os_errno, ENOSPC);
    assert_int_equal(ended.result[1].status, RBWP_E_TRUNCATED);
    assert_int_equal(ended.result[2].status, RBWP_OK);
    assert_string_equal(copy, "data");
    finish(channel, manager);
    close(full), close(empty);
}

/* Guards: a refused transfer leaves nothing in the queue and one line for the user. */
static void a_wrong_transfer_is_refused(void **state)
{
    (void)state;
    struct rbwp_work_manager *manager = manager_without_workers();
    struct rbwp_channel *channel = channel_on(manager, "refuse");
    struct ended ended = {0};
    struct rbwp_transfer t = copy_of(&ended, &ended, 1, &ended);
    uint64_t id = 7;
    struct rbwp_error error;
    t.dimensions = 9;
    assert_int_equal(rbwp_channel_submit(channel, &t, &id, &error), RBWP_E_INVALID);
    assert_int_equal(id, 0);
    assert_int_equal(error.status, RBWP_E_INVALID);
    assert_non_null(strstr(error.text, "dimensions"));
    assert_int_equal(rbwp_channel_submit(channel, &t, NULL, NULL), RBWP_E_INVALID);
    run_rounds(manager);
    assert_int_equal(ended.count, 0);
    finish(channel, manager);
}

/* Guards: the element to fill with is copied by submit; the caller's may go. */
static void the_fill_is_copied(void **state)
{
    (void)state;
    struct rbwp_work_manager *manager = manager_without_workers();
    struct rbwp_channel *channel = channel_on(manager, "fill");
    char pattern[4] = "abc", cells[13] = "";
    struct rbwp_transfer t = copy_of(cells, NULL, 4, NULL);
    t.kind = RBWP_TRANSFER_FILL, t.element_bytes = 3, t.fill = pattern, t.done = NULL;
    submit(channel, &t);
    memset(pattern, 'x', 3);
    run_rounds(manager);
    assert_string_equal(cells, "abcabcabcabc");
    finish(channel, manager);
}

/* ---- threads ------------------------------------------------------------------ */

enum { ROUNDS = 400 };

struct submitter {
    pthread_t thread;
    struct rbwp_channel *channel;
    bool cancels;
    int64_t sums[ROUNDS];
    atomic_uint ok, cancelled, other;
};

static void count_end(void *argument, const struct rbwp_transfer_result *result)
{
    struct submitter *submitter = argument;
    atomic_fetch_add(result->status == RBWP_OK        ? &submitter->ok
                     : result->status == RBWP_E_STATE ? &submitter->cancelled
                                                      : &submitter->other,
                     1);
}

static void *submit_sums(void *argument)
{
    static int64_t ones[1000] = {[0 ... 999] = 1};
    struct submitter *submitter = argument;
    for (unsigned i = 0; i < ROUNDS; i++) {
        struct rbwp_transfer t = copy_of(&submitter->sums[i], ones, 1000, submitter);
        t.kind = RBWP_TRANSFER_REDUCE;
        t.element_bytes = 8;
        t.reduce_op = RBWP_REDUCE_SUM;
        t.reduce_type = RBWP_REDUCE_I64;
        t.target.stride_bytes[0] = RBWP_STRIDE_FIXED;
        t.done = count_end;
        uint64_t id;
        if (rbwp_channel_submit(submitter->channel, &t, &id, NULL) != RBWP_OK)
            abort();
        if (submitter->cancels && i % 3 == 0)
            (void)rbwp_channel_cancel(submitter->channel, id);
    }
    return NULL;
}

static void submit_from_threads(bool cancels, bool drain)
{
    const struct rbwp_work_config config = {.size = sizeof config, .workers = 2, .slice_ns = 5000};
    struct rbwp_work_manager *manager;
    assert_int_equal(rbwp_work_start(&config, &manager, NULL), RBWP_OK);
    struct rbwp_channel *channels[2] = {channel_on(manager, "one"), channel_on(manager, "two")};
    static struct submitter submitters[THREADS];
    memset(submitters, 0, sizeof submitters);
    for (unsigned i = 0; i < THREADS; i++) {
        submitters[i].channel = channels[i % 2];
        submitters[i].cancels = cancels;
        assert_int_equal(pthread_create(&submitters[i].thread, NULL, submit_sums, &submitters[i]),
                         0);
    }
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(submitters[i].thread, NULL);
    if (drain)
        rbwp_work_drain(manager);
    assert_int_equal(rbwp_channel_free(channels[0]), RBWP_OK);
    assert_int_equal(rbwp_channel_free(channels[1]), RBWP_OK);
    assert_int_equal(rbwp_work_stop(manager, true, NULL), RBWP_OK);
    for (unsigned i = 0; i < THREADS; i++) {
        struct submitter *s = &submitters[i];
        assert_int_equal(s->other, 0);
        assert_int_equal(s->ok + s->cancelled, ROUNDS);
        if (drain && !cancels)
            assert_int_equal(s->ok, ROUNDS);
        unsigned whole = 0;
        for (unsigned r = 0; r < ROUNDS; r++)
            whole += s->sums[r] == 1000;
        assert_true(whole >= s->ok);
    }
}

/* Guards: four threads and two workers on two channels: each transfer ends once, none is forgotten.
 */
static void many_threads_submit(void **state)
{
    (void)state;
    submit_from_threads(false, true);
}

/* Guards: cancelling from other threads races with the ends of transfers, and each still ends once.
 */
static void many_threads_cancel(void **state)
{
    (void)state;
    submit_from_threads(true, true);
}

/* Guards: freeing while workers are at it: each transfer ends once, whoever ends it. */
static void freeing_under_way(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 5; round++)
        submit_from_threads(false, false);
}

/* ---- the profile -------------------------------------------------------------- */

static bool has_name(const char *name, uint16_t bytes, const char *wanted)
{
    return bytes == strlen(wanted) && memcmp(name, wanted, bytes) == 0;
}

static unsigned sub_item_called(const struct rbwp_tables *tables, const char *wanted)
{
    for (uint32_t i = 0; i < tables->sub_item_count; i++)
        if (has_name(tables->sub_items[i].name, tables->sub_items[i].name_bytes, wanted)) {
            assert_int_equal(tables->sub_items[i].type, RBWP_XFER_CHANNEL);
            return tables->sub_items[i].id;
        }
    fail_msg("no sub-item \"%s\"", wanted);
    return 0;
}

/* Fine begins of a sub-item in the file. */
static unsigned count_begins(struct rbwp_reader *reader, unsigned sub_item)
{
    unsigned begins = 0;
    struct rbwp_block block;
    assert_int_equal(rbwp_reader_rewind(reader), RBWP_OK);
    while (rbwp_reader_next_block(reader, &block) == RBWP_OK) {
        struct rbwp_record_iterator iterator;
        struct rbwp_record record;
        rbwp_record_first(&block, &iterator);
        while (rbwp_record_next(&iterator, &record))
            begins += record.kind == RBWP_FINE_BEGIN && record.sub_item == sub_item;
    }
    return begins;
}

/* Guards: each slice of a transfer is a level-2 sub-item of its class, inside the channel's item.
 */
static void transfers_are_sub_items(void **state)
{
    (void)state;
    char path[] = "/tmp/rbwp_channel_XXXXXX";
    close(mkstemp(path));
    struct rbwp_session_config config;
    rbwp_session_defaults(&config);
    config.level = 2;
    config.logfile = path;
    struct rbwp_session *session;
    struct rbwp_error error;
    if (rbwp_session_start(&config, &session, &error) != RBWP_OK)
        fail_msg("%s", error.text);
    assert_int_equal(rbwp_thread_attach("test"), RBWP_OK);
    struct rbwp_work_manager *manager = manager_without_workers();
    struct rbwp_channel *channel = channel_on(manager, "profiled channel");
    char *from = calloc(1, BIG), *to = calloc(1, BIG);
    struct rbwp_transfer t = copy_of(to, from, BIG, NULL);
    t.done = NULL;
    submit(channel, &t);
    const unsigned rounds = run_rounds(manager);
    t.kind = RBWP_TRANSFER_FILL, t.fill = "f", t.extent[0] = 10;
    submit(channel, &t);
    run_rounds(manager);
    finish(channel, manager);
    assert_int_equal(rbwp_session_stop(session, NULL), RBWP_OK);

    struct rbwp_reader *reader;
    assert_int_equal(rbwp_reader_open(path, NULL, &reader, &error), RBWP_OK);
    const struct rbwp_tables *tables = rbwp_reader_tables(reader);
    bool named = false;
    for (uint32_t i = 0; i < tables->work_item_count; i++)
        named |= has_name(tables->work_items[i].name, tables->work_items[i].name_bytes,
                          "profiled channel");
    assert_true(named);
    assert_int_equal(count_begins(reader, sub_item_called(tables, "memcpy channel")), rounds);
    assert_int_equal(count_begins(reader, sub_item_called(tables, "memfill channel")), 1);
    rbwp_reader_close(reader);
    unlink(path);
    free(from);
    free(to);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(transfers_go_in_order),
        cmocka_unit_test(a_long_transfer_takes_many_slices),
        cmocka_unit_test(cancelling_a_queued_transfer),
        cmocka_unit_test(cancelling_a_transfer_under_way),
        cmocka_unit_test(done_may_submit_but_not_free),
        cmocka_unit_test(freeing_ends_what_is_queued),
        cmocka_unit_test(errors_of_files_reach_done),
        cmocka_unit_test(a_wrong_transfer_is_refused),
        cmocka_unit_test(the_fill_is_copied),
        cmocka_unit_test(many_threads_submit),
        cmocka_unit_test(many_threads_cancel),
        cmocka_unit_test(freeing_under_way),
        cmocka_unit_test(transfers_are_sub_items),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
