/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A node of an MPI job by itself: what it sends to the others, what it makes of what comes from
 * them, and what it says when MPI fails or another node is lost. The others, and MPI, are here.
 */
#include "mpi_job.h"
#include "rbwp_job.h"
#include "rbwp_record.h"
#include "record_support.h"
#include "unit.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- MPI ------------------------------------------------------------------------------------- */

enum { OPS = 4096, NODES = 5, FAILS = 9 };
enum { PACKETS = 10, PAYLOADS, CALLS }; /* communicators, as they are made */

/* A send or a receive. */
struct op {
    const void *sent;
    void *data;
    int count, node, tag, communicator;
    bool is_through, is_cancelled, is_freed;
    MPI_Status status;
};

static struct {
    struct op op[OPS];
    int ops; /* the first has number 1 */
    bool is_slow, is_initialised, is_finalised, others_are_far;
    int level, communicators, freed, handled, finalized;
    int node, nodes, watched_pid; /* of node 1, if it is not 0 */
    const char *fails;            /* this call, after so many that do not */
    int fails_after;
    const char *stuck; /* this call of all nodes is never over */
    bool others_record, own_records;
    int64_t answers_ns; /* of node 0, whose clock is so far ahead, to each question; 0: none */
} mpi;

static int call(const char *name)
{
    return mpi.fails && strcmp(mpi.fails, name) == 0 && mpi.fails_after-- <= 0 ? FAILS
                                                                               : MPI_SUCCESS;
}

static int begin_op(const char *name, struct op op, MPI_Request *request)
{
    int code = call(name);
    if (code != MPI_SUCCESS)
        return code;
    assert_true(mpi.ops + 1 < OPS);
    mpi.op[ *request = ++mpi.ops] = op;
    return MPI_SUCCESS;
}

static int begin_call_of_all(const char *name, MPI_Comm communicator, MPI_Request *request)
{
    assert_int_equal(communicator, CALLS);
    const bool is_stuck = mpi.stuck && strcmp(mpi.stuck, name) == 0;
    return begin_op(name, (struct op){.is_through = !is_stuck, .communicator = communicator},
                    request);
}

static int gives(int *place, int value)
{
    *place = value;
    return MPI_SUCCESS;
}

int MPI_Initialized(int *flag)
{
    return gives(flag, mpi.is_initialised);
}
int MPI_Finalized(int *flag)
{
    return gives(flag, mpi.is_finalised);
}
int MPI_Init_thread(int *argc, char ***argv, int wanted, int *level)
{
    (void)argc, (void)argv;
    assert_int_equal(wanted, MPI_THREAD_MULTIPLE);
    *level = mpi.level;
    return call("Init_thread");
}
int MPI_Query_thread(int *level)
{
    return gives(level, mpi.level);
}
int MPI_Finalize(void)
{
    mpi.finalized++;
    return MPI_SUCCESS;
}
int MPI_Error_string(int code, char *text, int *length)
{
    *length = snprintf(text, MPI_MAX_ERROR_STRING, "words for %d", code);
    return call("Error_string");
}
int MPI_Comm_dup(MPI_Comm from, MPI_Comm *to)
{
    assert_int_equal(from, MPI_COMM_WORLD);
    int code = call("Comm_dup");
    if (code == MPI_SUCCESS)
        *to = PACKETS + mpi.communicators++;
    return code;
}
int MPI_Comm_free(MPI_Comm *communicator)
{
    mpi.freed++;
    return gives(communicator, MPI_COMM_NULL);
}
int MPI_Comm_rank(MPI_Comm communicator, int *rank)
{
    assert_int_equal(communicator, CALLS);
    return gives(rank, mpi.node);
}
int MPI_Comm_size(MPI_Comm communicator, int *size)
{
    assert_int_equal(communicator, CALLS);
    return gives(size, mpi.nodes);
}
int MPI_Comm_set_errhandler(MPI_Comm communicator, MPI_Errhandler handler)
{
    assert_int_equal(handler, MPI_ERRORS_RETURN);
    assert_int_equal(communicator, PACKETS + mpi.handled++);
    return call("Comm_set_errhandler");
}
int MPI_Comm_get_attr(MPI_Comm communicator, int key, void *value, int *flag)
{
    static int highest = 99;
    assert_int_equal(communicator, PAYLOADS);
    assert_int_equal(key, MPI_TAG_UB);
    *(int **)value = &highest;
    return gives(flag, call("Comm_get_attr") == MPI_SUCCESS);
}
static void answer_question(const void *question);
int MPI_Isend(const void *data, int count, MPI_Datatype type, int to, int tag,
              MPI_Comm communicator, MPI_Request *request)
{
    assert_int_equal(type, MPI_BYTE);
    if (mpi.answers_ns && communicator == PACKETS && tag == TAG_PING)
        answer_question(data);
    return begin_op(communicator == CALLS ? "Isend turn" : "Isend",
                    (struct op){.sent = data,
                                .count = count,
                                .node = to,
                                .tag = tag,
                                .communicator = communicator,
                                .is_through = !mpi.is_slow},
                    request);
}
int MPI_Irecv(void *data, int count, MPI_Datatype type, int from, int tag, MPI_Comm communicator,
              MPI_Request *request)
{
    assert_int_equal(type, MPI_BYTE);
    return begin_op(communicator == CALLS ? "Irecv turn" : "Irecv",
                    (struct op){.is_through = communicator == CALLS,
                                .data = data,
                                .count = count,
                                .node = from,
                                .tag = tag,
                                .communicator = communicator},
                    request);
}
int MPI_Ibarrier(MPI_Comm communicator, MPI_Request *request)
{
    return begin_call_of_all("Ibarrier", communicator, request);
}
int MPI_Ibcast(void *data, int count, MPI_Datatype type, int root, MPI_Comm communicator,
               MPI_Request *request)
{
    (void)data, (void)count, (void)type;
    assert_int_equal(root, 0);
    return begin_call_of_all("Ibcast", communicator, request);
}
int MPI_Iallreduce(const void *own, void *all, int count, MPI_Datatype type, MPI_Op operation,
                   MPI_Comm communicator, MPI_Request *request)
{
    assert_int_equal(operation, MPI_MAX);
    memcpy(all, own, (size_t)count * type);
    mpi.own_records = *(const int *)own;
    if (mpi.others_record)
        *(int *)all = 1;
    return begin_call_of_all("Iallreduce", communicator, request);
}
/* All are where this node is, or far from each other; where they say their pid stands in watch.c.
 */
