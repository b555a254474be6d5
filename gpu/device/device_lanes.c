/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Buffers of lanes: the buffer, and behind it the anchor and the drops, in one piece of memory, so
 * that one copy brings all back.
 *
 * The anchor is the timer's 64 bits near the first record, without which 32 bits say little. Who
 * gets there first leaves it: a reading that was put on the stream, or the kernel. With neither it
 * is estimated from the host's time of the reset.
 */
#include "bytes.h"

#include "device_memory.h"
#include "gpu_backend.h"
#include "kernel_tables.h"
#include "rbwp_device.h"
#include "rbwp_rows.h"
#include "read_clock.h"
#include "ticks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- a reading of the device's timer, put on a stream ---------------------------------------- */
/*
 * Samples of a device's timer, by a kernel of one thread that stores it: where it is in the time
 * between launch and the end of waiting is not known, but the quickest of many launches takes a few
 * microseconds.
 */

static const char clock_ptx[] = ".version 6.0\n"
                                ".target sm_50\n"
                                ".address_size 64\n"
                                ".visible .entry rbwp_clock(.param .u64 to)\n"
                                "{\n"
                                "    .reg .u64 %rd<3>;\n"
                                "    ld.param.u64 %rd1, [to];\n"
                                "    cvta.to.global.u64 %rd1, %rd1;\n"
                                "    mov.u64 %rd2, %globaltimer;\n"
                                "    st.global.u64 [%rd1], %rd2;\n"
                                "    ret;\n"
                                "}\n";
static const char clock_source[] =
    "extern \"C\" __global__ void rbwp_clock(unsigned long long *to)\n"
    "{\n"
    "#if defined(__HIP_PLATFORM_AMD__) || defined(__AMDGCN__)\n"
    "    *to = wall_clock64();\n"
    "#else\n"
    "    asm volatile(\"mov.u64 %0, %%globaltimer;\" : \"=l\"(*to));\n"
    "#endif\n"
    "}\n";

struct rbwp_device_clock {
    struct device_memory memory; /* where the kernel stores */
    struct gpu_module *module;
    struct gpu_kernel *kernel;
    struct rbwp_device_clock_sample first[RBWP_DEVICE_CLOCK_SAMPLES];
    struct rbwp_device_clock_line line;
};

/* Enqueues the kernel that stores the timer, 64 bits, at an address of the device. A code of the
 * driver; attached. */
static int device_clock_store(const struct rbwp_device_clock *clock, void *to, void *stream)
{
    const struct gpu_arg argument = {&to, sizeof to};
    const struct gpu_launch launch = {
        .grid = {1, 1, 1}, .block = {1, 1, 1}, .arg_count = 1, .args = &argument};
    return clock->memory.context->backend->launch(clock->kernel, &launch, stream);
}

/* Attached. The clocks are read so close that a reading of the one is one of the other. */
static int device_lanes_take_sample(struct rbwp_device_clock *clock,
                                    struct rbwp_device_clock_sample *sample)
{
    struct gpu_context *context = clock->memory.context;
    void *stream = clock->memory.stream;
    sample->monotonic_before_ns = read_clock_ns(CLOCK_MONOTONIC);
    sample->before_ns = rbwp_now_ns();
    int code = device_clock_store(clock, clock->memory.memory.native, stream);
    if (code == GPU_OK)
        code = context->backend->stream_wait(context, stream);
    sample->after_ns = rbwp_now_ns();
    sample->monotonic_after_ns = read_clock_ns(CLOCK_MONOTONIC);
    return code;
}

static enum rbwp_status device_lanes_on_samples(struct rbwp_device_clock *clock,
                                                struct rbwp_device_clock_sample *samples,
                                                struct rbwp_error *error)
{
    struct gpu_context *context = clock->memory.context;
    enum rbwp_status status = RBWP_OK;
    for (unsigned i = 0; i < RBWP_DEVICE_CLOCK_SAMPLES && status == RBWP_OK; i++) {
        int code;
        GPU_ATTACHED(context, code, device_lanes_take_sample(clock, &samples[i]));
        if (code != GPU_OK)
            return context->backend->describe(context->driver, code, "reading its clock", error);
        status = device_memory_read(&clock->memory, 0, sizeof(uint64_t), NULL, error);
        samples[i].ticks = load_le_i64(clock->memory.host);
    }
    return status;
}

