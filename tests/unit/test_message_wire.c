/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of active messages between nodes that share no memory: windows, rendezvous, and what
 * strangers may send. */
#include "message_endpoint.h"
#include "message_support.h"
#include "message_wire_support.h"
#include "unit.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WINDOW = 8, BIG = 100000, MIXED_NODES = 5, MIXED = 2000, ASKERS = 4 };

struct wired {
    struct job job;
    struct wire *wire;
};

static struct wired wired_new(uint32_t nodes, uint32_t workers,
                              const struct rbwp_endpoint_config *config)
{
    struct rbwp_transport *transports[JOB_NODES_MAX];
    struct wired wired = {.wire = wire_new(nodes, transports)};
    wired.job = job_on(transports, nodes, workers, config);
    return wired;
}

/* Until nothing moves any more. */
static void run_all(struct wired *wired)
{
    do
        run_rounds(wired->job.manager);
    while (wire_deliver(wired->wire));
}

static void quiesce_all(struct wired *wired)
{
    for (uint32_t i = 0; i < wired->job.nodes; i++)
        assert_int_not_equal(rbwp_endpoint_quiesce(wired->job.endpoint[i], 0, NULL), RBWP_E_IO);
    run_all(wired);
    for (uint32_t i = 0; i < wired->job.nodes; i++)
        assert_int_equal(rbwp_endpoint_quiesce(wired->job.endpoint[i], 0, NULL), RBWP_OK);
}

struct seen {
    uint64_t count, bytes, sum;
    const void *payload;
};

static void see(void *argument, const struct rbwp_message *message)
{
    struct seen *seen = argument;
    seen->count++;
    seen->bytes = message->payload_bytes;
    seen->payload = message->payload;
    for (uint64_t i = 0; i < message->payload_bytes; i++)
        seen->sum += ((const uint8_t *)message->payload)[i];
}

static enum rbwp_status lend_out(struct rbwp_endpoint *endpoint, uint32_t node, unsigned handler,
                                 const void *payload, uint64_t bytes, struct ended *ended)
{
    const struct rbwp_send send = {.size = sizeof send,
                                   .node = node,
                                   .handler = handler,
                                   .header = "head of eleven",
                                   .header_bytes = 11,
                                   .payload = payload,
                                   .payload_bytes = bytes,
                                   .done = note_done,
                                   .argument = ended};
    return rbwp_message_send_from(endpoint, &send, NULL);
}

/* Guards: no more messages than the window go to a node that has not taken them, however much room
 * the wire has; as they are taken there is room again, for ever, in both directions. */
static void the_window_bounds_what_is_under_way(void **state)
{
    (void)state;
    const struct rbwp_endpoint_config config = {.size = sizeof config, .window = WINDOW};
    struct wired wired = wired_new(2, 0, &config);
    struct seen seen = {0};
    const unsigned handler = job_register(&wired.job, "count", see, &seen);
    job_start(&wired.job);
    run_all(&wired);
    uint64_t sent = 0;
    for (int round = 0; round < 20; round++) {
        uint64_t went = 0;
        while (rbwp_message_send(wired.job.endpoint[round % 3 == 0], round % 3 != 0, handler, "x",
                                 1, 0, NULL) == RBWP_OK)
            went++;
        /* The sender gets its credits back at half the window. */
        assert_true(went >= WINDOW / 2 && went <= WINDOW);
        sent += went;
        run_all(&wired);
        assert_int_equal(seen.count, sent);
    }
    assert_true(wire_most(wired.wire) <= WINDOW + 1);
    quiesce_all(&wired);
    job_free(&wired.job);
}

static uint8_t landing[BIG];

static void *land(void *argument, const struct rbwp_message *message)
{
    (void)argument;
    assert_int_equal(message->header_bytes, 11);
    assert_memory_equal(message->header, "head of eleven", 11);
    assert_int_equal(message->payload_bytes, BIG);
    return landing;
}

/* Guards: a long payload goes when the receiver has given it a place, its own or the handler's; the
 * sender is told when it is through, not before. */