int MPI_Iallgather(const void *own, int count, MPI_Datatype type, void *all, int all_count,
                   MPI_Datatype all_type, MPI_Comm communicator, MPI_Request *request)
{
    enum { BOOT_BYTES = 40, PID_AT = 48 };
    assert_int_equal(count, all_count);
    assert_int_equal(type, all_type);
    for (int node = 0; node < mpi.nodes; node++) {
        char *place = (char *)all + node * count;
        const int64_t pid = node == 1 && mpi.watched_pid ? mpi.watched_pid : getpid();
        memcpy(place, own, (size_t)count);
        memcpy(place + PID_AT, &pid, sizeof pid);
        if (mpi.others_are_far)
            memset(place, 'a' + node, BOOT_BYTES - 1);
    }
    return begin_call_of_all("Iallgather", communicator, request);
}
int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status)
{
    int code = call("Test");
    *flag = 0;
    if (code != MPI_SUCCESS || *request == MPI_REQUEST_NULL)
        return code == MPI_SUCCESS ? gives(flag, 1) : code;
    const struct op *op = &mpi.op[*request];
    assert_false(op->is_freed);
    if (!op->is_through)
        return MPI_SUCCESS;
    if (status)
        *status = op->status;
    *request = MPI_REQUEST_NULL;
    return gives(flag, 1);
}
int MPI_Wait(MPI_Request *request, MPI_Status *status)
{
    (void)status;
    assert_true(mpi.op[*request].is_cancelled);
    return gives(request, MPI_REQUEST_NULL);
}
int MPI_Cancel(MPI_Request *request)
{
    mpi.op[*request].is_cancelled = true;
    return MPI_SUCCESS;
}
int MPI_Request_free(MPI_Request *request)
{
    mpi.op[*request].is_freed = true;
    return gives(request, MPI_REQUEST_NULL);
}
int MPI_Get_count(const MPI_Status *status, MPI_Datatype type, int *count)
{
    assert_int_equal(type, MPI_BYTE);
    return gives(count, status->count);
}

/* The last packet that went. */
static const struct op *last_sent(void)
{
    for (int i = mpi.ops; i > 0; i--)
        if (mpi.op[i].sent && mpi.op[i].communicator == PACKETS)
            return &mpi.op[i];
    return NULL;
}

/* How many packets went to a node, with that tag. */
static int count_sent(int node, int tag)
{
    int count = 0;
    for (int i = 1; i <= mpi.ops; i++)
        count += mpi.op[i].sent && mpi.op[i].communicator == PACKETS && mpi.op[i].node == node &&
                 mpi.op[i].tag == tag;
    return count;
}

/* A packet comes, into the receive that was posted first. */
static void come(int from, int tag, const void *bytes, size_t count)
{
    for (int i = 1; i <= mpi.ops; i++) {
        struct op *op = &mpi.op[i];
        if (op->sent || !op->data || op->communicator != PACKETS || op->is_through)
            continue;
        assert_int_equal(op->node, MPI_ANY_SOURCE);
        assert_int_equal(op->tag, MPI_ANY_TAG);
        assert_in_range(count, 0, op->count);
        memcpy(op->data, bytes, count);
        op->status = (MPI_Status){from, tag, (int)count};
        op->is_through = true;
        return;
    }
    fail_msg("no receive is posted");
}

/* ---- the endpoint, and the session ----------------------------------------------------------- */

static struct {
    int arrived, lost, rooms, done;
    uint32_t from, lost_node, bytes;
    unsigned char first;
    char lost_text[256]; /* "": it has left in order */
    uint64_t token;
    enum rbwp_status says, done_status; /* what arrived is answered; how the payload ended */
    int64_t now_ns;                     /* of this node's clock; 0: the real one */
    int64_t local_ns, offset_ns;        /* written down last */
    uint64_t bound_ns;
    int reported, offsets; /* config.lost; offsets written down */
} up;

enum rbwp_status __wrap_rbwp_transport_arrived(struct rbwp_endpoint *endpoint, uint32_t node,
                                               const struct rbwp_packet *packet);
void __wrap_rbwp_transport_room(struct rbwp_endpoint *endpoint);
void __wrap_rbwp_transport_payload_done(struct rbwp_endpoint *endpoint, uint64_t token,
                                        enum rbwp_status status);
void __wrap_rbwp_transport_lost(struct rbwp_endpoint *endpoint, uint32_t node, const char *text);
int64_t __wrap_rbwp_now_ns(void);
int64_t __real_rbwp_now_ns(void);
enum rbwp_status __wrap_rbwp_clock_offset_add(int64_t local_ns, int64_t offset_ns,
                                              uint64_t bound_ns);

#define ENDPOINT ((struct rbwp_endpoint *)&up)

enum rbwp_status __wrap_rbwp_transport_arrived(struct rbwp_endpoint *endpoint, uint32_t node,
                                               const struct rbwp_packet *packet)
{
    assert_ptr_equal(endpoint, ENDPOINT);
    up.arrived++;
    up.from = node;
    up.bytes = packet->bytes;
    up.first = *(const unsigned char *)packet->piece[0].data;
    return up.says;
}
void __wrap_rbwp_transport_room(struct rbwp_endpoint *endpoint)
{
    assert_ptr_equal(endpoint, ENDPOINT);
    up.rooms++;
}
void __wrap_rbwp_transport_payload_done(struct rbwp_endpoint *endpoint, uint64_t token,
                                        enum rbwp_status status)
{
    assert_ptr_equal(endpoint, ENDPOINT);
    up.done++;
    up.token = token;
    up.done_status = status;
}
void __wrap_rbwp_transport_lost(struct rbwp_endpoint *endpoint, uint32_t node, const char *text)
{
    assert_ptr_equal(endpoint, ENDPOINT);
    up.lost++;
    up.lost_node = node;
    snprintf(up.lost_text, sizeof up.lost_text, "%s", text ? text : "");
}
int64_t __wrap_rbwp_now_ns(void)
{
    return up.now_ns ? up.now_ns : __real_rbwp_now_ns();
}
enum rbwp_status __wrap_rbwp_clock_offset_add(int64_t local_ns, int64_t offset_ns,
                                              uint64_t bound_ns)
{
    up.local_ns = local_ns;
    up.offset_ns = offset_ns;
    up.bound_ns = bound_ns;
    up.offsets++;
    return RBWP_OK;
}

static void note_lost(void *argument, uint32_t node, const char *text)
{
    assert_ptr_equal(argument, &up);
    assert_int_equal(node, up.lost_node);
    assert_string_equal(text, up.lost_text);
    up.reported++;
}

/* ---- a node ---------------------------------------------------------------------------------- */

static int clear(void **state)
{
    (void)state;
    memset(&mpi, 0, sizeof mpi);
    memset(&up, 0, sizeof up);
    mpi.level = MPI_THREAD_MULTIPLE;
    mpi.nodes = NODES;
    return 0;
}

