// SPDX-License-Identifier: Apache-2.0
//
// h200_device_check.cu - is what kernels write true? On a GPU, read back and compared cell by cell.
//
//   h200_device_check events [small]   data of events, many blocks; bounds, counters, contexts that are off
//   h200_device_check lanes [small]    a capture of 8 blocks x 4 groups against clock64 pairs that the kernel
//                                      itself kept, for each kind of lane; full lanes; lanes that are off
//   h200_device_check host             the host library: lanes that begin seconds after the reset and are silent for
//                                      seconds, with times of 32 bits; buffers that are used again without zeroing
//   h200_device_check two              two GPUs: puts into each other's memory, barriers, and clocks
#include "h200_device.cuh"
#include "rbwp_device_buffers.h"
#include "rbwp_lanes.h"

#include <chrono>
#include <thread>

// ---- events ----------------------------------------------------------------------------------------

__device__ static bool event_leader()
{
    return RBWP_DEV_EVENT_WARP ? threadIdx.x < 32 : threadIdx.x == 0;
}

// Each block puts 32 bytes, 4 numbers of 8, and tells it; every fourth is written in one go.
__global__ void put_kernel(const void *context, unsigned rounds, unsigned rank, unsigned ranks,
                           unsigned long long *to, bool leaderless)
{
    rbwp::events<> e;
    e.init(context, !leaderless && event_leader());
    const unsigned target = (rank + 1) % ranks;
    for (unsigned i = 0; i < rounds; i++) {
        unsigned long long *mine = to + ((size_t)blockIdx.x * rounds + i) * 4;
        rbwp::events<>::open_event event;
        unsigned handle = 0;
        if (i % 4 == 3)
            e.open(event, RBWP_DEV_PUT, target, mine, blockIdx.x, i, 32);
        else
            handle = e.start_masked(RBWP_DEV_PUT, target, mine, blockIdx.x, i, 15);
        if (threadIdx.x < 4)
            mine[threadIdx.x] = (unsigned long long)rank << 32 | (blockIdx.x * rounds + i);
        if (i % 4 == 3)
            e.close(event);
        else
            e.end(handle);
    }
}

// All of the rows that a put_kernel must have left, in any order.
static void check_puts(const event_rows &rows, unsigned blocks, unsigned rounds, unsigned rank,
                       unsigned ranks, const void *to, uint32_t stored)
{
    std::vector<char> op_seen(blocks * rounds, 0), event_seen(blocks * rounds, 0);
    CHECK(rows.counter == blocks * rounds, "%u", rows.counter);
    CHECK(rows.ops == blocks * rounds, "%u", rows.ops);
    CHECK(rows.guarded(), "a guard behind an array");
    for (uint32_t i = 0; i < stored; i++) {
        const int64_t m = rows.cell(RBWP_EVENTS_PID_M, i), n = rows.cell(RBWP_EVENTS_PID_N, i);
        const int64_t op = rows.cell(RBWP_EVENTS_OP_INDEX, i), event = m * rounds + n;
        CHECK(rows.cell(RBWP_EVENTS_EVENT_ID, i) == 3, "slot %u", i);
        CHECK(rows.cell(RBWP_EVENTS_PID, i) == m, "slot %u", i);
        CHECK(rows.cell(RBWP_EVENTS_CUR_RANK, i) == rank, "slot %u", i);
        CHECK(rows.cell(RBWP_EVENTS_TARGET_RANK, i) == (rank + 1) % ranks, "slot %u", i);
        CHECK(rows.cell(RBWP_EVENTS_XCC_ID, i) == 0, "slot %u", i);
        CHECK(rows.cell(RBWP_EVENTS_CU_ID, i) >= 0 && rows.cell(RBWP_EVENTS_CU_ID, i) < 1024, "slot %u", i);
        CHECK(rows.cell(RBWP_EVENTS_TIMESTAMP, i) > 0, "slot %u", i);
        CHECK(rows.cell(RBWP_EVENTS_END, i) >= rows.cell(RBWP_EVENTS_TIMESTAMP, i), "slot %u", i);
        CHECK(rows.cell(RBWP_EVENTS_END, i) < rows.cell(RBWP_EVENTS_TIMESTAMP, i) + 1000000000, "slot %u", i);
        CHECK(rows.cell(RBWP_EVENTS_ADDRESS, i) == (int64_t)to + event * 32, "slot %u", i);
        CHECK(rows.cell(RBWP_EVENTS_PAYLOAD_SIZE, i) == 32, "slot %u", i);
        const bool good = event >= 0 && event < blocks * rounds && op >= 0 && op < blocks * rounds;
        CHECK(good && !event_seen[(size_t)event] && !op_seen[(size_t)op], "slot %u: event %lld, op %lld", i,
              (long long)event, (long long)op);
        if (good)
            event_seen[(size_t)event] = op_seen[(size_t)op] = 1;
    }
}