static void long_payloads_meet_the_receiver(void **state)
{
    (void)state;
    struct wired wired = wired_new(2, 0, NULL);
    struct seen seen = {0}, placed = {0};
    struct ended ended = {0};
    uint8_t *big = malloc(BIG);
    memset(big, 2, BIG);
    const unsigned plain = job_register(&wired.job, "plain", see, &seen);
    const unsigned place = endpoint_register(wired.job.endpoint[0], "placed", see, land, &placed);
    assert_int_equal(endpoint_register(wired.job.endpoint[1], "placed", see, land, &placed), place);
    job_start(&wired.job);
    struct rbwp_endpoint *from = wired.job.endpoint[0];
    assert_int_equal(lend_out(from, 1, plain, big, BIG, &ended), RBWP_OK);
    run_rounds(wired.job.manager);
    assert_int_equal(ended.count, 0);
    run_all(&wired);
    assert_int_equal(ended.count, 1);
    assert_int_equal(ended.status, RBWP_OK);
    assert_int_equal(seen.sum, 2 * BIG);
    assert_ptr_not_equal(seen.payload, big);
    assert_int_equal(lend_out(from, 1, place, big, BIG, &ended), RBWP_OK);
    send_to(from, 1, plain, big, BIG); /* by a copy of its own */
    memset(landing, 0, BIG);
    run_all(&wired);
    assert_ptr_equal(placed.payload, landing);
    assert_memory_equal(landing, big, BIG);
    assert_int_equal(seen.sum, 4 * BIG);
    free(big);
    quiesce_all(&wired);
    job_free(&wired.job);
}

/* Guards: the payloads that come at once are bounded by tags and by incoming_bytes_max; the others
 * wait for their turn, and one that is larger than the bound comes alone. */
static void incoming_payloads_wait_for_room(void **state)
{
    (void)state;
    const struct rbwp_endpoint_config config = {.size = sizeof config,
                                                .incoming_bytes_max = BIG + BIG / 2};
    struct wired wired = wired_new(2, 0, &config);
    struct seen seen = {0};
    struct ended ended = {0};
    uint8_t *big = calloc(2, BIG);
    const uint64_t larger = BIG + BIG / 2 + 1;
    const unsigned handler = job_register(&wired.job, "long", see, &seen);
    job_start(&wired.job);
    struct rbwp_endpoint *from = wired.job.endpoint[0], *to = wired.job.endpoint[1];
    for (int i = 0; i < 3; i++)
        assert_int_equal(lend_out(from, 1, handler, big, BIG, &ended), RBWP_OK);
    for (int i = 0; i < 3; i++)
        assert_int_equal(lend_out(from, 1, handler, big, 4000, &ended), RBWP_OK);
    assert_int_equal(lend_out(from, 1, handler, big, larger, &ended), RBWP_OK);
    uint32_t most = 0;
    uint64_t most_bytes = 0;
    bool moved;
    do {
        moved = rbwp_work_run(wired.job.manager, 0) == RBWP_OK;
        most = to->longs.receive_count > most ? to->longs.receive_count : most;
        most_bytes = to->longs.incoming_bytes > most_bytes ? to->longs.incoming_bytes : most_bytes;
        moved |= wire_deliver(wired.wire);
    } while (moved);
    assert_int_equal(ended.count, 7);
    assert_int_equal(seen.count, 7);
    assert_int_equal(most, WIRE_TAGS);
    assert_int_equal(most_bytes, larger); /* the last, alone */
    free(big);
    quiesce_all(&wired);
    job_free(&wired.job);
}

/* Guards: when the job is quiet every payload that was lent is back, though the sender hears of it
 * after its message was handled. */
static void quiet_is_when_payloads_are_back(void **state)
{
    (void)state;
    struct wired wired = wired_new(2, 0, NULL);
    struct seen seen = {0};
    struct ended ended = {0};
    static const uint8_t big[BIG];
    const unsigned handler = job_register(&wired.job, "long", see, &seen);
    job_start(&wired.job);
    for (int i = 0; i < 3; i++)
        assert_int_equal(lend_out(wired.job.endpoint[0], 1, handler, big, BIG, &ended), RBWP_OK);
    wire_tell_senders(wired.wire, false);
    for (int i = 0; i < 2; i++)
        assert_int_equal(rbwp_endpoint_quiesce(wired.job.endpoint[i], 0, NULL), RBWP_AGAIN);
    run_all(&wired);
    assert_int_equal(seen.count, 3);
    assert_int_equal(ended.count, 0);
    for (int i = 0; i < 2; i++)
        assert_int_equal(rbwp_endpoint_quiesce(wired.job.endpoint[i], 0, NULL), RBWP_AGAIN);
    wire_tell_senders(wired.wire, true);
    run_all(&wired);
    assert_int_equal(ended.count, 3);
    for (int i = 0; i < 2; i++)
        assert_int_equal(rbwp_endpoint_quiesce(wired.job.endpoint[i], 0, NULL), RBWP_OK);
    job_free(&wired.job);
}

