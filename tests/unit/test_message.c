/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of active messages over loopback: names, order, room, long payloads, quiet, the end, and
 * the profile. */
#include "message_support.h"
#include "rbwp_transport.h"
#include "record_support.h"
#include "rows_support.h"
#include "unit.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MANY = 100000, FLOOD = 50000 };

/* What a handler has seen. */
struct seen {
    uint64_t count, last, node;
    uint64_t header;
    uint64_t out_of_order;
    const void *payload;
    uint64_t payload_bytes;
    uint64_t sum;
};

static void see(void *argument, const struct rbwp_message *message)
{
    struct seen *seen = argument;
    uint64_t number = 0;
    assert_int_equal((uintptr_t)message->payload % 8, 0);
    assert_int_equal((uintptr_t)message->header % 8, 0);
    if (message->payload_bytes >= sizeof number)
        memcpy(&number, message->payload, sizeof number);
    seen->out_of_order += number != seen->last + 1;
    seen->last = number;
    seen->node = message->node;
    seen->count++;
    seen->payload = message->payload;
    seen->payload_bytes = message->payload_bytes;
    seen->header = 0;
    if (message->header_bytes)
        memcpy(&seen->header, message->header,
               message->header_bytes < 8 ? message->header_bytes : 8);
    for (uint64_t i = 0; i < message->payload_bytes; i++)
        seen->sum += ((const uint8_t *)message->payload)[i];
}

/* Guards: nodes agree on handlers by name, whatever numbers they have for them; header and payload
 * come as they were sent, from the node that sent them, and to oneself too. */
static void handlers_are_known_by_name(void **state)
{
    (void)state;
    struct job job = job_new(2, 0, NULL);
    struct seen red = {0}, blue = {0}, own = {0};
    const unsigned red_0 = endpoint_register(job.endpoint[0], "red", see, NULL, &own);
    const unsigned blue_0 = endpoint_register(job.endpoint[0], "blue", see, NULL, &own);
    const unsigned blue_1 = endpoint_register(job.endpoint[1], "blue", see, NULL, &blue);
    const unsigned red_1 = endpoint_register(job.endpoint[1], "red", see, NULL, &red);
    assert_int_not_equal(red_0, red_1);
    assert_int_not_equal(blue_0, blue_1);
    job_start(&job);
    uint64_t one = 1;
    const struct rbwp_send send = {.size = sizeof send,
                                   .node = 1,
                                   .handler = blue_0,
                                   .header = "abc",
                                   .header_bytes = 3,
                                   .payload = &one,
                                   .payload_bytes = sizeof one};
    assert_int_equal(rbwp_message_send_from(job.endpoint[0], &send, NULL), RBWP_OK);
    send_to(job.endpoint[0], 1, red_0, NULL, 0);
    send_to(job.endpoint[0], 0, red_0, &one, 3);
    run_rounds(job.manager);
    assert_int_equal(blue.count, 1);
    assert_int_equal(blue.last, 1);
    assert_memory_equal(&blue.header, "abc", 4);
    assert_int_equal(blue.node, 0);
    assert_int_equal(red.count, 1);
    assert_int_equal(red.payload_bytes, 0);
    assert_int_equal(own.count, 1);
    assert_int_equal(own.payload_bytes, 3);
    job_free(&job);
}

/* A node's endpoint, which another thread starts. */
struct starting {
    struct rbwp_endpoint *endpoint;
    enum rbwp_status status;
    _Atomic bool has_tried;
};

static void *send_once_it_is_started(void *context)
{
    struct starting *starting = context;
    do {
        starting->status = rbwp_message_send(starting->endpoint, 0, 0, NULL, 0, 0, NULL);
        atomic_store_explicit(&starting->has_tried, true, memory_order_relaxed);
        sched_yield();
    } while (starting->status == RBWP_E_STATE ||
             starting->status == RBWP_AGAIN); /* its node opens a little later */
    return NULL;
}

/* Guards, with ThreadSanitizer: a thread may send as soon as an endpoint has started, though nobody
 * but the endpoint says so: it sees the handlers, which another thread has registered. */
static void who_finds_it_started_may_send(void **state)
{
    (void)state;
    struct job job = job_new(1, 0, NULL);
    struct starting starting = {.endpoint = job.endpoint[0]};
    struct seen seen = {0};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, send_once_it_is_started, &starting), 0);
    while (!atomic_load_explicit(&starting.has_tried, memory_order_relaxed))
        sched_yield();
    job_register(&job, "early", see, &seen);
    job_start(&job);
    pthread_join(thread, NULL);
    assert_int_equal(starting.status, RBWP_OK);
    run_rounds(job.manager);
    assert_int_equal(seen.count, 1);
    job_free(&job);
}

/* Guards: short messages of a thread to a node are handled in the order of the sends, also where
 * senders wait for room again and again, and each once. */
static void order_holds_where_senders_wait(void **state)
{
    (void)state;
    const struct rbwp_endpoint_config config = {.size = sizeof config, .inbox_bytes = 1};
    struct job job = job_new(2, 2, &config);
    struct seen seen = {0};
    const unsigned handler = job_register(&job, "count", see, &seen);
    job_start(&job);
    for (uint64_t i = 1; i <= MANY; i++)
        send_to(job.endpoint[0], 1, handler, &i, sizeof i);
    job_quiesce(&job);
    assert_int_equal(seen.count, MANY);
    assert_int_equal(seen.out_of_order, 0);
    job_free(&job);
}

