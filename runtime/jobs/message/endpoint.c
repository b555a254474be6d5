/* SPDX-License-Identifier: Apache-2.0 */
/* endpoint.c - endpoints and their handlers come and go. */
#include "failure.h"
#include "grow.h"
#include "message_endpoint.h"
#include "work_extend.h"

#include <stdlib.h>
#include <string.h>

#define INBOX_DEFAULT_BYTES (UINT64_C(1) << 20)
#define WINDOW_DEFAULT 1024u
#define LONG_MAX_DEFAULT 1024u
#define PAYLOAD_DEFAULT_BYTES (UINT64_C(1) << 30)
#define INCOMING_DEFAULT_BYTES (UINT64_C(256) << 20)
#define COUNT_MAX (1u << 24) /* of windows and of long messages */
#define HANDLER_NAME_BYTES_MAX 255u
#define LINGER_NS 200 /* about what a line of the cache takes from CPU to CPU */

/* ---- new -------------------------------------------------------------------- */

/* The config with its defaults filled in. */
static enum rbwp_status complete_endpoint_config(const struct rbwp_endpoint_config *given,
                                                 struct rbwp_endpoint_config *config_out,
                                                 struct rbwp_error *error)
{
    struct rbwp_endpoint_config config = {0};
    if (given) {
        enum rbwp_status status =
            sized_take(&config, sizeof config, given, "rbwp_endpoint_config", error);
        if (status != RBWP_OK)
            return status;
    }
    if (!config.name)
        config.name = "message";
    if (config.inbox_bytes == 0)
        config.inbox_bytes = INBOX_DEFAULT_BYTES;
    if (config.window == 0)
        config.window = WINDOW_DEFAULT;
    if (config.long_max == 0)
        config.long_max = LONG_MAX_DEFAULT;
    if (config.payload_bytes_max == 0)
        config.payload_bytes_max = PAYLOAD_DEFAULT_BYTES;
    if (config.incoming_bytes_max == 0)
        config.incoming_bytes_max = INCOMING_DEFAULT_BYTES;
    if (config.inbox_bytes > INBOX_BYTES_MAX || config.window > COUNT_MAX ||
        config.long_max > COUNT_MAX)
        return failure(error, RBWP_E_INVALID, 0,
                       "message: an inbox of more than 1 TiB, or a window or long_max above %u, is "
                       "not allowed",
                       COUNT_MAX);
    *config_out = config;
    return RBWP_OK;
}

static bool has_its_calls(const struct rbwp_transport *transport)
{
    const struct rbwp_transport_ops *ops = transport->ops;
    return ops->start && ops->send && ops->close &&
           (transport->shares_memory || (ops->send_payload && ops->receive_payload));
}

static enum rbwp_status check_transport(const struct rbwp_transport *transport,
                                        struct rbwp_error *error)
{
    /* It is written by others, and its calls are made through these. */
    if (transport->size != sizeof *transport || transport->ops->size != sizeof *transport->ops)
        return failure(error, RBWP_E_UNSUPPORTED, 0,
                       "message: the transport was built for another version than %s",
                       RBWP_VERSION_STRING);
    if (!has_its_calls(transport))
        return failure(error, RBWP_E_INVALID, 0, "message: the transport lacks calls");
    if (transport->nodes == 0 || transport->nodes > RBWP_MESSAGE_NODES_MAX ||
        transport->node >= transport->nodes)
        return failure(error, RBWP_E_INVALID, 0, "message: node %u of %u; there are 1 to %u",
                       transport->node, transport->nodes, RBWP_MESSAGE_NODES_MAX);
    if (transport->packet_bytes_max < RBWP_PACKET_BYTES_MIN || transport->tags == 0)
        return failure(error, RBWP_E_INVALID, 0,
                       "message: the transport takes packets of %u bytes; %u are needed, and a tag",
                       transport->packet_bytes_max, RBWP_PACKET_BYTES_MIN);
    return RBWP_OK;
}