/* One that has joined, but for the thread that looks by itself. */
static struct rbwp_mpi *joined(uint32_t node)
{
    struct rbwp_mpi *made = calloc(1, sizeof *made);
    struct rbwp_error error = {.text = ""};
    *made = (struct rbwp_mpi){
        .config = {.size = sizeof made->config,
                   .lost_after_ns = UINT64_C(4000000000),
                   .clock_every_ns = UINT64_C(1000000000),
                   .lost = note_lost,
                   .argument = &up},
        .node = node,
        .nodes = (uint32_t)mpi.nodes,
        .packets = PACKETS,
        .payloads = PAYLOADS,
        .calls = CALLS,
        .endpoint = ENDPOINT,
    };
    pthread_mutex_init(&made->polling, NULL);
    pthread_mutex_init(&made->transfers.lock, NULL);
    pthread_mutex_init(&made->watch.lock, NULL);
    made->told_left = calloc(made->nodes, sizeof *made->told_left);
    assert_int_equal(slots_open(made, &error), RBWP_OK);
    assert_int_equal(watch_open(made, &error), RBWP_OK);
    assert_int_equal(ring_open(made, &error), RBWP_OK);
    return made;
}

static void part(struct rbwp_mpi *made)
{
    transfers_drop(made);
    ring_close(made);
    free(made->slots.slot);
    watch_close(made);
    free(made->told_left);
    free(made);
}

static void poll_all(struct rbwp_mpi *made)
{
    while (mpi_job_poll(made))
        ;
}

/* ---- clocks ---------------------------------------------------------------------------------- */

/* As clocks.c has them travel. */
struct question {
    uint32_t burst, unused;
    int64_t asked_ns;
};
struct answer {
    struct question question;
    int64_t came_ns, went_ns;
};

static void answer_at(struct rbwp_mpi *made, struct answer answer, int64_t now_ns)
{
    up.now_ns = now_ns;
    clocks_take(made, &answer, sizeof answer);
}

static uint64_t tick_of(uint64_t ns)
{
    return rbwp_ticks_from_ns(ns);
}

/* The answer that came back soonest counts, from the middle of its way; a comparison is over when
 * so many have not been clearly better. */
static void the_soonest_answer(void **state)
{
    (void)state;
    enum { IN_VAIN = 16 };
    static const struct {
        int64_t way_ns; /* there and back */
        uint64_t bound_ns;
        unsigned missing; /* then */
    } answers[] = {{2000, 1001, 15}, {2000, 1001, 14}, {1760, 881, 13},
                   {1540, 771, 12},  {1346, 674, 16},  {5000, 674, 15},
                   {1180, 591, 14},  {-1, 591, 13},    {0, 1, 16}};
    struct rbwp_mpi *made = joined(2);
    int64_t offset_ns;
    uint64_t bound_ns;
    assert_int_equal(rbwp_mpi_clock_offset(made, &offset_ns, &bound_ns), RBWP_AGAIN);
    clocks_tick(made, 5);
    assert_int_equal(made->clocks.burst, 0); /* not before a session */
    made->clocks.compares = true;
    made->clocks.due_ticks = 6;
    clocks_tick(made, 5);
    assert_int_equal(made->clocks.burst, 0);
    up.now_ns = 777;
    clocks_tick(made, 6);
    assert_int_equal(made->clocks.due_ticks, 6 + tick_of(1000000000));
    const struct op *asked = last_sent();
    assert_int_equal(asked->node, 0);
    assert_int_equal(asked->tag, TAG_PING);
    assert_int_equal(asked->count, sizeof(struct question));
    struct answer answer = {.question = {.burst = 1, .asked_ns = 777}};
    assert_memory_equal(asked->sent, &answer.question, sizeof answer.question);
    assert_int_equal(made->clocks.missing, IN_VAIN);
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        const int before = count_sent(0, TAG_PING);
        answer.question.asked_ns = 10000;
        answer.came_ns = 70000;
        answer.went_ns = 70100;
        answer_at(made, answer, 10000 + 100 + answers[i].way_ns);
        assert_int_equal(made->clocks.best.bound_ns, answers[i].bound_ns);
        assert_int_equal(made->clocks.missing, answers[i].missing);
        assert_int_equal(count_sent(0, TAG_PING), before + 1);
    }
    assert_int_equal(made->clocks.best.local_ns, 10050);
    assert_int_equal(made->clocks.best.offset_ns, 70050 - 10050);
    /* None of these is one of this comparison's. */
    answer.question.burst = 2;
    answer_at(made, answer, 20000);
    answer.question.burst = 1;
    clocks_take(made, &answer, sizeof answer - 1);
    assert_int_equal(made->clocks.missing, 16);
    for (int i = 0; i < 16; i++) {
        assert_int_equal(up.offsets, 0);
        answer_at(made, answer, 99999);
    }
    assert_int_equal(up.offsets, 1);
    answer_at(made, answer, 10100); /* too late */
    assert_int_equal(up.offsets, 1);
    assert_int_equal(up.local_ns, 10050);
    assert_int_equal(up.offset_ns, 60000);
    assert_int_equal(up.bound_ns, 1);
    assert_int_equal(rbwp_mpi_clock_offset(made, &offset_ns, &bound_ns), RBWP_OK);
    assert_int_equal(offset_ns, 60000);
    assert_int_equal(bound_ns, 1);
    part(made);
}

/* What is known when the next comparison begins is written down, though answers are missing;
 * without any the last one's stays. */
static void answers_that_stay_away(void **state)
{
    (void)state;
    struct rbwp_mpi *made = joined(1);
    made->clocks.compares = true;
    clocks_tick(made, 10);
    answer_at(made, (struct answer){{1, 0, 1000}, 5000, 5000}, 1200);
    clocks_tick(made, 10 + tick_of(1000000000) - 1);
    assert_int_equal(made->clocks.burst, 1);
    clocks_tick(made, 10 + tick_of(1000000000));
    assert_int_equal(made->clocks.burst, 2);
    assert_int_equal(up.offsets, 1);
    assert_int_equal(up.offset_ns, 5000 - 1100);
    assert_int_equal(up.bound_ns, 101);
    clocks_tick(made, 10 + 2 * tick_of(1000000000));
    assert_int_equal(made->clocks.burst, 3);
    assert_int_equal(up.offsets, 1);
    /* Answers that took less than no time are none. */
    for (int i = 0; i < 16; i++)
        answer_at(made, (struct answer){{3, 0, 1000}, 5000, 5000}, 999);
    assert_int_equal(made->clocks.missing, 0);
    assert_int_equal(up.offsets, 1);
    part(made);
    made = joined(0); /* whose clock it is */
    int64_t offset_ns = 1;
    uint64_t bound_ns = 1;
    made->clocks.compares = true;
    clocks_tick(made, 10);
    assert_int_equal(made->clocks.burst, 0);
    assert_int_equal(rbwp_mpi_clock_offset(made, &offset_ns, &bound_ns), RBWP_OK);
    assert_int_equal(offset_ns, 0);
    assert_int_equal(bound_ns, 0);
    part(made);
}

static void answer_question(const void *question)
{
    struct answer answer;
    memcpy(&answer.question, question, sizeof answer.question);
    answer.came_ns = answer.went_ns = rbwp_now_ns() + mpi.answers_ns;
    come(0, TAG_PONG, &answer, sizeof answer);
}