// Who leads, in which threads of a block, and who calls: the values are those of the thread that leads.
struct led {
    unsigned threads, first, step, last;
    bool alone; // others do not call
};

__global__ void led_kernel(const void *context, unsigned rounds, led who)
{
    const unsigned me = threadIdx.x;
    const bool leads = me >= who.first && me <= who.last && (me - who.first) % who.step == 0;
    rbwp::events<> e;
    e.init(context, leads);
    for (unsigned i = 0; i < rounds; i++)
        if (leads || !who.alone)
            e.end(e.start(RBWP_DEV_GET, me + 1, (const void *)(size_t)(1000 + me), me, i, 2000 + me));
}

static void check_leaders()
{
    const unsigned rounds = 8;
    for (const led &who : {led{32, 0, 32, 0, false}, led{32, 31, 32, 31, false}, led{96, 37, 64, 37, false},
                           led{32, 0, 16, 31, false}, led{64, 3, 1, 40, false}, led{16, 0, 16, 0, false},
                           led{64, 5, 64, 5, true}, led{70, 69, 1, 69, false}}) {
        const unsigned leaders = (who.last - who.first) / who.step + 1, count = leaders * rounds;
        for (unsigned apart = 0; apart < 2; apart++) {
            event_buffers buffers = make_events(1, 2, count, apart);
            led_kernel<<<1, who.threads>>>(buffers.context, rounds, who);
            CUDA(cudaDeviceSynchronize());
            const event_rows rows = read_events(buffers);
            CHECK(rows.counter == count && rows.ops == count && rows.guarded(), "%u threads: %u", who.threads, rows.counter);
            std::vector<char> seen(who.threads * rounds, 0);
            for (uint32_t i = 0; i < count; i++) {
                const int64_t m = rows.cell(RBWP_EVENTS_PID_M, i), n = rows.cell(RBWP_EVENTS_PID_N, i);
                const bool good = m >= who.first && m <= who.last && (m - who.first) % who.step == 0 && n >= 0 &&
                                  n < rounds && !seen[(size_t)(m * rounds + n)];
                CHECK(good, "%u threads, slot %u: %lld, %lld", who.threads, i, (long long)m, (long long)n);
                if (good)
                    seen[(size_t)(m * rounds + n)] = 1;
                CHECK(rows.cell(RBWP_EVENTS_EVENT_ID, i) == RBWP_DEV_GET && rows.cell(RBWP_EVENTS_TARGET_RANK, i) == m + 1 &&
                          rows.cell(RBWP_EVENTS_ADDRESS, i) == 1000 + m &&
                          rows.cell(RBWP_EVENTS_PAYLOAD_SIZE, i) == 2000 + m && rows.cell(RBWP_EVENTS_CUR_RANK, i) == 1 &&
                          rows.cell(RBWP_EVENTS_TIMESTAMP, i) > 0 &&
                          rows.cell(RBWP_EVENTS_END, i) >= rows.cell(RBWP_EVENTS_TIMESTAMP, i),
                      "%u threads, slot %u", who.threads, i);
            }
            free_events(&buffers);
        }
    }
}

static void check_events(bool small)
{
    if (!RBWP_DEV_EVENT_WARP)
        check_leaders();
    const unsigned blocks = small ? 16 : 528, rounds = small ? 4 : 32, count = blocks * rounds;
    auto *to = device_zeros<unsigned long long>((size_t)count * 4);
    for (unsigned apart = 0; apart < 2; apart++)
        for (uint32_t room : {count, count / 3, 1u}) {
            event_buffers buffers = make_events(1, 2, room, apart);
            put_kernel<<<blocks, 64>>>(buffers.context, rounds, 1, 2, to, false);
            CUDA(cudaDeviceSynchronize());
            check_puts(read_events(buffers), blocks, rounds, 1, 2, to, room);
            free_events(&buffers);
        }
    // Counters at their ends: nothing is written.
    for (uint32_t preset : {0xfffffff0u, 0x80000000u, 0x7fffffffu}) {
        event_buffers buffers = make_events(0, 2, 4, false);
        const std::vector<char> before = to_host(buffers.memory, buffers.bytes);
        const uint32_t both[2] = {preset, preset};
        CUDA(cudaMemcpy(buffers.counters, both, 8, cudaMemcpyHostToDevice));
        put_kernel<<<1, 32>>>(buffers.context, 64, 0, 2, to, false);
        CUDA(cudaDeviceSynchronize());
        const event_rows rows = read_events(buffers);
        CHECK(rows.memory == before, "preset %x", preset);
        CHECK(rows.counter >= 0x80000000u && rows.counter < 0x80001000u, "preset %x: %x", preset, rows.counter);
        free_events(&buffers);
    }
    // Off: no context, a flag of 0 in a short context, nobody leads.
    int64_t *words = device_zeros<int64_t>(5);
    const int64_t two_ranks = 2;
    CUDA(cudaMemcpy(words + 1, &two_ranks, 8, cudaMemcpyHostToDevice));
    event_buffers buffers = make_events(0, 2, 4, false);
    put_kernel<<<4, 64>>>(nullptr, 8, 0, 2, to, false);
    put_kernel<<<4, 64>>>(words, 8, 0, 2, to, false);
    put_kernel<<<4, 64>>>(buffers.context, 8, 0, 2, to, true);
    CUDA(cudaDeviceSynchronize());
    CHECK(read_events(buffers).counter == 0, "counted with nobody leading");
    free_events(&buffers);
    CUDA(cudaFree(words));
    CUDA(cudaFree(to));
    std::printf("events: %u blocks x %u compared, in 2 x 3 sizes; counters at their ends; off\n", blocks, rounds);
}

