/* SPDX-License-Identifier: Apache-2.0 */
#include "failure.h"
#include "message_endpoint.h"
#include "work_extend.h"

static uint32_t quiesce_parent_of(uint32_t node)
{
    return (node - 1) / QUIESCE_FAN;
}

static uint64_t first_child_of(uint32_t node)
{
    return (uint64_t)node * QUIESCE_FAN + 1;
}

static uint32_t children_of(const struct rbwp_endpoint *endpoint)
{
    const uint64_t first = first_child_of(endpoint->node);
    if (first >= endpoint->nodes)
        return 0;
    const uint64_t left = endpoint->nodes - first;
    return left < QUIESCE_FAN ? (uint32_t)left : QUIESCE_FAN;
}

static void tell_children(struct rbwp_endpoint *endpoint, struct packet_head head)
{
    const uint32_t first = (uint32_t)first_child_of(endpoint->node);
    for (uint32_t i = 0, count = children_of(endpoint); i < count; i++)
        outbox_tell(endpoint, first + i, head);
}

/* All that are next to this one in the tree. */
static void tell_next(struct rbwp_endpoint *endpoint, struct packet_head head)
{
    if (endpoint->node > 0)
        outbox_tell(endpoint, quiesce_parent_of(endpoint->node), head);
    tell_children(endpoint, head);
}

static void begin_round(struct rbwp_endpoint *endpoint, uint64_t epoch, uint64_t round)
{
    struct quiesce *quiesce = &endpoint->quiesce;
    quiesce->epoch = epoch;
    quiesce->round = round;
    quiesce->asked = true;
    quiesce->missing = children_of(endpoint);
    quiesce->sent = quiesce->handled = 0;
    tell_children(endpoint, (struct packet_head){.kind = PACKET_ASK, .key = epoch, .word = round});
}

static void quiesce_reach(struct rbwp_endpoint *endpoint, uint64_t epoch)
{
    struct quiesce *quiesce = &endpoint->quiesce;
    tell_children(endpoint, (struct packet_head){.kind = PACKET_QUIET, .key = epoch});
    quiesce->quiet_sent = atomic_load_explicit(&endpoint->sent, memory_order_relaxed);
    quiesce->quiet_handled = atomic_load_explicit(&endpoint->handled, memory_order_relaxed);
    atomic_store_explicit(&quiesce->reached, epoch, memory_order_release);
    outbox_changed(endpoint);
}

/* ---- nodes that have gone ------------------------------------------------------- */

_Static_assert(RBWP_MESSAGE_NODES_MAX <= 1u << QUIESCE_NODE_BITS, "a node fits");

void quiesce_init(struct rbwp_endpoint *endpoint)
{
    endpoint->quiesce.gone = endpoint->nodes;
    endpoint->quiesce.never_spread = UINT64_MAX;
    atomic_init(&endpoint->quiesce.never, UINT64_MAX);
}

static bool is_next(const struct rbwp_endpoint *endpoint, uint32_t node)
{
    return (endpoint->node > 0 && node == quiesce_parent_of(endpoint->node)) ||
           (node > 0 && quiesce_parent_of(node) == endpoint->node);
}

void quiesce_gone(struct rbwp_endpoint *endpoint, uint32_t node)
{
    if (is_next(endpoint, node))
        endpoint->quiesce.gone = node;
}

void quiesce_say_gone(struct rbwp_endpoint *endpoint)
{
    tell_next(endpoint, (struct packet_head){.kind = PACKET_GONE});
}

/* Any thread. */
static void note_never(struct rbwp_endpoint *endpoint, uint64_t never)
{
    uint64_t known = atomic_load(&endpoint->quiesce.never);
    while (never < known && !atomic_compare_exchange_weak(&endpoint->quiesce.never, &known, never))
        ;
}

/* True: it said something. Only when idle: what the one that has gone had sent was taken first. */
static bool spread_never(struct rbwp_endpoint *endpoint, uint64_t entered, uint64_t reached)
{
    struct quiesce *quiesce = &endpoint->quiesce;
    if (quiesce->gone < endpoint->nodes && entered > reached)
        note_never(endpoint, QUIESCE_NEVER(entered, quiesce->gone));
    const uint64_t never = atomic_load(&quiesce->never);
    if (never >= quiesce->never_spread)
        return false;
    quiesce->never_spread = never;
    tell_next(endpoint, (struct packet_head){.kind = PACKET_NEVER,
                                             .key = never >> QUIESCE_NODE_BITS,
                                             .word = never & ((1u << QUIESCE_NODE_BITS) - 1)});
    outbox_changed(endpoint);
    return true;
}