static enum rbwp_status device_lanes_load(struct rbwp_device_clock *clock, struct rbwp_error *error)
{
    static const struct gpu_code_text text = {
        .name = "rbwp_clock.cu", .source = clock_source, .ptx = clock_ptx};
    struct gpu_context *context = clock->memory.context;
    struct gpu_attached saved;
    int code = context->backend->attach(context, &saved);
    if (code != GPU_OK)
        return context->backend->describe(context->driver, code, "its clock", error);
    enum rbwp_status status = context->backend->module_load(context, &text, &clock->module, error);
    if (status == RBWP_OK) {
        code = context->backend->kernel_get(clock->module, "rbwp_clock", &clock->kernel);
        if (code != GPU_OK)
            status = context->backend->describe(context->driver, code, "its clock", error);
    }
    context->backend->detach(context, &saved);
    return status;
}

/* Old drivers of HIP do not say; CDNA's timers have that rate. */
static uint64_t usual_hz(struct gpu_context *context)
{
    uint64_t hz = context->backend->timer_hz(context);
    return hz ? hz : 100000000;
}

enum rbwp_status rbwp_device_clock_new(struct rbwp_gpu_device *device, uint64_t hz,
                                       struct rbwp_device_clock **clock_out,
                                       struct rbwp_error *error)
{
    struct rbwp_device_clock *clock = calloc(1, sizeof *clock);
    *clock_out = NULL;
    if (!clock)
        return gpu_failure(error, RBWP_E_MEMORY, "no memory for a device's clock");
    enum rbwp_status status = device_memory_new(&clock->memory, device, sizeof(uint64_t), error);
    if (status == RBWP_OK)
        status = device_lanes_load(clock, error);
    if (status == RBWP_OK)
        status = device_lanes_on_samples(clock, clock->first, error);
    if (status == RBWP_OK) {
        clock->line.size = sizeof clock->line;
        hz = hz ? hz : usual_hz(clock->memory.context);
        status = rbwp_device_clock_fit(clock->first, RBWP_DEVICE_CLOCK_SAMPLES, NULL, 0, hz,
                                       &clock->line, error);
    }
    if (status == RBWP_OK)
        *clock_out = clock;
    else
        rbwp_device_clock_free(clock);
    return status;
}

enum rbwp_status rbwp_device_clock_again(struct rbwp_device_clock *clock, struct rbwp_error *error)
{
    struct rbwp_device_clock_sample last[RBWP_DEVICE_CLOCK_SAMPLES] = {0};
    enum rbwp_status status = device_lanes_on_samples(clock, last, error);
    if (status == RBWP_OK)
        status =
            rbwp_device_clock_fit(clock->first, RBWP_DEVICE_CLOCK_SAMPLES, last,
                                  RBWP_DEVICE_CLOCK_SAMPLES, clock->line.hz, &clock->line, error);
    return status;
}

void rbwp_device_clock_get(const struct rbwp_device_clock *clock,
                           struct rbwp_device_clock_line *line_out)
{
    size_t size = line_out->size;
    sized_give(line_out, size, &clock->line, sizeof clock->line);
    line_out->size = size;
}

void rbwp_device_clock_free(struct rbwp_device_clock *clock)
{
    struct gpu_attached saved;
    if (!clock)
        return;
    struct gpu_context *context = clock->memory.context;
    if (clock->module && context->backend->attach(context, &saved) == GPU_OK) {
        context->backend->module_unload(clock->module);
        context->backend->detach(context, &saved);
    }
    device_memory_free(&clock->memory);
    free(clock);
}

/* ---- device lanes ---------------------------------------------------------------------------- */

#define DROPS_ALIGNMENT 64u
#define ANCHOR_BYTES 8u

struct rbwp_device_lanes {
    struct rbwp_gpu_device *device;
    struct rbwp_lanes_layout layout; /* of this launch */
    uint32_t blocks_max;
    struct device_memory memory;
    uint64_t buffer_bytes;  /* of the lanes */
    uint64_t anchor_offset; /* version 2: in the header, where kernels look for it */
    uint64_t drops_offset;  /* 0: they are not counted */
    uint64_t end;           /* of all */
    bool generations;
    int64_t reset_ns; /* rbwp_now_ns's line */
    bool was_read;
    struct device_names events, groups;
    unsigned table;
};

