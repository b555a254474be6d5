/* SPDX-License-Identifier: Apache-2.0 */
#include "failure.h"
#include "message_outbox.h"
#include "work_extend.h"

static uint32_t parent_of(uint32_t node)
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

static void reach(struct rbwp_endpoint *endpoint, uint64_t epoch)
{
    struct quiesce *quiesce = &endpoint->quiesce;
    tell_children(endpoint, (struct packet_head){.kind = PACKET_QUIET, .key = epoch});
    quiesce->quiet_sent = atomic_load_explicit(&endpoint->sent, memory_order_relaxed);
    quiesce->quiet_handled = atomic_load_explicit(&endpoint->handled, memory_order_relaxed);
    atomic_store_explicit(&quiesce->reached, epoch, memory_order_release);
    outbox_changed(endpoint);
}

/* ---- packets -------------------------------------------------------------------- */

static bool take_counted(struct rbwp_endpoint *endpoint, uint32_t node,
                         const struct packet_head *head)
{
    struct quiesce *quiesce = &endpoint->quiesce;
    if (node == 0 || parent_of(node) != endpoint->node || !quiesce->asked ||
        head->word != quiesce->round || quiesce->missing == 0)
        return false;
    quiesce->missing--;
    quiesce->sent += head->key;
    quiesce->handled += head->bytes;
    return true;
}

bool quiesce_take(struct rbwp_endpoint *endpoint, uint32_t node, const struct packet_head *head)
{
    const bool from_above = endpoint->node > 0 && node == parent_of(endpoint->node);
    switch (head->kind) {
    case PACKET_ASK:
        if (from_above)
            begin_round(endpoint, head->key, head->word);
        return from_above;
    case PACKET_COUNTED:
        return take_counted(endpoint, node, head);
    case PACKET_QUIET:
        if (from_above)
            reach(endpoint, head->key);
        return from_above;
    default:
        return false;
    }
}

/* ---- answers ---------------------------------------------------------------------- */

/* The root has the sums of all nodes. */
static void judge(struct rbwp_endpoint *endpoint, uint64_t sent, uint64_t handled)
{
    struct quiesce *quiesce = &endpoint->quiesce;
    const bool quiet = quiesce->has_last && sent == handled && sent == quiesce->last_sent &&
                       handled == quiesce->last_handled;
    quiesce->has_last = !quiet;
    quiesce->last_sent = sent;
    quiesce->last_handled = handled;
    if (quiet)
        reach(endpoint, quiesce->epoch);
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
        judge(endpoint, sent, handled);
    else
        outbox_tell(
            endpoint, parent_of(endpoint->node),
            (struct packet_head){
                .kind = PACKET_COUNTED, .key = sent, .bytes = handled, .word = quiesce->round});
}

bool quiesce_idle(struct rbwp_endpoint *endpoint)
{
    struct quiesce *quiesce = &endpoint->quiesce;
    const uint64_t entered = atomic_load_explicit(&quiesce->entered, memory_order_acquire);
    const uint64_t reached = atomic_load_explicit(&quiesce->reached, memory_order_relaxed);
    bool said = false;
    if (endpoint->node == 0 && entered > reached && !quiesce->asked) {
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
    return endpoint->nodes == 1 || (atomic_load(&quiesce->reached) > 0 &&
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

static enum rbwp_status look(struct rbwp_endpoint *endpoint, uint64_t epoch,
                             struct rbwp_error *error)
{
    if (atomic_load_explicit(&endpoint->quiesce.reached, memory_order_acquire) >= epoch &&
        outbox_is_empty(endpoint))
        return RBWP_OK;
    const uint32_t lost = atomic_load(&endpoint->lost_node);
    return lost < endpoint->nodes ? name_lost(endpoint, lost, error) : RBWP_AGAIN;
}

/* Announces that this node has come; again and again until the epoch is over. */
static enum rbwp_status enter(struct rbwp_endpoint *endpoint, uint64_t *epoch_out,
                              struct rbwp_error *error)
{
    struct quiesce *quiesce = &endpoint->quiesce;
    const uint64_t entered = atomic_load_explicit(&quiesce->entered, memory_order_relaxed);
    *epoch_out = entered;
    if (quiesce->is_waited_for)
        return RBWP_OK;
    const uint32_t left = atomic_load(&endpoint->left_node);
    if (left < endpoint->nodes)
        return name_lost(endpoint, left, error);
    quiesce->is_waited_for = true;
    *epoch_out = entered + 1;
    atomic_store_explicit(&quiesce->entered, entered + 1, memory_order_release);
    endpoint_wake(endpoint);
    return RBWP_OK;
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
        status = look(endpoint, epoch, error);
    while (status == RBWP_AGAIN && lend_or_sleep(endpoint, &wait));
    outbox_wait_end(endpoint);
    return status;
}

enum rbwp_status rbwp_endpoint_quiesce(struct rbwp_endpoint *endpoint, uint64_t wait_ns,
                                       struct rbwp_error *error)
{
    uint64_t epoch;
    if (atomic_load_explicit(&endpoint->phase, memory_order_acquire) != ENDPOINT_STARTED)
        return failure(error, RBWP_E_STATE, 0, "message: the endpoint is not started");
    enum rbwp_status status = enter(endpoint, &epoch, error);
    if (status != RBWP_OK)
        return status;
    status = look(endpoint, epoch, error);
    if (status == RBWP_AGAIN && wait_ns > 0 && !work_is_inside())
        status = wait_for(endpoint, epoch, wait_ns, error);
    if (status == RBWP_OK)
        endpoint->quiesce.is_waited_for = false;
    else if (status == RBWP_AGAIN)
        (void)failure(error, status, 0, "message: the job is not quiet yet");
    return status;
}
