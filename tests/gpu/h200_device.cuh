// SPDX-License-Identifier: Apache-2.0
//
// h200_device.cuh - for the programs that h200_device.sh runs: CUDA calls that end the program when they
// fail, buffers of device events, checks, and figures with what they should be at most.
#pragma once

#include "rbwp_device.h"
#include "rbwp_events.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#define CUDA(call)                                                                                 \
    do {                                                                                           \
        const cudaError_t code_ = (call);                                                          \
        if (code_ != cudaSuccess) {                                                                \
            std::printf("%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(code_));  \
            std::exit(2);                                                                          \
        }                                                                                          \
    } while (0)

static int failures;

#define CHECK(good, ...)                                                                           \
    do {                                                                                           \
        if (!(good)) {                                                                             \
            if (failures++ < 20) {                                                                 \
                std::printf("FAILED: %s:%d: %s: ", __FILE__, __LINE__, #good);                     \
                std::printf(__VA_ARGS__);                                                          \
                std::printf("\n");                                                                 \
            }                                                                                      \
        }                                                                                          \
    } while (0)

// A line of the script's table. target 0: there is none.
static inline void figure(const char *what, double value, const char *unit, double target)
{
    if (target > 0)
        std::printf("figure %-58s %10.2f %-7s target %7.2f %s\n", what, value, unit, target,
                    value <= target ? "met" : "MISSED");
    else
        std::printf("figure %-58s %10.2f %-7s\n", what, value, unit);
}

template <class T> static T median(std::vector<T> values)
{
    std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
    return values[values.size() / 2];
}

template <class T> static T *device_zeros(size_t count)
{
    T *memory;
    CUDA(cudaMalloc(&memory, count * sizeof(T)));
    CUDA(cudaMemset(memory, 0, count * sizeof(T)));
    return memory;
}

template <class T> static std::vector<T> to_host(const T *memory, size_t count)
{
    std::vector<T> copy(count);
    CUDA(cudaMemcpy(copy.data(), memory, count * sizeof(T), cudaMemcpyDeviceToHost));
    return copy;
}

// The 13 arrays of a rank on the current device, in one allocation, with a guard word behind each.
static const uint64_t guard = 0x5ca1ab1e5ca1ab1eull;

struct event_buffers {
    uint32_t *counters; // side by side in words 0 and 1, or apart in 0 and 32
    uint32_t *ops;
    char *memory;
    size_t offset[RBWP_EVENTS_COLUMNS], bytes;
    int64_t *context;
    uint32_t max_events;
};

static inline event_buffers make_events(unsigned rank, unsigned ranks, uint32_t max_events, bool apart)
{
    event_buffers made{};
    made.max_events = max_events;
    for (unsigned i = 0; i < RBWP_EVENTS_COLUMNS; i++) {
        made.offset[i] = made.bytes;
        made.bytes += ((size_t)max_events * rbwp_events_column_bytes(i) + 15) / 8 * 8 + 8;
    }
    made.counters = device_zeros<uint32_t>(64);
    made.ops = made.counters + (apart ? 32 : 1);
    made.memory = device_zeros<char>(made.bytes);
    rbwp_events_context context{};
    context.size = sizeof context;
    context.rank = rank;
    context.ranks = ranks;
    context.max_events = max_events;
    context.counter = (uint64_t)made.counters;
    context.op_counter = (uint64_t)made.ops;
    context.enabled = true;
    for (unsigned i = 0; i < RBWP_EVENTS_COLUMNS; i++) {
        context.columns[i] = (uint64_t)made.memory + made.offset[i];
        const size_t end = made.offset[i] + (size_t)max_events * rbwp_events_column_bytes(i);
        CUDA(cudaMemcpy(made.memory + end, &guard, 8, cudaMemcpyHostToDevice));
    }
    std::vector<int64_t> words(RBWP_EVENTS_CONTEXT_WORDS(ranks));
    rbwp_error error;
    if (rbwp_events_encode_context(&context, words.data(), words.size(), &error) != RBWP_OK)
        std::exit(2);
    made.context = device_zeros<int64_t>(words.size());
    CUDA(cudaMemcpy(made.context, words.data(), words.size() * 8, cudaMemcpyHostToDevice));
    return made;
}

static inline void free_events(event_buffers *buffers)
{
    CUDA(cudaFree(buffers->counters));
    CUDA(cudaFree(buffers->memory));
    CUDA(cudaFree(buffers->context));
}

// The buffers as they are on the host, and a cell of them.
struct event_rows {
    std::vector<char> memory;
    const event_buffers *of;
    uint32_t counter, ops;
    int64_t cell(unsigned column, size_t slot) const
    {
        const unsigned bytes = rbwp_events_column_bytes(column);
        int64_t wide;
        int32_t narrow;
        std::memcpy(bytes == 8 ? (void *)&wide : (void *)&narrow,
                    memory.data() + of->offset[column] + slot * bytes, bytes);
        return bytes == 8 ? wide : narrow;
    }
    bool guarded() const
    {
        for (unsigned i = 0; i < RBWP_EVENTS_COLUMNS; i++)
            if (std::memcmp(memory.data() + of->offset[i] +
                                (size_t)of->max_events * rbwp_events_column_bytes(i),
                            &guard, 8))
                return false;
        return true;
    }
};

static inline event_rows read_events(const event_buffers &buffers)
{
    event_rows rows{to_host(buffers.memory, buffers.bytes), &buffers, 0, 0};
    CUDA(cudaMemcpy(&rows.counter, buffers.counters, 4, cudaMemcpyDeviceToHost));
    CUDA(cudaMemcpy(&rows.ops, buffers.ops, 4, cudaMemcpyDeviceToHost));
    return rows;
}
