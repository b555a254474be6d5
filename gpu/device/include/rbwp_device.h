/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rbwp_device.h - markers in the source of a GPU kernel: what its warps did, and when.
 *
 * For CUDA C++, HIP, NVRTC and hipRTC; and for the host, in C11 and C++11, where threads and the
 * clock are emulated (for tests). It includes nothing, so it can be given to a run-time compiler as
 * it is.
 *
 *     __global__ void kernel(..., void *records)            // lanes: spans of warp groups
 *     {
 *         rbwp::lanes<> p;
 *         p.init(records, stride, group, num_groups, num_blocks, leader, max_records);
 *         p.begin(LOAD);
 *         ...
 *         p.end(LOAD);
 *         { RBWP_REGION(p, MULTIPLY); ... }
 *         p.finalize();
 *     }
 *
 *     __global__ void send(..., const void *context)        // events: one row of 13 columns each
 *     {
 *         rbwp::events<> e;
 *         e.init(context, threadIdx.x == 0);
 *         const unsigned handle = e.start(RBWP_DEV_PUT, target_rank, address, pid_m, pid_n, bytes);
 *         ...
 *         e.end(handle);
 *     }
 *
 * Without templates: struct rbwp_dev_lanes and the functions rbwp_dev_lanes_*, rbwp_dev_events_*,
 * or the macros RBWP_DEV_*, which are no code where RBWP_DEVICE_ENABLED is 0.
 *
 * Off. rbwp::lanes<false>, rbwp::events<false>, and everything where RBWP_DEVICE_ENABLED is 0 (or
 * RBWP_DISABLE is defined), is no code: the kernel's machine code is that of a kernel without the
 * calls. Compiled in, but the host gave no buffer (NULL), or a context whose flag is 0: nothing is
 * written, whatever is called.
 *
 * Buffers. What a kernel writes is, bit for bit, version 1 of the lane records that other tools
 * read, and the event buffers of 13 arrays; rbwp_lanes.h and rbwp_events.h decode both.
 * Nothing is written outside them: a lane that is full, and a counter beyond the arrays, drop what
 * comes and count it.
 *
 * Time is %globaltimer on NVIDIA (ns; its step is 32 ns on current parts), the constant counter on
 * AMD (10 ns a tick on CDNA), and where a kind of lane says so the clock of the multiprocessor.
 */
#ifndef RBWP_DEVICE_H
#define RBWP_DEVICE_H

/* ---- switches: the same in every file of a program ------------------------------------ */

/* 0: all of it is compiled out, also where a template argument says true. */
#ifndef RBWP_DEVICE_ENABLED
#ifdef RBWP_DISABLE
#define RBWP_DEVICE_ENABLED 0
#else
#define RBWP_DEVICE_ENABLED 1
#endif
#endif

/* The fence of a lane's begin, end, instant and finalize, which keeps the memory accesses of a
 * region between its records. 1: of the block, as the format asks; 0: for the compiler alone. */
#ifndef RBWP_DEV_FENCE
#define RBWP_DEV_FENCE 1
#endif

/* How an event gets its slot and its number. 1: one 64-bit add where the host laid the two counters
 * side by side, else two adds; 2: always two adds; 3: one add whose result is both, and an add
 * that nobody waits for (the host must have zeroed both counters together); 4: one add whose result
 * is both, and the other counter follows in finish, the last call (zeroed together as well). */
#ifndef RBWP_DEV_EVENT_COUNTERS
#define RBWP_DEV_EVENT_COUNTERS 1
#endif

/* 0: the calls of events are made by any thread, and the leader alone acts. 1: they are made by a
 * whole warp at once, with the same arguments in each thread and `leader` true in all of it or
 * none: 13 of its threads write a column each. */
#ifndef RBWP_DEV_EVENT_WARP
#define RBWP_DEV_EVENT_WARP 0
#endif

/* 0: each event reads the addresses of the columns from the context, start while it waits for its
 * slot, close before it stores; 1: they are kept in registers (26 of them) from init on: dearer for
 * start, cheaper for open and where many blocks have events at once. */
#ifndef RBWP_DEV_EVENT_KEEP
#define RBWP_DEV_EVENT_KEEP 0
#endif

/* 1: each start (and init) asks for the slot of the event that comes next, so that the wait for the
 * counter, most of an event's cost, passes while the kernel works; wants EVENT_COUNTERS 4. Then not
 * every slot is an event: finish marks the one left over as RBWP_DEV_UNUSED, which rbwp_events.h
 * drops and counts, and of which other readers know nothing; and events are numbered as they
 * asked. */
#ifndef RBWP_DEV_EVENT_AHEAD
#define RBWP_DEV_EVENT_AHEAD 0
#endif
#if RBWP_DEV_EVENT_AHEAD && RBWP_DEV_EVENT_COUNTERS != 4
#error "RBWP_DEV_EVENT_AHEAD wants RBWP_DEV_EVENT_COUNTERS 4"
#endif

/* NVIDIA, with the defaults of the switches above: how start is made. 1: one block of PTX in which
 * all hangs on predicates, so that the leader and its warp part for no longer than it takes to ask
 * for a slot; 2: and where all of the leader's warp takes part, 13 of its threads store a column
 * each: the cheapest, and the most code; 0: as on AMD. */
#ifndef RBWP_DEV_EVENT_ONCE
#define RBWP_DEV_EVENT_ONCE 2
#endif

/* ---- what stands in the buffers -------------------------------------------------------- */

/* Kinds of lanes; flags may be or-ed. The host decodes by the same. */
enum rbwp_dev_kind {
    RBWP_DEV_V1 = 0,            /* 8-byte records behind one word: version 1 */
    RBWP_DEV_V2 = 1,            /* 16-byte records (time in full, SM, warp) behind 64 bytes that the
                                   host fills */
    RBWP_DEV_SHORT = 2,         /* with V2: version 1's records behind that header */
    RBWP_DEV_CLOCK = 4,         /* with V2: the multiprocessor's clock instead of the timer */
    RBWP_DEV_HEARTBEAT = 8,     /* 8-byte records: none is more than 2 * 10^9 ticks after the one
                                   before it; instants of event 1023 fill the gaps */
    RBWP_DEV_DROPS_IN_TAG = 16, /* V1: the last record's event bits count the drops, up to 1023 */
};

enum rbwp_dev_record { /* the low two bits of a record's tag */
                       RBWP_DEV_BEGIN = 0,
                       RBWP_DEV_END = 1,
                       RBWP_DEV_INSTANT = 2,
                       RBWP_DEV_FINALIZE = 3,
};

#define RBWP_DEV_LANES_MAX (1u << 20) /* blocks x groups */
#define RBWP_DEV_EVENT_HEARTBEAT 1023u
#define RBWP_DEV_HEARTBEAT_TICKS 2000000000u
#define RBWP_DEV_V2_HEADER_BYTES 64u
#define RBWP_DEV_V2_ANCHOR_OFFSET 40u
#define RBWP_DEV_V2_GENERATION 0xff000000u /* of the header's flags, and of each record's place */

/* Columns of the event buffers, in the order of their addresses in the context. */
enum rbwp_dev_column {
    RBWP_DEV_COLUMN_EVENT_ID = 0, /* i32 as all others, but for the three i64 */
    RBWP_DEV_COLUMN_PID = 1,
    RBWP_DEV_COLUMN_PID_M = 2,
    RBWP_DEV_COLUMN_PID_N = 3,
    RBWP_DEV_COLUMN_CUR_RANK = 4,
    RBWP_DEV_COLUMN_TARGET_RANK = 5,
    RBWP_DEV_COLUMN_XCC_ID = 6,
    RBWP_DEV_COLUMN_CU_ID = 7,
    RBWP_DEV_COLUMN_START = 8,   /* i64, ticks */
    RBWP_DEV_COLUMN_ADDRESS = 9, /* i64 */
    RBWP_DEV_COLUMN_END = 10,    /* i64, ticks; 0: not ended */
    RBWP_DEV_COLUMN_OP_INDEX = 11,
    RBWP_DEV_COLUMN_PAYLOAD_BYTES = 12,
};
#define RBWP_DEV_COLUMNS 13u

enum rbwp_dev_event_id {
    RBWP_DEV_UNUSED = -1, /* no event: RBWP_DEV_EVENT_AHEAD */
    RBWP_DEV_LOAD = 0,
    RBWP_DEV_STORE = 1,
    RBWP_DEV_GET = 2,
    RBWP_DEV_PUT = 3,
    RBWP_DEV_COPY = 4,
    RBWP_DEV_ATOMIC_ADD = 5,
    RBWP_DEV_ATOMIC_SUB = 6,
    RBWP_DEV_ATOMIC_CAS = 7,
    RBWP_DEV_ATOMIC_XCHG = 8,
    RBWP_DEV_ATOMIC_XOR = 9,
    RBWP_DEV_ATOMIC_AND = 10,
    RBWP_DEV_ATOMIC_OR = 11,
    RBWP_DEV_ATOMIC_MIN = 12,
    RBWP_DEV_ATOMIC_MAX = 13,
    RBWP_DEV_FETCH = 1024,   /* from here on a program may have its own: data movement, */
    RBWP_DEV_COMPUTE = 2048, /* computing, */
    RBWP_DEV_REDUCE = 2049,
    RBWP_DEV_WAIT = 3072, /* and synchronisation */
    RBWP_DEV_BARRIER = 3073,
};

/* ---- the compiler that reads this ---------------------------------------------------- */

typedef unsigned long long rbwp_dev_u64;
#ifdef __UINTPTR_TYPE__
typedef __UINTPTR_TYPE__ rbwp_dev_pointer_bits;
#else
typedef unsigned long long rbwp_dev_pointer_bits;
#endif

#if defined(__HIP__) || defined(__HIPCC_RTC__) ||                                                  \
    (defined(__HIPCC__) && !defined(__NVCC__)) /* HIP over NVIDIA is nvcc's: CUDA */
#define RBWP_DEV_HIP_ 1
#elif defined(__CUDACC__) || defined(__CUDACC_RTC__) || defined(__CUDA__)
#define RBWP_DEV_CUDA_ 1
#endif

#if defined(RBWP_DEV_HIP_) && defined(__AMDGCN__)
#define RBWP_DEV_ON_AMD_ 1
#elif defined(RBWP_DEV_CUDA_) && defined(__CUDA_ARCH__)
#define RBWP_DEV_ON_NVIDIA_ 1
#endif

#if defined(__NVCC__) || defined(__CUDACC_RTC__)
#define RBWP_DEV_METHOD_ __device__ __forceinline__
#elif defined(RBWP_DEV_HIP_) ||                                                                    \
    defined(RBWP_DEV_CUDA_) /* clang, with or without an SDK's headers */
#define RBWP_DEV_METHOD_ __attribute__((device, always_inline)) inline
#else
#define RBWP_DEV_METHOD_ __attribute__((always_inline)) inline
#endif
#define RBWP_DEV_FN_ static RBWP_DEV_METHOD_

