/* SPDX-License-Identifier: Apache-2.0 */
/* message_support.h - jobs of several nodes in the test's process. */
#ifndef MESSAGE_SUPPORT_H
#define MESSAGE_SUPPORT_H

#include "rbwp_message.h"

#define JOB_NODES_MAX 32u

struct job {
    struct rbwp_work_manager *manager;
    uint32_t nodes;
    struct rbwp_transport *transport[JOB_NODES_MAX];
    struct rbwp_endpoint *endpoint[JOB_NODES_MAX];
};

/* A manager; 0 workers: the test's thread runs the items. */
struct rbwp_work_manager *message_manager(uint32_t workers);

/* Nodes over loopback, not started. config may be NULL. */
struct job job_new(uint32_t nodes, uint32_t workers, const struct rbwp_endpoint_config *config);
/* The same on these transports. */
struct job job_on(struct rbwp_transport **transports, uint32_t nodes, uint32_t workers,
                  const struct rbwp_endpoint_config *config);
/* On all nodes, with the node's endpoint as argument if argument is NULL. */
unsigned job_register(struct job *job, const char *name, rbwp_handle_fn handle, void *argument);
unsigned endpoint_register(struct rbwp_endpoint *endpoint, const char *name, rbwp_handle_fn handle,
                           rbwp_place_fn place, void *argument);
void job_start(struct job *job);
/* All nodes quiesce, on this thread. */
void job_quiesce(struct job *job);
void job_free(struct job *job);

/* Problems that were reported: how many, and the last one. */
struct problems_seen {
    int count, kind;
    uint32_t node;
    char handler[64], text[256];
};
/* For rbwp_endpoint_config, with a struct told. */
void note_problem(void *argument, const struct rbwp_message_problem *problem);

/* How payloads came back; the last one. */
struct ended {
    int count;
    enum rbwp_status status;
};
/* For rbwp_send, with a struct ended. */
void note_done(void *argument, enum rbwp_status status);

/* Sends; the test fails if it does not go. */
void send_to(struct rbwp_endpoint *endpoint, uint32_t node, unsigned handler, const void *payload,
             uint64_t bytes);
/* Rounds of slices until nothing is active. */
void run_rounds(struct rbwp_work_manager *manager);

#endif /* MESSAGE_SUPPORT_H */