/* ---- memory that runs out ---------------------------------------------------------------- */

static long allocations_left = -1; /* before the one that fails; -1: none does */

/* Visible: some linkers have shared libraries refer to them too. */
#pragma GCC visibility push(default)
void *__real_calloc(size_t count, size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes)
{
    if (allocations_left < 0 || allocations_left-- > 0)
        return __real_calloc(count, bytes);
    return NULL;
}
#pragma GCC visibility pop

/* Guards: whichever part of an endpoint there is no memory for, it is said, and nothing stays. */
static void no_memory_for_an_endpoint(void **state)
{
    (void)state;
    struct rbwp_work_manager *manager = message_manager(0);
    enum rbwp_status status = RBWP_E_MEMORY;
    long refused = 0;
    for (; status == RBWP_E_MEMORY; refused++) {
        struct rbwp_transport *transport;
        struct rbwp_endpoint *endpoint;
        struct rbwp_error error;
        assert_int_equal(rbwp_loopback_new(1, &transport, NULL), RBWP_OK);
        allocations_left = refused;
        status = rbwp_endpoint_new(manager, transport, NULL, &endpoint, &error);
        const bool was_refused = allocations_left < 0;
        allocations_left = -1;
        assert_int_equal(status, was_refused ? RBWP_E_MEMORY : RBWP_OK);
        if (status == RBWP_OK)
            assert_int_equal(rbwp_endpoint_free(endpoint), RBWP_OK);
        else
            assert_null(endpoint);
    }
    assert_true(refused > 3);
    assert_int_equal(rbwp_work_stop(manager, true, NULL), RBWP_OK);
}

/* ---- names ---------------------------------------------------------------------- */

/* Guards: a message for a handler that its node does not have is dropped, and its sender told by
 * name, once for each; others are not touched. The same for one that is there to send with only. */
static void unknown_handlers_are_told(void **state)
{
    (void)state;
    struct problems_seen problems_seen = {0};
    const struct rbwp_endpoint_config config = {
        .size = sizeof config, .problem = note_problem, .argument = &problems_seen};
    struct job job = job_new(2, 0, &config);
    struct seen seen = {0};
    char big[10000] = {0};
    const unsigned mute = job_register(&job, "nowhere", NULL, NULL);
    const unsigned both = job_register(&job, "both", see, &seen);
    const unsigned here = endpoint_register(job.endpoint[0], "only here", see, NULL, &seen);
    job_start(&job);
    send_to(job.endpoint[0], 1, here, NULL, 0);
    send_to(job.endpoint[0], 1, here, NULL, 0);
    send_to(job.endpoint[0], 1, both, NULL, 0);
    run_rounds(job.manager);
    assert_int_equal(seen.count, 1);
    assert_int_equal(problems_seen.count, 1);
    assert_int_equal(problems_seen.kind, RBWP_MESSAGE_NO_HANDLER);
    assert_int_equal(problems_seen.node, 1);
    assert_string_equal(problems_seen.handler, "only here");
    assert_non_null(strstr(problems_seen.text, "node 1 has no handler \"only here\""));
    send_to(job.endpoint[0], 1, mute, big, sizeof big);
    run_rounds(job.manager);
    assert_int_equal(problems_seen.count, 2);
    assert_string_equal(problems_seen.handler, "nowhere");
    struct rbwp_error error;
    assert_int_equal(rbwp_endpoint_problem(job.endpoint[0], &error), RBWP_MESSAGE_NO_HANDLER);
    assert_non_null(strstr(error.text, "only here")); /* the first */
    assert_int_equal(rbwp_endpoint_problem(job.endpoint[1], NULL), 0);
    struct rbwp_endpoint_counts counts = {.size = sizeof counts};
    rbwp_endpoint_count(job.endpoint[1], &counts);
    assert_int_equal(counts.handled, 4);
    assert_int_equal(counts.dropped, 3);
    job_quiesce(&job);
    job_free(&job);
}

static void refuse_handler(struct rbwp_endpoint *endpoint, const char *name,
                           enum rbwp_status expected)
{
    const struct rbwp_handler_config config = {.size = sizeof config, .name = name, .handle = see};
    unsigned handler;
    struct rbwp_error error = {.text = ""};
    assert_int_equal(rbwp_handler_register(endpoint, &config, &handler, &error), expected);
    assert_non_null(strstr(error.text, "message: "));
}

