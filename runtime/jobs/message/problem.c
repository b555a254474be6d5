/* SPDX-License-Identifier: Apache-2.0 */
/* problem.c - what has become of messages, told once each. */
#include "failure.h"
#include "message_outbox.h"

#include <stdio.h>
#include <stdlib.h>

static const char *name_of(const struct rbwp_endpoint *endpoint, uint64_t hash)
{
    for (uint32_t i = 0; hash && i < endpoint->handler_count; i++)
        if (endpoint->handlers[i].hash == hash)
            return endpoint->handlers[i].name;
    return "";
}

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
static bool note_told(struct rbwp_endpoint *endpoint, int kind, uint32_t node, uint64_t hash)
{
    for (uint32_t i = 0; i < endpoint->told_count; i++) {
        const struct problem_told *told = &endpoint->told[i];
        if (told->kind == kind && told->node == node && told->handler == hash)
            return false;
    }
    if (endpoint->told_count == PROBLEMS_TOLD_MAX)
        return false;
    endpoint->told[endpoint->told_count++] =
        (struct problem_told){.handler = hash, .node = node, .kind = kind};
    return true;
}

void endpoint_tell(struct rbwp_endpoint *endpoint, int kind, uint32_t node, uint64_t hash,
                   const char *detail)
{
    struct rbwp_message_problem problem = {.kind = (enum rbwp_message_problem_kind)kind,
                                           .node = node,
                                           .handler = name_of(endpoint, hash)};
    fill_line(endpoint, kind, node, problem.handler, detail, &problem.error);
    pthread_mutex_lock(&endpoint->problem_lock);
    const bool is_new = note_told(endpoint, kind, node, hash);
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

/* ---- nodes that are lost --------------------------------------------------------- */

struct lost_note {
    struct lost_note *next;
    uint32_t node;
    bool in_order;
    char text[160];
};

/* Without memory for the note the item tells of no reason. */
void endpoint_lose(struct rbwp_endpoint *endpoint, uint32_t node, const char *text)
{
    if (atomic_exchange(&endpoint->peers[node].lost, true))
        return;
    struct lost_note *note = malloc(sizeof *note);
    if (note) {
        note->node = node;
        note->in_order = !text;
        snprintf(note->text, sizeof note->text, "%s", text ? text : "");
        note->next = atomic_load_explicit(&endpoint->lost_notes, memory_order_relaxed);
        while (!atomic_compare_exchange_weak(&endpoint->lost_notes, &note->next, note))
            ;
    }
    endpoint_wake(endpoint);
    outbox_changed(endpoint);
}

static void take_loss(struct rbwp_endpoint *endpoint, const struct lost_note *note)
{
    _Atomic uint32_t *first = note->in_order ? &endpoint->left_node : &endpoint->lost_node;
    uint32_t none = endpoint->nodes;
    (void)atomic_compare_exchange_strong(first, &none, note->node);
    if (note->in_order)
        quiesce_gone(endpoint, note->node);
    if (long_lose_node(endpoint, note->node) || !note->in_order)
        endpoint_tell(endpoint, RBWP_MESSAGE_NODE_LOST, note->node, 0,
                      note->in_order ? "it left before it took what was sent to it" : note->text);
}

void endpoint_forget_losses(struct rbwp_endpoint *endpoint)
{
    struct lost_note *notes = atomic_exchange(&endpoint->lost_notes, NULL);
    while (notes) {
        struct lost_note *note = notes;
        notes = note->next;
        free(note);
    }
}

bool endpoint_take_losses(struct rbwp_endpoint *endpoint)
{
    if (!atomic_load_explicit(&endpoint->lost_notes, memory_order_relaxed))
        return false;
    struct lost_note *notes = atomic_exchange(&endpoint->lost_notes, NULL);
    while (notes) {
        struct lost_note *note = notes;
        notes = note->next;
        take_loss(endpoint, note);
        free(note);
    }
    outbox_changed(endpoint);
    return true;
}
