/* SPDX-License-Identifier: Apache-2.0 */
/*
 * make_job: the files of a job of any number of nodes, with what real ones have, and the truth
 * about them.
 *
 * The nodes stand in a ring and go step by step: workers compute, one of them sends a message to
 * each neighbour (tables message_sent and message_handled), a thread of its own handles those that
 * come, and the next step begins when both neighbours' were handled. A node that is slow holds up
 * its neighbours, and they theirs. Each node has a clock of its own, which is off and drifts.
 *
 * Nothing is measured and nothing depends on how many nodes are written at a time: the same
 * arguments give the same bytes.
 */
#include "rbwp_table.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ZERO_TIME_NS 1795197261283835351
enum {
    NODES_MAX = 65536,
    THREADS_MAX = 64,
    STEPS_MAX = 1 << 16,
    COMPARISONS_MAX = 1000,
    PATH_BYTES = 4096
};

static struct {
    const char *folder, *id;
    unsigned nodes, records, threads, steps, slow_node, slow_percent, level, comparisons;
    uint64_t skew_ns, drift_ppb;
    bool messages, truth;
} job = {.records = 200,
         .threads = 3,
         .steps = 4,
         .slow_node = UINT32_MAX,
         .slow_percent = 200,
         .level = 2,
         .id = "make_job",
         .comparisons = 8,
         .messages = true};

static const char usage[] =
    "usage: make_job [options] FOLDER NODES\n"
    "writes FOLDER/bgwork_0.bin and so on\n"
    "  -r RECORDS  of each node, about (200)\n"
    "  -t THREADS  of each node; the first one handles messages (3)\n"
    "  -s STEPS    of the job: each is two messages of each node (4)\n"
    "  -m          no messages: nodes go on without each other\n"
    "  -x NODE     computes longer than the others\n"
    "  -f PERCENT  of their time (200)\n"
    "  -l LEVEL    1 or 2 (2)\n"
    "  -o NS       clocks of nodes are off by up to so much (0)\n"
    "  -d PPB      and drift by up to so many parts in a billion (0)\n"
    "  -c NUMBER   comparisons of each node's clock with node 0's (8)\n"
    "  -j ID       of the job (make_job)\n"
    "  -T          also FOLDER/messages.csv and FOLDER/clocks.csv: the truth, by node 0's clock\n";

static void must(enum rbwp_status status, const char *what)
{
    if (status == RBWP_OK)
        return;
    fprintf(stderr, "make_job: %s: %s\n", what, rbwp_status_text(status));
    exit(1);
}

static void *must_have(void *memory)
{
    must(memory ? RBWP_OK : RBWP_E_MEMORY, "the job");
    return memory;
}

/* ---- chance: a number for each place, whatever came before ------------------------- */

enum purpose { DURATION, GAP, NETWORK, QUEUE, HANDLING, OFFSET, DRIFT, BOUND, ERROR, PACE };