#if defined(RBWP_DEV_ON_AMD_) || defined(RBWP_DEV_ON_NVIDIA_)
#define RBWP_DEV_UNROLL_ _Pragma("unroll")
#else
#define RBWP_DEV_UNROLL_
#endif

/* ---- NVIDIA ----------------------------------------------------------------------------- */
#if defined(RBWP_DEV_ON_NVIDIA_)

/* Times are read where the source says so; what does not change may be read once. */
#define RBWP_DEV_TIME_(name, type, letter, mov)                                                    \
    RBWP_DEV_FN_ type rbwp_dev_##name##_(void)                                                     \
    {                                                                                              \
        type value;                                                                                \
        asm volatile(mov : "=" letter(value)::"memory");                                           \
        return value;                                                                              \
    }
RBWP_DEV_TIME_(time_low, unsigned, "r", "mov.u32 %0, %%globaltimer_lo;")
RBWP_DEV_TIME_(time, rbwp_dev_u64, "l", "mov.u64 %0, %%globaltimer;")
RBWP_DEV_TIME_(clock, rbwp_dev_u64, "l", "mov.u64 %0, %%clock64;")
#undef RBWP_DEV_TIME_

#define RBWP_DEV_SPECIAL_(name, register)                                                          \
    RBWP_DEV_FN_ unsigned rbwp_dev_##name##_(void)                                                 \
    {                                                                                              \
        unsigned value;                                                                            \
        asm("mov.u32 %0, %%" register ";" : "=r"(value));                                          \
        return value;                                                                              \
    }
RBWP_DEV_SPECIAL_(sm, "smid")
RBWP_DEV_SPECIAL_(lane, "laneid")
RBWP_DEV_SPECIAL_(block_x, "ctaid.x")
RBWP_DEV_SPECIAL_(block_y, "ctaid.y")
RBWP_DEV_SPECIAL_(block_z, "ctaid.z")
RBWP_DEV_SPECIAL_(grid_x, "nctaid.x")
RBWP_DEV_SPECIAL_(grid_y, "nctaid.y")
RBWP_DEV_SPECIAL_(thread_x, "tid.x")
RBWP_DEV_SPECIAL_(thread_y, "tid.y")
RBWP_DEV_SPECIAL_(thread_z, "tid.z")
RBWP_DEV_SPECIAL_(threads_x, "ntid.x")
RBWP_DEV_SPECIAL_(threads_y, "ntid.y")
#undef RBWP_DEV_SPECIAL_

#define RBWP_DEV_WARP_ 32u

RBWP_DEV_FN_ unsigned rbwp_dev_xcc_(void)
{
    return 0;
}
RBWP_DEV_FN_ unsigned rbwp_dev_cu_(void)
{
    return rbwp_dev_sm_();
}
RBWP_DEV_FN_ void rbwp_dev_compiler_fence_(void)
{
    asm volatile("" ::: "memory");
}
RBWP_DEV_FN_ void rbwp_dev_block_fence_(void)
{
    asm volatile("fence.acq_rel.cta;" ::: "memory");
}
RBWP_DEV_FN_ void rbwp_dev_settle_(void) {}
/* The same value, waited for here. 0 is added, of which ptxas does not know that it is: a mere copy
 * it would put elsewhere. */
RBWP_DEV_FN_ rbwp_dev_u64 rbwp_dev_arrived_(rbwp_dev_u64 value)
{
    rbwp_dev_u64 same;
    asm volatile("{ .reg .u32 z, a, b; mov.u32 z, %%laneid; shr.u32 z, z, 5; mov.b64 {a, b}, %1;"
                 " add.u32 a, a, z; mov.b64 %0, {a, b}; }"
                 : "=l"(same)
                 : "l"(value)
                 : "memory");
    return same;
}
/* The value is to be computed here, and not where it is wanted. */
RBWP_DEV_FN_ void rbwp_dev_here_(rbwp_dev_u64 *value)
{
    asm volatile("bar.warp.sync 0xffffffff;" : "+l"(*value)::"memory");
}
/* Buffers lie in global memory, whatever the caller's pointer says. */
RBWP_DEV_FN_ void rbwp_dev_store4_(rbwp_dev_u64 to, unsigned value)
{
    asm volatile("{ .reg .u64 p; cvta.to.global.u64 p, %0; st.global.u32 [p], %1; }" ::"l"(to),
                 "r"(value)
                 : "memory");
}
RBWP_DEV_FN_ void rbwp_dev_store8_(rbwp_dev_u64 to, rbwp_dev_u64 value)
{
    asm volatile("{ .reg .u64 p; cvta.to.global.u64 p, %0; st.global.u64 [p], %1; }" ::"l"(to),
                 "l"(value)
                 : "memory");
}
RBWP_DEV_FN_ void rbwp_dev_store16_(rbwp_dev_u64 to, rbwp_dev_u64 first, rbwp_dev_u64 second)
{
    asm volatile(
        "{ .reg .u64 p; cvta.to.global.u64 p, %0; st.global.v2.u64 [p], {%1, %2}; }" ::"l"(to),
        "l"(first), "l"(second)
        : "memory");
}
/* A store if `on` is not 0. By a predicate: behind a branch the compiler would put the loads, too,
 * that the store needs, and they would wait for what decides. */
RBWP_DEV_FN_ void rbwp_dev_store4_if_(rbwp_dev_u64 to, unsigned value, unsigned on)
{
    asm volatile("{ .reg .pred q; .reg .u64 p; setp.ne.u32 q, %2, 0; cvta.to.global.u64 p, %0;"
                 " @q st.global.u32 [p], %1; }" ::"l"(to),
                 "r"(value), "r"(on)
                 : "memory");
}
RBWP_DEV_FN_ void rbwp_dev_store8_if_(rbwp_dev_u64 to, rbwp_dev_u64 value, unsigned on)
{
    asm volatile("{ .reg .pred q; .reg .u64 p; setp.ne.u32 q, %2, 0; cvta.to.global.u64 p, %0;"
                 " @q st.global.u64 [p], %1; }" ::"l"(to),
                 "l"(value), "r"(on)
                 : "memory");
}
/* Puts a counter that has passed 2^31 back to that. */
RBWP_DEV_FN_ void rbwp_dev_hold4_(rbwp_dev_u64 to, unsigned counted)
{
    asm volatile("{ .reg .pred q; .reg .u64 p; setp.lt.s32 q, %1, 0; cvta.to.global.u64 p, %0;"
                 " @q st.global.u32 [p], 0x80000000; }" ::"l"(to),
                 "r"(counted)
                 : "memory");
}
RBWP_DEV_FN_ rbwp_dev_u64 rbwp_dev_load8_(rbwp_dev_u64 from)
{
    rbwp_dev_u64 value;
    asm volatile("{ .reg .u64 p; cvta.to.global.u64 p, %1; ld.global.nc.u64 %0, [p]; }"
                 : "=l"(value)
                 : "l"(from));
    return value;
}
RBWP_DEV_FN_ unsigned rbwp_dev_add4_(rbwp_dev_u64 to, unsigned value)
{
    unsigned old;
    asm volatile("{ .reg .u64 p; cvta.to.global.u64 p, %1; atom.global.add.u32 %0, [p], %2; }"
                 : "=r"(old)
                 : "l"(to), "r"(value)
                 : "memory");
    return old;
}
RBWP_DEV_FN_ rbwp_dev_u64 rbwp_dev_add8_(rbwp_dev_u64 to, rbwp_dev_u64 value)
{
    rbwp_dev_u64 old;
    asm volatile("{ .reg .u64 p; cvta.to.global.u64 p, %1; atom.global.add.u64 %0, [p], %2; }"
                 : "=l"(old)
                 : "l"(to), "l"(value)
                 : "memory");
    return old;
}
/* The halves of a word, if `on` is not 0; here and not earlier, since that is where it is waited
 * for. */
RBWP_DEV_FN_ void rbwp_dev_halves_if_(rbwp_dev_u64 word, unsigned on, unsigned *low, unsigned *high)
{
    asm volatile("{ .reg .pred q; .reg .u32 a, b; setp.ne.u32 q, %3, 0; mov.b64 {a, b}, %2;"
                 " @q mov.u32 %0, a; @q mov.u32 %1, b; }"
                 : "+r"(*low), "+r"(*high)
                 : "l"(word), "r"(on)
                 : "memory");
}
RBWP_DEV_FN_ void rbwp_dev_count4_(rbwp_dev_u64 to, unsigned value) /* an add nobody waits for */
{
    asm volatile("{ .reg .u64 p; cvta.to.global.u64 p, %0; red.global.add.u32 [p], %1; }" ::"l"(to),
                 "r"(value)
                 : "memory");
}
/* Makes a 0 there the value; gives what stands there then. */
RBWP_DEV_FN_ rbwp_dev_u64 rbwp_dev_first8_(rbwp_dev_u64 to, rbwp_dev_u64 value)
{
    rbwp_dev_u64 old;
    asm volatile("{ .reg .u64 p; cvta.to.global.u64 p, %1; atom.global.cas.b64 %0, [p], 0, %2; }"
                 : "=l"(old)
                 : "l"(to), "l"(value)
                 : "memory");
    return old ? old : value;
}
/* The value that the warp's first thread has. The whole warp calls. */
RBWP_DEV_FN_ unsigned rbwp_dev_of_first_(unsigned value)
{
    asm volatile("shfl.sync.idx.b32 %0, %0, 0, 31, 0xffffffff;" : "+r"(value));
    return value;
}

/* ---- AMD ---------------------------------------------------------------------------------- */
#elif defined(RBWP_DEV_ON_AMD_)

#define RBWP_DEV_WARP_ 64u
#define RBWP_DEV_GLOBAL_(type, address) ((__attribute__((address_space(1))) type *)(address))
/* Hardware registers: number, first bit, bits. */
#define RBWP_DEV_HARDWARE_(number, first, bits)                                                    \
    ((unsigned)__builtin_amdgcn_s_getreg((number) | (first) << 6 | ((bits)-1) << 11))

