/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mpi_job MODE FOLDER - a node of a job whose nodes do what MODE says, and record it to
 * FOLDER/node_N.bin. Tests of librbwp-mpi run it under mpirun and look at its lines and files.
 *
 *   all      short, long and kept messages between all nodes, answers of handlers; clocks against
 *            the kernel's
 *   leaves   the last node closes its endpoint while node 0 goes on sending to it
 *   dies     the last node kills itself; the others wait for it
 *   silent   the last node stops (SIGSTOP), and is watched by its signs of life
 *   own      MPI is the program's own, without MPI_THREAD_MULTIPLE
 *
 * A line that begins with "node N: " is for the test. Exit status: 0 all was as it should be; 3 a
 * node is lost; 1 anything else.
 */
#include "rbwp_job.h"
#include "rbwp_message.h"
#include "rbwp_mpi.h"
#include "rbwp_record.h"
#include "rbwp_session.h"

#include <fcntl.h>
#include <mpi.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SHORT_MESSAGES 300u
#define LONG_BYTES 300000u
#define SECOND_NS 1000000000ull

static struct {
    uint32_t node, nodes;
    struct rbwp_mpi *mpi;
    struct rbwp_session *session;
    struct rbwp_work_manager *manager;
    struct rbwp_endpoint *endpoint;
    unsigned short_handler, long_handler, answer_handler;
    uint32_t next[64]; /* number that comes next, by sender */
    _Atomic(uint32_t) shorts, longs, answers, wrong;
    _Atomic(int) problems;
    char folder[512];
} job;

static void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void say(const char *format, ...)
{
    char line[600];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    printf("node %u: %s\n", job.node, line); /* one write a line: others write to the same pipe */
    fflush(stdout);
}

/* A node of those that found another lost waits for the rest of them: who ends first is lost to who
 * still looks. */
static void wait_for_survivors(void)
{
    char name[600];
    snprintf(name, sizeof name, "%s/survivor_%u", job.folder, job.node);
    close(creat(name, 0600));
    for (uint32_t node = 0; node + 1 < job.nodes; node++) {
        snprintf(name, sizeof name, "%s/survivor_%u", job.folder, node);
        for (int tries = 0; access(name, F_OK) != 0 && tries < 3000; tries++)
            usleep(10000);
    }
}

/* A failure is the end of this process; of a lost node with the status that says so, after the
 * session's end. */
static void need(enum rbwp_status status, const char *what, const struct rbwp_error *error)
{
    if (status == RBWP_OK)
        return;
    say("%s: %s", what, error->text);
    if (job.session)
        say("session ends with %d", rbwp_session_stop(job.session, NULL));
    if (status == RBWP_E_IO)
        wait_for_survivors();
    _exit(status == RBWP_E_IO ? 3 : 1);
}

/* ---- handlers ------------------------------------------------------------------------- */

static void handle_short(void *argument, const struct rbwp_message *message)
{
    (void)argument;
    uint32_t number;
    memcpy(&number, message->payload, sizeof number);
    if (message->payload_bytes != sizeof number || number != job.next[message->node]++)
        job.wrong++;
    job.shorts++;
    if (number % 10 == 0 && rbwp_message_send(message->endpoint, message->node, job.answer_handler,
                                              &number, sizeof number, RBWP_WAIT, NULL) != RBWP_OK)
        job.wrong++;
}

static void handle_answer(void *argument, const struct rbwp_message *message)
{
    (void)argument;
    (void)message;
    job.answers++;
}

static void handle_long(void *argument, const struct rbwp_message *message)
{
    (void)argument;
    const unsigned char *bytes = message->payload;
    for (uint32_t i = 0; i < LONG_BYTES; i++) {
        if (message->payload_bytes != LONG_BYTES ||
            bytes[i] != (unsigned char)(i * 7 + message->node)) {
            job.wrong++;
            break;
        }
    }
    job.longs++;
}

static void tell_problem(void *argument, const struct rbwp_message_problem *problem)
{
    (void)argument;
    say("problem %d with node %u: %s", (int)problem->kind, problem->node, problem->error.text);
    job.problems++;
}