/* Guards: what cannot be registered or sent is refused with the reason, and nothing goes. */
static void refusals_say_why(void **state)
{
    (void)state;
    const struct rbwp_endpoint_config config = {.size = sizeof config, .payload_bytes_max = 8192};
    struct job job = job_new(2, 0, &config);
    char name[257];
    memset(name, 'n', sizeof name - 1);
    name[256] = '\0';
    const unsigned handler = job_register(&job, "known", see, NULL);
    refuse_handler(job.endpoint[0], "known", RBWP_E_BUSY);
    refuse_handler(job.endpoint[0], "", RBWP_E_INVALID);
    refuse_handler(job.endpoint[0], name, RBWP_E_INVALID);
    struct rbwp_error error;
    char big[8193] = {0};
    struct rbwp_endpoint *from = job.endpoint[0];
    assert_int_equal(rbwp_message_send(from, 1, handler, NULL, 0, 0, &error), RBWP_E_STATE);
    assert_int_equal(rbwp_endpoint_quiesce(from, 0, &error), RBWP_E_STATE);
    job_start(&job);
    assert_int_equal(rbwp_endpoint_start(from, &error), RBWP_E_STATE);
    refuse_handler(from, "late", RBWP_E_STATE);
    assert_int_equal(rbwp_message_send(from, 2, handler, NULL, 0, 0, &error), RBWP_E_INVALID);
    assert_int_equal(rbwp_message_send(from, 1, handler + 1, NULL, 0, 0, &error), RBWP_E_INVALID);
    assert_int_equal(rbwp_message_send(from, 1, handler, big, sizeof big, RBWP_WAIT, &error),
                     RBWP_E_LIMIT);
    assert_non_null(strstr(error.text, "8193 bytes for \"known\""));
    const struct rbwp_send send = {.size = sizeof send,
                                   .node = 1,
                                   .header = big,
                                   .header_bytes = RBWP_MESSAGE_HEADER_BYTES_MAX + 1};
    assert_int_equal(rbwp_message_send_from(from, &send, &error), RBWP_E_INVALID);
    assert_int_equal(rbwp_work_run(job.manager, 0), RBWP_OK); /* the start's */
    struct rbwp_endpoint_counts counts = {.size = sizeof counts};
    rbwp_endpoint_count(from, &counts);
    assert_int_equal(counts.sent, 0);
    job_free(&job);
    struct rbwp_transport *transport;
    assert_int_equal(rbwp_loopback_new(0, &transport, &error), RBWP_E_INVALID);
}

static void note_closed(struct rbwp_transport *transport, bool in_order)
{
    assert_true(in_order);
    transport->node = 77;
}

static void refuse_transport(struct rbwp_work_manager *manager, struct rbwp_transport transport,
                             enum rbwp_status expected, const char *reason)
{
    struct rbwp_endpoint *endpoint;
    struct rbwp_error error;
    assert_int_equal(rbwp_endpoint_new(manager, &transport, NULL, &endpoint, &error), expected);
    assert_null(endpoint);
    assert_non_null(strstr(error.text, reason));
    assert_int_equal(transport.node, 77);
}

/* Guards: a transport that was built with another header, or lacks what is called, is refused
 * before anything of it is used, and closed. */
static void strange_transports_are_refused(void **state)
{
    (void)state;
    struct rbwp_work_manager *manager = message_manager(0);
    struct rbwp_transport_ops ops = {.size = sizeof ops, .close = note_closed};
    const struct rbwp_transport good = {.size = sizeof good,
                                        .ops = &ops,
                                        .nodes = 1,
                                        .packet_bytes_max = RBWP_PACKET_BYTES_MIN,
                                        .tags = 1};
    struct rbwp_transport bad = good;
    bad.size += 8;
    refuse_transport(manager, bad, RBWP_E_UNSUPPORTED, "another version");
    refuse_transport(manager, good, RBWP_E_INVALID, "lacks calls");
    ops.size--;
    refuse_transport(manager, good, RBWP_E_UNSUPPORTED, "another version");
    assert_int_equal(rbwp_work_stop(manager, true, NULL), RBWP_OK);
}

/* ---- room ------------------------------------------------------------------------- */

/* Guards: what waits for its handler is bounded. Who does not wait is told RBWP_AGAIN, at once or
 * when his time is over; nothing is lost, and there is room again when it was handled. */
static void a_full_inbox_says_again(void **state)
{
    (void)state;
    const struct rbwp_endpoint_config config = {.size = sizeof config, .inbox_bytes = 65536};
    struct job job = job_new(2, 0, &config);
    struct seen seen = {0};
    const unsigned handler = job_register(&job, "flood", see, &seen);
    job_start(&job);
    uint64_t sent = 0, next = 1;
    while (rbwp_message_send(job.endpoint[0], 1, handler, &next, sizeof next, 0, NULL) == RBWP_OK) {
        sent = next++;
        assert_true(sent < 65536 / 8);
    }
    struct rbwp_error error;
    assert_int_equal(
        rbwp_message_send(job.endpoint[0], 1, handler, &next, sizeof next, 1000000, &error),
        RBWP_AGAIN);
    assert_non_null(strstr(error.text, "no room for \"flood\" to node 1"));
    assert_int_equal(rbwp_message_send(job.endpoint[1], 1, handler, &next, sizeof next, 0, &error),
                     RBWP_AGAIN);
    run_rounds(job.manager);
    assert_int_equal(seen.count, sent);
    assert_int_equal(rbwp_message_send(job.endpoint[0], 1, handler, &next, sizeof next, 0, &error),
                     RBWP_OK);
    run_rounds(job.manager);
    assert_int_equal(seen.count, sent + 1);
    assert_int_equal(seen.out_of_order, 0);
    struct rbwp_endpoint_counts counts = {.size = sizeof counts};
    rbwp_endpoint_count(job.endpoint[0], &counts);
    assert_int_equal(counts.sent, sent + 1);
    assert_int_equal(counts.refused, 2);
    job_quiesce(&job);
    job_free(&job);
}

struct flooder {
    unsigned handler;
    uint64_t at_once, kept;
};

