/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of brackets, notifications, reaping and channels beside, inside and around graph captures
 * of the program, in each of the three modes, against the fake driver: no capture is ever
 * disturbed, nothing that runs is taken for done, and what is not recorded is counted. Run once for
 * each API: test_gpu_capture cuda|hip|opencl (fake_support.h).
 */
#include "fake_support.h"
#include "rbwp_gpu_channel.h"
#include "unit.h"

#include <pthread.h>

enum { MODES = 3, BYTES = 4096 };

struct place {
    struct rbwp_gpu_device *device;
    struct rbwp_gpu_stream *stream, *captured; /* captured: by the program */
    struct rbwp_session *session;
};

static struct place open_place(void)
{
    struct place place = {.device = open_device(NULL)};
    place.stream = open_stream(place.device, RBWP_GPU_USE_STREAM);
    place.captured = open_stream(place.device, RBWP_GPU_USE_STREAM);
    place.session = start_session(1);
    return place;
}

/* So many records, and so many brackets that met a capture. */
static void close_place(struct place *place, size_t works_expected, uint64_t captured_expected)
{
    poll_all(place->device);
    struct recorded recorded;
    struct works works = finish_session(place->session, &recorded);
    assert_int_equal(works.works, works_expected);
    assert_int_equal(losses(&recorded, 0, RBWP_LOSS_GPU_CAPTURE), captured_expected);
    assert_int_equal(all_losses(&recorded), captured_expected);
    works_free(&works);
    recorded_free(&recorded);
    close_stream(place->stream);
    close_stream(place->captured);
    assert_int_equal(rbwp_gpu_device_close(place->device), RBWP_OK);
    assert_int_equal(fake_live_events(), 0);
}

static void *poll_some(void *device)
{
    for (unsigned i = 0; i < 20; i++)
        (void)!rbwp_gpu_poll(device);
    return NULL;
}

/* On this thread, which captures, and on another one. */
static void poll_everywhere(struct rbwp_gpu_device *device)
{
    pthread_t thread;
    poll_some(device);
    assert_int_equal(pthread_create(&thread, NULL, poll_some, device), 0);
    pthread_join(thread, NULL);
}

/* Work on one stream is bracketed, waited for and reaped while another stream is captured: the
 * capture is whole, and no callback runs before the work has ended. */
static void test_beside(void **state)
{
    (void)state;
    for (int mode = 0; mode < MODES; mode++) {
        struct place place = open_place();
        void *captured = gpu_stream_native(place.captured);
        struct heard before = {0}, during = {0};
        fake_hold(true);
        bracket(place.stream, 1);
        assert_int_equal(rbwp_gpu_notify(place.stream, hear, &before), RBWP_OK);
        fake_capture_begin(captured, (enum fake_mode)mode);
        launch(place.captured);
        poll_everywhere(place.device);
        assert_int_equal(before.calls, 0);
        for (unsigned i = 0; i < 40; i++) /* more than there are events */
            bracket(place.stream, 2);
        assert_int_equal(rbwp_gpu_notify(place.stream, hear, &during), RBWP_OK);
        fake_hold(false);
        poll_everywhere(place.device);
        launch(place.captured);
        assert_int_equal(fake_capture_end(captured), 2);
        assert_int_equal(before.calls + during.calls, 2);
        assert_int_equal(before.outcome, RBWP_OK);
        close_place(&place, 41, 0);
    }
}

/* A bracket inside a capture adds nothing to it, records nothing and is counted; a notification is
 * refused. */
static void test_inside(void **state)
{
    (void)state;
    for (int mode = 0; mode < MODES; mode++) {
        struct place place = open_place();
        void *captured = gpu_stream_native(place.captured);
        struct heard heard = {0};
        fake_capture_begin(captured, (enum fake_mode)mode);
        bracket(place.captured, 1);
        bracket(place.captured, 2);
        assert_int_equal(rbwp_gpu_notify(place.captured, hear, &heard), RBWP_E_BUSY);
        poll_everywhere(place.device);
        assert_int_equal(fake_capture_end(captured), 2);
        assert_int_equal(heard.calls, 0);
        bracket(place.captured, 3);
        assert_int_equal(rbwp_gpu_notify(place.captured, hear, &heard), RBWP_OK);
        close_place(&place, 1, 2);
        assert_int_equal(heard.calls, 1);
    }
}

