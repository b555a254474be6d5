/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of brackets, notifications and reaping against a driver that does what the test says
 * (fake.h): order, faults, the ends of streams and sessions, level 0, many threads. Run once for
 * each API: test_gpu_fake cuda|hip|opencl (fake_support.h).
 */
#include "fake_support.h"
#include "gpu_stream.h"
#include "known_tables.h"
#include "on_cpu.h"
#include "rbwp_range.h"
#include "record_support.h"
#include "rows_support.h"
#include "unit.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define WORK_THREADS 4u
#define WORK_EACH 1500u

/* ---- finding a driver ---------------------------------------------------------------- */

static void assert_refused(const struct rbwp_gpu_config *config, enum rbwp_status expected,
                           const char *word)
{
    struct rbwp_gpu_device *device;
    struct rbwp_error error = {.text = ""};
    assert_int_equal(rbwp_gpu_device_open(config, &device, &error), expected);
    assert_null(device);
    assert_int_equal(error.status, expected);
    if (!strstr(error.text, word))
        fail_msg("\"%s\" does not say \"%s\"", error.text, word);
}

/* No library, one without a symbol, none that starts, no device: an ordinary answer that says
 * which. */
static void test_no_driver(void **state)
{
    (void)state;
    struct rbwp_gpu_config config = test_gpu;
    unsigned count = 9;
    config.driver_library = "/nonexistent/libdriver.so";
    assert_refused(&config, RBWP_E_UNSUPPORTED, "no driver here");
    assert_int_equal(rbwp_gpu_count(config.api, config.driver_library, &count, NULL),
                     RBWP_E_UNSUPPORTED);
    assert_int_equal(count, 0);
    config.driver_library = fake_old_library;
    assert_refused(&config, RBWP_E_UNSUPPORTED, "too old");
    config = test_gpu;
    fake_devices(0);
    assert_refused(&config, RBWP_E_UNSUPPORTED, "");
    fake_devices(1);
    config.ordinal = 1;
    assert_refused(&config, RBWP_E_UNSUPPORTED, "no device 1");
    config.ordinal = 0;
    fake_fail("init", code_of(RBWP_E_IO), 0, 1);
    assert_refused(&config, RBWP_E_UNSUPPORTED, rbwp_gpu_api_name(config.api));
    fake_fail("device_info", code_of(RBWP_E_IO), 0, 1);
    assert_refused(&config, RBWP_E_IO, "can't be opened");
    config.size = 1;
    assert_refused(&config, RBWP_E_INVALID, "size");
    assert_int_equal(rbwp_gpu_count(test_gpu.api, test_gpu.driver_library, &count, NULL), RBWP_OK);
    assert_int_equal(count, 1);
    fake_devices(3);
    assert_int_equal(rbwp_gpu_count(test_gpu.api, test_gpu.driver_library, &count, NULL), RBWP_OK);
    assert_int_equal(count, 3);
}

/* What the driver does not report of a device is 0, whatever it left behind. */
static void test_facts_not_told(void **state)
{
    (void)state;
    struct rbwp_gpu_device *device = open_device(NULL);
    const struct gpu_context *context = rbwp_extend_gpu_context(device);
    struct gpu_device_info info;
    assert_int_equal(context->backend->device_info(context->driver, 0, &info), GPU_OK);
    assert_int_not_equal(info.multiprocessors, 0);
    fake_fail("attribute", code_of(RBWP_E_IO), 0, 100);
    assert_int_equal(context->backend->device_info(context->driver, 0, &info), GPU_OK);
    assert_string_equal(info.name, "fake 0");
    assert_int_equal(info.multiprocessors, 0);
    assert_int_equal(info.block_threads_max, 0);
    assert_int_equal(info.shared_bytes_max, 0);
    assert_int_equal(rbwp_gpu_device_close(device), RBWP_OK);
}

/* A backend has no context of a device that there is not; the last one has. */
static void test_contexts_refused(void **state)
{
    (void)state;
    fake_devices(2);
    struct rbwp_gpu_device *device = open_device(NULL);
    const struct gpu_context *context = rbwp_extend_gpu_context(device);
    const struct gpu_backend *backend = context->backend;
    struct gpu_context *other;
    assert_int_equal(context->driver->devices, 2);
    for (unsigned ordinal = 2; ordinal < 4; ordinal++) {
        assert_int_not_equal(backend->context_open(context->driver, ordinal, NULL, &other), GPU_OK);
        assert_null(other);
    }
    assert_int_equal(backend->context_open(context->driver, 1, NULL, &other), GPU_OK);
    assert_non_null(other);
    backend->context_close(other);
    assert_int_equal(rbwp_gpu_device_close(device), RBWP_OK);
}

/* A stream of another device is refused; NULL is the default stream where there is one. The driver
 * gets back each context that was taken of it, and no other. */
static void test_streams_refused(void **state)
{
    (void)state;
    struct rbwp_gpu_device *device = open_device(NULL);
    struct rbwp_gpu_stream *stream;
    fake_devices(2);
    assert_int_equal(
        rbwp_gpu_stream_open(device, fake_foreign_stream(), RBWP_GPU_USE_STREAM, &stream, NULL),
        RBWP_E_INVALID);
    assert_null(stream);
    bool has_default = test_gpu.api != RBWP_GPU_OPENCL;
    assert_int_equal(rbwp_gpu_stream_open(device, NULL, RBWP_GPU_USE_STREAM, &stream, NULL),
                     has_default ? RBWP_OK : RBWP_E_INVALID);
    assert_int_equal(rbwp_gpu_stream_close(stream), RBWP_OK);
    close_stream(open_stream(device, RBWP_GPU_REAP_STREAM));
    assert_int_equal(rbwp_gpu_device_close(device), RBWP_OK);
    assert_int_equal(fake_count("context_close"), fake_count("context_open"));
}

/* Programs that found no GPU pass NULL and nothing happens. */
static void test_null_is_no_gpu(void **state)
{
    (void)state;
    struct rbwp_gpu_bracket b;
    struct rbwp_session *session = start_session(2);
    rbwp_gpu_bracket_begin(&b, NULL, 1);
    rbwp_gpu_bracket_end(&b);
    rbwp_gpu_bracket_begin(&b, NULL, 1);
    rbwp_gpu_bracket_cancel(&b);
    assert_int_equal(rbwp_gpu_poll(NULL), RBWP_END);
    assert_int_equal(rbwp_gpu_drain(NULL, 1), RBWP_OK);
    assert_int_equal(rbwp_gpu_stream_close(NULL), RBWP_OK);
    assert_int_equal(rbwp_gpu_device_close(NULL), RBWP_OK);
    struct recorded recorded;
    struct works works = finish_session(session, &recorded);
    assert_int_equal(works.works + all_losses(&recorded), 0);
    works_free(&works);
    recorded_free(&recorded);
}

/* ---- brackets --------------------------------------------------------------------------- */

/* Start and stop are not before their events were asked for in vain, nor after they were seen; and
 * the moment at which they were complete is within the bounds beside them. */
