/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_channel_faults.c - GPU channels against a driver that fails where the test says so (fake.h).
 * Guards: whatever fails, each transfer ends exactly once, with the reason, and nothing hangs,
 * leaks or is freed under the device. test_channel_faults cuda|hip|opencl LIBRARY.
 */
#include "fake.h"
#include "gpu_support.h"
#include "rbwp_gpu_channel.h"
#include "unit.h"

#include <string.h>

enum { BYTES = 4096 };

/* Of the leak sanitizer, where the test is built with it. */
void __lsan_disable(void) __attribute__((weak));
void __lsan_enable(void) __attribute__((weak));

struct bench {
    struct rbwp_work_manager *manager; /* without workers: the test launches, and reaps */
    struct rbwp_gpu_device *device;
    struct rbwp_gpu_channel *channel;
    struct rbwp_gpu_buffer buffer;
    char host[BYTES];
};

struct ends {
    unsigned count;
    enum rbwp_status status[64];
    struct rbwp_gpu_channel *to_free;
    enum rbwp_status freed;
};

static void note_end(void *argument, const struct rbwp_transfer_result *result)
{
    struct ends *ends = argument;
    assert_in_range(ends->count, 0, 63);
    ends->status[ends->count++] = result->status;
    if (ends->to_free)
        ends->freed = rbwp_gpu_channel_free(ends->to_free);
}

/* The driver's own code for a thing that went wrong. */
static int code_of(enum rbwp_status status)
{
    const bool opencl = test_gpu.api == RBWP_GPU_OPENCL;
    return status == RBWP_E_MEMORY  ? (opencl ? -6 : 2)
           : status == RBWP_E_STATE ? (opencl ? -34 : 709)
                                    : (opencl ? -9999 : 998);
}

static struct rbwp_gpu_channel_config config_of(const struct bench *bench)
{
    return (struct rbwp_gpu_channel_config){.size = sizeof(struct rbwp_gpu_channel_config),
                                            .device = bench->device,
                                            .manager = bench->manager,
                                            .name = "faulty"};
}

static void open_bench_device(struct bench *bench)
{
    struct rbwp_error error;
    const struct rbwp_work_config work = {
        .size = sizeof work, .no_workers = true, .slice_ns = 1000000000};
    *bench = (struct bench){.manager = NULL};
    fake_reset();
    assert_int_equal(rbwp_work_start(&work, &bench->manager, &error), RBWP_OK);
    test_gpu.drain_limit_ns = 2000000;
    bench->device = open_device(NULL); /* reaped by rbwp_gpu_poll */
    assert_int_equal(rbwp_gpu_buffer_alloc(bench->device, BYTES, &bench->buffer, &error), RBWP_OK);
}

static void open_bench(struct bench *bench)
{
    struct rbwp_error error;
    open_bench_device(bench);
    const struct rbwp_gpu_channel_config config = config_of(bench);
    if (rbwp_gpu_channel_new(&config, &bench->channel, &error) != RBWP_OK)
        fail_msg("%s", error.text);
}

static void close_bench(struct bench *bench)
{
    assert_int_equal(rbwp_gpu_channel_free(bench->channel), RBWP_OK);
    rbwp_gpu_buffer_free(bench->device, &bench->buffer);
    assert_int_equal(rbwp_gpu_device_close(bench->device), RBWP_OK);
    assert_int_equal(rbwp_work_stop(bench->manager, true, NULL), RBWP_OK);
    assert_int_equal(fake_live_events(), 0);
}

static struct rbwp_gpu_transfer up(struct bench *bench, struct ends *ends)
{
    return (struct rbwp_gpu_transfer){.size = sizeof(struct rbwp_gpu_transfer),
                                      .what = {.size = sizeof(struct rbwp_transfer),
                                               .kind = RBWP_TRANSFER_COPY,
                                               .dimensions = 1,
                                               .element_bytes = 1,
                                               .extent = {100},
                                               .source.memory = bench->host,
                                               .done = note_end,
                                               .argument = ends},
                                      .target = bench->buffer};
}

