/* SPDX-License-Identifier: Apache-2.0 */
/* critical_path.h: the chain goes from the end of the run to the message that a node waited for
 * last, not to one that came while it worked; from a message sent inside a handler to that
 * handler's. */
#include "critical_path.h"
#include "trace_span.h"
#include "unit.h"

#include <string.h>

enum { NODES = 3, SLOT_WORK = 1, SLOT_MESSAGES = 2 };

static struct critical_path path;
static struct trace *trace;
static uint32_t worker[NODES], handler[NODES], sent_rows[NODES], sent_by_handler[NODES],
    handled_rows[NODES];
static uint32_t name;

static uint32_t add_thread(uint32_t process, uint64_t id)
{
    return trace_add_track(trace, (struct trace_track){.process = process,
                                                       .kind = TRACE_THREAD,
                                                       .id = id,
                                                       .name = trace_text("thread")});
}

static uint32_t add_rows(uint32_t thread, uint64_t id)
{
    return trace_add_track_below(
        trace, thread,
        (struct trace_track){.kind = TRACE_TABLE, .id = id, .name = trace_text("rows")});
}

static int start(void **state)
{
    (void)state;
    critical_path_start(&path, &trace, NULL);
    const struct trace_sink sink = critical_path_sink(&path);
    trace = trace_new(&sink, 0);
    for (uint32_t i = 0; i < NODES; i++) {
        uint32_t process =
            trace_add_process(trace, (struct trace_process){.node = i, .name = trace_text("p")});
        worker[i] = add_thread(process, 1);
        handler[i] = add_thread(process, 2);
        sent_rows[i] = add_rows(worker[i], 1);
        sent_by_handler[i] = add_rows(handler[i], 2);
        handled_rows[i] = add_rows(handler[i], 3);
    }
    name = trace_add_name(trace, "halo", 4);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    critical_path_free(&path);
    trace_free(trace);
    trace = NULL;
    return 0;
}

static void call(uint32_t node, int64_t start_ns, int64_t stop_ns)
{
    const struct trace_span span = {.start_ns = start_ns,
                                    .stop_ns = stop_ns,
                                    .track = worker[node],
                                    .category = TRACE_CALL,
                                    .item = SLOT_WORK};
    trace_add_spans(trace, &span, 1, NULL);
}

/* A message, with the call and the sub-item in which it is handled; from_ns: sent by the handler
 * thread if by_handler. */
static void send(uint64_t key, uint32_t from, int64_t sent_ns, bool by_handler, uint32_t to,
                 int64_t arrived_ns, int64_t start_ns, int64_t stop_ns)
{
    const struct trace_span spans[] = {{.start_ns = start_ns - 1,
                                        .stop_ns = stop_ns + 1,
                                        .track = handler[to],
                                        .category = TRACE_CALL,
                                        .item = SLOT_MESSAGES},
                                       {.start_ns = start_ns,
                                        .stop_ns = stop_ns,
                                        .track = handler[to],
                                        .category = TRACE_AM,
                                        .depth = 1}};
    trace_add_spans(trace, spans, 2, NULL);
    trace_add_message_end(trace, &(struct trace_message_end){
                                     .key = key,
                                     .start_ns = sent_ns,
                                     .stop_ns = sent_ns,
                                     .arrived_ns = sent_ns,
                                     .track = by_handler ? sent_by_handler[from] : sent_rows[from],
                                     .name = name});
    trace_add_message_end(trace, &(struct trace_message_end){.key = key,
                                                             .start_ns = start_ns,
                                                             .stop_ns = stop_ns,
                                                             .arrived_ns = arrived_ns,
                                                             .track = handled_rows[to],
                                                             .name = name,
                                                             .handled = true});
}

static void finish(void)
{
    trace_finish(trace);
    critical_path_finish(&path);
    assert_false(path.failed);
}

static void assert_hop(uint32_t at, uint64_t key, uint64_t network_ns, uint64_t queue_ns,
                       uint64_t handling_ns, uint64_t work_ns)
{
    const struct critical_hop *hop = &path.hops[at];
    assert_int_equal(hop->key, key);
    assert_int_equal(hop->network_ns, network_ns);
    assert_int_equal(hop->queue_ns, queue_ns);
    assert_int_equal(hop->handling_ns, handling_ns);
    assert_int_equal(hop->work_ns, work_ns);
}