static uint64_t lane_count(const struct rbwp_device_lanes *lanes)
{
    return (uint64_t)lanes->blocks_max * lanes->layout.num_groups;
}

/* Says where all that is not the lanes lies. */
static void device_lanes_place(struct rbwp_device_lanes *lanes, bool count_drops)
{
    lanes->anchor_offset = RBWP_LANES_ANCHOR_OFFSET;
    lanes->end = lanes->buffer_bytes;
    if (lanes->layout.dialect == RBWP_LANES_V1) {
        lanes->anchor_offset = lanes->buffer_bytes; /* 8 to each record and to the header */
        lanes->end += ANCHOR_BYTES;
    }
    if (!count_drops)
        return;
    lanes->drops_offset = (lanes->end + DROPS_ALIGNMENT - 1) / DROPS_ALIGNMENT * DROPS_ALIGNMENT;
    lanes->end = lanes->drops_offset + 4 * lane_count(lanes);
}

/* ---- making ------------------------------------------------------------------- */

static enum rbwp_status take_config(struct rbwp_device_lanes *lanes,
                                    const struct rbwp_device_lanes_config *config,
                                    struct rbwp_error *error)
{
    struct rbwp_device_lanes_config own;
    enum rbwp_status status =
        sized_take(&own, sizeof own, config, "rbwp_device_lanes_config", error);
    if (status == RBWP_OK)
        status = sized_take(&lanes->layout, sizeof lanes->layout, &own.layout, "rbwp_lanes_layout",
                            error);
    if (status != RBWP_OK)
        return status;
    lanes->layout.size = sizeof lanes->layout;
    lanes->blocks_max = lanes->layout.num_blocks;
    lanes->buffer_bytes = rbwp_lanes_bytes(&lanes->layout);
    if (!lanes->buffer_bytes || lanes->buffer_bytes > SIZE_MAX / 2)
        return gpu_failure(error, RBWP_E_INVALID,
                           "lanes: %u blocks of %u groups, %u records, dialect %u: no such buffer",
                           lanes->layout.num_blocks, lanes->layout.num_groups,
                           lanes->layout.max_records, lanes->layout.dialect);
    if (own.generations &&
        (lanes->layout.dialect != RBWP_LANES_V2 || lanes->layout.flags & RBWP_LANES_SHORT))
        return gpu_failure(error, RBWP_E_UNSUPPORTED,
                           "lanes: records of 8 bytes have no room for a generation");
    lanes->generations = own.generations;
    device_lanes_place(lanes, own.count_drops);
    status = device_names_add(&lanes->events, own.events, own.event_count, error);
    if (status == RBWP_OK)
        status = device_names_add(&lanes->groups, own.groups, own.group_count, error);
    return status;
}

enum rbwp_status rbwp_device_lanes_new(struct rbwp_gpu_device *device,
                                       const struct rbwp_device_lanes_config *config,
                                       struct rbwp_device_lanes **lanes_out,
                                       struct rbwp_error *error)
{
    struct rbwp_device_lanes *lanes = calloc(1, sizeof *lanes);
    *lanes_out = NULL;
    if (!lanes)
        return gpu_failure(error, RBWP_E_MEMORY, "no memory for lanes");
    lanes->device = device;
    enum rbwp_status status = take_config(lanes, config, error);
    if (status == RBWP_OK)
        status = rbwp_table_register(&kernel_lane_schema, &lanes->table);
    if (status == RBWP_OK)
        status = device_memory_new(&lanes->memory, device, lanes->end, error);
    if (status == RBWP_OK)
        status = rbwp_device_lanes_reset(lanes, 0, error);
    if (status == RBWP_OK)
        *lanes_out = lanes;
    else
        rbwp_device_lanes_free(lanes);
    return status;
}

void rbwp_device_lanes_free(struct rbwp_device_lanes *lanes)
{
    if (!lanes)
        return;
    device_memory_free(&lanes->memory);
    device_names_free(&lanes->events);
    device_names_free(&lanes->groups);
    free(lanes);
}

/* ---- there and back --------------------------------------------------------------- */

struct rbwp_device_memory rbwp_device_lanes_buffer(const struct rbwp_device_lanes *lanes)
{
    return (struct rbwp_device_memory){lanes->memory.memory.native, lanes->buffer_bytes};
}

