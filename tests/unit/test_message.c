/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of active messages over loopback: names, order, room, long payloads, quiet, the end, and
 * the profile. */
#include "message_support.h"
#include "unit.h"

#include <pthread.h>
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(handlers_are_known_by_name),
        cmocka_unit_test(order_holds_where_senders_wait),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