static struct rbwp_endpoint *endpoint_allocate(struct rbwp_work_manager *manager,
                                               struct rbwp_transport *transport,
                                               const struct rbwp_endpoint_config *config)
{
    struct rbwp_endpoint *endpoint = aligned_alloc(64, sizeof *endpoint);
    if (!endpoint)
        return NULL;
    memset((void *)endpoint, 0, sizeof *endpoint);
    endpoint->manager = manager;
    endpoint->is_lent_only = rbwp_extend_work_lent_only(manager);
    endpoint->transport = transport;
    endpoint->node = transport->node;
    endpoint->nodes = transport->nodes;
    endpoint->shares_memory = transport->shares_memory;
    endpoint->window = transport->shares_memory ? 0 : config->window;
    endpoint->payload_bytes_max = config->payload_bytes_max;
    endpoint->incoming_bytes_max = config->incoming_bytes_max;
    endpoint->linger_ticks = rbwp_ticks_from_ns(LINGER_NS);
    endpoint->problem = config->problem;
    endpoint->problem_argument = config->argument;
    atomic_init(&endpoint->lost_node, endpoint->nodes);
    atomic_init(&endpoint->left_node, endpoint->nodes);
    quiesce_init(endpoint);
    pthread_mutex_init(&endpoint->outbox_lock, NULL);
    pthread_mutex_init(&endpoint->wait_lock, NULL);
    pthread_mutex_init(&endpoint->problem_lock, NULL);
    return endpoint;
}

static void release_endpoint(struct rbwp_endpoint *endpoint)
{
    pthread_mutex_destroy(&endpoint->outbox_lock);
    pthread_mutex_destroy(&endpoint->wait_lock);
    pthread_mutex_destroy(&endpoint->problem_lock);
    for (uint32_t i = 0; i < endpoint->handler_count; i++)
        free(endpoint->handlers[i].name);
    free(endpoint->handlers);
    index_map_free(&endpoint->places);
    free(endpoint->peers);
    free(endpoint);
}

/* Its parts, one after the other; what was made is unmade on failure. */
static enum rbwp_status make_parts(struct rbwp_endpoint *endpoint,
                                   const struct rbwp_endpoint_config *config)
{
    endpoint->peers = calloc(endpoint->nodes, sizeof *endpoint->peers);
    if (!endpoint->peers)
        return RBWP_E_MEMORY;
    enum rbwp_status status = inbox_make(&endpoint->inbox, config->inbox_bytes);
    if (status != RBWP_OK)
        return status;
    status = outbox_make(endpoint);
    if (status == RBWP_OK) {
        status = long_make(endpoint, config->long_max);
        if (status == RBWP_OK)
            return status;
        outbox_unmake(endpoint);
    }
    inbox_unmake(&endpoint->inbox);
    return status;
}

static void unmake_parts(struct rbwp_endpoint *endpoint)
{
    long_unmake(endpoint);
    outbox_unmake(endpoint);
    inbox_unmake(&endpoint->inbox);
}

static enum rbwp_status new_on(struct rbwp_work_manager *manager, struct rbwp_transport *transport,
                               const struct rbwp_endpoint_config *given,
                               struct rbwp_endpoint **endpoint_out, struct rbwp_error *error)
{
    struct rbwp_endpoint_config config = {0};
    enum rbwp_status status = complete_endpoint_config(given, &config, error);
    if (status == RBWP_OK)
        status = check_transport(transport, error);
    if (status != RBWP_OK)
        return status;
    struct rbwp_endpoint *endpoint = endpoint_allocate(manager, transport, &config);
    if (!endpoint)
        return failure(error, RBWP_E_MEMORY, 0, "message: no memory for an endpoint");
    status = make_parts(endpoint, &config);
    if (status != RBWP_OK) {
        release_endpoint(endpoint);
        return failure(error, status, 0, "message: no memory for an endpoint");
    }
    const uint32_t packet_max = inbox_packet_bytes_max(&endpoint->inbox);
    endpoint->short_bytes =
        (transport->packet_bytes_max < packet_max ? transport->packet_bytes_max : packet_max) -
        (uint32_t)sizeof(struct packet_head);
    status = rbwp_work_add(manager, config.name, endpoint_serve, endpoint,
                           config.in_domain ? config.domain : -1, &endpoint->work);
    if (status != RBWP_OK) {
        unmake_parts(endpoint);
        release_endpoint(endpoint);
        return failure(error, status, 0, "message: the manager does not take another work item");
    }
    *endpoint_out = endpoint;
    return RBWP_OK;
}