// ---- lanes ------------------------------------------------------------------------------------------

struct own_pair { // what the kernel keeps by itself
    long long begin, end;       // clock64
    long long begin_ns, end_ns; // the timer, read beside it: the clock's rate is not the same all the time
};

__device__ static long long timer()
{
    long long ns;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns)::"memory");
    return ns;
}

static const unsigned BLOCKS = 8, GROUPS = 4;

// Groups are warps: each spins for times of its own, marks them, and keeps clock64 beside the marks.
template <unsigned Kind>
__global__ void spans_kernel(void *buffer, unsigned spans, unsigned max_records, own_pair *own)
{
    rbwp::lanes<true, Kind> p;
    const unsigned group = threadIdx.x / 32, lane = blockIdx.x * GROUPS + group;
    const bool leader = threadIdx.x % 32 == 0;
    p.init(buffer, 0, group, GROUPS, BLOCKS, leader, max_records);
    unsigned seed = lane * 2654435761u + 12345u;
    for (unsigned i = 0; i < spans; i++) {
        seed = seed * 1664525u + 1013904223u;
        const long long wait = 500 + (seed >> 8) % 100000;
        p.begin(i % 7);
        const long long begin_ns = timer(), begin = clock64();
        while (clock64() - begin < wait)
            ;
        const long long end = clock64(), end_ns = timer();
        p.end(i % 7);
        if (leader)
            own[lane * spans + i] = own_pair{begin, end, begin_ns, end_ns};
    }
    p.finalize();
}

static std::vector<rbwp_lane_span> decode(const std::vector<char> &bytes, const rbwp_lanes_layout &wanted,
                                          rbwp_lanes_stats *stats)
{
    std::vector<rbwp_lane_span> spans(bytes.size() / 8);
    size_t count = 0;
    rbwp_error error;
    const rbwp_status status = rbwp_lanes_decode_array(bytes.data(), bytes.size(), &wanted, spans.data(),
                                                       spans.size(), &count, stats, &error);
    CHECK(status == RBWP_OK, "status %d", (int)status);
    spans.resize(status == RBWP_OK ? count : 0);
    return spans;
}

// A buffer of that kind, with its header where the host writes it.
template <unsigned Kind> static rbwp_lanes_layout layout_of(unsigned max_records)
{
    rbwp_lanes_layout layout{};
    layout.size = sizeof layout;
    layout.dialect = Kind & RBWP_DEV_V2 ? RBWP_LANES_V2 : RBWP_LANES_V1;
    layout.flags = (Kind & RBWP_DEV_SHORT ? RBWP_LANES_SHORT : 0) | (Kind & RBWP_DEV_CLOCK ? RBWP_LANES_CYCLES : 0);
    layout.num_blocks = BLOCKS;
    layout.num_groups = GROUPS;
    layout.max_records = max_records;
    layout.grid_x = BLOCKS;
    return layout;
}

template <unsigned Kind> static std::vector<char> capture(unsigned spans, unsigned max_records, own_pair *own)
{
    const rbwp_lanes_layout layout = layout_of<Kind>(max_records);
    std::vector<char> bytes(rbwp_lanes_bytes(&layout));
    rbwp_error error;
    if (Kind & RBWP_DEV_V2)
        CHECK(rbwp_lanes_write_header(&layout, bytes.data(), bytes.size(), &error) == RBWP_OK, "header");
    const size_t guarded = bytes.size() + 64;
    char *buffer = device_zeros<char>(guarded);
    CUDA(cudaMemset(buffer + bytes.size(), 0x5a, 64));
    CUDA(cudaMemcpy(buffer, bytes.data(), bytes.size(), cudaMemcpyHostToDevice));
    spans_kernel<Kind><<<BLOCKS, GROUPS * 32>>>(buffer, spans, max_records, own);
    CUDA(cudaDeviceSynchronize());
    bytes = to_host(buffer, guarded);
    for (size_t i = guarded - 64; i < guarded; i++)
        CHECK(bytes[i] == 0x5a, "a byte behind the buffer");
    bytes.resize(guarded - 64);
    CUDA(cudaFree(buffer));
    return bytes;
}