/* To node 1 and to its own node: both are full soon, and nobody handles meanwhile. */
static void flood(void *argument, const struct rbwp_message *message)
{
    struct flooder *flooder = argument;
    for (uint64_t i = 1; i <= FLOOD; i++) {
        enum rbwp_status status =
            rbwp_message_send(message->endpoint, 1, flooder->handler, &i, sizeof i, 0, NULL);
        flooder->at_once += status == RBWP_OK;
        if (status == RBWP_AGAIN)
            send_to(message->endpoint, 1, flooder->handler, &i, sizeof i);
        send_to(message->endpoint, 0, flooder->handler, &i, sizeof i);
    }
}

/* Guards: inside a handler a send never waits: what finds no room is kept and goes later, in order,
 * also to the handler's own node, which cannot handle it meanwhile. */
static void handlers_never_wait(void **state)
{
    (void)state;
    const struct rbwp_endpoint_config config = {.size = sizeof config, .inbox_bytes = 65536};
    struct job job = job_new(2, 0, &config);
    struct seen seen[2] = {{0}};
    struct flooder flooder = {0};
    for (unsigned i = 0; i < 2; i++)
        flooder.handler = endpoint_register(job.endpoint[i], "drop", see, NULL, &seen[i]);
    const unsigned start = job_register(&job, "flood", flood, &flooder);
    job_start(&job);
    send_to(job.endpoint[0], 0, start, NULL, 0);
    job_quiesce(&job);
    assert_true(flooder.at_once > 0 && flooder.at_once < FLOOD);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(seen[i].count, FLOOD);
        assert_int_equal(seen[i].out_of_order, 0);
    }
    struct rbwp_endpoint_counts counts = {.size = sizeof counts};
    rbwp_endpoint_count(job.endpoint[0], &counts);
    assert_int_equal(counts.sent, 2 * FLOOD + 1);
    assert_true(counts.kept >= FLOOD - flooder.at_once);
    job_free(&job);
}

struct late {
    struct rbwp_work_manager *other; /* node 1's, which nobody runs but this */
    unsigned handler;
    enum rbwp_status again; /* what the last one was told at first */
};

static void *run_other(void *argument)
{
    run_rounds(argument);
    return NULL;
}

/* Fills node 1, has one kept, lets node 1 handle, and sends one more. */
static void send_behind_kept(void *argument, const struct rbwp_message *message)
{
    struct late *late = argument;
    uint64_t next = 1;
    while (rbwp_message_send(message->endpoint, 1, late->handler, &next, sizeof next, 0, NULL) ==
           RBWP_OK)
        next++;
    send_to(message->endpoint, 1, late->handler, &next, sizeof next);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, run_other, late->other), 0);
    pthread_join(thread, NULL);
    next++;
    late->again =
        rbwp_message_send(message->endpoint, 1, late->handler, &next, sizeof next, 0, NULL);
    send_to(message->endpoint, 1, late->handler, &next, sizeof next);
}

/* Guards: nothing overtakes what is kept, though there is room for it by now. */
static void nothing_overtakes_what_is_kept(void **state)
{
    (void)state;
    const struct rbwp_endpoint_config config = {.size = sizeof config, .inbox_bytes = 1};
    struct rbwp_work_manager *managers[2] = {message_manager(0), message_manager(0)};
    struct rbwp_transport *transports[2];
    struct rbwp_endpoint *endpoints[2];
    struct seen seen = {0};
    struct late late = {.other = managers[1]};
    unsigned start_handler = 0;
    assert_int_equal(rbwp_loopback_new(2, transports, NULL), RBWP_OK);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(
            rbwp_endpoint_new(managers[i], transports[i], &config, &endpoints[i], NULL), RBWP_OK);
        late.handler = endpoint_register(endpoints[i], "count", see, NULL, &seen);
        start_handler = endpoint_register(endpoints[i], "start", send_behind_kept, NULL, &late);
        assert_int_equal(rbwp_endpoint_start(endpoints[i], NULL), RBWP_OK);
    }
    send_to(endpoints[0], 0, start_handler, NULL, 0);
    run_rounds(managers[0]);
    run_rounds(managers[1]);
    assert_int_equal(late.again, RBWP_AGAIN);
    assert_true(seen.count > 100);
    assert_int_equal(seen.last, seen.count);
    assert_int_equal(seen.out_of_order, 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(rbwp_endpoint_free(endpoints[i]), RBWP_OK);
        assert_int_equal(rbwp_work_stop(managers[i], true, NULL), RBWP_OK);
    }
}

/* ---- long ones ----------------------------------------------------------------------- */

static struct rbwp_send long_send(uint32_t node, unsigned handler, const void *payload,
                                  uint64_t bytes, struct ended *ended)
{
    return (struct rbwp_send){.size = sizeof(struct rbwp_send),
                              .node = node,
                              .handler = handler,
                              .header = "head",
                              .header_bytes = 4,
                              .payload = payload,
                              .payload_bytes = bytes,
                              .done = ended ? note_done : NULL,
                              .argument = ended};
}

static uint8_t landing[100000];

static void *land(void *argument, const struct rbwp_message *message)
{
    (void)argument;
    assert_null(message->payload);
    assert_int_equal(message->payload_bytes, sizeof landing);
    assert_memory_equal(message->header, "head", 4);
    return landing;
}

