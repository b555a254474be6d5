/* SPDX-License-Identifier: Apache-2.0 */
/* node.c - one node of the job: its workers, its tiles, its messages. */
#include "node.h"

#include "rbwp_record.h"
#include "rbwp_transport.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Headers of messages. */
struct piece_header {
    uint32_t tile, from, number, iteration;
    uint32_t in_place; /* no payload: the cells are there */
};
/* Where a tile takes a piece, for the node that gives it. */
struct near_header {
    uint32_t tile, to, number; /* the giver, the taker, the piece */
};
struct near {
    uint64_t first[2];
    struct rbwp_gpu_share share;
    struct block block; /* for nodes of the same process */
};
struct report {
    double sum;
    uint64_t time_ns, plan_ns, pieces, messages, ways[WAYS];
};

/* Memory of another process that a store of this node has taken. */
struct taken {
    struct taken *next;
    struct rbwp_gpu_share share;
    struct block block;
};

/* ---- trouble --------------------------------------------------------------------------- */

void node_fail(struct node *node, const struct rbwp_error *error)
{
    pthread_mutex_lock(&node->lock);
    if (!node->failed)
        node->error = *error;
    node->failed = true;
    pthread_cond_broadcast(&node->changed);
    pthread_mutex_unlock(&node->lock);
}

static void fail_with(struct node *node, const char *text, unsigned number)
{
    struct rbwp_error error = {.status = RBWP_E_IO, .offset = UINT64_MAX};
    snprintf(error.text, sizeof error.text, text, number);
    node_fail(node, &error);
}

static void note_problem(void *argument, const struct rbwp_message_problem *problem)
{
    node_fail(argument, &problem->error);
}

/* ---- messages --------------------------------------------------------------------------- */

struct tile *node_tile(struct node *node, unsigned id)
{
    const unsigned first = node->number * node->config->tiles_each;
    return id >= first && id - first < node->plan.tiles_count ? &node->tiles[id - first] : NULL;
}

/* Once: every piece of this node may have the same reason. */
static void tell_host(struct node *node, const struct rbwp_error *reason)
{
    pthread_mutex_lock(&node->lock);
    const bool told = node->told_host;
    node->told_host = true;
    pthread_mutex_unlock(&node->lock);
    if (!told)
        fprintf(stderr, "stencil: node %u: pieces between processes go through the host: %s\n",
                node->number, reason->text);
}

static struct taken *find_taken(struct node *node, const struct store *store,
                                const struct rbwp_gpu_share *share)
{
    struct taken *taken = node->taken;
    while (taken &&
           (taken->block.store != store || memcmp(&taken->share, share, sizeof *share) != 0))
        taken = taken->next;
    return taken;
}

/* Memory of another process, taken by a store once. Locked. */
static struct taken *take(struct node *node, struct store *store,
                          const struct rbwp_gpu_share *share, struct rbwp_error *error)
{
    struct taken *taken = find_taken(node, store, share);
    if (taken)
        return taken;
    *error = (struct rbwp_error){.status = RBWP_E_MEMORY, .text = "no memory"};
    taken = malloc(sizeof *taken);
    if (!taken)
        return NULL;
    taken->share = *share;
    if (!store_take(store, share, &taken->block, error)) {
        free(taken);
        return NULL;
    }
    taken->next = node->taken;
    node->taken = taken;
    return taken;
}

static void give_back_taken(struct node *node)
{
    while (node->taken) {
        struct taken *taken = node->taken;
        node->taken = taken->next;
        store_give_back(&taken->block);
        free(taken);
    }
}

/* Whether the giver reaches that memory: then the outlet leads there from now on. */
static bool reach(struct node *node, struct tile_outlet *outlet, const struct near *near,
                  struct rbwp_error *error)
{
    struct store *own = outlet->tile->store;
    if (node->config->one_process) {
        outlet->far = near->block;
        outlet->way = store_way(own, near->block.store);
        return true;
    }
    pthread_mutex_lock(&node->lock);
    const struct taken *taken = take(node, own, &near->share, error);
    pthread_mutex_unlock(&node->lock);
    if (taken) {
        outlet->far = taken->block;
        outlet->way = WAY_SHARED;
    }
    return taken != NULL;
}

static void take_near(void *argument, const struct rbwp_message *message)
{
    struct node *node = argument;
    struct near_header header;
    struct near near;
    struct rbwp_error reason;
    if (message->header_bytes != sizeof header || message->payload_bytes != sizeof near)
        return;
    memcpy(&header, message->header, sizeof header);
    memcpy(&near, message->payload, sizeof near);
    struct tile *tile = node_tile(node, header.tile);
    struct tile_outlet *outlet = tile ? tile_outlet_to(tile, header.to, header.number) : NULL;
    if (!outlet || outlet->local)
        return;
    for (unsigned p = 0; p < 2; p++)
        outlet->far_first[p] = (size_t)near.first[p];
    if (!reach(node, outlet, &near, &reason))
        tell_host(node, &reason);
}