// Cycles a ns around a span: of it and the spans next to it, by the kernel's own readings. One rate for the
// whole capture would be wrong by a microsecond in 50 where the clock changes meanwhile.
static double rate_at(const own_pair *own, unsigned at, unsigned each)
{
    double cycles = 0, ns = 0;
    for (unsigned i = at ? at - 1 : 0; i <= at + 1 && i < each; i++) {
        cycles += (double)(own[i].end - own[i].begin);
        ns += (double)(own[i].end_ns - own[i].begin_ns);
    }
    return cycles / ns;
}

static void tell_errors(std::vector<double> errors, const char *kind, const char *against, double target)
{
    std::sort(errors.begin(), errors.end());
    char what[96];
    const char *name[] = {"p50", "p99", "worst"};
    const double value[] = {errors[errors.size() / 2], errors[errors.size() * 99 / 100], errors.back()};
    for (unsigned i = 0; i < 3; i++) {
        std::snprintf(what, sizeof what, "8 x 4, %s: against %s, %s", kind, against, name[i]);
        figure(what, value[i], "ns", i == 1 ? target : 0);
    }
}

// Durations by the records against those by the kernel's own clock, and by its own readings of the timer, which
// lie within the span: it is longer by what a record takes, record_ns.
static void compare(const std::vector<rbwp_lane_span> &spans, const std::vector<own_pair> &own, unsigned each,
                    const char *kind, double record_ns)
{
    std::vector<std::vector<rbwp_lane_span>> lanes(BLOCKS * GROUPS);
    for (const rbwp_lane_span &span : spans)
        if (span.kind == RBWP_LANE_SPAN && span.block < BLOCKS && span.group < GROUPS)
            lanes[span.block * GROUPS + span.group].push_back(span);
    std::vector<double> by_clock, by_one_rate, by_timer, rates;
    double ns = 0, cycles = 0;
    for (const own_pair &pair : own) {
        ns += (double)(pair.end_ns - pair.begin_ns);
        cycles += (double)(pair.end - pair.begin);
    }
    for (unsigned lane = 0; lane < lanes.size(); lane++) {
        CHECK(lanes[lane].size() == each, "%s: lane %u has %zu spans", kind, lane, lanes[lane].size());
        if (lanes[lane].size() != each)
            return;
        for (unsigned i = 0; i < each; i++) {
            const rbwp_lane_span &span = lanes[lane][i];
            const own_pair &pair = own[lane * each + i];
            CHECK(span.event == i % 7, "%s: lane %u, span %u is %u", kind, lane, i, span.event);
            const double took = (double)(span.stop_ns - span.start_ns), rate = rate_at(&own[lane * each], i, each);
            rates.push_back(rate * 1000);
            by_clock.push_back(std::abs(took - (double)(pair.end - pair.begin) / rate));
            by_one_rate.push_back(std::abs(took - (double)(pair.end - pair.begin) / (cycles / ns)));
            by_timer.push_back(std::abs(took - (double)(pair.end_ns - pair.begin_ns)));
        }
    }
    std::sort(rates.begin(), rates.end());
    char what[96];
    std::snprintf(what, sizeof what, "8 x 4, %s: clock's rate by the timer, p1", kind);
    figure(what, rates[rates.size() / 100], "MHz", 0);
    std::snprintf(what, sizeof what, "8 x 4, %s: clock's rate by the timer, p99", kind);
    figure(what, rates[rates.size() * 99 / 100], "MHz", 0);
    tell_errors(by_clock, kind, "clock64", record_ns + 76); // and two steps of the timer, and a bit
    tell_errors(by_timer, kind, "the timer", record_ns + 44);
    tell_errors(by_one_rate, kind, "clock64 at one rate", 0);
}

template <unsigned Kind> static void check_capture(const char *kind, unsigned spans)
{
    own_pair *own = device_zeros<own_pair>((size_t)BLOCKS * GROUPS * spans);
    const unsigned max_records = 2 * spans + 1;
    const std::vector<char> bytes = capture<Kind>(spans, max_records, own);
    rbwp_lanes_layout wanted{};
    wanted.size = sizeof wanted;
    rbwp_lanes_stats stats;
    const std::vector<rbwp_lane_span> found = decode(bytes, wanted, &stats);
    CHECK(rbwp_lanes_damage(&stats) == 0, "%s: damage %llu", kind, (unsigned long long)rbwp_lanes_damage(&stats));
    CHECK(stats.finalized == BLOCKS * GROUPS, "%s: %llu lanes finalized", kind, (unsigned long long)stats.finalized);
    CHECK(stats.unended == 0 && stats.dropped == 0, "%s: unended or dropped", kind);
    if (Kind & RBWP_DEV_V2)
        CHECK(stats.absolute == 1, "%s: no anchor in the header", kind);
    compare(found, to_host(own, (size_t)BLOCKS * GROUPS * spans), spans, kind,
            Kind & RBWP_DEV_HEARTBEAT ? 68 : 20); // 134 and 39 cycles: h200_device_cost
    CUDA(cudaFree(own));
}

