/* SPDX-License-Identifier: Apache-2.0 */
#include "slot_wishes.h"

#include "on_load.h"
#include "slot_limits.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct wish {
    char *name;
    enum slot_wish wish;
    uint64_t least_ns;
};

/* Guards the list. slot_limits' calls are made inside it. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct wish wishes[SLOT_WISHES_MAX];
static _Atomic unsigned count; /* read without the lock as well: mostly there are none */

static void forget_in_child(void)
{
    pthread_mutex_init(&lock, NULL);
}

ON_LOAD static void prepare_for_forks(void)
{
    pthread_atfork(NULL, NULL, forget_in_child);
}

bool slot_wishes_add(const char *name, enum slot_wish wish, uint64_t least_ns)
{
    char *copy = strdup(name);
    pthread_mutex_lock(&lock);
    bool added = copy && count < SLOT_WISHES_MAX;
    if (added)
        wishes[count++] = (struct wish){copy, wish, least_ns};
    pthread_mutex_unlock(&lock);
    if (!added)
        free(copy);
    return added;
}

void slot_wishes_lift(void (*lift)(const char *name, enum slot_wish wish))
{
    pthread_mutex_lock(&lock);
    while (count > 0) {
        const struct wish *last = &wishes[--count];
        if (lift)
            lift(last->name, last->wish);
        free(last->name);
    }
    pthread_mutex_unlock(&lock);
}

void slot_wishes_forget(void)
{
    slot_wishes_lift(NULL);
}

void slot_wishes_named(unsigned slot, const char *name)
{
    if (atomic_load_explicit(&count, memory_order_relaxed) == 0)
        return;
    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < count; i++)
        if (strcmp(wishes[i].name, name) == 0) {
            if (wishes[i].wish == SLOT_WISH_LEAST)
                slot_limits_set_least(slot, wishes[i].least_ns);
            else
                slot_limits_set_disabled(slot, wishes[i].wish == SLOT_WISH_DISABLED);
        }
    pthread_mutex_unlock(&lock);
}