/* The place that a message's piece has, NULL if it has none. */
static double *place_of(struct node *node, const struct rbwp_message *message)
{
    struct piece_header header;
    uint64_t bytes = 0;
    if (message->header_bytes != sizeof header)
        return NULL;
    memcpy(&header, message->header, sizeof header);
    struct tile *tile = node_tile(node, header.tile);
    struct tile_inlet *inlet =
        tile ? tile_inlet_of(tile, header.from, header.number, &bytes) : NULL;
    return inlet && bytes == message->payload_bytes ? inlet->cells[header.iteration % 2].memory
                                                    : NULL;
}

/* A long piece comes to its place by itself. */
static void *place_piece(void *argument, const struct rbwp_message *message)
{
    return place_of(argument, message);
}

static void take_piece(void *argument, const struct rbwp_message *message)
{
    struct node *node = argument;
    struct piece_header header;
    uint64_t bytes;
    if (atomic_load(&node->stopping))
        return;
    if (message->header_bytes == sizeof header && message->payload_bytes == 0) {
        memcpy(&header, message->header, sizeof header);
        struct tile *tile = node_tile(node, header.tile);
        struct tile_inlet *inlet =
            tile ? tile_inlet_of(tile, header.from, header.number, &bytes) : NULL;
        if (inlet && header.in_place) {
            inlet->is_near[header.iteration % 2] = true;
            tile_piece_ready(tile, header.iteration);
            return;
        }
    }
    double *place = place_of(node, message);
    if (!place) {
        fail_with(node, "a piece came from node %u that belongs to no tile here", message->node);
        return;
    }
    if (place != message->payload)
        memcpy(place, message->payload, (size_t)message->payload_bytes);
    memcpy(&header, message->header, sizeof header);
    tile_piece_ready(node_tile(node, header.tile), header.iteration);
}

static void take_report(void *argument, const struct rbwp_message *message)
{
    struct node *node = argument;
    struct node_outcome *outcome = &node->outcome;
    struct report report;
    if (message->payload_bytes != sizeof report)
        return;
    memcpy(&report, message->payload, sizeof report);
    outcome->sum += report.sum;
    outcome->pieces += report.pieces;
    outcome->messages += report.messages;
    for (unsigned w = 0; w < WAYS; w++)
        outcome->ways[w] += report.ways[w];
    outcome->reports++;
    if (report.time_ns > outcome->time_ns)
        outcome->time_ns = report.time_ns;
    if (report.plan_ns > outcome->plan_ns)
        outcome->plan_ns = report.plan_ns;
}

void node_send_piece(struct node *node, unsigned from, const struct plan_piece *piece,
                     unsigned iteration, const double *cells)
{
    struct rbwp_error error;
    const struct piece_header header = {piece->tile, from, piece->number, iteration, !cells};
    const struct rbwp_send send = {
        .size = sizeof send,
        .node = piece->tile / node->config->tiles_each,
        .handler = node->piece_handler,
        .header = &header,
        .header_bytes = sizeof header,
        .payload = cells,
        .payload_bytes =
            cells ? (uint64_t)(width_of(&piece->cells) * height_of(&piece->cells)) * sizeof *cells
                  : 0,
        .wait_ns = RBWP_WAIT};
    if (!atomic_load(&node->stopping) &&
        rbwp_message_send_from(node->endpoint, &send, &error) != RBWP_OK)
        node_fail(node, &error);
}

/* ---- tiles ------------------------------------------------------------------------------- */

void node_tile_went_on(struct node *node, unsigned iteration)
{
    int64_t none = 0;
    if (iteration == 0)
        (void)atomic_compare_exchange_strong(&node->began_ns, &none, rbwp_now_ns());
    if (node->config->dies == (int64_t)node->number && iteration >= node->iterations / 2)
        (void)kill(getpid(), SIGKILL);
}

void node_tile_ended(struct node *node)
{
    atomic_store(&node->ended_ns, rbwp_now_ns());
    pthread_mutex_lock(&node->lock);
    if (--node->tiles_left == 0)
        pthread_cond_broadcast(&node->changed);
    pthread_mutex_unlock(&node->lock);
}

/* False if the node failed meanwhile. */
static bool wait_for_tiles(struct node *node)
{
    pthread_mutex_lock(&node->lock);
    while (node->tiles_left > 0 && !node->failed)
        pthread_cond_wait(&node->changed, &node->lock);
    const bool good = !node->failed;
    pthread_mutex_unlock(&node->lock);
    return good;
}