// Lanes with room for a few: full, told so, and nothing behind them (capture looks at that).
template <unsigned Kind> static void check_full(unsigned max_records)
{
    own_pair *own = device_zeros<own_pair>(BLOCKS * GROUPS * 8);
    const std::vector<char> bytes = capture<Kind>(8, max_records, own);
    rbwp_lanes_layout wanted{};
    wanted.size = sizeof wanted;
    rbwp_lanes_stats stats;
    decode(bytes, wanted, &stats);
    CHECK(stats.records == (uint64_t)BLOCKS * GROUPS * max_records, "%llu records", (unsigned long long)stats.records);
    CHECK(stats.finalized == BLOCKS * GROUPS, "%llu finalized", (unsigned long long)stats.finalized);
    if (Kind & RBWP_DEV_V2)
        CHECK(stats.dropped == (uint64_t)BLOCKS * GROUPS * (16 + 1 - max_records), "%llu dropped",
              (unsigned long long)stats.dropped);
    CUDA(cudaFree(own));
}

// The header is there though no thread of block 0's first group calls, and drops are where they belong.
__global__ void last_group_alone(void *buffer, unsigned *drops)
{
    rbwp::lanes<> p;
    if (threadIdx.x < 96)
        return;
    p.init(buffer, 0, 3, GROUPS, BLOCKS, threadIdx.x == 96, 2);
    p.drops(drops);
    p.instant(1);
    p.instant(1);
    p.finalize();
}

static void check_lanes(bool small)
{
    const unsigned spans = small ? 20 : 500;
    check_capture<RBWP_DEV_V1>("v1", spans);
    if (!small) {
        check_capture<RBWP_DEV_V1 | RBWP_DEV_HEARTBEAT>("v1, heartbeat", spans);
        check_capture<RBWP_DEV_V2 | RBWP_DEV_SHORT>("v2, short", spans);
    }
    check_capture<RBWP_DEV_V2>("v2", spans);
    for (unsigned max_records : {1u, 2u, 7u}) {
        check_full<RBWP_DEV_V1>(max_records);
        check_full<RBWP_DEV_V2>(max_records);
    }
    auto *buffer = device_zeros<uint64_t>(1 + 2 * BLOCKS * GROUPS);
    auto *drops = device_zeros<unsigned>(BLOCKS * GROUPS);
    last_group_alone<<<BLOCKS, 128>>>(buffer, drops);
    own_pair *own = device_zeros<own_pair>(BLOCKS * GROUPS * 8);
    spans_kernel<RBWP_DEV_V1><<<BLOCKS, GROUPS * 32>>>(nullptr, 8, 100, own);
    CUDA(cudaDeviceSynchronize());
    CHECK(to_host(buffer, 1)[0] == ((uint64_t)GROUPS << 32 | BLOCKS), "header");
    const std::vector<unsigned> dropped = to_host(drops, BLOCKS * GROUPS);
    for (unsigned i = 0; i < BLOCKS * GROUPS; i++)
        CHECK(dropped[i] == (i % GROUPS == 3), "lane %u dropped %u", i, dropped[i]);
    std::printf("lanes: %u blocks x %u groups x %u spans compared; full lanes; off\n", BLOCKS, GROUPS, spans);
}

// ---- the host library -----------------------------------------------------------------------------------