struct rbwp_device_memory rbwp_device_lanes_drops(const struct rbwp_device_lanes *lanes)
{
    if (!lanes->drops_offset)
        return (struct rbwp_device_memory){0};
    return (struct rbwp_device_memory){(char *)lanes->memory.memory.native + lanes->drops_offset,
                                       4 * lane_count(lanes)};
}

struct rbwp_device_memory rbwp_device_lanes_anchor(const struct rbwp_device_lanes *lanes)
{
    return (struct rbwp_device_memory){(char *)lanes->memory.memory.native + lanes->anchor_offset,
                                       ANCHOR_BYTES};
}

/* Zeroes part of the memory on both sides, but for the header that stands there. */
static enum rbwp_status clear(struct rbwp_device_lanes *lanes, uint64_t from, uint64_t to,
                              struct rbwp_error *error)
{
    enum rbwp_status status = RBWP_OK;
    if (from == to)
        return status;
    memset((char *)lanes->memory.host + from, 0, (size_t)(to - from));
    if (from == 0)
        status = rbwp_lanes_write_header(&lanes->layout, lanes->memory.host,
                                         (size_t)lanes->buffer_bytes, error);
    return status == RBWP_OK ? device_memory_write(&lanes->memory, from, to - from, error) : status;
}

/* Another generation needs a new header alone, and the drops; when all numbers have been used, so
 * that a record of the first one could be taken for a new one, all is zeroed. */
static enum rbwp_status write_all(struct rbwp_device_lanes *lanes, struct rbwp_error *error)
{
    if (lanes->generations)
        lanes->layout.generation = lanes->layout.generation % RBWP_LANES_GENERATIONS + 1;
    if (!lanes->generations || lanes->layout.generation == 1)
        return clear(lanes, 0, lanes->end, error);
    enum rbwp_status status = clear(lanes, 0, RBWP_LANES_HEADER_BYTES, error);
    if (status == RBWP_OK && lanes->drops_offset)
        status = clear(lanes, lanes->drops_offset, lanes->end, error);
    return status;
}

enum rbwp_status rbwp_device_lanes_reset(struct rbwp_device_lanes *lanes, uint32_t num_blocks,
                                         struct rbwp_error *error)
{
    if (num_blocks > lanes->blocks_max)
        return gpu_failure(error, RBWP_E_INVALID, "lanes: %u blocks, there is memory for %u",
                           num_blocks, lanes->blocks_max);
    if (num_blocks)
        lanes->layout.num_blocks = num_blocks;
    lanes->was_read = false;
    lanes->layout.anchor_host_ns = (uint64_t)read_clock_ns(CLOCK_MONOTONIC);
    lanes->layout.anchor_device = 0;
    enum rbwp_status status = write_all(lanes, error);
    lanes->reset_ns = rbwp_now_ns();
    return status;
}

enum rbwp_status rbwp_device_lanes_mark(struct rbwp_device_lanes *lanes,
                                        const struct rbwp_device_clock *clock,
                                        struct rbwp_gpu_stream *stream, struct rbwp_error *error)
{
    struct gpu_context *context = lanes->memory.context;
    struct gpu_attached saved;
    void *native = stream ? gpu_stream_native(stream) : lanes->memory.stream;
    int code = context->backend->attach(context, &saved);
    if (code == GPU_OK) {
        code = device_clock_store(clock, rbwp_device_lanes_anchor(lanes).native, native);
        if (code == GPU_OK && !stream)
            code = context->backend->stream_wait(context, native);
        context->backend->detach(context, &saved);
    }
    if (code == GPU_OK)
        return RBWP_OK;
    return context->backend->describe(context->driver, code, "anchor of lanes", error);
}

enum rbwp_status rbwp_device_lanes_read(struct rbwp_device_lanes *lanes,
                                        struct rbwp_gpu_stream *stream, struct rbwp_error *error)
{
    enum rbwp_status status = device_memory_read(&lanes->memory, 0, lanes->end, stream, error);
    lanes->was_read = status == RBWP_OK;
    return status;
}

const void *rbwp_device_lanes_memory(const struct rbwp_device_lanes *lanes, size_t *bytes_out)
{
    *bytes_out = (size_t)lanes->buffer_bytes;
    return lanes->memory.host;
}