struct through {
    struct rbwp_endpoint *endpoint;
    _Atomic int problems_seen;
};

static void *tell_through(void *argument)
{
    struct through *through = argument;
    rbwp_transport_payload_done(through->endpoint, 0, RBWP_OK);
    atomic_store_explicit(&through->problems_seen, 1, memory_order_relaxed);
    return NULL;
}

/* For ThreadSanitizer: two threads of a transport tell of payloads one after the other, ordered in
 * time alone (test_locks.c). */
static void payloads_are_through_on_two_threads(void **state)
{
    (void)state;
    struct wired wired = wired_new(2, 0, NULL);
    struct seen seen = {0};
    struct ended ended = {0};
    static const uint8_t big[BIG];
    const unsigned handler = job_register(&wired.job, "long", see, &seen);
    job_start(&wired.job);
    for (int i = 0; i < 2; i++)
        assert_int_equal(lend_out(wired.job.endpoint[0], 1, handler, big, BIG, &ended), RBWP_OK);
    wire_tell_senders(wired.wire, false);
    run_all(&wired);
    assert_int_equal(seen.count, 2);
    struct through through = {.endpoint = wired.job.endpoint[0]};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, tell_through, &through), 0);
    while (!atomic_load_explicit(&through.problems_seen, memory_order_relaxed))
        sched_yield();
    rbwp_transport_payload_done(through.endpoint, 1, RBWP_OK);
    assert_int_equal(pthread_join(thread, NULL), 0);
    run_rounds(wired.job.manager);
    assert_int_equal(ended.count, 2);
    job_free(&wired.job);
}

/* Guards: a payload that the other node does not want is given back with the reason, and the job
 * still becomes quiet: unknown handler, longer than it takes. */
static void refused_payloads_come_back(void **state)
{
    (void)state;
    struct problems_seen problems_seen = {0};
    struct rbwp_endpoint_config config = {
        .size = sizeof config, .problem = note_problem, .argument = &problems_seen};
    struct rbwp_transport *transports[2];
    struct wired wired = {.wire = wire_new(2, transports),
                          .job = {.manager = message_manager(0), .nodes = 2}};
    for (int i = 0; i < 2; i++) {
        config.payload_bytes_max = i ? BIG / 2 : BIG;
        assert_int_equal(rbwp_endpoint_new(wired.job.manager, transports[i], &config,
                                           &wired.job.endpoint[i], NULL),
                         RBWP_OK);
    }
    struct seen seen = {0};
    struct ended ended = {0};
    uint8_t *big = calloc(1, BIG);
    const unsigned handler = job_register(&wired.job, "narrow", see, &seen);
    const unsigned here = endpoint_register(wired.job.endpoint[0], "here", see, NULL, &seen);
    job_start(&wired.job);
    assert_int_equal(lend_out(wired.job.endpoint[0], 1, handler, big, BIG, &ended), RBWP_OK);
    run_all(&wired);
    assert_int_equal(ended.count, 1);
    assert_int_equal(ended.status, RBWP_E_INVALID);
    assert_int_equal(problems_seen.kind, RBWP_MESSAGE_TOO_LONG);
    assert_non_null(
        strstr(problems_seen.text, "node 1 takes no payload as long as one for \"narrow\""));
    assert_int_equal(lend_out(wired.job.endpoint[0], 1, here, big, 4000, &ended), RBWP_OK);
    run_all(&wired);
    assert_int_equal(ended.count, 2);
    assert_int_equal(problems_seen.kind, RBWP_MESSAGE_NO_HANDLER);
    assert_int_equal(seen.count, 0);
    free(big);
    quiesce_all(&wired);
    job_free(&wired.job);
}

/* Guards: what waits for a node that is lost does not wait for ever: kept packets, payloads that it
 * was offered or was taking, and those who wait for quiet. */