#define RBWP(call)                                                                                 \
    do {                                                                                           \
        rbwp_error error_;                                                                         \
        rbwp_error *const error = &error_;                                                         \
        const rbwp_status status_ = (call);                                                        \
        if (status_ != RBWP_OK) {                                                                  \
            std::printf("%s:%d: %s: %s\n", __FILE__, __LINE__, #call, error_.text);                \
            std::exit(2);                                                                          \
        }                                                                                          \
    } while (0)

__global__ void keep_busy(unsigned long long ns)
{
    const unsigned long long begin = rbwp_dev_time_();
    while (rbwp_dev_time_() - begin < ns)
        ;
}

// Times of 32 bits, and beside each record the timer's 64. One span is longer than 32 bits can say.
__global__ void slow_kernel(void *buffer, void *anchor, unsigned max_records, unsigned long long ns,
                            unsigned long long *times)
{
    rbwp::lanes<true, RBWP_DEV_V1 | RBWP_DEV_HEARTBEAT> p;
    const unsigned group = threadIdx.x / 32, lane = blockIdx.x * GROUPS + group;
    const bool leader = threadIdx.x % 32 == 0;
    p.init(buffer, 0, group, GROUPS, BLOCKS, leader, max_records);
    p.anchor(anchor);
    p.begin(1);
    if (leader)
        times[2 * lane] = rbwp_dev_time_();
    if (lane == 5)
        while (leader && rbwp_dev_time_() - times[2 * lane] < ns)
            ;
    __syncwarp();
    p.end(1);
    if (leader)
        times[2 * lane + 1] = rbwp_dev_time_();
    p.finalize();
}

struct host_side {
    cudaStream_t native;
    rbwp_gpu_device *device;
    rbwp_gpu_stream *stream;
    rbwp_device_clock *clock;
};

static rbwp_device_lanes *new_lanes(const host_side &host, uint32_t dialect, unsigned max_records, bool generations)
{
    rbwp_device_lanes_config config{};
    rbwp_device_lanes *lanes;
    config.size = sizeof config;
    config.layout = dialect == RBWP_LANES_V2 ? layout_of<RBWP_DEV_V2>(max_records) : layout_of<RBWP_DEV_V1>(max_records);
    config.generations = generations;
    RBWP(rbwp_device_lanes_new(host.device, &config, &lanes, error));
    return lanes;
}

// The kernel waits behind another for longer than the reset's time could tell; by the mark on the stream
// alone, then by the kernel's own word.
static void check_anchor(const host_side &host)
{
    const unsigned max_records = 8, lane_count = BLOCKS * GROUPS;
    rbwp_device_lanes *lanes = new_lanes(host, RBWP_LANES_V1, max_records, false);
    auto *times = device_zeros<unsigned long long>(2 * lane_count);
    for (bool by_kernel : {false, true}) {
        RBWP(rbwp_device_lanes_reset(lanes, 0, error));
        keep_busy<<<1, 1, 0, host.native>>>(by_kernel ? 0 : 2600000000ull);
        if (!by_kernel)
            RBWP(rbwp_device_lanes_mark(lanes, host.clock, host.stream, error));
        slow_kernel<<<BLOCKS, GROUPS * 32, 0, host.native>>>(
            rbwp_device_lanes_buffer(lanes).native, by_kernel ? rbwp_device_lanes_anchor(lanes).native : nullptr,
            max_records, by_kernel ? 4500000000ull : 1000ull, times);
        RBWP(rbwp_device_lanes_read(lanes, host.stream, error));
        rbwp_lanes_stats stats;
        RBWP(rbwp_device_lanes_record(lanes, host.clock, 0, &stats, error));
        const auto kept = to_host(times, 2 * lane_count);
        const int64_t first = (int64_t)*std::min_element(kept.begin(), kept.end());
        const int64_t last = (int64_t)*std::max_element(kept.begin(), kept.end());
        CHECK(rbwp_lanes_damage(&stats) == 0, "damage %llu", (unsigned long long)rbwp_lanes_damage(&stats));
        CHECK(stats.spans == lane_count && stats.absolute == 1, "%llu spans", (unsigned long long)stats.spans);
        CHECK(std::llabs(stats.first_ns - first) < 100000, "the first record is off by %lld ns",
              (long long)(stats.first_ns - first));
        CHECK(std::llabs(stats.last_ns - last) < 100000, "the last record is off by %lld ns",
              (long long)(stats.last_ns - last));
        CHECK(stats.heartbeats == (by_kernel ? 2 : 0), "%llu heartbeats", (unsigned long long)stats.heartbeats);
    }
    CUDA(cudaFree(times));
    rbwp_device_lanes_free(lanes);
}

static double reset_us(rbwp_device_lanes *lanes)
{
    std::vector<double> times;
    for (unsigned i = 0; i < 9; i++) {
        const auto before = std::chrono::steady_clock::now();
        RBWP(rbwp_device_lanes_reset(lanes, 0, error));
        times.push_back(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - before).count());
    }
    return median(times);
}

// Each launch has other numbers of spans; what the one before left is not seen.
static void check_generations(const host_side &host)
{
    const unsigned max_records = 1u << 17, most = 40; /* 64 MiB */
    own_pair *own = device_zeros<own_pair>(BLOCKS * GROUPS * most);
    for (bool generations : {false, true}) {
        rbwp_device_lanes *lanes = new_lanes(host, RBWP_LANES_V2, max_records, generations);
        unsigned deepest = 0; // of all launches: the slots that are not empty
        for (unsigned spans : {most, 7u, 20u, 0u, 1u}) {
            spans_kernel<RBWP_DEV_V2><<<BLOCKS, GROUPS * 32, 0, host.native>>>(
                rbwp_device_lanes_buffer(lanes).native, spans, max_records, own);
            RBWP(rbwp_device_lanes_read(lanes, host.stream, error));
            rbwp_lanes_stats stats;
            RBWP(rbwp_device_lanes_record(lanes, host.clock, 0, &stats, error));
            CHECK(stats.spans == BLOCKS * GROUPS * spans, "%u: %llu spans", spans, (unsigned long long)stats.spans);
            CHECK(stats.finalized == BLOCKS * GROUPS, "%u: %llu finalized", spans, (unsigned long long)stats.finalized);
            CHECK(stats.dropped == 0, "%u: %llu dropped", spans, (unsigned long long)stats.dropped);
            CHECK(rbwp_lanes_damage(&stats) == 0, "%u: damage", spans);
            deepest = std::max(deepest, 2 * spans + 1);
            CHECK(stats.stale == (generations ? BLOCKS * GROUPS * (deepest - 2 * spans - 1) : 0), "%u: %llu stale", spans,
                  (unsigned long long)stats.stale);
            RBWP(rbwp_device_lanes_reset(lanes, 0, error));
        }
        figure(generations ? "reset of 64 MiB of lanes, generations" : "reset of 64 MiB of lanes, zeroed",
               reset_us(lanes), "us", 0);
        rbwp_device_lanes_free(lanes);
    }
    CUDA(cudaFree(own));
}

