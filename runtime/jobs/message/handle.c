/* SPDX-License-Identifier: Apache-2.0 */
/* handle.c - what becomes of a message: its handler is called, or a problem is reported. */
#include "failure.h"
#include "message_endpoint.h"

static const struct message_handler *handler_at(const struct rbwp_endpoint *endpoint, uint64_t hash)
{
    for (uint32_t step = 0, i; (i = index_map_next(&endpoint->places, hash, &step)) != INDEX_NONE;)
        if (endpoint->handlers[i].hash == hash)
            return &endpoint->handlers[i];
    return NULL;
}

const struct message_handler *endpoint_find_handler(const struct rbwp_endpoint *endpoint,
                                                    uint64_t hash)
{
    const struct message_handler *handler = handler_at(endpoint, hash);
    return handler && handler->handle ? handler : NULL;
}

void endpoint_count_handled(struct rbwp_endpoint *endpoint, bool was_dropped)
{
    /* One writer: no locked operation. Release: after what the handler sent was counted. */
    atomic_store_explicit(&endpoint->handled,
                          atomic_load_explicit(&endpoint->handled, memory_order_relaxed) + 1,
                          memory_order_release);
    if (was_dropped)
        atomic_fetch_add_explicit(&endpoint->dropped, 1, memory_order_relaxed);
}

void endpoint_handle(struct rbwp_endpoint *endpoint, const struct message_handler *handler,
                     const struct rbwp_message *message, uint64_t arrived_ticks)
{
    (void)endpoint;
    if (!message_rows_are_on()) {
        handler->handle(handler->argument, message);
        return;
    }
    struct message_row row = {.start_ticks = rbwp_now_ticks(),
                              .arrived_ticks = arrived_ticks,
                              .name = handler->label.name,
                              .key = message->key,
                              .bytes = message->payload_bytes,
                              .peer = message->node};
    rbwp_fine_begin_at(handler->label.sub_item, row.start_ticks);
    handler->handle(handler->argument, message);
    row.stop_ticks = rbwp_now_ticks();
    rbwp_fine_end_at(row.stop_ticks);
    if (arrived_ticks) /* else it came before the session */
        message_row_handled(&row);
}

/* ---- what has become of messages, reported once each ----------------------------------------- */

static void fill_line(const struct rbwp_endpoint *endpoint, int kind, uint32_t node,
                      const char *name, const char *detail, struct rbwp_error *error)
{
    switch (kind) {
    case RBWP_MESSAGE_NO_HANDLER:
        (void)failure(error, RBWP_E_INVALID, 0,
                      "message: node %u has no handler \"%.100s\" and drops messages for it: "
                      "register it there before rbwp_endpoint_start",
                      node, name);
        break;
    case RBWP_MESSAGE_TOO_LONG:
        (void)failure(error, RBWP_E_LIMIT, 0,
                      "message: node %u takes no payload as long as one for \"%.100s\" was; see "
                      "payload_bytes_max",
                      node, name);
        break;
    case RBWP_MESSAGE_NO_MEMORY:
        (void)failure(error, RBWP_E_MEMORY, 0,
                      "message: node %u had no memory for a payload for \"%.100s\" and dropped it",
                      node, name);
        break;
    case RBWP_MESSAGE_NODE_LOST:
        (void)failure(error, RBWP_E_IO, 0, "message: node %u of %u is lost to node %u: %.150s",
                      node, endpoint->nodes, endpoint->node, detail);
        break;
    default:
        (void)failure(error, RBWP_E_CORRUPT, 0,
                      "message: what came from node %u is no packet and was dropped: %.100s", node,
                      detail);
    }
}

/* Locked. True: it is new. What there is no room for is old. */
static bool note_reported(struct rbwp_endpoint *endpoint, int kind, uint32_t node, uint64_t hash)
{
    for (uint32_t i = 0; i < endpoint->reported_count; i++) {
        const struct problem_reported *reported = &endpoint->reported[i];
        if (reported->kind == kind && reported->node == node && reported->handler == hash)
            return false;
    }
    if (endpoint->reported_count == PROBLEMS_REPORTED_MAX)
        return false;
    endpoint->reported[endpoint->reported_count++] =
        (struct problem_reported){.handler = hash, .node = node, .kind = kind};
    return true;
}

void endpoint_tell(struct rbwp_endpoint *endpoint, int kind, uint32_t node, uint64_t hash,
                   const char *detail)
{
    const struct message_handler *handler = handler_at(endpoint, hash);
    struct rbwp_message_problem problem = {.kind = (enum rbwp_message_problem_kind)kind,
                                           .node = node,
                                           .handler = handler ? handler->name : ""};
    fill_line(endpoint, kind, node, problem.handler, detail, &problem.error);
    pthread_mutex_lock(&endpoint->problem_lock);
    const bool is_new = note_reported(endpoint, kind, node, hash);
    if (is_new && !endpoint->first_problem) {
        endpoint->first_problem = kind;
        endpoint->first_error = problem.error;
    }
    pthread_mutex_unlock(&endpoint->problem_lock);
    if (is_new && endpoint->problem)
        endpoint->problem(endpoint->problem_argument, &problem);
}

int rbwp_endpoint_problem(struct rbwp_endpoint *endpoint, struct rbwp_error *error)
{
    pthread_mutex_lock(&endpoint->problem_lock);
    const int kind = endpoint->first_problem;
    if (error)
        *error =
            kind ? endpoint->first_error : (struct rbwp_error){.offset = UINT64_MAX, .section = ""};
    pthread_mutex_unlock(&endpoint->problem_lock);
    return kind;
}
