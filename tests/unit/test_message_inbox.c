/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of message_inbox.c: nothing is lost, doubled or torn, and nobody sleeps over a packet. */
#include "message_endpoint.h"
#include "test_point.h"
#include "unit.h"

#include <pthread.h>
#include <sched.h>
#include <string.h>

enum { PUTTERS = 3, PACKETS = 20000 };

static struct rbwp_packet packet_of(const void *data, uint32_t bytes)
{
    return (struct rbwp_packet){.count = 1, .bytes = bytes, .piece = {{data, bytes}}};
}

static struct inbox make(void)
{
    struct inbox inbox;
    assert_int_equal(inbox_make(&inbox, 1), RBWP_OK);
    assert_int_equal(inbox.capacity, INBOX_BYTES_MIN);
    return inbox;
}

/* Guards: packets of all lengths come out as they went in, over many rounds of the memory, with the
 * bytes between a packet and the next clear. */
static void lengths_and_wrapping(void **state)
{
    (void)state;
    struct inbox inbox = make();
    uint8_t bytes[5000];
    memset(bytes, 0xff, sizeof bytes);
    for (uint32_t i = 0; i < 500; i++) {
        const uint32_t length = i * 37 % 5000;
        const struct rbwp_packet packet = packet_of(bytes, length);
        assert_int_not_equal(inbox_put(&inbox, i, i + 1, &packet), INBOX_FULL);
        const struct inbox_entry *entry = inbox_peek(&inbox);
        assert_non_null(entry);
        assert_int_equal(entry->node, i);
        assert_int_equal(entry->arrived_ticks, i + 1);
        assert_int_equal(entry->packet_bytes, length);
        assert_memory_equal(entry + 1, bytes, length);
        inbox_drop(&inbox);
        assert_null(inbox_peek(&inbox));
        inbox_give_back(&inbox);
    }
    assert_int_equal(inbox_used(&inbox), 0);
    inbox_unmake(&inbox);
}

/* Guards: a full inbox takes nothing until bytes are given back, and then all it has room for. */
static void full_and_given_back(void **state)
{
    (void)state;
    struct inbox inbox = make();
    uint8_t bytes[1100] = {0};
    const struct rbwp_packet packet = packet_of(bytes, sizeof bytes);
    uint32_t fit = 0;
    while (inbox_put(&inbox, 0, 0, &packet) != INBOX_FULL)
        fit++;
    assert_int_equal(fit, INBOX_BYTES_MIN / (1104 + sizeof(struct inbox_entry)));
    assert_non_null(inbox_peek(&inbox));
    inbox_drop(&inbox);
    assert_int_equal(inbox_put(&inbox, 0, 0, &packet), INBOX_FULL);
    inbox_give_back(&inbox);
    /* The end of the memory is too short for one and is passed over. */
    assert_int_not_equal(inbox_put(&inbox, 0, 0, &packet), INBOX_FULL);
    assert_int_equal(inbox_put(&inbox, 0, 0, &packet), INBOX_FULL);
    while (inbox_peek(&inbox))
        inbox_drop(&inbox);
    inbox_give_back(&inbox);
    assert_int_equal(inbox_used(&inbox), 0);
    inbox_unmake(&inbox);
}

/* Guards: exactly one put after the taker went idle is told to fetch it. */
static void one_fetches_the_taker(void **state)
{
    (void)state;
    struct inbox inbox = make();
    const struct rbwp_packet packet = packet_of("x", 1);
    assert_int_equal(inbox_put(&inbox, 0, 0, &packet), INBOX_PUT_TO_IDLE);
    assert_int_equal(inbox_put(&inbox, 0, 0, &packet), INBOX_PUT);
    assert_false(inbox_go_idle(&inbox)); /* there is something */
    inbox_drop(&inbox);
    inbox_drop(&inbox);
    assert_true(inbox_go_idle(&inbox));
    assert_int_equal(inbox_put(&inbox, 0, 0, &packet), INBOX_PUT_TO_IDLE);
    inbox_unmake(&inbox);
}

_Atomic(test_point_fn) test_point_hook;

static struct {
    struct inbox inbox;
    _Atomic int step; /* relaxed: it orders the two in time alone (test_locks.c) */
} held;
static _Thread_local bool is_held;

static void wait_for_step(int step)
{
    while (atomic_load_explicit(&held.step, memory_order_relaxed) < step)
        sched_yield();
}