enum rbwp_status rbwp_endpoint_new(struct rbwp_work_manager *manager,
                                   struct rbwp_transport *transport,
                                   const struct rbwp_endpoint_config *config,
                                   struct rbwp_endpoint **endpoint_out, struct rbwp_error *error)
{
    *endpoint_out = NULL;
    if (!transport) {
        enum rbwp_status status = rbwp_loopback_new(1, &transport, error);
        if (status != RBWP_OK)
            return status;
    }
    enum rbwp_status status = new_on(manager, transport, config, endpoint_out, error);
    if (status != RBWP_OK)
        rbwp_transport_close(transport);
    return status;
}

uint32_t rbwp_endpoint_node(const struct rbwp_endpoint *endpoint)
{
    return endpoint->node;
}

uint32_t rbwp_endpoint_nodes(const struct rbwp_endpoint *endpoint)
{
    return endpoint->nodes;
}

uint32_t rbwp_endpoint_short_bytes(const struct rbwp_endpoint *endpoint)
{
    return endpoint->short_bytes;
}

/* ---- handlers --------------------------------------------------------------- */

static enum rbwp_status add_handler(struct rbwp_endpoint *endpoint,
                                    const struct rbwp_handler_config *config, uint64_t hash)
{
    if (!grow_array32(&endpoint->handlers, &endpoint->handler_room, endpoint->handler_count + 1,
                      sizeof *endpoint->handlers))
        return RBWP_E_MEMORY;
    struct message_handler *handler = &endpoint->handlers[endpoint->handler_count];
    *handler = (struct message_handler){.hash = hash,
                                        .handle = config->handle,
                                        .place = config->place,
                                        .argument = config->argument};
    enum rbwp_status status = message_label_find(config->name, &handler->label);
    if (status != RBWP_OK)
        return status;
    handler->name = strdup(config->name);
    if (!handler->name || !index_map_add(&endpoint->places, hash, endpoint->handler_count)) {
        free(handler->name);
        return RBWP_E_MEMORY;
    }
    endpoint->handler_count++;
    return RBWP_OK;
}

enum rbwp_status rbwp_handler_register(struct rbwp_endpoint *endpoint,
                                       const struct rbwp_handler_config *given,
                                       unsigned *handler_out, struct rbwp_error *error)
{
    struct rbwp_handler_config config = {0};
    enum rbwp_status status =
        sized_take(&config, sizeof config, given, "rbwp_handler_config", error);
    if (status != RBWP_OK)
        return status;
    const size_t bytes = config.name ? strlen(config.name) : 0;
    if (bytes == 0 || bytes > HANDLER_NAME_BYTES_MAX)
        return failure(error, RBWP_E_INVALID, 0, "message: a handler's name has 1 to %u bytes",
                       HANDLER_NAME_BYTES_MAX);
    if (atomic_load(&endpoint->phase) != ENDPOINT_NEW)
        return failure(error, RBWP_E_STATE, 0,
                       "message: \"%.100s\" comes too late: the endpoint has started", config.name);
    const uint64_t hash = text_hash(TEXT_HASH_FIRST, config.name, bytes);
    for (uint32_t i = 0; i < endpoint->handler_count; i++)
        if (endpoint->handlers[i].hash == hash)
            return failure(error, RBWP_E_BUSY, 0, "message: there is a handler \"%.100s\" already",
                           endpoint->handlers[i].name);
    if (endpoint->handler_count == RBWP_HANDLERS_MAX)
        return failure(error, RBWP_E_LIMIT, 0, "message: an endpoint has at most %u handlers",
                       RBWP_HANDLERS_MAX);
    status = add_handler(endpoint, &config, hash);
    if (status != RBWP_OK)
        return failure(error, status, 0, "message: \"%.100s\" cannot be made known: %s",
                       config.name, rbwp_status_text(status));
    *handler_out = endpoint->handler_count - 1;
    return RBWP_OK;
}

/* ---- start ------------------------------------------------------------------- */

enum rbwp_status rbwp_endpoint_start(struct rbwp_endpoint *endpoint, struct rbwp_error *error)
{
    if (atomic_load(&endpoint->phase) != ENDPOINT_NEW)
        return failure(error, RBWP_E_STATE, 0, "message: the endpoint has started already");
    /* Before the transport's start: others' messages may come at once. */
    atomic_store_explicit(&endpoint->phase, ENDPOINT_STARTED, memory_order_release);
    enum rbwp_status status = endpoint->transport->ops->start(endpoint->transport, endpoint, error);
    if (status != RBWP_OK) {
        atomic_store(&endpoint->phase, ENDPOINT_NEW);
        return status;
    }
    endpoint_wake(endpoint);
    return RBWP_OK;
}