static void a_lost_node_ends_what_waits_for_it(void **state)
{
    (void)state;
    struct problems_seen problems_seen = {0};
    const struct rbwp_endpoint_config config = {
        .size = sizeof config, .problem = note_problem, .argument = &problems_seen};
    struct wired wired = wired_new(3, 0, &config);
    struct seen seen = {0};
    struct ended ended = {0};
    static const uint8_t big[BIG];
    const unsigned handler = job_register(&wired.job, "any", see, &seen);
    job_start(&wired.job);
    run_all(&wired);
    struct rbwp_endpoint *from = wired.job.endpoint[0];
    assert_int_equal(lend_out(from, 2, handler, big, BIG, &ended), RBWP_OK);
    while (rbwp_message_send(from, 2, handler, "x", 1, 0, NULL) == RBWP_OK)
        ;
    assert_int_equal(rbwp_endpoint_quiesce(from, 0, NULL), RBWP_AGAIN);
    rbwp_transport_lost(from, 2, "connection reset");
    run_rounds(wired.job.manager);
    assert_int_equal(ended.count, 1);
    assert_int_equal(ended.status, RBWP_E_IO);
    assert_int_equal(problems_seen.count, 1);
    assert_int_equal(problems_seen.node, 2);
    assert_non_null(strstr(problems_seen.text, "node 2 of 3 is lost to node 0: connection reset"));
    struct rbwp_error error;
    assert_int_equal(rbwp_endpoint_quiesce(from, RBWP_WAIT, &error), RBWP_E_IO);
    assert_int_equal(rbwp_message_send(from, 2, handler, "x", 1, RBWP_WAIT, &error), RBWP_E_IO);
    /* One that the transport finds out while it sends. */
    wire_cut(wired.wire, 1);
    assert_int_equal(rbwp_message_send(from, 1, handler, "x", 1, RBWP_WAIT, &error), RBWP_E_IO);
    run_rounds(wired.job.manager);
    assert_int_equal(problems_seen.count, 2);
    assert_int_equal(problems_seen.node, 1);
    job_free(&wired.job);
}

/* Guards: who is freed before the job is quiet says so to the others. */
static void leaving_early_is_said(void **state)
{
    (void)state;
    struct wired wired = wired_new(3, 0, NULL);
    job_start(&wired.job);
    run_all(&wired);
    assert_int_equal(rbwp_endpoint_free(wired.job.endpoint[2]), RBWP_OK);
    wired.job.nodes = 2;
    run_all(&wired);
    for (int i = 0; i < 2; i++) {
        struct rbwp_error error;
        assert_int_equal(rbwp_endpoint_problem(wired.job.endpoint[i], &error),
                         RBWP_MESSAGE_NODE_LOST);
        assert_non_null(strstr(error.text, "node 2 of 3"));
        assert_int_equal(rbwp_endpoint_quiesce(wired.job.endpoint[i], RBWP_WAIT, NULL), RBWP_E_IO);
    }
    job_free(&wired.job);
}

/* Guards: who is freed with messages that came too late to be handled says so, or their sender
 * would wait for ever where its window is full of them. */
static void leaving_with_messages_unheard_is_said(void **state)
{
    (void)state;
    struct wired wired = wired_new(2, 0, NULL);
    struct seen seen = {0};
    struct rbwp_error error;
    (void)job_register(&wired.job, "any", see, &seen);
    job_start(&wired.job);
    quiesce_all(&wired);
    static const uint8_t late[64];
    const struct rbwp_packet packet = {
        .count = 1, .bytes = sizeof late, .piece = {{late, sizeof late}}};
    assert_int_equal(rbwp_transport_arrived(wired.job.endpoint[1], 0, &packet), RBWP_OK);
    assert_int_equal(rbwp_endpoint_free(wired.job.endpoint[1]), RBWP_OK);
    wired.job.nodes = 1;
    run_all(&wired);
    assert_int_equal(rbwp_endpoint_problem(wired.job.endpoint[0], &error), RBWP_MESSAGE_NODE_LOST);
    job_free(&wired.job);
}

/* Guards: who waits for quiet is told that a node has left in order after the last time, wherever
 * in the tree the two are, and who comes later; neither waits for ever. The gone one is the child
 * of another, or the root, to which nobody has anything to say. */