/* A bracket in which a capture begins, one in which it ends, and one around all of it. Only the
 * last one may be recorded, since what was launched in it ran or went into the graph whole. */
static void test_around(void **state)
{
    (void)state;
    for (int mode = 0; mode < MODES; mode++) {
        struct place place = open_place();
        void *captured = gpu_stream_native(place.captured);
        struct rbwp_gpu_bracket first, second, whole;
        rbwp_gpu_bracket_begin(&whole, place.captured, 1);
        rbwp_gpu_bracket_begin(&first, place.captured, 2);
        fake_capture_begin(captured, (enum fake_mode)mode);
        launch(place.captured);
        rbwp_gpu_bracket_end(&first);
        rbwp_gpu_bracket_begin(&second, place.captured, 3);
        poll_everywhere(place.device);
        assert_int_equal(fake_capture_end(captured), 1);
        rbwp_gpu_bracket_end(&second);
        rbwp_gpu_bracket_end(&whole);
        close_place(&place, 1, 2);
    }
}

/* The launch of a graph is a launch: its bracket ends when the last node has. */
static void test_graph_launch(void **state)
{
    (void)state;
    struct place place = open_place();
    void *native = gpu_stream_native(place.stream);
    fake_capture_begin(native, FAKE_GLOBAL);
    for (unsigned i = 0; i < 5; i++)
        launch(place.stream);
    int nodes = fake_capture_end(native);
    assert_int_equal(nodes, 5);
    struct rbwp_gpu_bracket b;
    fake_hold(true);
    rbwp_gpu_bracket_begin(&b, place.stream, 1);
    fake_graph_launch(native, nodes);
    rbwp_gpu_bracket_end(&b);
    fake_complete(native, 6); /* the start, and all nodes */
    assert_int_equal(rbwp_gpu_poll(place.device), RBWP_OK);
    assert_int_equal(rbwp_gpu_poll(place.device), RBWP_AGAIN);
    fake_complete(native, 1);
    close_place(&place, 1, 0);
}

/* The default stream takes part in every capture: it is not touched meanwhile. */
static void test_default_stream(void **state)
{
    (void)state;
    struct place place = open_place();
    struct rbwp_gpu_stream *stream;
    struct heard heard = {0};
    void *captured = gpu_stream_native(place.captured);
    assert_int_equal(rbwp_gpu_stream_open(place.device, NULL, RBWP_GPU_USE_STREAM, &stream, NULL),
                     RBWP_OK);
    fake_capture_begin(captured, FAKE_GLOBAL);
    struct rbwp_gpu_bracket b;
    rbwp_gpu_bracket_begin(&b, stream, 1);
    rbwp_gpu_bracket_end(&b);
    assert_int_equal(rbwp_gpu_notify(stream, hear, &heard), RBWP_E_BUSY);
    assert_int_equal(fake_capture_end(captured), 0);
    bracket(stream, 2);
    poll_all(place.device);
    assert_int_equal(rbwp_gpu_stream_close(stream), RBWP_OK);
    close_place(&place, 1, 1);
}

static void note_end(void *status_out, const struct rbwp_transfer_result *result)
{
    *(enum rbwp_status *)status_out = result->status;
}

/* Opens a device with its bias measured, and copies through a channel, from host memory and back.
 */
static void use_everything(void)
{
    const struct rbwp_work_config work = {.size = sizeof work, .no_workers = true};
    struct rbwp_work_manager *manager;
    struct rbwp_gpu_channel *channel;
    struct rbwp_gpu_buffer buffer;
    void *host;
    enum rbwp_status ended = RBWP_AGAIN;
    assert_int_equal(rbwp_work_start(&work, &manager, NULL), RBWP_OK);
    test_gpu.no_bias = false;
    struct rbwp_gpu_device *device = open_device(manager);
    test_gpu.no_bias = true;
    const struct rbwp_gpu_channel_config config = {
        .size = sizeof config, .device = device, .manager = manager, .name = "captured beside"};
    assert_int_equal(rbwp_gpu_channel_new(&config, &channel, NULL), RBWP_OK);
    assert_int_equal(rbwp_gpu_buffer_alloc(device, BYTES, &buffer, NULL), RBWP_OK);
    assert_int_equal(rbwp_gpu_host_alloc(device, BYTES, &host, NULL), RBWP_OK);
    const struct rbwp_gpu_transfer transfer = {.size = sizeof transfer,
                                               .what = {.size = sizeof transfer.what,
                                                        .kind = RBWP_TRANSFER_COPY,
                                                        .dimensions = 1,
                                                        .element_bytes = 1,
                                                        .extent = {BYTES},
                                                        .source.memory = host,
                                                        .done = note_end,
                                                        .argument = &ended},
                                               .target = buffer};
    assert_int_equal(rbwp_gpu_channel_submit(channel, &transfer, NULL, NULL), RBWP_OK);
    rbwp_work_drain(manager);
    assert_int_equal(ended, RBWP_OK);
    assert_int_equal(rbwp_gpu_channel_free(channel), RBWP_OK);
    rbwp_gpu_buffer_free(device, &buffer);
    rbwp_gpu_host_free(device, host);
    assert_int_equal(rbwp_gpu_device_close(device), RBWP_OK);
    assert_int_equal(rbwp_work_stop(manager, true, NULL), RBWP_OK);
}