/* ---- counts and the end --------------------------------------------------------- */

void rbwp_endpoint_count(const struct rbwp_endpoint *endpoint,
                         struct rbwp_endpoint_counts *counts_out)
{
    const struct rbwp_endpoint_counts counts = {
        .size = counts_out->size,
        .sent = atomic_load(&endpoint->sent),
        .handled = atomic_load(&endpoint->handled),
        .dropped = atomic_load(&endpoint->dropped),
        .refused = atomic_load(&endpoint->refused),
        .kept = atomic_load(&endpoint->kept_ever),
        .long_sent = atomic_load(&endpoint->long_sent),
        .waiting_bytes = inbox_used(&endpoint->inbox),
    };
    sized_give(counts_out, counts_out->size, &counts, sizeof counts);
}

/* What nobody will handle. Offers hold payloads of others. */
static void drop_inbox(struct rbwp_endpoint *endpoint)
{
    const struct inbox_entry *entry;
    while ((entry = inbox_peek(&endpoint->inbox))) {
        const struct packet_head *head = (const struct packet_head *)(entry + 1);
        if (entry->packet_bytes >= sizeof *head && head->kind == PACKET_OFFER)
            long_drop_offer(endpoint, entry->node, head, (const uint8_t *)(head + 1),
                            entry->packet_bytes - (uint32_t)sizeof *head);
        inbox_drop(&endpoint->inbox);
    }
}

/* Once, without waiting: who cannot be reached now finds out by the transport. */
static void say_leaving(struct rbwp_endpoint *endpoint)
{
    struct packet_head head = {.kind = PACKET_LEAVING};
    const struct rbwp_packet packet = packet_of_head(&head);
    for (uint32_t node = 0; node < endpoint->nodes; node++)
        if (node != endpoint->node)
            (void)!outbox_send(endpoint, node, &packet, &head);
}

/* Who learns by it that others have gone leaves in order himself. */
static bool is_farewell(const struct inbox_entry *entry)
{
    const struct packet_head *head = (const struct packet_head *)(entry + 1);
    return entry->packet_bytes == sizeof *head &&
           (head->kind == PACKET_GONE || head->kind == PACKET_NEVER);
}

/* Nothing that was sent here is left unheard, as it may be whose sender did not wait for quiet:
 * that would wait for room for ever. What arrives from now on is turned away; a poll lets an
 * arrival end that is under way. */
static bool has_heard_all(struct rbwp_endpoint *endpoint)
{
    const struct rbwp_transport_ops *ops = endpoint->transport->ops;
    if (ops->poll && !endpoint->shares_memory)
        (void)!ops->poll(endpoint->transport, (struct rbwp_deadline){0});
    const struct inbox_entry *entry = inbox_peek(&endpoint->inbox);
    while (entry && is_farewell(entry)) {
        inbox_drop(&endpoint->inbox);
        entry = inbox_peek(&endpoint->inbox);
    }
    return !entry;
}

enum rbwp_status rbwp_endpoint_free(struct rbwp_endpoint *endpoint)
{
    if (!endpoint)
        return RBWP_OK;
    const int phase = atomic_exchange(&endpoint->phase, ENDPOINT_CLOSING);
    enum rbwp_status status = rbwp_work_remove(endpoint->manager, endpoint->work);
    if (status != RBWP_OK) {
        atomic_store(&endpoint->phase, phase);
        return status;
    }
    const bool in_order =
        phase == ENDPOINT_NEW ||
        (quiesce_is_over(endpoint) && outbox_is_empty(endpoint) && has_heard_all(endpoint));
    if (!in_order && !endpoint->shares_memory)
        say_leaving(endpoint);
    else if (phase != ENDPOINT_NEW && !endpoint->shares_memory)
        quiesce_say_gone(endpoint);
    endpoint->transport->ops->close(endpoint->transport, in_order);
    drop_inbox(endpoint);
    unmake_parts(endpoint);
    endpoint_forget_losses(endpoint);
    release_endpoint(endpoint);
    return RBWP_OK;
}