/* One that a kernel does. */
static struct rbwp_gpu_transfer strided(struct bench *bench, struct ends *ends)
{
    struct rbwp_gpu_transfer t = up(bench, ends);
    t.source = bench->buffer;
    t.source_offset_bytes = BYTES / 2;
    t.what.target.stride_bytes[0] = 3;
    return t;
}

static void submit(struct bench *bench, const struct rbwp_gpu_transfer *transfer)
{
    struct rbwp_error error;
    if (rbwp_gpu_channel_submit(bench->channel, transfer, NULL, &error) != RBWP_OK)
        fail_msg("%s", error.text);
}

static void expect_ends(const struct ends *ends, unsigned count, enum rbwp_status status)
{
    assert_int_equal(ends->count, count);
    for (unsigned i = 0; i < count; i++)
        assert_int_equal(ends->status[i], status);
}

/* A copy, a launch or a notification that fails ends its transfer with the reason, and the next one
 * goes on as if nothing was. */
static void one_call_fails(void **state)
{
    (void)state;
    static const struct {
        const char *operation;
        bool kernel;
    } cases[] = {
        {"copy", false}, {"launch", true}, {"event_record", false}, {"event_record", true}};
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct bench bench;
        struct ends bad = {0}, good = {0};
        open_bench(&bench);
        const struct rbwp_gpu_transfer first =
            cases[i].kernel ? strided(&bench, &bad) : up(&bench, &bad);
        fake_fail(cases[i].operation, code_of(RBWP_E_MEMORY), 0, 1);
        submit(&bench, &first);
        assert_int_equal(rbwp_work_run(bench.manager, 0), RBWP_OK);
        fake_fail(cases[i].operation, 0, 0, 0);
        const struct rbwp_gpu_transfer second = strided(&bench, &good);
        submit(&bench, &second);
        assert_int_equal(rbwp_work_run(bench.manager, 0), RBWP_OK);
        poll_all(bench.device);
        expect_ends(&bad, 1, RBWP_E_MEMORY);
        expect_ends(&good, 1, RBWP_OK);
        close_bench(&bench);
    }
}

/* A context that is lost ends all that is queued and under way, once each. */
static void context_lost(void **state)
{
    (void)state;
    struct bench bench;
    struct ends ends = {0};
    open_bench(&bench);
    const struct rbwp_gpu_transfer copy = up(&bench, &ends), kernel = strided(&bench, &ends);
    fake_hold(true);
    submit(&bench, &copy);
    submit(&bench, &kernel);
    assert_int_equal(rbwp_work_run(bench.manager, 0), RBWP_OK);
    static const char *const operations[] = {"attach",       "copy",        "launch",
                                             "event_record", "event_query", "event_create"};
    for (unsigned i = 0; i < sizeof operations / sizeof operations[0]; i++)
        fake_fail(operations[i], code_of(RBWP_E_STATE), 0, 1000000);
    submit(&bench, &copy);
    submit(&bench, &kernel);
    assert_int_equal(rbwp_work_run(bench.manager, 0), RBWP_OK);
    poll_all(bench.device);
    expect_ends(&ends, 4, RBWP_E_STATE);
    fake_fail("attach", 0, 0, 0); /* a driver lets a lost context be cleared away */
    close_bench(&bench);
}

/* A device that never completes: freeing waits up to the limit, and ends what was under way, and
 * what had not begun. */
static void freed_while_the_device_hangs(void **state)
{
    (void)state;
    struct bench bench;
    struct ends ends = {0};
    if (__lsan_disable) /* what the device hangs in is left to it */
        __lsan_disable();
    open_bench(&bench);
    if (__lsan_enable)
        __lsan_enable();
    const struct rbwp_gpu_transfer kernel = strided(&bench, &ends);
    fake_hold(true);
    for (unsigned i = 0; i < 20; i++) /* more than are launched ahead */
        submit(&bench, &kernel);
    assert_int_equal(rbwp_work_run(bench.manager, 0), RBWP_OK);
    assert_int_equal(rbwp_work_run(bench.manager, 0), RBWP_AGAIN); /* it sleeps */
    assert_int_equal(ends.count, 0);
    assert_int_equal(rbwp_gpu_channel_free(bench.channel), RBWP_OK);
    bench.channel = NULL;
    expect_ends(&ends, 20, RBWP_E_STATE);
    fake_hold(false);
    close_bench(&bench);
}