static void *use_everything_there(void *unused)
{
    assert_int_equal(rbwp_thread_attach("beside"), RBWP_OK);
    use_everything();
    assert_int_equal(rbwp_thread_detach(), RBWP_OK);
    return unused;
}

/* Opening devices, measuring, allocating and copying disturb no capture, neither of their own
 * thread nor of another. */
static void test_everything_beside(void **state)
{
    (void)state;
    for (int mode = 0; mode < MODES; mode++) {
        struct place place = open_place();
        void *captured = gpu_stream_native(place.captured);
        pthread_t thread;
        fake_capture_begin(captured, (enum fake_mode)mode);
        use_everything();
        assert_int_equal(pthread_create(&thread, NULL, use_everything_there, NULL), 0);
        pthread_join(thread, NULL);
        launch(place.captured);
        assert_int_equal(fake_capture_end(captured), 1);
        close_place(&place, 0, 0);
    }
}

/* Where the driver refuses to answer because of a capture, by whichever code, nothing has ended. */
static void test_refusals_are_no_end(void **state)
{
    (void)state;
    for (int code = 900; code <= 906; code++) {
        struct place place = open_place();
        struct heard heard = {0};
        assert_int_equal(rbwp_gpu_notify(place.stream, hear, &heard), RBWP_OK);
        fake_fail("event_query", code, 0, 3);
        for (unsigned i = 0; i < 3; i++)
            assert_int_equal(rbwp_gpu_poll(place.device), RBWP_AGAIN);
        assert_int_equal(heard.calls, 0);
        assert_int_equal(rbwp_gpu_poll(place.device), RBWP_OK);
        assert_int_equal(heard.calls, 1);
        assert_int_equal(heard.outcome, RBWP_OK);
        close_place(&place, 0, 0);
    }
}

/* A driver that knows nothing of captures serves as ever. */
static void test_plain_driver(void **state)
{
    (void)state;
    const char *now = test_gpu.driver_library;
    test_gpu.driver_library = fake_plain_library;
    struct rbwp_gpu_device *device = open_device(NULL);
    test_gpu.driver_library = now;
    struct rbwp_gpu_stream *stream = open_stream(device, RBWP_GPU_USE_STREAM);
    struct rbwp_session *session = start_session(1);
    bracket(stream, 1);
    poll_all(device);
    struct recorded recorded;
    struct works works = finish_session(session, &recorded);
    assert_int_equal(works.works, 1);
    works_free(&works);
    recorded_free(&recorded);
    close_stream(stream);
    assert_int_equal(rbwp_gpu_device_close(device), RBWP_OK);
}

int main(int argc, char **argv)
{
    if (!fake_main(argc, argv))
        return 2;
    if (test_gpu.api == RBWP_GPU_OPENCL) { /* has no captures */
        const struct CMUnitTest tests[] = {cmocka_unit_test_setup(test_plain_driver, fake_setup)};
        return cmocka_run_group_tests(tests, NULL, NULL);
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_beside, fake_setup),
        cmocka_unit_test_setup(test_inside, fake_setup),
        cmocka_unit_test_setup(test_around, fake_setup),
        cmocka_unit_test_setup(test_graph_launch, fake_setup),
        cmocka_unit_test_setup(test_default_stream, fake_setup),
        cmocka_unit_test_setup(test_everything_beside, fake_setup),
        cmocka_unit_test_setup(test_refusals_are_no_end, fake_setup),
        cmocka_unit_test_setup(test_plain_driver, fake_setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