/* ---- into the file ------------------------------------------------------------------ */

struct device_lanes_recording {
    struct rbwp_device_lanes *lanes;
    const struct rbwp_device_clock_line *line;
    struct kernel_place place;
};

static uint64_t device_lanes_name_of(struct device_names *names, const char *what, uint32_t id)
{
    char text[32];
    uint64_t number = device_names_find(names, id);
    if (number)
        return number;
    snprintf(text, sizeof text, "%s_%u", what, id);
    return device_names_number(names, id, text);
}

/* The decoder made nanoseconds of ticks, by the same rate; what is left is offset and drift. */
static int64_t session_ns(const struct rbwp_device_clock_line *line, int64_t device_ns)
{
    struct rbwp_device_clock_line ns = *line;
    ns.hz = 1000000000;
    ns.from_ticks = ticks_ns(line->from_ticks, line->hz);
    return rbwp_device_clock_ns(&ns, device_ns);
}

static bool device_lanes_take(void *context, const struct rbwp_lane_span *spans, size_t count)
{
    struct device_lanes_recording *recording = context;
    struct rbwp_device_lanes *lanes = recording->lanes;
    uint64_t cells[COLUMNS_lane_span];
    for (size_t i = 0; i < count; i++) {
        struct rbwp_lane_span span = spans[i];
        if (span.kind == RBWP_LANE_STRAY_END)
            continue;
        span.start_ns = session_ns(recording->line, span.start_ns);
        span.stop_ns = session_ns(recording->line, span.stop_ns);
        kernel_lane_cells(&recording->place, &span,
                          device_lanes_name_of(&lanes->groups, "group", span.group),
                          device_lanes_name_of(&lanes->events, "event", span.event), cells);
        rbwp_row_add(lanes->table, cells);
    }
    return true;
}

/* 0: nobody noted one. */
static uint64_t noted_anchor(const struct rbwp_device_lanes *lanes)
{
    return load_le64((const char *)lanes->memory.host + lanes->anchor_offset);
}

/* The device's time near the launch: as it was noted, or else of the reset. */
static uint64_t anchor(const struct rbwp_device_lanes *lanes,
                       const struct rbwp_device_clock_line *line)
{
    uint64_t noted = noted_anchor(lanes);
    if (noted)
        return noted;
    double ns = (double)(lanes->reset_ns + line->offset_ns);
    int64_t ticks = line->hz == 1000000000 ? lanes->reset_ns + line->offset_ns
                                           : (int64_t)(ns * ((double)line->hz / 1e9));
    return ticks > 0 ? (uint64_t)ticks : 0;
}

/* The buffer's copy says from then on when the anchor was, instead of when the host reset it: who
 * keeps it as a file places it by that. */
static void note_host_time(struct rbwp_device_lanes *lanes,
                           const struct rbwp_device_clock_line *line)
{
    uint64_t noted = noted_anchor(lanes);
    struct rbwp_device_clock_line monotonic = *line;
    if (lanes->layout.dialect != RBWP_LANES_V2 || !noted || noted > INT64_MAX)
        return;
    monotonic.offset_ns = line->monotonic_offset_ns;
    int64_t host_ns = rbwp_device_clock_ns(&monotonic, (int64_t)noted);
    if (host_ns > 0)
        store_le_i64((char *)lanes->memory.host + RBWP_LANES_ANCHOR_OFFSET + 8, host_ns);
}

static uint64_t count_drops(const struct rbwp_device_lanes *lanes)
{
    uint64_t sum = 0;
    const char *drops = (const char *)lanes->memory.host + lanes->drops_offset;
    for (uint64_t i = 0; lanes->drops_offset && i < lane_count(lanes); i++)
        sum += load_le32(drops + 4 * i);
    return sum;
}