static void test_bracket_times(void **state)
{
    (void)state;
    struct rbwp_gpu_device *device = open_device(NULL);
    struct rbwp_gpu_stream *stream = open_stream(device, RBWP_GPU_USE_STREAM);
    struct rbwp_session *session = start_session(1);
    fake_hold(true);
    int64_t before = rbwp_now_ns();
    bracket(stream, 7);
    assert_int_equal(rbwp_gpu_poll(device), RBWP_AGAIN);
    int64_t waiting = rbwp_now_ns();
    fake_complete(NULL, 1);
    assert_int_equal(rbwp_gpu_poll(device), RBWP_OK);
    int64_t started = rbwp_now_ns();
    fake_complete(NULL, 1); /* the launch; its end is not there yet */
    assert_int_equal(rbwp_gpu_poll(device), RBWP_AGAIN);
    int64_t running = rbwp_now_ns();
    fake_complete(NULL, 1);
    assert_int_equal(rbwp_gpu_poll(device), RBWP_OK);
    int64_t ended = rbwp_now_ns();
    assert_int_equal(rbwp_gpu_poll(device), RBWP_END);
    struct recorded recorded;
    struct works works = finish_session(session, &recorded);
    const struct rbwp_record *work = work_of_slot(&works, 7);
    assert_in_range(work->start_ns, before, started);
    assert_in_range(work->stop_ns, started, ended);
    assert_int_equal(work->proc_id, (uint64_t)(test_gpu.api + 1) << 32);
    assert_works_whole(&works);
    const struct work_fact *row = works.fact;
    assert_in_range(row->launch_ns, before, waiting);
    assert_int_equal(row->thread_id, thread_named(&recorded, "tester")->thread_id);
    assert_true(row->start_ns + row->start_gap_ns >= waiting);
    assert_true(row->stop_ns - row->stop_gap_ns <= running);
    assert_true(row->stop_ns + row->stop_gap_ns >= running);
    works_free(&works);
    recorded_free(&recorded);
    close_stream(stream);
    assert_int_equal(rbwp_gpu_device_close(device), RBWP_OK);
    assert_int_equal(fake_live_events(), 0);
}

static void pass_ns(int64_t ns)
{
    for (int64_t until = rbwp_now_ns() + ns; rbwp_now_ns() < until;)
        ;
}

/*
 * On an idle stream the start's event is complete at once: the work starts when it has been
 * launched, and what lies between is launching. On a busy one it starts when the stream becomes
 * free. Each says in which range of its thread it was launched, wherever that has ended since.
 */
static void test_idle_and_busy_streams(void **state)
{
    (void)state;
    struct rbwp_gpu_device *device = open_device(NULL);
    struct rbwp_gpu_stream *stream = open_stream(device, RBWP_GPU_USE_STREAM);
    struct rbwp_session *session = start_session(1);
    struct rbwp_gpu_bracket b;
    rbwp_range_push(0, 1);
    uint64_t range = rbwp_range_current();
    int64_t beginning = rbwp_now_ns();
    rbwp_gpu_bracket_begin(&b, stream, 1);
    rbwp_range_pop();
    assert_int_equal(rbwp_gpu_poll(device), RBWP_OK); /* the start is seen */
    int64_t seen = rbwp_now_ns();
    pass_ns(1000000);
    fake_hold(true);
    launch(stream);
    int64_t ending = rbwp_now_ns();
    rbwp_gpu_bracket_end(&b);
    int64_t launched = rbwp_now_ns();
    assert_int_equal(rbwp_gpu_poll(device), RBWP_AGAIN);
    fake_complete(NULL, 2);
    assert_int_equal(rbwp_gpu_poll(device), RBWP_OK);

    bracket(stream, 2);
    int64_t behind = rbwp_now_ns();
    assert_int_equal(rbwp_gpu_poll(device), RBWP_AGAIN);
    fake_complete(NULL, 1);
    assert_int_equal(rbwp_gpu_poll(device), RBWP_OK);
    fake_complete(NULL, 2);
    poll_all(device);
    struct recorded recorded;
    struct works works = finish_session(session, &recorded);
    assert_works_whole(&works);
    /* In a session's first milliseconds on a busy machine a time of its file and one of rbwp_now_ns
     * may be 10 us apart: the clock's rate is measured meanwhile. */
    const int64_t apart_ns = 100000;
    assert_in_range(work_of_slot(&works, 1)->start_ns, ending - apart_ns, launched + apart_ns);
    const struct work_fact *idle = &works.fact[0], *busy = &works.fact[1];
    assert_true(idle->idle);
    assert_in_range(idle->launched_ns, ending - apart_ns, launched + apart_ns);
    assert_in_range(idle->start_ns - idle->launching_ns, beginning - apart_ns, seen + apart_ns);
    assert_false(busy->idle);
    assert_in_range(busy->launched_ns, launched - apart_ns, behind + apart_ns);
    assert_in_range(busy->start_ns, behind - apart_ns, INT64_MAX);
    assert_true(range && idle->range == range && busy->range == 0);
    works_free(&works);
    recorded_free(&recorded);
    close_stream(stream);
    assert_int_equal(rbwp_gpu_device_close(device), RBWP_OK);
}

struct visitor {
    struct rbwp_gpu_stream *stream;
    void *native;
};

static void *bracket_there(void *argument)
{
    struct visitor *visitor = argument;
    assert_int_equal(rbwp_thread_attach("visitor"), RBWP_OK);
    visitor->native = fake_thread_stream();
    bracket(visitor->stream, 2);
    assert_int_equal(rbwp_thread_detach(), RBWP_OK);
    return NULL;
}

/* The handle that means another stream on each thread has an order for each thread: what hangs on
 * one does not hold up the other. */
static void test_streams_of_threads(void **state)
{
    (void)state;
    if (test_gpu.api == RBWP_GPU_OPENCL)
        return; /* has none */
    struct rbwp_gpu_device *device = open_device(NULL);
    struct visitor visitor;
    pthread_t thread;
    assert_int_equal(rbwp_gpu_stream_open(device, GPU_STREAM_PER_THREAD, RBWP_GPU_USE_STREAM,
                                          &visitor.stream, NULL),
                     RBWP_OK);
    struct rbwp_session *session = start_session(1);
    fake_hold(true);
    bracket(visitor.stream, 1);
    assert_int_equal(pthread_create(&thread, NULL, bracket_there, &visitor), 0);
    pthread_join(thread, NULL);
    fake_complete(visitor.native, 3);
    assert_int_equal(rbwp_gpu_poll(device), RBWP_OK);
    int64_t seen = rbwp_now_ns();
    assert_int_equal(rbwp_gpu_poll(device), RBWP_AGAIN);
    fake_hold(false);
    poll_all(device);
    struct recorded recorded;
    struct works works = finish_session(session, &recorded);
    assert_true(work_of_slot(&works, 2)->stop_ns <= seen);
    assert_true(work_of_slot(&works, 1)->stop_ns >= seen);
    works_free(&works);
    recorded_free(&recorded);
    assert_int_equal(rbwp_gpu_stream_close(visitor.stream), RBWP_OK);
    assert_int_equal(rbwp_gpu_device_close(device), RBWP_OK);
    assert_int_equal(fake_live_events(), 0);
}

static void abandon(struct rbwp_session *session, struct rbwp_gpu_device *device,
                    struct rbwp_gpu_stream *stream)
{
    struct recorded recorded;
    struct works works = finish_session(session, &recorded);
    works_free(&works);
    recorded_free(&recorded);
    close_stream(stream);
    assert_int_equal(rbwp_gpu_device_close(device), RBWP_OK);
}

/* Many brackets that end at once make the stream one on which one of several is asked for. How many
 * it took; 0: brackets take too long here (a sanitizer). */
static unsigned make_busy(struct rbwp_gpu_device *device, struct rbwp_gpu_stream *stream)
{
    unsigned brackets = 0;
    do { /* again if the machine had something else to do meanwhile */
        if (brackets >= 4000)
            return 0;
        for (unsigned i = 0; i < 200; i++, brackets++)
            bracket(stream, 0);
        assert_int_equal(rbwp_gpu_poll(device), RBWP_OK);
    } while (stream->pace.spacing_ns > 4000);
    return brackets;
}

/*
 * Where brackets end quickly after each other, one that is old enough is asked for in place of all
 * before it: while it is not complete none of them is taken for done; when it is, all are, without
 * being asked for.
 */