static void check_host()
{
    host_side host{};
    rbwp_gpu_config config{};
    config.size = sizeof config;
    config.api = RBWP_GPU_CUDA;
    CUDA(cudaStreamCreateWithFlags(&host.native, cudaStreamNonBlocking));
    RBWP(rbwp_gpu_device_open(&config, &host.device, error));
    RBWP(rbwp_gpu_stream_open(host.device, host.native, RBWP_GPU_USE_STREAM, &host.stream, error));
    RBWP(rbwp_device_clock_new(host.device, 0, &host.clock, error));
    check_anchor(host);
    check_generations(host);
    rbwp_device_clock_free(host.clock);
    rbwp_gpu_device_close(host.device);
    CUDA(cudaStreamDestroy(host.native));
    std::printf("the host library: anchors of version 1, generations\n");
}

// ---- two GPUs ---------------------------------------------------------------------------------------------

// One thread a GPU: puts into the other's memory, then both wait for each other; again and again.
__global__ void barriers_kernel(const void *context, unsigned rank, unsigned rounds, unsigned long long *to,
                                unsigned *mine, unsigned *others)
{
    rbwp::events<> e;
    e.init(context, event_leader());
    for (unsigned i = 0; i < rounds; i++) {
        const unsigned put = e.start_masked(RBWP_DEV_PUT, 1 - rank, to + 4 * i, 0, i, 15);
        if (threadIdx.x < 4)
            to[4 * i + threadIdx.x] = (unsigned long long)rank << 32 | i;
        __threadfence_system();
        __syncwarp();
        e.end(put);
        const unsigned barrier = e.start(RBWP_DEV_BARRIER, 1 - rank, mine, 1, i);
        if (threadIdx.x == 0) {
            *(volatile unsigned *)others = i + 1;
            while (*(volatile unsigned *)mine < i + 1)
                ;
        }
        __syncwarp();
        e.end(barrier);
    }
}

__global__ void tell_time(volatile unsigned long long *time)
{
    *time = rbwp_dev_time_();
    __threadfence_system();
}

struct clock_sample {
    double offset_ns, error_ns; // the GPU's timer minus the host's clock
};

// The sample whose way there and back was shortest. (docs: rbwp_device_buffers.h does the same.)
static clock_sample sample_clock(int device)
{
    CUDA(cudaSetDevice(device));
    unsigned long long *time;
    CUDA(cudaHostAlloc(&time, 8, cudaHostAllocMapped));
    clock_sample best{0, 1e18};
    for (unsigned i = 0; i < 64; i++) {
        *(volatile unsigned long long *)time = 0;
        const auto before = std::chrono::steady_clock::now();
        tell_time<<<1, 1>>>(time);
        while (!*(volatile unsigned long long *)time)
            ;
        const auto after = std::chrono::steady_clock::now();
        CUDA(cudaDeviceSynchronize());
        const double t0 = (double)std::chrono::duration_cast<std::chrono::nanoseconds>(before.time_since_epoch()).count();
        const double t1 = (double)std::chrono::duration_cast<std::chrono::nanoseconds>(after.time_since_epoch()).count();
        if ((t1 - t0) / 2 < best.error_ns)
            best = clock_sample{(double)*time - (t0 + t1) / 2, (t1 - t0) / 2};
    }
    CUDA(cudaFreeHost(time));
    return best;
}