enum rbwp_status rbwp_device_lanes_record_sized(struct rbwp_device_lanes *lanes,
                                                const struct rbwp_device_clock *clock,
                                                uint64_t launch, struct rbwp_lanes_stats *stats_out,
                                                size_t stats_bytes, struct rbwp_error *error)
{
    struct rbwp_device_clock_line line = {.size = sizeof line};
    struct rbwp_gpu_facts facts;
    struct rbwp_lanes_stats stats = {0};
    struct rbwp_lanes_layout layout = {.size = sizeof layout, .dialect = lanes->layout.dialect};
    rbwp_device_clock_get(clock, &line);
    rbwp_gpu_device_facts(lanes->device, &facts);
    struct device_lanes_recording recording = {
        .lanes = lanes,
        .line = &line,
        .place = {.processor = facts.proc_id, .launch = launch, .bound_ns = line.bound_ns}};
    sized_give(stats_out, stats_bytes, &stats, sizeof stats);
    if (!lanes->was_read)
        return gpu_failure(error, RBWP_E_STATE, "lanes: nothing was read since the last reset");
    note_host_time(lanes, &line);
    if (layout.dialect == RBWP_LANES_V1) {
        layout.stride = lanes->layout.stride;
        layout.max_records = lanes->layout.max_records;
        layout.anchor_device = anchor(lanes, &line);
        layout.clock_hz = line.hz;
    }
    enum rbwp_status status =
        rbwp_lanes_decode(lanes->memory.host, (size_t)lanes->buffer_bytes, &layout,
                          device_lanes_take, &recording, &stats, error);
    stats.dropped += count_drops(lanes);
    sized_give(stats_out, stats_bytes, &stats, sizeof stats);
    return status;
}

/* What kernels write is what is decoded.
 *
 * rbwp_device.h includes nothing, so that a compiler for kernels can read it alone, and has its own
 * names for what rbwp_lanes.h and rbwp_events.h say. Here the two are compared; there is no code.
 */

#define SAME(kernel, host) _Static_assert((int)(kernel) == (int)(host), #kernel " is not " #host)

SAME(RBWP_DEV_BEGIN, RBWP_LANES_BEGIN);
SAME(RBWP_DEV_END, RBWP_LANES_END);
SAME(RBWP_DEV_INSTANT, RBWP_LANES_INSTANT);
SAME(RBWP_DEV_FINALIZE, RBWP_LANES_FINALIZE);
SAME(RBWP_DEV_EVENT_HEARTBEAT, RBWP_LANES_HEARTBEAT);
SAME(RBWP_DEV_V2_GENERATION, RBWP_LANES_GENERATIONS << 24);
SAME(RBWP_DEV_V2_ANCHOR_OFFSET, RBWP_LANES_ANCHOR_OFFSET);
SAME(RBWP_DEV_V2_HEADER_BYTES, RBWP_LANES_HEADER_BYTES);

SAME(RBWP_DEV_COLUMN_EVENT_ID, RBWP_EVENTS_EVENT_ID);
SAME(RBWP_DEV_COLUMN_PID, RBWP_EVENTS_PID);
SAME(RBWP_DEV_COLUMN_PID_M, RBWP_EVENTS_PID_M);
SAME(RBWP_DEV_COLUMN_PID_N, RBWP_EVENTS_PID_N);
SAME(RBWP_DEV_COLUMN_CUR_RANK, RBWP_EVENTS_CUR_RANK);
SAME(RBWP_DEV_COLUMN_TARGET_RANK, RBWP_EVENTS_TARGET_RANK);
SAME(RBWP_DEV_COLUMN_XCC_ID, RBWP_EVENTS_XCC_ID);
SAME(RBWP_DEV_COLUMN_CU_ID, RBWP_EVENTS_CU_ID);
SAME(RBWP_DEV_COLUMN_START, RBWP_EVENTS_TIMESTAMP);
SAME(RBWP_DEV_COLUMN_ADDRESS, RBWP_EVENTS_ADDRESS);
SAME(RBWP_DEV_COLUMN_END, RBWP_EVENTS_END);
SAME(RBWP_DEV_COLUMN_OP_INDEX, RBWP_EVENTS_OP_INDEX);
SAME(RBWP_DEV_COLUMN_PAYLOAD_BYTES, RBWP_EVENTS_PAYLOAD_SIZE);
SAME(RBWP_DEV_COLUMNS, RBWP_EVENTS_COLUMNS);

SAME(RBWP_DEV_FETCH, RBWP_EVENTS_USER_MOVES);
SAME(RBWP_DEV_COMPUTE, RBWP_EVENTS_USER_COMPUTES);
SAME(RBWP_DEV_WAIT, RBWP_EVENTS_USER_SYNCS);