static void test_look_ahead(void **state)
{
    enum { BRACKETS = 10 };
    (void)state;
    struct rbwp_gpu_device *device = open_device(NULL);
    struct rbwp_gpu_stream *stream = open_stream(device, RBWP_GPU_USE_STREAM);
    struct rbwp_session *session = start_session(1);
    const unsigned before = make_busy(device, stream);
    if (before == 0) {
        abandon(session, device, stream);
        return;
    }
    fake_hold(true);
    for (unsigned i = 0; i < BRACKETS; i++)
        bracket(stream, 1 + i);
    pass_ns(100000); /* old enough */
    assert_int_equal(rbwp_gpu_drain(device, 1), RBWP_AGAIN);
    assert_int_equal(rbwp_gpu_drain(device, 1000000), RBWP_AGAIN);
    int64_t not_done = rbwp_now_ns();
    fake_hold(false);
    pass_ns(200000); /* it was asked for a moment ago */
    unsigned queries = fake_count("event_query");
    assert_int_equal(rbwp_gpu_drain(device, 1000000000), RBWP_OK);
    assert_in_range(fake_count("event_query") - queries, 1, 3);
    struct recorded recorded;
    struct works works = finish_session(session, &recorded);
    assert_int_equal(works.works, before + BRACKETS);
    assert_works_whole(&works);
    assert_true(work_of_slot(&works, BRACKETS)->stop_ns >= not_done);
    works_free(&works);
    recorded_free(&recorded);
    close_stream(stream);
    assert_int_equal(rbwp_gpu_device_close(device), RBWP_OK);
}

/* There a bracket that is too young to be done is not asked for: the driver is left alone. */
static void test_look_ahead_lets_brackets_age(void **state)
{
    (void)state;
    struct rbwp_gpu_device *device = open_device(NULL);
    struct rbwp_gpu_stream *stream = open_stream(device, RBWP_GPU_REAP_STREAM);
    struct rbwp_session *session = start_session(1);
    bool young = false;
    for (unsigned i = 0; i < 50 && !young && make_busy(device, stream) != 0; i++) {
        fake_hold(true);
        const int64_t launching = rbwp_now_ns();
        bracket(stream, 1);
        const unsigned queries = fake_count("event_query");
        const struct gpu_reaped reaped = gpu_reap_stream(stream, true, 0);
        const unsigned asked = fake_count("event_query") - queries;
        young = rbwp_now_ns() - launching < 20000; /* or the machine had something else to do */
        assert_true(reaped.pending && reaped.nodes == 0);
        assert_true(!young || asked == 0);
        fake_hold(false);
        poll_all(device);
    }
    abandon(session, device, stream);
}

/* After a pause of the program the times of many brackets are spread from the first launch on, not
 * over the pause. */
static void test_look_ahead_after_a_pause(void **state)
{
    enum { BRACKETS = 8, RUN_NS = 5000000 };
    (void)state;
    struct rbwp_gpu_device *device = open_device(NULL);
    struct rbwp_gpu_stream *stream = open_stream(device, RBWP_GPU_USE_STREAM);
    struct rbwp_session *session = start_session(1);
    if (make_busy(device, stream) == 0) {
        abandon(session, device, stream);
        return;
    }
    pass_ns(4 * RUN_NS);
    fake_hold(true);
    int64_t launching = rbwp_now_ns();
    for (unsigned i = 0; i < BRACKETS; i++)
        bracket(stream, 1 + i);
    pass_ns(RUN_NS);
    fake_hold(false);
    poll_all(device);
    struct recorded recorded;
    struct works works = finish_session(session, &recorded);
    assert_true(work_of_slot(&works, BRACKETS / 2 + 1)->stop_ns - launching >= RUN_NS / 3);
    works_free(&works);
    recorded_free(&recorded);
    close_stream(stream);
    assert_int_equal(rbwp_gpu_device_close(device), RBWP_OK);
}

/* A reaper that comes late sees starts and ends together: their times are spread over what it
 * missed, in order. */
static void test_late_reaper(void **state)
{
    (void)state;
    struct rbwp_gpu_device *device = open_device(NULL);
    struct rbwp_gpu_stream *stream = open_stream(device, RBWP_GPU_USE_STREAM);
    struct rbwp_session *session = start_session(1);
    int64_t launching = rbwp_now_ns(), last = 0;
    for (unsigned slot = 0; slot < 100; slot++)
        bracket(stream, slot);
    pass_ns(1000000);
    poll_all(device);
    struct recorded recorded;
    struct works works = finish_session(session, &recorded);
    assert_int_equal(works.works, 100);
    assert_works_whole(&works);
    for (unsigned slot = 0; slot < 100; slot++) {
        const struct rbwp_record *work = work_of_slot(&works, slot);
        assert_true(work->start_ns >= launching && work->start_ns >= last);
        last = work->stop_ns;
    }
    works_free(&works);
    recorded_free(&recorded);
    close_stream(stream);
    assert_int_equal(rbwp_gpu_device_close(device), RBWP_OK);
}

static void count_call(void *argument, enum rbwp_status outcome, int64_t seen_ns)
{
    assert_int_equal(outcome, RBWP_OK);
    assert_true(seen_ns > 0);
    (*(unsigned *)argument)++;
}

/*
 * A bracket may do without an event for its start only where it follows another at once: with time
 * in between, in which something may have been launched, it has one, and so it has with a
 * notification in between, however quick.
 */
static void test_only_the_next_bracket_shares_an_event(void **state)
{
    enum { BRACKETS = 50 };
    (void)state;
    struct rbwp_gpu_device *device = open_device(NULL);
    struct rbwp_gpu_stream *stream = open_stream(device, RBWP_GPU_USE_STREAM);
    struct rbwp_session *session = start_session(1);
    unsigned before = fake_count("event_record"), notified = 0;
    for (unsigned i = 0; i < BRACKETS; i++) {
        bracket(stream, 1);
        pass_ns(5000);
    }
    assert_int_equal(fake_count("event_record") - before, 2 * BRACKETS);
    for (unsigned i = 0; i < BRACKETS; i++) {
        bracket(stream, 2);
        assert_int_equal(rbwp_gpu_notify(stream, count_call, &notified), RBWP_OK);
    }
    assert_int_equal(fake_count("event_record") - before, 5 * BRACKETS);
    poll_all(device);
    assert_int_equal(notified, BRACKETS);
    struct recorded recorded;
    struct works works = finish_session(session, &recorded);
    assert_int_equal(works.works, 2 * BRACKETS);
    assert_works_whole(&works);
    works_free(&works);
    recorded_free(&recorded);
    close_stream(stream);
    assert_int_equal(rbwp_gpu_device_close(device), RBWP_OK);
}

/* The start or stop of a slot's work happened between two times, and the time reported is within
 * its bound. */
static void assert_happened(const struct works *works, unsigned slot, bool stop, int64_t least_ns,
                            int64_t most_ns)
{
    const struct work_fact *fact = works->fact;
    while (fact->slot != slot)
        fact++;
    const int64_t time_ns = stop ? fact->stop_ns : fact->start_ns;
    const int64_t gap_ns = stop ? fact->stop_gap_ns : fact->start_gap_ns;
    assert_true(time_ns <= most_ns && time_ns + gap_ns >= least_ns);
}

/* Two streams that make progress in turns: each bracket has its own times. */
static void test_streams_interleave(void **state)
{
    (void)state;
    struct rbwp_gpu_device *device = open_device(NULL);
    struct rbwp_gpu_stream *a = open_stream(device, RBWP_GPU_USE_STREAM);
    struct rbwp_gpu_stream *b = open_stream(device, RBWP_GPU_USE_STREAM);
    struct rbwp_session *session = start_session(1);
    int64_t seen[4];
    fake_hold(true);
    bracket(a, 1);
    bracket(b, 2);
    bracket(a, 3);
    struct {
        struct rbwp_gpu_stream *stream;
        unsigned things;
    } steps[4] = {{b, 1}, {a, 1}, {a, 3}, {b, 2}};
    for (unsigned i = 0; i < 4; i++) {
        fake_complete(gpu_stream_native(steps[i].stream), steps[i].things);
        assert_int_equal(rbwp_gpu_poll(device), RBWP_OK);
        seen[i] = rbwp_now_ns();
    }
    fake_complete(NULL, 10);
    poll_all(device);
    struct recorded recorded;
    struct works works = finish_session(session, &recorded);
    assert_happened(&works, 2, false, 0, seen[0]);
    assert_happened(&works, 1, false, seen[0], seen[1]);
    assert_happened(&works, 1, true, seen[1], seen[2]);
    assert_happened(&works, 3, false, seen[1], seen[2]);
    assert_happened(&works, 2, true, seen[2], seen[3]);
    assert_happened(&works, 3, true, seen[3], INT64_MAX);
    works_free(&works);
    recorded_free(&recorded);
    close_stream(a);
    close_stream(b);
    assert_int_equal(rbwp_gpu_device_close(device), RBWP_OK);
}

