// SPDX-License-Identifier: Apache-2.0
//
// device_kernels.cu - small kernels whose machine code device_code.py looks at: for CUDA, HIP, NVRTC
// and hipRTC, with no header of an SDK.
//
//   PLAIN    without the header and without markers: what disabled code must be like
//   MACROS   marked by the macros instead of the classes
//   OFF      marked by classes whose template argument says off
//   WARPSCOPE  lanes by the names of rbwp_warpscope.h
#if defined(__HIP__) || defined(__HIPCC_RTC__)
#define THREAD __builtin_amdgcn_workitem_id_x()
#elif defined(__NVCC__) || defined(__CUDACC_RTC__)
#define THREAD threadIdx.x
#else
#define THREAD ((unsigned)__nvvm_read_ptx_sreg_tid_x())
#endif
#if defined(__NVCC__) || defined(__CUDACC_RTC__) || defined(__HIPCC_RTC__)
#define KERNEL extern "C" __global__ void
#else
#define KERNEL extern "C" __attribute__((global)) void
#endif

#ifdef PLAIN
#define MARK(...)
#else
#define MARK(...) __VA_ARGS__
#include "rbwp_device.h"
#endif

#ifdef WARPSCOPE
#include "rbwp_warpscope.h"
#define LANES ws::Profiler
#define BEGIN start
#else
#define LANES rbwp::lanes
#define BEGIN begin
#endif

#if !defined(PLAIN) && !defined(MACROS)
#ifdef OFF
typedef LANES<false> lanes;
typedef rbwp::lanes<false, RBWP_DEV_V2> lanes_2;
typedef rbwp::events<false> events;
#else
typedef LANES<> lanes;
typedef rbwp::lanes<true, RBWP_DEV_V2> lanes_2;
typedef rbwp::events<> events;
#endif
#endif

// 1 begin, 1 end, 1 finalize
KERNEL one_span(float *x, unsigned n, void *records, unsigned max_records)
{
    const unsigned t = THREAD;
#ifdef MACROS
    RBWP_DEV_LANES(p);
    RBWP_DEV_LANES_INIT(p, RBWP_DEV_V1, records, 0, t / 64, 2, 132, t % 64 == 0, max_records);
    RBWP_DEV_BEGIN(p, 3);
#else
    MARK(lanes p; p.init(records, 0, t / 64, 2, 132, t % 64 == 0, max_records); p.BEGIN(3);)
#endif
    if (t < n)
        x[t] = x[t] * 3 + x[t + 1];
#ifdef MACROS
    RBWP_DEV_END(p, 3);
    RBWP_DEV_FINALIZE(p);
#else
    MARK(p.end(3); p.finalize();)
#endif
}

// 1 start, 1 end
KERNEL one_event(float *x, unsigned n, const void *context)
{
    const unsigned t = THREAD;
#ifdef MACROS
    RBWP_DEV_EVENTS(e);
    RBWP_DEV_EVENTS_INIT(e, context, t == 0);
    RBWP_DEV_EVENT_START(e, handle, RBWP_DEV_PUT, 1, x, 2, 3, 32);
#else
    MARK(events e; e.init(context, t == 0);
         const unsigned handle = e.start_masked(RBWP_DEV_PUT, 1, (const double *)x, 2, 3, 15);)
#endif
    if (t < n)
        x[t] = x[t] * 3 + x[t + 1];
#ifdef MACROS
    RBWP_DEV_EVENT_END(e, handle);
#else
    MARK(e.end(handle);)
#endif
}

#ifndef MACROS
// a loop with a region of its own type, an instant in it, and records of 16 bytes
KERNEL loop(float *x, unsigned n, void *records, unsigned max_records)
{
    const unsigned t = THREAD;
    MARK(lanes_2 p; p.init(records, 0, 0, 1, 132, t == 0, max_records); p.drops(records); p.anchor(records);)
    for (unsigned i = t; i < n; i += 256) {
        MARK(RBWP_REGION(p, 3);)
        x[i] = x[i] * 2 + 1;
        MARK(p.instant(4); p.heartbeat();)
    }
    MARK(p.finalize();)
}

// an event that is written at its end
KERNEL opened(float *x, unsigned n, const void *context)
{
    const unsigned t = THREAD;
    MARK(events e; e.init(context, t == 0); events::open_event event; e.open(event, 3, 1, x, 2, 3);)
    if (t < n)
        x[t] = x[t] * 3 + x[t + 1];
    MARK(e.close(event);)
}
#endif