static bool take_never(struct rbwp_endpoint *endpoint, uint32_t node,
                       const struct packet_head *head)
{
    if (!is_next(endpoint, node) || head->word >= endpoint->nodes ||
        head->key >= UINT64_C(1) << (64 - QUIESCE_NODE_BITS))
        return false;
    note_never(endpoint, QUIESCE_NEVER(head->key, head->word));
    return true;
}

/* ---- packets -------------------------------------------------------------------- */

static bool take_counted(struct rbwp_endpoint *endpoint, uint32_t node,
                         const struct packet_head *head)
{
    struct quiesce *quiesce = &endpoint->quiesce;
    if (node == 0 || quiesce_parent_of(node) != endpoint->node || head->word != quiesce->round ||
        quiesce->missing == 0)
        return false;
    quiesce->missing--;
    quiesce->sent += head->key;
    quiesce->handled += head->bytes;
    return true;
}

bool quiesce_take(struct rbwp_endpoint *endpoint, uint32_t node, const struct packet_head *head)
{
    const bool from_above = endpoint->node > 0 && node == quiesce_parent_of(endpoint->node);
    switch (head->kind) {
    case PACKET_ASK:
        if (from_above)
            begin_round(endpoint, head->key, head->word);
        return from_above;
    case PACKET_COUNTED:
        return take_counted(endpoint, node, head);
    case PACKET_QUIET:
        if (from_above)
            quiesce_reach(endpoint, head->key);
        return from_above;
    case PACKET_NEVER:
        return take_never(endpoint, node, head);
    default:
        return false;
    }
}

/* ---- answers ---------------------------------------------------------------------- */

/* The root has the sums of all nodes. */
static void quiesce_judge(struct rbwp_endpoint *endpoint, uint64_t sent, uint64_t handled)
{
    struct quiesce *quiesce = &endpoint->quiesce;
    const bool quiet = quiesce->has_last && sent == handled && sent == quiesce->last_sent &&
                       handled == quiesce->last_handled;
    quiesce->has_last = !quiet;
    quiesce->last_sent = sent;
    quiesce->last_handled = handled;
    if (quiet)
        quiesce_reach(endpoint, quiesce->epoch);
    else
        begin_round(endpoint, quiesce->epoch, quiesce->round + 1);
}

static void answer(struct rbwp_endpoint *endpoint)
{
    struct quiesce *quiesce = &endpoint->quiesce;
    const uint64_t handled = quiesce->handled + atomic_load(&endpoint->handled);
    const uint64_t sent = quiesce->sent + atomic_load(&endpoint->sent);
    quiesce->asked = false;
    if (endpoint->node == 0)
        quiesce_judge(endpoint, sent, handled);
    else
        outbox_tell(
            endpoint, quiesce_parent_of(endpoint->node),
            (struct packet_head){
                .kind = PACKET_COUNTED, .key = sent, .bytes = handled, .word = quiesce->round});
}

bool quiesce_idle(struct rbwp_endpoint *endpoint)
{
    struct quiesce *quiesce = &endpoint->quiesce;
    const uint64_t entered = atomic_load_explicit(&quiesce->entered, memory_order_acquire);
    const uint64_t reached = atomic_load_explicit(&quiesce->reached, memory_order_relaxed);
    bool said = spread_never(endpoint, entered, reached);
    const bool is_hopeful = entered < atomic_load(&quiesce->never) >> QUIESCE_NODE_BITS;
    if (endpoint->node == 0 && entered > reached && !quiesce->asked && is_hopeful) {
        begin_round(endpoint, entered, quiesce->round + 1);
        said = true;
    }
    /* Nodes without others below need no second call for the second round. */
    while (quiesce->asked && quiesce->missing == 0 && entered >= quiesce->epoch) {
        answer(endpoint);
        said = true;
    }
    return said;
}

bool quiesce_is_over(const struct rbwp_endpoint *endpoint)
{
    const struct quiesce *quiesce = &endpoint->quiesce;
    const uint64_t reached = atomic_load(&quiesce->reached);
    return endpoint->nodes == 1 || (reached > 0 && reached == atomic_load(&quiesce->entered) &&
                                    quiesce->quiet_sent == atomic_load(&endpoint->sent) &&
                                    quiesce->quiet_handled == atomic_load(&endpoint->handled));
}