RBWP_DEV_FN_ void rbwp_dev_compiler_fence_(void)
{
    __asm__ volatile("" ::: "memory");
}
/* The release half alone: that the records stay where they are is the compiler's fence. */
RBWP_DEV_FN_ void rbwp_dev_block_fence_(void)
{
    __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "workgroup");
    rbwp_dev_compiler_fence_();
}
/* Events take their times after the memory accesses before them, as they do elsewhere on AMD. */
RBWP_DEV_FN_ void rbwp_dev_settle_(void)
{
#ifndef RBWP_DEV_EVENT_NO_WAIT
    __asm__ volatile("s_waitcnt vmcnt(0)" ::: "memory");
#endif
}
RBWP_DEV_FN_ rbwp_dev_u64 rbwp_dev_time_(void)
{
#if !defined(__GFX11__) && !defined(__GFX12__) /* which have no s_memrealtime */
    return __builtin_amdgcn_s_memrealtime();
#elif __has_builtin(__builtin_amdgcn_s_sendmsg_rtnl)
    return __builtin_amdgcn_s_sendmsg_rtnl(0x83);
#else
    rbwp_dev_u64 time;
    __asm__ volatile("s_sendmsg_rtn_b64 %0, sendmsg(131)\n\ts_waitcnt lgkmcnt(0)" : "=s"(time));
    return time;
#endif
}
RBWP_DEV_FN_ unsigned rbwp_dev_time_low_(void)
{
    return (unsigned)rbwp_dev_time_();
}
RBWP_DEV_FN_ rbwp_dev_u64 rbwp_dev_clock_(void)
{
    return __builtin_readcyclecounter();
}
RBWP_DEV_FN_ unsigned rbwp_dev_xcc_(void)
{
#if defined(__gfx940__) || defined(__gfx941__) || defined(__gfx942__) || defined(__gfx950__)
    return RBWP_DEV_HARDWARE_(20, 0, 16);
#else
    return 0;
#endif
}
/* The compute unit's 4 bits, and above them array and shader engine, without which units of several
 * engines would have one number. (Others record the 4 bits: RBWP_DEV_CU_BITS 4.) */
#ifndef RBWP_DEV_CU_BITS
#define RBWP_DEV_CU_BITS 8
#endif
RBWP_DEV_FN_ unsigned rbwp_dev_cu_(void)
{
#if defined(__GFX9__)
    return RBWP_DEV_HARDWARE_(4, 8, RBWP_DEV_CU_BITS); /* HW_ID */
#else
    return RBWP_DEV_HARDWARE_(23, 10, 4); /* HW_ID1: the work group processor */
#endif
}
RBWP_DEV_FN_ unsigned rbwp_dev_sm_(void)
{
    return rbwp_dev_xcc_() << 8 | rbwp_dev_cu_();
}
RBWP_DEV_FN_ unsigned rbwp_dev_lane_(void)
{
    return __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0u));
}
#define RBWP_DEV_SPECIAL_(name, value)                                                             \
    RBWP_DEV_FN_ unsigned rbwp_dev_##name##_(void)                                                 \
    {                                                                                              \
        return (unsigned)(value);                                                                  \
    }
RBWP_DEV_SPECIAL_(block_x, __builtin_amdgcn_workgroup_id_x())
RBWP_DEV_SPECIAL_(block_y, __builtin_amdgcn_workgroup_id_y())
RBWP_DEV_SPECIAL_(block_z, __builtin_amdgcn_workgroup_id_z())
RBWP_DEV_SPECIAL_(threads_x, __builtin_amdgcn_workgroup_size_x())
RBWP_DEV_SPECIAL_(threads_y, __builtin_amdgcn_workgroup_size_y())
RBWP_DEV_SPECIAL_(grid_x, __builtin_amdgcn_grid_size_x() / __builtin_amdgcn_workgroup_size_x())
RBWP_DEV_SPECIAL_(grid_y, __builtin_amdgcn_grid_size_y() / __builtin_amdgcn_workgroup_size_y())
RBWP_DEV_SPECIAL_(thread_x, __builtin_amdgcn_workitem_id_x())
RBWP_DEV_SPECIAL_(thread_y, __builtin_amdgcn_workitem_id_y())
RBWP_DEV_SPECIAL_(thread_z, __builtin_amdgcn_workitem_id_z())
#undef RBWP_DEV_SPECIAL_

/* Buffers lie in global memory, whatever the caller's pointer says. */
RBWP_DEV_FN_ void rbwp_dev_store4_(rbwp_dev_u64 to, unsigned value)
{
    *RBWP_DEV_GLOBAL_(volatile unsigned, to) = value;
}
RBWP_DEV_FN_ void rbwp_dev_store8_(rbwp_dev_u64 to, rbwp_dev_u64 value)
{
    *RBWP_DEV_GLOBAL_(volatile rbwp_dev_u64, to) = value;
}
RBWP_DEV_FN_ void rbwp_dev_store16_(rbwp_dev_u64 to, rbwp_dev_u64 first, rbwp_dev_u64 second)
{
    typedef rbwp_dev_u64 pair __attribute__((ext_vector_type(2)));
    *RBWP_DEV_GLOBAL_(volatile pair, to) = (pair){first, second};
}
RBWP_DEV_FN_ rbwp_dev_u64 rbwp_dev_load8_(rbwp_dev_u64 from)
{
    return *RBWP_DEV_GLOBAL_(const volatile rbwp_dev_u64, from);
}
#if __has_builtin(__hip_atomic_fetch_add)
#define RBWP_DEV_ATOMIC_(what, to, value)                                                          \
    __hip_atomic_fetch_##what(to, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT)