/* Guards: in a process a long payload is the sender's own memory, or goes where its handler's place
 * says; done comes once, after the handler, and without done the sender may forget it at once. */
static void long_payloads_are_not_copied(void **state)
{
    (void)state;
    struct job job = job_new(2, 0, NULL);
    struct seen seen = {0}, placed = {0};
    struct ended ended = {0};
    uint8_t *big = malloc(sizeof landing);
    memset(big, 1, sizeof landing);
    const unsigned handler = job_register(&job, "long", see, &seen);
    const unsigned place = endpoint_register(job.endpoint[0], "placed", see, land, &placed);
    assert_int_equal(endpoint_register(job.endpoint[1], "placed", see, land, &placed), place);
    job_start(&job);
    struct rbwp_send send = long_send(1, handler, big, sizeof landing, &ended);
    assert_int_equal(rbwp_message_send_from(job.endpoint[0], &send, NULL), RBWP_OK);
    assert_int_equal(ended.count, 0);
    run_rounds(job.manager);
    assert_int_equal(seen.count, 1);
    assert_ptr_equal(seen.payload, big);
    assert_int_equal(seen.sum, sizeof landing);
    assert_int_equal(ended.count, 1);
    assert_int_equal(ended.status, RBWP_OK);
    send.handler = place;
    assert_int_equal(rbwp_message_send_from(job.endpoint[0], &send, NULL), RBWP_OK);
    run_rounds(job.manager);
    assert_ptr_equal(placed.payload, landing);
    assert_memory_equal(landing, big, sizeof landing);
    assert_int_equal(ended.count, 2);
    send_to(job.endpoint[0], 1, handler, big, sizeof landing);
    memset(big, 0, sizeof landing); /* its own copy is on the way */
    free(big);
    run_rounds(job.manager);
    assert_int_equal(seen.sum, 2 * sizeof landing);
    job_quiesce(&job);
    job_free(&job);
}

/* Guards: the length at which rendezvous begins is what the endpoint says, header included, and
 * what is short calls done before the send returns. */
static void where_long_begins(void **state)
{
    (void)state;
    struct job job = job_new(1, 0, NULL);
    struct seen seen = {0};
    struct ended ended = {0};
    char bytes[8192] = {0};
    const unsigned handler = job_register(&job, "edge", see, &seen);
    job_start(&job);
    const uint32_t edge = rbwp_endpoint_short_bytes(job.endpoint[0]);
    assert_int_equal(edge, 4096);
    struct rbwp_send send = long_send(0, handler, bytes, edge - 8, &ended);
    assert_int_equal(rbwp_message_send_from(job.endpoint[0], &send, NULL), RBWP_OK);
    assert_int_equal(ended.count, 1);
    send.payload_bytes++;
    assert_int_equal(rbwp_message_send_from(job.endpoint[0], &send, NULL), RBWP_OK);
    assert_int_equal(ended.count, 1);
    run_rounds(job.manager);
    assert_int_equal(ended.count, 2);
    assert_int_equal(seen.count, 2);
    struct rbwp_endpoint_counts counts = {.size = sizeof counts};
    rbwp_endpoint_count(job.endpoint[0], &counts);
    assert_int_equal(counts.long_sent, 1);
    job_free(&job);
}

/* Guards: more long messages than long_max are not begun before others have ended. */
static void long_messages_are_bounded(void **state)
{
    (void)state;
    const struct rbwp_endpoint_config config = {.size = sizeof config, .long_max = 2};
    struct job job = job_new(2, 0, &config);
    struct seen seen = {0};
    char bytes[8192] = {0};
    const unsigned handler = job_register(&job, "long", see, &seen);
    job_start(&job);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 2; i++)
            assert_int_equal(
                rbwp_message_send(job.endpoint[0], 1, handler, bytes, sizeof bytes, 0, NULL),
                RBWP_OK);
        assert_int_equal(
            rbwp_message_send(job.endpoint[0], 1, handler, bytes, sizeof bytes, 0, NULL),
            RBWP_AGAIN);
        run_rounds(job.manager);
    }
    assert_int_equal(seen.count, 6);
    job_quiesce(&job);
    job_free(&job);
}

/* ---- quiet ----------------------------------------------------------------------------- */

enum { TREE_NODES = 20, SEEDS = 50, LIVES = 40, TALKERS = 3 };

static unsigned hop_handler;
static _Atomic uint64_t hops;

/* Passes itself on to another node until its lives are used up. */
static void hop(void *argument, const struct rbwp_message *message)
{
    (void)argument;
    uint64_t lives;
    memcpy(&lives, message->payload, sizeof lives);
    atomic_fetch_add(&hops, 1);
    if (lives-- == 0)
        return;
    const uint32_t nodes = rbwp_endpoint_nodes(message->endpoint);
    const uint32_t next = (uint32_t)((message->node * 7 + lives * 13 + 1) % nodes);
    send_to(message->endpoint, next, hop_handler, &lives, sizeof lives);
}

struct talker {
    struct rbwp_endpoint *endpoint;
    bool was_quiet;
};