/* The only send or receive of this node's with a neighbour, in turn. NULL: there is none. */
static const struct op *turn_of(bool sends)
{
    const struct op *found = NULL;
    for (int i = 1; i <= mpi.ops; i++)
        if (mpi.op[i].communicator == CALLS && (sends ? mpi.op[i].sent : mpi.op[i].data)) {
            assert_null(found);
            found = &mpi.op[i];
        }
    return found;
}

/* All nodes compare in turn: each when the one before it is through. */
static void all_compare_in_turn(void **state)
{
    (void)state;
    enum { AHEAD_NS = 50000000, IN_VAIN = 64 };
    struct rbwp_error error = {.text = ""};
    for (uint32_t node = 0; node < NODES; node++) {
        clear(NULL);
        struct rbwp_mpi *made = joined(node);
        mpi.answers_ns = AHEAD_NS;
        assert_int_equal(clocks_compare(made, &error), RBWP_OK);
        const struct op *before = turn_of(false), *behind = turn_of(true);
        assert_int_equal(before != NULL, node > 1);
        assert_int_equal(behind != NULL, node > 0 && node < NODES - 1);
        assert_true(!before || (before->node == (int)node - 1 && before->count == 1));
        assert_true(!behind || (behind->node == (int)node + 1 && behind->count == 1));
        assert_true(node == 0 || count_sent(0, TAG_PING) >= IN_VAIN);
        assert_int_equal(up.offsets, node > 0);
        assert_true(node == 0 || up.offset_ns - AHEAD_NS <= (int64_t)up.bound_ns);
        assert_true(node == 0 || AHEAD_NS - up.offset_ns <= (int64_t)up.bound_ns);
        part(made);
    }
    static const char *const fails[][2] = {{"Irecv turn", "MPI_Irecv failed"},
                                           {"Isend turn", "MPI_Isend failed"},
                                           {"Ibarrier", "MPI_Ibarrier failed"}};
    for (size_t i = 0; i < sizeof fails / sizeof *fails; i++) {
        clear(NULL);
        struct rbwp_mpi *made = joined(2);
        mpi.answers_ns = AHEAD_NS;
        mpi.fails = fails[i][0];
        assert_int_equal(clocks_compare(made, &error), RBWP_E_IO);
        assert_non_null(strstr(error.text, fails[i][1]));
        part(made);
    }
    clear(NULL); /* nobody is asked where node 0 is lost */
    struct rbwp_mpi *made = joined(1);
    watch_lose(made, 0, "node 0 went");
    mpi.stuck = "Ibarrier";
    assert_int_equal(clocks_compare(made, &error), RBWP_E_IO);
    assert_non_null(strstr(error.text, "node 0 went"));
    assert_int_equal(up.offsets, 0);
    part(made);
}

/* Clocks are compared where anybody records, and from then on again and again. */
static void compared_where_somebody_records(void **state)
{
    (void)state;
    struct rbwp_error error = {.text = ""};
    assert_int_equal(rbwp_mpi_compare_clocks(NULL, &error), RBWP_E_INVALID);
    for (int who = 0; who < 4; who++) { /* nobody, another one, this one, and once only */
        clear(NULL);
        struct rbwp_session_config config = test_config(1);
        struct rbwp_session *session = who == 2 ? start(&config) : NULL;
        struct rbwp_mpi *made = joined(0);
        mpi.others_record = who == 1 || who == 3;
        if (who == 3)
            made->config.clock_every_ns = RBWP_MPI_NEVER;
        const uint64_t before = rbwp_now_ticks();
        mpi.fails = "Ibarrier";
        assert_int_equal(rbwp_mpi_compare_clocks(made, &error), who ? RBWP_E_IO : RBWP_OK);
        mpi.fails = NULL;
        assert_int_equal(rbwp_mpi_compare_clocks(made, &error), RBWP_OK);
        assert_int_equal(mpi.own_records, who == 2);
        assert_int_equal(made->clocks.compares, who == 1 || who == 2);
        if (made->clocks.compares)
            assert_in_range(made->clocks.due_ticks - before, tick_of(1000000000),
                            tick_of(UINT64_C(600000000000)));
        mpi.fails = "Iallreduce";
        assert_int_equal(rbwp_mpi_compare_clocks(made, &error), RBWP_E_IO);
        assert_non_null(strstr(error.text, "MPI_Iallreduce failed"));
        part(made);
        if (session)
            (void)stop(session);
    }
}

/* A question is answered to who asked, with the times of its coming and going. */
static void a_question_is_answered(void **state)
{
    (void)state;
    struct rbwp_mpi *made = joined(0);
    const struct answer expected = {{4, 0, 55}, 99, 99};
    up.now_ns = 99;
    const struct question other = {5, 0, 56};
    come(3, TAG_PING, &other, sizeof other - 1); /* of another length */
    come(3, TAG_PING, &expected, sizeof other + 1);
    come(3, TAG_PING, &expected.question, sizeof expected.question);
    poll_all(made);
    assert_int_equal(count_sent(3, TAG_PONG), 1);
    assert_int_equal(last_sent()->count, sizeof expected);
    assert_memory_equal(last_sent()->sent, &expected, sizeof expected);
    part(made);
}

/* ---- packets that go ------------------------------------------------------------------------- */

static enum rbwp_status send_to(struct rbwp_mpi *made, uint32_t node, int tag)
{
    const struct rbwp_packet packet = {
        .count = 3, .bytes = 5, .piece = {{"ab", 2}, {NULL, 0}, {"cde", 3}}};
    return slots_send(made, node, tag, &packet);
}

/* As many may be under way as there are slots; who was turned away is told of room, once. */
static void packets_go(void **state)
{
    (void)state;
    struct rbwp_mpi *made = joined(0);
    assert_int_equal(send_to(made, 3, TAG_PACKET), RBWP_OK);
    assert_int_equal(last_sent()->node, 3);
    assert_int_equal(last_sent()->tag, TAG_PACKET);
    assert_int_equal(last_sent()->count, 5);
    assert_memory_equal(last_sent()->sent, "abcde", 5);
    mpi.is_slow = true;
    int first = mpi.ops + 1;
    for (unsigned i = 0; i < SLOTS; i++)
        assert_int_equal(send_to(made, 1, TAG_PACKET), RBWP_OK);
    for (int i = first; i <= mpi.ops; i++)
        for (int k = first; k < i && i < first + 70; k++)
            assert_ptr_not_equal(mpi.op[i].sent, mpi.op[k].sent);
    poll_all(made);
    assert_int_equal(send_to(made, 1, TAG_PACKET), RBWP_AGAIN);
    poll_all(made);
    assert_int_equal(up.rooms, 0);
    mpi.op[first + 200].is_through = true;
    assert_true(mpi_job_poll(made));
    assert_int_equal(up.rooms, 1);
    poll_all(made);
    assert_int_equal(send_to(made, 1, TAG_PACKET), RBWP_OK);
    assert_int_equal(up.rooms, 1);
    assert_int_equal(send_to(made, 1, TAG_PACKET), RBWP_AGAIN);
    for (int i = first; i <= mpi.ops; i++)
        mpi.op[i].is_through = true;
    poll_all(made);
    assert_int_equal(up.rooms, 2);
    part(made);
}