/* Brackets may overlap on a stream, and one of them may be cancelled before or after its start was
 * seen; their ends find their own starts. */
static void test_brackets_overlap(void **state)
{
    (void)state;
    struct rbwp_gpu_device *device = open_device(NULL);
    struct rbwp_gpu_stream *stream = open_stream(device, RBWP_GPU_USE_STREAM);
    struct rbwp_session *session = start_session(1);
    struct rbwp_gpu_bracket one, two, three, four;
    fake_hold(true);
    rbwp_gpu_bracket_begin(&one, stream, 1);
    rbwp_gpu_bracket_begin(&two, stream, 2);
    rbwp_gpu_bracket_begin(&three, stream, 3);
    rbwp_gpu_bracket_cancel(&three);
    fake_complete(NULL, 1);
    assert_int_equal(rbwp_gpu_poll(device), RBWP_OK);
    int64_t first = rbwp_now_ns();
    rbwp_gpu_bracket_begin(&four, stream, 4);
    fake_complete(NULL, 10);
    poll_all(device);
    rbwp_gpu_bracket_cancel(&four);
    rbwp_gpu_bracket_end(&one);
    rbwp_gpu_bracket_end(&two);
    fake_complete(NULL, 10);
    poll_all(device);
    struct recorded recorded;
    struct works works = finish_session(session, &recorded);
    assert_int_equal(works.works, 2);
    const struct work_fact *of_one = &works.fact[0], *of_two = &works.fact[1];
    assert_int_equal(of_one->start_ns, work_of_slot(&works, 1)->start_ns);
    assert_true(of_one->start_ns - of_one->launching_ns <= first);
    assert_true(of_two->start_ns - of_two->launching_ns + of_two->start_gap_ns >= first);
    assert_int_equal(all_losses(&recorded), 0);
    works_free(&works);
    recorded_free(&recorded);
    close_stream(stream);
    assert_int_equal(rbwp_gpu_device_close(device), RBWP_OK);
    assert_int_equal(fake_live_events(), 0);
}

/* At level 0 a bracket makes no event and asks the driver nothing. */
static void test_level_0(void **state)
{
    (void)state;
    struct rbwp_gpu_device *device = open_device(NULL);
    struct rbwp_gpu_stream *stream = open_stream(device, RBWP_GPU_USE_STREAM);
    unsigned attached = fake_count("attach");
    for (unsigned i = 0; i < 100; i++)
        bracket(stream, i);
    assert_int_equal(rbwp_gpu_poll(device), RBWP_END);
    assert_int_equal(fake_count("event_create"), 0);
    assert_int_equal(fake_count("event_record"), 0);
    assert_int_equal(fake_count("event_query"), 0);
    assert_int_equal(fake_count("attach"), attached);
    assert_int_equal(fake_live_events(), 0);
    close_stream(stream);
    assert_int_equal(rbwp_gpu_device_close(device), RBWP_OK);
}

/* ---- faults ------------------------------------------------------------------------------ */

/* What the driver refuses is counted, and the next bracket is recorded. */
static void test_events_fail(void **state)
{
    (void)state;
    static const struct {
        enum rbwp_status fails;
        unsigned after;
        enum rbwp_loss_cause cause;
    } cases[] = {{RBWP_E_MEMORY, 0, RBWP_LOSS_MEMORY},
                 {RBWP_E_IO, 0, RBWP_LOSS_GPU_FAILED},
                 {RBWP_E_IO, 1, RBWP_LOSS_GPU_FAILED}}; /* the bracket's end */
    for (unsigned i = 0; i < 3; i++) {
        struct rbwp_gpu_device *device = open_device(NULL);
        struct rbwp_gpu_stream *stream = open_stream(device, RBWP_GPU_USE_STREAM);
        struct rbwp_session *session = start_session(1);
        fake_fail("event_record", code_of(cases[i].fails), cases[i].after, 1);
        bracket(stream, 1);
        bracket(stream, 2);
        poll_all(device);
        struct recorded recorded;
        struct works works = finish_session(session, &recorded);
        assert_int_equal(works.works, 1);
        work_of_slot(&works, 2);
        assert_int_equal(losses(&recorded, 0, cases[i].cause), 1);
        assert_int_equal(all_losses(&recorded), 1);
        works_free(&works);
        recorded_free(&recorded);
        close_stream(stream);
        assert_int_equal(rbwp_gpu_device_close(device), RBWP_OK);
        assert_int_equal(fake_live_events(), 0);
    }
}

/* Events that can't be made: no memory is a loss, what was made is used, nothing leaks. */
static void test_event_create_fails(void **state)
{
    (void)state;
    if (test_gpu.api == RBWP_GPU_OPENCL)
        return; /* makes them by recording: test_events_fail */
    struct rbwp_gpu_device *device = open_device(NULL);
    struct rbwp_gpu_stream *stream = open_stream(device, RBWP_GPU_USE_STREAM);
    struct rbwp_session *session = start_session(1);
    fake_hold(true);
    fake_fail("event_create", code_of(RBWP_E_MEMORY), 3, 1000000);
    bracket(stream, 1); /* two of three events */
    pass_ns(5000);      /* else the next one needs only one */
    bracket(stream, 2);
    fake_hold(false);
    poll_all(device);
    bracket(stream, 3);
    poll_all(device);
    struct recorded recorded;
    struct works works = finish_session(session, &recorded);
    assert_int_equal(works.works, 2);
    assert_int_equal(losses(&recorded, 0, RBWP_LOSS_MEMORY), 1);
    assert_int_equal(all_losses(&recorded), 1);
    works_free(&works);
    recorded_free(&recorded);
    close_stream(stream);
    assert_int_equal(rbwp_gpu_device_close(device), RBWP_OK);
    assert_int_equal(fake_live_events(), 0);
}

/* A context that is lost under pending work: callbacks hear of it once, brackets are counted, and
 * polling comes to an end. */
static void test_context_lost(void **state)
{
    (void)state;
    struct rbwp_gpu_device *device = open_device(NULL);
    struct rbwp_gpu_stream *stream = open_stream(device, RBWP_GPU_USE_STREAM);
    struct rbwp_session *session = start_session(1);
    struct heard heard = {0};
    fake_hold(true);
    bracket(stream, 1);
    assert_int_equal(rbwp_gpu_notify(stream, hear, &heard), RBWP_OK);
    assert_int_equal(rbwp_gpu_poll(device), RBWP_AGAIN);
    fake_fail("event_query", code_of(RBWP_E_STATE), 0, 1000000);
    fake_fail("event_record", code_of(RBWP_E_STATE), 0, 1000000);
    poll_all(device);
    assert_int_equal(heard.calls, 1);
    assert_int_equal(heard.outcome, RBWP_E_STATE);
    bracket(stream, 2);
    assert_int_equal(rbwp_gpu_notify(stream, hear, &heard), RBWP_E_STATE);
    assert_int_equal(heard.calls, 1);
    struct recorded recorded;
    struct works works = finish_session(session, &recorded);
    assert_int_equal(works.works, 0);
    assert_int_equal(losses(&recorded, 0, RBWP_LOSS_GPU_FAILED), 2);
    works_free(&works);
    recorded_free(&recorded);
    close_stream(stream);
    assert_int_equal(rbwp_gpu_device_close(device), RBWP_OK);
    assert_int_equal(fake_live_events(), 0);
}

/* ---- ends ----------------------------------------------------------------------------------- */