static void who_waits_is_told_of_who_has_gone(void **state)
{
    (void)state;
    static const struct {
        uint32_t gone, late;
    } cases[] = {{10, 3}, {0, 1}};
    for (int i = 0; i < 2; i++) {
        struct wired wired = wired_new(12, 0, NULL);
        struct rbwp_endpoint **endpoint = wired.job.endpoint;
        job_start(&wired.job);
        quiesce_all(&wired);
        const uint32_t late = cases[i].late, gone = cases[i].gone;
        for (uint32_t node = 0; node < 12; node++)
            if (node != gone && node != late)
                assert_int_equal(rbwp_endpoint_quiesce(endpoint[node], 0, NULL), RBWP_AGAIN);
        run_all(&wired);
        assert_int_equal(rbwp_endpoint_free(endpoint[gone]), RBWP_OK);
        (void)!rbwp_endpoint_quiesce(endpoint[late], 0, NULL);
        run_all(&wired);
        char words[64];
        snprintf(words, sizeof words, "node %u of 12 has left after the job was quiet", gone);
        for (uint32_t node = 0; node < 12; node++) {
            struct rbwp_error error = {.text = ""};
            if (node == gone)
                continue;
            assert_int_equal(rbwp_endpoint_quiesce(endpoint[node], 0, &error), RBWP_E_IO);
            assert_non_null(strstr(error.text, words));
            assert_int_equal(rbwp_endpoint_problem(endpoint[node], NULL), 0);
        }
        endpoint[gone] = endpoint[11];
        wired.job.nodes = 11;
        job_free(&wired.job);
    }
}

/* Guards: to leave in order one after the other is no problem for anybody, whether the others have
 * heard of it or not. */
static void leaving_in_turn_is_no_problem(void **state)
{
    (void)state;
    for (int heard = 0; heard < 2; heard++) {
        struct problems_seen problems_seen = {0};
        const struct rbwp_endpoint_config config = {
            .size = sizeof config, .problem = note_problem, .argument = &problems_seen};
        struct wired wired = wired_new(10, 0, &config);
        job_start(&wired.job);
        quiesce_all(&wired);
        for (uint32_t node = 9; node > 0; node--) {
            assert_int_equal(rbwp_endpoint_free(wired.job.endpoint[node]), RBWP_OK);
            wired.job.nodes = node;
            if (heard)
                run_all(&wired);
            else
                (void)wire_deliver(wired.wire); /* into inboxes whose items do not run any more */
        }
        run_all(&wired);
        assert_int_equal(problems_seen.count, 0);
        job_free(&wired.job);
    }
}

/* ---- many at once ------------------------------------------------------------------------ */

static unsigned mixed_handler;
static _Atomic uint64_t mixed_bytes, mixed_count;

/* Sends one more, of another length, until the header says that it is enough. */
static void mix(void *argument, const struct rbwp_message *message)
{
    (void)argument;
    uint64_t left;
    const uint8_t *bytes = message->payload;
    memcpy(&left, message->header, sizeof left);
    for (uint64_t i = 0; i < message->payload_bytes; i++)
        assert_int_equal(bytes[i], (uint8_t)message->payload_bytes);
    atomic_fetch_add(&mixed_bytes, message->payload_bytes);
    atomic_fetch_add(&mixed_count, 1);
    if (left-- == 0)
        return;
    uint8_t payload[6000];
    const uint64_t length = left * 37 % sizeof payload;
    memset(payload, (int)(uint8_t)length, sizeof payload);
    const struct rbwp_send send = {.size = sizeof send,
                                   .node = (uint32_t)(left % MIXED_NODES),
                                   .handler = mixed_handler,
                                   .header = &left,
                                   .header_bytes = sizeof left,
                                   .payload = payload,
                                   .payload_bytes = length,
                                   .wait_ns = RBWP_WAIT};
    struct rbwp_error error;
    if (rbwp_message_send_from(message->endpoint, &send, &error) != RBWP_OK)
        fail_msg("%s", error.text);
}

static void *mix_and_quiesce(void *argument)
{
    struct rbwp_endpoint *endpoint = argument;
    const uint64_t left = MIXED - 1;
    const struct rbwp_send send = {.size = sizeof send,
                                   .handler = mixed_handler,
                                   .header = &left,
                                   .header_bytes = sizeof left,
                                   .wait_ns = RBWP_WAIT};
    struct rbwp_error error;
    if (rbwp_message_send_from(endpoint, &send, &error) != RBWP_OK ||
        rbwp_endpoint_quiesce(endpoint, RBWP_WAIT, &error) != RBWP_OK)
        fail_msg("%s", error.text);
    assert_int_equal(atomic_load(&mixed_count), MIXED_NODES * MIXED);
    return NULL;
}