static void check_two()
{
    const unsigned rounds = 200;
    int access[2];
    for (int device = 0; device < 2; device++) {
        CUDA(cudaDeviceCanAccessPeer(&access[device], device, 1 - device));
        if (!access[device]) {
            std::printf("the GPUs do not see each other's memory\n");
            std::exit(77);
        }
        CUDA(cudaSetDevice(device));
        CUDA(cudaDeviceEnablePeerAccess(1 - device, 0));
    }
    unsigned long long *memory[2];
    unsigned *flag[2];
    event_buffers buffers[2];
    clock_sample before[2], after[2];
    for (int device = 0; device < 2; device++) {
        CUDA(cudaSetDevice(device));
        memory[device] = device_zeros<unsigned long long>(4 * rounds);
        flag[device] = device_zeros<unsigned>(64);
        buffers[device] = make_events((unsigned)device, 2, 2 * rounds, false);
        before[device] = sample_clock(device);
    }
    for (int device = 0; device < 2; device++) { // loaded before the first one waits for the other
        cudaFuncAttributes attributes;
        CUDA(cudaSetDevice(device));
        CUDA(cudaFuncGetAttributes(&attributes, barriers_kernel));
    }
    for (int device = 0; device < 2; device++) {
        CUDA(cudaSetDevice(device));
        barriers_kernel<<<1, 32>>>(buffers[device].context, (unsigned)device, rounds, memory[1 - device],
                                   flag[device], flag[1 - device]);
        CUDA(cudaGetLastError());
    }
    event_rows rows[2];
    for (int device = 0; device < 2; device++) {
        CUDA(cudaSetDevice(device));
        CUDA(cudaDeviceSynchronize());
        rows[device] = read_events(buffers[device]);
        const auto got = to_host(memory[device], 4 * rounds);
        for (unsigned i = 0; i < 4 * rounds; i++)
            CHECK(got[i] == ((unsigned long long)(1 - device) << 32 | i / 4), "GPU %d, word %u", device, i);
        CHECK(rows[device].counter == 2 * rounds && rows[device].guarded(), "GPU %d", device);
    }
    for (int device = 0; device < 2; device++)
        after[device] = sample_clock(device);

    // By causality: what one did before the barrier, the other's exit is after. So each round bounds the
    // second clock's lead over the first: from both sides.
    double least = -1e300, most = 1e300, sum = 0;
    for (unsigned i = 0; i < rounds; i++) {
        const unsigned slot = 2 * i + 1;
        int64_t start[2], end[2];
        for (int device = 0; device < 2; device++) {
            const event_rows &r = rows[device];
            CHECK(r.cell(RBWP_EVENTS_EVENT_ID, 2 * i) == RBWP_DEV_PUT, "rank %d, put %u", device, i);
            CHECK(r.cell(RBWP_EVENTS_PAYLOAD_SIZE, 2 * i) == 32, "rank %d, put %u", device, i);
            CHECK(r.cell(RBWP_EVENTS_EVENT_ID, slot) == RBWP_DEV_BARRIER, "rank %d, barrier %u", device, i);
            CHECK(r.cell(RBWP_EVENTS_CUR_RANK, slot) == device, "rank %d, barrier %u", device, i);
            CHECK(r.cell(RBWP_EVENTS_TARGET_RANK, slot) == 1 - device, "rank %d, barrier %u", device, i);
            start[device] = r.cell(RBWP_EVENTS_TIMESTAMP, slot);
            end[device] = r.cell(RBWP_EVENTS_END, slot);
            CHECK(start[device] > 0 && end[device] >= start[device], "rank %d, barrier %u", device, i);
        }
        most = std::min(most, (double)(end[1] - start[0]));
        least = std::max(least, (double)(start[1] - end[0]));
        sum += (double)(end[1] - end[0]);
    }
    CHECK(least <= most, "barriers contradict each other: %f %f", least, most);
    const double by_ends = sum / rounds, bound = (most - least) / 2;
    CHECK(by_ends >= least && by_ends <= most, "the mean of the ends is outside of the bounds");
    figure("two GPUs: bound of the clocks' difference by barriers, +-", bound, "ns", 0);
    for (const clock_sample *sample : {before, after}) {
        const double by_host = sample[1].offset_ns - sample[0].offset_ns;
        const double error = sample[0].error_ns + sample[1].error_ns;
        figure(sample == before ? "two GPUs: bound by the host's samples, before, +-"
                                : "two GPUs: bound by the host's samples, after, +-", error, "ns", 0);
        figure("two GPUs: barrier-aligned against host-aligned", std::abs(by_ends - by_host), "ns", bound + error);
        CHECK(std::abs(by_ends - by_host) <= bound + error, "outside of the stated bounds");
    }
    std::vector<double> skew;
    for (unsigned i = 0; i < rounds; i++)
        skew.push_back(std::abs((double)(rows[1].cell(RBWP_EVENTS_END, 2 * i + 1) -
                                         rows[0].cell(RBWP_EVENTS_END, 2 * i + 1)) - by_ends));
    std::sort(skew.begin(), skew.end());
    figure("two GPUs: ends of a barrier after alignment, apart by, p50", skew[rounds / 2], "ns", bound);
    figure("two GPUs: ends of a barrier after alignment, apart by, p99", skew[rounds * 99 / 100], "ns", 0);
    std::printf("two GPUs: %u puts and barriers compared on each\n", rounds);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    const bool small = argc > 2 && !std::strcmp(argv[2], "small");
    if (!std::strcmp(what, "events")) {
        check_events(small);
    } else if (!std::strcmp(what, "lanes")) {
        check_lanes(small);
    } else if (!std::strcmp(what, "host")) {
        check_host();
    } else if (!std::strcmp(what, "two")) {
        int devices;
        CUDA(cudaGetDeviceCount(&devices));
        if (devices < 2) {
            std::printf("one GPU only\n");
            return 77;
        }
        check_two();
    } else {
        return 2;
    }
    std::printf("%d failures\n", failures);
    return failures != 0;
}