/* A stream closed with work pending: after the limit callbacks run with RBWP_E_STATE, brackets are
 * counted with their cause, also one that was never ended. */
static void test_close_with_pending(void **state)
{
    (void)state;
    test_gpu.drain_limit_ns = 1000000;
    struct rbwp_gpu_device *device = open_device(NULL);
    test_gpu.drain_limit_ns = 0;
    struct rbwp_gpu_stream *stream = open_stream(device, RBWP_GPU_USE_STREAM);
    struct rbwp_session *session = start_session(1);
    struct rbwp_gpu_bracket never_ended;
    struct heard heard = {0};
    fake_hold(true);
    bracket(stream, 1);
    bracket(stream, 2);
    fake_complete(NULL, 3); /* the first one */
    assert_int_equal(rbwp_gpu_notify(stream, hear, &heard), RBWP_OK);
    rbwp_gpu_bracket_begin(&never_ended, stream, 3);
    close_stream(stream);
    assert_int_equal(heard.calls, 1);
    assert_int_equal(heard.outcome, RBWP_E_STATE);
    assert_int_equal(fake_live_events(), 0);
    struct recorded recorded;
    struct works works = finish_session(session, &recorded);
    assert_int_equal(works.works, 1);
    assert_int_equal(losses(&recorded, 0, RBWP_LOSS_GPU_PENDING), 2);
    assert_int_equal(all_losses(&recorded), 2);
    works_free(&works);
    recorded_free(&recorded);
    assert_int_equal(rbwp_gpu_device_close(device), RBWP_OK);
}

/* Closing a device closes its streams. */
static void test_device_close_takes_streams(void **state)
{
    (void)state;
    struct rbwp_gpu_device *device = open_device(NULL);
    struct heard heard = {0};
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(rbwp_gpu_notify(open_stream(device, RBWP_GPU_USE_STREAM), hear, &heard),
                         RBWP_OK);
    assert_int_equal(rbwp_gpu_device_close(device), RBWP_OK);
    assert_int_equal(heard.calls, 3);
    assert_int_equal(heard.outcome, RBWP_OK);
    assert_int_equal(fake_live_events(), 0);
}

/* A session that stops waits for what is pending; what is pending still after the limit is counted,
 * and does not turn up in the next session. What is complete is taken however short that was. */
static void test_session_stops_with_pending(void **state)
{
    (void)state;
    test_gpu.drain_limit_ns = 1;
    struct rbwp_gpu_device *device = open_device(NULL);
    test_gpu.drain_limit_ns = 0;
    struct rbwp_gpu_stream *stream = open_stream(device, RBWP_GPU_USE_STREAM);
    struct rbwp_session *session = start_session(1);
    struct recorded recorded;
    bracket(stream, 1); /* complete, and nobody polls: the stop does */
    fake_hold(true);
    bracket(stream, 2);
    bracket(stream, 3);
    struct works works = finish_session(session, &recorded);
    assert_int_equal(works.works, 1);
    work_of_slot(&works, 1);
    assert_int_equal(works.facts, 1);
    assert_int_equal(losses(&recorded, 0, RBWP_LOSS_GPU_PENDING), 2);
    works_free(&works);
    recorded_free(&recorded);

    session = start_session(1);
    bracket(stream, 4);
    fake_hold(false);
    poll_all(device);
    works = finish_session(session, &recorded);
    assert_int_equal(works.works, 1);
    work_of_slot(&works, 4);
    assert_int_equal(all_losses(&recorded), 0);
    works_free(&works);
    recorded_free(&recorded);
    close_stream(stream);
    assert_int_equal(rbwp_gpu_device_close(device), RBWP_OK);
}

/* A thread that does not record stops the session: what it reaps is recorded all the same. */
static void test_stop_by_a_stranger(void **state)
{
    (void)state;
    struct rbwp_gpu_device *device = open_device(NULL);
    struct rbwp_gpu_stream *stream = open_stream(device, RBWP_GPU_USE_STREAM);
    struct rbwp_session *session = start_session(1);
    fake_delay(50);
    bracket(stream, 1);
    assert_int_equal(rbwp_thread_detach(), RBWP_OK);
    stop(session);
    struct recorded recorded = read_back(test_config(1).logfile);
    struct works works = read_works(test_config(1).logfile);
    work_of_slot(&works, 1);
    assert_int_equal(all_losses(&recorded), 0);
    works_free(&works);
    recorded_free(&recorded);
    close_stream(stream);
    assert_int_equal(rbwp_gpu_device_close(device), RBWP_OK);
}

/* A strict session has the records and no extension. */
static void test_strict(void **state)
{
    (void)state;
    struct rbwp_gpu_device *device = open_device(NULL);
    struct rbwp_gpu_stream *stream = open_stream(device, RBWP_GPU_USE_STREAM);
    struct rbwp_session_config config = test_config(1);
    config.strict = true;
    assert_int_equal(rbwp_thread_attach("tester"), RBWP_OK);
    struct rbwp_session *session = start(&config);
    for (unsigned i = 0; i < 600; i++)
        bracket(stream, i % 256);
    poll_all(device);
    struct recorded recorded;
    struct works works = finish_session(session, &recorded);
    assert_int_equal(works.works, 600);
    assert_int_equal(works.facts, 0);
    assert_null(recorded.trailer);
    works_free(&works);
    recorded_free(&recorded);
    close_stream(stream);
    assert_int_equal(rbwp_gpu_device_close(device), RBWP_OK);
}

/* ---- callbacks ---------------------------------------------------------------------------------
 */

struct chain {
    struct rbwp_gpu_device *device;
    struct rbwp_gpu_stream *stream;
    unsigned left, ran;
};

static void go_on(void *argument, enum rbwp_status outcome, int64_t seen_ns)
{
    struct chain *chain = argument;
    (void)seen_ns;
    assert_int_equal(outcome, RBWP_OK);
    chain->ran++;
    assert_int_equal(rbwp_gpu_poll(chain->device), RBWP_E_BUSY);
    assert_int_equal(rbwp_gpu_drain(chain->device, 1), RBWP_E_STATE);
    assert_int_equal(rbwp_gpu_stream_close(chain->stream), RBWP_E_STATE);
    assert_int_equal(rbwp_gpu_device_close(chain->device), RBWP_E_STATE);
    if (chain->left-- > 0) {
        bracket(chain->stream, 9);
        assert_int_equal(rbwp_gpu_notify(chain->stream, go_on, chain), RBWP_OK);
    }
}

/* Callbacks add notifications and brackets, and are refused what would wait for themselves. */
static void test_callbacks_add_more(void **state)
{
    (void)state;
    struct rbwp_gpu_device *device = open_device(NULL);
    struct chain chain = {device, open_stream(device, RBWP_GPU_USE_STREAM), 200, 0};
    struct rbwp_session *session = start_session(1);
    assert_int_equal(rbwp_gpu_notify(chain.stream, go_on, &chain), RBWP_OK);
    poll_all(device);
    assert_int_equal(chain.ran, 201);
    struct recorded recorded;
    struct works works = finish_session(session, &recorded);
    assert_int_equal(works.works, 200);
    works_free(&works);
    recorded_free(&recorded);
    close_stream(chain.stream);
    assert_int_equal(rbwp_gpu_device_close(device), RBWP_OK);
}

struct order {
    unsigned next, wrong;
};
struct place {
    struct order *order;
    unsigned number;
};

static void in_turn(void *argument, enum rbwp_status outcome, int64_t seen_ns)
{
    struct place *place = argument;
    (void)outcome, (void)seen_ns;
    place->order->wrong += place->order->next++ != place->number;
}

/* Notifications of a stream run in the order in which they were asked for, more of them than one
 * batch of events holds. */
