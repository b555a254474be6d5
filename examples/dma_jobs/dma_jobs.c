/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dma_jobs.c - work of a device that no tool knows, in the profile: copies by the engines of a DMA
 * controller, and the calls that started them.
 *
 * The first half stands for a driver and its device. The second half is two tables of its own. The
 * roles of their columns say what rows are: copies, of which their engine is busy, and calls; and
 * that a call launches the copy with the same key. So `rbwp stats`, timeline, report and exports
 * show them like the work of any other device.
 *
 *     dma_jobs -bgworkprofile 1 && rbwp timeline bgwork_0.bin
 */
#include "rbwp_rows.h"
#include "rbwp_session.h"
#include "rbwp_work.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* ---- a driver and its device ------------------------------------------------------- */

enum { JOBS = 20, ENGINES = 2, JOB_NS = 400000, CALL_NS = 20000 };

struct job {
    uint64_t id, bytes;
    unsigned engine;
    int64_t submit_ns, submitted_ns, start_ns, stop_ns;
};

static void pass_time(int64_t until_ns)
{
    while (rbwp_now_ns() < until_ns)
        ;
}

/* A job begins when its engine has done the one before. */
static struct job submit(uint64_t id, int64_t free_ns[ENGINES])
{
    struct job job = {.id = id, .bytes = 4096 * id, .engine = id % ENGINES};
    job.submit_ns = rbwp_now_ns();
    pass_time(job.submit_ns + CALL_NS);
    job.submitted_ns = rbwp_now_ns();
    int64_t *free = &free_ns[job.engine];
    job.start_ns = *free > job.submitted_ns ? *free : job.submitted_ns;
    job.stop_ns = *free = job.start_ns + JOB_NS;
    return job;
}

/* ---- tables of them ---------------------------------------------------------------- */

static const struct rbwp_column job_columns[] = {
    RBWP_COLUMN(TIME, START, "start", ""),        RBWP_COLUMN(TIME, STOP, "stop", ""),
    RBWP_COLUMN(U64, TRACK, "engine", ""),        RBWP_COLUMN(NAME, LABEL, "name", ""),
    RBWP_COLUMN(U64, LINK_TO, "job", "dma"),      RBWP_COLUMN(U64, ITEM, "slot", ""),
    RBWP_COLUMN(U64, ARGUMENT, "bytes", "bytes"), RBWP_COLUMN(NAME, CATEGORY, "category", "copy"),
};
static const struct rbwp_schema job_schema = RBWP_SCHEMA("dma_job", 1, job_columns);

static const struct rbwp_column submit_columns[] = {
    RBWP_COLUMN(TIME, START, "start", ""),          RBWP_COLUMN(TIME, STOP, "stop", ""),
    RBWP_COLUMN(U64, LINK_FROM, "job", "dma"),      RBWP_COLUMN(NAME, CATEGORY, "category", "call"),
    RBWP_COLUMN(NAME, LINK_KIND, "kind", "launch"),
};
static const struct rbwp_schema submit_schema = RBWP_SCHEMA("dma_submit", 1, submit_columns);

int main(int argc, char **argv)
{
    struct rbwp_session_config config = {.size = sizeof config};
    struct rbwp_session *session = NULL;
    struct rbwp_error error = {0};
    int64_t free_ns[ENGINES] = {0};
    unsigned jobs, submits, slot;
    uint64_t name;
    if (rbwp_session_parse(&config, &argc, argv, &error) != RBWP_OK ||
        rbwp_table_register(&job_schema, &jobs) != RBWP_OK ||
        rbwp_table_register(&submit_schema, &submits) != RBWP_OK ||
        rbwp_name_intern("copy in", 7, &name) != RBWP_OK ||
        rbwp_work_item_register("submitter", &slot) != RBWP_OK ||
        rbwp_session_start(&config, &session, &error) != RBWP_OK) {
        fprintf(stderr, "dma_jobs: %s\n", *error.text ? error.text : "the tables are refused");
        return 2;
    }
    (void)rbwp_thread_attach("main");
    for (uint64_t id = 1; id <= JOBS; id++) {
        rbwp_begin(slot);
        const struct job job = submit(id, free_ns);
        rbwp_end();
        rbwp_row_add(submits, (uint64_t[]){(uint64_t)job.submit_ns, (uint64_t)job.submitted_ns,
                                           job.id, 0, 0});
        rbwp_row_add(jobs, (uint64_t[]){(uint64_t)job.start_ns, (uint64_t)job.stop_ns, job.engine,
                                        name, job.id, slot, job.bytes, 0});
    }
    const int64_t *last = free_ns[0] > free_ns[1] ? &free_ns[0] : &free_ns[1];
    pass_time(*last);
    printf("%d jobs\n", JOBS);
    return rbwp_session_stop(session, NULL) == RBWP_OK ? 0 : 1;
}