#else /* of the whole system, then */
#define RBWP_DEV_ATOMIC_(what, to, value) __atomic_fetch_##what(to, value, __ATOMIC_RELAXED)
#endif
RBWP_DEV_FN_ unsigned rbwp_dev_add4_(rbwp_dev_u64 to, unsigned value)
{
    return RBWP_DEV_ATOMIC_(add, RBWP_DEV_GLOBAL_(unsigned, to), value);
}
RBWP_DEV_FN_ rbwp_dev_u64 rbwp_dev_add8_(rbwp_dev_u64 to, rbwp_dev_u64 value)
{
    return RBWP_DEV_ATOMIC_(add, RBWP_DEV_GLOBAL_(rbwp_dev_u64, to), value);
}
RBWP_DEV_FN_ void rbwp_dev_count4_(rbwp_dev_u64 to, unsigned value) /* an add nobody waits for */
{
    (void)RBWP_DEV_ATOMIC_(add, RBWP_DEV_GLOBAL_(unsigned, to), value);
}
/* Makes a 0 there the value; gives what stands there then. */
RBWP_DEV_FN_ rbwp_dev_u64 rbwp_dev_first8_(rbwp_dev_u64 to, rbwp_dev_u64 value)
{
    rbwp_dev_u64 old = 0;
    (void)__atomic_compare_exchange_n(RBWP_DEV_GLOBAL_(rbwp_dev_u64, to), &old, value, 0,
                                      __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    return old ? old : value;
}
/* The value that the wave's first thread has. The whole wave calls. */
RBWP_DEV_FN_ unsigned rbwp_dev_of_first_(unsigned value)
{
    return (unsigned)__builtin_amdgcn_readfirstlane((int)value);
}

/* ---- the host: threads and a clock are emulated -------------------------------------------- */
#else

/* What the calling thread is on the device that it plays. A test sets it before its calls; each
 * reading of a clock moves it on by step first. */
struct rbwp_dev_emulated {
    unsigned block[3], blocks[3];   /* its place in the grid, and the grid; 0 blocks count as 1 */
    unsigned thread[3], threads[3]; /* in its block */
    unsigned sm, xcc;
    rbwp_dev_u64 time, clock, step;
};

#if defined(RBWP_DEV_HIP_) || defined(RBWP_DEV_CUDA_)
/* The host's half of a kernel's source: it has to compile, and nothing of it is ever called. */
RBWP_DEV_FN_ struct rbwp_dev_emulated *rbwp_dev_nowhere_(void)
{
    return (struct rbwp_dev_emulated *)0;
}
#define rbwp_dev_emulated (*rbwp_dev_nowhere_())
#define RBWP_DEV_ADD_(to, value) (*(to) += (value))
#else
#ifdef __cplusplus
static thread_local
#else
static _Thread_local
#endif
    struct rbwp_dev_emulated rbwp_dev_emulated __attribute__((unused));
#define RBWP_DEV_ADD_(to, value) __atomic_fetch_add(to, value, __ATOMIC_RELAXED)
#endif

#define RBWP_DEV_WARP_ 32u
#define RBWP_DEV_SPECIAL_(name, type, value)                                                       \
    RBWP_DEV_FN_ type rbwp_dev_##name##_(void)                                                     \
    {                                                                                              \
        return (value);                                                                            \
    }
RBWP_DEV_SPECIAL_(time, rbwp_dev_u64, rbwp_dev_emulated.time += rbwp_dev_emulated.step)
RBWP_DEV_SPECIAL_(time_low, unsigned, (unsigned)rbwp_dev_time_())
RBWP_DEV_SPECIAL_(clock, rbwp_dev_u64, rbwp_dev_emulated.clock += rbwp_dev_emulated.step)
RBWP_DEV_SPECIAL_(sm, unsigned, rbwp_dev_emulated.sm)
RBWP_DEV_SPECIAL_(xcc, unsigned, rbwp_dev_emulated.xcc)
RBWP_DEV_SPECIAL_(cu, unsigned, rbwp_dev_emulated.sm)
RBWP_DEV_SPECIAL_(lane, unsigned, 0)
RBWP_DEV_SPECIAL_(block_x, unsigned, rbwp_dev_emulated.block[0])
RBWP_DEV_SPECIAL_(block_y, unsigned, rbwp_dev_emulated.block[1])
RBWP_DEV_SPECIAL_(block_z, unsigned, rbwp_dev_emulated.block[2])
RBWP_DEV_SPECIAL_(grid_x, unsigned, rbwp_dev_emulated.blocks[0] + !rbwp_dev_emulated.blocks[0])
RBWP_DEV_SPECIAL_(grid_y, unsigned, rbwp_dev_emulated.blocks[1] + !rbwp_dev_emulated.blocks[1])
RBWP_DEV_SPECIAL_(thread_x, unsigned, rbwp_dev_emulated.thread[0])
RBWP_DEV_SPECIAL_(thread_y, unsigned, rbwp_dev_emulated.thread[1])
RBWP_DEV_SPECIAL_(thread_z, unsigned, rbwp_dev_emulated.thread[2])
RBWP_DEV_SPECIAL_(threads_x, unsigned, rbwp_dev_emulated.threads[0])
RBWP_DEV_SPECIAL_(threads_y, unsigned, rbwp_dev_emulated.threads[1])
#undef RBWP_DEV_SPECIAL_

RBWP_DEV_FN_ void rbwp_dev_compiler_fence_(void)
{
    __asm__ volatile("" ::: "memory");
}
RBWP_DEV_FN_ void rbwp_dev_block_fence_(void)
{
    rbwp_dev_compiler_fence_();
}
RBWP_DEV_FN_ void rbwp_dev_settle_(void) {}
RBWP_DEV_FN_ void rbwp_dev_store4_(rbwp_dev_u64 to, unsigned value)
{
    *(volatile unsigned *)(rbwp_dev_pointer_bits)to = value;
}
RBWP_DEV_FN_ void rbwp_dev_store8_(rbwp_dev_u64 to, rbwp_dev_u64 value)
{
    *(volatile rbwp_dev_u64 *)(rbwp_dev_pointer_bits)to = value;
}
RBWP_DEV_FN_ void rbwp_dev_store16_(rbwp_dev_u64 to, rbwp_dev_u64 first, rbwp_dev_u64 second)
{
    rbwp_dev_store8_(to, first);
    rbwp_dev_store8_(to + 8, second);
}
RBWP_DEV_FN_ rbwp_dev_u64 rbwp_dev_load8_(rbwp_dev_u64 from)
{
    return *(const volatile rbwp_dev_u64 *)(rbwp_dev_pointer_bits)from;
}
RBWP_DEV_FN_ unsigned rbwp_dev_add4_(rbwp_dev_u64 to, unsigned value)
{
    return RBWP_DEV_ADD_((unsigned *)(rbwp_dev_pointer_bits)to, value);
}
RBWP_DEV_FN_ rbwp_dev_u64 rbwp_dev_add8_(rbwp_dev_u64 to, rbwp_dev_u64 value)
{
    return RBWP_DEV_ADD_((rbwp_dev_u64 *)(rbwp_dev_pointer_bits)to, value);
}
RBWP_DEV_FN_ void rbwp_dev_count4_(rbwp_dev_u64 to, unsigned value)
{
    (void)rbwp_dev_add4_(to, value);
}
RBWP_DEV_FN_ rbwp_dev_u64 rbwp_dev_first8_(rbwp_dev_u64 to, rbwp_dev_u64 value)
{
    volatile rbwp_dev_u64 *word = (volatile rbwp_dev_u64 *)(rbwp_dev_pointer_bits)to;
    if (!*word)
        *word = value;
    return *word;
}
RBWP_DEV_FN_ unsigned rbwp_dev_of_first_(unsigned value)
{
    return value;
}
#endif

#ifndef RBWP_DEV_ON_NVIDIA_
RBWP_DEV_FN_ rbwp_dev_u64 rbwp_dev_arrived_(rbwp_dev_u64 value)
{
    return value;
}
RBWP_DEV_FN_ void rbwp_dev_here_(rbwp_dev_u64 *value)
{
    (void)value;
}
RBWP_DEV_FN_ void rbwp_dev_halves_if_(rbwp_dev_u64 word, unsigned on, unsigned *low, unsigned *high)
{
    if (on) {
        *low = (unsigned)word;
        *high = (unsigned)(word >> 32);
    }
}
RBWP_DEV_FN_ void rbwp_dev_store4_if_(rbwp_dev_u64 to, unsigned value, unsigned on)
{
    if (on)
        rbwp_dev_store4_(to, value);
}
RBWP_DEV_FN_ void rbwp_dev_store8_if_(rbwp_dev_u64 to, rbwp_dev_u64 value, unsigned on)
{
    if (on)
        rbwp_dev_store8_(to, value);
}
RBWP_DEV_FN_ void rbwp_dev_hold4_(rbwp_dev_u64 to, unsigned counted)
{
    rbwp_dev_store4_if_(to, 1u << 31, counted >> 31);
}
#endif
RBWP_DEV_FN_ unsigned rbwp_dev_block_(void)
{
    return (rbwp_dev_block_z_() * rbwp_dev_grid_y_() + rbwp_dev_block_y_()) * rbwp_dev_grid_x_() +
           rbwp_dev_block_x_();
}
RBWP_DEV_FN_ unsigned rbwp_dev_warp_(void) /* of the block */
{
    const unsigned row = rbwp_dev_thread_z_() * rbwp_dev_threads_y_() + rbwp_dev_thread_y_();
    return (row * rbwp_dev_threads_x_() + rbwp_dev_thread_x_()) / RBWP_DEV_WARP_;
}
RBWP_DEV_FN_ void rbwp_dev_fence_(void)
{
#if RBWP_DEV_FENCE
    rbwp_dev_block_fence_();
#else
    rbwp_dev_compiler_fence_();
#endif
}
RBWP_DEV_FN_ rbwp_dev_u64 rbwp_dev_address_(const void *pointer)
{
    return (rbwp_dev_u64)(rbwp_dev_pointer_bits)pointer;
}

/* ---- lanes ------------------------------------------------------------------------------------
 */

/*
 * A lane is what one thread, the leader, records for its group of a block. Each thread of the group
 * has such a struct and makes all calls, so that the fences are everyone's; the leader alone
 * writes.
 */
struct rbwp_dev_lanes {
    rbwp_dev_u64 next;  /* address of the next record; 0: off, not the leader, or finalized */
    rbwp_dev_u64 drops; /* address of the lane's counter, or 0 */
    rbwp_dev_u64 last;  /* HEARTBEAT: time of the last record */
    unsigned stride;    /* records from one of the lane to its next */
    unsigned left;      /* records that fit, the last one not counted */
    unsigned dropped;
    unsigned tag;   /* of the lane */
    unsigned place; /* V2: SM, warp, and the buffer's generation */
    unsigned kind;
};

RBWP_DEV_FN_ unsigned rbwp_dev_record_bytes_(unsigned kind)
{
    return (kind & (RBWP_DEV_V2 | RBWP_DEV_SHORT)) == RBWP_DEV_V2 ? 16 : 8;
}

RBWP_DEV_FN_ rbwp_dev_u64 rbwp_dev_lanes_time_(const struct rbwp_dev_lanes *p)
{
    if (p->kind & RBWP_DEV_CLOCK)
        return rbwp_dev_clock_();
    if (rbwp_dev_record_bytes_(p->kind) == 16 || (p->kind & RBWP_DEV_HEARTBEAT))
        return rbwp_dev_time_();
    return rbwp_dev_time_low_();
}

/* Stores a record and moves on. A record is never all 0, which is an empty slot: the one that would
 * be (event 0 of lane 0 begins at time 0) is a tick late. */
RBWP_DEV_FN_ void rbwp_dev_lanes_put_(struct rbwp_dev_lanes *p, rbwp_dev_u64 time, unsigned low,
                                      unsigned high)
{
    const unsigned bytes = rbwp_dev_record_bytes_(p->kind);
    const unsigned tag = p->tag | low;
    if (bytes == 16) {
        rbwp_dev_store16_(p->next, time ? time : 1, (rbwp_dev_u64)high << 32 | tag);
    } else {
        const unsigned word = (unsigned)time;
        rbwp_dev_store8_(p->next, (rbwp_dev_u64)(!low && !word ? 1 : word) << 32 | tag);
    }
    p->next += (rbwp_dev_u64)p->stride * bytes;
}

/* Fills a long silence, so that no record is further from the one before it than 32 bits can say.
 */
RBWP_DEV_FN_ void rbwp_dev_lanes_fill_(struct rbwp_dev_lanes *p, rbwp_dev_u64 time)
{
    while (time - p->last > RBWP_DEV_HEARTBEAT_TICKS && p->left) {
        p->last += RBWP_DEV_HEARTBEAT_TICKS;
        p->left--;
        rbwp_dev_lanes_put_(p, p->last, RBWP_DEV_EVENT_HEARTBEAT << 2 | RBWP_DEV_INSTANT, p->place);
    }
}

#ifdef RBWP_DEV_ON_NVIDIA_
/* A record where that is simple: all of it hangs on one predicate, and there is no branch in which
 * the other threads of the warp would have to wait for the leader. Does what the rest of
 * rbwp_dev_lanes_record_ does. False: it is not simple. */
RBWP_DEV_FN_ int rbwp_dev_lanes_record_at_once_(struct rbwp_dev_lanes *p, unsigned low)
{
    if (p->kind & (RBWP_DEV_HEARTBEAT | RBWP_DEV_CLOCK))
        return 0;
    if (rbwp_dev_record_bytes_(p->kind) == 8)
        asm volatile(
            "{ .reg .pred q; .reg .u64 a, v; .reg .u32 t;"
            " setp.ne.u32 q, %1, 0; cvta.to.global.u64 a, %0;"
            " @q mov.u32 t, %%globaltimer_lo; max.u32 t, t, %5;"
            " mov.b64 v, {%3, t}; @q st.global.u64 [a], v;"
            " @q sub.u32 %1, %1, 1; @q mad.wide.u32 %0, %4, 8, %0; @!q add.u32 %2, %2, 1; }"
            : "+l"(p->next), "+r"(p->left), "+r"(p->dropped)
            : "r"(p->tag | low), "r"(p->stride), "r"((unsigned)!low)
            : "memory");
    else
        asm volatile(
            "{ .reg .pred q; .reg .u64 a, t, v;"
            " setp.ne.u32 q, %1, 0; cvta.to.global.u64 a, %0; mov.b64 v, {%3, %5};"
            " @q mov.u64 t, %%globaltimer; @q st.global.v2.u64 [a], {t, v};"
            " @q sub.u32 %1, %1, 1; @q mad.wide.u32 %0, %4, 16, %0; @!q add.u32 %2, %2, 1; }"
            : "+l"(p->next), "+r"(p->left), "+r"(p->dropped)
            : "r"(p->tag | low), "r"(p->stride), "r"(p->place)
            : "memory");
    return 1;
}
#endif

RBWP_DEV_FN_ void rbwp_dev_lanes_record_(struct rbwp_dev_lanes *p, unsigned low)
{
#ifdef RBWP_DEV_ON_NVIDIA_
    if (rbwp_dev_lanes_record_at_once_(p, low))
        return;
#endif
    if (!p->left) {
        p->dropped++;
        return;
    }
    const rbwp_dev_u64 time = rbwp_dev_lanes_time_(p);
    if (p->kind & RBWP_DEV_HEARTBEAT) {
        rbwp_dev_lanes_fill_(p, time);
        p->last = time;
        if (!p->left) {
            p->dropped++;
            return;
        }
    }
    p->left--;
    rbwp_dev_lanes_put_(p, time, low, p->place);
}

/* V2: the header's generation, where records have it: bits 24 to 31. */
RBWP_DEV_FN_ unsigned rbwp_dev_generation_(rbwp_dev_u64 base)
{
    return (unsigned)(rbwp_dev_load8_(base + 8) >> 32) & RBWP_DEV_V2_GENERATION;
}

/*
 * Begins a lane: of the calling block, and of a group in it. kind: enum rbwp_dev_kind.
 *
 * buffer: aligned to a record; NULL: off. stride: records from one of a lane to its next, at least
 * num_blocks * num_groups, which 0 stands for; max_records: of a lane, the finalize record
 * included. So version 1 wants 8 * (1 + stride * max_records) bytes of zeros, version 2
 * 64 + 16 * stride * max_records with the header filled, and zeros unless the header has another
 * generation than what lies there. leader: true in one thread of the group.
 *
 * A lane that the arguments have no room for (block or group out of range, more than
 * RBWP_DEV_LANES_MAX lanes, too small a stride) writes nothing.
 */
RBWP_DEV_FN_ void rbwp_dev_lanes_init(struct rbwp_dev_lanes *p, unsigned kind, void *buffer,
                                      unsigned stride, unsigned group, unsigned num_groups,
                                      unsigned num_blocks, int leader, unsigned max_records)
{
    const rbwp_dev_u64 base = rbwp_dev_address_(buffer);
    const rbwp_dev_u64 lanes = (rbwp_dev_u64)num_groups * num_blocks;
    const unsigned block = rbwp_dev_block_();
    const unsigned bytes = rbwp_dev_record_bytes_(kind);
    const unsigned lane = block * num_groups + group;
    const unsigned between = stride ? stride : (unsigned)lanes;

    p->next = p->drops = p->last = 0;
    p->stride = between;
    p->left = p->dropped = 0;
    p->tag = lane << 12;
    p->place = 0;
    p->kind = kind;
    if (!base || base & (bytes - 1) || !leader || !max_records || group >= num_groups ||
        block >= num_blocks || lanes > RBWP_DEV_LANES_MAX || between < lanes)
        return;
    p->left = max_records - 1;
    if (kind & RBWP_DEV_V2) {
        p->place = (rbwp_dev_sm_() & 0xffff) | (rbwp_dev_warp_() & 0xff) << 16 |
                   rbwp_dev_generation_(base);
        p->next = base + RBWP_DEV_V2_HEADER_BYTES + (rbwp_dev_u64)lane * bytes;
        p->last = rbwp_dev_first8_(base + RBWP_DEV_V2_ANCHOR_OFFSET, rbwp_dev_time_());
        return;
    }
    if (kind & RBWP_DEV_HEARTBEAT)
        p->last = rbwp_dev_time_();
    p->next = base + 8 + (rbwp_dev_u64)lane * bytes;
    rbwp_dev_store8_(base, (rbwp_dev_u64)num_groups << 32 | num_blocks); /* all write the same */
}

/* Options of a lane of version 1, after init: where the leader leaves what its lane dropped
 * (drops: one u32 for each lane), and the time in full at which the first lane began (anchor: a
 * u64 that is 0 before the launch), from which HEARTBEAT counts then. NULL: neither. */
RBWP_DEV_FN_ void rbwp_dev_lanes_drops(struct rbwp_dev_lanes *p, void *drops)
{
    if (p->next && drops)
        p->drops = rbwp_dev_address_(drops) + (rbwp_dev_u64)(p->tag >> 12) * 4;
}
RBWP_DEV_FN_ void rbwp_dev_lanes_anchor(struct rbwp_dev_lanes *p, void *anchor)
{
    if (p->next && anchor)
        p->last = rbwp_dev_first8_(rbwp_dev_address_(anchor), rbwp_dev_time_());
}

/* event: 0 to 1023. Of spans of one event in one lane the last begun ends first. */
RBWP_DEV_FN_ void rbwp_dev_lanes_begin(struct rbwp_dev_lanes *p, unsigned event)
{
    rbwp_dev_lanes_record_(p, (event & 1023) << 2 | RBWP_DEV_BEGIN);
    rbwp_dev_fence_();
}
RBWP_DEV_FN_ void rbwp_dev_lanes_end(struct rbwp_dev_lanes *p, unsigned event)
{
    rbwp_dev_fence_();
    rbwp_dev_lanes_record_(p, (event & 1023) << 2 | RBWP_DEV_END);
}
RBWP_DEV_FN_ void rbwp_dev_lanes_instant(struct rbwp_dev_lanes *p, unsigned event)
{
    rbwp_dev_fence_();
    rbwp_dev_lanes_record_(p, (event & 1023) << 2 | RBWP_DEV_INSTANT);
    rbwp_dev_fence_();
}

/* HEARTBEAT: shows that the lane lives, if its last record is long ago. For a lane that is silent
 * for long and watched while it runs; its next record fills the gap by itself. */
RBWP_DEV_FN_ void rbwp_dev_lanes_heartbeat(struct rbwp_dev_lanes *p)
{
    if (p->left && (p->kind & RBWP_DEV_HEARTBEAT))
        rbwp_dev_lanes_fill_(p, rbwp_dev_lanes_time_(p));
}

/* What V2's finalize record has beside the time: the drops, up to 2^24 - 1 with a generation. */
RBWP_DEV_FN_ unsigned rbwp_dev_lanes_dropped_(const struct rbwp_dev_lanes *p)
{
    const unsigned generation = p->place & RBWP_DEV_V2_GENERATION;
    if (!generation)
        return p->dropped;
    return generation |
           (p->dropped > ~RBWP_DEV_V2_GENERATION ? ~RBWP_DEV_V2_GENERATION : p->dropped);
}

/* The lane's last record, whose slot is kept for it. What is called later is dropped. */
RBWP_DEV_FN_ void rbwp_dev_lanes_finalize(struct rbwp_dev_lanes *p)
{
    rbwp_dev_fence_();
    if (!p->next)
        return;
    const rbwp_dev_u64 time = rbwp_dev_lanes_time_(p);
    if (p->kind & RBWP_DEV_HEARTBEAT)
        rbwp_dev_lanes_fill_(p, time);
    unsigned low = RBWP_DEV_FINALIZE;
    if (p->kind & RBWP_DEV_DROPS_IN_TAG)
        low |= (p->dropped < 1023 ? p->dropped : 1023) << 2;
    rbwp_dev_lanes_put_(p, time, low, rbwp_dev_lanes_dropped_(p));
    if (p->drops)
        rbwp_dev_store4_(p->drops, p->dropped);
    p->next = 0;
    p->left = 0;
}

/* ---- events ------------------------------------------------------------------------------------
 */

#if RBWP_DEV_EVENT_WARP && (defined(RBWP_DEV_ON_NVIDIA_) || defined(RBWP_DEV_ON_AMD_))
#define RBWP_DEV_BY_WARP_ 1
#endif

#if RBWP_DEV_EVENT_ONCE && defined(RBWP_DEV_ON_NVIDIA_) && RBWP_DEV_EVENT_COUNTERS == 1 &&         \
    !RBWP_DEV_EVENT_WARP && !RBWP_DEV_EVENT_KEEP && !RBWP_DEV_EVENT_AHEAD
#define RBWP_DEV_AT_ONCE_ 1
#endif

struct rbwp_dev_events {
    rbwp_dev_u64 context; /* address; 0: none */
    rbwp_dev_u64 columns; /* where the context has the addresses of the columns */
    rbwp_dev_u64 counter, ops;
    rbwp_dev_u64 ends; /* address of the column of ends */
#if RBWP_DEV_EVENT_KEEP
    rbwp_dev_u64 column[RBWP_DEV_COLUMNS];
#endif
    unsigned max_events; /* 0: off, or not the leader */
    unsigned rank, num_ranks;
    rbwp_dev_u64 both;  /* what counts both counters, where they are the halves of a word; else 0 */
    unsigned asked_for; /* EVENT_COUNTERS 4: slots so far */
    unsigned next;      /* AHEAD: slot of the next event; may be under way */
};

/* An event between open and close. */
struct rbwp_dev_event {
#ifdef RBWP_DEV_BY_WARP_
    rbwp_dev_u64 known;
#endif
    rbwp_dev_u64 asked; /* both counters as they were, if they are one word; may be under way */
    unsigned slot, op, id, target_rank, pid_m, pid_n, payload_bytes;
    unsigned pid, xcc, cu;
    rbwp_dev_u64 address, start;
};

/* Element i of the context, an array of 64-bit numbers. */
RBWP_DEV_FN_ rbwp_dev_u64 rbwp_dev_context_(const struct rbwp_dev_events *p, unsigned i)
{
    return rbwp_dev_load8_(p->context + (rbwp_dev_u64)i * 8);
}

/* The addresses of the columns: thread i of a warp that writes together has that of column i. */
RBWP_DEV_FN_ void rbwp_dev_columns_(rbwp_dev_u64 columns, rbwp_dev_u64 *column)
{
#ifdef RBWP_DEV_BY_WARP_
    const unsigned lane = rbwp_dev_lane_();
    column[0] = rbwp_dev_load8_(columns + (lane < RBWP_DEV_COLUMNS ? lane : 0) * 8);
#else
    RBWP_DEV_UNROLL_
    for (unsigned i = 0; i < RBWP_DEV_COLUMNS; i++)
        column[i] = rbwp_dev_load8_(columns + i * 8);
#endif
}

/* Adds 1 to both counters. What they were, slot and number, is not waited for here; so what one way
 * gives is not put where the other's is. */
RBWP_DEV_FN_ unsigned rbwp_dev_events_count_(const struct rbwp_dev_events *p,
                                             struct rbwp_dev_event *e)
{
#if RBWP_DEV_EVENT_COUNTERS == 1
    if ((unsigned)p->both) {
        e->asked = rbwp_dev_add8_(p->counter, p->both);
        return 1;
    }
#endif
    if (!p->max_events)
        return 0;
    e->slot = rbwp_dev_add4_(p->counter, 1);
#if RBWP_DEV_EVENT_COUNTERS == 3
    rbwp_dev_count4_(p->ops, 1);
#elif RBWP_DEV_EVENT_COUNTERS != 4
    e->op = rbwp_dev_add4_(p->ops, 1);
#endif
    return 1;
}

/* AHEAD: asks for the slot of the event that comes next. */
RBWP_DEV_FN_ void rbwp_dev_events_ask_next_(struct rbwp_dev_events *p)
{
#if RBWP_DEV_EVENT_AHEAD
    p->asked_for++;
#ifdef RBWP_DEV_BY_WARP_
    if (rbwp_dev_lane_() == 0)
#endif
        p->next = rbwp_dev_add4_(p->counter, 1);
#else
    (void)p;
#endif
}

/*
 * Decodes a context (19 + N numbers for N ranks; 3 + N will do where its flag is 0). leader: true
 * in the one thread, or warp (RBWP_DEV_EVENT_WARP), of the block that has events. A context of
 * NULL, whose flag is 0, or which has no room for an event, is off.
 */
RBWP_DEV_FN_ void rbwp_dev_events_init(struct rbwp_dev_events *p, const void *context, int leader)
{
    p->context = rbwp_dev_address_(context);
    p->columns = p->counter = p->ops = p->ends = 0;
    p->max_events = p->rank = p->num_ranks = 0;
    p->both = p->asked_for = p->next = 0;
    if (!context)
        return;
    p->rank = (unsigned)rbwp_dev_arrived_(rbwp_dev_context_(p, 0));
    p->num_ranks = (unsigned)rbwp_dev_context_(p, 1);
    if (!leader || p->num_ranks >> 24 || !rbwp_dev_context_(p, 2 + p->num_ranks))
        return;
    const rbwp_dev_u64 max_events = rbwp_dev_context_(p, 3 + p->num_ranks);
    p->counter = rbwp_dev_context_(p, 4 + p->num_ranks);
    p->ops = rbwp_dev_context_(p, 5 + p->num_ranks);
    p->columns = p->context + (rbwp_dev_u64)(6 + p->num_ranks) * 8;
    /* In one condition: of a word that a branch leaves unread, ptxas has each event wait again. */
    if (!p->counter | !p->ops | (max_events >> 63 != 0))
        return;
    p->max_events = max_events < 0x7fffffff ? (unsigned)max_events : 0x7fffffff;
    if (p->max_events && !(p->counter & 7) && p->ops == p->counter + 4)
        p->both = 1ull << 32 | 1;
    if (p->max_events)
        p->ends = rbwp_dev_arrived_(rbwp_dev_load8_(p->columns + RBWP_DEV_COLUMN_END * 8));
#if RBWP_DEV_EVENT_KEEP
    if (p->max_events)
        rbwp_dev_columns_(p->columns, p->column);
#endif
    if (p->max_events)
        rbwp_dev_events_ask_next_(p);
}

/* Where the memory of a rank begins that the ranks share; 0 if there is no such rank. */
RBWP_DEV_FN_ rbwp_dev_u64 rbwp_dev_events_heap(const struct rbwp_dev_events *p, unsigned rank)
{
    return p->context && rank < p->num_ranks ? rbwp_dev_context_(p, 2 + rank) : 0;
}

/* Bytes that a block moves: of the elements whose bits are set in the mask. */
RBWP_DEV_FN_ unsigned rbwp_dev_payload_bytes(rbwp_dev_u64 mask, unsigned element_bits)
{
    unsigned elements = 0;
    for (; mask; mask &= mask - 1)
        elements++;
    return (elements * element_bits + 7) / 8;
}

/* Asks for a slot, and says while that is under way where the event happens. */
RBWP_DEV_FN_ unsigned rbwp_dev_events_ask_(struct rbwp_dev_events *p, struct rbwp_dev_event *e)
{
    e->asked = 0;
    e->slot = e->op = 0;
#if RBWP_DEV_EVENT_AHEAD
    if (!p->max_events)
        return 0;
    e->slot = (unsigned)rbwp_dev_arrived_(p->next);
#elif defined(RBWP_DEV_BY_WARP_)
    if (!p->max_events)
        return 0;
    p->asked_for++;
    if (rbwp_dev_lane_() == 0)
        rbwp_dev_events_count_(p, e);
#else
    if (!rbwp_dev_events_count_(p, e))
        return 0;
    p->asked_for++;
#endif
    e->pid = rbwp_dev_block_x_();
    e->xcc = rbwp_dev_xcc_();
    e->cu = rbwp_dev_cu_();
    return 1;
}

/* Takes the slot and the number that were asked for. */
RBWP_DEV_FN_ void rbwp_dev_events_take_(const struct rbwp_dev_events *p, struct rbwp_dev_event *e)
{
    const unsigned one_word = RBWP_DEV_EVENT_COUNTERS == 1 && p->both != 0;
    rbwp_dev_halves_if_(e->asked, one_word, &e->slot, &e->op);
#ifdef RBWP_DEV_BY_WARP_
    e->slot = rbwp_dev_of_first_(e->slot);
    e->op = rbwp_dev_of_first_(e->op);
#endif
#if RBWP_DEV_EVENT_COUNTERS >= 3
    e->op = e->slot;
#endif
}

/*
 * Both counters are the host's, a u32 each; where they lie side by side one 64-bit add counts both,
 * each in its own half: no carry goes from one to the other, since counting stops at 2^31, beyond
 * which max_events never is. What went further is taken back here, so that no number of events
 * makes them wrap.
 */
RBWP_DEV_FN_ void rbwp_dev_events_hold_(const struct rbwp_dev_events *p,
                                        const struct rbwp_dev_event *e)
{
    rbwp_dev_hold4_(p->counter, e->slot);
    rbwp_dev_hold4_(p->ops, e->op);
}

/* What stands in a column of the event. Selects, no branches: the column may be the thread's. */
RBWP_DEV_FN_ rbwp_dev_u64 rbwp_dev_event_value_(const struct rbwp_dev_events *p,
                                                const struct rbwp_dev_event *e, unsigned column,
                                                rbwp_dev_u64 end)
{
    const unsigned first =
        column & 2 ? (column & 1 ? e->pid_n : e->pid_m) : (column & 1 ? e->pid : e->id);
    const unsigned second =
        column & 2 ? (column & 1 ? e->cu : e->xcc) : (column & 1 ? e->target_rank : p->rank);
    const rbwp_dev_u64 third =
        column & 2 ? (column & 1 ? e->op : end) : (column & 1 ? e->address : e->start);
    return column & 8 ? (column & 4 ? e->payload_bytes : third) : (column & 4 ? second : first);
}

RBWP_DEV_FN_ void rbwp_dev_event_put_(const struct rbwp_dev_events *p,
                                      const struct rbwp_dev_event *e, unsigned column,
                                      rbwp_dev_u64 address, rbwp_dev_u64 end, unsigned on)
{
    const unsigned wide = column >= RBWP_DEV_COLUMN_START && column <= RBWP_DEV_COLUMN_END;
#ifdef RBWP_DEV_BY_WARP_ /* where threads differ in it: no branch */
    rbwp_dev_u64 value = e->known;
    value = column == RBWP_DEV_COLUMN_OP_INDEX ? e->op : value;
    value = column == RBWP_DEV_COLUMN_START ? e->start : value;
    const rbwp_dev_u64 to = address + (rbwp_dev_u64)e->slot * (wide ? 8u : 4u);
    rbwp_dev_store8_if_(to, value, on & wide);
    rbwp_dev_store4_if_(to, (unsigned)value, on & !wide);
#else
    const rbwp_dev_u64 value = rbwp_dev_event_value_(p, e, column, end);
    if (wide)
        rbwp_dev_store8_if_(address + (rbwp_dev_u64)e->slot * 8, value, on);
    else
        rbwp_dev_store4_if_(address + (rbwp_dev_u64)e->slot * 4, (unsigned)value, on);
#endif
}

/* EVENT_WARP: a thread chooses while the slot is under way what its column gets, but for what comes
 * after that. */
RBWP_DEV_FN_ void rbwp_dev_event_choose_(const struct rbwp_dev_events *p, struct rbwp_dev_event *e,
                                         rbwp_dev_u64 end)
{
#ifdef RBWP_DEV_BY_WARP_
    struct rbwp_dev_event known = *e;
    known.op = 0, known.start = 0;
    e->known = rbwp_dev_event_value_(p, &known, rbwp_dev_lane_(), end);
    rbwp_dev_here_(&e->known);
#else
    (void)p, (void)e, (void)end;
#endif
}

/* Stores all columns of an event, if it has a slot. Nobody waits for the stores. */
RBWP_DEV_FN_ void rbwp_dev_event_store_(const struct rbwp_dev_events *p,
                                        const struct rbwp_dev_event *e, const rbwp_dev_u64 *column,
                                        rbwp_dev_u64 end)
{
    const unsigned on = e->slot < p->max_events;
#ifdef RBWP_DEV_BY_WARP_
    const unsigned lane = rbwp_dev_lane_();
    rbwp_dev_event_put_(p, e, lane, column[0], end, on & (lane < RBWP_DEV_COLUMNS));
#else
    RBWP_DEV_UNROLL_
    for (unsigned i = 2; i < RBWP_DEV_COLUMNS + 2;
         i++) { /* last the address, which may be loaded */
        const unsigned k = (i + RBWP_DEV_COLUMN_START) % RBWP_DEV_COLUMNS;
        rbwp_dev_event_put_(p, e, k, column[k], end, on);
    }
#endif
}

/* The addresses of the columns, in the caller's array or in the struct. */
RBWP_DEV_FN_ const rbwp_dev_u64 *rbwp_dev_events_columns_(const struct rbwp_dev_events *p,
                                                          rbwp_dev_u64 *column)
{
#if RBWP_DEV_EVENT_KEEP
    (void)column;
    return p->column;
#else
    rbwp_dev_columns_(p->columns, column);
    return column;
#endif
}

RBWP_DEV_FN_ rbwp_dev_u64 rbwp_dev_event_time_(void)
{
    rbwp_dev_settle_();
    return rbwp_dev_time_();
}

RBWP_DEV_FN_ void rbwp_dev_event_set_(struct rbwp_dev_event *e, unsigned id, unsigned target_rank,
                                      const void *address, unsigned pid_m, unsigned pid_n,
                                      unsigned payload_bytes)
{
    e->id = id;
    e->target_rank = target_rank;
    e->address = rbwp_dev_address_(address);
    e->pid_m = pid_m;
    e->pid_n = pid_n;
    e->payload_bytes = payload_bytes;
}

#ifdef RBWP_DEV_AT_ONCE_
/* A value of the thread that leads, for all of its warp. */
#define RBWP_DEV_LED_(to, value) " shfl.sync.idx.b32 " to ", " value ", from, 31, 0xffffffff;"
/* In the thread of a column: what it gets. */
#define RBWP_DEV_MINE_(column, to, value)                                                          \
    " setp.eq.u32 q, lane, " column "; selp.u32 " to ", " value ", " to ", q;"

/*
 * What start does. All threads of a warp go through it together: they part where the leader asks
 * for its slot, and nowhere else, since ptxas puts a branch around each atomic operation. Branches
 * are on votes alone, which ptxas knows to be the same in the whole warp. Counters that lie apart
 * are asked out of the way.
 *
 * Where the whole warp is there, and one of its threads leads, its values go to all while the slot
 * is under way, thread i takes what column i gets, and 13 threads store at once. Thread 13 puts the
 * counter of slots back to 2^31, and 14 the other one, when slots are beyond: by the same store.
 */
RBWP_DEV_FN_ unsigned rbwp_dev_events_at_once_(const struct rbwp_dev_events *p, unsigned id,
                                               unsigned target_rank, rbwp_dev_u64 address,
                                               unsigned pid_m, unsigned pid_n,
                                               unsigned payload_bytes)
{
    unsigned slot;
    /* clang-format off */
    asm volatile(
        "{ .reg .pred me, one, two, on, over, any; .reg .u32 m, low, op;"
        " .reg .u64 old, t, n, w, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12;\n"
        " cvt.u32.u64 low, %3; setp.ne.u32 one, low, 0; setp.ne.u32 me, %5, 0; mov.u32 %0, 0;"
        " mov.u64 old, 0; @one atom.global.add.u64 old, [%1], %3;\n"
        " activemask.b32 m;\n"
#if RBWP_DEV_EVENT_ONCE == 2
        " .reg .pred q, wide, narrow, hold; .reg .u32 lane, from, a, k, h, most, size; .reg .u64 at;\n"
        " vote.sync.ballot.b32 from, me, m; sub.u32 a, from, 1; and.b32 a, a, from;"
        " setp.eq.and.u32 q, m, 0xffffffff, one; setp.eq.and.u32 q, a, 0, q;"
        " vote.sync.any.pred any, q, m; @any bra.uni together;\n"
#endif
        " vote.sync.any.pred any, me, m; @!any bra.uni done;\n"
        " setp.eq.and.u32 two, low, 0, me; vote.sync.any.pred any, two, m; @any bra.uni apart;\n"
        "asked:\n"
        " @me ld.global.nc.u64 a0, [%4]; @me ld.global.nc.u64 a1, [%4+8];"
        " @me ld.global.nc.u64 a2, [%4+16]; @me ld.global.nc.u64 a3, [%4+24];"
        " @me ld.global.nc.u64 a4, [%4+32]; @me ld.global.nc.u64 a5, [%4+40];"
        " @me ld.global.nc.u64 a6, [%4+48]; @me ld.global.nc.u64 a7, [%4+56];"
        " @me ld.global.nc.u64 a8, [%4+64]; @me ld.global.nc.u64 a9, [%4+72];"
        " @me ld.global.nc.u64 a10, [%4+80]; @me ld.global.nc.u64 a11, [%4+88];"
        " @me ld.global.nc.u64 a12, [%4+96];\n"
        " mov.b64 {%0, op}, old; setp.lt.s32 over, %0, 0; setp.lt.u32 on, %0, %5;"
        " mov.u64 t, %%globaltimer; mul.wide.u32 n, %0, 4; mul.wide.u32 w, %0, 8;\n"
        " add.u64 a8, w, a8; @on st.global.u64 [a8], t;"
        " add.u64 a11, n, a11; @on st.global.u32 [a11], op;"
        " add.u64 a10, w, a10; @on st.global.u64 [a10], 0;"
        " add.u64 a0, n, a0; @on st.global.u32 [a0], %7;"
        " add.u64 a1, n, a1; @on st.global.u32 [a1], %13;"
        " add.u64 a2, n, a2; @on st.global.u32 [a2], %10;"
        " add.u64 a3, n, a3; @on st.global.u32 [a3], %11;"
        " add.u64 a4, n, a4; @on st.global.u32 [a4], %6;"
        " add.u64 a5, n, a5; @on st.global.u32 [a5], %8;"
        " add.u64 a6, n, a6; @on st.global.u32 [a6], 0;"
        " add.u64 a7, n, a7; @on st.global.u32 [a7], %14;"
        " add.u64 a12, n, a12; @on st.global.u32 [a12], %12;"
        " add.u64 a9, w, a9; @on st.global.u64 [a9], %9;"
        " @over st.global.u32 [%1], 0x80000000;"
        " setp.lt.s32 over, op, 0; @over st.global.u32 [%2], 0x80000000; bra.uni done;\n"
        "apart: mov.u32 op, 0; @two atom.global.add.u32 %0, [%1], 1;"
        " @two atom.global.add.u32 op, [%2], 1; mov.b64 old, {%0, op}; bra.uni asked;\n"
#if RBWP_DEV_EVENT_ONCE == 2
        "together: bfind.u32 from, from; mov.u32 lane, %%laneid;"
        " min.u32 size, lane, 12; mov.b64 {a, k}, %4;" RBWP_DEV_LED_("a", "a")
        RBWP_DEV_LED_("k", "k") " mov.b64 at, {a, k};"
        " mad.wide.u32 at, size, 8, at; ld.global.nc.u64 at, [at];\n"
        RBWP_DEV_LED_("k", "%7") RBWP_DEV_MINE_("1", "k", "%13")
        RBWP_DEV_LED_("a", "%10") RBWP_DEV_MINE_("2", "k", "a")
        RBWP_DEV_LED_("a", "%11") RBWP_DEV_MINE_("3", "k", "a")
        RBWP_DEV_LED_("a", "%6") RBWP_DEV_MINE_("4", "k", "a")
        RBWP_DEV_LED_("a", "%8") RBWP_DEV_MINE_("5", "k", "a")
        RBWP_DEV_MINE_("6", "k", "0") RBWP_DEV_MINE_("7", "k", "%14")
        " mov.b64 {a, h}, %9;" RBWP_DEV_LED_("a", "a") RBWP_DEV_LED_("h", "h")
        RBWP_DEV_MINE_("9", "k", "a") " selp.u32 h, h, 0, q;" RBWP_DEV_MINE_("10", "k", "0")
        RBWP_DEV_LED_("a", "%12") RBWP_DEV_MINE_("12", "k", "a")
        RBWP_DEV_LED_("most", "%5")
        " setp.gt.u32 hold, lane, 12; selp.u32 most, 0x80000000, most, hold;"
        " selp.u32 k, 0x80000000, k, hold;\n"
        " mov.b64 {a, size}, %1;" RBWP_DEV_LED_("a", "a") RBWP_DEV_LED_("size", "size")
        " mov.b64 t, {a, size}; setp.eq.u32 q, lane, 13; selp.u64 at, t, at, q;"
        " mov.b64 {a, size}, %2;" RBWP_DEV_LED_("a", "a") RBWP_DEV_LED_("size", "size")
        " mov.b64 t, {a, size}; setp.eq.u32 q, lane, 14; selp.u64 at, t, at, q;\n"
        " sub.u32 a, lane, 8; setp.lt.u32 wide, a, 3; selp.u32 size, 8, 4, wide;"
        " selp.u32 size, 0, size, hold; setp.lt.u32 narrow, lane, 15;"
        " @wide setp.gt.u32 narrow, lane, 15; setp.eq.u32 two, lane, 11; setp.eq.u32 one, lane, 8;\n"
        /* 0, but ptxas does not know: it would put the shuffles that wait for the slot before all this. */
        " shfl.sync.idx.b32 a, k, lane, 31, 0xffffffff; xor.b32 a, a, k; xor.b32 from, from, a;\n"
        " mov.b64 {%0, op}, old;" RBWP_DEV_LED_("low", "%0") RBWP_DEV_LED_("op", "op")
        " mov.u64 t, %%globaltimer; mad.wide.u32 at, low, size, at;"
        " setp.lt.xor.u32 on, low, most, hold; selp.u32 k, op, k, two;"
        " mov.b64 {a, low}, t; selp.u32 k, a, k, one; selp.u32 h, low, h, one;"
        " mov.b64 t, {k, h}; and.pred wide, wide, on; and.pred narrow, narrow, on;"
        " @wide st.global.u64 [at], t; @narrow st.global.u32 [at], k;\n"
#endif
        "done: }"
        : "=&r"(slot)
        : "l"(p->counter), "l"(p->ops), "l"(p->both), "l"(p->columns), "r"(p->max_events),
          "r"(p->rank), "r"(id), "r"(target_rank), "l"(address), "r"(pid_m), "r"(pid_n),
          "r"(payload_bytes), "r"(rbwp_dev_block_x_()), "r"(rbwp_dev_cu_())
        : "memory");
    /* clang-format on */
    return slot;
}
#undef RBWP_DEV_LED_
#undef RBWP_DEV_MINE_
#endif

/*
 * Starts an event and gives its handle, which is its slot, also if there is no room for it (or 0 if
 * events are off). address: the lowest that the block touches; payload_bytes: 0 if not known.
 * Events may overlap and end in any order; one that does not end is an instant.
 */
RBWP_DEV_FN_ unsigned rbwp_dev_events_start(struct rbwp_dev_events *p, unsigned id,
                                            unsigned target_rank, const void *address,
                                            unsigned pid_m, unsigned pid_n, unsigned payload_bytes)
{
#ifdef RBWP_DEV_AT_ONCE_
    return rbwp_dev_events_at_once_(p, id, target_rank, rbwp_dev_address_(address), pid_m, pid_n,
                                    payload_bytes);
#else
    struct rbwp_dev_event e;
    rbwp_dev_event_set_(&e, id, target_rank, address, pid_m, pid_n, payload_bytes);
    rbwp_dev_u64 loaded[RBWP_DEV_COLUMNS];
    if (!rbwp_dev_events_ask_(p, &e))
        return 0;
    rbwp_dev_events_ask_next_(p);
    const rbwp_dev_u64 *column = rbwp_dev_events_columns_(p, loaded);
    rbwp_dev_event_choose_(p, &e, 0);
    rbwp_dev_events_take_(p, &e);
    e.start = rbwp_dev_event_time_();
    rbwp_dev_event_store_(p, &e, column, 0);
    rbwp_dev_events_hold_(p, &e);
    return e.slot;
#endif
}

RBWP_DEV_FN_ void rbwp_dev_events_end(const struct rbwp_dev_events *p, unsigned handle)
{
#ifndef RBWP_DEV_ON_NVIDIA_ /* where it hangs on a predicate: less than a branch, that is more     \
                               than it */
    if (!p->max_events)
        return;
#endif
    const rbwp_dev_u64 end = rbwp_dev_event_time_();
    rbwp_dev_store8_if_(p->ends + (rbwp_dev_u64)handle * 8, end, handle < p->max_events);
}

/*
 * The same in one row at the end: open takes slot and time and waits for nothing, close stores all
 * columns. An event that is never closed may not be there. Where start is the cheaper way (NVIDIA,
 * by default) they are start and end.
 */
RBWP_DEV_FN_ void rbwp_dev_events_open(struct rbwp_dev_events *p, struct rbwp_dev_event *e,
                                       unsigned id, unsigned target_rank, const void *address,
                                       unsigned pid_m, unsigned pid_n, unsigned payload_bytes)
{
#ifdef RBWP_DEV_AT_ONCE_
    e->slot = rbwp_dev_events_start(p, id, target_rank, address, pid_m, pid_n, payload_bytes);
#else
    if (!p->max_events)
        return;
    rbwp_dev_event_set_(e, id, target_rank, address, pid_m, pid_n, payload_bytes);
    rbwp_dev_events_ask_(p, e);
    rbwp_dev_events_ask_next_(p);
    e->start = rbwp_dev_event_time_();
#endif
}

RBWP_DEV_FN_ void rbwp_dev_events_close(const struct rbwp_dev_events *p, struct rbwp_dev_event *e)
{
#ifdef RBWP_DEV_AT_ONCE_
    rbwp_dev_events_end(p, e->slot);
#else
    if (!p->max_events)
        return;
    const rbwp_dev_u64 end = rbwp_dev_event_time_();
    rbwp_dev_u64 loaded[RBWP_DEV_COLUMNS];
    const rbwp_dev_u64 *column = rbwp_dev_events_columns_(p, loaded);
    rbwp_dev_event_choose_(p, e, end);
    rbwp_dev_events_take_(p, e);
    rbwp_dev_event_store_(p, e, column, end);
    rbwp_dev_events_hold_(p, e);
#endif
}

/* The last call: what is called later is nothing. EVENT_COUNTERS 4 needs it for the second counter,
 * AHEAD for the slot that is left over: without it, that is one that was never written, and damage.
 */
RBWP_DEV_FN_ void rbwp_dev_events_finish(struct rbwp_dev_events *p)
{
#if RBWP_DEV_EVENT_AHEAD
    if (p->max_events) {
        struct rbwp_dev_event e;
        rbwp_dev_event_set_(&e, (unsigned)RBWP_DEV_UNUSED, 0, (const void *)0, 0, 0, 0);
        rbwp_dev_u64 loaded[RBWP_DEV_COLUMNS];
        const rbwp_dev_u64 *column = rbwp_dev_events_columns_(p, loaded);
        rbwp_dev_events_ask_(p, &e);
        e.start = rbwp_dev_event_time_();
        rbwp_dev_event_choose_(p, &e, e.start);
        rbwp_dev_events_take_(p, &e);
        rbwp_dev_event_store_(p, &e, column, e.start);
        rbwp_dev_events_hold_(p, &e);
    }
#endif
#if RBWP_DEV_EVENT_COUNTERS == 4
#ifdef RBWP_DEV_BY_WARP_
    if (rbwp_dev_lane_() == 0)
#endif
        if (p->asked_for)
            rbwp_dev_count4_(p->ops, p->asked_for);
#endif
    p->max_events = p->asked_for = 0;
}

/* ---- macros, for those who have no templates --------------------------------------------------
 */

/*
 *     RBWP_DEV_LANES(p);                       RBWP_DEV_EVENTS(e);
 *     RBWP_DEV_LANES_INIT(p, kind, ...);       RBWP_DEV_EVENTS_INIT(e, context, leader);
 *     RBWP_DEV_BEGIN(p, event);                RBWP_DEV_EVENT_START(e, handle, id, target_rank,
 * ...); RBWP_DEV_END(p, event);                  RBWP_DEV_EVENT_END(e, handle); RBWP_DEV_INSTANT(p,
 * event); RBWP_DEV_FINALIZE(p);
 *
 * RBWP_DEV_EVENT_START declares the handle. Compiled out, no argument is looked at.
 */
#if RBWP_DEVICE_ENABLED
#define RBWP_DEV_LANES(p) struct rbwp_dev_lanes p
#define RBWP_DEV_LANES_INIT(p, ...) rbwp_dev_lanes_init(&(p), __VA_ARGS__)
#define RBWP_DEV_BEGIN(p, event) rbwp_dev_lanes_begin(&(p), event)
#define RBWP_DEV_END(p, event) rbwp_dev_lanes_end(&(p), event)
#define RBWP_DEV_INSTANT(p, event) rbwp_dev_lanes_instant(&(p), event)
#define RBWP_DEV_HEARTBEAT_NOW(p) rbwp_dev_lanes_heartbeat(&(p))
#define RBWP_DEV_FINALIZE(p) rbwp_dev_lanes_finalize(&(p))
#define RBWP_DEV_EVENTS(e) struct rbwp_dev_events e
#define RBWP_DEV_EVENTS_INIT(e, context, leader) rbwp_dev_events_init(&(e), context, leader)
#define RBWP_DEV_EVENT_START(e, handle, ...)                                                       \
    const unsigned handle = rbwp_dev_events_start(&(e), __VA_ARGS__)
#define RBWP_DEV_EVENT_END(e, handle) rbwp_dev_events_end(&(e), handle)
#define RBWP_DEV_EVENTS_FINISH(e) rbwp_dev_events_finish(&(e))
#else
#define RBWP_DEV_LANES(p) struct rbwp_dev_lanes
#define RBWP_DEV_LANES_INIT(p, ...) ((void)0)
#define RBWP_DEV_BEGIN(p, event) ((void)0)
#define RBWP_DEV_END(p, event) ((void)0)
#define RBWP_DEV_INSTANT(p, event) ((void)0)
#define RBWP_DEV_HEARTBEAT_NOW(p) ((void)0)
#define RBWP_DEV_FINALIZE(p) ((void)0)
#define RBWP_DEV_EVENTS(e) struct rbwp_dev_events
#define RBWP_DEV_EVENTS_INIT(e, context, leader) ((void)0)
#define RBWP_DEV_EVENT_START(e, handle, ...) ((void)0)
#define RBWP_DEV_EVENT_END(e, handle) ((void)0)
#define RBWP_DEV_EVENTS_FINISH(e) ((void)0)
#endif

/* ---- C++ ----------------------------------------------------------------------------------------
 */
#ifdef __cplusplus

#define RBWP_DEV_JOIN2_(a, b) a##b
#define RBWP_DEV_JOIN_(a, b) RBWP_DEV_JOIN2_(a, b)
/* begin(event) here, end(event) where the block is left. p: an rbwp::lanes. */
#define RBWP_REGION(p, event)                                                                      \
    const rbwp::region<typename rbwp::plain_<decltype(p)>::type> RBWP_DEV_JOIN_(                   \
        rbwp_region_, __LINE__)(p, event)

namespace rbwp
{

template <class T> struct plain_ {
    typedef T type;
};
template <class T> struct plain_<T &> {
    typedef T type;
};

/* Lanes that are there: rbwp::lanes below is this, or nothing. Kind: enum rbwp_dev_kind. */
template <unsigned Kind> class lanes_on_
{
  public:
    RBWP_DEV_METHOD_ void init(void *buffer, unsigned stride, unsigned group, unsigned num_groups,
                               unsigned num_blocks, bool leader, unsigned max_records)
    {
        rbwp_dev_lanes_init(&lanes_, Kind, buffer, stride, group, num_groups, num_blocks, leader,
                            max_records);
    }
    RBWP_DEV_METHOD_ void drops(void *counters) { rbwp_dev_lanes_drops(&lanes_, counters); }
    RBWP_DEV_METHOD_ void anchor(void *word) { rbwp_dev_lanes_anchor(&lanes_, word); }
    RBWP_DEV_METHOD_ void begin(unsigned event) { rbwp_dev_lanes_begin(this_kind_(), event); }
    RBWP_DEV_METHOD_ void end(unsigned event) { rbwp_dev_lanes_end(this_kind_(), event); }
    RBWP_DEV_METHOD_ void instant(unsigned event) { rbwp_dev_lanes_instant(this_kind_(), event); }
    RBWP_DEV_METHOD_ void heartbeat() { rbwp_dev_lanes_heartbeat(this_kind_()); }
    RBWP_DEV_METHOD_ void finalize() { rbwp_dev_lanes_finalize(this_kind_()); }

  private:
    /* The kind is known where the code is made, wherever the object has been since. */
    RBWP_DEV_METHOD_ struct rbwp_dev_lanes *this_kind_()
    {
        lanes_.kind = Kind;
        return &lanes_;
    }
    struct rbwp_dev_lanes lanes_;
};

class lanes_off_
{
  public:
    RBWP_DEV_METHOD_ void init(void *, unsigned, unsigned, unsigned, unsigned, bool, unsigned) {}
    RBWP_DEV_METHOD_ void drops(void *) {}
    RBWP_DEV_METHOD_ void anchor(void *) {}
    RBWP_DEV_METHOD_ void begin(unsigned) {}
    RBWP_DEV_METHOD_ void end(unsigned) {}
    RBWP_DEV_METHOD_ void instant(unsigned) {}
    RBWP_DEV_METHOD_ void heartbeat() {}
    RBWP_DEV_METHOD_ void finalize() {}
};

class events_on_
{
  public:
    typedef struct rbwp_dev_event open_event;

    RBWP_DEV_METHOD_ void init(const void *context, bool leader)
    {
        rbwp_dev_events_init(&events_, context, leader);
    }
    RBWP_DEV_METHOD_ unsigned start(unsigned id, unsigned target_rank, const void *address,
                                    unsigned pid_m, unsigned pid_n,
                                    unsigned payload_bytes = 0) const
    {
        return rbwp_dev_events_start(&events_, id, target_rank, address, pid_m, pid_n,
                                     payload_bytes);
    }
    /* With the elements of type T that the mask says. */
    template <class T>
    RBWP_DEV_METHOD_ unsigned start_masked(unsigned id, unsigned target_rank, const T *address,
                                           unsigned pid_m, unsigned pid_n, rbwp_dev_u64 mask) const
    {
        return start(id, target_rank, address, pid_m, pid_n,
                     rbwp_dev_payload_bytes(mask, sizeof(T) * 8));
    }
    RBWP_DEV_METHOD_ void end(unsigned handle) const { rbwp_dev_events_end(&events_, handle); }
    RBWP_DEV_METHOD_ void open(open_event &event, unsigned id, unsigned target_rank,
                               const void *address, unsigned pid_m, unsigned pid_n,
                               unsigned payload_bytes = 0) const
    {
        rbwp_dev_events_open(&events_, &event, id, target_rank, address, pid_m, pid_n,
                             payload_bytes);
    }
    RBWP_DEV_METHOD_ void close(open_event &event) const
    {
        rbwp_dev_events_close(&events_, &event);
    }
    RBWP_DEV_METHOD_ void finish() { rbwp_dev_events_finish(&events_); }

  private:
    mutable struct rbwp_dev_events events_; /* that an event began changes nothing of it */
};

class events_off_
{
  public:
    struct open_event {
    };

    RBWP_DEV_METHOD_ void init(const void *, bool) {}
    RBWP_DEV_METHOD_ unsigned start(unsigned, unsigned, const void *, unsigned, unsigned,
                                    unsigned = 0) const
    {
        return 0;
    }
    template <class T>
    RBWP_DEV_METHOD_ unsigned start_masked(unsigned, unsigned, const T *, unsigned, unsigned,
                                           rbwp_dev_u64) const
    {
        return 0;
    }
    RBWP_DEV_METHOD_ void end(unsigned) const {}
    RBWP_DEV_METHOD_ void open(open_event &, unsigned, unsigned, const void *, unsigned, unsigned,
                               unsigned = 0) const
    {
    }
    RBWP_DEV_METHOD_ void close(open_event &) const {}
    RBWP_DEV_METHOD_ void finish() {}
};

template <bool Enabled, class On, class Off> struct choose_ {
    typedef Off type;
};
template <class On, class Off> struct choose_<true, On, Off> {
    typedef On type;
};

/* What a kernel declares. Each call is that of the C functions above. */
template <bool Enabled = true, unsigned Kind = RBWP_DEV_V1>
class lanes : public choose_<Enabled && RBWP_DEVICE_ENABLED, lanes_on_<Kind>, lanes_off_>::type
{
};
template <bool Enabled = true>
class events : public choose_<Enabled && RBWP_DEVICE_ENABLED, events_on_, events_off_>::type
{
};

template <class Lanes> class region
{
  public:
    RBWP_DEV_METHOD_ region(Lanes &lanes, unsigned event) : lanes_(lanes), event_(event)
    {
        lanes_.begin(event_);
    }
    RBWP_DEV_METHOD_ ~region() { lanes_.end(event_); }
    region(const region &) = delete;
    region &operator=(const region &) = delete;

  private:
    Lanes &lanes_;
    unsigned event_;
};

} /* namespace rbwp */
#endif /* __cplusplus */

#endif /* RBWP_DEVICE_H */