/* Guards: short and long messages of several nodes, over a wire and windows that are full again and
 * again, all arrive whole before anybody finds the job quiet. */
static void short_and_long_over_a_narrow_wire(void **state)
{
    (void)state;
    const struct rbwp_endpoint_config config = {
        .size = sizeof config, .window = 3, .inbox_bytes = 1, .incoming_bytes_max = 10000};
    struct wired wired = wired_new(MIXED_NODES, 2, &config);
    pthread_t threads[MIXED_NODES];
    mixed_handler = job_register(&wired.job, "mix", mix, NULL);
    job_start(&wired.job);
    wire_start(wired.wire);
    for (int i = 0; i < MIXED_NODES; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, mix_and_quiesce, wired.job.endpoint[i]),
                         0);
    for (int i = 0; i < MIXED_NODES; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < MIXED_NODES; i++)
        assert_int_equal(rbwp_endpoint_problem(wired.job.endpoint[i], NULL), 0);
    job_free(&wired.job);
}

static unsigned ask_handler, answer_handler;
static _Atomic uint64_t answers;

static void ask(void *argument, const struct rbwp_message *message)
{
    (void)argument;
    send_to(message->endpoint, message->node, answer_handler, message->payload,
            message->payload_bytes);
}

static void count_answer(void *argument, const struct rbwp_message *message)
{
    (void)argument, (void)message;
    atomic_fetch_add(&answers, 1);
}

/* Guards: where all nodes ask all others and answer inside handlers, so that answers are kept
 * behind full windows everywhere, what opens the windows gets past them. */
static void answers_get_past_full_windows(void **state)
{
    (void)state;
    const struct rbwp_endpoint_config config = {.size = sizeof config, .window = 3};
    struct wired wired = wired_new(ASKERS, 0, &config);
    ask_handler = job_register(&wired.job, "ask", ask, NULL);
    answer_handler = job_register(&wired.job, "answer", count_answer, NULL);
    job_start(&wired.job);
    run_all(&wired);
    atomic_store(&answers, 0);
    uint64_t asked = 0;
    for (int round = 0; round < 20; round++) {
        for (uint32_t from = 0; from < ASKERS; from++)
            for (uint32_t to = 0; to < ASKERS; to++)
                while (from != to && rbwp_message_send(wired.job.endpoint[from], to, ask_handler,
                                                       "?", 1, 0, NULL) == RBWP_OK)
                    asked++;
        (void)wire_deliver(wired.wire);
        (void)rbwp_work_run(wired.job.manager, 0);
    }
    run_all(&wired);
    assert_true(asked > ASKERS * (ASKERS - 1) * 6); /* the windows have opened again and again */
    assert_int_equal(atomic_load(&answers), asked);
    quiesce_all(&wired);
    job_free(&wired.job);
}

/* ---- strangers ---------------------------------------------------------------------------- */

static uint32_t next_random(uint32_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 17;
    *seed ^= *seed << 5;
    return *seed;
}

static void make_packet(uint32_t *seed, uint64_t hash, uint8_t *bytes, uint32_t *length_out)
{
    struct packet_head head;
    *length_out = next_random(seed) % 400;
    for (uint32_t i = 0; i < *length_out; i++)
        bytes[i] = (uint8_t)next_random(seed);
    memcpy(&head, bytes, sizeof head);
    head.kind = (uint8_t)(next_random(seed) % (PACKET_KINDS + 1));
    if (head.kind == PACKET_LEAVING) /* believed: nothing else would be looked at */
        head.kind = PACKET_SHORT;
    head.reason = (uint8_t)(next_random(seed) % 8);
    if (next_random(seed) % 4) {
        head.header_bytes = (uint16_t)(next_random(seed) % 300);
        head.bytes = next_random(seed) % 400;
        head.word = next_random(seed) % 3 | (uint64_t)(next_random(seed) % 3) << 32;
    }
    if (next_random(seed) % 2)
        head.handler = hash;
    memcpy(bytes, &head, sizeof head);
}

/* Guards: whatever bytes come from a node, nothing outside them is touched, and those that are no
 * packet are told as such; messages go on meanwhile. */