static void tell_lost(void *argument, uint32_t node, const char *text)
{
    (void)argument;
    say("told that node %u is lost: %s", node, text);
}

/* ---- start and end ----------------------------------------------------------------------- */

static unsigned handler(const char *name, rbwp_handle_fn handle)
{
    struct rbwp_error error = {0};
    unsigned number = 0;
    struct rbwp_handler_config config = {.size = sizeof config, .name = name, .handle = handle};
    need(rbwp_handler_register(job.endpoint, &config, &number, &error), "register", &error);
    return number;
}

static void start_session(void)
{
    struct rbwp_error error = {0};
    struct rbwp_session_config config;
    char file[600];
    rbwp_session_defaults(&config);
    config.level = 2;
    snprintf(file, sizeof file, "%s/node_%%n.bin", job.folder);
    config.logfile = file;
    need(rbwp_session_start(&config, &job.session, &error), "session", &error);
    need(rbwp_mpi_compare_clocks(job.mpi, &error), "clocks", &error);
}

static void start_endpoint(void)
{
    struct rbwp_error error = {0};
    struct rbwp_work_config config = {.size = sizeof config, .workers = 1};
    need(rbwp_work_start(&config, &job.manager, &error), "workers", &error);
    struct rbwp_transport *transport;
    need(rbwp_mpi_transport(job.mpi, &transport, &error), "transport", &error);
    struct rbwp_endpoint_config messages = {
        .size = sizeof messages, .problem = tell_problem, .window = 64};
    need(rbwp_endpoint_new(job.manager, transport, &messages, &job.endpoint, &error), "endpoint",
         &error);
    /* In an order of its own on each node: they know each other's by name. */
    if (job.node % 2)
        job.answer_handler = handler("answer", handle_answer);
    job.short_handler = handler("short", handle_short);
    job.long_handler = handler("long", handle_long);
    if (job.node % 2 == 0)
        job.answer_handler = handler("answer", handle_answer);
    need(rbwp_endpoint_start(job.endpoint, &error), "start", &error);
}

static void stop_endpoint(void)
{
    rbwp_endpoint_free(job.endpoint);
    rbwp_work_stop(job.manager, true, NULL);
}

static void stop(void)
{
    struct rbwp_error error = {0};
    need(rbwp_mpi_compare_clocks(job.mpi, &error), "clocks at the end", &error);
    need(rbwp_session_stop(job.session, NULL), "the session's end", &error);
    job.session = NULL;
    need(rbwp_mpi_stop(job.mpi, &error), "stop", &error);
}

/* ---- what the modes do -------------------------------------------------------------------- */

static void send_shorts(uint32_t node)
{
    struct rbwp_error error = {0};
    for (uint32_t i = 0; i < SHORT_MESSAGES; i++)
        need(rbwp_message_send(job.endpoint, node, job.short_handler, &i, sizeof i, RBWP_WAIT,
                               &error),
             "send", &error);
}

static void send_long(uint32_t node)
{
    struct rbwp_error error = {0};
    static unsigned char bytes[LONG_BYTES];
    for (uint32_t i = 0; i < LONG_BYTES; i++)
        bytes[i] = (unsigned char)(i * 7 + job.node);
    need(rbwp_message_send(job.endpoint, node, job.long_handler, bytes, sizeof bytes, RBWP_WAIT,
                           &error),
         "send", &error);
}

static int64_t monotonic_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * (int64_t)SECOND_NS + time.tv_nsec;
}

/* How far rbwp_now_ns is ahead of the kernel's clock, which is the same for all processes here: the
 * difference of two nodes' is what a comparison of their clocks has to find. */
static int64_t ahead_ns(void)
{
    int64_t least_ns = INT64_MAX, ahead = 0;
    for (int i = 0; i < 100; i++) {
        int64_t before = monotonic_ns(), now = rbwp_now_ns(), after = monotonic_ns();
        if (after - before < least_ns) {
            least_ns = after - before;
            ahead = now - before - least_ns / 2;
        }
    }
    return ahead;
}