/* Where MPI fails, at once or later, the node is lost at the next look, and the slot is free again.
 */
static void packets_fail(void **state)
{
    (void)state;
    static const struct {
        const char *call;
        bool is_later;
    } cases[] = {{"Isend", false}, {"Test", false}, {"Test", true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        clear(NULL);
        struct rbwp_mpi *made = joined(0);
        if (cases[i].is_later) {
            mpi.is_slow = true;
            assert_int_equal(send_to(made, 2, TAG_PACKET), RBWP_OK);
        }
        mpi.fails = cases[i].call;
        if (!cases[i].is_later)
            assert_int_equal(send_to(made, 2, TAG_PACKET), RBWP_E_IO);
        mpi.fails_after = 0;
        if (cases[i].is_later) {
            mpi.fails_after = 0;
            made->ring.is_broken = true; /* nothing else is tested */
            assert_true(mpi_job_poll(made));
        }
        mpi.fails = NULL;
        assert_true(watch_is_here(made, 2));
        watch_tick(made, 1);
        assert_true(watch_is_lost(made, 2));
        assert_int_equal(up.lost_node, 2);
        assert_non_null(strstr(up.lost_text, "a send failed: words for 9"));
        assert_int_equal(up.reported, 1);
        mpi.is_slow = true;
        unsigned sent = 0;
        while (send_to(made, 1, TAG_PACKET) == RBWP_OK)
            sent++;
        assert_int_equal(sent, SLOTS);
        assert_int_equal(send_to(made, 2, TAG_PACKET), RBWP_E_IO);
        part(made);
    }
}

/* ---- payloads -------------------------------------------------------------------------------- */

#define GIB (UINT64_C(1) << 30)

static int last_of(int communicator)
{
    int i = mpi.ops;
    while (i > 0 && mpi.op[i].communicator != communicator)
        i--;
    return i;
}

static struct transfer_end end_of(bool sends, uint64_t bytes, uint64_t token)
{
    static unsigned char anywhere[1]; /* nobody looks into it */
    return (struct transfer_end){
        .node = 2, .tag = 17, .sends = sends, .payload = anywhere, .bytes = bytes, .token = token};
}

/* A payload goes in pieces that MPI can count, one after the other. */
static void payloads_in_pieces(void **state)
{
    (void)state;
    static const uint64_t bytes[] = {1, GIB - 1, GIB, GIB + 1, 2 * GIB + GIB / 2};
    for (int sends = 0; sends < 2; sends++)
        for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++) {
            clear(NULL);
            struct rbwp_mpi *made = joined(0);
            const struct transfer_end end = end_of(sends, bytes[i], 40 + i);
            mpi.is_slow = true;
            assert_int_equal(transfers_begin(made, &end), RBWP_OK);
            uint64_t gone = 0;
            while (gone < bytes[i]) {
                struct op *piece = &mpi.op[last_of(PAYLOADS)];
                const uint64_t left = bytes[i] - gone;
                assert_false(piece->is_through);
                assert_int_equal(piece->count, left < GIB ? left : GIB);
                assert_int_equal(piece->node, 2);
                assert_int_equal(piece->tag, 17);
                assert_ptr_equal(sends ? piece->sent : piece->data, end.payload + gone);
                assert_ptr_equal(sends ? piece->data : piece->sent, NULL);
                poll_all(made);
                assert_int_equal(up.done, 0);
                piece->is_through = true;
                poll_all(made);
                gone += (uint64_t)piece->count;
            }
            assert_int_equal(gone, bytes[i]);
            assert_int_equal(up.done, 1);
            assert_int_equal(up.token, 40 + i);
            assert_int_equal(up.done_status, RBWP_OK);
            part(made);
        }
}

/* One that fails, or whose other end is lost, is over; what it would have received is cancelled. */
static void payloads_fail(void **state)
{
    (void)state;
    struct rbwp_mpi *made = joined(0);
    struct transfer_end end = end_of(true, GIB + 1, 1);
    made->ring.is_broken = true; /* nothing else is tested */
    mpi.fails = "Isend";
    assert_int_equal(transfers_begin(made, &end), RBWP_E_IO);
    assert_true(made->watch.any_suspect);
    made->watch.any_suspect = false;
    mpi.fails = NULL;
    assert_int_equal(transfers_begin(made, &end), RBWP_OK);
    mpi.fails = "Isend"; /* the second piece */
    assert_true(mpi_job_poll(made));
    assert_int_equal(up.done, 1);
    assert_int_equal(up.done_status, RBWP_E_IO);
    assert_true(made->watch.any_suspect);
    mpi.fails = NULL;
    assert_int_equal(transfers_begin(made, &end), RBWP_OK);
    mpi.fails = "Test";
    assert_true(mpi_job_poll(made));
    assert_int_equal(up.done, 2);
    mpi.fails = NULL;
    assert_false(mpi_job_poll(made));
    mpi.is_slow = true;
    for (int sends = 0; sends < 2; sends++) {
        end = end_of(sends, 100, 7);
        assert_int_equal(transfers_begin(made, &end), RBWP_OK);
    }
    end.node = 3; /* which stays */
    end.token = 8;
    assert_int_equal(transfers_begin(made, &end), RBWP_OK);
    const int last = mpi.ops;
    watch_lose(made, 2, "it is gone");
    assert_true(mpi_job_poll(made));
    assert_int_equal(up.done, 4);
    assert_int_equal(up.token, 7);
    assert_int_equal(up.done_status, RBWP_E_IO);
    assert_true(mpi.op[last - 2].is_cancelled && mpi.op[last - 2].is_freed);
    assert_true(!mpi.op[last - 1].is_cancelled && mpi.op[last - 1].is_freed);
    assert_false(mpi.op[last].is_freed);
    end = end_of(true, 100, 9);
    assert_int_equal(transfers_begin(made, &end), RBWP_E_IO);
    mpi.op[last].is_through = true;
    assert_true(mpi_job_poll(made));
    assert_int_equal(up.token, 8);
    assert_int_equal(up.done_status, RBWP_OK);
    /* Those that are dropped are not reported. */
    end.node = 3;
    assert_int_equal(transfers_begin(made, &end), RBWP_OK);
    transfers_drop(made);
    assert_true(mpi.op[mpi.ops].is_freed);
    assert_false(mpi_job_poll(made));
    assert_int_equal(up.done, 5);
    part(made);
}

/* ---- packets that come ----------------------------------------------------------------------- */