/* ---- life ----------------------------------------------------------------------------------- */

static bool make_endpoint(struct node *node, struct rbwp_error *error)
{
    char name[32];
    snprintf(name, sizeof name, "message node %u", node->number);
    const struct rbwp_endpoint_config config = {
        .size = sizeof config, .name = name, .problem = note_problem, .argument = node};
    struct rbwp_transport *transport = node->transport;
    node->transport = NULL;
    if (rbwp_endpoint_new(node->manager, transport, &config, &node->endpoint, error) != RBWP_OK)
        return false;
    node->nodes = rbwp_endpoint_nodes(node->endpoint);
    const struct rbwp_handler_config piece = {.size = sizeof piece,
                                              .name = "stencil piece",
                                              .handle = take_piece,
                                              .place = place_piece,
                                              .argument = node};
    const struct rbwp_handler_config near = {
        .size = sizeof near, .name = "stencil near", .handle = take_near, .argument = node};
    const struct rbwp_handler_config report = {
        .size = sizeof report, .name = "stencil report", .handle = take_report, .argument = node};
    return rbwp_handler_register(node->endpoint, &piece, &node->piece_handler, error) == RBWP_OK &&
           rbwp_handler_register(node->endpoint, &near, &node->near_handler, error) == RBWP_OK &&
           rbwp_handler_register(node->endpoint, &report, &node->report_handler, error) == RBWP_OK;
}

static bool make_tiles(struct node *node, struct rbwp_error *error)
{
    const unsigned each = node->config->tiles_each;
    const int64_t before_ns = rbwp_now_ns();
    if (!plan_make(&node->plan, node->manager, node->config->side, node->nodes * each,
                   node->number * each, each, error))
        return false;
    node->plan_ns = rbwp_now_ns() - before_ns;
    node->tiles = calloc(each, sizeof *node->tiles);
    if (!node->tiles)
        return false;
    /* All know their plan before one looks for another. */
    for (unsigned i = 0; i < each; i++)
        node->tiles[i] = (struct tile){.node = node,
                                       .store = &node->stores[i * node->stores_count / each],
                                       .plan = &node->plan.tiles[i]};
    for (unsigned i = 0; i < each; i++)
        if (!tile_init(&node->tiles[i], error))
            return false;
    return true;
}

/* Nodes take turns with the GPUs, each with its share of them. */
static bool open_gpus(struct node *node, struct rbwp_error *error)
{
    const struct node_config *config = node->config;
    enum rbwp_gpu_api api;
    unsigned gpus;
    char name[64];
    if (!store_gpus(config->gpu, &api, &gpus, error))
        return false;
    unsigned count = config->gpus ? config->gpus : gpus / node->nodes;
    count = count < 1 ? 1 : count > STORES_MAX ? STORES_MAX : count;
    count = count > config->tiles_each ? config->tiles_each : count;
    for (unsigned i = 0; i < count; i++) {
        const unsigned ordinal = (node->number * count + i) % gpus;
        snprintf(name, sizeof name, "stencil pieces node %u%s", node->number,
                 count > 1 ? " gpu " : "");
        if (count > 1)
            snprintf(name + strlen(name), 8, "%u", i);
        node->stores_count++;
        if (!store_open_gpu(&node->stores[i], node->manager, name, api, ordinal, error))
            return false;
    }
    return true;
}

static bool open_stores(struct node *node, struct rbwp_error *error)
{
    char name[48];
    if (node->config->gpu != -2)
        return open_gpus(node, error);
    snprintf(name, sizeof name, "stencil pieces node %u", node->number);
    node->stores_count = 1;
    return store_open(&node->stores[0], node->manager, name, error);
}

static bool make(struct node *node, struct rbwp_error *error)
{
    return rbwp_work_start(&node->config->work, &node->manager, error) == RBWP_OK &&
           make_endpoint(node, error) && open_stores(node, error) && make_tiles(node, error);
}

static bool send_report(struct node *node, struct rbwp_error *error)
{
    struct report report = {.time_ns = (uint64_t)(node->ended_ns - node->began_ns),
                            .plan_ns = (uint64_t)node->plan_ns};
    for (unsigned i = 0; i < node->plan.tiles_count; i++) {
        const struct plan_tile *tile = &node->plan.tiles[i];
        report.sum += tile_sum(&node->tiles[i]);
        report.pieces += tile->gives_count;
        for (size_t p = 0; p < tile->gives_count; p++) {
            report.messages += !node_tile(node, tile->gives[p].tile);
            report.ways[node->tiles[i].outlets[p].way]++;
        }
    }
    return rbwp_message_send(node->endpoint, 0, node->report_handler, &report, sizeof report,
                             RBWP_WAIT, error) == RBWP_OK;
}

