/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_channel_faults.c - GPU channels against a driver that fails where the test says so (fake.h).
 * Guards: whatever fails, each transfer ends exactly once, with the reason, and nothing hangs,
 * leaks or is freed under the device. test_channel_faults cuda|hip|opencl LIBRARY.
 */
#include "fake.h"
#include "gpu_support.h"
#include "rbwp_gpu_channel.h"
#include "rbwp_record.h"
#include "record_support.h"
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
 * what had not begun. What the device may read when it goes on (OpenCL: a fill's element) stays. */
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
    struct rbwp_gpu_transfer fill = up(&bench, &ends);
    fill.what.kind = RBWP_TRANSFER_FILL;
    fill.what.source.memory = NULL;
    fill.what.element_bytes = 3;
    fill.what.extent[0] = 99;
    fill.what.fill = "abc";
    fake_hold(true);
    submit(&bench, &fill);
    for (unsigned i = 0; i < 19; i++) /* more than are launched ahead */
        submit(&bench, &kernel);
    assert_int_equal(rbwp_work_run(bench.manager, 0), RBWP_OK);
    assert_int_equal(rbwp_work_run(bench.manager, 0), RBWP_AGAIN); /* it sleeps */
    assert_int_equal(ends.count, 0);
    assert_int_equal(rbwp_gpu_channel_free(bench.channel), RBWP_OK);
    bench.channel = NULL;
    expect_ends(&ends, 20, RBWP_E_STATE);
    fake_read_late();
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

/* ---- other devices, other processes --------------------------------------------------------- */

static struct rbwp_gpu_device *open_second(void)
{
    struct rbwp_gpu_device *second;
    struct rbwp_gpu_config config = test_gpu;
    config.ordinal = 1;
    assert_int_equal(rbwp_gpu_device_open(&config, &second, NULL), RBWP_OK);
    return second;
}

/* Rows of 8 of the first device's buffer go, without gaps, to the second's. */
static struct rbwp_gpu_transfer across(struct bench *bench, struct ends *ends,
                                       struct rbwp_gpu_device *second,
                                       const struct rbwp_gpu_buffer *there)
{
    return (struct rbwp_gpu_transfer){.size = sizeof(struct rbwp_gpu_transfer),
                                      .what = {.size = sizeof(struct rbwp_transfer),
                                               .kind = RBWP_TRANSFER_COPY,
                                               .dimensions = 2,
                                               .element_bytes = 1,
                                               .extent = {8, 16},
                                               .source.stride_bytes = {1, 32},
                                               .done = note_end,
                                               .argument = ends},
                                      .source = bench->buffer,
                                      .target = *there,
                                      .target_device = second};
}

static void refused(struct bench *bench, const struct rbwp_gpu_transfer *transfer, const char *word)
{
    struct rbwp_error error = {.text = ""};
    assert_int_equal(rbwp_gpu_channel_submit(bench->channel, transfer, NULL, &error),
                     RBWP_E_UNSUPPORTED);
    if (!strstr(error.text, word))
        fail_msg("\"%s\" does not say \"%s\"", error.text, word);
}

/* Fills the buffer, sends it across, and compares. */
static void send_across(struct bench *bench, struct rbwp_gpu_device *second,
                        const struct rbwp_gpu_buffer *there)
{
    struct ends ends = {0};
    struct rbwp_gpu_channel_launches counts;
    for (unsigned i = 0; i < BYTES; i++)
        bench->host[i] = (char)(i * 7);
    struct rbwp_gpu_transfer fill = up(bench, &ends), go = across(bench, &ends, second, there);
    fill.what.extent[0] = BYTES;
    submit(bench, &fill);
    submit(bench, &go);
    go.what.source.stride_bytes[1] = 0; /* one run of bytes */
    go.target_offset_bytes = 128;
    submit(bench, &go);
    assert_int_equal(rbwp_work_run(bench->manager, 0), RBWP_OK);
    poll_all(bench->device);
    expect_ends(&ends, 3, RBWP_OK);
    const char *rows = there->native,
               *run = rows + 128; /* the fake device's memory is the host's */
    for (unsigned i = 0; i < 128; i++) {
        assert_int_equal(rows[i], bench->host[i / 8 * 32 + i % 8]);
        assert_int_equal(run[i], bench->host[i]);
    }
    rbwp_gpu_channel_counts(bench->channel, &counts);
    assert_int_equal(counts.copies, 3);
    assert_int_equal(counts.peers, 2);
    assert_int_equal(counts.kernels, 0);
    /* HIP knows by the addresses where pitched ones go. */
    assert_int_equal(fake_count("peer_copy"), test_gpu.api == RBWP_GPU_CUDA ? 2 : 1);
}

/* Copies between devices go by the driver's calls for that, pitched or not, each as a GPU_WORK of
 * the channel; what no such call can do is refused, with the reason. OpenCL has none. */
static void copies_between_devices(void **state)
{
    (void)state;
    struct bench bench;
    struct ends ends = {0};
    struct rbwp_gpu_buffer there;
    const bool opencl = test_gpu.api == RBWP_GPU_OPENCL;
    bool direct = opencl;
    open_bench(&bench);
    fake_devices(2);
    struct rbwp_gpu_device *second = open_second();
    assert_int_equal(rbwp_gpu_buffer_alloc(second, BYTES, &there, NULL), RBWP_OK);
    assert_int_equal(rbwp_gpu_peer_enable(bench.device, second, &direct, NULL),
                     opencl ? RBWP_E_UNSUPPORTED : RBWP_OK);
    assert_int_equal(direct, !opencl);
    struct rbwp_gpu_transfer go = across(&bench, &ends, second, &there);
    if (opencl) {
        refused(&bench, &go, "memory of the host");
    } else {
        assert_int_equal(rbwp_gpu_peer_enable(bench.device, second, NULL, NULL),
                         RBWP_OK); /* again */
        struct rbwp_session_config config = test_config(1);
        struct rbwp_session *session = start(&config);
        assert_int_equal(rbwp_thread_attach("tester"), RBWP_OK);
        send_across(&bench, second, &there);
        assert_int_equal(rbwp_thread_detach(), RBWP_OK);
        stop(session);
        struct works works = read_works(test_config(1).logfile);
        assert_int_equal(works.works, 2);
        works_free(&works);
        fake_fail("copy", code_of(RBWP_E_MEMORY), 0, 1);
        submit(&bench, &go);
        assert_int_equal(rbwp_work_run(bench.manager, 0), RBWP_OK);
        poll_all(bench.device);
        expect_ends(&ends, 1, RBWP_E_MEMORY);
        go.what.target.stride_bytes[0] = 3;
        refused(&bench, &go, "runs of bytes");
        go = across(&bench, &ends, second, &there);
        go.what.kind = RBWP_TRANSFER_REDUCE;
        go.what.reduce_op = RBWP_REDUCE_SUM;
        go.what.reduce_type = RBWP_REDUCE_U32;
        go.what.element_bytes = 4;
        refused(&bench, &go, "memory of the channel's device");
    }
    rbwp_gpu_buffer_free(second, &there);
    assert_int_equal(rbwp_gpu_device_close(second), RBWP_OK);
    close_bench(&bench);
}

/* Devices that do not reach each other are no failure: the driver goes by the host. A device
 * opened twice is one, whose memory needs no call between devices. */
static void devices_that_are_apart_and_that_are_one(void **state)
{
    (void)state;
    struct bench bench;
    struct ends ends = {0};
    bool direct = true;
    if (test_gpu.api == RBWP_GPU_OPENCL)
        return;
    open_bench(&bench);
    fake_devices(2);
    fake_reach(false);
    struct rbwp_gpu_device *second = open_second(), *same = open_device(NULL);
    assert_int_equal(rbwp_gpu_peer_enable(bench.device, second, &direct, NULL), RBWP_OK);
    assert_false(direct);
    assert_int_equal(rbwp_gpu_peer_enable(bench.device, same, &direct, NULL), RBWP_OK);
    assert_true(direct);
    fake_fail("peer_ask", code_of(RBWP_E_STATE), 0, 1);
    assert_int_equal(rbwp_gpu_peer_enable(bench.device, second, &direct, NULL), RBWP_E_STATE);
    struct rbwp_gpu_transfer kernel = strided(&bench, &ends);
    kernel.source_device = kernel.target_device = same;
    submit(&bench, &kernel);
    assert_int_equal(rbwp_work_run(bench.manager, 0), RBWP_OK);
    poll_all(bench.device);
    expect_ends(&ends, 1, RBWP_OK);
    assert_int_equal(fake_count("peer_copy"), 0);
    assert_int_equal(rbwp_gpu_device_close(second), RBWP_OK);
    assert_int_equal(rbwp_gpu_device_close(same), RBWP_OK);
    close_bench(&bench);
}

/* What is shared is opened by those of the same machine and API, and by nobody else. */
static void shared_memory(void **state)
{
    (void)state;
    struct bench bench;
    struct rbwp_gpu_share share, other;
    struct rbwp_gpu_buffer mapped;
    const struct rbwp_gpu_buffer none = {NULL, 0};
    struct rbwp_error error;
    open_bench(&bench);
    if (test_gpu.api == RBWP_GPU_OPENCL) {
        assert_int_equal(rbwp_gpu_buffer_share(bench.device, &bench.buffer, &share, &error),
                         RBWP_E_UNSUPPORTED);
        assert_int_equal(rbwp_gpu_buffer_open(bench.device, &share, &mapped, &error),
                         RBWP_E_UNSUPPORTED);
        close_bench(&bench);
        return;
    }
    assert_int_equal(rbwp_gpu_buffer_share(bench.device, &none, &share, &error), RBWP_E_INVALID);
    assert_int_equal(rbwp_gpu_buffer_share(bench.device, &bench.buffer, &share, &error), RBWP_OK);
    assert_int_equal(rbwp_gpu_buffer_open(bench.device, &share, &mapped, &error), RBWP_OK);
    assert_int_equal(mapped.bytes, BYTES);
    assert_ptr_equal(mapped.native, bench.buffer.native);
    rbwp_gpu_buffer_close(bench.device, &mapped);
    assert_null(mapped.native);
    other = share;
    other.machine[0] ^= 1;
    assert_int_equal(rbwp_gpu_buffer_open(bench.device, &other, &mapped, &error),
                     RBWP_E_UNSUPPORTED);
    assert_non_null(strstr(error.text, "another machine"));
    other = share;
    other.api = RBWP_GPU_OPENCL;
    assert_int_equal(rbwp_gpu_buffer_open(bench.device, &other, &mapped, &error),
                     RBWP_E_UNSUPPORTED);
    fake_fail("memory_map", code_of(RBWP_E_IO), 0, 1);
    assert_int_equal(rbwp_gpu_buffer_open(bench.device, &share, &mapped, &error), RBWP_E_IO);
    assert_null(mapped.native);
    assert_int_equal(fake_count("memory_unmap"), 1);
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
        cmocka_unit_test(copies_between_devices),
        cmocka_unit_test(devices_that_are_apart_and_that_are_one),
        cmocka_unit_test(shared_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