/* They are handed on in their order, around the ring; one that finds no room is handed on again. */
static void packets_come(void **state)
{
    (void)state;
    struct rbwp_mpi *made = joined(0);
    for (unsigned i = 0; i < 5 * RING_RECEIVES; i++) {
        const unsigned char number = (unsigned char)i;
        come((int)(1 + i % 4), TAG_PACKET, &number, sizeof number);
        assert_true(mpi_job_poll(made));
        assert_int_equal(up.arrived, i + 1);
        assert_int_equal(up.from, 1 + i % 4);
        assert_int_equal(up.first, number);
        assert_int_equal(up.bytes, 1);
    }
    assert_false(mpi_job_poll(made));
    up.says = RBWP_AGAIN;
    up.arrived = 0;
    come(2, TAG_PACKET, "x", 1);
    come(3, TAG_PACKET, "yz", 2);
    assert_false(mpi_job_poll(made));
    assert_false(mpi_job_poll(made));
    assert_int_equal(up.arrived, 2);
    assert_int_equal(up.from, 2);
    up.says = RBWP_OK;
    poll_all(made);
    assert_int_equal(up.arrived, 4);
    assert_int_equal(up.from, 3);
    assert_int_equal(up.bytes, 2);
    up.says = RBWP_E_INVALID; /* it is not wanted: dropped */
    come(2, TAG_PACKET, "x", 1);
    assert_true(mpi_job_poll(made));
    come(2, TAG_SIGN, "", 1);
    come(2, TAG_SIGN + 1, "", 1); /* of a later version */
    poll_all(made);
    assert_int_equal(up.arrived, 5);
    /* Many at once: each look that finds all it takes takes twice as many next. */
    up.says = RBWP_OK;
    up.arrived = 0;
    for (int i = 0; i < RING_RECEIVES; i++)
        come(1, TAG_PACKET, "x", 1);
    static const int then[] = {1, 3, 7, 15, 31, 63, 64};
    for (size_t i = 0; i < sizeof then / sizeof *then; i++) {
        assert_true(mpi_job_poll(made));
        assert_int_equal(up.arrived, then[i]);
    }
    assert_false(mpi_job_poll(made));
    part(made);
}

/* Who sends where no endpoint is any more hears of it once, and how it went; where it is to come
 * yet its packets stay. */
static void no_endpoint(void **state)
{
    (void)state;
    struct rbwp_transport transport;
    for (int in_order = 0; in_order < 2; in_order++) {
        clear(NULL);
        struct rbwp_mpi *made = joined(0);
        made->endpoint = NULL;
        made->transport = &transport;
        come(1, TAG_PACKET, "x", 1);
        assert_false(mpi_job_poll(made));
        made->transport = NULL;
        made->left_in_order = in_order;
        come(1, TAG_PACKET, "x", 1);
        come(3, TAG_PACKET, "x", 1);
        mpi.fails = "Isend"; /* reported when it sends again */
        assert_true(mpi_job_poll(made));
        mpi.fails = NULL;
        made->watch.any_suspect = false;
        poll_all(made);
        assert_int_equal(count_sent(1, TAG_LEFT), 1);
        assert_int_equal(count_sent(3, TAG_LEFT), 1);
        assert_int_equal(last_sent()->count, 1);
        assert_int_equal(*(const unsigned char *)last_sent()->sent, in_order);
        come(3, TAG_PACKET, "x", 1);
        poll_all(made);
        assert_int_equal(count_sent(3, TAG_LEFT), 1);
        part(made);
    }
}

/* A node that has left is not there any more, but its clock is. */
static void a_node_leaves(void **state)
{
    (void)state;
    struct rbwp_mpi *made = joined(1);
    static const unsigned char words[] = {1, 0, 2};
    for (int i = 0; i < 3; i++) {
        const uint32_t node = i == 0 ? 0 : (uint32_t)i + 1;
        come((int)node, TAG_LEFT, &words[i], 1);
        poll_all(made);
        assert_int_equal(up.lost, i + 1);
        assert_int_equal(up.lost_node, node);
        char text[64] = "";
        if (i > 0)
            snprintf(text, sizeof text, "node %u has left: its endpoint is closed", node);
        assert_string_equal(up.lost_text, text);
        assert_false(watch_is_here(made, node));
        assert_false(watch_is_lost(made, node));
    }
    come(0, TAG_LEFT, &words[0], 1); /* again */
    poll_all(made);
    assert_int_equal(up.lost, 3);
    assert_int_equal(up.reported, 0);
    assert_true(watch_all_are_here(made, NULL));
    assert_int_equal(send_to(made, 0, TAG_PACKET), RBWP_E_IO);
    assert_int_equal(send_to(made, 0, TAG_PING), RBWP_OK);
    part(made);
}

/* Where MPI cannot receive any more all the others are lost. */
static void nothing_can_be_received(void **state)
{
    (void)state;
    static const char *const calls[] = {"Irecv", "Test"};
    for (int i = 0; i < 2; i++) {
        clear(NULL);
        struct rbwp_mpi *made = joined(2);
        struct rbwp_error error = {.text = ""};
        if (i == 0) { /* one is to be posted */
            come(1, TAG_SIGN, "", 1);
            assert_true(mpi_job_poll(made));
        }
        mpi.fails = calls[i];
        assert_false(mpi_job_poll(made));
        assert_int_equal(up.lost, NODES - 1);
        assert_int_equal(up.lost_node, NODES - 1);
        assert_false(watch_all_are_here(made, &error));
        char text[64];
        snprintf(text, sizeof text, "MPI_%s failed: words for 9", calls[i]);
        assert_non_null(strstr(error.text, text));
        mpi.fails = NULL;
        assert_false(mpi_job_poll(made));
        part(made);
    }
}

/* ---- nodes that are lost --------------------------------------------------------------------- */

/* As watch.c has it travel. */
struct lost_note {
    uint32_t node;
    char text[sizeof((struct rbwp_error *)0)->text];
};

/* A process of this machine that ends is seen, and named once; the others see it themselves. */
static void a_process_ends(void **state)
{
    (void)state;
    for (int is_off = 0; is_off < 2; is_off++) {
        clear(NULL);
        mpi.watched_pid = fork();
        if (mpi.watched_pid == 0) {
            alarm(60);
            pause();
            _exit(0);
        }
        struct rbwp_mpi *made = joined(0);
        struct rbwp_error error = {.text = ""};
        watch_tick(made, 1);
        assert_int_equal(up.lost, 0);
        kill(mpi.watched_pid, SIGKILL);
        waitpid(mpi.watched_pid, NULL, 0);
        watch_tick(made, tick_of(100000000)); /* not that soon again */
        assert_int_equal(up.lost, 0);
        made->watch.off = is_off;
        for (int i = 0; i < 2; i++)
            watch_tick(made, 1 + tick_of(100000000) * (uint64_t)(i + 1));
        assert_int_equal(up.lost, !is_off);
        assert_int_equal(watch_is_lost(made, 1), !is_off);
        assert_int_equal(watch_all_are_here(made, &error), is_off);
        if (!is_off) {
            char text[64];
            snprintf(text, sizeof text, "node 1 (process %d on ", mpi.watched_pid);
            assert_non_null(strstr(up.lost_text, text));
            assert_non_null(strstr(up.lost_text, "is lost: it ended without leaving the job"));
            assert_string_equal(error.text, up.lost_text);
        }
        assert_int_equal(count_sent(2, TAG_LOST) + count_sent(2, TAG_SIGN), 0);
        const int handle = made->watch.near[made->watch.near_count - 1].fd;
        part(made);
        assert_int_equal(fcntl(handle, F_GETFD), -1);
    }
}