/* Node 1 waits for node 0's message, and works on; node 2's came while node 1 worked. */
static void what_was_waited_for_counts(void **state)
{
    (void)state;
    call(0, 0, 1000);
    send(1, 0, 990, false, 1, 1100, 1150, 1200);
    call(2, 0, 1500);
    call(1, 1250, 3000);
    send(2, 2, 1400, false, 1, 1600, 1650, 1700);
    finish();
    assert_int_equal(path.hop_count, 1);
    assert_int_equal(path.messages, 2);
    assert_hop(0, 1, 110, 50, 50, 1800);
    assert_int_equal(path.first_process, 0);
    assert_int_equal(path.last_process, 1);
    assert_int_equal(path.first_work_ns, 990);
    assert_int_equal(path.last_ns, 3000);
}

/* At one time what begins has not begun: what a node sent just then was not sent by its handler. */
static void a_handler_that_begins_has_sent_nothing(void **state)
{
    (void)state;
    call(0, 0, 1000);
    send(3, 0, 990, false, 1, 1100, 1150, 1200);
    send(9, 1, 1150, true, 2, 1250, 1260, 1300);
    call(2, 1310, 3000);
    finish();
    assert_int_equal(path.hop_count, 1);
    assert_hop(0, 9, 100, 10, 40, 1700);
    assert_int_equal(path.first_process, 1);
}

/* In a gap between two calls that is over before the handler begins nobody waited. */
static void a_gap_between_calls_is_no_wait(void **state)
{
    (void)state;
    call(0, 0, 100);
    send(1, 0, 50, false, 1, 1005, 1050, 1060);
    call(1, 0, 1000);
    call(1, 1010, 2000);
    finish();
    assert_int_equal(path.hop_count, 0);
    assert_int_equal(path.first_process, 1);
    assert_int_equal(path.first_work_ns, 2000);
}

/* A handler that sends goes back to its own message, though its node worked all the while, also
 * where another one was handled meanwhile. The run ends with a handler. */
static void a_handler_sends(void **state)
{
    (void)state;
    call(0, 0, 500);
    call(1, 0, 3900);
    send(1, 0, 400, false, 1, 600, 700, 900);
    send(2, 1, 800, true, 2, 1000, 1010, 1200);
    send(3, 2, 1100, true, 0, 1300, 4000, 5000);
    finish();
    assert_int_equal(path.hop_count, 3);
    assert_hop(0, 1, 200, 100, 100, 0);
    assert_hop(1, 2, 200, 10, 90, 0);
    assert_hop(2, 3, 200, 2700, 1000, 0);
    assert_int_equal(path.first_process, 0);
    assert_int_equal(path.first_work_ns, 400);
}

/* Clocks that err make no message handled before it was sent, and no chain longer than the run. */
static void clocks_err(void **state)
{
    (void)state;
    call(0, 0, 1000);
    send(1, 0, 900, false, 1, 850, 870, 880);
    send(2, 1, 875, true, 0, 1100, 1100, 1400);
    finish();
    assert_int_equal(path.hop_count, 1);
    assert_hop(0, 2, 225, 0, 300, 0);
}

/* Times of strangers: nothing can come behind the last one, and no sum of them leaves the range. */
static void times_at_the_ends(void **state)
{
    (void)state;
    send(1, 0, INT64_MAX, false, 1, INT64_MIN, INT64_MIN + 1, INT64_MAX - 1);
    send(2, 1, INT64_MIN, false, 0, INT64_MAX, INT64_MAX, INT64_MAX - 1);
    finish();
    assert_int_equal(path.messages, 2);
    assert_int_equal(trace_totals(trace)->too_early, 1);
    assert_true(trace_message_early_ns(&trace_totals(trace)->earliest) == UINT64_MAX - 1);
}

/* Messages under way and chains are given back, and many of both are no trouble. */
static void many_messages(void **state)
{
    (void)state;
    enum { MANY = 20000 };
    for (uint64_t i = 0; i < MANY; i++) { /* to and fro, and as many that nobody waits for */
        int64_t at_ns = (int64_t)i * 100;
        send(2 * i + 1, i % 2, at_ns + 50, true, (i + 1) % 2, at_ns + 60, at_ns + 110, at_ns + 160);
        send(2 * i + 2, i % 2, at_ns + 50, false, 2, MANY * 100 + (int64_t)i, MANY * 100 + 90000,
             MANY * 100 + 90001);
    }
    call(2, 0, MANY * 100 + 100000);
    call(0, MANY * 100 + 200000, MANY * 100 + 200001);
    finish();
    assert_int_equal(path.hop_count, MANY);
    for (uint32_t i = 0; i < MANY; i++)
        assert_int_equal(path.hops[i].key, 2 * i + 1);
}