static void *talk_and_quiesce(void *argument)
{
    struct talker *talker = argument;
    const uint32_t nodes = rbwp_endpoint_nodes(talker->endpoint);
    for (uint64_t round = 1; round <= 3; round++) {
        for (uint64_t i = 0; i < SEEDS; i++) {
            const uint64_t lives = LIVES;
            send_to(talker->endpoint, (uint32_t)(i % nodes), hop_handler, &lives, sizeof lives);
        }
        struct rbwp_error error;
        if (rbwp_endpoint_quiesce(talker->endpoint, RBWP_WAIT, &error) != RBWP_OK)
            fail_msg("%s", error.text);
        /* Nobody sends before all have seen this: the next round needs this node too. */
        talker->was_quiet &= atomic_load(&hops) >= round * nodes * SEEDS * (LIVES + 1);
    }
    return NULL;
}

/* Guards: quiesce returns on no node before every message of every node, and all that handlers sent
 * in turn, has been handled; again and again, with nodes in threads of their own and workers. */
static void quiet_is_when_all_is_handled(void **state)
{
    (void)state;
    struct job job = job_new(TREE_NODES, 2, NULL);
    struct talker talkers[TREE_NODES];
    pthread_t threads[TREE_NODES];
    hop_handler = job_register(&job, "hop", hop, NULL);
    job_start(&job);
    atomic_store(&hops, 0);
    for (unsigned i = 0; i < TREE_NODES; i++) {
        talkers[i] = (struct talker){job.endpoint[i], true};
        assert_int_equal(pthread_create(&threads[i], NULL, talk_and_quiesce, &talkers[i]), 0);
    }
    for (unsigned i = 0; i < TREE_NODES; i++) {
        pthread_join(threads[i], NULL);
        assert_true(talkers[i].was_quiet);
    }
    assert_int_equal(atomic_load(&hops), 3 * TREE_NODES * SEEDS * (LIVES + 1));
    job_free(&job);
}

/* Guards: as long as one node has not come, it is not quiet for anybody. */
static void quiet_waits_for_every_node(void **state)
{
    (void)state;
    struct job job = job_new(11, 0, NULL);
    job_start(&job);
    for (int i = 0; i < 10; i++)
        assert_int_equal(rbwp_endpoint_quiesce(job.endpoint[i], 0, NULL), RBWP_AGAIN);
    run_rounds(job.manager);
    for (int i = 0; i < 10; i++)
        assert_int_equal(rbwp_endpoint_quiesce(job.endpoint[i], (uint64_t)i * 1000, NULL),
                         RBWP_AGAIN);
    struct rbwp_error error;
    if (rbwp_endpoint_quiesce(job.endpoint[10], RBWP_WAIT, &error) != RBWP_OK)
        fail_msg("%s", error.text);
    for (int i = 0; i < 10; i++)
        assert_int_equal(rbwp_endpoint_quiesce(job.endpoint[i], 0, NULL), RBWP_OK);
    job_free(&job);
}

/* ---- the end ------------------------------------------------------------------------------ */

/* Guards: a node that leaves before the job is quiet is named: to who waits for quiet, to who sends
 * to it, and to who had a payload on its way there, which is given back. */
static void who_leaves_early_is_named(void **state)
{
    (void)state;
    struct problems_seen problems_seen = {0};
    const struct rbwp_endpoint_config config = {
        .size = sizeof config, .problem = note_problem, .argument = &problems_seen};
    struct job job = job_new(3, 0, &config);
    struct seen seen = {0};
    struct ended ended = {0};
    static const char big[10000];
    const unsigned handler = job_register(&job, "any", see, &seen);
    job_start(&job);
    const struct rbwp_send send = long_send(2, handler, big, sizeof big, &ended);
    assert_int_equal(rbwp_message_send_from(job.endpoint[0], &send, NULL), RBWP_OK);
    assert_int_equal(rbwp_endpoint_quiesce(job.endpoint[0], 0, NULL), RBWP_AGAIN);
    assert_int_equal(rbwp_endpoint_free(job.endpoint[2]), RBWP_OK);
    job.nodes = 2;
    struct rbwp_error error;
    assert_int_equal(rbwp_endpoint_quiesce(job.endpoint[0], RBWP_WAIT, &error), RBWP_E_IO);
    assert_non_null(strstr(error.text, "node 2 of 3 is lost to node 0"));
    assert_int_equal(ended.count, 1);
    assert_int_equal(ended.status, RBWP_E_IO);
    assert_int_equal(problems_seen.kind, RBWP_MESSAGE_NODE_LOST);
    assert_non_null(strstr(problems_seen.text, "before the job was quiet"));
    assert_int_equal(rbwp_message_send(job.endpoint[0], 2, handler, "", 0, RBWP_WAIT, &error),
                     RBWP_E_IO);
    assert_non_null(strstr(error.text, "node 2 is lost"));
    send_to(job.endpoint[0], 1, handler, NULL, 0);
    run_rounds(job.manager);
    assert_int_equal(seen.count, 1);
    job_free(&job);
}

/* Guards: who leaves after the job was quiet is no problem; who still sends to it is told. */
static void who_leaves_in_order_is_no_problem(void **state)
{
    (void)state;
    struct job job = job_new(2, 0, NULL);
    const unsigned handler = job_register(&job, "any", see, NULL);
    job_start(&job);
    job_quiesce(&job);
    assert_int_equal(rbwp_endpoint_free(job.endpoint[1]), RBWP_OK);
    job.nodes = 1;
    run_rounds(job.manager);
    assert_int_equal(rbwp_endpoint_problem(job.endpoint[0], NULL), 0);
    struct rbwp_error error;
    assert_int_equal(rbwp_message_send(job.endpoint[0], 1, handler, "", 0, RBWP_WAIT, &error),
                     RBWP_E_IO);
    assert_int_equal(rbwp_endpoint_quiesce(job.endpoint[0], RBWP_WAIT, &error), RBWP_E_IO);
    assert_non_null(strstr(error.text, "node 1"));
    job_free(&job);
}