static uint64_t mixed(uint64_t value)
{
    value += UINT64_C(0x9e3779b97f4a7c15);
    value = (value ^ value >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    value = (value ^ value >> 27) * UINT64_C(0x94d049bb133111eb);
    return value ^ value >> 31;
}

static int64_t chance(enum purpose purpose, uint64_t node, uint64_t place, uint64_t below)
{
    return (int64_t)((mixed(mixed(mixed(purpose) + node) + place) >> 11) % below);
}

/* ---- clocks ------------------------------------------------------------------------ */

static int64_t within(enum purpose purpose, unsigned node, uint64_t most)
{
    return node == 0 ? 0 : chance(purpose, node, 0, 2 * most + 1) - (int64_t)most;
}

/* What the node's clock shows. */
static int64_t local_ns(unsigned node, int64_t true_ns)
{
    int64_t drift_ns = (true_ns - ZERO_TIME_NS) / 1000 * within(DRIFT, node, job.drift_ppb);
    return true_ns + within(OFFSET, node, job.skew_ns) + drift_ns / 1000000;
}

/* ---- when what happens: true times -------------------------------------------------- */

enum item { ITEM_MESSAGES, ITEM_STENCIL, ITEM_COPY, ITEM_EXCHANGE, ITEMS };
static const char *const item_names[ITEMS] = {"messages", "stencil", "copy", "exchange"};
enum handler { HALO_WEST, HALO_EAST, HANDLERS };
static const char *const handler_names[HANDLERS] = {"halo west", "halo east"};
static const struct rbwp_sub_item_name sub_items[] = {{HALO_WEST, RBWP_AM_HANDLER, 9, "halo west"},
                                                      {HALO_EAST, RBWP_AM_HANDLER, 9, "halo east"},
                                                      {2, RBWP_XFER_CHANNEL, 9, "halo copy"}};
enum { SUB_ITEMS = sizeof sub_items / sizeof sub_items[0], HALO_COPY = 2, MESSAGE_BYTES = 8192 };

/* Of a node's step. */
struct step {
    int64_t start_ns, computed_ns;
};
static struct step *steps; /* by node, then by step */

static struct step *step_of(unsigned node, unsigned step)
{
    return &steps[(size_t)node * (job.steps + 1) + step];
}

/* Workers have 2.5 records a call: every fourth is a copy, with a sub-item inside. */
static unsigned calls_a_step(void)
{
    unsigned calls = job.records * 2 / 5 / (job.threads - 1) / job.steps;
    return calls ? calls : 1;
}

static uint64_t call_place(unsigned thread, unsigned step, unsigned call)
{
    return ((uint64_t)thread << 48) + ((uint64_t)step << 24) + call;
}

/* Short ones are many, long ones few; nodes are not all equally fast. */
static int64_t call_ns(unsigned node, uint64_t place)
{
    int64_t most_ns = 1000 + chance(DURATION, node, place, 15) * chance(PACE, node, place, 500);
    int64_t ns = most_ns * (950 + chance(PACE, node, 0, 100)) / 1000;
    return node == job.slow_node ? ns * job.slow_percent / 100 : ns;
}

static int64_t gap_ns(unsigned node, uint64_t place)
{
    return 100 + chance(GAP, node, place, 400);
}

static int64_t compute_ns(unsigned node, unsigned step)
{
    int64_t longest_ns = 0;
    for (unsigned thread = 1; thread < job.threads; thread++) {
        int64_t ns = 0;
        for (unsigned call = 0; call < calls_a_step(); call++)
            ns += gap_ns(node, call_place(thread, step, call)) +
                  call_ns(node, call_place(thread, step, call));
        longest_ns = ns > longest_ns ? ns : longest_ns;
    }
    return longest_ns;
}

struct sent {
    uint64_t key;
    unsigned from, to;
    enum handler handler;
    int64_t start_ns, stop_ns, arrived_ns;
};

static struct sent sent_by(unsigned node, unsigned step, enum handler handler)
{
    int64_t start_ns = step_of(node, step)->computed_ns + (handler == HALO_WEST ? 100 : 500);
    uint64_t place = 2 * (uint64_t)step + handler;
    int64_t late_ns = chance(NETWORK, node, place + (UINT64_C(1) << 40), 50) == 0 ? 20000 : 0;
    return (struct sent){
        .key = (uint64_t)node << 40 | (place + 1),
        .from = node,
        .to = (handler == HALO_WEST ? node + job.nodes - 1 : node + 1) % job.nodes,
        .handler = handler,
        .start_ns = start_ns,
        .stop_ns = start_ns + 300,
        .arrived_ns = start_ns + 1500 + chance(NETWORK, node, place, 2000) + late_ns,
    };
}

struct handled {
    struct sent sent;
    int64_t start_ns, stop_ns;
};

static void handle(struct handled *handled, int64_t free_ns)
{
    uint64_t place = handled->sent.key;
    int64_t ready_ns = handled->sent.arrived_ns > free_ns ? handled->sent.arrived_ns : free_ns;
    handled->start_ns = ready_ns + 200 + chance(QUEUE, handled->sent.to, place, 500);
    handled->stop_ns = handled->start_ns + 800 + chance(HANDLING, handled->sent.to, place, 1000);
}

/* What the node handles between the step and the next one. */
static void handled_by(unsigned node, unsigned step, struct handled *handled)
{
    handled[0].sent = sent_by((node + 1) % job.nodes, step, HALO_WEST);
    handled[1].sent = sent_by((node + job.nodes - 1) % job.nodes, step, HALO_EAST);
    if (handled[1].sent.arrived_ns < handled[0].sent.arrived_ns) {
        struct sent first = handled[1].sent;
        handled[1].sent = handled[0].sent;
        handled[0].sent = first;
    }
    handle(&handled[0], step_of(node, step)->start_ns);
    handle(&handled[1], handled[0].stop_ns + 100);
}

static void find_times(void)
{
    for (unsigned node = 0; node < job.nodes; node++)
        step_of(node, 0)->start_ns = ZERO_TIME_NS + 1000;
    for (unsigned step = 0; step < job.steps; step++) {
        for (unsigned node = 0; node < job.nodes; node++) {
            struct step *now = step_of(node, step);
            now->computed_ns = now->start_ns + compute_ns(node, step);
        }
        for (unsigned node = 0; node < job.nodes; node++) {
            struct handled handled[2];
            int64_t ready_ns = step_of(node, step)->computed_ns + 1000; /* and sent */
            if (job.messages)
                handled_by(node, step, handled);
            if (job.messages && handled[1].stop_ns > ready_ns)
                ready_ns = handled[1].stop_ns;
            step_of(node, step + 1)->start_ns = ready_ns + 500;
        }
    }
}

static int64_t end_ns(unsigned node)
{
    return step_of(node, job.steps)->start_ns + 1000;
}

/* ---- records ------------------------------------------------------------------------ */

struct file {
    unsigned node;
    int fd;
    struct rbwp_writer *writer;
    struct rbwp_block_encoder *encoder;
    uint32_t sequence;
    uint64_t thread_id, records[THREADS_MAX];
};

static uint64_t thread_id(unsigned thread)
{
    return 0x7f3a00000000u + thread * UINT64_C(0x1000);
}

static void seal(struct file *file)
{
    struct rbwp_sealed_block block;
    if (rbwp_block_encoder_seal(file->encoder, file->thread_id, file->sequence++, &block) ==
        RBWP_OK)
        must(rbwp_writer_add_block(file->writer, &block), "write");
}

static void add(struct file *file, int64_t true_ns, unsigned kind, unsigned id)
{
    int64_t time_ns = local_ns(file->node, true_ns);
    if (rbwp_block_encoder_put(file->encoder, time_ns, kind, id) != RBWP_OK) {
        seal(file);
        must(rbwp_block_encoder_put(file->encoder, time_ns, kind, id), "encode");
    }
    file->records[(file->thread_id - thread_id(0)) / 0x1000]++;
}

/* A call and, at level 2, one sub-item inside it; none: SUB_ITEMS. */
static void add_call(struct file *file, enum item item, int64_t start_ns, int64_t stop_ns,
                     unsigned sub_item)
{
    add(file, start_ns, RBWP_COARSE_BEGIN, item);
    if (sub_item < SUB_ITEMS && job.level > 1) {
        add(file, start_ns + 50, RBWP_FINE_BEGIN, sub_item);
        add(file, stop_ns - 50, RBWP_FINE_END, 0);
    }
    add(file, stop_ns, RBWP_COARSE_END, 0);
}

static void add_worker(struct file *file, unsigned thread)
{
    for (unsigned step = 0; step < job.steps; step++) {
        int64_t at_ns = step_of(file->node, step)->start_ns;
        for (unsigned call = 0; call < calls_a_step(); call++) {
            uint64_t place = call_place(thread, step, call);
            int64_t start_ns = at_ns + gap_ns(file->node, place);
            bool copies = call % 4 == 3;
            at_ns = start_ns + call_ns(file->node, place);
            add_call(file, copies ? ITEM_COPY : ITEM_STENCIL, start_ns, at_ns,
                     copies ? HALO_COPY : SUB_ITEMS);
        }
        int64_t sends_ns = step_of(file->node, step)->computed_ns;
        if (thread == 1 && job.messages)
            add_call(file, ITEM_EXCHANGE, sends_ns, sends_ns + 900, SUB_ITEMS);
    }
}

static void add_handler_thread(struct file *file)
{
    struct handled handled[2];
    for (unsigned step = 0; step < job.steps && job.messages; step++) {
        handled_by(file->node, step, handled);
        for (unsigned i = 0; i < 2; i++)
            add_call(file, ITEM_MESSAGES, handled[i].start_ns - 50, handled[i].stop_ns + 50,
                     handled[i].sent.handler);
    }
}

/* ---- tables of messages -------------------------------------------------------------- */

static const struct rbwp_column sent_columns[] = {
    RBWP_COLUMN(TIME, START, "time", ""),          RBWP_COLUMN(TIME, STOP, "stop", ""),
    RBWP_COLUMN(U64, THREAD, "thread", ""),        RBWP_COLUMN(NAME, LABEL, "name", ""),
    RBWP_COLUMN(U64, LINK_FROM, "key", "message"), RBWP_COLUMN(U64, NONE, "peer", ""),
    RBWP_COLUMN(U64, NONE, "bytes", "bytes"),
};
static const struct rbwp_column handled_columns[] = {
    RBWP_COLUMN(TIME, NONE, "arrived", ""), RBWP_COLUMN(TIME, START, "start", ""),
    RBWP_COLUMN(TIME, STOP, "stop", ""),    RBWP_COLUMN(U64, THREAD, "thread", ""),
    RBWP_COLUMN(NAME, LABEL, "name", ""),   RBWP_COLUMN(U64, LINK_TO, "key", "message"),
    RBWP_COLUMN(U64, NONE, "peer", ""),     RBWP_COLUMN(U64, NONE, "bytes", "bytes"),
};
static const struct rbwp_schema sent_schema =
    RBWP_SCHEMA_NUMBERED(1, "message_sent", 1, sent_columns);
static const struct rbwp_schema handled_schema =
    RBWP_SCHEMA_NUMBERED(2, "message_handled", 1, handled_columns);

struct rows {
    struct file *file;
    struct rbwp_row_encoder *encoder;
    uint32_t columns;
    uint64_t first_row, rows;
};

static struct rows begin_rows(struct file *file, const struct rbwp_schema *schema)
{
    struct rows rows = {.file = file, .columns = schema->column_count, .first_row = 1};
    must(rbwp_row_encoder_new(schema, 0, true, &rows.encoder), "rows");
    return rows;
}

static void seal_rows(struct rows *rows)
{
    struct rbwp_sealed_block block;
    if (rbwp_row_encoder_seal(rows->encoder, 0, rows->first_row, &block) == RBWP_OK)
        must(rbwp_writer_add_block(rows->file->writer, &block), "write");
    rows->first_row += rows->rows;
    rows->rows = 0;
}

static void add_row(struct rows *rows, const uint64_t *cells)
{
    struct rbwp_row_room room;
    rbwp_row_encoder_reserve(rows->encoder, 1, &room);
    if (room.rows == 0) {
        seal_rows(rows);
        rbwp_row_encoder_reserve(rows->encoder, 1, &room);
    }
    for (uint32_t c = 0; c < rows->columns; c++)
        room.cells[c][0] = cells[c];
    rbwp_row_encoder_commit(rows->encoder, 1);
    rows->rows++;
}

static void end_rows(struct rows *rows)
{
    seal_rows(rows);
    rbwp_row_encoder_free(rows->encoder);
}

static void add_sent(struct file *file)
{
    struct rows rows = begin_rows(file, &sent_schema);
    for (unsigned step = 0; step < job.steps; step++)
        for (unsigned handler = 0; handler < HANDLERS; handler++) {
            struct sent sent = sent_by(file->node, step, handler);
            add_row(&rows, (uint64_t[]){(uint64_t)local_ns(file->node, sent.start_ns),
                                        (uint64_t)local_ns(file->node, sent.stop_ns), thread_id(1),
                                        handler + 1, sent.key, sent.to, MESSAGE_BYTES});
        }
    end_rows(&rows);
}

static void add_handled(struct file *file)
{
    struct handled handled[2];
    struct rows rows = begin_rows(file, &handled_schema);
    for (unsigned step = 0; step < job.steps; step++) {
        handled_by(file->node, step, handled);
        for (unsigned i = 0; i < 2; i++) {
            const struct sent *sent = &handled[i].sent;
            add_row(&rows,
                    (uint64_t[]){(uint64_t)local_ns(file->node, sent->arrived_ns),
                                 (uint64_t)local_ns(file->node, handled[i].start_ns),
                                 (uint64_t)local_ns(file->node, handled[i].stop_ns), thread_id(0),
                                 sent->handler + 1u, sent->key, sent->from, MESSAGE_BYTES});
        }
    }
    end_rows(&rows);
}

static void add_messages(struct file *file)
{
    struct rbwp_text names[HANDLERS];
    for (unsigned i = 0; i < HANDLERS; i++)
        names[i] = (struct rbwp_text){handler_names[i], (uint32_t)strlen(handler_names[i])};
    must(rbwp_writer_add_names(file->writer, 1, names, HANDLERS), "names");
    must(rbwp_writer_add_schema(file->writer, &sent_schema), "schema");
    must(rbwp_writer_add_schema(file->writer, &handled_schema), "schema");
    add_sent(file);
    add_handled(file);
}

/* ---- the job ------------------------------------------------------------------------- */

static int64_t of_reference_ns(unsigned node, int64_t true_ns)
{
    return true_ns - local_ns(node, true_ns);
}

/* From the beginning to the end, each with an error of its own inside its bound. */
static uint32_t compare_clocks(unsigned node, struct rbwp_node_clock *clocks)
{
    int64_t length_ns = end_ns(node) - ZERO_TIME_NS;
    uint32_t count = node ? job.comparisons : 0;
    for (uint32_t i = 0; i < count; i++) {
        int64_t true_ns = ZERO_TIME_NS + (count > 1 ? length_ns / (count - 1) * i : 0);
        int64_t bound_ns = 200 + chance(BOUND, node, i, 400);
        int64_t error_ns = chance(ERROR, node, i, 2 * (uint64_t)bound_ns + 1) - bound_ns;
        clocks[i] = (struct rbwp_node_clock){local_ns(node, true_ns),
                                             of_reference_ns(node, true_ns) + error_ns,
                                             (uint64_t)bound_ns, 0};
    }
    return count;
}

/* ---- files --------------------------------------------------------------------------- */

static void finish(struct file *file)
{
    char names[THREADS_MAX][24], host[24];
    struct rbwp_thread_info threads[THREADS_MAX];
    struct rbwp_work_item_name slots[ITEMS];
    int64_t start_ns = local_ns(file->node, ZERO_TIME_NS);
    int64_t stop_ns = local_ns(file->node, end_ns(file->node));
    for (unsigned i = 0; i < job.threads; i++) {
        int bytes = snprintf(names[i], sizeof names[i], i ? "worker %u" : "messages", i);
        threads[i] = (struct rbwp_thread_info){thread_id(i),     40001 + i,       start_ns, stop_ns,
                                               file->records[i], (uint16_t)bytes, names[i]};
    }
    for (uint16_t i = 0; i < ITEMS; i++)
        slots[i] = (struct rbwp_work_item_name){i, (uint16_t)strlen(item_names[i]), item_names[i]};
    int host_bytes = snprintf(host, sizeof host, "host%04u", file->node);
    const struct rbwp_process_info process = {
        {(uint8_t)(file->node >> 8), (uint8_t)file->node, 1}, 1000000000, 0, ""};
    const struct rbwp_job_fact facts[] = {
        {RBWP_JOB_ID, 0, (uint16_t)strlen(job.id), job.id},
        {RBWP_JOB_NODE_NAME, 0, (uint16_t)host_bytes, host},
        {RBWP_JOB_RANK, file->node, 0, ""},
        {RBWP_JOB_RANKS, job.nodes, 0, ""},
        {RBWP_JOB_LAUNCHER, 0, 8, "make_job"},
    };
    struct rbwp_node_clock clocks[COMPARISONS_MAX];
    const struct rbwp_trailer trailer = {.host = host,
                                         .host_bytes = (uint32_t)host_bytes,
                                         .command = "make_job",
                                         .command_bytes = 8,
                                         .writer = "make_job",
                                         .writer_bytes = 8,
                                         .process_id = 40000,
                                         .processes = &process,
                                         .process_count = 1,
                                         .nodes = job.nodes,
                                         .level = job.level,
                                         .start_ns = start_ns,
                                         .stop_ns = stop_ns,
                                         .threads = threads,
                                         .thread_count = job.threads,
                                         .job_facts = facts,
                                         .job_fact_count = sizeof facts / sizeof facts[0],
                                         .node_clocks = clocks,
                                         .node_clock_count = compare_clocks(file->node, clocks)};
    must(rbwp_writer_finish(file->writer, slots, ITEMS, sub_items, job.level > 1 ? SUB_ITEMS : 0,
                            &trailer),
         "finish");
}

static void make_file(unsigned node, struct rbwp_block_encoder *encoder)
{
    char path[PATH_BYTES];
    struct file file = {.node = node, .encoder = encoder};
    snprintf(path, sizeof path, "%s/bgwork_%u.bin", job.folder, node);
    file.fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    must(file.fd < 0 ? RBWP_E_IO : RBWP_OK, path);
    struct rbwp_sink sink = rbwp_sink_fd(&file.fd);
    must(rbwp_writer_new(&sink, node, local_ns(node, ZERO_TIME_NS), job.level > 1, &file.writer),
         "writer");
    if (job.messages && job.level > 1)
        add_messages(&file);
    for (unsigned thread = 0; thread < job.threads; thread++) {
        file.thread_id = thread_id(thread);
        if (thread)
            add_worker(&file, thread);
        else
            add_handler_thread(&file);
        seal(&file);
    }
    finish(&file);
    rbwp_writer_free(file.writer);
    close(file.fd);
}

/* ---- the truth ------------------------------------------------------------------------ */

static FILE *open_truth(const char *name)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s/%s", job.folder, name);
    return must_have(fopen(path, "we"));
}