static bool quiesce(struct node *node, struct rbwp_error *error)
{
    const enum rbwp_status status =
        rbwp_endpoint_quiesce(node->endpoint, node->config->wait_ns, error);
    if (status == RBWP_AGAIN) {
        *error = (struct rbwp_error){.status = RBWP_E_IO, .offset = UINT64_MAX};
        snprintf(error->text, sizeof error->text, "node %u waited too long for the others",
                 node->number);
    }
    return status == RBWP_OK;
}

/* Each node that gives a piece gets the place to put it into. */
static bool tell_near(struct node *node, struct tile *tile, struct rbwp_error *error)
{
    struct rbwp_error reason;
    struct near near = {.block = tile->near};
    if (!tile->near.buffer.native)
        return true;
    if (!node->config->one_process && !store_share(&tile->near, &near.share, &reason)) {
        tell_host(node, &reason);
        return true;
    }
    for (size_t i = 0; i < tile->plan->needs_count; i++) {
        const struct plan_piece *piece = &tile->plan->needs[i];
        const struct near_header header = {piece->tile, tile->plan->id, piece->number};
        for (unsigned p = 0; p < 2; p++)
            near.first[p] = tile->inlets[i].near_first[p];
        const struct rbwp_send send = {.size = sizeof send,
                                       .node = piece->tile / node->config->tiles_each,
                                       .handler = node->near_handler,
                                       .header = &header,
                                       .header_bytes = sizeof header,
                                       .payload = &near,
                                       .payload_bytes = sizeof near,
                                       .wait_ns = RBWP_WAIT};
        if (!node_tile(node, piece->tile) &&
            rbwp_message_send_from(node->endpoint, &send, error) != RBWP_OK)
            return false;
    }
    return true;
}

static bool exchange_near(struct node *node, struct rbwp_error *error)
{
    bool good = true;
    for (unsigned i = 0; good && i < node->plan.tiles_count; i++)
        good = tell_near(node, &node->tiles[i], error);
    return good && quiesce(node, error);
}

/* Before those who shared it free it. */
static bool give_back(struct node *node, struct rbwp_error *error)
{
    give_back_taken(node);
    return quiesce(node, error);
}

/* From the first piece to the last report. */
static bool node_compute(struct node *node, struct rbwp_error *error)
{
    const bool gpus = node->config->gpu != -2;
    if (rbwp_endpoint_start(node->endpoint, error) != RBWP_OK || !quiesce(node, error) ||
        (gpus && !exchange_near(node, error)))
        return false;
    for (unsigned i = 0; i < node->plan.tiles_count; i++)
        tile_begin(&node->tiles[i]);
    return wait_for_tiles(node) && send_report(node, error) && quiesce(node, error) &&
           (!gpus || give_back(node, error));
}

/* After a failure tiles, store and endpoint may be busy with each other: once they have been idle
 * with stopping set, they leave each other alone. */
static void stop(struct node *node)
{
    atomic_store(&node->stopping, true);
    if (node->manager)
        rbwp_work_drain(node->manager);
    (void)rbwp_endpoint_free(node->endpoint);
    if (node->transport)
        rbwp_transport_close(node->transport);
    for (unsigned i = 0; i < node->stores_count; i++)
        store_stop(&node->stores[i]);
    for (unsigned i = 0; node->tiles && i < node->plan.tiles_count; i++)
        tile_stop(&node->tiles[i]);
    give_back_taken(node);
}

/* After a failure other processes may still write to what was shared: it is left to the end of this
 * one. */
void node_free(struct node *node)
{
    const bool frees_near = node->config->one_process || !node->failed;
    for (unsigned i = 0; node->tiles && i < node->plan.tiles_count; i++)
        tile_free(&node->tiles[i], frees_near);
    for (unsigned i = 0; i < node->stores_count; i++)
        store_close(&node->stores[i]);
    free(node->tiles);
    plan_free(&node->plan);
    (void)rbwp_work_stop(node->manager, true, NULL);
    pthread_mutex_destroy(&node->lock);
    pthread_cond_destroy(&node->changed);
}

bool node_run(struct node *node, unsigned number, struct rbwp_transport *transport,
              const struct node_config *config)
{
    struct rbwp_error error = {.status = RBWP_E_MEMORY, .text = "no memory"};
    *node = (struct node){.transport = transport,
                          .config = config,
                          .number = number,
                          .iterations = config->iterations,
                          .tiles_left = config->tiles_each};
    pthread_mutex_init(&node->lock, NULL);
    pthread_cond_init(&node->changed, NULL);
    const bool good = make(node, &error) && node_compute(node, &error);
    if (!good)
        node_fail(node, &error);
    stop(node);
    return good;
}
