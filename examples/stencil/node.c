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
};
struct report {
    double sum;
    uint64_t time_ns, plan_ns, pieces, messages;
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
    if (atomic_load(&node->stopping))
        return;
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
    const struct piece_header header = {piece->tile, from, piece->number, iteration};
    const struct rbwp_send send = {
        .size = sizeof send,
        .node = piece->tile / node->config->tiles_each,
        .handler = node->piece_handler,
        .header = &header,
        .header_bytes = sizeof header,
        .payload = cells,
        .payload_bytes =
            (uint64_t)(width_of(&piece->cells) * height_of(&piece->cells)) * sizeof *cells,
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
    const struct rbwp_handler_config report = {
        .size = sizeof report, .name = "stencil report", .handle = take_report, .argument = node};
    return rbwp_handler_register(node->endpoint, &piece, &node->piece_handler, error) == RBWP_OK &&
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
        node->tiles[i].plan = &node->plan.tiles[i];
    for (unsigned i = 0; i < each; i++)
        if (!tile_init(&node->tiles[i], node, &node->plan.tiles[i], error))
            return false;
    return true;
}

static bool make(struct node *node, struct rbwp_error *error)
{
    return rbwp_work_start(&node->config->work, &node->manager, error) == RBWP_OK &&
           make_endpoint(node, error) &&
           store_open(&node->store, node->manager, node->number, node->config->gpu, error) &&
           make_tiles(node, error);
}

static bool send_report(struct node *node, struct rbwp_error *error)
{
    struct report report = {.time_ns = (uint64_t)(node->ended_ns - node->began_ns),
                            .plan_ns = (uint64_t)node->plan_ns};
    for (unsigned i = 0; i < node->plan.tiles_count; i++) {
        const struct plan_tile *tile = &node->plan.tiles[i];
        report.sum += tile_sum(&node->tiles[i]);
        report.pieces += tile->gives_count;
        for (size_t p = 0; p < tile->gives_count; p++)
            report.messages += !node_tile(node, tile->gives[p].tile);
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

/* From the first piece to the last report. */
static bool compute(struct node *node, struct rbwp_error *error)
{
    if (rbwp_endpoint_start(node->endpoint, error) != RBWP_OK || !quiesce(node, error))
        return false;
    for (unsigned i = 0; i < node->plan.tiles_count; i++)
        tile_begin(&node->tiles[i]);
    return wait_for_tiles(node) && send_report(node, error) && quiesce(node, error);
}

/* After a failure tiles, store and endpoint may be busy with each other: once they have been idle
 * with stopping set, they leave each other alone. */
static void unmake(struct node *node)
{
    atomic_store(&node->stopping, true);
    if (node->manager)
        rbwp_work_drain(node->manager);
    (void)rbwp_endpoint_free(node->endpoint);
    if (node->transport)
        rbwp_transport_close(node->transport);
    store_stop(&node->store);
    for (unsigned i = 0; node->tiles && i < node->plan.tiles_count; i++)
        tile_free(&node->tiles[i]);
    store_close(&node->store);
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
    const bool good = make(node, &error) && compute(node, &error);
    if (!good)
        node_fail(node, &error);
    unmake(node);
    return good;
}