/* A putter has seen the taker idle, which another one fetches meanwhile, and which goes again. */
static void hold_putter(const char *place)
{
    if (!is_held || strcmp(place, "inbox: the taker was idle") != 0)
        return;
    atomic_store_explicit(&held.step, 1, memory_order_relaxed);
    wait_for_step(2);
}

static void *put_and_take(void *unused)
{
    const struct rbwp_packet packet = packet_of("x", 1);
    is_held = true;
    assert_int_equal(inbox_put(&held.inbox, 0, 0, &packet), INBOX_PUT_TO_IDLE);
    assert_null(inbox_peek(&held.inbox)); /* the taker has taken it already */
    return unused;
}

/* Guards: who is told to fetch the taker, and works in its place, sees all that it did before it
 * went, also where it had seen it idle an earlier time. For ThreadSanitizer. */
static void who_fetches_sees_what_the_taker_did(void **state)
{
    (void)state;
    pthread_t thread;
    const struct rbwp_packet packet = packet_of("y", 1);
    held.inbox = make();
    atomic_store(&test_point_hook, hold_putter);
    assert_true(inbox_go_idle(&held.inbox));
    assert_int_equal(pthread_create(&thread, NULL, put_and_take, NULL), 0);
    wait_for_step(1);
    assert_int_equal(inbox_put(&held.inbox, 1, 0, &packet), INBOX_PUT_TO_IDLE);
    for (uint32_t node = 0; node < 2; node++) {
        assert_int_equal(inbox_peek(&held.inbox)->node, node);
        inbox_drop(&held.inbox);
    }
    assert_true(inbox_go_idle(&held.inbox));
    atomic_store_explicit(&held.step, 2, memory_order_relaxed);
    assert_int_equal(pthread_join(thread, NULL), 0);
    atomic_store(&test_point_hook, NULL);
    inbox_unmake(&held.inbox);
}

struct putter {
    struct inbox *inbox;
    _Atomic uint32_t *fetched;
    uint32_t number;
};

static void *put_many(void *argument)
{
    const struct putter *putter = argument;
    uint32_t words[40];
    for (uint32_t i = 0; i < PACKETS; i++) {
        const uint32_t count = 1 + i % 40;
        for (uint32_t w = 0; w < count; w++)
            words[w] = i;
        const struct rbwp_packet packet = packet_of(words, count * 4);
        enum inbox_put_result result;
        while ((result = inbox_put(putter->inbox, putter->number, 0, &packet)) == INBOX_FULL)
            sched_yield();
        if (result == INBOX_PUT_TO_IDLE)
            atomic_fetch_add(putter->fetched, 1);
    }
    return NULL;
}

static void check_entry(const struct inbox_entry *entry, uint32_t expected)
{
    uint32_t words[40];
    assert_int_equal(entry->packet_bytes, (1 + expected % 40) * 4);
    memcpy(words, entry + 1, entry->packet_bytes);
    for (uint32_t w = 0; w < entry->packet_bytes / 4; w++)
        assert_int_equal(words[w], expected);
}

/* Guards: with several putters and a taker that sleeps in between, the packets of each come whole
 * and in order, and the taker is fetched for every one that it did not see itself. */
static void putters_and_a_taker(void **state)
{
    (void)state;
    struct inbox inbox = make();
    _Atomic uint32_t fetched = 0;
    struct putter putters[PUTTERS];
    pthread_t threads[PUTTERS];
    uint32_t next[PUTTERS] = {0}, slept = 0, total = 0;
    for (uint32_t i = 0; i < PUTTERS; i++) {
        putters[i] = (struct putter){&inbox, &fetched, i};
        assert_int_equal(pthread_create(&threads[i], NULL, put_many, &putters[i]), 0);
    }
    while (total < PUTTERS * PACKETS) {
        /* Asleep until it is fetched, once more for each sleep. */
        while (atomic_load(&fetched) == slept)
            sched_yield();
        slept++;
        do {
            const struct inbox_entry *entry;
            while ((entry = inbox_peek(&inbox))) {
                assert_true(entry->node < PUTTERS);
                check_entry(entry, next[entry->node]++);
                inbox_drop(&inbox);
                inbox_give_back(&inbox);
                total++;
            }
        } while (!inbox_go_idle(&inbox));
    }
    for (uint32_t i = 0; i < PUTTERS; i++)
        pthread_join(threads[i], NULL);
    inbox_unmake(&inbox);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lengths_and_wrapping),
        cmocka_unit_test(full_and_given_back),
        cmocka_unit_test(one_fetches_the_taker),
        cmocka_unit_test(who_fetches_sees_what_the_taker_did),
        cmocka_unit_test(putters_and_a_taker),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