/* Enough under way puts the work item to sleep; a completion wakes it. */
static void a_full_channel_is_woken(void **state)
{
    (void)state;
    struct bench bench;
    struct ends ends = {0};
    open_bench(&bench);
    const struct rbwp_gpu_transfer kernel = strided(&bench, &ends);
    fake_hold(true);
    for (unsigned i = 0; i < 40; i++)
        submit(&bench, &kernel);
    unsigned rounds = 0;
    while (ends.count < 40 && rounds++ < 100) {
        while (rbwp_work_run(bench.manager, 0) == RBWP_OK)
            ;
        fake_complete(NULL, 5);
        (void)rbwp_gpu_poll(bench.device);
    }
    expect_ends(&ends, 40, RBWP_OK);
    fake_hold(false);
    close_bench(&bench);
}

/* Each thing that a channel needs may be missing: it says so, and leaves nothing behind. */
static void channels_that_cannot_be_made(void **state)
{
    (void)state;
    static const char *const operations[] = {"stream_create", "memory_alloc"};
    for (unsigned i = 0; i < sizeof operations / sizeof operations[0]; i++) {
        struct bench bench;
        struct rbwp_error error = {.text = ""};
        open_bench_device(&bench);
        const struct rbwp_gpu_channel_config config = config_of(&bench);
        fake_fail(operations[i], code_of(RBWP_E_MEMORY), 0, 1);
        assert_int_equal(rbwp_gpu_channel_new(&config, &bench.channel, &error), RBWP_E_MEMORY);
        assert_null(bench.channel);
        assert_non_null(strstr(error.text, rbwp_gpu_api_name(test_gpu.api)));
        struct rbwp_gpu_channel_config wrong = config;
        wrong.name = NULL;
        assert_int_equal(rbwp_gpu_channel_new(&wrong, &bench.channel, &error), RBWP_E_INVALID);
        close_bench(&bench);
    }
}

/* Without kernels a channel still copies, and says why it does no more. */
static void no_kernels(void **state)
{
    (void)state;
    struct bench bench;
    struct ends ends = {0};
    struct rbwp_error error = {.text = ""};
    open_bench_device(&bench);
    const struct rbwp_gpu_channel_config config = config_of(&bench);
    fake_fail("module_load", code_of(RBWP_E_IO), 0, 1);
    assert_int_equal(rbwp_gpu_channel_new(&config, &bench.channel, &error), RBWP_OK);
    const struct rbwp_gpu_transfer copy = up(&bench, &ends), kernel = strided(&bench, &ends);
    assert_int_equal(rbwp_gpu_channel_submit(bench.channel, &kernel, NULL, &error),
                     RBWP_E_UNSUPPORTED);
    assert_non_null(strstr(error.text, "transfer.cl"));
    submit(&bench, &copy);
    assert_int_equal(rbwp_work_run(bench.manager, 0), RBWP_OK);
    poll_all(bench.device);
    expect_ends(&ends, 1, RBWP_OK);
    close_bench(&bench);
}

/* A done may not free a channel, its own or another: it would wait for itself. */
static void done_may_not_free(void **state)
{
    (void)state;
    struct bench bench;
    struct ends ends = {0};
    open_bench(&bench);
    ends.to_free = bench.channel;
    const struct rbwp_gpu_transfer copy = up(&bench, &ends);
    submit(&bench, &copy);
    assert_int_equal(rbwp_work_run(bench.manager, 0), RBWP_OK);
    poll_all(bench.device);
    expect_ends(&ends, 1, RBWP_OK);
    assert_int_equal(ends.freed, RBWP_E_STATE);
    close_bench(&bench);
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    while (strcmp(argv[1], rbwp_gpu_api_name(test_gpu.api)) != 0)
        test_gpu.api++;
    test_gpu.driver_library = test_gpu.compiler_library = argv[2];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_call_fails),
        cmocka_unit_test(context_lost),
        cmocka_unit_test(freed_while_the_device_hangs),
        cmocka_unit_test(a_full_channel_is_woken),
        cmocka_unit_test(channels_that_cannot_be_made),
        cmocka_unit_test(no_kernels),
        cmocka_unit_test(done_may_not_free),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