/* ---- inside one process ------------------------------------------------------------------------
 */

static void work(uint32_t track, uint8_t category, uint32_t what, int64_t start_ns, int64_t stop_ns)
{
    const struct trace_span span = {.start_ns = start_ns,
                                    .stop_ns = stop_ns,
                                    .track = track,
                                    .name = what,
                                    .category = category,
                                    .item = SLOT_WORK};
    trace_add_spans(trace, &span, 1, NULL);
}

static void lead(enum trace_link_kind kind, uint32_t from, int64_t from_ns, uint32_t to,
                 int64_t to_ns)
{
    trace_add_link(
        trace,
        (struct trace_link){
            .kind = kind, .from_track = from, .from_ns = from_ns, .to_track = to, .to_ns = to_ns});
}

static void assert_piece(uint32_t at, uint32_t track, uint32_t what, unsigned kind,
                         int64_t start_ns, uint64_t duration_ns)
{
    const struct critical_piece *piece = &path.pieces[at];
    assert_true(at < path.piece_count);
    assert_int_equal(piece->track, track);
    assert_int_equal(piece->name, what);
    assert_int_equal(piece->kind, kind);
    assert_int_equal(piece->start_ns, start_ns);
    assert_int_equal(piece->duration_ns, duration_ns);
}

static uint32_t named(const char *text)
{
    return trace_add_name(trace, text, (uint32_t)strlen(text));
}

static uint32_t waits_of(uint32_t thread, const char *table)
{
    return trace_add_track_below(
        trace, thread,
        (struct trace_track){.kind = TRACE_TABLE, .id = 9, .name = trace_text(table)});
}

/* A wait's end leads to who ended it, from inside of a call; the time until it ran again is apart.
 */
static void a_wait_leads_to_its_waker(void **state)
{
    (void)state;
    const uint32_t rows = waits_of(worker[0], "wait"), holds = named("holds"),
                   mutex = named("mutex");
    work(worker[0], TRACE_CALL, name, 0, 1000);
    work(handler[0], TRACE_CALL, holds, 100, 720);
    const struct trace_span wait[] = {
        {.start_ns = 300, .stop_ns = 750, .track = rows, .name = mutex, .category = TRACE_RANGE},
        {.start_ns = 700,
         .stop_ns = 750,
         .track = rows,
         .name = holds,
         .category = TRACE_RANGE,
         .depth = 1}};
    trace_add_spans(trace, wait, 2, NULL);
    lead(TRACE_WAKE, handler[0], 700, rows, 700);
    finish();
    assert_int_equal(path.piece_count, 4);
    assert_piece(0, handler[0], holds, WALK_IDLE, 0, 100);
    assert_piece(1, handler[0], holds, WALK_WORK, 100, 600);
    assert_piece(2, worker[0], holds, WALK_READY, 700, 50);
    assert_piece(3, worker[0], name, WALK_WORK, 750, 250);
}

/* A call goes back to who put it into its queue, or to the call before it, whichever was later. */
static void a_ticket_or_the_call_before(void **state)
{
    (void)state;
    const uint32_t first = named("first"), other = named("other");
    work(handler[0], TRACE_CALL, first, 0, 100);
    work(worker[0], TRACE_CALL, other, 0, 150);
    work(worker[0], TRACE_CALL, name, 160, 300);
    lead(TRACE_WAIT_FOR, handler[0], 90, worker[0], 160); /* it was busy then */
    work(worker[0], TRACE_CALL, name, 500, 600);
    work(handler[0], TRACE_CALL, first, 350, 450);
    lead(TRACE_WAIT_FOR, worker[0], 290, handler[0], 350);
    lead(TRACE_WAIT_FOR, handler[0], 440, worker[0], 501); /* times are rounded */
    finish();
    assert_int_equal(path.piece_count, 7);
    assert_piece(0, worker[0], other, WALK_WORK, 0, 150);
    assert_piece(1, worker[0], name, WALK_QUEUE, 150, 10);
    assert_piece(2, worker[0], name, WALK_WORK, 160, 130);
    assert_piece(3, handler[0], first, WALK_QUEUE, 290, 60);
    assert_piece(4, handler[0], first, WALK_WORK, 350, 90);
    assert_piece(5, worker[0], name, WALK_QUEUE, 440, 60);
    assert_piece(6, worker[0], name, WALK_WORK, 500, 100);
    assert_int_equal(path.share_count, 5);
    assert_int_equal(path.shares[0].sum.duration_ns, 230);
    assert_int_equal(path.shares[0].pieces, 2);
}