static void packets_of_strangers(void **state)
{
    (void)state;
    struct problems_seen problems_seen = {0};
    const struct rbwp_endpoint_config config = {.size = sizeof config,
                                                .payload_bytes_max = BIG,
                                                .problem = note_problem,
                                                .argument = &problems_seen};
    struct wired wired = wired_new(2, 0, &config);
    struct seen seen = {0};
    static const uint8_t big[BIG];
    struct ended ended = {0};
    const unsigned handler = job_register(&wired.job, "any", see, &seen);
    job_start(&wired.job);
    const uint64_t hash = wired.job.endpoint[0]->handlers[handler].hash;
    uint32_t seed = 12345;
    for (uint32_t i = 0; i < 20000; i++) {
        uint8_t *bytes = calloc(1, 500);
        uint32_t length;
        make_packet(&seed, hash, bytes, &length);
        bytes = realloc(bytes, length ? length : 1);
        const struct rbwp_packet packet = {.count = 1, .bytes = length, .piece = {{bytes, length}}};
        assert_int_equal(rbwp_transport_arrived(wired.job.endpoint[i % 2], 1 - i % 2, &packet),
                         RBWP_OK);
        free(bytes);
        if (i % 1000 == 0)
            (void)!lend_out(wired.job.endpoint[0], 1, handler, big, BIG, &ended);
        run_rounds(wired.job.manager);
    }
    assert_true(problems_seen.count > 0);
    const uint64_t before = seen.count;
    send_to(wired.job.endpoint[0], 0, handler, NULL, 0);
    run_rounds(wired.job.manager);
    assert_true(seen.count > before);
    job_free(&wired.job);
    assert_true(ended.count > 0);
}

/* Guards: only a node's children in the tree are counted: what another node, or who was counted
 * already, says is no packet, and the job becomes quiet by what the children say. */
static void counts_of_others_are_refused(void **state)
{
    (void)state;
    enum { GRANDCHILD = QUIESCE_FAN + 1 };
    struct problems_seen problems_seen = {0};
    const struct rbwp_endpoint_config config = {
        .size = sizeof config, .problem = note_problem, .argument = &problems_seen};
    struct wired wired = wired_new(GRANDCHILD + 1, 0, &config);
    struct rbwp_endpoint *root = wired.job.endpoint[0];
    job_start(&wired.job);
    run_all(&wired);
    assert_int_equal(rbwp_endpoint_quiesce(root, 0, NULL), RBWP_AGAIN);
    run_rounds(wired.job.manager); /* it has asked */
    assert_int_equal(root->quiesce.missing, QUIESCE_FAN);
    struct packet_head head = {.kind = PACKET_COUNTED, .word = root->quiesce.round};
    const struct rbwp_packet packet = packet_of_head(&head);
    for (uint32_t node = 0; node <= GRANDCHILD; node += GRANDCHILD) {
        assert_int_equal(rbwp_transport_arrived(root, node, &packet), RBWP_OK);
        run_rounds(wired.job.manager);
        assert_int_equal(problems_seen.kind, RBWP_MESSAGE_BROKEN);
        assert_int_equal(problems_seen.node, node);
        assert_int_equal(root->quiesce.missing, QUIESCE_FAN);
    }
    assert_int_equal(problems_seen.count, 2);
    quiesce_all(&wired);
    head.word = root->quiesce.round;
    assert_int_equal(rbwp_transport_arrived(root, 1, &packet), RBWP_OK);
    run_rounds(wired.job.manager);
    assert_int_equal(problems_seen.count, 3);
    job_free(&wired.job);
}

/* Guards: a refusal for a reason that is none is no packet; the sender is not told of it as of one.
 */
static void refusals_without_a_reason(void **state)
{
    (void)state;
    static const uint8_t reasons[] = {0, RBWP_MESSAGE_NO_MEMORY + 1, UINT8_MAX};
    for (size_t i = 0; i < sizeof reasons; i++) {
        struct problems_seen problems_seen = {0};
        const struct rbwp_endpoint_config config = {
            .size = sizeof config, .problem = note_problem, .argument = &problems_seen};
        struct wired wired = wired_new(2, 0, &config);
        job_start(&wired.job);
        const struct packet_head head = {.kind = PACKET_REFUSED, .reason = reasons[i]};
        const struct rbwp_packet packet = packet_of_head(&head);
        assert_int_equal(rbwp_transport_arrived(wired.job.endpoint[0], 1, &packet), RBWP_OK);
        run_rounds(wired.job.manager);
        assert_int_equal(problems_seen.count, 1);
        assert_int_equal(problems_seen.kind, RBWP_MESSAGE_BROKEN);
        job_free(&wired.job);
    }
}