static void test_notifications_in_order(void **state)
{
    (void)state;
    struct rbwp_gpu_device *device = open_device(NULL);
    struct rbwp_gpu_stream *stream = open_stream(device, RBWP_GPU_USE_STREAM);
    struct order order = {0};
    struct place place[500];
    fake_hold(true);
    for (unsigned i = 0; i < 500; i++) {
        place[i] = (struct place){&order, i};
        assert_int_equal(rbwp_gpu_notify(stream, in_turn, &place[i]), RBWP_OK);
        if (i % 7 == 0) {
            fake_complete(NULL, 3);
            (void)!rbwp_gpu_poll(device);
        }
    }
    assert_int_equal(rbwp_gpu_drain(device, 1000), RBWP_AGAIN);
    fake_hold(false);
    poll_all(device);
    assert_int_equal(order.next, 500);
    assert_int_equal(order.wrong, 0);
    close_stream(stream);
    assert_int_equal(rbwp_gpu_device_close(device), RBWP_OK);
    assert_int_equal(fake_live_events(), 0);
}

/* ---- threads, the work manager ------------------------------------------------------------------
 */

struct launcher {
    pthread_t thread;
    struct rbwp_gpu_stream *stream[2];
    unsigned number;
};

static void *launch_many(void *argument)
{
    struct launcher *launcher = argument;
    char name[16];
    snprintf(name, sizeof name, "launcher %u", launcher->number);
    assert_int_equal(rbwp_thread_attach(name), RBWP_OK);
    for (unsigned i = 0; i < WORK_EACH; i++)
        bracket(launcher->stream[i % 2], launcher->number);
    assert_int_equal(rbwp_thread_detach(), RBWP_OK);
    return NULL;
}

static struct rbwp_work_manager *start_workers(void)
{
    struct rbwp_work_config config = {.size = sizeof config, .workers = 2};
    struct rbwp_work_manager *manager;
    assert_int_equal(rbwp_work_start(&config, &manager, NULL), RBWP_OK);
    return manager;
}

/* Sub-items of type GPU_REAP that began, by name. */
static unsigned reaps_named(const struct recorded *recorded, const char *name)
{
    unsigned count = 0, id = RBWP_SUB_ITEMS_MAX;
    for (uint32_t i = 0; i < recorded->tables->sub_item_count; i++) {
        const struct rbwp_sub_item_name *item = &recorded->tables->sub_items[i];
        if (item->type == RBWP_GPU_REAP && item->name_bytes == strlen(name) &&
            memcmp(item->name, name, item->name_bytes) == 0)
            id = item->id;
    }
    for (size_t i = 0; i < recorded->events; i++)
        count += recorded->event[i].record.kind == RBWP_FINE_BEGIN &&
                 recorded->event[i].record.sub_item == id;
    return count;
}

/* Many threads on shared streams, workers that reap: every bracket has one record, none is lost,
 * and reaping shows at level 2 under the name of the stream's use. */
static void test_threads(void **state)
{
    (void)state;
    struct rbwp_work_manager *manager = start_workers();
    struct rbwp_gpu_device *device = open_device(manager);
    struct rbwp_gpu_stream *stream[2] = {open_stream(device, RBWP_GPU_USE_STREAM),
                                         open_stream(device, RBWP_GPU_USE_DEVICE_TO_HOST)};
    struct rbwp_session *session = start_session(2);
    struct launcher launcher[WORK_THREADS];
    fake_delay(2);
    for (unsigned i = 0; i < WORK_THREADS; i++) {
        launcher[i] = (struct launcher){.stream = {stream[0], stream[1]}, .number = i};
        assert_int_equal(pthread_create(&launcher[i].thread, NULL, launch_many, &launcher[i]), 0);
    }
    for (unsigned i = 0; i < WORK_THREADS; i++)
        pthread_join(launcher[i].thread, NULL);
    rbwp_work_drain(manager); /* the reaper sleeps when nothing is pending */
    assert_int_equal(rbwp_gpu_poll(device), RBWP_END);
    bracket(stream[0], 200); /* and wakes again */
    rbwp_work_drain(manager);
    struct recorded recorded;
    struct works works = finish_session(session, &recorded);
    unsigned of_slot[256] = {0};
    for (size_t i = 0; i < works.works; i++)
        of_slot[works.work[i].slot]++;
    for (unsigned i = 0; i < WORK_THREADS; i++)
        assert_int_equal(of_slot[i], WORK_EACH);
    assert_int_equal(of_slot[200], 1);
    assert_int_equal(all_losses(&recorded), 0);
    assert_works_whole(&works);
    assert_true(reaps_named(&recorded, "stream reap") > 0);
    assert_true(reaps_named(&recorded, "device-to-host") > 0);
    assert_int_equal(reaps_named(&recorded, "host-to-device"), 0);
    works_free(&works);
    recorded_free(&recorded);
    close_stream(stream[0]);
    close_stream(stream[1]);
    assert_int_equal(rbwp_gpu_device_close(device), RBWP_OK);
    assert_int_equal(rbwp_work_stop(manager, true, NULL), RBWP_OK);
    assert_int_equal(fake_live_events(), 0);
}

#define NAP_NS 3000000

static void nap(void *done, enum rbwp_status outcome, int64_t seen_ns)
{
    const struct timespec time = {0, NAP_NS};
    (void)outcome;
    (void)seen_ns;
    nanosleep(&time, NULL);
    atomic_store((_Atomic bool *)done, true);
}

/* Of the thread that reaps it is known what its calls did with their time: one that slept, here in
 * a notification, has waited so long, and was not busy. */
static void test_a_wait_of_the_reaper(void **state)
{
    (void)state;
    struct rbwp_work_config work = {.size = sizeof work};
    struct rbwp_work_manager *manager;
    _Atomic bool done = false;
    assert_int_equal(rbwp_work_start(&work, &manager, NULL), RBWP_OK);
    struct rbwp_gpu_device *device = open_device(manager);
    struct rbwp_gpu_stream *stream = open_stream(device, RBWP_GPU_USE_STREAM);
    struct rbwp_session *session = start_session(1);
    assert_int_equal(rbwp_gpu_notify(stream, nap, &done), RBWP_OK);
    while (!atomic_load(&done))
        sched_yield();
    rbwp_work_drain(manager);
    stop(session);
    assert_int_equal(rbwp_thread_detach(), RBWP_OK);
    struct recorded recorded = read_back(test_path("test.bin"));
    struct read_table known = read_table(test_path("test.bin"), "thread_cpu");
    struct read_table calls = read_table(test_path("test.bin"), "call_cpu");
    const uint64_t reaper = thread_named(&recorded, "worker 0")->thread_id;
    unsigned waited = 0, of_all = 0;
    for (size_t i = 0; i < known.rows; i++)
        of_all += read_table_row(&known, i)[AT_thread_cpu_thread] == 0;
    for (size_t i = 0; i < calls.rows; i++) {
        const uint64_t *row = read_table_row(&calls, i);
        const int64_t running = (int64_t)row[AT_call_cpu_running],
                      runnable = (int64_t)row[AT_call_cpu_runnable],
                      length = (int64_t)(row[AT_call_cpu_stop] - row[AT_call_cpu_start]);
        waited += row[AT_call_cpu_thread] == reaper && row[AT_call_cpu_slot] == device->work.slot &&
                  row[AT_call_cpu_voluntary] > 0 && running >= 0 && runnable >= 0 &&
                  length - running - runnable > NAP_NS * 9 / 10;
    }
    assert_int_equal(of_all, on_cpu_is_known());
    assert_int_equal(waited, on_cpu_is_known());
    read_table_free(&known);
    read_table_free(&calls);
    recorded_free(&recorded);
    close_stream(stream);
    assert_int_equal(rbwp_gpu_device_close(device), RBWP_OK);
    assert_int_equal(rbwp_work_stop(manager, true, NULL), RBWP_OK);
}