static void do_all(void)
{
    struct rbwp_error error = {0};
    for (uint32_t node = 0; node < job.nodes; node++)
        send_shorts(node);
    for (uint32_t node = 0; node < job.nodes; node++)
        send_long(node);
    need(rbwp_endpoint_quiesce(job.endpoint, RBWP_WAIT, &error), "quiesce", &error);
    say("%u short, %u long, %u answers, %u wrong", job.shorts, job.longs, job.answers, job.wrong);
    for (int i = 0; i < 5; i++) {
        int64_t offset_ns;
        uint64_t bound_ns;
        need(rbwp_mpi_compare_clocks(job.mpi, &error), "clocks", &error);
        need(rbwp_mpi_clock_offset(job.mpi, &offset_ns, &bound_ns), "offset", &error);
        say("clock offset %lld bound %llu ahead %lld", (long long)offset_ns,
            (unsigned long long)bound_ns, (long long)ahead_ns());
    }
}

/* Node 0 goes on sending until it is told; the others have nothing more to do. */
static void do_leaves(void)
{
    struct rbwp_error error = {0};
    need(rbwp_endpoint_quiesce(job.endpoint, RBWP_WAIT, &error), "quiesce", &error);
    enum rbwp_status status = RBWP_OK;
    uint32_t number = 0;
    while (job.node == 0 && status != RBWP_E_IO && number < 1000000) {
        status = rbwp_message_send(job.endpoint, job.nodes - 1, job.answer_handler, &number,
                                   sizeof number, SECOND_NS / 1000, &error);
        number++;
    }
    if (job.node == 0)
        say("send says %d: %s", (int)status, error.text);
}

/* The last node goes; the others wait for what will never be. */
static void do_without_last(void (*go)(void))
{
    struct rbwp_error error = {0};
    send_shorts(job.nodes - 1);
    if (job.node == job.nodes - 1) {
        while (job.shorts < job.nodes * SHORT_MESSAGES)
            usleep(1000);
        go();
    }
    need(rbwp_endpoint_quiesce(job.endpoint, RBWP_WAIT, &error), "quiesce", &error);
}

static void die(void)
{
    raise(SIGKILL);
}

/* Not for ever: the launcher waits for this process, and cannot end it. */
static void be_silent(void)
{
    pid_t parent = getpid();
    if (fork() == 0) {
        sleep(2);
        kill(parent, SIGKILL);
        _exit(0);
    }
    raise(SIGSTOP);
    for (;;)
        pause();
}

/* A program that initialised MPI for one thread alone. */
static int start_on_own_mpi(int argc, char **argv)
{
    struct rbwp_error error = {0};
    int level;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
    enum rbwp_status status = rbwp_mpi_start(NULL, NULL, NULL, &job.mpi, &error);
    say("start says %d: %s", (int)status, error.text);
    MPI_Finalize();
    return status == RBWP_E_UNSUPPORTED ? 0 : 1;
}

int main(int argc, char **argv)
{
    struct rbwp_error error = {0};
    const char *mode = argc > 1 ? argv[1] : "";
    if (strcmp(mode, "own") == 0)
        return start_on_own_mpi(argc, argv);
    bool is_silent = strcmp(mode, "silent") == 0;
    struct rbwp_mpi_config config = {.size = sizeof config, .lost = tell_lost};
    config.signs_only = is_silent;
    config.lost_after_ns = is_silent ? SECOND_NS : 0;
    signal(SIGTERM, SIG_IGN); /* mpirun's, while the session ends */
    need(rbwp_mpi_start(&config, &argc, &argv, &job.mpi, &error), "join", &error);
    job.node = rbwp_mpi_node(job.mpi);
    job.nodes = rbwp_mpi_nodes(job.mpi);
    snprintf(job.folder, sizeof job.folder, "%s", argc > 2 ? argv[2] : ".");
    start_session();
    start_endpoint();
    if (strcmp(mode, "all") == 0)
        do_all();
    else if (strcmp(mode, "leaves") == 0)
        do_leaves();
    else if (strcmp(mode, "dies") == 0)
        do_without_last(die);
    else if (is_silent)
        do_without_last(be_silent);
    stop_endpoint();
    stop();
    return job.wrong ? 1 : 0;
}