/* What comes from a node asks for a payload: the number it was offered by, and a tag. */
static void ask_for(struct rbwp_endpoint *endpoint, uint32_t node, uint64_t number, uint64_t tag)
{
    const struct packet_head head = {.kind = PACKET_GRANT, .word = number, .bytes = tag};
    const struct rbwp_packet packet = packet_of_head(&head);
    assert_int_equal(rbwp_transport_arrived(endpoint, node, &packet), RBWP_OK);
}

/* Guards: a payload goes once, to the node that it was offered to, by its number and a tag that
 * there is; and a transport that tells of one that does not go is not believed. */
static void payloads_go_to_whom_they_were_offered(void **state)
{
    (void)state;
    const uint64_t number = UINT64_C(1) << 32;
    const uint32_t most = 4;
    const struct {
        uint32_t node;
        uint64_t number, tag;
    } wrong[] = {{2, number, 0},        {1, number + 1, 0},     {1, 2 * number, 0},   {1, 0, 0},
                 {1, number | most, 0}, {1, number, WIRE_TAGS}, {1, number, 1u << 31}};
    static const uint8_t big[BIG];
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct problems_seen problems_seen = {0};
        const struct rbwp_endpoint_config config = {.size = sizeof config,
                                                    .long_max = most,
                                                    .problem = note_problem,
                                                    .argument = &problems_seen};
        struct wired wired = wired_new(3, 0, &config);
        struct seen seen = {0};
        struct ended ended = {0};
        const unsigned handler = job_register(&wired.job, "long", see, &seen);
        job_start(&wired.job);
        struct rbwp_endpoint *from = wired.job.endpoint[0];
        assert_int_equal(from->longs.send_max, most);
        assert_int_equal(lend_out(from, 1, handler, big, BIG, &ended), RBWP_OK);
        run_rounds(wired.job.manager); /* it is offered */
        ask_for(from, wrong[i].node, wrong[i].number, wrong[i].tag);
        run_rounds(wired.job.manager);
        assert_int_equal(problems_seen.count, 1);
        assert_int_equal(problems_seen.kind, RBWP_MESSAGE_BROKEN);
        assert_int_equal(problems_seen.node, wrong[i].node);
        assert_non_null(strstr(problems_seen.text, "it asks for a payload that is none"));
        rbwp_transport_payload_done(from, number, RBWP_OK);
        rbwp_transport_payload_done(from, number | most, RBWP_OK);
        rbwp_transport_payload_done(from, UINT64_C(1) << 63, RBWP_OK);
        rbwp_transport_payload_done(from, UINT64_C(1) << 63 | WIRE_TAGS, RBWP_OK);
        run_rounds(wired.job.manager);
        assert_int_equal(ended.count, 0);
        wire_tell_senders(wired.wire, false);
        run_all(&wired);
        assert_int_equal(seen.count, 1);
        ask_for(from, 1, number, 0); /* it has gone already; a node's first such packet is told */
        run_rounds(wired.job.manager);
        assert_int_equal(problems_seen.count, wrong[i].node == 1 ? 1 : 2);
        wire_tell_senders(wired.wire, true);
        run_all(&wired);
        assert_int_equal(ended.count, 1);
        assert_int_equal(ended.status, RBWP_OK);
        quiesce_all(&wired);
        job_free(&wired.job);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_window_bounds_what_is_under_way),
        cmocka_unit_test(long_payloads_meet_the_receiver),
        cmocka_unit_test(incoming_payloads_wait_for_room),
        cmocka_unit_test(quiet_is_when_payloads_are_back),
        cmocka_unit_test(payloads_are_through_on_two_threads),
        cmocka_unit_test(refused_payloads_come_back),
        cmocka_unit_test(a_lost_node_ends_what_waits_for_it),
        cmocka_unit_test(leaving_early_is_said),
        cmocka_unit_test(leaving_with_messages_unheard_is_said),
        cmocka_unit_test(who_waits_is_told_of_who_has_gone),
        cmocka_unit_test(leaving_in_turn_is_no_problem),
        cmocka_unit_test(short_and_long_over_a_narrow_wire),
        cmocka_unit_test(answers_get_past_full_windows),
        cmocka_unit_test(packets_of_strangers),
        cmocka_unit_test(counts_of_others_are_refused),
        cmocka_unit_test(refusals_without_a_reason),
        cmocka_unit_test(payloads_go_to_whom_they_were_offered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