/* Neighbours of other machines give signs of life, four in the time after which one is lost that
 * gave none; who finds it tells all the others. */
static void signs_of_life(void **state)
{
    (void)state;
    for (int signs_only = 0; signs_only < 2; signs_only++) {
        clear(NULL);
        mpi.others_are_far = !signs_only;
        struct rbwp_mpi *made = joined(0);
        watch_close(made);
        made->watch = (struct watch){0};
        pthread_mutex_init(&made->watch.lock, NULL);
        made->config.signs_only = signs_only;
        struct rbwp_error error;
        assert_int_equal(watch_open(made, &error), RBWP_OK);
        assert_int_equal(made->watch.near_count, 0);
        const uint64_t start = rbwp_now_ticks(), second = tick_of(1000000000);
        watch_tick(made, start);
        watch_tick(made, start + second - 1);
        for (int node = 1; node < NODES; node++)
            assert_int_equal(count_sent(node, TAG_SIGN), node == 1 || node == 4);
        watch_tick(made, start + second);
        assert_int_equal(count_sent(4, TAG_SIGN), 2);
        come(4, TAG_SIGN, "", 1);
        poll_all(made);
        watch_tick(made, start + 2 * second);
        watch_tick(made, start + 3 * second);
        assert_int_equal(up.lost, 0);
        watch_tick(made, start + 4 * second);
        assert_int_equal(up.lost, 1);
        assert_int_equal(up.lost_node, 1);
        assert_int_equal(up.reported, 1);
        assert_non_null(strstr(up.lost_text, "it gave no sign of life for 4.0 s"));
        for (int node = 2; node < NODES; node++)
            assert_int_equal(count_sent(node, TAG_LOST), 1);
        const struct lost_note *word = last_sent()->sent;
        assert_int_equal(last_sent()->count, sizeof *word);
        assert_int_equal(word->node, 1);
        assert_string_equal(word->text, up.lost_text);
        for (int is_over = 0; is_over < 2; is_over++) {
            made->watch.sign_due_ticks = 0; /* looks now */
            watch_tick(made, start + 2 * second + tick_of(4000000000) - 1 + (uint64_t)is_over);
            assert_int_equal(up.lost, 1 + is_over);
        }
        assert_int_equal(up.lost_node, 4);
        assert_int_equal(count_sent(1, TAG_LOST), 0);
        part(made);
    }
}

/* Without patience nobody is asked for signs; a job of two has one neighbour, of one none. */
static void few_neighbours(void **state)
{
    (void)state;
    for (int nodes = 1; nodes < 4; nodes++) {
        clear(NULL);
        mpi.nodes = nodes;
        mpi.others_are_far = true;
        struct rbwp_mpi *made = joined(0);
        assert_int_equal(made->watch.neighbour_count, nodes - 1);
        made->config.lost_after_ns = RBWP_MPI_NEVER;
        watch_tick(made, rbwp_now_ticks() + tick_of(UINT64_C(100000000000)));
        assert_int_equal(up.lost + count_sent(1, TAG_SIGN), 0);
        part(made);
    }
}

/* What others tell is believed, of other nodes; the first that was lost is what errors name. */
static void lost_by_hearsay(void **state)
{
    (void)state;
    struct rbwp_mpi *made = joined(2);
    struct lost_note word = {.node = 4, .text = "node 4 went"};
    struct rbwp_error error = {.text = ""};
    come(1, TAG_LOST, &word, sizeof word - 1);
    word.node = 2; /* it is this one */
    come(1, TAG_LOST, &word, sizeof word);
    word.node = NODES;
    come(1, TAG_LOST, &word, sizeof word);
    poll_all(made);
    assert_int_equal(up.lost, 0);
    assert_int_equal(rbwp_mpi_lost(made, &error), RBWP_OK);
    word.node = 4;
    come(1, TAG_LOST, &word, sizeof word);
    come(1, TAG_LOST, &word, sizeof word);
    poll_all(made);
    assert_int_equal(up.lost, 1);
    assert_string_equal(up.lost_text, "node 4 went");
    word.node = 1;
    memset(word.text, 'x', sizeof word.text);
    come(0, TAG_LOST, &word, sizeof word);
    poll_all(made);
    assert_int_equal(up.lost, 2);
    assert_int_equal(up.lost_node, 1);
    assert_int_equal(rbwp_mpi_lost(made, &error), RBWP_E_IO);
    assert_non_null(strstr(error.text, "node 4 went"));
    part(made);
}

/* Who waits for all nodes hears what MPI says, or that one is lost. */
static void waiting_for_all(void **state)
{
    (void)state;
    struct rbwp_mpi *made = joined(1);
    struct rbwp_error error = {.text = ""};
    for (int busy = 0; busy < 2; busy++) {
        MPI_Request request = MPI_REQUEST_NULL;
        assert_int_equal(mpi_job_wait(made, &request, busy ? mpi_job_poll : NULL, &error), RBWP_OK);
        mpi.fails = "Test";
        assert_int_equal(mpi_job_wait(made, &request, busy ? mpi_job_poll : NULL, &error),
                         RBWP_E_IO);
        assert_non_null(strstr(error.text, "MPI_Test failed: words for 9"));
        mpi.fails = "Error_string";
        mpi.fails_after = 0;
        assert_int_equal(mpi_job_failure(&error, "MPI_Call", 12), RBWP_E_IO);
        assert_non_null(strstr(error.text, "MPI_Call failed: error 12"));
        mpi.fails = NULL;
    }
    mpi.stuck = "Ibarrier";
    MPI_Request request;
    assert_int_equal(MPI_Ibarrier(CALLS, &request), MPI_SUCCESS);
    watch_lose(made, 3, "node 3 went");
    assert_int_equal(mpi_job_wait(made, &request, mpi_job_poll, &error), RBWP_E_IO);
    assert_non_null(strstr(error.text, "node 3 went"));
    part(made);
}

/* ---- joining --------------------------------------------------------------------------------- */