/* While nothing completes the reaper is active but leaves no records of its empty looks. */
static void test_waiting_leaves_no_trace(void **state)
{
    (void)state;
    struct rbwp_work_config work = {
        .size = sizeof work, .no_workers = true, .slice_ns = UINT64_C(3600000000000)};
    struct rbwp_work_manager *manager;
    assert_int_equal(rbwp_work_start(&work, &manager, NULL), RBWP_OK);
    struct rbwp_gpu_device *device = open_device(manager);
    struct rbwp_gpu_stream *stream = open_stream(device, RBWP_GPU_USE_STREAM);
    struct rbwp_session *session = start_session(2);
    fake_hold(true);
    bracket(stream, 1);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(rbwp_work_run(manager, 0), RBWP_OK);
    fake_hold(false);
    rbwp_work_drain(manager);
    struct recorded recorded;
    struct works works = finish_session(session, &recorded);
    work_of_slot(&works, 1);
    unsigned begins = 0;
    for (size_t i = 0; i < recorded.events; i++)
        begins += recorded.event[i].record.kind == RBWP_COARSE_BEGIN;
    assert_int_equal(begins, 1);
    works_free(&works);
    recorded_free(&recorded);
    close_stream(stream);
    assert_int_equal(rbwp_gpu_device_close(device), RBWP_OK);
    assert_int_equal(rbwp_work_stop(manager, true, NULL), RBWP_OK);
}

/* ---- the rest -----------------------------------------------------------------------------------
 */

/* But on_cpu, which is in no file. */
static void assert_same_facts(const struct rbwp_gpu_facts *stored,
                              const struct rbwp_gpu_facts *facts)
{
    assert_string_equal(stored->name, facts->name);
    assert_int_equal(stored->proc_id, facts->proc_id);
    assert_int_equal(stored->multiprocessors, facts->multiprocessors);
    assert_int_equal(stored->memory_bytes, facts->memory_bytes);
    assert_int_equal(stored->bias_rounds, facts->bias_rounds);
    assert_int_equal(stored->bias_ns, facts->bias_ns);
    assert_int_equal(stored->bias_spread_ns, facts->bias_spread_ns);
    assert_int_equal(stored->idle_rounds, facts->idle_rounds);
    assert_int_equal(stored->idle_bias_ns, facts->idle_bias_ns);
    assert_int_equal(stored->idle_spread_ns, facts->idle_spread_ns);
}

/* Both biases, of busy and of idle streams, are measured at open, told in the facts and in the
 * trailer. The driver gives the reaper time to see starts apart from ends (delay), and before the
 * launch. */
static void test_bias_in_trailer(void **state)
{
    (void)state;
    struct rbwp_gpu_facts facts;
    test_gpu.no_bias = false;
    test_gpu.proc_id = 4711;
    fake_delay(1);
    fake_slow_launches(true);
    struct rbwp_gpu_device *device = open_device(NULL);
    test_gpu.no_bias = true;
    test_gpu.proc_id = 0;
    rbwp_gpu_device_facts(device, &facts);
    assert_in_range(facts.bias_rounds, 1, 101); /* fewer if the machine is slow */
    assert_in_range(facts.idle_rounds, 1, 101);
    assert_true(facts.bias_ns >= 0 && facts.bias_spread_ns >= 0);
    assert_true(facts.idle_bias_ns > 0 && facts.idle_spread_ns >= 0);
    struct rbwp_session *session = start_session(1);
    struct recorded recorded;
    struct works works = finish_session(session, &recorded);
    assert_int_equal(works.gpus, 1);
    assert_same_facts(&works.gpu[0], &facts);
    assert_int_equal(works.works, 0);
    works_free(&works);
    recorded_free(&recorded);
    assert_int_equal(rbwp_gpu_device_close(device), RBWP_OK);
    assert_int_equal(fake_live_events(), 0);
}

/* A bias that can't be measured is not known, and the device is there all the same. */
static void test_bias_fails(void **state)
{
    (void)state;
    static const char *const operations[] = {"module_load", "launch", "stream_create",
                                             "event_record", "event_query"};
    for (unsigned i = 0; i < sizeof operations / sizeof operations[0]; i++) {
        struct rbwp_gpu_facts facts;
        fake_reset();
        fake_fail(operations[i], code_of(RBWP_E_IO), 0, 1000000);
        test_gpu.no_bias = false;
        struct rbwp_gpu_device *device = open_device(NULL);
        test_gpu.no_bias = true;
        rbwp_gpu_device_facts(device, &facts);
        assert_int_equal(facts.bias_rounds + facts.idle_rounds, 0);
        assert_int_equal(facts.bias_ns, 0);
        assert_int_equal(rbwp_gpu_device_close(device), RBWP_OK);
        assert_int_equal(fake_live_events(), 0);
    }
}

static void test_copies(void **state)
{
    (void)state;
    struct rbwp_gpu_device *device = open_device(NULL);
    struct rbwp_gpu_stream *stream = open_stream(device, RBWP_GPU_USE_STREAM);
    check_copies(device, stream);
    assert_true(fake_count("memory_alloc") > 0);
    assert_int_equal(fake_count("memory_free"), fake_count("memory_alloc"));
    close_stream(stream);
    assert_int_equal(rbwp_gpu_device_close(device), RBWP_OK);
}

/* Code that does not compile: the reason in the error, all of the compiler's words in the log. */
static void test_code(void **state)
{
    (void)state;
    struct rbwp_gpu_device *device = open_device(NULL);
    struct gpu_context *context = rbwp_extend_gpu_context(device);
    struct gpu_module *module;
    struct gpu_kernel *kernel;
    struct rbwp_error error = {.text = ""};
    char log[64];
    struct gpu_code_text text = {.name = "bad.cu", .source = "#error", .log = log, .log_bytes = 8};
    memset(log, 'x', sizeof log);
    assert_int_equal(context->backend->module_load(context, &text, &module, &error),
                     RBWP_E_INVALID);
    assert_int_equal(strnlen(log, sizeof log), 7); /* as much of them as there is room for */
    text.log_bytes = 0;                            /* none wanted */
    log[0] = 'x';
    assert_int_equal(context->backend->module_load(context, &text, &module, &error),
                     RBWP_E_INVALID);
    assert_int_equal(log[0], 'x');
    text.log_bytes = sizeof log;
    text.log = NULL;
    assert_int_equal(context->backend->module_load(context, &text, &module, &error),
                     RBWP_E_INVALID);
    text.log = log;
    assert_int_equal(context->backend->module_load(context, &text, &module, &error),
                     RBWP_E_INVALID);
    assert_null(module);
    assert_non_null(strstr(error.text, "bad.cu"));
    assert_non_null(strstr(error.text, "error: says the source"));
    assert_non_null(strstr(log, "says the source"));
    text.source = NULL;
    assert_int_equal(context->backend->module_load(context, &text, &module, &error),
                     RBWP_E_UNSUPPORTED);
    text.source = "my_kernel";
    fake_reset();
    assert_int_equal(context->backend->module_load(context, &text, &module, &error), RBWP_OK);
    assert_int_equal(fake_count("compiler_arch"), test_gpu.api == RBWP_GPU_CUDA);
    assert_int_not_equal(context->backend->kernel_get(module, "your_kernel", &kernel), GPU_OK);
    assert_null(kernel);
    assert_int_equal(context->backend->kernel_get(module, "my_kernel", &kernel), GPU_OK);
    context->backend->module_unload(module);
    assert_int_equal(rbwp_gpu_device_close(device), RBWP_OK);
}

/* The log gets as much of the compiler's words as it has room for, and nothing behind it; the error
 * gets the whole line of the first error. */
static void test_log(void **state)
{
    static const char all[] = "in line 1:\nerror: says the source\n";
    const char *words = test_gpu.api == RBWP_GPU_OPENCL ? strstr(all, "error") : all;
    const size_t count = strlen(words);
    (void)state;
    struct rbwp_gpu_device *device = open_device(NULL);
    struct gpu_context *context = rbwp_extend_gpu_context(device);
    struct gpu_module *module;
    for (size_t room = 1; room < count + 4; room++) {
        char log[64];
        struct rbwp_error error = {.text = ""};
        const struct gpu_code_text text = {
            .name = "bad.cu", .source = "#error", .log = log, .log_bytes = room};
        memset(log, 'x', sizeof log);
        assert_int_equal(context->backend->module_load(context, &text, &module, &error),
                         RBWP_E_INVALID);
        size_t kept = room <= count ? room - 1 : count;
        assert_memory_equal(log, words, kept);
        assert_int_equal(log[kept], '\0');
        assert_int_equal(log[room], 'x');
        assert_string_equal(strstr(error.text, "bad.cu"),
                            "bad.cu does not compile: error: says the source");
    }
    assert_int_equal(rbwp_gpu_device_close(device), RBWP_OK);
}