/* A call that waits for a GPU goes back to the kernel that ended last in it, a kernel to the one
 * before it on its stream, or to its launch. */
static void a_kernel(void **state)
{
    (void)state;
    const uint32_t kernel = named("kernel"), sync = named("sync");
    const uint32_t rows = waits_of(worker[0], "gpu_call");
    const uint32_t gpu =
        trace_add_track(trace, (struct trace_track){.kind = TRACE_GPU, .name = trace_text("gpu")});
    const uint32_t stream = trace_add_track_below(
        trace, gpu, (struct trace_track){.kind = TRACE_STREAM, .name = trace_text("stream")});
    work(worker[0], TRACE_CALL, name, 0, 1000);
    work(stream, TRACE_GPU_WORK, kernel, 200, 400);
    work(stream, TRACE_GPU_WORK, kernel, 410, 800);
    lead(TRACE_LAUNCH, worker[0], 120, stream, 200);
    lead(TRACE_LAUNCH, worker[0], 130, stream, 410);
    work(rows, TRACE_RANGE, sync, 150, 820);
    finish();
    assert_int_equal(path.piece_count, 7);
    assert_piece(0, worker[0], name, WALK_WORK, 0, 120);
    assert_piece(1, stream, kernel, WALK_LAUNCH, 120, 80);
    assert_piece(2, stream, kernel, WALK_GPU, 200, 200);
    assert_piece(3, stream, kernel, WALK_LAUNCH, 400, 10);
    assert_piece(4, stream, kernel, WALK_GPU, 410, 390);
    assert_piece(5, worker[0], sync, WALK_GPU_WAIT, 800, 20);
    assert_piece(6, worker[0], name, WALK_WORK, 820, 180);
}

/* Of pieces without end the last ones are kept; the sums have all. */
static void many_pieces(void **state)
{
    (void)state;
    enum { MANY = CRITICAL_PIECES + 1000 };
    for (int64_t i = 0; i < MANY; i++)
        work(worker[0], TRACE_CALL, i % 2 ? name : named("b"), i * 10, i * 10 + 10);
    finish();
    assert_int_equal(path.piece_count, CRITICAL_PIECES);
    assert_int_equal(path.pieces_dropped, 1000);
    assert_int_equal(path.pieces[0].start_ns, 10000);
    assert_int_equal(path.shares[0].sum.duration_ns + path.shares[1].sum.duration_ns, MANY * 10);
}

static void nothing_comes(void **state)
{
    (void)state;
    finish();
    assert_int_equal(path.hop_count + path.messages, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_was_waited_for_counts, start, stop),
        cmocka_unit_test_setup_teardown(a_handler_that_begins_has_sent_nothing, start, stop),
        cmocka_unit_test_setup_teardown(a_gap_between_calls_is_no_wait, start, stop),
        cmocka_unit_test_setup_teardown(a_handler_sends, start, stop),
        cmocka_unit_test_setup_teardown(clocks_err, start, stop),
        cmocka_unit_test_setup_teardown(times_at_the_ends, start, stop),
        cmocka_unit_test_setup_teardown(many_messages, start, stop),
        cmocka_unit_test_setup_teardown(a_wait_leads_to_its_waker, start, stop),
        cmocka_unit_test_setup_teardown(a_ticket_or_the_call_before, start, stop),
        cmocka_unit_test_setup_teardown(a_kernel, start, stop),
        cmocka_unit_test_setup_teardown(many_pieces, start, stop),
        cmocka_unit_test_setup_teardown(nothing_comes, start, stop),
    };
    return cmocka_run_group_tests_name("critical_path", tests, NULL, NULL);
}
