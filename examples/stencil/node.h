/* SPDX-License-Identifier: Apache-2.0 */
/*
 * node.h - one node of the job: its workers, its tiles, its messages.
 *
 * A node has a manager with workers, stores for the cells of its tiles, one for each of its GPUs,
 * which move pieces of them, and an endpoint for messages. On GPUs nodes first tell each other
 * where pieces can be put: those that reach that memory put them there, and a message
 * says no more than that it has happened. It sends what it computes to node 0, which judges.
 */
#ifndef NODE_H
#define NODE_H

#include "rbwp_message.h"
#include "tile.h"

#include <pthread.h>

#define COEFFICIENT_X 1.0
#define COEFFICIENT_Y 1.0

enum { STORES_MAX = 8 };

/* What all nodes are given. */
struct node_config {
    int64_t side;
    unsigned iterations; /* after the first one, which is not timed */
    unsigned tiles_each; /* of a node */
    uint64_t wait_ns;    /* for the other nodes; then the job is given up */
    int64_t dies;        /* node that kills itself half-way, -1: none */
    int gpu;             /* as store_gpus takes it; -2: none */
    unsigned gpus;       /* of a node; 0: its share of those that there are */
    bool one_process;    /* all nodes are here */
    struct rbwp_work_config work;
};

/* What node 0 knows in the end. */
struct node_outcome {
    double sum;          /* of all cells */
    uint64_t time_ns;    /* of the slowest node, without the first iteration */
    uint64_t plan_ns;    /* of the slowest node */
    uint64_t pieces;     /* that go from tile to tile in an iteration */
    uint64_t messages;   /* of them, from node to node */
    uint64_t ways[WAYS]; /* how they go */
    unsigned reports;    /* of nodes */
};

struct node {
    struct rbwp_transport *transport;
    const struct node_config *config;
    unsigned number, nodes, iterations;
    struct rbwp_work_manager *manager;
    struct store stores[STORES_MAX];
    unsigned stores_count;
    struct rbwp_endpoint *endpoint;
    unsigned piece_handler, report_handler, near_handler;
    struct plan plan;
    struct tile *tiles;
    int64_t plan_ns;
    _Atomic int64_t began_ns, ended_ns; /* the first tile was through its first iteration; all were
                                           through all */

    atomic_bool stopping; /* nothing is begun any more */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned tiles_left;         /* under lock */
    struct taken *taken;         /* under lock: memory of other processes */
    bool told_host;              /* under lock: why pieces go through the host */
    bool failed;                 /* under lock */
    struct rbwp_error error;     /* under lock: the first */
    struct node_outcome outcome; /* node 0's endpoint's, until the job is quiet */
};

/*
 * Runs node number to its end, on this thread. The transport is its own from here on. False if it
 * did not get to the end: node->error says why.
 */
bool node_run(struct node *node, unsigned number, struct rbwp_transport *transport,
              const struct node_config *config);
/* When all nodes of this process have run, which may write to this one's memory till then. */
void node_free(struct node *node);

/* ---- for tiles ------------------------------------------------------------------------- */

/* The tile of a number in the whole job; NULL if it is another node's. */
struct tile *node_tile(struct node *node, unsigned id);
/* cells: NULL if they are in their place. */
void node_send_piece(struct node *node, unsigned from, const struct plan_piece *piece,
                     unsigned iteration, const double *cells);
void node_tile_went_on(struct node *node, unsigned iteration);
void node_tile_ended(struct node *node);
/* The node gives up, and says why if it had no reason yet. */
void node_fail(struct node *node, const struct rbwp_error *error);

#endif /* NODE_H */