/* ---- who waits ------------------------------------------------------------------------ */

static enum rbwp_status name_lost(struct rbwp_endpoint *endpoint, uint32_t node,
                                  struct rbwp_error *error)
{
    return failure(error, RBWP_E_IO, 0,
                   "message: node %u of %u is lost to node %u: the job will not be quiet any more",
                   node, endpoint->nodes, endpoint->node);
}

static enum rbwp_status name_gone(struct rbwp_endpoint *endpoint, uint32_t node,
                                  struct rbwp_error *error)
{
    return failure(error, RBWP_E_IO, 0,
                   "message: node %u of %u has left after the job was quiet: for node %u it will "
                   "not be quiet again",
                   node, endpoint->nodes, endpoint->node);
}

static enum rbwp_status quiesce_look(struct rbwp_endpoint *endpoint, uint64_t epoch,
                                     struct rbwp_error *error)
{
    if (atomic_load_explicit(&endpoint->quiesce.reached, memory_order_acquire) >= epoch &&
        outbox_is_empty(endpoint))
        return RBWP_OK;
    const uint32_t lost = atomic_load(&endpoint->lost_node);
    if (lost < endpoint->nodes)
        return name_lost(endpoint, lost, error);
    const uint64_t never = atomic_load(&endpoint->quiesce.never);
    return never >> QUIESCE_NODE_BITS <= epoch
               ? name_gone(endpoint, never & ((1u << QUIESCE_NODE_BITS) - 1), error)
               : RBWP_AGAIN;
}

/* Announces that this node has come; again and again until the epoch is over. Its number. */
static uint64_t quiesce_enter(struct rbwp_endpoint *endpoint)
{
    struct quiesce *quiesce = &endpoint->quiesce;
    uint64_t entered = atomic_load_explicit(&quiesce->entered, memory_order_relaxed);
    if (quiesce->is_waited_for)
        return entered;
    entered++;
    /* Who has left by now was in no later epoch than this node. */
    const uint32_t left = atomic_load(&endpoint->left_node);
    if (left < endpoint->nodes)
        note_never(endpoint, QUIESCE_NEVER(entered, left));
    quiesce->is_waited_for = true;
    atomic_store_explicit(&quiesce->entered, entered, memory_order_release);
    endpoint_wake(endpoint); /* also to inform others of who has left */
    return entered;
}

/* True: it was worth it to look again. */
static bool lend_or_sleep(struct rbwp_endpoint *endpoint, struct outbox_wait *wait)
{
    if (endpoint->is_lent_only && rbwp_work_run(endpoint->manager, 0) == RBWP_OK)
        return !outbox_wait_is_over(wait);
    return outbox_wait(endpoint, wait);
}

static enum rbwp_status wait_for(struct rbwp_endpoint *endpoint, uint64_t epoch, uint64_t wait_ns,
                                 struct rbwp_error *error)
{
    struct outbox_wait wait;
    enum rbwp_status status;
    outbox_wait_begin(endpoint, wait_ns, &wait);
    do
        status = quiesce_look(endpoint, epoch, error);
    while (status == RBWP_AGAIN && lend_or_sleep(endpoint, &wait));
    outbox_wait_end(endpoint);
    return status;
}

enum rbwp_status rbwp_endpoint_quiesce(struct rbwp_endpoint *endpoint, uint64_t wait_ns,
                                       struct rbwp_error *error)
{
    if (atomic_load_explicit(&endpoint->phase, memory_order_acquire) != ENDPOINT_STARTED)
        return failure(error, RBWP_E_STATE, 0, "message: the endpoint is not started");
    const uint64_t epoch = quiesce_enter(endpoint);
    enum rbwp_status status = quiesce_look(endpoint, epoch, error);
    if (status == RBWP_AGAIN && wait_ns > 0 && !rbwp_extend_work_inside())
        status = wait_for(endpoint, epoch, wait_ns, error);
    if (status == RBWP_OK)
        endpoint->quiesce.is_waited_for = false;
    else if (status == RBWP_AGAIN)
        (void)failure(error, status, 0, "message: the job is not quiet yet");
    return status;
}