static void write_truth(void)
{
    struct handled handled[2];
    FILE *messages = open_truth("messages.csv"), *clocks = open_truth("clocks.csv");
    fprintf(messages, "key,from,to,handler,sent_ns,arrived_ns,start_ns,stop_ns\n");
    for (unsigned node = 0; node < job.nodes; node++)
        for (unsigned step = 0; step < job.steps && job.messages; step++) {
            handled_by(node, step, handled);
            for (unsigned i = 0; i < 2; i++) {
                const struct sent *sent = &handled[i].sent;
                fprintf(messages,
                        "%" PRIu64 ",%u,%u,%s,%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 "\n",
                        sent->key, sent->from, sent->to, handler_names[sent->handler],
                        sent->start_ns, sent->arrived_ns, handled[i].start_ns, handled[i].stop_ns);
            }
        }
    fprintf(clocks, "node,offset_ns,drift_ppb\n");
    for (unsigned node = 0; node < job.nodes; node++)
        fprintf(clocks, "%u,%" PRId64 ",%" PRId64 "\n", node, within(OFFSET, node, job.skew_ns),
                within(DRIFT, node, job.drift_ppb));
    must(fclose(messages) == 0 && fclose(clocks) == 0 ? RBWP_OK : RBWP_E_IO, "the truth");
}