/* Guards: freeing drops what waits and gives all payloads back, those it sent and those it was
 * offered, and leaves nothing behind for who still holds a part of them. */
static void freeing_gives_payloads_back(void **state)
{
    (void)state;
    struct job job = job_new(2, 0, NULL);
    struct seen seen = {0};
    struct ended ended[2] = {{0}};
    char *big = malloc(10000);
    const unsigned handler = job_register(&job, "any", see, &seen);
    job_start(&job);
    for (unsigned i = 0; i < 2; i++) {
        const struct rbwp_send send = long_send(1, handler, big, 10000, &ended[i]);
        assert_int_equal(rbwp_message_send_from(job.endpoint[i], &send, NULL), RBWP_OK);
    }
    assert_int_equal(rbwp_endpoint_free(job.endpoint[0]), RBWP_OK);
    assert_int_equal(ended[0].count, 1);
    assert_int_equal(ended[0].status, RBWP_E_STATE);
    memset(big, 0, 10000);
    run_rounds(job.manager);
    assert_int_equal(seen.count, 1); /* node 1's own; node 0's has been given back */
    const struct rbwp_send send = long_send(1, handler, big, 10000, &ended[1]);
    assert_int_equal(rbwp_message_send_from(job.endpoint[1], &send, NULL), RBWP_OK);
    assert_int_equal(rbwp_endpoint_free(job.endpoint[1]), RBWP_OK);
    assert_int_equal(ended[1].count, 2);
    assert_int_equal(ended[1].status, RBWP_E_STATE);
    free(big);
    job.nodes = 0;
    job_free(&job);
}

static void free_itself(void *argument, const struct rbwp_message *message)
{
    *(enum rbwp_status *)argument = rbwp_endpoint_free(message->endpoint);
}

/* Guards: a handler cannot free its own endpoint, which goes on. */
static void no_handler_frees_its_endpoint(void **state)
{
    (void)state;
    struct job job = job_new(1, 0, NULL);
    enum rbwp_status status = RBWP_OK;
    const unsigned handler = job_register(&job, "free", free_itself, &status);
    job_start(&job);
    for (int i = 0; i < 2; i++) {
        status = RBWP_OK;
        send_to(job.endpoint[0], 0, handler, NULL, 0);
        run_rounds(job.manager);
        assert_int_equal(status, RBWP_E_STATE);
    }
    job_free(&job);
}

struct sender {
    struct rbwp_endpoint *endpoint;
    uint32_t to;
    unsigned handler;
    uint64_t sent, lost;
};

static void *send_until_lost(void *argument)
{
    struct sender *sender = argument;
    static const char big[5000];
    for (uint64_t i = 0; sender->lost == 0; i++) {
        enum rbwp_status status = rbwp_message_send(sender->endpoint, sender->to, sender->handler,
                                                    big, i % 8 ? 8 : sizeof big, RBWP_WAIT, NULL);
        sender->sent += status == RBWP_OK;
        sender->lost += status == RBWP_E_IO;
    }
    return NULL;
}

/* Guards: an endpoint may be freed while others send to it, short and long, and wait for room
 * there: each send ends, with RBWP_OK or RBWP_E_IO. */
static void nodes_leave_while_others_send(void **state)
{
    (void)state;
    const struct rbwp_endpoint_config config = {.size = sizeof config, .inbox_bytes = 1};
    for (int round = 0; round < 10; round++) {
        struct job job = job_new(TALKERS + 1, 2, &config);
        struct seen seen = {0};
        struct sender senders[TALKERS];
        pthread_t threads[TALKERS];
        const unsigned handler = job_register(&job, "any", see, &seen);
        job_start(&job);
        for (unsigned i = 0; i < TALKERS; i++) {
            senders[i] = (struct sender){job.endpoint[i], TALKERS, handler, 0, 0};
            assert_int_equal(pthread_create(&threads[i], NULL, send_until_lost, &senders[i]), 0);
        }
        struct rbwp_endpoint_counts counts = {.size = sizeof counts};
        while (counts.handled < 200)
            rbwp_endpoint_count(job.endpoint[TALKERS], &counts);
        assert_int_equal(rbwp_endpoint_free(job.endpoint[TALKERS]), RBWP_OK);
        for (unsigned i = 0; i < TALKERS; i++) {
            pthread_join(threads[i], NULL);
            assert_int_equal(senders[i].lost, 1);
        }
        job.nodes = TALKERS;
        job_free(&job);
    }
}

/* ---- the profile --------------------------------------------------------------------------- */

enum { PROFILED = 3 };

