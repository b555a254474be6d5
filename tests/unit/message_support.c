/* SPDX-License-Identifier: Apache-2.0 */
#include "message_support.h"
#include "unit.h"

#include <sched.h>
#include <stdio.h>

struct rbwp_work_manager *message_manager(uint32_t workers)
{
    const struct rbwp_work_config config = {
        .size = sizeof config, .no_workers = workers == 0, .workers = workers};
    struct rbwp_work_manager *manager;
    struct rbwp_error error;
    if (rbwp_work_start(&config, &manager, &error) != RBWP_OK)
        fail_msg("%s", error.text);
    return manager;
}

struct job job_on(struct rbwp_transport **transports, uint32_t nodes, uint32_t workers,
                  const struct rbwp_endpoint_config *config)
{
    struct job job = {.manager = message_manager(workers), .nodes = nodes};
    struct rbwp_error error;
    assert_true(nodes <= JOB_NODES_MAX);
    for (uint32_t i = 0; i < nodes; i++) {
        job.transport[i] = transports[i];
        if (rbwp_endpoint_new(job.manager, transports[i], config, &job.endpoint[i], &error) !=
            RBWP_OK)
            fail_msg("%s", error.text);
    }
    return job;
}

struct job job_new(uint32_t nodes, uint32_t workers, const struct rbwp_endpoint_config *config)
{
    struct rbwp_transport *transports[JOB_NODES_MAX];
    struct rbwp_error error;
    assert_true(nodes <= JOB_NODES_MAX);
    if (rbwp_loopback_new(nodes, transports, &error) != RBWP_OK)
        fail_msg("%s", error.text);
    return job_on(transports, nodes, workers, config);
}

unsigned endpoint_register(struct rbwp_endpoint *endpoint, const char *name, rbwp_handle_fn handle,
                           rbwp_place_fn place, void *argument)
{
    const struct rbwp_handler_config config = {.size = sizeof config,
                                               .name = name,
                                               .handle = handle,
                                               .place = place,
                                               .argument = argument};
    unsigned handler = 0;
    struct rbwp_error error;
    if (rbwp_handler_register(endpoint, &config, &handler, &error) != RBWP_OK)
        fail_msg("%s", error.text);
    return handler;
}

unsigned job_register(struct job *job, const char *name, rbwp_handle_fn handle, void *argument)
{
    unsigned handler = 0;
    for (uint32_t i = 0; i < job->nodes; i++)
        handler = endpoint_register(job->endpoint[i], name, handle, NULL, argument);
    return handler;
}

void job_start(struct job *job)
{
    struct rbwp_error error;
    for (uint32_t i = 0; i < job->nodes; i++)
        if (rbwp_endpoint_start(job->endpoint[i], &error) != RBWP_OK)
            fail_msg("%s", error.text);
}

void job_quiesce(struct job *job)
{
    bool over[JOB_NODES_MAX] = {false};
    for (uint32_t left = job->nodes; left > 0;) {
        for (uint32_t i = 0; i < job->nodes; i++) {
            struct rbwp_error error;
            enum rbwp_status status =
                over[i] ? RBWP_AGAIN : rbwp_endpoint_quiesce(job->endpoint[i], 0, &error);
            if (status < 0)
                fail_msg("%s", error.text);
            if (status == RBWP_OK) {
                over[i] = true;
                left--;
            }
        }
        if (rbwp_work_run(job->manager, 0) != RBWP_OK)
            sched_yield();
    }
}

void job_free(struct job *job)
{
    for (uint32_t i = 0; i < job->nodes; i++)
        assert_int_equal(rbwp_endpoint_free(job->endpoint[i]), RBWP_OK);
    assert_int_equal(rbwp_work_stop(job->manager, true, NULL), RBWP_OK);
}

void note_problem(void *argument, const struct rbwp_message_problem *problem)
{
    struct problems_seen *problems_seen = argument;
    problems_seen->count++;
    problems_seen->kind = (int)problem->kind;
    problems_seen->node = problem->node;
    snprintf(problems_seen->handler, sizeof problems_seen->handler, "%s", problem->handler);
    snprintf(problems_seen->text, sizeof problems_seen->text, "%s", problem->error.text);
}

void note_done(void *argument, enum rbwp_status status)
{
    struct ended *ended = argument;
    ended->count++;
    ended->status = status;
}

void send_to(struct rbwp_endpoint *endpoint, uint32_t node, unsigned handler, const void *payload,
             uint64_t bytes)
{
    struct rbwp_error error;
    if (rbwp_message_send(endpoint, node, handler, payload, bytes, RBWP_WAIT, &error) != RBWP_OK)
        fail_msg("%s", error.text);
}

void run_rounds(struct rbwp_work_manager *manager)
{
    while (rbwp_work_run(manager, 0) == RBWP_OK)
        ;
}