/* ---- the command line ----------------------------------------------------------------- */

static unsigned number(const char *text, unsigned least, unsigned most)
{
    char *end;
    unsigned long value = strtoul(text, &end, 10);
    if (*end || end == text || value < least || value > most) {
        fprintf(stderr, "make_job: '%s' is not a number from %u to %u\n", text, least, most);
        exit(2);
    }
    return (unsigned)value;
}

static bool store(int option, const char *text)
{
    switch (option) {
    case 'r':
        job.records = number(text, 1, 100000000);
        return true;
    case 't':
        job.threads = number(text, 2, THREADS_MAX);
        return true;
    case 's':
        job.steps = number(text, 1, STEPS_MAX);
        return true;
    case 'm':
        job.messages = false;
        return true;
    case 'x':
        job.slow_node = number(text, 0, NODES_MAX);
        return true;
    case 'f':
        job.slow_percent = number(text, 1, 10000);
        return true;
    case 'l':
        job.level = number(text, 1, 2);
        return true;
    case 'o':
        job.skew_ns = number(text, 0, 2000000000);
        return true;
    case 'd':
        job.drift_ppb = number(text, 0, 1000000);
        return true;
    case 'c':
        job.comparisons = number(text, 0, COMPARISONS_MAX);
        return true;
    case 'j':
        job.id = text;
        return true;
    case 'T':
        job.truth = true;
        return true;
    default:
        return false;
    }
}

int main(int argc, char **argv)
{
    bool good = true;
    for (int option; good && (option = getopt(argc, argv, "r:t:s:mx:f:l:o:d:c:j:T")) != -1;)
        good = store(option, optarg);
    if (!good || argc != optind + 2) {
        fputs(usage, stderr);
        return 2;
    }
    job.folder = argv[optind];
    job.nodes = number(argv[optind + 1], 1, NODES_MAX);
    (void)mkdir(job.folder, 0777); /* what is wrong shows when a file is made in it */
    steps = must_have(calloc((size_t)job.nodes * (job.steps + 1), sizeof *steps));
    find_times();
    struct rbwp_block_encoder *encoder;
    must(rbwp_block_encoder_new(0, 1, &encoder), "encoder");
    for (unsigned node = 0; node < job.nodes; node++)
        make_file(node, encoder);
    rbwp_block_encoder_free(encoder);
    if (job.truth)
        write_truth();
    free(steps);
    return 0;
}