static void find_row(const struct read_table *handled, const uint64_t *sent)
{
    size_t found = 0;
    for (size_t i = 0; i < handled->rows; i++) {
        const uint64_t *row = read_table_row(handled, i);
        if (row[5] != sent[4])
            continue;
        found++;
        assert_int_equal(row[4], sent[3]);       /* name */
        assert_int_equal(row[6], sent[4] >> 40); /* the node that sent it */
        assert_int_equal(row[7], sent[6]);       /* bytes */
        assert_true((int64_t)sent[0] <= (int64_t)row[0] && row[0] <= row[1] && row[1] <= row[2]);
        assert_int_not_equal(row[3], 0);
    }
    assert_int_equal(found, 1);
}

static unsigned am_handlers(const struct recorded *recorded, const char *name)
{
    unsigned found = 0;
    for (size_t i = 0; i < recorded->events; i++) {
        const struct rbwp_record *record = &recorded->event[i].record;
        if (record->kind != RBWP_FINE_BEGIN)
            continue;
        for (uint32_t s = 0; s < recorded->header.sub_items; s++) {
            const struct rbwp_sub_item_name *sub = &recorded->tables->sub_items[s];
            found += sub->id == record->sub_item && sub->type == RBWP_AM_HANDLER &&
                     sub->name_bytes == strlen(name) &&
                     memcmp(sub->name, name, sub->name_bytes) == 0;
        }
    }
    return found;
}

static void message_all(struct job *job, unsigned handler)
{
    static const char big[10000];
    for (uint32_t from = 0; from < job->nodes; from++)
        for (uint32_t to = 0; to < job->nodes; to++) {
            send_to(job->endpoint[from], to, handler, "eight by", 8);
            send_to(job->endpoint[from], to, handler, big, sizeof big);
        }
}

/* Guards: each send at level 2 has a row, each handled message has one with the same key, whose
 * times come in order, and each call of a handler is a sub-item named after it; at level 1 there is
 * none of them. */
static void the_profile_tells_of_messages(void **state)
{
    (void)state;
    for (int level = 2; level >= 1; level--) {
        const struct rbwp_session_config config = test_config(level);
        struct job job = job_new(PROFILED, 0, NULL);
        struct seen seen = {0};
        const unsigned handler = job_register(&job, "greeting", see, &seen);
        job_start(&job);
        rbwp_thread_attach("main");
        struct rbwp_session *session = start(&config);
        message_all(&job, handler);
        job_quiesce(&job);
        stop(session);
        const unsigned count = level == 2 ? 2 * PROFILED * PROFILED : 0;
        struct read_table sent = read_table(test_path("test.bin"), "message_sent");
        struct read_table handled = read_table(test_path("test.bin"), "message_handled");
        assert_int_equal(seen.count, 2 * PROFILED * PROFILED);
        assert_int_equal(sent.rows, count);
        assert_int_equal(handled.rows, count);
        for (size_t i = 0; i < sent.rows; i++)
            find_row(&handled, read_table_row(&sent, i));
        struct recorded recorded = read_back(test_path("test.bin"));
        assert_int_equal(am_handlers(&recorded, "greeting"), count);
        recorded_free(&recorded);
        read_table_free(&sent);
        read_table_free(&handled);
        job_free(&job);
        rbwp_thread_detach();
    }
}

/* Guards: a call that handled a message is in the profile, though it looks for others, in vain,
 * before it ends; calls that found nothing are not. */
static void calls_that_handled_something_are_reported(void **state)
{
    (void)state;
    const struct rbwp_session_config config = test_config(1);
    struct job job = job_new(2, 0, NULL);
    struct seen seen = {0};
    const unsigned handler = job_register(&job, "count", see, &seen);
    job_start(&job);
    run_rounds(job.manager);
    rbwp_thread_attach("main");
    struct rbwp_session *session = start(&config);
    for (uint64_t i = 1; i <= 3; i++) {
        send_to(job.endpoint[0], 1, handler, &i, sizeof i);
        run_rounds(job.manager);
        assert_int_equal(seen.count, i);
    }
    stop(session);
    struct recorded recorded = read_back(test_path("test.bin"));
    assert_int_equal(recorded.events, 2 * 3);
    recorded_free(&recorded);
    job_free(&job);
    rbwp_thread_detach();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_memory_for_an_endpoint),
        cmocka_unit_test(handlers_are_known_by_name),
        cmocka_unit_test(who_finds_it_started_may_send),
        cmocka_unit_test(order_holds_where_senders_wait),
        cmocka_unit_test(unknown_handlers_are_told),
        cmocka_unit_test(refusals_say_why),
        cmocka_unit_test(strange_transports_are_refused),
        cmocka_unit_test(a_full_inbox_says_again),
        cmocka_unit_test(handlers_never_wait),
        cmocka_unit_test(nothing_overtakes_what_is_kept),
        cmocka_unit_test(long_payloads_are_not_copied),
        cmocka_unit_test(where_long_begins),
        cmocka_unit_test(long_messages_are_bounded),
        cmocka_unit_test(quiet_is_when_all_is_handled),
        cmocka_unit_test(quiet_waits_for_every_node),
        cmocka_unit_test(who_leaves_early_is_named),
        cmocka_unit_test(who_leaves_in_order_is_no_problem),
        cmocka_unit_test(freeing_gives_payloads_back),
        cmocka_unit_test(no_handler_frees_its_endpoint),
        cmocka_unit_test(nodes_leave_while_others_send),
        cmocka_unit_test(the_profile_tells_of_messages),
        cmocka_unit_test(calls_that_handled_something_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
