/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges that any thread may stop: found by their number, under a lock. */
#include "range.h"

#include "record_extend.h"
#include "test_point.h"

#include <pthread.h>
#include <stdlib.h>

enum { LISTS = RBWP_RANGES_STARTED_MAX / 4 }; /* so that none gets long */

struct started {
    struct started *next;
    struct rbwp_open_range_ range;
    uint32_t session;
};

/* Guards what follows; nothing is taken inside it. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct started *lists[LISTS];
static uint32_t count;
static uint32_t cleared_for; /* session: the lists hold no ranges of earlier ones */

/* Who held the lock is not here, and may have been in the middle: what it knew is left alone. */
void started_forget(void)
{
    pthread_mutex_init(&lock, NULL);
    for (int i = 0; i < LISTS; i++)
        lists[i] = NULL;
    count = 0;
}

static void free_list(struct started *list)
{
    while (list) {
        struct started *next = list->next;
        free(list);
        list = next;
    }
}

/* What is left of earlier sessions was never stopped. Locked. */
static struct started *take_stale(uint32_t session)
{
    struct started *stale = NULL;
    TEST_POINT("range: looks through all that were started");
    cleared_for = session;
    for (int i = 0; i < LISTS; i++)
        for (struct started **at = &lists[i]; *at;) {
            struct started *one = *at;
            if (one->session == session) {
                at = &one->next;
                continue;
            }
            *at = one->next;
            one->next = stale;
            stale = one;
            count--;
        }
    return stale;
}

static bool keep(struct started *one)
{
    struct started *stale = NULL;
    pthread_mutex_lock(&lock);
    if (count == RBWP_RANGES_STARTED_MAX && cleared_for != one->session)
        stale = take_stale(one->session);
    bool room = count < RBWP_RANGES_STARTED_MAX;
    if (room) {
        struct started **list = &lists[one->range.number % LISTS];
        one->next = *list;
        *list = one;
        count++;
    }
    pthread_mutex_unlock(&lock);
    free_list(stale);
    return room;
}

static struct started *take(uint64_t number)
{
    pthread_mutex_lock(&lock);
    struct started **at = &lists[number % LISTS];
    while (*at && (*at)->range.number != number)
        at = &(*at)->next;
    struct started *one = *at;
    if (one) {
        *at = one->next;
        count--;
    }
    pthread_mutex_unlock(&lock);
    return one;
}

uint64_t rbwp_range_start_(uint64_t name, uint64_t id, struct rbwp_payload payload, uint64_t ticks)
{
    struct started *one = malloc(sizeof *one);
    if (!one) {
        rbwp_extend_loss(RBWP_LOSS_ROWS, 1);
        return 0;
    }
    one->session = range_session();
    one->range = (struct rbwp_open_range_){
        .start_ticks = ticks, .name = name, .id = id, .kind = RBWP_RANGE_STARTED};
    if (!range_write(&one->range, 0, payload)) {
        free(one);
        return 0;
    }
    const uint64_t number = one->range.number;
    if (keep(one))
        return number;
    free(one);
    rbwp_extend_loss(RBWP_LOSS_ROWS, 1);
    return 0;
}

void rbwp_range_stop_(uint64_t range, uint64_t ticks)
{
    struct rbwp_self_ *self = &rbwp_self_;
    struct started *one = range ? take(range) : NULL;
    if (!one) {
        rbwp_extend_loss(RBWP_LOSS_STRAY_END, range != 0);
        return;
    }
    if (one->session == range_session() && (self->thread || rbwp_thread_attach(NULL) == RBWP_OK) &&
        rbwp_enter_(self, 1)) {
        range_complete(&one->range, ticks);
        rbwp_leave_(self);
    }
    free(one);
}