/* A compiler that fails in what never should says so, and what it made by then is freed. */
static void test_compiler_fails(void **state)
{
    (void)state;
    static const struct {
        const char *call, *source, *words;
        enum rbwp_status status;
    } cases[] = {
        {"compiler_create", "my_kernel", "my.cu: the compiler does not start", RBWP_E_IO},
        {"compiler_code_size", "my_kernel", "my.cu: the compiler gives no code", RBWP_E_IO},
        {"compiler_code", "my_kernel", "my.cu: the compiler gives no code", RBWP_E_IO},
        {"compiler_log_size", "#error", "my.cu does not compile: ", RBWP_E_INVALID},
    };
    if (test_gpu.api == RBWP_GPU_OPENCL) /* whose driver compiles */
        return;
    struct rbwp_gpu_device *device = open_device(NULL);
    struct gpu_context *context = rbwp_extend_gpu_context(device);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gpu_module *module;
        struct rbwp_error error = {.text = ""};
        char log[8] = "kept";
        const struct gpu_code_text text = {
            .name = "my.cu", .source = cases[i].source, .log = log, .log_bytes = sizeof log};
        fake_fail(cases[i].call, 5, 0, 1);
        assert_int_equal(context->backend->module_load(context, &text, &module, &error),
                         cases[i].status);
        assert_null(module);
        assert_string_equal(strstr(error.text, "my.cu"), cases[i].words);
        assert_string_equal(log, ""); /* the compiler said nothing */
    }
    assert_int_equal(rbwp_gpu_device_close(device), RBWP_OK);
}

/* Where no compiler is given and none is installed HIP's is the driver's; where the one that is
 * given is not there it is not replaced. */
static void test_which_compiler(void **state)
{
    (void)state;
    const struct gpu_code_text text = {.name = "my.cu", .source = "my_kernel"};
    const char *given = test_gpu.compiler_library;
    if (test_gpu.api == RBWP_GPU_OPENCL)
        return;
    for (int is_given = 0; is_given < 2; is_given++) {
        struct gpu_module *module;
        struct rbwp_error error = {.text = ""};
        const bool is_good = test_gpu.api == RBWP_GPU_HIP && !is_given;
        test_gpu.compiler_library = is_given ? "/nowhere/librtc.so" : NULL;
        if (!is_given && dlopen(test_gpu.api == RBWP_GPU_HIP ? "libhiprtc.so" : "libnvrtc.so",
                                RTLD_LAZY | RTLD_LOCAL))
            continue; /* one is installed */
        struct rbwp_gpu_device *device = open_device(NULL);
        struct gpu_context *context = rbwp_extend_gpu_context(device);
        enum rbwp_status status = context->backend->module_load(context, &text, &module, &error);
        assert_int_equal(status, is_good ? RBWP_OK : RBWP_E_UNSUPPORTED);
        assert_true(is_good || strstr(error.text, "rtc"));
        if (is_good)
            context->backend->module_unload(module);
        assert_int_equal(rbwp_gpu_device_close(device), RBWP_OK);
    }
    test_gpu.compiler_library = given;
}

struct finder {
    pthread_t thread;
    struct gpu_module *module;
    const struct gpu_backend *backend;
};

static void *find_kernels(void *argument)
{
    const struct finder *finder = argument;
    struct gpu_kernel *kernel;
    for (unsigned i = 0; i < 2000; i++)
        assert_int_equal(finder->backend->kernel_get(finder->module, "my_kernel", &kernel), GPU_OK);
    return NULL;
}

/* Kernels of a module may be found by several threads at once: none is lost to the module, which
 * frees them all (the sanitizers look). */
static void test_kernels_found_at_once(void **state)
{
    (void)state;
    struct rbwp_gpu_device *device = open_device(NULL);
    struct gpu_context *context = rbwp_extend_gpu_context(device);
    const struct gpu_code_text text = {.name = "my.cu", .source = "my_kernel"};
    struct finder finder[WORK_THREADS] = {{.backend = context->backend}};
    assert_int_equal(context->backend->module_load(context, &text, &finder[0].module, NULL),
                     RBWP_OK);
    for (unsigned i = 0; i < WORK_THREADS; i++) {
        finder[i].module = finder[0].module;
        finder[i].backend = finder[0].backend;
        assert_int_equal(pthread_create(&finder[i].thread, NULL, find_kernels, &finder[i]), 0);
    }
    for (unsigned i = 0; i < WORK_THREADS; i++)
        pthread_join(finder[i].thread, NULL);
    context->backend->module_unload(finder[0].module);
    assert_int_equal(rbwp_gpu_device_close(device), RBWP_OK);
}

int main(int argc, char **argv)
{
    if (!fake_main(argc, argv))
        return 2;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_no_driver, fake_setup),
        cmocka_unit_test_setup(test_facts_not_told, fake_setup),
        cmocka_unit_test_setup(test_contexts_refused, fake_setup),
        cmocka_unit_test_setup(test_streams_refused, fake_setup),
        cmocka_unit_test_setup(test_null_is_no_gpu, fake_setup),
        cmocka_unit_test_setup(test_bracket_times, fake_setup),
        cmocka_unit_test_setup(test_idle_and_busy_streams, fake_setup),
        cmocka_unit_test_setup(test_streams_of_threads, fake_setup),
        cmocka_unit_test_setup(test_look_ahead, fake_setup),
        cmocka_unit_test_setup(test_look_ahead_lets_brackets_age, fake_setup),
        cmocka_unit_test_setup(test_look_ahead_after_a_pause, fake_setup),
        cmocka_unit_test_setup(test_late_reaper, fake_setup),
        cmocka_unit_test_setup(test_only_the_next_bracket_shares_an_event, fake_setup),
        cmocka_unit_test_setup(test_streams_interleave, fake_setup),
        cmocka_unit_test_setup(test_brackets_overlap, fake_setup),
        cmocka_unit_test_setup(test_level_0, fake_setup),
        cmocka_unit_test_setup(test_events_fail, fake_setup),
        cmocka_unit_test_setup(test_event_create_fails, fake_setup),
        cmocka_unit_test_setup(test_context_lost, fake_setup),
        cmocka_unit_test_setup(test_close_with_pending, fake_setup),
        cmocka_unit_test_setup(test_device_close_takes_streams, fake_setup),
        cmocka_unit_test_setup(test_session_stops_with_pending, fake_setup),
        cmocka_unit_test_setup(test_stop_by_a_stranger, fake_setup),
        cmocka_unit_test_setup(test_strict, fake_setup),
        cmocka_unit_test_setup(test_callbacks_add_more, fake_setup),
        cmocka_unit_test_setup(test_notifications_in_order, fake_setup),
        cmocka_unit_test_setup(test_threads, fake_setup),
        cmocka_unit_test_setup(test_a_wait_of_the_reaper, fake_setup),
        cmocka_unit_test_setup(test_waiting_leaves_no_trace, fake_setup),
        cmocka_unit_test_setup(test_bias_in_trailer, fake_setup),
        cmocka_unit_test_setup(test_bias_fails, fake_setup),
        cmocka_unit_test_setup(test_copies, fake_setup),
        cmocka_unit_test_setup(test_code, fake_setup),
        cmocka_unit_test_setup(test_log, fake_setup),
        cmocka_unit_test_setup(test_compiler_fails, fake_setup),
        cmocka_unit_test_setup(test_which_compiler, fake_setup),
        cmocka_unit_test_setup(test_kernels_found_at_once, fake_setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