/* What cannot be a job is refused with the reason, and MPI gets back what was made by then. */
static void refused(void **state)
{
    (void)state;
    static const struct {
        const char *fails;
        int after;
        const char *words;
        int freed, finalized;
    } cases[] = {{"Init_thread", 0, "MPI_Init_thread failed: words for 9", 0, 0},
                 {"Comm_dup", 0, "MPI_Comm_dup failed: words for 9", 0, 1},
                 {"Comm_dup", 1, "MPI_Comm_dup failed: words for 9", 1, 1},
                 {"Comm_dup", 2, "MPI_Comm_dup failed: words for 9", 2, 1},
                 {"Comm_set_errhandler", 0, "MPI_Comm_dup failed: words for 9", 1, 1},
                 {"Comm_set_errhandler", 2, "MPI_Comm_dup failed: words for 9", 3, 1},
                 {"Iallgather", 0, "MPI_Iallgather failed: words for 9", 3, 1},
                 {"Irecv", 0, "MPI_Irecv failed: words for 9", 3, 1}};
    struct rbwp_mpi *made;
    struct rbwp_error error = {.text = ""};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        clear(NULL);
        mpi.nodes = 1;
        mpi.fails = cases[i].fails;
        mpi.fails_after = cases[i].after;
        assert_int_equal(rbwp_mpi_start(NULL, NULL, NULL, &made, &error), RBWP_E_IO);
        assert_null(made);
        assert_non_null(strstr(error.text, cases[i].words));
        assert_int_equal(mpi.freed, cases[i].freed);
        assert_int_equal(mpi.finalized, cases[i].finalized);
    }
    clear(NULL);
    mpi.nodes = 1;
    mpi.level = MPI_THREAD_SINGLE;
    assert_int_equal(rbwp_mpi_start(NULL, NULL, NULL, &made, &error), RBWP_E_UNSUPPORTED);
    assert_non_null(strstr(error.text, "this MPI cannot be used by several threads"));
    assert_int_equal(mpi.finalized, 1);
    mpi.is_initialised = true;
    assert_int_equal(rbwp_mpi_start(NULL, NULL, NULL, &made, &error), RBWP_E_UNSUPPORTED);
    assert_non_null(strstr(error.text, "MPI was initialised without MPI_THREAD_MULTIPLE"));
    assert_int_equal(mpi.finalized, 1);
    mpi.is_finalised = true;
    assert_int_equal(rbwp_mpi_start(NULL, NULL, NULL, &made, &error), RBWP_E_STATE);
    assert_int_equal(rbwp_mpi_start(NULL, NULL, NULL, NULL, &error), RBWP_E_INVALID);
    const struct rbwp_mpi_config no_size = {.size = 0};
    assert_int_equal(rbwp_mpi_start(&no_size, NULL, NULL, &made, &error), RBWP_E_INVALID);
}

/* A job of one: its communicators are its own, with MPI's errors returned; it is joined once. */
static void alone(void **state)
{
    (void)state;
    struct rbwp_mpi *made, *again;
    struct rbwp_transport *transport, *second;
    struct rbwp_error error = {.text = ""};
    for (int initialised = 0; initialised < 2; initialised++) {
        clear(NULL);
        mpi.nodes = 1;
        mpi.is_initialised = initialised;
        assert_int_equal(rbwp_mpi_start(NULL, NULL, NULL, &made, &error), RBWP_OK);
        assert_int_equal(mpi.handled, 3);
        assert_int_equal(rbwp_mpi_node(made), 0);
        assert_int_equal(rbwp_mpi_nodes(made), 1);
        assert_int_equal(made->config.clock_every_ns, 1000000000);
        assert_int_equal(made->config.lost_after_ns, UINT64_C(30000000000));
        assert_int_equal(rbwp_mpi_start(NULL, NULL, NULL, &again, &error), RBWP_E_BUSY);
        assert_int_equal(rbwp_mpi_transport(made, NULL, &error), RBWP_E_INVALID);
        assert_int_equal(rbwp_mpi_transport(made, &transport, &error), RBWP_OK);
        assert_int_equal(transport->tags, 99);
        assert_int_equal(transport->packet_bytes_max, PACKET_BYTES_MAX);
        assert_int_equal(rbwp_mpi_transport(made, &second, &error), RBWP_E_BUSY);
        assert_null(second);
        assert_int_equal(rbwp_mpi_stop(made, &error), RBWP_E_BUSY);
        rbwp_transport_close(transport);
        assert_int_equal(rbwp_mpi_stop(made, &error), RBWP_OK);
        assert_int_equal(mpi.freed, 3);
        assert_int_equal(mpi.finalized, !initialised);
        for (int i = 1; i <= mpi.ops; i++) /* the receives that were posted */
            assert_true(mpi.op[i].communicator != PACKETS || mpi.op[i].is_cancelled);
    }
    assert_int_equal(rbwp_mpi_stop(NULL, &error), RBWP_OK);
    clear(NULL);
    mpi.nodes = 1;
    struct rbwp_mpi_config config = {
        .size = sizeof config, .clock_every_ns = 77, .lost_after_ns = 78, .signs_only = true};
    assert_int_equal(rbwp_mpi_start(&config, NULL, NULL, &made, &error), RBWP_OK);
    assert_memory_equal(&made->config, &config, sizeof config);
    assert_int_equal(rbwp_mpi_stop(made, &error), RBWP_OK);
    clear(NULL);
    mpi.nodes = 1;
    config.size = offsetof(struct rbwp_mpi_config, lost_after_ns); /* of an earlier version */
    assert_int_equal(rbwp_mpi_start(&config, NULL, NULL, &made, &error), RBWP_OK);
    assert_int_equal(made->config.clock_every_ns, 77);
    assert_int_equal(made->config.lost_after_ns, UINT64_C(30000000000));
    assert_false(made->config.signs_only);
    assert_int_equal(rbwp_mpi_stop(made, &error), RBWP_OK);
}

int main(void)
{
    setenv("RBWP_CLOCK", "monotonic", 1); /* its rate is known: it is not measured anew */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(the_soonest_answer, clear),
        cmocka_unit_test_setup(answers_that_stay_away, clear),
        cmocka_unit_test_setup(all_compare_in_turn, clear),
        cmocka_unit_test_setup(compared_where_somebody_records, clear),
        cmocka_unit_test_setup(a_question_is_answered, clear),
        cmocka_unit_test_setup(packets_go, clear),
        cmocka_unit_test_setup(packets_fail, clear),
        cmocka_unit_test_setup(payloads_in_pieces, clear),
        cmocka_unit_test_setup(payloads_fail, clear),
        cmocka_unit_test_setup(packets_come, clear),
        cmocka_unit_test_setup(no_endpoint, clear),
        cmocka_unit_test_setup(a_node_leaves, clear),
        cmocka_unit_test_setup(nothing_can_be_received, clear),
        cmocka_unit_test_setup(a_process_ends, clear),
        cmocka_unit_test_setup(signs_of_life, clear),
        cmocka_unit_test_setup(few_neighbours, clear),
        cmocka_unit_test_setup(lost_by_hearsay, clear),
        cmocka_unit_test_setup(waiting_for_all, clear),
        cmocka_unit_test_setup(refused, clear),
        cmocka_unit_test_setup(alone, clear),
    };
    return cmocka_run_group_tests_name("mpi", tests, NULL, NULL);
}
