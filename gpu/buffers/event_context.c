/* SPDX-License-Identifier: Apache-2.0 */
/* The context by which a kernel finds the buffers of its events. */
#include "rbwp_events.h"
#include "refuse.h"
#include "sized.h"

#include <string.h>

/* Behind the ranks' heaps. */
enum { FLAG = 2, MAX_EVENTS = 3, COUNTER = 4, OP_COUNTER = 5, COLUMNS = 6 };

enum rbwp_status rbwp_events_encode_context(const struct rbwp_events_context *context,
                                            int64_t *words, size_t room, struct rbwp_error *error)
{
    struct rbwp_events_context own;
    enum rbwp_status status = sized_take(&own, sizeof own, context, "rbwp_events_context", error);
    if (status != RBWP_OK)
        return status;
    if (!own.ranks || own.ranks > RBWP_EVENTS_RANKS_MAX || own.rank >= own.ranks)
        return refuse(error, RBWP_E_INVALID, "context: rank %u of %u", own.rank, own.ranks);
    if (own.max_events < 0 || own.max_events > INT32_MAX)
        return refuse(error, RBWP_E_INVALID, "context: %lld events", (long long)own.max_events);
    if (room < RBWP_EVENTS_CONTEXT_WORDS(own.ranks))
        return refuse(error, RBWP_E_LIMIT, "context: %u ranks need %u words, there is room for %zu",
                      own.ranks, RBWP_EVENTS_CONTEXT_WORDS(own.ranks), room);
    memset(words, 0, RBWP_EVENTS_CONTEXT_WORDS(own.ranks) * sizeof *words);
    words[0] = own.rank;
    words[1] = own.ranks;
    if (own.heaps)
        memcpy(words + FLAG, own.heaps, own.ranks * sizeof *words);
    if (!own.enabled)
        return RBWP_OK;
    int64_t *behind = words + own.ranks;
    behind[FLAG] = 1;
    behind[MAX_EVENTS] = own.max_events;
    behind[COUNTER] = (int64_t)own.counter;
    behind[OP_COUNTER] = (int64_t)own.op_counter;
    for (unsigned i = 0; i < RBWP_EVENTS_COLUMNS; i++)
        behind[COLUMNS + i] = (int64_t)own.columns[i];
    return RBWP_OK;
}

enum rbwp_status rbwp_events_decode_context(const int64_t *words, size_t count,
                                            struct rbwp_events_context *context_out,
                                            struct rbwp_error *error)
{
    struct rbwp_events_context own = {.size = context_out->size};
    if (count < 3)
        return refuse(error, RBWP_E_TRUNCATED, "context: %zu words", count);
    if (words[1] < 1 || words[1] > RBWP_EVENTS_RANKS_MAX || words[0] < 0 || words[0] >= words[1])
        return refuse(error, RBWP_E_CORRUPT, "context: rank %lld of %lld", (long long)words[0],
                      (long long)words[1]);
    own.rank = (uint32_t)words[0];
    own.ranks = (uint32_t)words[1];
    own.heaps = words + FLAG;
    if (count < RBWP_EVENTS_SHORT_CONTEXT_WORDS(own.ranks))
        return refuse(error, RBWP_E_TRUNCATED, "context: %zu words are too few for %u ranks", count,
                      own.ranks);
    const int64_t *behind = words + own.ranks;
    own.enabled = behind[FLAG] != 0;
    if (own.enabled && count < RBWP_EVENTS_CONTEXT_WORDS(own.ranks))
        return refuse(error, RBWP_E_TRUNCATED,
                      "context: events are on, but %zu words are too few for %u ranks", count,
                      own.ranks);
    if (own.enabled) {
        if (behind[MAX_EVENTS] < 0 || behind[MAX_EVENTS] > INT32_MAX)
            return refuse(error, RBWP_E_CORRUPT, "context: %lld events",
                          (long long)behind[MAX_EVENTS]);
        own.max_events = behind[MAX_EVENTS];
        own.counter = (uint64_t)behind[COUNTER];
        own.op_counter = (uint64_t)behind[OP_COUNTER];
        for (unsigned i = 0; i < RBWP_EVENTS_COLUMNS; i++)
            own.columns[i] = (uint64_t)behind[COLUMNS + i];
    }
    sized_give(context_out, own.size, &own, sizeof own);
    return RBWP_OK;
}
